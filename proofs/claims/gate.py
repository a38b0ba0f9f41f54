"""Claims about the gate and the reading of its threshold.

*Claim.* A batch is canonical exactly if the kill switch is clear and the batch is wide enough; the threshold is the
number that the value denotes, whatever white space, plus sign and leading zeros stand around it, and 8 for anything else.

*Assumptions.* None.

*Argument.* Trimming is unique: walking from the front and remembering the last character that is no white space end at
the only places that fit. Between them stand digits or not. The number that digits denote is built one digit at a time,
so it depends on the digits alone and not on where they stand. Texts are of any length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import z3

from proofs.obligation import Goal, Register, World
from proofs.pinning import pin
from spec.gate import DEFAULT_MIN_WIDTH, denoted, digit, is_leading_white, is_trailing_start, white
from spec.machine import SIZE
from spec.scope import Count, Fold, Index, bound, every
from spec.sorts import FLAG, RAW_TEXT, TEXT, USIZE, Record, Seq

CLAIMS = Register("gate")

PLUS, ZERO = ord("+"), ord("0")


# The decision.


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Any use of canonical_assignment_at."""

    n: z3.ArithRef
    min_width: z3.ArithRef
    clear: z3.BoolRef
    canonical: z3.BoolRef
    given: z3.BoolRef


def _decision(world: World, suffix: str = "", min_width: z3.ArithRef | None = None) -> Decision:
    n, clear = world.some(USIZE, f"n{suffix}"), world.some(FLAG, "kill_switch_clear")
    width = world.some(USIZE, "min_width") if min_width is None else min_width
    canonical, given = world.answer(f"canonical{suffix}", "canonical_assignment_at", n, width, clear)
    return Decision(n=n, min_width=width, clear=clear, canonical=canonical, given=given)


def _decision_situations(
    canonical: z3.BoolRef, n: z3.ArithRef, min_width: z3.ArithRef, clear: z3.BoolRef
) -> Mapping[str, z3.BoolRef]:
    return {
        "just wide enough": z3.And(canonical, n == min_width, n > 0),
        "one too narrow": z3.And(clear, z3.Not(canonical), n + 1 == min_width),
        "wide enough but killed": z3.And(z3.Not(canonical), n >= min_width, n > 0),
    }


pin(
    CLAIMS,
    "canonical_assignment_at",
    lambda world, n, min_width, clear: z3.If(n - min_width < 0, False, clear),
    _decision_situations,
)


@CLAIMS.theorem(
    "canonical-exactly-if-clear-and-wide-enough",
    "A batch is canonical if and only if the kill switch is clear and the batch has at least the minimum width.",
)
def canonical_exactly_if_clear_and_wide_enough(world: World) -> Goal:
    gate = _decision(world)
    return Goal(
        given={"canonical is the answer": gate.given},
        show=z3.Not(gate.canonical) == z3.Or(z3.Not(gate.clear), gate.n < gate.min_width),
        witnesses=_decision_situations(gate.canonical, gate.n, gate.min_width, gate.clear),
    )


@CLAIMS.theorem(
    "the-kill-switch-dominates",
    "While the kill switch is set no batch is canonical, whatever its width and the minimum that the environment asks for.",
)
def the_kill_switch_dominates(world: World) -> Goal:
    raw = world.some(RAW_TEXT, "raw")
    width, reading = world.answer("width", "min_width_from_env", raw)
    gate = _decision(world, min_width=width)
    return Goal(
        given={
            "width is what the environment asks for": reading,
            "canonical is the answer": gate.given,
            "the switch is set": z3.Not(gate.clear),
        },
        show=z3.Not(gate.canonical),
        witnesses={"every width is asked for": width == 0, "the batch is wide": z3.And(gate.n > width, width > 0)},
    )


@CLAIMS.theorem("a-wider-batch-is-canonical-too", "If a batch is canonical, so is every wider one.")
def a_wider_batch_is_canonical_too(world: World) -> Goal:
    narrow, wide = _decision(world, "_narrow"), _decision(world, "_wide")
    return Goal(
        given={
            "the narrow batch": narrow.given,
            "the wide batch": wide.given,
            "it is wider": narrow.n <= wide.n,
            "the narrow one is canonical": narrow.canonical,
        },
        show=wide.canonical,
        witnesses={"strictly wider": narrow.n < wide.n},
    )


