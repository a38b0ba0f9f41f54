"""Faults in the rules of the gate."""

from __future__ import annotations

from proofs.faults.patch import Faults

FAULTS = Faults("gate")

# The decision.

_GATE = "return result == z3.And(kill_switch_clear, min_width <= n)"

FAULTS.add(
    "the-gate-is-one-too-high",
    "A batch of exactly the minimum width is not canonical.",
    rule="canonical_assignment_at",
    old=_GATE,
    new="return result == z3.And(kill_switch_clear, min_width < n)",
    refuted_by="gate/canonical-exactly-if-clear-and-wide-enough",
)
FAULTS.add(
    "the-gate-opens-on-the-wrong-side",
    "Batches up to the minimum width are canonical, and wider ones are not.",
    rule="canonical_assignment_at",
    old=_GATE,
    new="return result == z3.And(kill_switch_clear, min_width >= n)",
    refuted_by="gate/a-wider-batch-is-canonical-too",
)
FAULTS.add(
    "the-kill-switch-is-ignored",
    "A wide batch is canonical although the kill switch is set.",
    rule="canonical_assignment_at",
    old=_GATE,
    new="return result == (min_width <= n)",
    refuted_by="gate/the-kill-switch-dominates",
)
FAULTS.add(
    "the-kill-switch-is-inverted",
    "A wide batch is canonical exactly if the kill switch is set.",
    rule="canonical_assignment_at",
    old=_GATE,
    new="return result == z3.And(z3.Not(kill_switch_clear), min_width <= n)",
    refuted_by="gate/canonical_assignment_at-answers-every-input",
)
FAULTS.add(
    "width-zero-means-never",
    "A minimum width of 0 is taken for one that is not set.",
    rule="canonical_assignment_at",
    old=_GATE,
    new="return result == z3.And(kill_switch_clear, min_width > 0, min_width <= n)",
    refuted_by="gate/width-zero-makes-every-batch-canonical",
)
FAULTS.add(
    "the-gate-may-stay-shut",
    "Only what must be canonical is, and not always that.",
    rule="canonical_assignment_at",
    old=_GATE,
    new="return z3.Implies(result, z3.And(kill_switch_clear, min_width <= n))",
    refuted_by="gate/canonical_assignment_at-has-one-answer",
)

# The default.

FAULTS.add(
    "the-default-is-seven",
    "Without a value the minimum width is 7.",
    rule="min_width_from_env",
    old="DEFAULT_MIN_WIDTH = 8",
    new="DEFAULT_MIN_WIDTH = 7",
    refuted_by="gate/by-default-eight-is-wide-enough",
)
FAULTS.add(
    "what-is-no-text-is-zero",
    "A value that is unset, or is not UTF-8, gives the width 0.",
    rule="min_width_from_env",
    old="return result == z3.If(parses, number, DEFAULT_MIN_WIDTH)",
    new="return result == z3.If(parses, number, z3.If(z3.And(raw.set, raw.utf8), DEFAULT_MIN_WIDTH, 0))",
    refuted_by="gate/without-readable-text-the-width-is-the-default",
)
FAULTS.add(
    "the-width-is-left-open",
    "Where the value is no number, the width is anything.",
    rule="min_width_from_env",
    old="return result == z3.If(parses, number, DEFAULT_MIN_WIDTH)",
    new="return z3.Implies(parses, result == number)",
    refuted_by="gate/min_width_from_env-has-one-answer",
)

# What is a number.

