"""The claims of the sweeps over NumPy arrays: for a batch of case indices, which cases break their claim.

The twin of proofs/gpu/kernels for machines without a compiler. Rules under test are the functions of impl.batched on
NumPy arrays; oracles speak of sets of keys and rows, sorted words and last writers, and never compute with those rules.
`accepted` counts what the kernels count, so both backends of a campaign come to the same digest. A sorting network is
part of the kernels alone: here its scope asks the functions that it serves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

import impl.batched as batched
from impl.batched import Ragged, Status
from proofs.gpu.scopes import ACTIONS, INTERVALS, NO_SLOT, ROWS, WRITERS

Words: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
Rule: TypeAlias = Callable[..., Any]
Verdicts: TypeAlias = tuple[Flags, Flags]
Claim: TypeAlias = Callable[[Words, Mapping[str, int], "Rules"], Verdicts]

ONE = np.uint64(1)
MOST = 2**64 - 1


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules under test that a drill may put a wrong answer into."""

    plan_append: Rule = batched.plan_append
    stamped_merge: Rule = batched.stamped_merge


def _fields(index: Words, *widths: tuple[str, int]) -> dict[str, Words]:
    """Read each index as fields of so many bits, the lowest first."""
    values = {}
    for name, bits in widths:
        values[name] = index & np.uint64((1 << bits) - 1)
        index = index >> np.uint64(bits)
    return values


def _below(n: Words) -> Words:
    """The set {0, ..., n - 1} as a mask; every number below 64 where n is 64 or more."""
    return np.where(n < 64, (ONE << np.minimum(n, np.uint64(63))) - ONE, np.uint64(MOST))


def _size(mask: Words) -> Words:
    return np.bitwise_count(mask).astype(np.uint64)


@dataclass(frozen=True, kw_only=True)
class RowSets:
    """One set of rows below 128 for each case."""

    low: Words
    high: Words

    @classmethod
    def between(cls, lo: Words, hi: Words) -> RowSets:
        """The rows lo to hi - 1."""
        return cls.below(hi).without(cls.below(lo))

    @classmethod
    def below(cls, n: Words) -> RowSets:
        return cls(low=_below(n), high=_below(np.maximum(n, np.uint64(64)) - np.uint64(64)))

    def kept(self, where: Flags) -> RowSets:
        """These sets where the flag stands, the empty set elsewhere."""
        return RowSets(low=np.where(where, self.low, 0), high=np.where(where, self.high, 0))

    def without(self, other: RowSets) -> RowSets:
        return RowSets(low=self.low & ~other.low, high=self.high & ~other.high)

    def __and__(self, other: RowSets) -> RowSets:
        return RowSets(low=self.low & other.low, high=self.high & other.high)

    def __or__(self, other: RowSets) -> RowSets:
        return RowSets(low=self.low | other.low, high=self.high | other.high)

    def equal(self, other: RowSets) -> Flags:
        return np.asarray((self.low == other.low) & (self.high == other.high))

    @property
    def empty(self) -> Flags:
        return np.asarray((self.low | self.high) == 0)


def carried(index: Words, defines: Mapping[str, int], _: Rules) -> Verdicts:
    """carried.cu: rows go in the order of keys; each absent key above those that agree costs one row that agrees."""
    case = _fields(index, ("common", 5), ("over", 3), ("entry", 2), ("request", 2), ("keys", defines["KEYS"]))
    keys, common = case["keys"], case["common"]
    # The exponent of a whole number below 2^53 is exact.
    greatest = np.frexp(keys.astype(np.float64))[1].astype(np.uint64) - (keys > 0)
    last = greatest + case["over"]
    known = case["over"] != 7
    ends = np.concatenate((np.zeros(1, np.uint64), np.cumsum(common, dtype=np.uint64)))
    tokens = (np.arange(ends[-1], dtype=np.uint64) - np.repeat(ends[:-1], common.astype(np.int64))).astype(np.uint32)
    # One token follows in the prompt, so that it is never the shorter one.
    count = np.arange(len(index) + 1, dtype=np.uint64)
    prompt = np.insert(tokens, ends[1:].astype(np.int64), np.uint32(99))
    found = batched.usable_by(
        batched.CarriedDrafters(
            rows=_size(keys),
            last_pair_key=last,
            key_known=known,
            tokens=Ragged(data=tokens, offsets=ends),
            session_hash=case["entry"],
        ),
        Ragged(data=prompt, offsets=ends + count),
        case["request"],
    )
    agreeing = _below(np.maximum(common, ONE) - ONE)
    rows_agreeing, lost = _size(keys & agreeing), _size(_below(last + ONE) & ~agreeing & ~keys)
    own = (case["request"] != 0) & (case["entry"] == case["request"])
    should = own & known & (rows_agreeing > lost)
    key = np.minimum(found.last_pair_key, np.uint64(62))
    kept_well = (
        (found.rows + lost == rows_agreeing)
        & (_size(keys & _below(key + ONE)) >= found.rows)
        & ((agreeing >> key & ONE) != 0)
        & (found.last_pair_key <= last)
    )
    good = np.where(found.status == Status.OK, should & kept_well, (found.status == Status.NONE) & ~should)
    return ~good, found.status == Status.OK


