"""The arithmetic of the rules in 64-bit bit-vectors: a second telling, by what a processor does.

`spec.store`, `spec.append`, `spec.gate` and `spec.key` tell the same rules with integers and say overflow aloud. Here words wrap by
themselves, and a carry or a high half tells that they did. Nothing is shared with that telling but the shapes of arguments and
results, so a mistake in either shows where a claim holds of one alone. Left out: sequences, which have no arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import z3

from spec.machine import Profile
from spec.rules import Rule, Rules
from spec.scope import bound
from spec.sorts import FLAG, Concrete, Fallible, Maybe, Option, Outcome, Record, Sort, Struct

WIDTH = 64


@dataclass(frozen=True)
class Bits(Sort):
    """An unsigned machine word, as so many bits."""

    width: int = WIDTH

    def fresh(self, name: str) -> z3.BitVecRef:
        return z3.BitVec(name, self.width)

    def domain(self, term: z3.BitVecRef) -> z3.BoolRef:
        return z3.BoolVal(True)

    def same(self, left: z3.BitVecRef, right: z3.BitVecRef) -> z3.BoolRef:
        return left == right

    def literal(self, value: Concrete, name: str = "") -> z3.BitVecRef:
        return z3.BitVecVal(value, self.width)

    def read(self, model: z3.ModelRef, term: z3.BitVecRef) -> int:
        return int(model.eval(term, model_completion=True).as_long())


BITS = Bits()
ROWS = Struct((("lo", BITS), ("hi", BITS)), is_tuple=True)
STAMP = Struct((("owner", BITS), ("lo", BITS), ("hi", BITS)))
PLANNED = Struct((("first_key", BITS), ("rows", BITS)))
KEPT = Struct((("rows", BITS), ("last_pair_key", BITS)), is_tuple=True)


def word(value: int) -> z3.BitVecRef:
    """A constant word."""
    return z3.BitVecVal(value, WIDTH)


def carries(left: z3.BitVecRef, right: z3.BitVecRef) -> z3.BoolRef:
    """Adding the two sets the carry: the sum is below what was added to."""
    return z3.ULT(left + right, left)


def wide(term: z3.BitVecRef, width: int) -> z3.BitVecRef:
    """The same number in more bits."""
    return z3.ZeroExt(width - term.size(), term)


def product(left: z3.BitVecRef, right: z3.BitVecRef) -> z3.BitVecRef:
    """The product of two words, in two words.

    Unbounded it is any function of the two: what is proved rests on the halves and their carries, not on what a product is.
    """
    if bound() is None:
        return z3.Function("product", z3.BitVecSort(WIDTH), z3.BitVecSort(WIDTH), z3.BitVecSort(2 * WIDTH))(left, right)
    return wide(left, 2 * WIDTH) * wide(right, 2 * WIDTH)


def low(double: z3.BitVecRef) -> z3.BitVecRef:
    """The low word of two."""
    return z3.Extract(WIDTH - 1, 0, double)


def high(double: z3.BitVecRef) -> z3.BitVecRef:
    """The high word of two."""
    return z3.Extract(2 * WIDTH - 1, WIDTH, double)


def _computed(result: Outcome, profile: Profile, *, overflow: z3.BoolRef, value: z3.BoolRef) -> z3.BoolRef:
    """What the wrapped words are, or a panic where a debug build sees the overflow."""
    panics = z3.And(overflow, z3.BoolVal(profile is Profile.DEBUG))
    return z3.And(result.panics == panics, z3.Implies(z3.Not(panics), value))


def _is(rows: Record, lo: z3.BitVecRef, hi: z3.BitVecRef) -> z3.BoolRef:
    return z3.And(rows.lo == lo, rows.hi == hi)


def contains(rows: Record, row: z3.BitVecRef) -> z3.BoolRef:
    """The row is claimed."""
    return z3.And(z3.UGE(row, rows.lo), z3.UGT(rows.hi, row))


def visible_to(stamp: Record, reader_gen: z3.BitVecRef, result: Record) -> z3.BoolRef:
    """`StoreRange::visible_to`."""
    shown = z3.Not(z3.Or(reader_gen == 0, (stamp.owner ^ reader_gen) != 0))
    return _is(result, z3.If(shown, stamp.lo, word(0)), z3.If(shown, stamp.hi, word(0)))


def merge_interval(
    cur: Record, start: z3.BitVecRef, count: z3.BitVecRef, result: Outcome, profile: Profile = Profile.DEBUG
) -> z3.BoolRef:
    """`merge_interval`, as minima and maxima."""
    end = start + count
    replaces = z3.Or(z3.UGE(cur.lo, cur.hi), z3.UGT(start, cur.hi), z3.UGT(cur.lo, end))
    first = z3.If(z3.Or(replaces, z3.ULT(start, cur.lo)), start, cur.lo)
    last = z3.If(z3.Or(replaces, z3.UGT(end, cur.hi)), end, cur.hi)
    return _computed(result, profile, overflow=carries(start, count), value=_is(result.value, first, last))


def stamped_merge(
    cur: Record,
    writer_gen: z3.BitVecRef,
    start: z3.BitVecRef,
    count: z3.BitVecRef,
    result: Outcome,
    profile: Profile = Profile.DEBUG,
) -> z3.BoolRef:
    """`stamped_merge`: to anyone but the owner the range is empty."""
    own = z3.And(cur.owner == writer_gen, writer_gen != 0)
    mine = Record(fields={"lo": z3.If(own, cur.lo, word(0)), "hi": z3.If(own, cur.hi, word(0))})
    stamped = z3.Implies(z3.Not(result.panics), result.value.owner == writer_gen)
    return z3.And(stamped, merge_interval(mine, start, count, result, profile))


def hidden_row_offset(
    base: z3.BitVecRef,
    pos: z3.BitVecRef,
    hidden_size: z3.BitVecRef,
    result: Outcome,
    profile: Profile = Profile.DEBUG,
) -> z3.BoolRef:
    """`hidden_row_offset`: multiplied, doubled, added; each step may overflow."""
    elements = product(pos, hidden_size)
    size = low(elements)
    overflow = z3.Or(high(elements) != 0, carries(size, size), carries(base, size + size))
    return _computed(result, profile, overflow=overflow, value=result.value == base + (size << 1))


def plan_append(
    last_pair_key: z3.BitVecRef,
    prompt_len: z3.BitVecRef,
    hidden_lo: z3.BitVecRef,
    hidden_hi: z3.BitVecRef,
    result: Outcome,
    profile: Profile = Profile.DEBUG,
) -> z3.BoolRef:
    """`plan_append`: the next key, clamped to the first readable row, up to the end of the keys."""
    following, end = last_pair_key + 1, prompt_len - 1
    first = z3.If(z3.ULT(following, hidden_lo), hidden_lo, following)
    no_keys = z3.ULE(prompt_len, word(1))
    planned = z3.And(z3.Not(no_keys), z3.ULT(first, end), z3.ULE(end, hidden_hi))
    plan: Maybe = result.value
    told = z3.And(plan.value.first_key == first, plan.value.rows == end - first)
    value = z3.And(plan.present == planned, z3.Implies(planned, told))
    return _computed(result, profile, overflow=z3.And(z3.Not(no_keys), following == 0), value=value)


def canonical_assignment_at(
    n: z3.BitVecRef, min_width: z3.BitVecRef, kill_switch_clear: z3.BoolRef, result: z3.BoolRef
) -> z3.BoolRef:
    """`canonical_assignment_at`."""
    return result == z3.If(kill_switch_clear, z3.Not(z3.ULT(n, min_width)), False)


def adopted(rows: z3.BitVecRef, last_pair_key: z3.BitVecRef, common: z3.BitVecRef) -> Maybe:
    """The arithmetic of `usable_by` for an entry with so many rows and a common prefix of at least 2."""
    key = z3.If(z3.ULT(last_pair_key, common - 2), last_pair_key, common - 2)
    lost = last_pair_key - key
    return Maybe(present=z3.ULT(lost, rows), value=Record(fields={"rows": rows - lost, "last_pair_key": key}))


def read_digit(number: z3.BitVecRef, digit: z3.BitVecRef) -> Outcome:
    """One step of `min_width_from_env`: ten times the number, and the digit."""
    tenfold = wide(number, WIDTH + 4) * 10
    shifted = z3.Extract(WIDTH - 1, 0, tenfold)
    overflow = z3.Or(z3.Extract(WIDTH + 3, WIDTH, tenfold) != 0, carries(shifted, digit))
    return Outcome(panics=overflow, value=shifted + digit)


def packed(value: z3.BitVecRef) -> z3.BitVecRef:
    """What a word of `verify_graph_key` keeps of a slot or a depth."""
    return z3.Extract(31, 0, value)


WORD_RULES = Rules(
    {
        rule.name: rule
        for rule in (
            Rule(name="visible_to", module="words", params={"self": STAMP, "reader_gen": BITS}, result=ROWS, relation=visible_to),
            Rule(
                name="merge_interval",
                module="words",
                params={"cur": ROWS, "start": BITS, "count": BITS},
                result=Fallible(ROWS),
                relation=merge_interval,
                overflows=True,
            ),
            Rule(
                name="stamped_merge",
                module="words",
                params={"cur": STAMP, "writer_gen": BITS, "start": BITS, "count": BITS},
                result=Fallible(STAMP),
                relation=stamped_merge,
                overflows=True,
            ),
            Rule(
                name="hidden_row_offset",
                module="words",
                params={"base": BITS, "pos": BITS, "hidden_size": BITS},
                result=Fallible(BITS),
                relation=hidden_row_offset,
                overflows=True,
            ),
            Rule(
                name="plan_append",
                module="words",
                params={"last_pair_key": BITS, "prompt_len": BITS, "hidden_lo": BITS, "hidden_hi": BITS},
                result=Fallible(Option(PLANNED)),
                relation=plan_append,
                overflows=True,
            ),
            Rule(
                name="canonical_assignment_at",
                module="words",
                params={"n": BITS, "min_width": BITS, "kill_switch_clear": FLAG},
                result=FLAG,
                relation=canonical_assignment_at,
            ),
        )
    }
)
"""The rules that are told in words."""
