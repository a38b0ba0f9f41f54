"""The carried drafter: which of its rows a prompt may adopt (DESIGN 1a).

Models `common_prefix_len`, `session_matches`, `usable_by` and `carry_armed_with`. Token sequences are of any length; that two
agree on a prefix is a statement about every position of it. Rows and their keys are ghosts of `proofs.claims.carry`. The code
is `impl.reference.carry`.
"""

from __future__ import annotations

import z3

from spec.scope import every, the
from spec.sorts import Maybe, Record, Seq


def agree(left: Seq, right: Seq, upto: z3.ArithRef) -> z3.BoolRef:
    """The two sequences have the same first `upto` elements."""
    return every("i", 0, upto, lambda i: left.at(i) == right.at(i))


def is_common_prefix(left: Seq, right: Seq, length: z3.ArithRef) -> z3.BoolRef:
    """`length` is the length of the longest prefix that both sequences share."""
    fits = z3.And(0 <= length, length <= left.length, length <= right.length)
    ends = z3.Or(length == left.length, length == right.length, left.at(length) != right.at(length))
    return z3.And(fits, agree(left, right, length), ends)


def common_length(left: Seq, right: Seq) -> z3.ArithRef:
    """The length of the longest common prefix, as a number with a name."""
    return the(f"common[{left.name},{right.name}]", lambda length: is_common_prefix(left, right, length))


def common_prefix_len(entry: Record, prompt: Seq, result: z3.ArithRef) -> z3.BoolRef:
    """`CarriedDrafter::common_prefix_len`: of the entry's tokens and the prompt."""
    return is_common_prefix(entry.tokens, prompt, result)


def session_matches(entry: Record, session_hash: z3.ArithRef, result: z3.BoolRef) -> z3.BoolRef:
    """`CarriedDrafter::session_matches`: the same session, and a known one."""
    return result == z3.And(entry.session_hash == session_hash, session_hash != 0)


def usable_by(entry: Record, prompt: Seq, session_hash: z3.ArithRef, result: Maybe) -> z3.BoolRef:
    """`CarriedDrafter::usable_by`: of the keys up to `last_pair_key` those survive that depend on common tokens alone.

    Key k depends on tokens 0..k+1, so it survives if k + 1 < common. As many rows are dropped as there are keys that do not
    survive, and at least one row must be left.
    """
    common = common_length(entry.tokens, prompt)
    known: Maybe = entry.last_pair_key
    rows, key = result.value.rows, result.value.last_pair_key
    belongs = z3.And(entry.session_hash == session_hash, session_hash != 0)
    some_left = z3.And(entry.rows > 0, entry.rows + common > known.value + 2)
    highest = z3.And(key <= known.value, key + 1 < common, z3.Or(key == known.value, key + 2 == common))
    dropped = entry.rows - rows
    return z3.And(
        result.present == z3.And(belongs, known.present, common >= 2, some_left),
        z3.Implies(result.present, z3.And(highest, dropped == known.value - key)),
    )


def carry_armed_with(cfg: Record, multi_seq: z3.BoolRef, result: z3.BoolRef) -> z3.BoolRef:
    """`carry_armed_with`: configured, and multi-sequence dispatch is off."""
    return result == z3.And(cfg.carry, z3.Not(multi_seq))