def _appended_well(plans: Any, last: Words, length: Words, lo: Words, hi: Words) -> Flags:
    final = length - np.uint64(2)
    possible = (length >= 2) & (last < final) & (lo <= final) & (final < hi)
    first, rows = plans.first_key, plans.rows
    planned = (rows >= 1) & (first + (rows - ONE) == final) & (last < first) & (lo <= first)
    planned &= (first - ONE == last) | (first == lo)
    return np.asarray(np.where(plans.status == Status.OK, possible & planned, (plans.status == Status.NONE) & ~possible))


def _append_arguments(index: Words, bits: int) -> tuple[Words, Words, Words, Words]:
    case = _fields(index, ("hi", bits), ("lo", bits), ("length", bits), ("last", bits))
    return case["last"], case["length"], case["lo"], case["hi"]


def append(index: Words, defines: Mapping[str, int], rules: Rules) -> Verdicts:
    """append.cu: a plan is the run of new, readable keys that ends with key P-2."""
    arguments = _append_arguments(index, defines["BITS"])
    plans = rules.plan_append(*arguments)
    return ~_appended_well(plans, *arguments), plans.status == Status.OK


def append_as_sets(index: Words, _: Mapping[str, int], rules: Rules) -> Verdicts:
    """append.cu, in sets of keys."""
    last, length, lo, hi = _append_arguments(index, 6)
    plans = rules.plan_append(last, length, lo, hi)
    keys = np.where(length < 2, 0, _below(np.maximum(length, ONE) - ONE))
    wanted = keys & ~_below(last + ONE) & (_below(hi) & ~_below(lo))
    plan = _below(plans.first_key + plans.rows) & ~_below(plans.first_key)
    top = keys & ~(keys >> ONE)
    neighbour = (plan & ~(plan << ONE)) >> ONE
    planned = ((plan & ~wanted) == 0) & ((plan & top) != 0) & ((wanted & neighbour) == 0)
    good = np.where(plans.status == Status.OK, planned, (plans.status == Status.NONE) & ((wanted & top) == 0))
    return ~good, plans.status == Status.OK


def _edge(code: Words, half: int) -> Words:
    return np.where(code < half, code, code - np.uint64(2 * half))


def append_edges(index: Words, _: Mapping[str, int], rules: Rules) -> Verdicts:
    """append.cu at both ends of 64 bits."""
    last, length, lo, hi = (_edge(code, 16) for code in _append_arguments(index, 5))
    plans = rules.plan_append(last, length, lo, hi)
    wraps = (last == MOST) & (length >= 2)
    good = np.where(wraps, plans.status == Status.OVERFLOW, _appended_well(plans, last, length, lo, hi))
    return ~good, plans.status == Status.OK


