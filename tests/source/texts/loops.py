# mypy: ignore-errors
# ruff: noqa - a text to be read, as somebody else might have written it
"""Index loops, while, for with else, helper functions, shadowed names."""

from dataclasses import dataclass


def _end_of(start, count):
    end = start + count
    if end >= 2**64:
        raise OverflowError("too far")
    return end


@dataclass(frozen=True)
class CarriedDrafter:
    rows: int
    last_pair_key: int | None
    tokens: list[int]
    session_hash: int

    def common_prefix_len(self, prompt):
        limit = min(len(self.tokens), len(prompt))
        for i in range(limit):
            if self.tokens[i] != prompt[i]:
                return i
        return limit

    def session_matches(self, session_hash):
        known = session_hash != 0
        return known and self.session_hash == session_hash

    def usable_by(self, prompt, session_hash):
        i = 0
        while i < len(prompt) and i < len(self.tokens) and prompt[i] == self.tokens[i]:
            i += 1
        if i < 2:
            return None
        if self.session_matches(session_hash) and self.last_pair_key is not None:
            highest = i - 2
            if self.last_pair_key <= highest:
                return (self.rows, self.last_pair_key) if self.rows else None
            rows = self.rows - self.last_pair_key + highest
            if rows > 0:
                return rows, highest
        return None


@dataclass(frozen=True)
class AppendPlan:
    first_key: int
    rows: int


def plan_append(last_pair_key, prompt_len, hidden_lo, hidden_hi):
    keys = prompt_len - 1
    if keys < 1:
        return None
    first = _end_of(last_pair_key, 1)
    if first < hidden_lo:
        first = hidden_lo
    plan = None
    if first < keys <= hidden_hi:
        plan = AppendPlan(first, keys - first)
    return plan


def hidden_row_offset(base, pos, hidden_size):
    row = hidden_size * 2
    offset = pos * row
    return _end_of(base, offset)


@dataclass(frozen=True)
class StoreRange:
    owner: int
    lo: int
    hi: int

    def visible_to(self, reader_gen):
        seen = (0, 0)
        if reader_gen:
            if self.owner == reader_gen:
                seen = (self.lo, self.hi)
        return seen


def merge_interval(cur, start, count):
    end = _end_of(start, count)
    lo, hi = start, end
    if cur[0] < cur[1]:
        if not (start > cur[1] or end < cur[0]):
            lo = cur[0] if cur[0] < lo else lo
            hi = cur[1] if cur[1] > hi else hi
    return lo, hi


def stamped_merge(cur: StoreRange, writer_gen, start, count):
    if cur.owner != 0:
        if cur.owner == writer_gen:
            lo, hi = merge_interval((cur.lo, cur.hi), start, count)
            return StoreRange(writer_gen, lo, hi)
    return StoreRange(writer_gen, start, _end_of(start, count))


@dataclass(frozen=True)
class DrafterContext:
    prefill: bool
    carry: bool


def carry_armed_with(cfg: DrafterContext, multi_seq):
    armed = cfg.carry
    if multi_seq:
        armed = False
    return armed


def verify_batch_permutation(slots, ks, canonical):
    if len(ks) != len(slots):
        raise ValueError
    members = [(0 if canonical else -k, slot, i) for i, (slot, k) in enumerate(zip(slots, ks))]
    members.sort()
    return [i for _, _, i in members]


def verify_batch_order(slots, ks, canonical):
    order = verify_batch_permutation(slots, ks, canonical)
    depths = []
    for i in order:
        depths.append(ks[i])
    if canonical:
        depths.sort(reverse=True)
    return order, depths


def verify_graph_key(pairs, wy_tables_null):
    words = []
    i = 0
    while i < len(pairs):
        words.append(pairs[i][0])
        words.append(pairs[i][1])
        i += 1
    last = 2**32 - 1
    if wy_tables_null:
        last -= 1
    words.append(last)
    return words


def canonical_assignment_at(n, min_width, kill_switch_clear):
    wide = n >= min_width
    return wide and kill_switch_clear