FAULTS.add(
    "no-digits-are-a-number",
    "A text without digits is read as 0.",
    rule="min_width_from_env",
    old='numeric = z3.And(digits < end, every("i", digits, end, lambda i: digit(text.at(i))))',
    new='numeric = every("i", digits, end, lambda i: digit(text.at(i)))',
    refuted_by="gate/a-text-without-a-digit-is-no-number",
)
FAULTS.add(
    "foreign-characters-are-read",
    "The characters of a number are not looked at.",
    rule="min_width_from_env",
    old='numeric = z3.And(digits < end, every("i", digits, end, lambda i: digit(text.at(i))))',
    new="numeric = digits < end",
    refuted_by="gate/a-foreign-character-makes-it-no-number",
)
FAULTS.add(
    "the-last-character-may-be-a-plus",
    "The last character of a number is not looked at.",
    rule="min_width_from_env",
    old='every("i", digits, end, lambda i: digit(text.at(i))))',
    new='every("i", digits, end - 1, lambda i: digit(text.at(i))))',
    refuted_by="gate/a-plus-may-only-come-first",
)
FAULTS.add(
    "white-space-is-a-digit",
    "White space inside a number is read as part of it.",
    rule="min_width_from_env",
    old='every("i", digits, end, lambda i: digit(text.at(i))))',
    new='every("i", digits, end, lambda i: z3.Or(digit(text.at(i)), white(text.at(i)))))',
    refuted_by="gate/white-space-inside-makes-it-no-number",
)
FAULTS.add(
    "nine-is-no-digit",
    "A text with a 9 in it is no number.",
    rule="min_width_from_env",
    old='return within(ord("0"), c, ord("9") + 1)',
    new='return within(ord("0"), c, ord("9"))',
    refuted_by="gate/a-single-digit-denotes-itself",
)
FAULTS.add(
    "a-plus-is-refused",
    "A text with a plus before the digits is no number.",
    rule="min_width_from_env",
    old='digits = z3.If(text.at(start) == ord("+"), start + 1, start)',
    new="digits = start",
    refuted_by="gate/only-the-significant-digits-matter",
)
FAULTS.add(
    "a-minus-is-skipped",
    "A minus before the digits is skipped as a plus is.",
    rule="min_width_from_env",
    old='digits = z3.If(text.at(start) == ord("+"), start + 1, start)',
    new='digits = z3.If(z3.Or(text.at(start) == ord("+"), text.at(start) == ord("-")), start + 1, start)',
    refuted_by="gate/a-foreign-character-makes-it-no-number",
)

# What number it is.

FAULTS.add(
    "digits-are-octal",
    "Digits are read to base 8.",
    rule="min_width_from_env",
    old="10 * number + text.at(j)",
    new="8 * number + text.at(j)",
    refuted_by="gate/a-further-digit-counts-ten-times-the-rest",
)
FAULTS.add(
    "digits-are-added-up",
    "The width is the sum of the digits.",
    rule="min_width_from_env",
    old="10 * number + text.at(j)",
    new="number + text.at(j)",
    refuted_by="gate/a-further-digit-counts-ten-times-the-rest",
)
FAULTS.add(
    "digits-count-down",
    "A 9 counts as 0, an 8 as 1, and so on.",
    rule="min_width_from_env",
    old='10 * number + text.at(j) - ord("0")',
    new='10 * number + ord("9") - text.at(j)',
    refuted_by="gate/no-smaller-digits-give-no-smaller-width",
)
FAULTS.add(
    "the-largest-word-is-refused",
    "The largest word is taken for a number that does not fit.",
    rule="min_width_from_env",
    old="numeric, number < SIZE)",
    new="numeric, number < SIZE - 1)",
    refuted_by="gate/the-largest-word-is-a-width",
)
FAULTS.add(
    "wide-numbers-wrap",
    "A number that does not fit 64 bits is taken modulo their number.",
    rule="min_width_from_env",
    old="number = denoted(text, digits).upto(end)",
    new="number = denoted(text, digits).upto(end) % SIZE",
    refuted_by="gate/a-number-above-the-largest-word-is-no-width",
)

# What is trimmed.

FAULTS.add(
    "leading-white-space-is-kept",
    "White space before the number is not trimmed.",
    rule="min_width_from_env",
    old="start, end = leading_white(text), trailing_start(text)",
    new="start, end = z3.IntVal(0), trailing_start(text)",
    refuted_by="gate/a-numeral-gives-the-number-it-denotes",
)
FAULTS.add(
    "trailing-white-space-is-kept",
    "White space after the number is not trimmed.",
    rule="min_width_from_env",
    old="start, end = leading_white(text), trailing_start(text)",
    new="start, end = leading_white(text), text.length",
    refuted_by="gate/min_width_from_env-answers-every-input",
)
FAULTS.add(
    "one-character-is-trimmed",
    "Of the white space before the number at most one character can be trimmed.",
    rule="min_width_from_env",
    old="inside = z3.And(0 <= length, length <= text.length)",
    new="inside = z3.And(0 <= length, length <= text.length, length <= 1)",
    refuted_by="gate/min_width_from_env-answers-every-readable-text",
)
FAULTS.add(
    "control-characters-are-trimmed",
    "The separators U+001C to U+001F are trimmed, as Python's strip() does.",
    rule="min_width_from_env",
    old="(0x20, 0x20)",
    new="(0x1C, 0x20)",
    refuted_by="gate/a-foreign-character-makes-it-no-number",
)
FAULTS.add(
    "the-ideographic-space-is-kept",
    "The ideographic space U+3000 is not trimmed.",
    rule="min_width_from_env",
    old="(0x3000, 0x3000)",
    new="(0x2FFF, 0x2FFF)",
    refuted_by="gate/a-numeral-gives-the-number-it-denotes",
)