def merge(index: Words, defines: Mapping[str, int], rules: Rules) -> Verdicts:
    """merge.cu: each reader sees the rows that it wrote last, and the writer all that it must."""
    bits = defines["BITS"]
    case = _fields(index, ("owner", 2), ("writer", 2), ("count", bits), ("start", bits), ("hi", bits), ("lo", bits))
    owner, writer, start, count = case["owner"], case["writer"], case["start"], case["count"]
    stamped = rules.stamped_merge(batched.StoreRanges(owner=owner, lo=case["lo"], hi=case["hi"]), writer, start, count)
    claimed, written = RowSets.between(case["lo"], case["hi"]), RowSets.between(start, start + count)
    reached = RowSets.between(np.maximum(start, ONE) - ONE, start + count + ONE)
    expected = written | claimed.kept((owner == writer) & ~(claimed & reached).empty)
    after = batched.StoreRanges(owner=stamped.owner, lo=stamped.lo, hi=stamped.hi)
    good = stamped.status == Status.OK
    seen_by_any = np.zeros(len(index), np.bool_)
    for reader in range(4):
        seen = RowSets.between(*batched.visible_to(after, reader))
        wrote = (writer == reader) & (reader != 0)
        carried_before = claimed.kept((owner == reader) & (reader != 0)).without(written)
        own = carried_before | written.kept(wrote)
        good &= seen.without(own).empty & seen.equal(expected.kept(wrote))
        seen_by_any |= ~seen.empty
    return ~good, seen_by_any


def merge_edges(index: Words, _: Mapping[str, int], rules: Rules) -> Verdicts:
    """merge.cu at both ends of 64 bits, row by row next to the four edges."""
    case = _fields(index, ("count", 4), ("start", 4), ("hi", 4), ("lo", 4), ("own", 1))
    own = case.pop("own") != 0
    count, start, hi, lo = (_edge(code, 8) for code in case.values())
    owner = np.where(own, ONE, np.uint64(2))
    stamped = rules.stamped_merge(batched.StoreRanges(owner=owner, lo=lo, hi=hi), 1, start, count)
    end, ends = start + count, count <= np.uint64(MOST) - start
    touching = own & (lo < hi) & (start <= hi) & (lo <= end)
    rows_good = stamped.owner == 1
    for edge in (lo, hi, start, end):
        for before in range(3):
            row = edge - np.uint64(before)
            inside = ((start <= row) & (row < end)) | (touching & (lo <= row) & (row < hi))
            rows_good &= (edge < before) | (((stamped.lo <= row) & (row < stamped.hi)) == inside)
    ok = stamped.status == Status.OK
    good = np.where(ends, ok & rows_good, stamped.status == Status.OVERFLOW)
    return ~good, ok


def _ragged(matrix: Any) -> Ragged:
    rows, width = matrix.shape[:2]
    data = np.ascontiguousarray(matrix).reshape(rows * width, *matrix.shape[2:])
    return Ragged(data=data, offsets=np.arange(rows + 1, dtype=np.uint64) * np.uint64(width))


def _dispatched(slots: Words, ks: Words, canonical: Any) -> tuple[Flags, Words, Words]:
    """The rule's answer: where it is one, its order, and its depths, of shape (cases, width)."""
    found = batched.verify_batch_order(_ragged(slots), _ragged(ks), canonical)
    order, depths = (part.reshape(slots.shape) for part in (found.order, found.depths))
    return found.status == Status.OK, order, depths


def _along(values: Words, order: Words) -> Words:
    # An order that is none must not stop the sweep.
    return np.take_along_axis(values, np.minimum(order, np.uint64(values.shape[1] - 1)).astype(np.int64), axis=1)


def _strictly_increase(*columns: Words) -> Flags:
    """Whether each row's tuples, the first column the most significant, strictly increase."""
    before, equal = np.zeros((len(columns[0]), columns[0].shape[1] - 1), np.bool_), True
    for column in columns:
        before |= equal & (column[:, :-1] < column[:, 1:])
        equal = equal & (column[:, :-1] == column[:, 1:])
    return np.asarray(before.all(axis=1))


def _ordered_well(slots: Words, ks: Words, canonical: bool) -> tuple[Flags, Words, Words]:
    """Whether one arm dispatches each batch as it must, with its order and depths."""
    good, order, depths = _dispatched(slots, ks, canonical)
    good = good & (np.sort(order, axis=1) == np.arange(slots.shape[1], dtype=np.uint64)).all(axis=1)
    if canonical:
        good &= _strictly_increase(_along(slots, order), order)
        good &= (depths == np.sort(ks, axis=1)[:, ::-1]).all(axis=1)
    else:
        good &= _strictly_increase(~_along(ks, order), _along(slots, order), order)
        good &= (depths == _along(ks, order)).all(axis=1)
    return good, order, depths