@CLAIMS.theorem("width-zero-makes-every-batch-canonical", "With a minimum width of 0 and a clear switch every batch is canonical.")
def width_zero_makes_every_batch_canonical(world: World) -> Goal:
    gate = _decision(world, min_width=z3.IntVal(0))
    return Goal(
        given={"canonical is the answer": gate.given, "the switch is clear": gate.clear},
        show=gate.canonical,
        witnesses={"an empty batch": gate.n == 0},
    )


@CLAIMS.boundary(
    "a-chunk-is-judged-like-its-batch",
    "Asking at the width of a chunk gives the same answer as asking at the width of the full batch.",
)
def a_chunk_is_judged_like_its_batch(world: World) -> Goal:
    chunk, batch = _decision(world, "_chunk"), _decision(world, "_batch")
    return Goal(
        given={
            "the chunk": chunk.given,
            "the batch": batch.given,
            "the chunk is of the batch": z3.And(0 < chunk.n, chunk.n <= batch.n),
        },
        show=chunk.canonical == batch.canonical,
    )


# Trimming: where the white space ends and begins exists, because walking finds it, and is one.


def front(text: Seq) -> Fold:
    """Walks over white space: `upto(m)` is how much of it the first m characters begin with."""

    def step(walked: z3.ArithRef, j: z3.ArithRef) -> z3.ArithRef:
        return z3.If(z3.And(walked == j, white(text.at(j))), walked + 1, walked)

    return Fold(name=f"front[{text.name}]", step=step)


def back(text: Seq) -> Fold:
    """Remembers the last character that is no white space: `upto(m)` is one above its position among the first m."""
    return Fold(name=f"back[{text.name}]", step=lambda seen, j: z3.If(white(text.at(j)), seen, j + 1))


def _front_is_right(text: Seq, m: Index) -> z3.BoolRef:
    """Among the first m characters the front walk ends at the first that is no white space."""
    end = front(text).upto(m)
    stops = z3.Or(end == m, z3.Not(white(text.at(end))))
    right = z3.And(0 <= end, end <= m, every("i", 0, end, lambda i: white(text.at(i))), stops)
    return z3.Implies(z3.And(m >= 0, m <= text.length), right)


def _back_is_right(text: Seq, m: Index) -> z3.BoolRef:
    """Of the first m characters those from the remembered place on are white space, and the one before it is not."""
    start = back(text).upto(m)
    stops = z3.Or(start == 0, z3.Not(white(text.at(start - 1))))
    right = z3.And(0 <= start, start <= m, every("i", start, m, lambda i: white(text.at(i))), stops)
    return z3.Implies(z3.And(m >= 0, m <= text.length), right)


@CLAIMS.induction(
    "walking-finds-the-leading-white-space",
    "Walking over white space from the front ends at the first character that is none.",
    states=_front_is_right,
    folds=lambda text: (front(text),),
)
def FRONT_IS_RIGHT(world: World) -> tuple[Seq]:
    return (TEXT.fresh("text"),)


@CLAIMS.induction(
    "walking-finds-the-trailing-white-space",
    "The last character that is no white space has only white space after it.",
    states=_back_is_right,
    folds=lambda text: (back(text),),
)
def BACK_IS_RIGHT(world: World) -> tuple[Seq]:
    return (TEXT.fresh("text"),)


@CLAIMS.theorem(
    "trimming-is-unique", "The white space before and the white space after the rest of a text end and begin at one place."
)
def trimming_is_unique(world: World) -> Goal:
    text = world.some(TEXT, "text")
    (first, second), (third, fourth) = z3.Ints("first second"), z3.Ints("third fourth")
    return Goal(
        given={
            "the leading white space ends at first": is_leading_white(text, first),
            "and at second": is_leading_white(text, second),
            "the trailing white space starts at third": is_trailing_start(text, third),
            "and at fourth": is_trailing_start(text, fourth),
        },
        show=z3.And(first == second, third == fourth),
        witnesses={
            "white space on both sides": z3.And(0 < first, first < third, third < text.length),
            "nothing else": z3.And(text.length > 0, first == text.length, third == 0),
        },
    )


# Numbers: what digits denote.


