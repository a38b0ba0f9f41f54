"""No counterexample is smaller than the one that is shown: the faulty rules and claims again, in Python, tried on everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from proofs.claims import OBLIGATIONS
from proofs.explain.explanation import MUTANTS
from proofs.explain.smallest import smallest
from proofs.faults import Fault, rules_of

Values = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What a claim varies (numbers, lists, lists of pairs, flags), and whether the mutant breaks the claim there.

    Every value is an argument of one call.
    """

    broken: Callable[[Values], bool]
    numbers: str = ""
    lists: str = ""
    pair_lists: str = ""
    flags: str = ""

    def values(self, elements: int, total: int) -> Iterator[tuple[tuple[int, int], Values]]:
        """Everything with at most so many elements, and no number above the total; with its size."""
        words = range(total + 1)
        lists = [list(items) for n in range(elements + 1) for items in product(words, repeat=n)]
        pairs = [list(items) for n in range(elements + 1) for items in product(product(words, repeat=2), repeat=n)]
        kinds = [(self.numbers, words), (self.lists, lists), (self.pair_lists, pairs), (self.flags, (False, True))]
        names = [name for text, _ in kinds for name in text.split()]
        for chosen in product(*[domain for text, domain in kinds for _ in text.split()]):
            size = (sum(len(v) for v in chosen if isinstance(v, list)), sum(added(v) for v in chosen))
            if size[0] <= elements:
                yield size, dict(zip(names, chosen, strict=True))


def added(value: Any) -> int:
    if isinstance(value, bool):
        return 0
    return value if isinstance(value, int) else sum(added(part) for part in value)


def merged(lo: int, hi: int, start: int, count: int, *, apart: Callable[[int, int, int, int], bool]) -> tuple[int, int]:
    end = start + count
    return (min(lo, start), max(hi, end)) if lo < hi and not apart(lo, hi, start, end) else (start, end)


def far(lo: int, hi: int, start: int, end: int) -> bool:
    return hi < start or end < lo


def loses_rows(apart: Callable[[int, int, int, int], bool]) -> Callable[[Values], bool]:
    def broken(v: Values) -> bool:
        end = v["start"] + v["count"]
        if not (v["lo"] < v["hi"] and v["start"] <= v["hi"] and v["lo"] <= end):
            return False
        after = range(*merged(**v, apart=apart))
        return not {*range(v["lo"], v["hi"]), *range(v["start"], end)} <= set(after)

    return broken


def claims_what_nobody_wrote(v: Values) -> bool:
    after = merged(**v, apart=lambda *_: False)
    return not set(range(*after)) <= {*range(v["lo"], v["hi"]), *range(v["start"], v["start"] + v["count"])}


def extends_what_is_foreign(owns: Callable[[int, int], bool]) -> Callable[[Values], bool]:
    def broken(v: Values) -> bool:
        write = (v["start"], v["start"] + v["count"])
        extended = merged(v["lo"], v["hi"], v["start"], v["count"], apart=far)
        after = extended if owns(v["owner"], v["writer_gen"]) else write
        return (v["owner"] != v["writer_gen"] or v["owner"] == 0) and after != write

    return broken


def plans(v: Values, *, next_key: int, end: int, stored: bool = True) -> Iterator[tuple[int, int]]:
    """First key and rows of every plan that such a rule allows."""
    if v["prompt_len"] >= 2 and next_key < end and v["lo"] < end and v["hi"] >= end:
        for first in {next_key, v["lo"]}:
            if first >= next_key and (first >= v["lo"] or not stored):
                yield first, end - first


def plans_a_known_key(v: Values) -> bool:
    found = plans(v, next_key=v["last"], end=v["prompt_len"] - 1)
    return any(rows > 0 and first <= v["last"] for first, rows in found)


def plans_past_the_prompt(v: Values) -> bool:
    found = plans(v, next_key=v["last"] + 1, end=v["prompt_len"])
    return any(rows < 1 or first + rows - 1 != v["prompt_len"] - 2 for first, rows in found)


def reads_what_is_not_stored(v: Values) -> bool:
    found = plans(v, next_key=v["last"] + 1, end=v["prompt_len"] - 1, stored=False)
    return any(key not in range(v["lo"], v["hi"]) for first, rows in found for key in range(first, first + rows))


def slots_decrease(v: Values) -> bool:
    """In the canonical arm, where members are ordered deepest first whatever the arm."""
    if not v["canonical"] or len(v["slots"]) != len(v["ks"]):
        return False
    order = sorted(range(len(v["slots"])), key=lambda i: (-v["ks"][i], v["slots"][i], i))
    along = [(v["slots"][i], i) for i in order]
    return along != sorted(along)


def depths_increase(v: Values) -> bool:
    """In the canonical arm, where the smallest depth is dealt first."""
    dealt = sorted(v["ks"])
    return v["canonical"] and len(v["slots"]) == len(v["ks"]) and dealt != sorted(dealt, reverse=True)


