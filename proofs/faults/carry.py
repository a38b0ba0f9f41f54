"""Faults in the rules of the carried drafter."""

from __future__ import annotations

from proofs.faults.patch import Faults

FAULTS = Faults("carry")

# How far tokens agree.

FAULTS.add(
    "the-first-token-is-not-compared",
    "The common prefix is counted as if the first tokens were always the same.",
    rule="common_prefix_len",
    old='return every("i", 0, upto,',
    new='return every("i", 1, upto,',
    refuted_by="carry/the-common-prefix-agrees",
)
FAULTS.add(
    "the-prefix-stops-early",
    "The common prefix may end although the next tokens are the same too.",
    rule="common_prefix_len",
    old="return z3.And(fits, agree(left, right, length), ends)",
    new="return z3.And(fits, agree(left, right, length))",
    refuted_by="carry/the-common-prefix-is-the-longest",
)
FAULTS.add(
    "the-prefix-counts-the-difference",
    "The common prefix is one too long: the first token that differs is counted too.",
    rule="common_prefix_len",
    old="return z3.And(fits, agree(left, right, length), ends)",
    new="return z3.And(fits, length > 0, agree(left, right, length - 1), ends)",
    refuted_by="carry/the-common-prefix-agrees",
)
FAULTS.add(
    "the-prefix-never-covers-the-entry",
    "The common prefix ends before the entry's last token, even if all are shared.",
    rule="common_prefix_len",
    old="fits = z3.And(0 <= length, length <= left.length, length <= right.length)",
    new="fits = z3.And(0 <= length, length < left.length, length <= right.length)",
    refuted_by="carry/common_prefix_len-answers-every-input",
)
FAULTS.add(
    "comparing-may-give-up",
    "Where the first tokens are the same the common prefix may still be 0.",
    rule="common_prefix_len",
    old="ends = z3.Or(length == left.length, length == right.length, left.at(length) != right.at(length))",
    new="ends = z3.Or(length == 0, length == left.length, length == right.length, left.at(length) != right.at(length))",
    refuted_by="carry/common_prefix_len-has-one-answer",
)

# Whose entry it is.

_MATCHES = "return result == z3.And(entry.session_hash == session_hash, session_hash != 0)"

FAULTS.add(
    "two-unknown-sessions-match",
    "Two sessions that are both unknown are taken for one.",
    rule="session_matches",
    old=_MATCHES,
    new="return result == (entry.session_hash == session_hash)",
    refuted_by="carry/an-unknown-session-is-refused",
)
FAULTS.add(
    "every-known-session-matches",
    "A known session matches every entry.",
    rule="session_matches",
    old=_MATCHES,
    new="return result == (session_hash != 0)",
    refuted_by="carry/a-match-is-with-the-same-known-session",
)
FAULTS.add(
    "hash-one-is-unknown-too",
    "Session hash 1 is refused as if it meant unknown.",
    rule="session_matches",
    old=_MATCHES,
    new="return result == z3.And(entry.session_hash == session_hash, session_hash > 1)",
    refuted_by="carry/session_matches-answers-every-input",
)
FAULTS.add(
    "a-match-may-be-denied",
    "A session matches only its own entry, and not always that.",
    rule="session_matches",
    old=_MATCHES,
    new="return z3.Implies(result, z3.And(entry.session_hash == session_hash, session_hash != 0))",
    refuted_by="carry/session_matches-has-one-answer",
)

_BELONGS = "belongs = z3.And(entry.session_hash == session_hash, session_hash != 0)"

FAULTS.add(
    "the-session-is-ignored",
    "Rows are adopted by any known session.",
    rule="usable_by",
    old=_BELONGS,
    new="belongs = session_hash != 0",
    refuted_by="carry/adopts-own-session-only",
)
FAULTS.add(
    "an-unknown-session-adopts",
    "A session that is unknown adopts the rows of one that is unknown.",
    rule="usable_by",
    old=_BELONGS,
    new="belongs = entry.session_hash == session_hash",
    refuted_by="carry/an-unknown-session-is-refused",
)
FAULTS.add(
    "an-unknown-entry-is-everyones",
    "An entry whose session is unknown belongs to every session.",
    rule="usable_by",
    old=_BELONGS,
    new="belongs = z3.And(z3.Or(entry.session_hash == session_hash, entry.session_hash == 0), session_hash != 0)",
    refuted_by="carry/adopted-rows-were-made-by-the-asking-session",
)