def others(text: Seq, first: Index) -> Count:
    """Counts the characters from `first` on that are no digits."""
    return Count(
        name=f"others[{text.name}]",
        holds=lambda j, start: z3.And(j >= start, z3.Not(digit(text.at(j)))),
        of=(_term(first),),
    )


def _term(index: Index) -> z3.ArithRef:
    return z3.IntVal(index) if isinstance(index, int) else index


def _digits(text: Seq, first: Index, end: Index) -> z3.BoolRef:
    return every("i", first, end, lambda i: digit(text.at(i)))


def _none_but_digits(text: Seq, first: Index, m: Index) -> z3.BoolRef:
    """There are no other characters in [first, m) exactly if each is a digit."""
    count = others(text, first).upto(m)
    return z3.Implies(z3.And(m >= 0, first >= 0), z3.And(count >= 0, (count == 0) == _digits(text, first, m)))


@CLAIMS.induction(
    "no-other-character-means-digits-alone",
    "Counting the characters that are no digits gives 0 exactly if all are digits.",
    states=_none_but_digits,
    folds=lambda text, first: (others(text, first),),
)
def NONE_BUT_DIGITS(world: World) -> tuple[Seq, Index]:
    return TEXT.fresh("text"), z3.Int("first")


def _denotes(text: Seq, first: Index, m: Index) -> z3.BoolRef:
    """Digits denote no negative number, and no digits denote 0."""
    number = denoted(text, _term(first)).upto(m)
    natural = z3.Implies(_digits(text, first, m), number >= 0)
    return z3.Implies(z3.And(m >= 0, first >= 0), z3.And(natural, z3.Implies(m <= first, number == 0)))


@CLAIMS.induction(
    "digits-denote-a-natural-number",
    "Digits denote a number that is not negative, and none of them denote 0.",
    states=_denotes,
    folds=lambda text, first: (denoted(text, first),),
)
def DENOTES(world: World) -> tuple[Seq, Index]:
    return TEXT.fresh("text"), z3.Int("first")


def _zeros_are_nothing(text: Seq, first: Index, significant: Index, m: Index) -> z3.BoolRef:
    """If only zeros stand in [first, significant), reading may begin at either."""
    whole, rest = denoted(text, _term(first)).upto(m), denoted(text, _term(significant)).upto(m)
    zeros = every("i", first, significant, lambda i: text.at(i) == ZERO)
    given = z3.And(m >= 0, 0 <= first, first <= significant, zeros)
    return z3.Implies(given, z3.And(whole == rest, z3.Implies(m <= significant, rest == 0)))


@CLAIMS.induction(
    "leading-zeros-denote-nothing",
    "Reading digits from the first or from after leading zeros gives the same number.",
    states=_zeros_are_nothing,
    folds=lambda text, first, significant: (denoted(text, first), denoted(text, significant)),
)
def ZEROS_ARE_NOTHING(world: World) -> tuple[Seq, Index, Index]:
    return TEXT.fresh("text"), z3.Int("first"), z3.Int("significant")


@dataclass(frozen=True, kw_only=True)
class Onward(Fold):
    """A fold whose definition an induction needs from `offset` on: at offset + m, while it is at m."""

    offset: z3.ArithRef

    def unfolds(self, m: z3.ArithRef) -> z3.BoolRef:
        return Fold.unfolds(self, self.offset + m)


def _read_from(text: Seq, first: z3.ArithRef) -> Onward:
    whole = denoted(text, first)
    return Onward(name=whole.name, step=whole.step, of=whole.of, offset=first)


def _place_is_nothing(left: Seq, first: Index, right: Seq, other: Index, m: Index) -> z3.BoolRef:
    """The same m characters denote the same number wherever they stand."""
    same = every("i", first, first + m, lambda i: left.at(i) == right.at(i - first + other))
    mine, theirs = denoted(left, _term(first)).upto(first + m), denoted(right, _term(other)).upto(other + m)
    return z3.Implies(z3.And(m >= 0, first >= 0, other >= 0, same), mine == theirs)


@CLAIMS.induction(
    "where-digits-stand-does-not-matter",
    "The same digits denote the same number in whatever texts and places they stand.",
    states=_place_is_nothing,
    folds=lambda left, first, right, other: (_read_from(left, first), _read_from(right, other)),
)
def PLACE_IS_NOTHING(world: World) -> tuple[Seq, Index, Seq, Index]:
    left, right, first, other = TEXT.fresh("left"), TEXT.fresh("right"), z3.Int("first"), z3.Int("other")
    world.use(DENOTES, left, first, first)
    world.use(DENOTES, right, other, other)
    return left, first, right, other


