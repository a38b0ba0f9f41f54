# mypy: ignore-errors
# ruff: noqa - a text to be read, as somebody else might have written it
"""Early returns and plain conditions."""

from dataclasses import dataclass

LARGEST = 2**64 - 1


@dataclass(frozen=True)
class CarriedDrafter:
    rows: int
    last_pair_key: int | None
    tokens: list[int]
    session_hash: int

    def common_prefix_len(self, prompt):
        length = 0
        for ours, theirs in zip(self.tokens, prompt):
            if ours != theirs:
                break
            length += 1
        return length

    def session_matches(self, session_hash):
        if session_hash == 0:
            return False
        return self.session_hash == session_hash

    def usable_by(self, prompt, session_hash):
        if not self.session_matches(session_hash):
            return None
        newest = self.last_pair_key
        if newest is None:
            return None
        highest = self.common_prefix_len(prompt) - 2
        if highest < 0:
            return None
        lost = max(newest - highest, 0)
        if lost >= self.rows:
            return None
        return self.rows - lost, newest - lost


@dataclass(frozen=True)
class AppendPlan:
    first_key: int
    rows: int


def plan_append(last_pair_key, prompt_len, hidden_lo, hidden_hi):
    if prompt_len <= 1:
        return None
    if last_pair_key >= LARGEST:
        raise OverflowError("no next key")
    end = prompt_len - 1
    first = hidden_lo if hidden_lo > last_pair_key else last_pair_key + 1
    if end <= first:
        return None
    if end > hidden_hi:
        return None
    return AppendPlan(first, end - first)


def hidden_row_offset(base, pos, hidden_size):
    address = base + pos * hidden_size * 2
    if address > LARGEST:
        raise OverflowError("beyond the last address")
    return address


@dataclass(frozen=True)
class StoreRange:
    owner: int
    lo: int
    hi: int

    def visible_to(self, reader_gen):
        if reader_gen != 0 and self.owner == reader_gen:
            return self.lo, self.hi
        return 0, 0


def merge_interval(cur, start, count):
    lo, hi = cur
    end = start + count
    if end > LARGEST:
        raise OverflowError("the chunk does not end")
    if hi <= lo or start > hi or end < lo:
        return start, end
    return min(lo, start), max(hi, end)


def stamped_merge(cur: StoreRange, writer_gen, start, count):
    before = (0, 0)
    if cur.owner == writer_gen and writer_gen != 0:
        before = (cur.lo, cur.hi)
    lo, hi = merge_interval(before, start, count)
    return StoreRange(writer_gen, lo, hi)


@dataclass(frozen=True)
class DrafterContext:
    prefill: bool
    carry: bool


def carry_armed_with(cfg: DrafterContext, multi_seq):
    if multi_seq:
        return False
    return cfg.carry


def verify_batch_permutation(slots, ks, canonical):
    if len(slots) != len(ks):
        raise ValueError("lengths differ")
    order = list(range(len(slots)))
    if canonical:
        order.sort(key=lambda i: slots[i])
    else:
        order.sort(key=lambda i: (-ks[i], slots[i]))
    return order


def verify_batch_order(slots, ks, canonical):
    order = verify_batch_permutation(slots, ks, canonical)
    if canonical:
        depths = sorted(ks, reverse=True)
    else:
        depths = [ks[i] for i in order]
    return order, depths


def verify_graph_key(pairs, wy_tables_null):
    key = []
    for slot, k in pairs:
        key.append(slot)
        key.append(k)
    key.append(2**32 - 2 if wy_tables_null else 2**32 - 1)
    return key


def canonical_assignment_at(n, min_width, kill_switch_clear):
    if not kill_switch_clear:
        return False
    return min_width <= n
