"""The key of a captured verify graph: what a capture depends on, as 32-bit words.

The words are slot and rows of each position in dispatch order, then one word that tells whether the WY tables exist.

Leaves out: the cache and its eviction, and the members without a slot, whose batches are never captured.
Twin: spec/key.py. Source: DESIGN 1b.
"""

from collections.abc import Sequence

from impl.reference.words import U32_MAX, flag, refusal, u32_sequence


def verify_graph_key(pairs: Sequence[Sequence[int]], wy_tables_null: bool) -> list[int]:
    """Return the key of a batch given as (slot, rows) pairs in dispatch order, each a word of 32 bits.

    Errors: ValueError outside 32 bits or where an item of pairs is no pair. Source: verify_graph_key.
    """
    flag("verify_graph_key", "wy_tables_null", wy_tables_null)
    if not isinstance(pairs, (list, tuple)):
        raise ValueError(refusal("verify_graph_key", "pairs", pairs, "a list or tuple", "[(slot, k), ...]"))
    key: list[int] = []
    for position, pair in enumerate(pairs):
        words = u32_sequence("verify_graph_key", f"pairs[{position}]", pair)
        if len(words) != 2:
            raise ValueError(refusal("verify_graph_key", f"pairs[{position}]", pair, "a pair", "(slot, k)"))
        key.extend(words)
    key.append(U32_MAX - 1 if wy_tables_null else U32_MAX)
    return key