def counts_a_first_token_that_differs(v: Values) -> bool:
    shortest = min(len(v["tokens"]), len(v["prompt"]))
    agree = [i == 0 or v["tokens"][i] == v["prompt"][i] for i in range(shortest)]
    common = agree.index(False) if False in agree else shortest
    return any(v["tokens"][i] != v["prompt"][i] for i in range(common))


def different_batches_share_a_key(key: Callable[[list[tuple[int, int]]], list[Any]]) -> Callable[[Values], bool]:
    def broken(v: Values) -> bool:
        return key(v["left"]) == key(v["right"]) and v["left"] != v["right"]

    return broken


TRIED: Mapping[str, Tried] = {
    "store/zero-is-a-generation": Tried(numbers="owner lo hi", broken=lambda v: v["owner"] == 0 and (v["lo"], v["hi"]) != (0, 0)),
    "store/shown-by-ring-labels": Tried(
        numbers="owner lo hi reader",
        broken=lambda v: (
            v["owner"] == v["reader"] != 0 and any(row not in range(v["lo"], v["hi"]) for row in range(v["lo"] + 1, v["hi"] + 1))
        ),
    ),
    "store/unstamped-is-everyones": Tried(
        numbers="owner lo hi writer_gen start count",
        broken=extends_what_is_foreign(lambda owner, gen: gen != 0 and owner in (gen, 0)),
    ),
    "store/the-owner-is-ignored": Tried(
        numbers="owner lo hi writer_gen start count", broken=extends_what_is_foreign(lambda owner, gen: True)
    ),
    "store/a-gap-is-spanned": Tried(numbers="lo hi start count", broken=claims_what_nobody_wrote),
    "store/abutting-chunks-replace": Tried(
        numbers="lo hi start count", broken=loses_rows(lambda lo, hi, start, end: hi <= start or end < lo)
    ),
    "store/chunks-never-grow-downwards": Tried(
        numbers="lo hi start count", broken=loses_rows(lambda lo, hi, start, end: hi < start or end <= lo)
    ),
    "append/the-last-key-is-appended-again": Tried(numbers="last prompt_len lo hi", broken=plans_a_known_key),
    "append/a-plan-runs-past-the-prompt": Tried(numbers="last prompt_len lo hi", broken=plans_past_the_prompt),
    "append/the-stores-start-is-ignored": Tried(numbers="last prompt_len lo hi", broken=reads_what_is_not_stored),
    "order/the-arm-is-ignored": Tried(lists="slots ks", flags="canonical", broken=slots_decrease),
    "order/depths-are-dealt-from-the-shallowest": Tried(lists="slots ks", flags="canonical", broken=depths_increase),
    "carry/the-first-token-is-not-compared": Tried(lists="tokens prompt", broken=counts_a_first_token_that_differs),
    "key/slots-are-not-in-the-key": Tried(
        pair_lists="left right", broken=different_batches_share_a_key(lambda pairs: [k for _, k in pairs])
    ),
    "key/the-last-position-is-not-in-the-key": Tried(
        pair_lists="left right", broken=different_batches_share_a_key(lambda pairs: [len(pairs), *pairs[:-1]])
    ),
}


@pytest.mark.parametrize("name", TRIED)
def test_nothing_smaller_breaks_the_claim_and_something_as_small_does(name: str) -> None:
    mutant = MUTANTS[name]
    assert isinstance(mutant, Fault)
    found = smallest(OBLIGATIONS[mutant.refuted_by], rules_of(mutant.patch.module, mutant.patch.apply()))
    elements, total = found.size

    assert found.found and found.minimal
    tried = TRIED[name]
    assert min(size for size, values in tried.values(elements, total) if tried.broken(values)) == (elements, total)


def test_of_arguments_without_sequences_the_sum_is_smallest_and_not_the_first_number() -> None:
    mutant = MUTANTS["machine/addresses-wrap-once"]
    assert isinstance(mutant, Fault)
    found = smallest(OBLIGATIONS[mutant.refuted_by], rules_of(mutant.patch.module, mutant.patch.apply()))

    # It shows where base + 2 * pos * hidden_size reaches twice 2^64. With equal factors their sum is smallest, and each step
    # of the base saves less than one of theirs.
    assert found.minimal
    assert found.size == (0, 2 * 2**32)


def test_where_the_sum_is_beyond_the_solver_each_number_is_the_least_and_it_says_so() -> None:
    mutant = MUTANTS["store/the-base-may-overflow"]
    assert isinstance(mutant, Fault)
    found = smallest(OBLIGATIONS[mutant.refuted_by], rules_of(mutant.patch.module, mutant.patch.apply()))

    # It shows where an even offset fits and base plus offset does not: a base of 0 or 1 adds no carry to at most 2^64 - 2, and
    # a base of 2 does so with the largest offset alone, whose first factor is at least 1.
    assert found.minimal
    assert not found.by_sum
    assert found.calls[0].arguments == {"base": 2, "pos": 1, "hidden_size": 2**63 - 1}