# Which key survives.

_HIGHEST = "highest = z3.And(key <= known.value, key + 1 < common, z3.Or(key == known.value, key + 2 == common))"

FAULTS.add(
    "a-key-reads-one-token-less",
    "A key k survives where tokens 0 to k are shared, though it reads token k + 1 too.",
    rule="usable_by",
    old=_HIGHEST,
    new="highest = z3.And(key <= known.value, key < common, z3.Or(key == known.value, key + 1 == common))",
    refuted_by="carry/adopted-rows-read-shared-tokens-alone",
)
FAULTS.add(
    "a-key-reads-one-token-more",
    "A key k survives only where token k + 2 is shared too, which it does not read.",
    rule="usable_by",
    old=_HIGHEST,
    new="highest = z3.And(key <= known.value, key + 2 < common, z3.Or(key == known.value, key + 3 == common))",
    refuted_by="carry/full-agreement-adopts-everything",
)
FAULTS.add(
    "the-key-is-not-clamped",
    "The key that comes with the rows stays the entry's, however far tokens agree.",
    rule="usable_by",
    old=_HIGHEST,
    new="highest = key == known.value",
    refuted_by="append/after-an-adoption-planning-never-panics",
)
FAULTS.add(
    "the-key-is-raised",
    "The key that comes with the rows is the highest that shared tokens allow, even above the entry's.",
    rule="usable_by",
    old=_HIGHEST,
    new="highest = key + 2 == common",
    refuted_by="carry/the-adopted-key-is-never-raised",
)
FAULTS.add(
    "the-key-may-be-lowered-further",
    "More rows may be dropped than shared tokens ask for.",
    rule="usable_by",
    old=_HIGHEST,
    new="highest = z3.And(key <= known.value, key + 1 < common)",
    refuted_by="carry/usable_by-has-one-answer",
)

# How many rows survive.

_DROPPED = "z3.Implies(result.present, z3.And(highest, dropped == known.value - key))"

FAULTS.add(
    "no-row-is-dropped",
    "The key is lowered, and all rows are kept.",
    rule="usable_by",
    old=_DROPPED,
    new="z3.Implies(result.present, z3.And(highest, dropped == 0))",
    refuted_by="carry/an-adopted-row-is-what-the-prompt-would-build",
)
FAULTS.add(
    "one-row-too-few-is-dropped",
    "Where keys do not survive, one row less is dropped than there are of them.",
    rule="usable_by",
    old=_DROPPED,
    new="z3.Implies(result.present, z3.And(highest, dropped == z3.If(key < known.value, known.value - key - 1, 0)))",
    refuted_by="carry/the-adopted-key-bounds-the-adopted-rows",
)
FAULTS.add(
    "one-row-too-many-is-dropped",
    "Where keys do not survive, one row more is dropped than there are of them.",
    rule="usable_by",
    old=_DROPPED,
    new="z3.Implies(result.present, z3.And(highest, dropped == z3.If(key < known.value, known.value - key + 1, 0)))",
    refuted_by="carry/without-gaps-exactly-the-agreeing-rows-are-adopted",
)
FAULTS.add(
    "two-rows-are-dropped-for-a-key",
    "For each key that does not survive two rows are dropped.",
    rule="usable_by",
    old=_DROPPED,
    new="z3.Implies(result.present, z3.And(highest, dropped == 2 * (known.value - key)))",
    refuted_by="carry/gaps-cost-at-most-a-row-each",
)
FAULTS.add(
    "rows-are-kept-to-the-common-prefix",
    "As many rows are kept as the prompt shares keys, gaps or not.",
    rule="usable_by",
    old="dropped = entry.rows - rows",
    new="dropped = known.value + 1 - rows",
    refuted_by="carry/adopts-at-least-one-row-and-no-more-than-there-are",
)
FAULTS.add(
    "the-last-key-is-understated",
    "The key that comes with the rows is one below the highest that survives, and a row more is kept than it allows.",
    rule="usable_by",
    old="rows, key = result.value.rows, result.value.last_pair_key",
    new="rows, key = result.value.rows, result.value.last_pair_key + 1",
    refuted_by="append/appended-keys-are-above-all-adopted-rows",
)
FAULTS.add(
    "the-last-key-is-overstated",
    "The key that comes with the rows is one above the highest that survives.",
    rule="usable_by",
    old="rows, key = result.value.rows, result.value.last_pair_key",
    new="rows, key = result.value.rows, result.value.last_pair_key - 1",
    refuted_by="carry/usable_by-answers-every-input",
)

