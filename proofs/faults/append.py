"""Faults in the rule of the warm-turn append."""

from __future__ import annotations

from proofs.faults.patch import Faults

FAULTS = Faults("append")


def _add(name: str, tells: str, *, old: str, new: str, refuted_by: str) -> None:
    FAULTS.add(name, tells, rule="plan_append", old=old, new=new, refuted_by=refuted_by)


# Where a plan starts.

_add(
    "the-last-key-is-appended-again",
    "A plan starts at last_pair_key instead of after it.",
    old="next_key = kept(last_pair_key + 1)",
    new="next_key = kept(last_pair_key)",
    refuted_by="append/planned-keys-are-new",
)
_add(
    "keys-are-appended-again",
    "A plan starts at the first stored row, even where its key is known.",
    old="new_and_stored = z3.And(next_key <= first, hidden_lo <= first)",
    new="new_and_stored = hidden_lo <= first",
    refuted_by="append/appended-keys-are-above-all-adopted-rows",
)
_add(
    "the-stores-start-is-ignored",
    "A plan starts right after last_pair_key, even where that row is not stored.",
    old="new_and_stored = z3.And(next_key <= first, hidden_lo <= first)",
    new="new_and_stored = next_key <= first",
    refuted_by="append/planned-keys-read-readable-rows",
)
_add(
    "a-plan-skips-a-key",
    "A plan leaves out the first key that it could append.",
    old="earliest = z3.Or(first == next_key, first == hidden_lo)",
    new="earliest = z3.Or(first == next_key + 1, first == hidden_lo + 1)",
    refuted_by="append/a-plan-starts-as-early-as-it-can",
)
_add(
    "a-plan-may-start-later",
    "A plan may start anywhere above the keys that are known.",
    old="planned = z3.And(new_and_stored, earliest, end == keys_end)",
    new="planned = z3.And(new_and_stored, end == keys_end)",
    refuted_by="append/plan_append-has-one-answer",
)
_add(
    "the-next-key-saturates",
    "In a release build the key after the largest one is the largest one.",
    old="next_key = kept(last_pair_key + 1)",
    new="next_key = z3.If(overflows(last_pair_key + 1), last_pair_key, last_pair_key + 1)",
    refuted_by="append/plan_append-answers-every-input-in-release",
)

# Where it ends.

_add(
    "a-plan-runs-past-the-prompt",
    "A plan ends one key after the prompt's last.",
    old="keys_end = prompt_len - 1",
    new="keys_end = prompt_len",
    refuted_by="append/planned-keys-run-to-the-prompts-last",
)
_add(
    "the-prompts-last-key-is-left-out",
    "A plan ends one key before the prompt's last.",
    old="keys_end = prompt_len - 1",
    new="keys_end = prompt_len - 2",
    refuted_by="append/planned-keys-run-to-the-prompts-last",
)
_add(
    "rows-count-one-too-many",
    "A plan counts one row more than it has keys.",
    old="planned = z3.And(new_and_stored, earliest, end == keys_end)",
    new="planned = z3.And(new_and_stored, earliest, end == keys_end + 1)",
    refuted_by="append/after-the-append-the-rows-are-well-kept-again",
)

# Whether there is one.

_WANTED = "wanted = z3.And(has_keys, next_key < keys_end, hidden_lo < keys_end, hidden_hi >= keys_end)"

_add(
    "the-stores-end-is-ignored",
    "Keys are planned although the rows of the last ones are not stored.",
    old=_WANTED,
    new="wanted = z3.And(has_keys, next_key < keys_end, hidden_lo < keys_end)",
    refuted_by="append/appended-keys-read-the-readers-own-rows",
)
_add(
    "the-row-after-the-last-is-read",
    "Keys are planned although the row of the last one is one past the stored ones, as ring labels would have it.",
    old=_WANTED,
    new="wanted = z3.And(has_keys, next_key < keys_end, hidden_lo < keys_end, hidden_hi + 1 >= keys_end)",
    refuted_by="append/planned-keys-read-readable-rows",
)
_add(
    "an-empty-store-is-no-limit",
    "A store that ends at 0 is taken for one whose end is not known.",
    old=_WANTED,
    new=("wanted = z3.And(has_keys, next_key < keys_end, hidden_lo < keys_end, z3.Or(hidden_hi == 0, hidden_hi >= keys_end))"),
    refuted_by="append/nothing-is-appended-from-nothing",
)
_add(
    "a-row-above-the-last-is-wanted",
    "Keys are planned only where the row after the prompt's last key is stored too.",
    old=_WANTED,
    new="wanted = z3.And(has_keys, next_key < keys_end, hidden_lo < keys_end, hidden_hi > keys_end)",
    refuted_by="append/an-owners-own-chunks-satisfy-its-append",
)
_add(
    "a-single-key-is-not-appended",
    "Nothing is planned where the prompt's last key is the only new one.",
    old=_WANTED,
    new="wanted = z3.And(has_keys, next_key + 1 < keys_end, hidden_lo < keys_end, hidden_hi >= keys_end)",
    refuted_by="append/a-plan-exists-exactly-if-the-last-key-is-new-and-readable",
)
_add(
    "a-store-of-one-row-is-not-enough",
    "Nothing is planned where the prompt's last key is the only one whose row is stored.",
    old=_WANTED,
    new="wanted = z3.And(has_keys, next_key < keys_end, hidden_lo + 1 < keys_end, hidden_hi >= keys_end)",
    refuted_by="append/plan_append-answers-every-input",
)
_add(
    "a-plan-may-be-declined",
    "Keys are planned only where they can be, and not always there.",
    old="value=z3.And(plan.present == wanted, z3.Implies(plan.present, planned))",
    new="value=z3.Implies(plan.present, z3.And(wanted, planned))",
    refuted_by="append/plan_append-has-one-answer-in-release",
)

# Overflow.

_add(
    "the-panic-is-swallowed",
    "A debug build does not panic where last_pair_key has no next key.",
    old="overflow=z3.And(has_keys, overflows(last_pair_key + 1))",
    new="overflow=z3.BoolVal(False)",
    refuted_by="append/panics-exactly-if-there-is-no-next-key",
)
_add(
    "a-prompt-without-keys-panics",
    "A debug build looks for the next key before it sees that the prompt has none.",
    old="overflow=z3.And(has_keys, overflows(last_pair_key + 1))",
    new="overflow=overflows(last_pair_key + 1)",
    refuted_by="append/panics-exactly-if-there-is-no-next-key",
)
_add(
    "the-panic-comes-one-key-early",
    "A debug build panics although last_pair_key has a next key, which is the largest word.",
    old="overflow=z3.And(has_keys, overflows(last_pair_key + 1))",
    new="overflow=z3.And(has_keys, overflows(last_pair_key + 2))",
    refuted_by="append/a-plan-never-leaves-64-bits",
)
