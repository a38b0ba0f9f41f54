"""The sweeps: every claim holds in its small scope, every mutant is caught, and a plain enumeration counts the same."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl import reference
from impl.batched.kernels import Patch
from proofs.gpu import check, scopes
from proofs.gpu.machines import SHARD_STEP, Host, Tally, Together, shards
from proofs.gpu.mutants import MUTANTS, Mutant, catch
from proofs.gpu.scopes import BY_NAME, SCOPES, Scope, Size
from tests.batched.backends import needs_host_kernels

HOST = Host()
SMALL = [scope for scope in SCOPES if "small" in scope.sizes]

pytestmark = needs_host_kernels


@pytest.mark.parametrize("scope", SMALL, ids=lambda scope: scope.name)
def test_a_claim_holds_in_its_small_scope_and_something_is_accepted_there(scope: Scope) -> None:
    tally = HOST.sweep(scope, scope.sizes["small"])

    assert (tally.broken, tally.first) == (0, None)
    assert 0 < tally.accepted <= tally.cases == scope.sizes["small"].cases


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_caught_by_everything_that_must_catch_it(mutant: Mutant) -> None:
    catches = catch(mutant, HOST, on_device=False, every=True)

    assert catches
    assert [found.by for found in catches if found.caught == bool(mutant.equivalent)] == []


@pytest.mark.parametrize("scope", SMALL, ids=lambda scope: scope.name)
@given(data=st.data())
def test_a_range_of_cases_is_the_sum_of_its_parts(scope: Scope, data: st.DataObject) -> None:
    cases = min(scope.sizes["small"].cases, 60_000)
    begin, cut, end = sorted(data.draw(st.tuples(*[st.integers(0, cases)] * 3)))

    def counts(tally: Tally) -> tuple[int, int]:
        return tally.broken, tally.accepted

    def swept(low: int, high: int) -> tuple[int, int]:
        return counts(HOST.sweep(scope, scope.sizes["small"], begin=low, end=high))

    assert swept(begin, end) == tuple(map(sum, zip(swept(begin, cut), swept(cut, end), strict=True)))


@given(st.integers(0, 2**40), st.integers(0, 2**40), st.integers(1, 9))
def test_shards_are_the_range_in_order_and_share_no_group(begin: int, length: int, count: int) -> None:
    cut = shards(begin, begin + length, count)

    assert len(cut) <= count
    assert [*itertools.chain(*cut)] == [] if length == 0 else True
    assert all(low < high for low, high in cut)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(cut))
    if length:
        assert (cut[0][0], cut[-1][1]) == (begin, begin + length)
    if len(cut) > 1 and length > count * SHARD_STEP:
        assert all((low - begin) % SHARD_STEP == 0 for low, _ in cut)


@dataclass
class Witness:
    """A machine that remembers what it was asked for. It may fail; it waits until `together` of its kind are at work."""

    number: int
    together: threading.Barrier
    fails: bool = False
    ranges: list[tuple[int, int]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"machine {self.number}"

    def sweep(
        self,
        scope: Scope,
        size: Size,
        *,
        begin: int = 0,
        end: int | None = None,
        patches: Iterable[Patch] = (),
        repeats: int = 1,
        blocks: int | None = None,
    ) -> Tally:
        assert end is not None
        self.ranges.append((begin, end))
        self.together.wait(timeout=30)
        if self.fails:
            raise RuntimeError(f"{self.name} is gone")
        return HOST.sweep(scope, size, begin=begin, end=end, patches=patches)


def witnesses(count: int, *, failing: int | None = None) -> tuple[Witness, ...]:
    together = threading.Barrier(count)
    return tuple(Witness(number=n, together=together, fails=n == failing) for n in range(count))


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("name", [None, "merge spans a gap above"])
def test_machines_that_share_a_sweep_find_what_one_finds(count: int, name: str | None) -> None:
    parts = witnesses(count)
    scope = BY_NAME["merge"]
    size = scope.sizes["small"]
    patches = [mutant.patch for mutant in MUTANTS if mutant.name == name]

    shared, alone = Together(parts=parts).sweep(scope, size, patches=patches), HOST.sweep(scope, size, patches=patches)

    assert (shared.cases, shared.broken, shared.first, shared.accepted) == (alone.cases, alone.broken, alone.first, alone.accepted)
    assert (name is None) == (shared.broken == 0)
    # Each has worked on a shard of its own, and all at the same time, or the barrier would have broken.
    assert [part.ranges for part in parts] == [[cut] for cut in shards(0, size.cases, count)]


def test_a_sweep_that_is_too_small_to_share_goes_to_the_first() -> None:
    first, second = (Witness(number=n, together=threading.Barrier(1)) for n in (1, 2))

    tally = Together(parts=(first, second)).sweep(BY_NAME["merge"], BY_NAME["merge"].sizes["small"], begin=5, end=6)

    assert (tally.cases, first.ranges, second.ranges) == (1, [(5, 6)], [])


def test_a_machine_that_fails_is_not_passed_over() -> None:
    scope = BY_NAME["merge"]

    with pytest.raises(RuntimeError, match="machine 1 is gone"):
        Together(parts=witnesses(2, failing=1)).sweep(scope, scope.sizes["small"])


# What a kernel accepted in a range, counted by the reference on the cases that the decoder names.
def _carried(case: dict[str, Any]) -> bool:
    tokens = list(range(40))
    entry = reference.CarriedDrafter(
        block_table=[],
        rows=case["rows"],
        last_pair_key=case["last_pair_key"],
        tokens=tokens,
        session_hash=case["entry_session"],
    )
    prompt = [*tokens[: case["common"]], 99]
    return entry.usable_by(prompt, case["session_hash"]) is not None


def _append(case: dict[str, Any]) -> bool:
    try:
        return reference.plan_append(**case) is not None
    except OverflowError:
        return False


def _merge(case: dict[str, Any]) -> bool:
    stamped = _stamped(case)
    return any(lo < hi for lo, hi in (stamped.visible_to(reader) for reader in range(4)))


def _stamped(case: dict[str, Any]) -> reference.StoreRange:
    claim = reference.StoreRange(owner=case["owner"], lo=case["lo"], hi=case["hi"])
    return reference.stamped_merge(claim, case["writer_gen"], case["start"], case["count"])


def _merge_edges(case: dict[str, Any]) -> bool:
    try:
        _stamped(case)
    except OverflowError:
        return False
    return True


_ACCEPTED: dict[str, Callable[[dict[str, Any]], bool]] = {
    "carried": _carried,
    "carried-64-bit": _carried,
    "append": _append,
    "append-as-sets": _append,
    "append-at-the-edges": _append,
    "merge": _merge,
    "merge-64-bit": _merge,
    "merge-at-the-edges": _merge_edges,
}


@pytest.mark.parametrize("name", _ACCEPTED)
@given(data=st.data())
def test_a_kernel_reads_an_index_as_its_decoder_does(name: str, data: st.DataObject) -> None:
    scope, size = BY_NAME[name], BY_NAME[name].sizes["small"]
    index = data.draw(st.integers(0, size.cases - 1))

    tally = HOST.sweep(scope, size, begin=index, end=index + 1)

    assert tally.accepted == _ACCEPTED[name](scope.decode(index, size.defines))


def test_every_batch_of_a_small_order_scope_is_decoded_once() -> None:
    for name, slots in (("permuted", range(3)), ("tied", (0, 1, 2, scopes.NO_SLOT))):
        cases = 3**3 * (6 if name == "permuted" else 4**3)
        decoded = {
            (tuple(case["slots"]), tuple(case["ks"]))
            for case in (BY_NAME[name].decode(index, {"WIDTH": 3}) for index in range(cases))
        }
        rows = itertools.permutations(slots) if name == "permuted" else itertools.product(slots, repeat=3)
        assert decoded == set(itertools.product(rows, itertools.product((2, 3, 4), repeat=3)))


def test_the_smallest_case_of_an_order_mutant_is_the_first_that_the_reference_tells_apart() -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "ranks put the shallow first")
    size = BY_NAME["permuted-by-ranks"].sizes["small"]

    found = catch(mutant, HOST, on_device=False)[0]

    def differs(index: int) -> bool:
        case = scopes.permuted(index, size.defines)
        wrong = sorted(range(len(case["ks"])), key=lambda i: (case["ks"][i], case["slots"][i]))
        return wrong != reference.verify_batch_permutation(case["slots"], case["ks"], False)

    assert found.first == next(index for index in range(size.cases) if differs(index))


def test_wide_batches_have_ties_and_members_without_a_slot() -> None:
    cases = [scopes.wide(index, {}) for index in range(64)]

    assert {case["canonical"] for case in cases} == {True, False}
    assert any(len(set(case["slots"])) < 32 for case in cases)
    assert any(511 in case["slots"] for case in cases)
    assert all(0 <= slot < 512 and 0 <= k < 4 for case in cases for slot, k in zip(case["slots"], case["ks"], strict=True))


@pytest.mark.parametrize(
    ("width", "arrangements", "canonical"),
    [(2, 2, 1), (3, 3, 1), (4, 10, 2), (5, 15, 2), (6, 50, 2), (7, 77, 2), (8, 266, 3), (10, 1452, 3), (12, 8074, 4)],
)
def test_the_planned_keys_of_a_width_are_those_of_the_table(width: int, arrangements: int, canonical: int) -> None:
    counts = check.distinct_keys(width)

    assert (counts["other planned"], counts["canonical planned"]) == (arrangements, canonical)
    if width == 8:
        assert (counts["other"], counts["canonical"]) == (6561, 45)


def test_a_failing_section_does_not_take_the_others_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: check.Bench) -> Iterator[check.Row]:
        yield check.Row(kind="sweep", name="first", ok=True, cases=1, accepted=1)
        raise RuntimeError("the device is gone")

    def sound(_: check.Bench) -> Iterator[check.Row]:
        yield check.Row(kind="sweep", name="second", ok=True, cases=1, accepted=1)

    monkeypatch.setattr(check, "_SECTIONS", (("broken", broken, False), ("sound", sound, False)))

    sections = check.run(check.Bench(machine=HOST, numbers=(), scale="small"))

    assert [(section.name, section.ok, len(section.rows)) for section in sections] == [("broken", False, 2), ("sound", True, 1)]
    assert "RuntimeError: the device is gone" in sections[0].rows[1].note