def _orders(slots: Words, ks: Words, index: Words) -> Verdicts:
    """orders.cu: both arms, keys as sorting tells them, and what is ordered stays as it is."""
    good, order, depths = _ordered_well(slots, ks, True)
    other_good, other_order, other_depths = _ordered_well(slots, ks, False)
    good &= other_good
    null = index % np.uint64(27) & ONE == 1
    sorted_slots = np.sort(slots, axis=1)
    for arm, dealt, wanted_slots, wanted_depths in (
        (order, depths, sorted_slots, np.sort(ks, axis=1)[:, ::-1]),
        (other_order, other_depths, _along(slots, other_order), other_depths),
    ):
        pairs = np.stack((_along(slots, arm), dealt), axis=2).astype(np.uint32)
        key = batched.verify_graph_key(_ragged(pairs), null).data.reshape(len(index), -1)
        wanted = np.stack((wanted_slots, wanted_depths), axis=2).astype(np.uint32).reshape(len(index), -1)
        good &= (key[:, :-1] == wanted).all(axis=1) & (key[:, -1] == np.where(null, 2**32 - 2, 2**32 - 1))
    again_good, again, again_depths = _dispatched(_along(slots, order), depths, True)
    good &= again_good & (again == np.arange(slots.shape[1], dtype=np.uint64)).all(axis=1)
    good &= (again_depths == depths).all(axis=1)
    uniform = (ks == ks[:, :1]).all(axis=1)
    good &= ~uniform | ((other_order == order).all(axis=1) & (other_depths == depths).all(axis=1))
    return ~good, np.ones(len(index), np.bool_)


def _depths(index: Words, width: int) -> Words:
    powers = np.array([3**i for i in range(width)], np.uint64)
    return np.uint64(2) + index[:, None] // powers % np.uint64(3)


def permuted(index: Words, defines: Mapping[str, int], _: Rules) -> Verdicts:
    """orders.cu with distinct slots."""
    width = defines["WIDTH"]
    number, depths = np.divmod(index, np.uint64(3**width))
    free = np.tile(np.arange(width, dtype=np.uint64), (len(index), 1))
    slots = np.empty((len(index), width), np.uint64)
    for member in range(width):
        number, digit = np.divmod(number, np.uint64(width - member))
        chosen = np.arange(width - member, dtype=np.uint64) == digit[:, None]
        slots[:, member] = free[chosen]
        free = free[~chosen].reshape(len(index), width - member - 1)
    return _orders(slots, _depths(depths, width), index)


def tied(index: Words, defines: Mapping[str, int], _: Rules) -> Verdicts:
    """orders.cu with equal and absent slots."""
    width = defines["WIDTH"]
    number, depths = np.divmod(index, np.uint64(3**width))
    codes = number[:, None] >> np.arange(0, 2 * width, 2, dtype=np.uint64) & np.uint64(3)
    return _orders(np.where(codes == 3, np.uint64(NO_SLOT), codes), _depths(depths, width), index)


def network(index: Words, defines: Mapping[str, int], _: Rules) -> Verdicts:
    """The functions that the network serves, on every input of zeros and ones."""
    bits = index[:, None] >> np.arange(defines["WIDTH"], dtype=np.uint64) & ONE
    alike = np.full_like(bits, 2)
    good = _ordered_well(bits, alike, True)[0] & _ordered_well(alike, bits, False)[0]
    return ~good, np.ones(len(index), np.bool_)


def _mixed(x: Any) -> Any:
    x = (x ^ x >> np.uint32(16)) * np.uint32(0x7FEB352D)
    x = (x ^ x >> np.uint32(15)) * np.uint32(0x846CA68B)
    return x ^ x >> np.uint32(16)


def wide(index: Words, _: Mapping[str, int], __: Rules) -> Verdicts:
    """wide.cu: 32 members that are a hash of the index."""
    low, high = (index & np.uint64(2**32 - 1)).astype(np.uint32), (index >> np.uint64(32)).astype(np.uint32)
    base = _mixed(low ^ _mixed(high + np.uint32(0x9E3779B9)))
    step = _mixed(base + np.uint32(0x85EBCA6B)) | np.uint32(1)
    x = base[:, None] + np.arange(32, dtype=np.uint32) * step[:, None]
    bits = ((x ^ x >> np.uint32(15)) * np.uint32(0x2C1B3C6D)).astype(np.uint64)
    slots, ks = bits >> np.uint64(23), bits >> np.uint64(21) & np.uint64(3)
    good = np.empty(len(index), np.bool_)
    for canonical in (True, False):
        rows = (index & np.uint64(2) == 0) == canonical
        good[rows] = _ordered_well(slots[rows], ks[rows], canonical)[0]
    return ~good, np.ones(len(index), np.bool_)


