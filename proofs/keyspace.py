"""How many graph keys the planner's batches can have at each width, counted three ways that must agree (DESIGN 1b).

Every member keeps at least one of its drafts, so of n members with d drafts (d-1) * n positions can be pruned, and a ratio of them
is kept, rounded half up. A batch spreads what is kept over its members, at most d-1 each. *Arrangements* are what the keys
tell apart when each member keeps its depth; *canonical* keys are those left once the depths are dealt anew.
The code that orders and keys the batches is handed in.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

Runner = Callable[[str, Mapping[str, Any]], Any]
"""Runs one call of the vector format on the code."""

ENUMERABLE = 20_000
"""The most arrangements that are enumerated through the code; beyond it two ways stand."""


@dataclass(frozen=True, kw_only=True)
class Planner:
    """What the planner is given. `drafts` and `cap` are counts of at least 1, `ratio` is between 0 and 1."""

    drafts: int = 3
    ratio: Fraction = Fraction(3, 4)
    cap: int = 32
    """How many captures the cache holds."""
    gate: int = 8
    """From this width on the keys are canonical."""

    def __post_init__(self) -> None:
        for name, value in (("drafts", self.drafts), ("cap", self.cap)):
            if value < 1:
                raise ValueError(f"Planner: {name}={value} is below 1; pass a count of at least 1")
        if not 0 <= self.ratio <= 1:
            raise ValueError(f"Planner: ratio={self.ratio} is no share; pass a number from 0 to 1")

    def kept(self, width: int) -> int:
        """How many of the positions that could be pruned are kept."""
        return math.floor(self.ratio * (self.drafts - 1) * width + Fraction(1, 2))


@dataclass(frozen=True, kw_only=True)
class KeySpace:
    """The keys at one width. `ways` gives for each way of counting (arrangements, canonical keys)."""

    width: int
    kept: int
    ways: Mapping[str, tuple[int, int]]
    cap: int
    gated: bool
    """The gate makes the keys of this width canonical."""

    @property
    def agreed(self) -> bool:
        """All ways give the same."""
        return len(set(self.ways.values())) == 1

    @property
    def arrangements(self) -> int:
        """Distinct keys where each member keeps its depth."""
        return self.ways["generating function"][0]

    @property
    def canonical(self) -> int:
        """Distinct keys where the depths are dealt anew."""
        return self.ways["generating function"][1]

    @property
    def in_use(self) -> int:
        """Distinct keys on the side of the gate where this width lies."""
        return self.canonical if self.gated else self.arrangements

    def miss_rate(self, keys: int) -> Fraction:
        """After warm-up, the share of steps whose key, drawn evenly from so many, is not cached.

        Such a cache holds the last `cap` different keys, and every key is equally likely to be among them.
        """
        return max(Fraction(0), 1 - Fraction(self.cap, keys))


def key_space(planner: Planner, width: int, run: Runner) -> KeySpace:
    """Counts the keys at one width (at least 1), through the code too unless there are too many."""
    if width < 1:
        raise ValueError(f"key_space: width={width} is no batch; pass a width of at least 1")
    kept = planner.kept(width)
    ways = {
        "generating function": (_arrangements(planner.drafts, width, kept), _multisets(planner.drafts, width, kept)),
        "multisets": _by_multisets(planner.drafts, width, kept),
    }
    if ways["multisets"][0] <= ENUMERABLE:
        ways["the code"] = _through_code(planner.drafts, width, kept, run)
    return KeySpace(width=width, kept=kept, ways=ways, cap=planner.cap, gated=width >= planner.gate)


def _arrangements(drafts: int, width: int, kept: int) -> int:
    """The coefficient of x^kept in (1 + x + ... + x^(drafts-1))^width."""
    coefficients = [1]
    for _ in range(width):
        grown = [0] * (len(coefficients) + drafts - 1)
        for power, coefficient in enumerate(coefficients):
            for more in range(drafts):
                grown[power + more] += coefficient
        coefficients = grown
    return coefficients[kept]


def _multisets(drafts: int, width: int, kept: int) -> int:
    """The coefficient of y^width x^kept in the product of 1 / (1 - y x^d) for d below `drafts`."""

    @cache
    def ways(depths: int, members: int, left: int) -> int:
        if depths == 0:
            return int(members == 0 and left == 0)
        most = min(members, left // (depths - 1)) if depths > 1 else members
        return sum(ways(depths - 1, members - m, left - m * (depths - 1)) for m in range(most + 1))

    return ways(drafts, width, kept)


def _by_multisets(drafts: int, width: int, kept: int) -> tuple[int, int]:
    """Every multiset of depths written out, and for each the number of its arrangements."""
    chosen = [m for m in combinations_with_replacement(range(drafts), width) if sum(m) == kept]
    arranged = (math.factorial(width) // math.prod(map(math.factorial, Counter(m).values())) for m in chosen)
    return sum(arranged), len(chosen)


def _through_code(drafts: int, width: int, kept: int, run: Runner) -> tuple[int, int]:
    """Every batch, ordered and keyed by the code in both arms."""
    slots = list(range(width))
    keys: tuple[set[tuple[int, ...]], set[tuple[int, ...]]] = (set(), set())
    for spread in _spreads(drafts, width, kept):
        ks = [2 + extra for extra in spread]
        for canonical in (False, True):
            order, depths = run("verify_batch_order", {"slots": slots, "ks": ks, "canonical": canonical})
            pairs = [[slots[member], depth] for member, depth in zip(order, depths, strict=True)]
            keys[canonical].add(tuple(run("verify_graph_key", {"pairs": pairs, "wy_tables_null": False})))
    return len(keys[False]), len(keys[True])


def _spreads(drafts: int, width: int, kept: int) -> Iterator[tuple[int, ...]]:
    """Every way to spread what is kept over the members."""
    if width == 0:
        if kept == 0:
            yield ()
        return
    for here in range(min(drafts - 1, kept) + 1):
        yield from ((here, *rest) for rest in _spreads(drafts, width - 1, kept - here))


def above_the_cap(spaces: Sequence[KeySpace]) -> list[KeySpace]:
    """The widths whose keys, as the gate leaves them, do not fit the cache."""
    return [space for space in spaces if space.in_use > space.cap]
