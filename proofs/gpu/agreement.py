"""The batched functions in two places on the same batches: array expressions against kernels, host or device.

The batches of each function are its boundary values in all combinations and seeded draws near them, so they are the same
at every run. Array expressions and kernels are written apart; what both got wrong alike the sweeps and the tests against
the reference are for.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import impl.batched as batched
from impl.batched import Ragged
from impl.batched.arrays import chosen_kernels

SEED = 20250607
EDGES = (0, 1, 2, 3, 7, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 3, 2**64 - 2, 2**64 - 1)
NO_SLOT = 2**64 - 1

Arguments = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How one function fared: rows compared, rows that differ, and the first of those with what each side says."""

    function: str
    rows: int
    differing: int
    first: str | None


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Arguments of one call, as NumPy arrays and Ragged rows."""

    arguments: Arguments
    rows: int


def functions() -> tuple[str, ...]:
    """Return the names of the functions compared: all of both documents."""
    return tuple(_BATCHES)


@functools.cache
def batches(function: str) -> tuple[Batch, ...]:
    """Return the batches of a function."""
    return tuple(_BATCHES[function](np.random.default_rng(SEED)))


@functools.cache
def _expected(function: str) -> tuple[dict[str, Any], ...]:
    # Whatever kernels the caller has chosen are the ones to be compared.
    with chosen_kernels(None):
        return tuple(outcome(getattr(batched, function)(*batch.arguments)) for batch in batches(function))


def compare(function: str, call: Callable[..., Any], move: Callable[[Any], Any] = lambda value: value) -> Agreement:
    """Compare `call` with the function on NumPy arrays, in dtype, shape and every value.

    move puts an argument (an array, a Ragged, a record of them) where `call` wants it; results may live anywhere.
    """
    rows = differing = 0
    first = None
    for number, (batch, expected) in enumerate(zip(batches(function), _expected(function), strict=True)):
        found = outcome(call(*(relocated(argument, move) for argument in batch.arguments)))
        rows += batch.rows
        for name, value in expected.items():
            other = found[name]
            if other.dtype != value.dtype or other.shape != value.shape:
                differing += max(batch.rows, 1)
                first = first or f"batch {number}: {name} is {other.dtype}{other.shape}, not {value.dtype}{value.shape}"
                continue
            places = np.flatnonzero(np.ravel(other != value))
            differing += len(places)
            if len(places):
                at = int(places[0])
                first = first or f"batch {number}, {name}[{at}]: {np.ravel(other)[at]}, not {np.ravel(value)[at]}"
    return Agreement(function=function, rows=rows, differing=differing, first=first)


def outcome(result: Any) -> dict[str, Any]:
    """Return the arrays of a result by name, on the host."""
    if dataclasses.is_dataclass(result):
        names = ("data", "offsets") if isinstance(result, Ragged) else tuple(f.name for f in dataclasses.fields(result))
        return {name: _to_host(getattr(result, name)) for name in names}
    if isinstance(result, tuple):
        return {str(i): _to_host(item) for i, item in enumerate(result)}
    return {"result": _to_host(result)}


def _to_host(array: Any) -> Any:
    return array if isinstance(array, np.ndarray) else np.asarray(array.get() if hasattr(array, "get") else array)


def relocated(value: Any, move: Callable[[Any], Any]) -> Any:
    """Return an argument with every array in it moved."""
    if isinstance(value, np.ndarray):
        return move(value)
    if isinstance(value, Ragged):
        return Ragged(data=move(value.data), offsets=move(value.offsets))
    if isinstance(value, tuple):
        return tuple(relocated(item, move) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: relocated(getattr(value, f.name), move) for f in dataclasses.fields(value)}
        return type(value)(**fields)
    return value


def _grid(*axes: tuple[int, ...]) -> list[Any]:
    rows = np.array(list(itertools.product(*axes)), dtype=np.uint64)
    return [np.ascontiguousarray(column) for column in rows.T]


def _near(rng: np.random.Generator, columns: int, rows: int = 4096) -> list[Any]:
    # Small distances around a common, random place: where comparisons and merges are decided.
    place = rng.integers(0, 2**64, rows, dtype=np.uint64)
    return [place + rng.integers(0, 8, rows, dtype=np.uint64) for _ in range(columns)]


def _flags(rng: np.random.Generator, rows: int) -> Any:
    return rng.integers(0, 2, rows).astype(np.bool_)


def _sessions(_: np.random.Generator) -> Iterator[Batch]:
    entry, session = _grid(EDGES, EDGES)
    yield Batch(arguments=(entry, session), rows=len(entry))


def _token_rows(rng: np.random.Generator, lengths: Any, agree: Any) -> tuple[Ragged, Ragged]:
    """Pairs of rows of the given lengths (n, 2) that first differ at `agree`, if that is inside both."""
    mine: list[Any] = []
    theirs: list[Any] = []
    for (a, b), same in zip(lengths.tolist(), agree.tolist(), strict=True):
        row = rng.integers(0, 2**32, max(a, b), dtype=np.uint32)
        other = row[:b].copy()
        if same < len(other):
            other[same] ^= np.uint32(1 << int(rng.integers(0, 32)))
            # Beyond the first difference anything goes: every token differs, or every third.
            if len(mine) % 2:
                other[same + 1 :] = ~other[same + 1 :]
            else:
                other[same + 1 :: 3] = 0
        mine.append(row[:a])
        theirs.append(other)
    return Ragged.from_rows(mine, np.uint32), Ragged.from_rows(theirs, np.uint32)


def _prefixes(rng: np.random.Generator) -> Iterator[Batch]:
    lengths = np.array(list(itertools.product((0, 1, 2, 3, 4, 5, 31, 63, 64, 65, 68, 130), repeat=2)))
    for shift in range(9):  # every place near the ends, and every alignment of the rows that follow
        tokens, prompt = _token_rows(rng, lengths, np.maximum(lengths.min(axis=1) - shift, 0))
        yield Batch(arguments=(tokens, prompt), rows=tokens.rows)
    # What follows a row agrees as well: whoever runs past an end, goes on.
    alike = [Ragged.from_rows([np.zeros(length, np.uint32) for length in side], np.uint32) for side in lengths.T]
    yield Batch(arguments=tuple(alike), rows=len(lengths))
    lengths = rng.integers(0, 400, (3000, 2))
    tokens, prompt = _token_rows(rng, lengths, rng.integers(0, 400, 3000))
    yield Batch(arguments=(tokens, prompt), rows=tokens.rows)
    lengths = rng.integers(4096, 12000, (200, 2))
    lengths[::2] -= lengths[::2] % 4  # half the rows keep both sides aligned
    lengths[::2, 1] = lengths[::2, 0]
    tokens, prompt = _token_rows(rng, lengths, rng.integers(0, 12000, 200))
    yield Batch(arguments=(tokens, prompt), rows=tokens.rows)
    yield from _lone_differences(rng)
    equal = rng.integers(0, 2**32, 40_000, dtype=np.uint32)
    differing = equal.copy()
    differing[-1] ^= 1
    tokens, prompt = Ragged.from_rows([equal, equal], np.uint32), Ragged.from_rows([equal, differing], np.uint32)
    yield Batch(arguments=(tokens, prompt), rows=2)
    for length in (0, 1, 2, 3):  # alone, so that the data end where it does
        lone = Ragged.from_rows([np.zeros(length, np.uint32)], np.uint32)
        yield Batch(arguments=(lone, lone), rows=1)
    empty = Ragged.from_rows([], np.uint32)
    yield Batch(arguments=(empty, empty), rows=0)


def _lone_differences(rng: np.random.Generator) -> Iterator[Batch]:
    """Rows equal but for one token, which stands at every place in turn: whoever skips a place, misses a difference.

    First both sides are aligned alike, then never. Kernels that take several steps along a row take them here: long rows
    go where 4096 tokens make a row long, and differ in every fourth token, so that each 16-byte vector is met.
    """
    for length, every in ((1025, 1), (4200, 4)):
        places = np.arange(0, length, every)
        rows = np.tile(rng.integers(0, 2**32, length, dtype=np.uint32), len(places))
        others = rows.copy()
        others[np.arange(len(places)) * length + places] ^= np.uint32(1 << 31)
        offsets = np.arange(len(places) + 1, dtype=np.uint64) * np.uint64(length)
        tokens = Ragged(data=rows, offsets=offsets)
        yield Batch(arguments=(tokens, Ragged(data=others, offsets=offsets)), rows=len(places))
        # A row of one token goes before, so that the two sides of every later pair are a token apart.
        shifted = Ragged(data=np.append(others[:1], others), offsets=np.append(np.uint64(0), offsets + np.uint64(1)))
        aside = Ragged(data=rows, offsets=np.append(np.uint64(0), offsets))
        yield Batch(arguments=(aside, shifted), rows=len(places) + 1)


def _usable(rng: np.random.Generator) -> Iterator[Batch]:
    grid = _grid(EDGES[:5] + EDGES[-3:], EDGES[:5] + EDGES[-3:], (0, 1, 2, 3, 4, 9), (0, 1, 2), (0, 1, 2), (0, 1))
    rows, last, common, entry, session, known = grid
    lengths = np.stack([common, common + rng.integers(0, 2, len(common), dtype=np.uint64)], axis=1).astype(np.int64)
    lengths[::3] += 1
    tokens, prompt = _token_rows(rng, lengths, common.astype(np.int64))
    entries = batched.CarriedDrafters(
        rows=rows, last_pair_key=last, key_known=known.astype(np.bool_), tokens=tokens, session_hash=entry
    )
    yield Batch(arguments=(entries, prompt, session), rows=len(rows))


def _append(rng: np.random.Generator) -> Iterator[Batch]:
    for columns in (_grid(EDGES, EDGES, EDGES, EDGES), _near(rng, 4)):
        yield Batch(arguments=tuple(columns), rows=len(columns[0]))


def _offsets(rng: np.random.Generator) -> Iterator[Batch]:
    for columns in (
        _grid(EDGES, EDGES, EDGES),
        # Rows that end just below, at and above the top.
        _grid((2**64 - 14, 2**64 - 13, 2**64 - 12, 2**64 - 4, 2**64 - 2), (0, 1, 2, 3), (0, 1, 2, 3)),
        [rng.integers(0, 2**64, 4096, dtype=np.uint64) >> rng.integers(0, 63, 4096, dtype=np.uint64) for _ in range(3)],
    ):
        yield Batch(arguments=tuple(columns), rows=len(columns[0]))


def _visible(_: np.random.Generator) -> Iterator[Batch]:
    owner, reader, lo, hi = _grid(EDGES, EDGES, (0, 5), (0, 9))
    yield Batch(arguments=(batched.StoreRanges(owner=owner, lo=lo, hi=hi), reader), rows=len(owner))


def _merges(rng: np.random.Generator) -> Iterator[Batch]:
    for lo, hi, start, count in (_grid(EDGES, EDGES, EDGES, EDGES), _near(rng, 4)):
        yield Batch(arguments=((lo, hi), start, count), rows=len(lo))
    lo, hi, start, count = _grid(tuple(range(6)), tuple(range(6)), tuple(range(6)), tuple(range(6)))
    yield Batch(arguments=((lo, hi), start, count), rows=len(lo))


def _stamped(rng: np.random.Generator) -> Iterator[Batch]:
    owners = (0, 1, 2, 2**64 - 1)
    small = tuple(range(5))
    for axes in (EDGES[:3] + EDGES[-3:],) * 4, (small,) * 4:
        lo, hi, start, count, owner, writer = _grid(*axes, owners, owners)
        ranges = batched.StoreRanges(owner=owner, lo=lo, hi=hi)
        yield Batch(arguments=(ranges, writer, start, count), rows=len(lo))


def _armed(_: np.random.Generator) -> Iterator[Batch]:
    carry, several = (column.astype(np.bool_) for column in _grid((0, 1), (0, 1)))
    yield Batch(arguments=(carry, several), rows=4)


def _orders(rng: np.random.Generator) -> Iterator[Batch]:
    def ragged(widths: Any, pool: Any) -> Ragged:
        return Ragged.from_rows([rng.choice(pool, width) for width in widths], np.uint64)

    slots = np.array([0, 1, 2, 2**32 - 1, 2**32, NO_SLOT], np.uint64)
    depths = np.array([0, 1, 2, 3, 4, 2**32, NO_SLOT - 1, NO_SLOT], np.uint64)
    widths = rng.integers(0, 12, 4000)
    yield Batch(arguments=(ragged(widths, slots), ragged(widths, depths), _flags(rng, 4000)), rows=4000)
    widths = rng.integers(0, 130, 300)
    yield Batch(arguments=(ragged(widths, slots), ragged(widths, depths), _flags(rng, 300)), rows=300)
    other = np.where(rng.integers(0, 3, 300) == 0, rng.integers(0, 130, 300), widths)  # a third do not fit
    yield Batch(arguments=(ragged(widths, slots), ragged(other, depths), _flags(rng, 300)), rows=300)
    widths = np.array([1500, 0, 40])  # wider than what ranks are counted for
    yield Batch(arguments=(ragged(widths, slots), ragged(widths, depths), _flags(rng, 3)), rows=3)
    empty = ragged(np.empty(0, int), slots)
    yield Batch(arguments=(empty, empty, np.empty(0, np.bool_)), rows=0)


def _keys(rng: np.random.Generator) -> Iterator[Batch]:
    for count, widest in ((2000, 12), (100, 100), (0, 1)):
        widths = rng.integers(0, widest, count)
        pairs = Ragged.from_rows([rng.integers(0, 2**32, (width, 2), dtype=np.uint32) for width in widths], np.uint32)
        yield Batch(arguments=(pairs, _flags(rng, count)), rows=count)


def _gates(_: np.random.Generator) -> Iterator[Batch]:
    n, least, clear = _grid(EDGES, EDGES, (0, 1))
    yield Batch(arguments=(n, least, clear.astype(np.bool_)), rows=len(n))


# White space, what nearly is, signs, digits, limits, other digits, and bytes that are no UTF-8.
_PIECES = tuple(
    piece if isinstance(piece, bytes) else piece.encode()
    for piece in (
        *("", " ", "\t", "\r", "+", "-", "0", "8", "9", "/", ":", "12", "_", "\x00", "\x1c", "\x08", "\x0e"),
        *("18446744073709551615", "18446744073709551616", "1844674407370955161"),
        *("\x85", "\u3000", "\u200b", "\u0661", b"\xc2", b"\xe2\x80", b"\xa0", b"\xc0\xa0", b"\xe0\x80\xa0", b"\xff"),
        b"\xe2\x80\x7f",
    )
)
_CHARACTERS = [*range(0x3100), *range(0xFE00, 0x10000), 0x10FFFF, 0x1F600, 0xE0020]


def _texts(rng: np.random.Generator) -> Iterator[Batch]:
    def values(texts: list[bytes]) -> Ragged:
        return Ragged.from_rows([np.frombuffer(text, np.uint8) for text in texts], np.uint8)

    texts = [b"".join(pieces) for pieces in itertools.product(_PIECES, repeat=3)]
    yield Batch(arguments=(values(texts), np.ones(len(texts), np.bool_)), rows=len(texts))
    texts = [chr(code).encode() + b"12" for code in _CHARACTERS] + [b"12" + chr(code).encode() for code in _CHARACTERS]
    yield Batch(arguments=(values(texts), np.ones(len(texts), np.bool_)), rows=len(texts))
    texts = [b"".join(rng.choice(_PIECES, 6).tolist()) for _ in range(5000)]
    yield Batch(arguments=(values(texts), _flags(rng, 5000)), rows=5000)
    texts = [b" " * 3000 + b"0" * 3000 + b"77" + b"\xc2\xa0" * 1000, b""]
    yield Batch(arguments=(values(texts), np.ones(2, np.bool_)), rows=2)
    for last in (b"1x", b"1xy"):  # where the bytes end, one or two before a character could
        yield Batch(arguments=(values([last]), np.ones(1, np.bool_)), rows=1)


_BATCHES: dict[str, Callable[[np.random.Generator], Iterator[Batch]]] = {
    "common_prefix_len": _prefixes,
    "session_matches": _sessions,
    "usable_by": _usable,
    "plan_append": _append,
    "hidden_row_offset": _offsets,
    "visible_to": _visible,
    "merge_interval": _merges,
    "stamped_merge": _stamped,
    "carry_armed_with": _armed,
    "verify_batch_permutation": _orders,
    "verify_batch_order": _orders,
    "verify_graph_key": _keys,
    "canonical_assignment_at": _gates,
    "min_width_from_env": _texts,
}
