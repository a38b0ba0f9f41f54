# mypy: ignore-errors
# ruff: noqa - a text to be read, as somebody else might have written it
"""Expressions: generators, conditional expressions, chained comparisons, tuples as keys."""

from dataclasses import dataclass
from itertools import takewhile

WORD = 1 << 64
WHITE = (
    "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


def _word(number):
    if not 0 <= number < WORD:
        raise OverflowError
    return number


@dataclass(frozen=True, kw_only=True)
class CarriedDrafter:
    rows: int
    last_pair_key: int | None
    tokens: list[int]
    session_hash: int

    def common_prefix_len(self, prompt):
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self.tokens, prompt)))

    def session_matches(self, session_hash):
        return session_hash != 0 and session_hash == self.session_hash

    def usable_by(self, prompt, session_hash):
        common = self.common_prefix_len(prompt)
        if self.last_pair_key is None or common < 2 or not self.session_matches(session_hash):
            return None
        key = min(self.last_pair_key, common - 2)
        kept = self.rows + key - self.last_pair_key
        return (kept, key) if kept >= 1 else None


@dataclass(frozen=True, kw_only=True)
class AppendPlan:
    first_key: int
    rows: int


def plan_append(last_pair_key, prompt_len, hidden_lo, hidden_hi):
    if not prompt_len > 1:
        return None
    first_key = max(_word(last_pair_key + 1), hidden_lo)
    rows = prompt_len - 1 - first_key
    return AppendPlan(rows=rows, first_key=first_key) if rows > 0 and hidden_hi >= prompt_len - 1 else None


def hidden_row_offset(base, pos, hidden_size):
    return _word(base + 2 * (hidden_size * pos))


@dataclass(frozen=True, kw_only=True)
class StoreRange:
    owner: int
    lo: int
    hi: int

    def visible_to(self, reader_gen):
        return (self.lo, self.hi) if self.owner == reader_gen != 0 else (0, 0)


def merge_interval(cur, start, count):
    end = _word(start + count)
    joined = cur[0] < cur[1] and start <= cur[1] and cur[0] <= end
    return (min(cur[0], start), max(cur[1], end)) if joined else (start, end)


def stamped_merge(cur: StoreRange, writer_gen, start, count):
    own = writer_gen == cur.owner and writer_gen > 0
    lo, hi = merge_interval((cur.lo, cur.hi), start, count) if own else (start, _word(start + count))
    return StoreRange(owner=writer_gen, lo=lo, hi=hi)


@dataclass(frozen=True)
class DrafterContext:
    prefill: bool
    carry: bool


def carry_armed_with(cfg: DrafterContext, multi_seq):
    return cfg.carry and not multi_seq


def verify_batch_permutation(slots, ks, canonical):
    assert len(slots) == len(ks)
    return sorted(range(len(ks)), key=lambda i: (0 if canonical else -ks[i], slots[i], i))


def verify_batch_order(slots, ks, canonical):
    order = verify_batch_permutation(slots, ks, canonical)
    return order, sorted(ks)[::-1] if canonical else [ks[i] for i in order]


def verify_graph_key(pairs, wy_tables_null):
    return [word for pair in pairs for word in pair] + [0xFFFFFFFE if wy_tables_null else 0xFFFFFFFF]


def canonical_assignment_at(n, min_width, kill_switch_clear):
    return kill_switch_clear and not n < min_width


def min_width_from_env(raw):
    if raw is None or isinstance(raw, bytes):
        return 8
    text = raw.strip(WHITE)
    digits = text.removeprefix("+")
    if not digits.isascii() or not digits.isdigit():
        return 8
    width = int(digits)
    return width if width < WORD else 8