def _grows_with_digits(left: Seq, first: Index, right: Seq, other: Index, m: Index) -> z3.BoolRef:
    """If none of m characters is above its counterpart, neither is the number."""
    lower = every("i", first, first + m, lambda i: left.at(i) <= right.at(i - first + other))
    mine, theirs = denoted(left, _term(first)).upto(first + m), denoted(right, _term(other)).upto(other + m)
    return z3.Implies(z3.And(m >= 0, first >= 0, other >= 0, lower), mine <= theirs)


@CLAIMS.induction(
    "no-smaller-digits-denote-no-smaller-number",
    "Of two numbers with equally many digits, none above its counterpart, the first is not above the second.",
    states=_grows_with_digits,
    folds=lambda left, first, right, other: (_read_from(left, first), _read_from(right, other)),
)
def GROWS_WITH_DIGITS(world: World) -> tuple[Seq, Index, Seq, Index]:
    left, right, first, other = TEXT.fresh("left"), TEXT.fresh("right"), z3.Int("first"), z3.Int("other")
    world.use(DENOTES, left, first, first)
    world.use(DENOTES, right, other, other)
    return left, first, right, other


# Reading: from the value to the threshold.


def _read_width(world: World, raw: Record) -> z3.ArithRef:
    """`min_width_from_env` as a computation: two walks, a count of what is no digit, and the number built up."""
    text: Seq = raw.text
    start, end = front(text).upto(text.length), back(text).upto(text.length)
    digits = start + z3.If(text.at(start) == PLUS, 1, 0)
    number = denoted(text, digits).upto(end)
    world.use(FRONT_IS_RIGHT, text, text.length)
    world.use(BACK_IS_RIGHT, text, text.length)
    world.use(NONE_BUT_DIGITS, text, digits, end)
    world.use(DENOTES, text, digits, end)
    spelled = z3.And(end - digits >= 1, others(text, digits).upto(end) == 0, number <= SIZE - 1)
    return z3.If(z3.And(raw.set, raw.utf8, spelled), number, DEFAULT_MIN_WIDTH)


def _width_situations(width: z3.ArithRef, raw: Record) -> Mapping[str, z3.BoolRef]:
    text: Seq = raw.text
    readable = z3.And(raw.set, raw.utf8)
    return {
        "unset": z3.Not(raw.set),
        "not UTF-8": z3.And(raw.set, z3.Not(raw.utf8)),
        "empty": z3.And(readable, text.length == 0),
        "a number in white space": z3.And(readable, white(text.at(0)), white(text.at(2)), text.length == 3, width == 5),
        "a plus and two digits": z3.And(readable, text.at(0) == PLUS, text.length == 3, width == 42),
        "a lone plus": z3.And(readable, text.at(0) == PLUS, text.length == 1),
        "something else": z3.And(readable, text.at(0) == ord("-"), text.length == 2),
    }


def _width_numbers(raw: Record) -> Mapping[str, z3.ArithRef]:
    text: Seq = raw.text
    return {
        f"leading[{text.name}]": front(text).upto(text.length),
        f"trailing[{text.name}]": back(text).upto(text.length),
    }


