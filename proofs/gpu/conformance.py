"""The batched implementation as an engine for vectors: calls of one function together, as one batch.

Targets of `draftproof conform`: `numpy` (array expressions), `kernels` (the kernels built for the host) and `cupy` (a
device). What is one value in a vector is one row of a batch here; where a batch has a status, a vector has null or a panic.
The module loads no solver, and no CuPy before it is asked for that.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

import impl.batched as batched
from impl.batched import Ragged, Status
from proofs.gpu import machines

BATCH = 8192
"""As many calls of one function go into one batch."""

Concrete = Any
Calls = Sequence[Mapping[str, Any]]


class Call(Protocol):
    """A call of the vector format."""

    @property
    def fn(self) -> str:
        """The function."""

    @property
    def args(self) -> Mapping[str, Any]:
        """Its arguments."""


@dataclass(frozen=True, kw_only=True)
class Arrays:
    """Makes arrays of module xp, and lists of what comes back."""

    xp: Any

    def words(self, values: Iterable[int]) -> Any:
        """One 64-bit word for each row."""
        return self.xp.asarray(np.array([*values], np.uint64))

    def flags(self, values: Iterable[bool]) -> Any:
        """One bool for each row."""
        return self.xp.asarray(np.array([*values], np.bool_))

    def ragged(self, rows: Iterable[Any], dtype: Any) -> Ragged:
        """One sequence for each row."""
        return Ragged.from_rows(rows, dtype, self.xp)

    @staticmethod
    def listed(*arrays: Any) -> list[list[Any]]:
        """The values of arrays, row by row."""
        columns = [(array if isinstance(array, np.ndarray) else array.get()).tolist() for array in arrays]
        return [list(row) for row in zip(*columns, strict=True)]


def engine_in(place: str) -> Callable[[Iterable[Call]], Iterator[tuple[Any, Concrete]]]:
    """Return what answers calls in a place: numpy, kernels or cupy. Errors: ValueError where the place is not here."""
    if place == "kernels" and (missing := machines.host_compiler_here()):
        raise ValueError(missing)
    if place != "cupy":
        return functools.partial(answers, on_host_kernels=place == "kernels")
    present, missing = machines.devices_here()
    if not present:
        raise ValueError(missing)
    import cupy

    return functools.partial(answers, xp=cupy)


def answers(vectors: Iterable[Call], *, xp: Any = np, on_host_kernels: bool = False) -> Iterator[tuple[Any, Concrete]]:
    """Give each call with what the batched functions answer, on arrays of module xp; not in the order of the calls."""
    waiting: dict[str, list[Any]] = {}
    for vector in vectors:
        group = waiting.setdefault(vector.fn, [])
        group.append(vector)
        if len(group) == BATCH:
            yield from _answered(waiting.pop(vector.fn), xp, on_host_kernels)
    for group in waiting.values():
        yield from _answered(group, xp, on_host_kernels)


def _answered(group: Sequence[Any], xp: Any, on_host_kernels: bool) -> Iterator[tuple[Any, Concrete]]:
    with batched.host_kernels() if on_host_kernels else contextlib.nullcontext():
        results = _BATCHED[group[0].fn](Arrays(xp=xp), [vector.args for vector in group])
    return zip(group, results, strict=True)


def _with_status(statuses: Any, rows: Iterable[Concrete]) -> list[Concrete]:
    without: dict[int, Concrete] = {Status.NONE: None, Status.OVERFLOW: {"panic": True}, Status.BAD_LENGTH: {"panic": True}}
    return [row if status == Status.OK else without[status] for (status,), row in zip(Arrays.listed(statuses), rows, strict=True)]


def _columns(arrays: Arrays, calls: Calls, *names: str) -> list[Any]:
    return [arrays.words(call[name] for call in calls) for name in names]


def _bare(result: Any) -> list[Concrete]:
    return [value for (value,) in Arrays.listed(result)]


def _tokens(arrays: Arrays, calls: Calls) -> tuple[Ragged, Ragged]:
    entries = arrays.ragged((call["self"]["tokens"] for call in calls), np.uint32)
    return entries, arrays.ragged((call["prompt"] for call in calls), np.uint32)


def _common_prefix_len(arrays: Arrays, calls: Calls) -> list[Concrete]:
    return _bare(batched.common_prefix_len(*_tokens(arrays, calls)))


def _sessions(arrays: Arrays, calls: Calls) -> tuple[Any, Any]:
    return arrays.words(call["self"]["session_hash"] for call in calls), arrays.words(call["session_hash"] for call in calls)


def _session_matches(arrays: Arrays, calls: Calls) -> list[Concrete]:
    return _bare(batched.session_matches(*_sessions(arrays, calls)))


def _usable_by(arrays: Arrays, calls: Calls) -> list[Concrete]:
    tokens, prompt = _tokens(arrays, calls)
    made_by, session = _sessions(arrays, calls)
    keys = [call["self"]["last_pair_key"] for call in calls]
    entries = batched.CarriedDrafters(
        rows=arrays.words(call["self"]["rows"] for call in calls),
        last_pair_key=arrays.words(0 if key is None else key for key in keys),
        key_known=arrays.flags(key is not None for key in keys),
        tokens=tokens,
        session_hash=made_by,
    )
    found = batched.usable_by(entries, prompt, session)
    return _with_status(found.status, arrays.listed(found.rows, found.last_pair_key))


def _plan_append(arrays: Arrays, calls: Calls) -> list[Concrete]:
    plans = batched.plan_append(*_columns(arrays, calls, "last_pair_key", "prompt_len", "hidden_lo", "hidden_hi"))
    rows = arrays.listed(plans.first_key, plans.rows)
    return _with_status(plans.status, ({"first_key": first, "rows": count} for first, count in rows))


def _hidden_row_offset(arrays: Arrays, calls: Calls) -> list[Concrete]:
    found = batched.hidden_row_offset(*_columns(arrays, calls, "base", "pos", "hidden_size"))
    return _with_status(found.status, _bare(found.pointer))


def _ranges(arrays: Arrays, values: Sequence[Mapping[str, int]]) -> batched.StoreRanges:
    owner, lo, hi = _columns(arrays, values, "owner", "lo", "hi")
    return batched.StoreRanges(owner=owner, lo=lo, hi=hi)


def _visible_to(arrays: Arrays, calls: Calls) -> list[Concrete]:
    ranges = _ranges(arrays, [call["self"] for call in calls])
    return list(arrays.listed(*batched.visible_to(ranges, *_columns(arrays, calls, "reader_gen"))))


def _merge_interval(arrays: Arrays, calls: Calls) -> list[Concrete]:
    cur = arrays.words(call["cur"][0] for call in calls), arrays.words(call["cur"][1] for call in calls)
    merged = batched.merge_interval(cur, *_columns(arrays, calls, "start", "count"))
    return _with_status(merged.status, arrays.listed(merged.lo, merged.hi))


def _stamped_merge(arrays: Arrays, calls: Calls) -> list[Concrete]:
    ranges = _ranges(arrays, [call["cur"] for call in calls])
    found = batched.stamped_merge(ranges, *_columns(arrays, calls, "writer_gen", "start", "count"))
    rows = arrays.listed(found.owner, found.lo, found.hi)
    return _with_status(found.status, ({"owner": owner, "lo": lo, "hi": hi} for owner, lo, hi in rows))


def _carry_armed_with(arrays: Arrays, calls: Calls) -> list[Concrete]:
    carry, several = (call["cfg"]["carry"] for call in calls), (call["multi_seq"] for call in calls)
    return _bare(batched.carry_armed_with(arrays.flags(carry), arrays.flags(several)))


def _members(arrays: Arrays, calls: Calls) -> tuple[Ragged, Ragged, Any]:
    slots, ks = (arrays.ragged((call[name] for call in calls), np.uint64) for name in ("slots", "ks"))
    return slots, ks, arrays.flags(call["canonical"] for call in calls)


def _rows_of(offsets: Any, *arrays: Any) -> list[list[list[int]]]:
    """For each row its parts of flat arrays."""
    ends = [end for (end,) in Arrays.listed(offsets)]
    flat = [_bare(array) for array in arrays]
    return [[part[begin:end] for part in flat] for begin, end in itertools.pairwise(ends)]


def _verify_batch_permutation(arrays: Arrays, calls: Calls) -> list[Concrete]:
    members = _members(arrays, calls)
    status, order = batched.verify_batch_permutation(*members)
    return _with_status(status, (row[0] for row in _rows_of(members[0].offsets, order)))


def _verify_batch_order(arrays: Arrays, calls: Calls) -> list[Concrete]:
    members = _members(arrays, calls)
    orders = batched.verify_batch_order(*members)
    return _with_status(orders.status, _rows_of(members[0].offsets, orders.order, orders.depths))


def _verify_graph_key(arrays: Arrays, calls: Calls) -> list[Concrete]:
    pairs = arrays.ragged((call["pairs"] for call in calls), np.uint32)
    keys = batched.verify_graph_key(pairs, arrays.flags(call["wy_tables_null"] for call in calls))
    return [row[0] for row in _rows_of(keys.offsets, keys.data)]


def _canonical_assignment_at(arrays: Arrays, calls: Calls) -> list[Concrete]:
    n, least = _columns(arrays, calls, "n", "min_width")
    return _bare(batched.canonical_assignment_at(n, least, arrays.flags(call["kill_switch_clear"] for call in calls)))


def _min_width_from_env(arrays: Arrays, calls: Calls) -> list[Concrete]:
    values = [_bytes(call["raw"]) for call in calls]
    raw = arrays.ragged((np.frombuffer(value or b"", np.uint8) for value in values), np.uint8)
    return _bare(batched.min_width_from_env(raw, arrays.flags(value is not None for value in values)))


def _bytes(raw: str | Mapping[str, str] | None) -> bytes | None:
    if raw is None:
        return None
    return raw.encode() if isinstance(raw, str) else bytes.fromhex(raw["hex"])


_BATCHED: Mapping[str, Callable[[Arrays, Calls], list[Concrete]]] = {
    "common_prefix_len": _common_prefix_len,
    "session_matches": _session_matches,
    "usable_by": _usable_by,
    "plan_append": _plan_append,
    "hidden_row_offset": _hidden_row_offset,
    "visible_to": _visible_to,
    "merge_interval": _merge_interval,
    "stamped_merge": _stamped_merge,
    "carry_armed_with": _carry_armed_with,
    "verify_batch_permutation": _verify_batch_permutation,
    "verify_batch_order": _verify_batch_order,
    "verify_graph_key": _verify_graph_key,
    "canonical_assignment_at": _canonical_assignment_at,
    "min_width_from_env": _min_width_from_env,
}
