"""Faults in the rule of the graph key."""

from __future__ import annotations

from proofs.faults.patch import Faults

FAULTS = Faults("key")


def _add(name: str, tells: str, *, old: str, new: str, refuted_by: str) -> None:
    FAULTS.add(name, tells, rule="verify_graph_key", old=old, new=new, refuted_by=refuted_by)


_TOLD = "return z3.And(result.at(2 * p) == pair.slot, result.at(2 * p + 1) == pair.k)"
_TABLES = "tables = z3.If(wy_tables_null, last == TABLES_PRESENT - 1, last == TABLES_PRESENT)"

_add(
    "depths-are-not-in-the-key",
    "The key tells the slot of a position twice, and not its depth.",
    old=_TOLD,
    new="return z3.And(result.at(2 * p) == pair.slot, result.at(2 * p + 1) == pair.slot)",
    refuted_by="key/canonical-batches-that-share-a-key-are-alike",
)
_add(
    "slots-are-not-in-the-key",
    "The key tells the depth of a position twice, and not its slot.",
    old=_TOLD,
    new="return z3.And(result.at(2 * p) == pair.k, result.at(2 * p + 1) == pair.k)",
    refuted_by="key/equal-keys-bake-the-same",
)
_add(
    "slot-and-depth-are-swapped",
    "The key tells the depth of a position before its slot.",
    old=_TOLD,
    new="return z3.And(result.at(2 * p) == pair.k, result.at(2 * p + 1) == pair.slot)",
    refuted_by="key/the-same-baked-gives-equal-keys",
)
_add(
    "a-depth-word-is-left-open",
    "The key has a word for the depth of a position, and anything may stand in it.",
    old=_TOLD,
    new="return result.at(2 * p) == pair.slot",
    refuted_by="key/verify_graph_key-has-one-answer",
)
_add(
    "the-last-position-is-not-in-the-key",
    "Anything may stand in the words of the last position.",
    old='every("p", 0, pairs.length, told)',
    new='every("p", 0, pairs.length - 1, told)',
    refuted_by="key/equal-keys-bake-the-same",
)
_add(
    "tables-are-not-in-the-key",
    "The last word is the same with and without WY tables.",
    old=_TABLES,
    new="tables = last == TABLES_PRESENT",
    refuted_by="key/a-key-has-two-words-a-member-and-one",
)
_add(
    "the-word-for-tables-is-inverted",
    "The last word tells that there are tables where there are none.",
    old=_TABLES,
    new="tables = z3.If(wy_tables_null, last == TABLES_PRESENT, last == TABLES_PRESENT - 1)",
    refuted_by="key/a-key-has-two-words-a-member-and-one",
)
_add(
    "the-word-for-tables-is-a-flag",
    "The last word is 1 with WY tables and 0 without.",
    old="TABLES_PRESENT = 2**32 - 1",
    new="TABLES_PRESENT = 1",
    refuted_by="key/verify_graph_key-answers-every-input",
)
_add(
    "a-key-has-a-word-to-spare",
    "The key has one word more than it tells.",
    old="result.length == 2 * pairs.length + 1",
    new="result.length == 2 * pairs.length + 2",
    refuted_by="key/a-key-has-two-words-a-member-and-one",
)
