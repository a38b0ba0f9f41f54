"""The CUDA-graph cache key of a verify batch (DESIGN 1b).

Models `verify_graph_key`: which word of the key tells what. The code is `impl.reference.key`.
"""

from __future__ import annotations

import z3

from spec.scope import every
from spec.sorts import Seq

TABLES_PRESENT = 2**32 - 1
"""The last word of a key whose capture had WY tables; one less without them."""


def verify_graph_key(pairs: Seq, wy_tables_null: z3.BoolRef, result: Seq) -> z3.BoolRef:
    """`verify_graph_key`: slot and depth of each position in turn, then the word for the tables."""

    def told(p: z3.ArithRef) -> z3.BoolRef:
        pair = pairs.at(p)
        return z3.And(result.at(2 * p) == pair.slot, result.at(2 * p + 1) == pair.k)

    last = result.at(2 * pairs.length)
    tables = z3.If(wy_tables_null, last == TABLES_PRESENT - 1, last == TABLES_PRESENT)
    return z3.And(result.length == 2 * pairs.length + 1, every("p", 0, pairs.length, told), tables)
