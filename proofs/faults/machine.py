"""Faults in the arithmetic that the rules share."""

from __future__ import annotations

from proofs.faults.patch import Faults

FAULTS = Faults("machine")

FAULTS.add(
    "the-largest-word-overflows",
    "A sum that is the largest word counts as one that does not fit.",
    rule="merge_interval",
    old="return z3.Or(ideal < 0, ideal >= SIZE)",
    new="return z3.Or(ideal < 0, ideal >= SIZE - 1)",
    refuted_by="store/a-merge-overflows-exactly-when-its-end-does",
)
FAULTS.add(
    "one-above-the-largest-word-fits",
    "A sum that is one above the largest word counts as one that fits.",
    rule="plan_append",
    old="return z3.Or(ideal < 0, ideal >= SIZE)",
    new="return z3.Or(ideal < 0, ideal > SIZE)",
    refuted_by="append/panics-exactly-if-there-is-no-next-key",
)
FAULTS.add(
    "sums-saturate",
    "In a release build a sum that does not fit becomes the largest word instead of wrapping.",
    rule="merge_interval",
    old="return z3.If(ideal >= SIZE, ideal - SIZE, ideal)",
    new="return z3.If(ideal >= SIZE, SIZE - 1, ideal)",
    refuted_by="store/an-overflowing-merge-claims-nothing-new",
)
FAULTS.add(
    "sums-wrap-one-short",
    "In a release build a sum that does not fit becomes one more than what is left of it.",
    rule="merge_interval",
    old="return z3.If(ideal >= SIZE, ideal - SIZE, ideal)",
    new="return z3.If(ideal >= SIZE, ideal - SIZE + 1, ideal)",
    refuted_by="store/merge_interval-answers-every-input-in-release",
)
FAULTS.add(
    "addresses-wrap-once",
    "In a release build an address that passes the last word more than once is taken to pass it once.",
    rule="hidden_row_offset",
    old="return ideal % SIZE",
    new="return kept(ideal)",
    refuted_by="store/hidden_row_offset-answers-every-input-in-release",
)
FAULTS.add(
    "what-overflows-is-left-open",
    "In a release build the result of a sum that does not fit is left open.",
    rule="hidden_row_offset",
    old="return z3.And(z3.Not(result.panics), value)",
    new="return z3.And(z3.Not(result.panics), z3.Or(overflow, value))",
    refuted_by="store/hidden_row_offset-has-one-answer-in-release",
)
FAULTS.add(
    "release-results-are-left-open",
    "A release build does not panic, and gives whatever it likes.",
    rule="merge_interval",
    old="return z3.And(z3.Not(result.panics), value)",
    new="return z3.Not(result.panics)",
    refuted_by="store/merge_interval-has-one-answer-in-release",
)
FAULTS.add(
    "release-builds-may-panic",
    "A release build gives the right result, or panics.",
    rule="stamped_merge",
    old="return z3.And(z3.Not(result.panics), value)",
    new="return z3.Or(result.panics, value)",
    refuted_by="store/stamped_merge-has-one-answer-in-release",
)
FAULTS.add(
    "debug-builds-wrap",
    "A debug build never panics, and wraps as a release build does.",
    rule="plan_append",
    old="return z3.And(result.panics == overflow, z3.Or(overflow, value))",
    new="return z3.And(z3.Not(result.panics), value)",
    refuted_by="append/panics-exactly-if-there-is-no-next-key",
)