_LOWS, _HIGHS = (np.array([ends[i] for ends in INTERVALS], np.uint64) for i in (0, 1))


def sequences(depth: int) -> Claim:
    """sequences.cu: the world of a few rows after `depth` actions, each row with the ticket of its last writer."""

    def claim(index: Words, _: Mapping[str, int], rules: Rules) -> Verdicts:
        cases = len(index)
        owner, lo, hi = (np.zeros(cases, np.uint64) for _ in range(3))
        # Generation 0 never owns what it wrote.
        last_writer = np.zeros((cases, ROWS), np.uint64)
        tickets = np.tile(np.array([0, 1, 2, 3], np.uint64), (cases, 1))
        fresh = np.full(cases, WRITERS, np.uint64)
        rows, every = np.arange(ROWS, dtype=np.uint64), np.arange(cases)
        for step in reversed(range(depth)):
            action = (index // np.uint64(ACTIONS**step) % np.uint64(ACTIONS)).astype(np.int64)
            writes = action < WRITERS * len(INTERVALS)
            writer = np.where(writes, action // len(INTERVALS), 1 + action - WRITERS * len(INTERVALS))
            interval = action % len(INTERVALS)
            start, end, ticket = _LOWS[interval], _HIGHS[interval], tickets[every, writer]
            stamped = rules.stamped_merge(batched.StoreRanges(owner=owner, lo=lo, hi=hi), ticket, start, end - start)
            owner, lo, hi = (np.where(writes, part, 0) for part in (stamped.owner, stamped.lo, stamped.hi))
            written = writes[:, None] & (start[:, None] <= rows) & (rows < end[:, None])
            last_writer = np.where(written, ticket[:, None], last_writer)
            tickets[every, writer] = np.where(writes, ticket, fresh)
            fresh = fresh + ~writes
        seen, foreign = np.zeros((cases, ROWS), np.bool_), np.zeros(cases, np.bool_)
        after = batched.StoreRanges(owner=owner, lo=lo, hi=hi)
        for reader in range(WRITERS):
            ticket = np.ascontiguousarray(tickets[:, reader])
            low, high = batched.visible_to(after, ticket)
            shown = (low[:, None] <= rows) & (rows < high[:, None])
            foreign |= (shown & ((last_writer != ticket[:, None]) | (ticket == 0)[:, None])).any(axis=1)
            seen |= shown
        unseen = (written & ~seen).any(axis=1) & (writer != 0)
        return foreign | unseen, np.asarray(seen.any(axis=1))

    return claim


CLAIMS: Mapping[str, Claim] = {
    "carried": carried,
    "carried-64-bit": carried,
    "append": append,
    "append-as-sets": append_as_sets,
    "append-at-the-edges": append_edges,
    "merge": merge,
    "merge-64-bit": merge,
    "merge-at-the-edges": merge_edges,
    "permuted": permuted,
    "permuted-by-ranks": permuted,
    "tied": tied,
    "tied-by-ranks": tied,
    "network": network,
    "wide": wide,
    **{f"sequences-{depth}": sequences(depth) for depth in range(1, 8)},
    "sequences-4-64-bit": sequences(4),
}

_WIDE_ROWS = ("permuted", "tied", "network", "wide")


def swept(name: str, defines: Mapping[str, int], begin: int, end: int, rules: Rules | None = None) -> tuple[int, int | None, int]:
    """(broken, first, accepted) of cases begin to end - 1 of a scope, on NumPy arrays."""
    claim, given = CLAIMS[name], rules or Rules()
    # What a batch takes stays within the processor's caches.
    batch = 1 << (12 if name.startswith(_WIDE_ROWS) else 14)
    broken, first, accepted = 0, None, 0
    for low in range(begin, end, batch):
        index = np.arange(low, min(low + batch, end), dtype=np.uint64)
        bad, taken = claim(index, defines, given)
        accepted += int(taken.sum())
        if bad.any():
            broken += int(bad.sum())
            first = low + int(np.argmax(bad)) if first is None else first
    return broken, first, accepted