pin(
    CLAIMS,
    "min_width_from_env",
    _read_width,
    _width_situations,
    numbers=_width_numbers,
    cases={
        "readable-text": (
            "Every readable text can be trimmed, and min_width_from_env allows the width that its closed form gives.",
            lambda raw: z3.And(raw.set, raw.utf8),
        )
    },
)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Any readable environment value, and the threshold that it gives."""

    raw: Record
    width: z3.ArithRef
    given: Mapping[str, z3.BoolRef]

    @property
    def text(self) -> Seq:
        """The characters of the value."""
        return self.raw.text  # type: ignore[no-any-return]


def _reading(world: World, name: str = "raw") -> Reading:
    raw = world.some(RAW_TEXT, name)
    width, reading = world.answer(f"width of {name}", "min_width_from_env", raw)
    given = {f"the width of {name}": reading, f"{name} is readable text": z3.And(raw.set, raw.utf8)}
    return Reading(raw=raw, width=width, given=given)


def _numeral(reading: Reading) -> tuple[z3.ArithRef, z3.ArithRef, dict[str, z3.BoolRef]]:
    """The text is white space, perhaps a plus, digits in [first, end), white space."""
    text, name = reading.text, reading.text.name
    first, end = z3.Int(f"first digit of {name}"), z3.Int(f"end of digits of {name}")
    sign = first - z3.If(z3.And(first > 0, text.at(first - 1) == PLUS), 1, 0)
    return (
        first,
        end,
        {
            f"{name} has digits": z3.And(0 <= first, first < end, end <= text.length, _digits(text, first, end)),
            f"{name} begins and ends with digits": z3.And(digit(text.at(first)), digit(text.at(end - 1))),
            f"{name} has white space before, perhaps a plus": every("i", 0, sign, lambda i: white(text.at(i))),
            f"{name} has white space after": every("i", end, text.length, lambda i: white(text.at(i))),
        },
    )


@CLAIMS.theorem("without-readable-text-the-width-is-the-default", "A value that is unset, or is no UTF-8, gives the width 8.")
def without_readable_text_the_width_is_the_default(world: World) -> Goal:
    raw = world.some(RAW_TEXT, "raw")
    width, reading = world.answer("width", "min_width_from_env", raw)
    return Goal(
        given={"width is what it asks for": reading, "there is no text": z3.Not(z3.And(raw.set, raw.utf8))},
        show=width == 8,
        witnesses={"unset": z3.Not(raw.set), "not UTF-8": raw.set},
    )


@CLAIMS.theorem(
    "a-text-without-a-digit-is-no-number",
    "A text without a digit gives the width 8: the empty one, white space alone, a lone plus.",
)
def a_text_without_a_digit_is_no_number(world: World) -> Goal:
    reading = _reading(world)
    text = reading.text
    return Goal(
        given={
            **reading.given,
            "no character is a digit": every("i", 0, text.length, lambda i: z3.Not(digit(text.at(i)))),
        },
        show=reading.width == 8,
        witnesses={
            "empty": text.length == 0,
            "white space alone": z3.And(text.length == 2, white(text.at(0)), white(text.at(1))),
            "a lone plus": z3.And(text.length == 1, text.at(0) == PLUS),
        },
    )


@CLAIMS.theorem(
    "a-foreign-character-makes-it-no-number",
    "A text gives the width 8 if any of its characters is neither white space nor an ASCII digit nor a plus.",
)
def a_foreign_character_makes_it_no_number(world: World) -> Goal:
    reading = _reading(world)
    i, text = world.some(USIZE, "i"), reading.text
    c = text.at(i)
    return Goal(
        given={
            **reading.given,
            "it is a character of the text": i < text.length,
            "it is foreign": z3.Not(z3.Or(white(c), digit(c), c == PLUS)),
        },
        show=reading.width == 8,
        witnesses={
            name: z3.And(c == ord(character), text.length == 2, digit(text.at(1 - i)))
            for name, character in {
                "a minus": "-",
                "an underscore": "_",
                "a separator that str.strip() takes": "\x1c",
                "a digit of another script": "٣",
                "a zero-width space": "\u200b",
            }.items()
        },
    )


@CLAIMS.theorem(
    "a-plus-may-only-come-first",
    "A text gives the width 8 if a plus stands anywhere but before all other characters that are no white space.",
)
def a_plus_may_only_come_first(world: World) -> Goal:
    reading = _reading(world)
    i, j, text = world.some(USIZE, "i"), world.some(USIZE, "j"), reading.text
    return Goal(
        given={
            **reading.given,
            "a plus": z3.And(j < text.length, text.at(j) == PLUS),
            "comes after what is no white space": z3.And(i < j, z3.Not(white(text.at(i)))),
        },
        show=reading.width == 8,
        witnesses={
            "two of them": z3.And(text.at(i) == PLUS, text.length == 3, digit(text.at(2))),
            "after a digit": z3.And(text.length == 2, digit(text.at(0))),
        },
    )


@CLAIMS.theorem(
    "white-space-inside-makes-it-no-number",
    "A text gives the width 8 if white space stands between two characters that are none.",
)
def white_space_inside_makes_it_no_number(world: World) -> Goal:
    reading = _reading(world)
    text = reading.text
    i, j, k = (world.some(USIZE, name) for name in "ijk")
    return Goal(
        given={
            **reading.given,
            "there are three characters": z3.And(i < j, j < k, k < text.length),
            "the middle one is white space": white(text.at(j)),
            "the others are not": z3.And(z3.Not(white(text.at(i))), z3.Not(white(text.at(k)))),
        },
        show=reading.width == 8,
        witnesses={
            "between digits": z3.And(digit(text.at(i)), digit(text.at(k))),
            "after a plus": z3.And(text.at(i) == PLUS, digit(text.at(k))),
        },
    )


@CLAIMS.theorem(
    "a-numeral-gives-the-number-it-denotes",
    "White space, perhaps a plus, digits, white space: the width is the number that the digits denote, or 8 if that does "
    "not fit 64 bits.",
    size=4,
)
def a_numeral_gives_the_number_it_denotes(world: World) -> Goal:
    reading = _reading(world)
    first, end, numeral = _numeral(reading)
    number = denoted(reading.text, first).upto(end)
    return Goal(
        given={**reading.given, **numeral},
        show=reading.width == z3.If(number < SIZE, number, 8),
        witnesses={
            "more than the default": number > 8,
            "white space and a plus": z3.And(first > 1, reading.text.at(first - 1) == PLUS, end < reading.text.length),
            "zero": z3.And(number == 0, end == first + 1),
        },
    )


@CLAIMS.theorem("a-single-digit-denotes-itself", "A numeral of one digit gives that digit as the width.")
def a_single_digit_denotes_itself(world: World) -> Goal:
    reading = _reading(world)
    first, end, numeral = _numeral(reading)
    number = denoted(reading.text, first)
    world.use(DENOTES, reading.text, first, first)
    return Goal(
        given={
            **reading.given,
            **numeral,
            "it has one digit": end == first + 1,
            "reading one digit more, by definition": number.unfolds(first),
        },
        show=reading.width == reading.text.at(first) - ZERO,
        witnesses={f"it is {d}": reading.text.at(first) == ZERO + d for d in (0, 9)},
    )


@CLAIMS.theorem(
    "a-further-digit-counts-ten-times-the-rest",
    "A numeral with one digit more than another gives ten times the other's width plus that digit, or 8 if that does not "
    "fit 64 bits.",
)
def a_further_digit_counts_ten_times_the_rest(world: World) -> Goal:
    short, long = _reading(world, "short"), _reading(world, "long")
    (first, end, numeral), (other, longer_end, longer) = _numeral(short), _numeral(long)
    world.use(PLACE_IS_NOTHING, short.text, first, long.text, other, end - first)
    digits = denoted(long.text, other)
    number = 10 * short.width + long.text.at(longer_end - 1) - ZERO
    return Goal(
        given={
            **short.given,
            **long.given,
            **numeral,
            **longer,
            "the short one fits 64 bits": denoted(short.text, first).upto(end) < SIZE,
            "the long one begins with the same digits": every(
                "i", first, end, lambda i: short.text.at(i) == long.text.at(i - first + other)
            ),
            "and has one more": longer_end - other == end - first + 1,
            "reading one digit more, by definition": digits.unfolds(longer_end - 1),
        },
        show=long.width == z3.If(number < SIZE, number, 8),
        witnesses={
            "two digits": z3.And(short.width == 4, long.width == 42),
            "they stand elsewhere": z3.And(first != other, short.width == 7),
        },
    )


@CLAIMS.theorem(
    "only-the-significant-digits-matter",
    "Two numerals with the same digits after leading zeros give the same width, whatever white space and plus stand around.",
    size=4,
)
def only_the_significant_digits_matter(world: World) -> Goal:
    padded, plain = _reading(world, "padded"), _reading(world, "plain")
    (first, end, numeral), (other, other_end, other_numeral) = _numeral(padded), _numeral(plain)
    significant = z3.Int("first significant digit")
    world.use(ZEROS_ARE_NOTHING, padded.text, first, significant, end)
    world.use(PLACE_IS_NOTHING, padded.text, significant, plain.text, other, end - significant)
    return Goal(
        given={
            **padded.given,
            **plain.given,
            **numeral,
            **other_numeral,
            "zeros may come first": z3.And(
                first <= significant,
                significant < end,
                every("i", first, significant, lambda i: padded.text.at(i) == ZERO),
            ),
            "then the same digits": z3.And(
                end - significant == other_end - other,
                every("i", significant, end, lambda i: padded.text.at(i) == plain.text.at(i - significant + other)),
            ),
        },
        show=padded.width == plain.width,
        witnesses={
            "zeros": z3.And(significant == first + 2, padded.width == 64),
            "a plus": z3.And(first > 0, padded.text.at(first - 1) == PLUS, other == 0, padded.width == 64),
            "white space": z3.And(white(padded.text.at(0)), white(plain.text.at(plain.text.length - 1)), first != other),
        },
    )


@CLAIMS.theorem(
    "no-smaller-digits-give-no-smaller-width",
    "Of two numerals with equally many digits, none above its counterpart, the first gives no larger width, if both fit 64 bits.",
)
def no_smaller_digits_give_no_smaller_width(world: World) -> Goal:
    lower, higher = _reading(world, "lower"), _reading(world, "higher")
    (first, end, numeral), (other, other_end, other_numeral) = _numeral(lower), _numeral(higher)
    world.use(GROWS_WITH_DIGITS, lower.text, first, higher.text, other, end - first)
    return Goal(
        given={
            **lower.given,
            **higher.given,
            **numeral,
            **other_numeral,
            "they have equally many digits": end - first == other_end - other,
            "none is above its counterpart": every(
                "i", first, end, lambda i: lower.text.at(i) <= higher.text.at(i - first + other)
            ),
            "the higher fits 64 bits": denoted(higher.text, other).upto(other_end) < SIZE,
        },
        show=lower.width <= higher.width,
        witnesses={"the last digit differs": z3.And(lower.width == 12, higher.width == 19)},
    )


def _spells(reading: Reading, number: int) -> dict[str, z3.BoolRef]:
    """The text is this number in decimal, and by definition its digits denote it."""
    text, numeral = reading.text, str(number)
    whole = denoted(text, z3.IntVal(0))
    characters = [text.at(i) == ord(c) for i, c in enumerate(numeral)]
    # Bounded, the fold is written out: there its definition need not be said.
    steps = [whole.unfolds(z3.IntVal(i)) for i in range(len(numeral))] if bound() is None else []
    return {
        f"{text.name} is {number}": z3.And(text.length == len(numeral), *characters),
        f"what it denotes, by definition: {text.name}": z3.And(whole.starts(), *steps),
    }


@CLAIMS.theorem("the-largest-word-is-a-width", "The value 18446744073709551615 gives that width.", size=20)
def the_largest_word_is_a_width(world: World) -> Goal:
    reading = _reading(world)
    return Goal(given={**reading.given, **_spells(reading, SIZE - 1)}, show=reading.width == SIZE - 1)


@CLAIMS.theorem("a-number-above-the-largest-word-is-no-width", "The value 18446744073709551616 gives the width 8.", size=20)
def a_number_above_the_largest_word_is_no_width(world: World) -> Goal:
    reading = _reading(world)
    return Goal(given={**reading.given, **_spells(reading, SIZE)}, show=reading.width == 8)


@CLAIMS.boundary(
    "a-number-above-nine-gives-a-width-above-nine",
    "A value that denotes a number above 9 gives a width above 9, even if the number does not fit 64 bits.",
    size=20,
)
def a_number_above_nine_gives_a_width_above_nine(world: World) -> Goal:
    reading = _reading(world)
    return Goal(given={**reading.given, **_spells(reading, SIZE)}, show=reading.width > 9)


@CLAIMS.theorem(
    "by-default-eight-is-wide-enough",
    "With neither variable set a batch is canonical exactly from width 8 on.",
)
def by_default_eight_is_wide_enough(world: World) -> Goal:
    raw = world.some(RAW_TEXT, "raw")
    width, reading = world.answer("width", "min_width_from_env", raw)
    gate = _decision(world, min_width=width)
    return Goal(
        given={
            "width is what the environment asks for": reading,
            "canonical is the answer": gate.given,
            "the width is not set": z3.Not(raw.set),
            "the switch is clear": gate.clear,
        },
        show=gate.canonical == (gate.n >= 8),
        witnesses={"seven": gate.n == 7, "eight": gate.n == 8},
    )