# Whether anything survives.

FAULTS.add(
    "an-entry-without-rows-is-adopted",
    "An entry without rows is adopted, if its key survives.",
    rule="usable_by",
    old="some_left = z3.And(entry.rows > 0, entry.rows + common > known.value + 2)",
    new="some_left = entry.rows + common > known.value + 2",
    refuted_by="carry/adopts-at-least-one-row-and-no-more-than-there-are",
)
FAULTS.add(
    "zero-rows-are-adopted",
    "An entry is adopted although none of its rows survives.",
    rule="usable_by",
    old="some_left = z3.And(entry.rows > 0, entry.rows + common > known.value + 2)",
    new="some_left = z3.And(entry.rows > 0, entry.rows + common >= known.value + 2)",
    refuted_by="carry/adoption-never-leaves-64-bits",
)
FAULTS.add(
    "a-single-row-is-not-worth-it",
    "An entry is refused where a single row of it survives.",
    rule="usable_by",
    old="some_left = z3.And(entry.rows > 0, entry.rows + common > known.value + 2)",
    new="some_left = z3.And(entry.rows > 1, entry.rows + common > known.value + 3)",
    refuted_by="carry/as-many-agreeing-rows-are-lost-as-keys-have-no-row",
)
FAULTS.add(
    "a-single-key-is-not-enough",
    "An entry is refused where the prompt shares no more than two tokens with it.",
    rule="usable_by",
    old="belongs, known.present, common >= 2, some_left",
    new="belongs, known.present, common > 2, some_left",
    refuted_by="carry/without-gaps-exactly-the-agreeing-rows-are-adopted",
)
FAULTS.add(
    "an-unknown-key-is-trusted",
    "An entry is adopted although its newest key is unknown.",
    rule="usable_by",
    old="belongs, known.present, common >= 2, some_left",
    new="belongs, common >= 2, some_left",
    refuted_by="carry/an-entry-without-a-known-key-lends-nothing",
)

# Arming.

_ARMED = "return result == z3.And(cfg.carry, z3.Not(multi_seq))"

FAULTS.add(
    "armed-while-several-are-dispatched",
    "The carry is live although several sequences are dispatched at a time.",
    rule="carry_armed_with",
    old=_ARMED,
    new="return result == cfg.carry",
    refuted_by="carry/armed-only-if-configured-and-alone",
)
FAULTS.add(
    "armed-by-prefill",
    "The carry is live where prefill is configured.",
    rule="carry_armed_with",
    old=_ARMED,
    new="return result == z3.And(cfg.prefill, z3.Not(multi_seq))",
    refuted_by="carry/carry_armed_with-answers-every-input",
)
FAULTS.add(
    "arming-may-fail",
    "The carry is live only where it must be, and not always there.",
    rule="carry_armed_with",
    old=_ARMED,
    new="return z3.Implies(result, z3.And(cfg.carry, z3.Not(multi_seq)))",
    refuted_by="carry/carry_armed_with-has-one-answer",
)
