"""Every function over drawn batches gives, row by row, what the reference gives for one case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import impl.batched as batched
from impl import reference
from impl.batched import Ragged, Status
from tests import strategies as drawn
from tests.batched.backends import Backend, listed, on_every_backend

ABSENT_KEY = 12345  # stands where an entry has no last key; nothing may depend on it


def told(call: Callable[[], Any]) -> tuple[Status, Any]:
    """Run the reference on one case: the status that a batch must give, and the result."""
    try:
        result = call()
    except OverflowError:
        return Status.OVERFLOW, None
    return (Status.NONE, None) if result is None else (Status.OK, result)


def rows(cases: Any) -> Any:
    return st.lists(cases, max_size=12)


@on_every_backend
@given(cases=rows(st.tuples(drawn.u64(), drawn.u64(), drawn.u64(), drawn.u64())))
def test_an_append_is_planned_as_the_reference_plans_it(backend: Backend, cases: list[tuple[int, ...]]) -> None:
    columns = [backend.words(column) for column in np.array(cases, np.uint64).reshape(-1, 4).T.tolist()]

    with backend.chosen():
        plans = batched.plan_append(*columns)

    for case, status, first, count in zip(cases, listed(plans.status), listed(plans.first_key), listed(plans.rows), strict=True):
        expected, plan = told(lambda case=case: reference.plan_append(*case))  # type: ignore[misc]
        assert status == expected
        assert (first, count) == ((plan.first_key, plan.rows) if plan else (0, 0))


@on_every_backend
@given(cases=rows(st.tuples(drawn.carried_drafters(), drawn.tokens(), st.sampled_from((0, 1, 2, 2**64 - 1)))))
def test_rows_are_usable_as_the_reference_says(
    backend: Backend, cases: list[tuple[reference.CarriedDrafter, list[int], int]]
) -> None:
    entries = [entry for entry, _, _ in cases]
    known = [entry.last_pair_key is not None for entry in entries]
    arrays = batched.CarriedDrafters(
        rows=backend.words([entry.rows for entry in entries]),
        last_pair_key=backend.words([ABSENT_KEY if entry.last_pair_key is None else entry.last_pair_key for entry in entries]),
        key_known=backend.flags(known),
        tokens=backend.ragged([entry.tokens for entry in entries], np.uint32),
        session_hash=backend.words([entry.session_hash for entry in entries]),
    )
    prompts = backend.ragged([prompt for _, prompt, _ in cases], np.uint32)
    sessions = backend.words([session for _, _, session in cases])

    with backend.chosen():
        common = listed(batched.common_prefix_len(arrays.tokens, prompts))
        own = listed(batched.session_matches(arrays.session_hash, sessions))
        usable = batched.usable_by(arrays, prompts, sessions)

    for i, (entry, prompt, session) in enumerate(cases):
        assert common[i] == entry.common_prefix_len(prompt)
        assert own[i] == entry.session_matches(session)
        status, result = told(lambda e=entry, p=prompt, s=session: e.usable_by(p, s))  # type: ignore[misc]
        assert listed(usable.status)[i] == status
        assert (listed(usable.rows)[i], listed(usable.last_pair_key)[i]) == (result or (0, 0))


@on_every_backend
@given(
    cases=rows(
        drawn.store_ranges().flatmap(
            lambda claim: st.tuples(
                st.just(claim),
                drawn.generations(),
                st.one_of(drawn.chunks(near=(claim.lo, claim.hi)), st.tuples(drawn.u64(), drawn.u64())),
            )
        )
    )
)
def test_claims_merge_and_show_as_the_reference_says(
    backend: Backend, cases: list[tuple[reference.StoreRange, int, tuple[int, int]]]
) -> None:
    claims = [claim for claim, _, _ in cases]
    ranges = batched.StoreRanges(
        owner=backend.words([claim.owner for claim in claims]),
        lo=backend.words([claim.lo for claim in claims]),
        hi=backend.words([claim.hi for claim in claims]),
    )
    generations = backend.words([generation for _, generation, _ in cases])
    start = backend.words([chunk[0] for _, _, chunk in cases])
    count = backend.words([chunk[1] for _, _, chunk in cases])

    with backend.chosen():
        stamped = batched.stamped_merge(ranges, generations, start, count)
        merged = batched.merge_interval((ranges.lo, ranges.hi), start, count)
        seen = batched.visible_to(ranges, generations)

    for i, (claim, generation, chunk) in enumerate(cases):
        status, result = told(lambda c=claim, g=generation, w=chunk: reference.stamped_merge(c, g, *w))  # type: ignore[misc]
        assert listed(stamped.status)[i] == status
        found = listed(stamped.owner)[i], listed(stamped.lo)[i], listed(stamped.hi)[i]
        assert found == ((result.owner, result.lo, result.hi) if result else (0, 0, 0))
        status, result = told(lambda c=claim, w=chunk: reference.merge_interval((c.lo, c.hi), *w))  # type: ignore[misc]
        assert listed(merged.status)[i] == status
        assert (listed(merged.lo)[i], listed(merged.hi)[i]) == (result or (0, 0))
        assert (listed(seen[0])[i], listed(seen[1])[i]) == claim.visible_to(generation)


@on_every_backend
@given(cases=rows(st.tuples(drawn.u64(), drawn.u64(), drawn.u64())))
def test_row_addresses_are_those_of_the_reference(backend: Backend, cases: list[tuple[int, int, int]]) -> None:
    columns = [backend.words(column) for column in np.array(cases, np.uint64).reshape(-1, 3).T.tolist()]

    with backend.chosen():
        found = batched.hidden_row_offset(*columns)

    for case, status, pointer in zip(cases, listed(found.status), listed(found.pointer), strict=True):
        assert (status, pointer) == (
            (expected := told(lambda case=case: reference.hidden_row_offset(*case)))[0],  # type: ignore[misc]
            expected[1] or 0,
        )


@on_every_backend
@given(cases=rows(st.tuples(drawn.batches(), st.booleans(), st.booleans())))
def test_batches_are_ordered_as_the_reference_orders_them(
    backend: Backend, cases: list[tuple[tuple[list[int], list[int]], bool, bool]]
) -> None:
    # The last flag lets a row of ks lose its last item, so that the lengths differ.
    batches = [(slots, ks[:-1] if shortened else ks) for (slots, ks), _, shortened in cases]
    slots = backend.ragged([slots for slots, _ in batches], np.uint64)
    ks = backend.ragged([ks for _, ks in batches], np.uint64)
    canonical = backend.flags([canonical for _, canonical, _ in cases])

    with backend.chosen():
        orders = batched.verify_batch_order(slots, ks, canonical)
        status, permutation = batched.verify_batch_permutation(slots, ks, canonical)

    assert listed(status) == listed(orders.status)
    assert listed(permutation) == listed(orders.order)
    offsets = listed(slots.offsets)
    for i, ((row_slots, row_ks), arm, _) in enumerate(cases):
        row = slice(offsets[i], offsets[i + 1])
        found = listed(orders.order)[row], listed(orders.depths)[row]
        if len(batches[i][0]) != len(batches[i][1]):
            assert listed(status)[i] == Status.BAD_LENGTH
            assert found == ([0] * len(row_slots), [0] * len(row_slots))
        else:
            assert listed(status)[i] == Status.OK
            assert found == reference.verify_batch_order(row_slots, row_ks, arm)


@on_every_backend
@given(cases=rows(st.tuples(drawn.key_batches(), st.booleans())))
def test_graph_keys_are_those_of_the_reference(backend: Backend, cases: list[tuple[tuple[list[int], list[int]], bool]]) -> None:
    pairs = [list(zip(*batch, strict=True)) for batch, _ in cases]

    with backend.chosen():
        keys = batched.verify_graph_key(backend.ragged(pairs, np.uint32), backend.flags([null for _, null in cases]))

    offsets, words = listed(keys.offsets), listed(keys.data)
    for i, (_, null) in enumerate(cases):
        assert words[offsets[i] : offsets[i + 1]] == reference.verify_graph_key(pairs[i], null)


@on_every_backend
@given(values=rows(drawn.environment_values()))
def test_widths_are_read_as_the_reference_reads_them(backend: Backend, values: list[str | bytes | None]) -> None:
    raw = [value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value or b"" for value in values]
    rows_of_bytes = backend.ragged([np.frombuffer(value, np.uint8) for value in raw], np.uint8)
    present = backend.flags([value is not None for value in values])

    with backend.chosen():
        widths = listed(batched.min_width_from_env(rows_of_bytes, present))

    assert widths == [reference.min_width_from_env(value) for value in values]


@on_every_backend
@given(cases=rows(st.tuples(drawn.u64(), drawn.u64(), st.booleans(), st.booleans())))
def test_gate_and_arming_are_those_of_the_reference(backend: Backend, cases: list[tuple[int, int, bool, bool]]) -> None:
    n, least = (backend.words([case[i] for case in cases]) for i in (0, 1))
    first, second = (backend.flags([bool(case[i]) for case in cases]) for i in (2, 3))

    with backend.chosen():
        gates = listed(batched.canonical_assignment_at(n, least, first))
        live = listed(batched.carry_armed_with(first, second))

    for i, (width, threshold, carry, several) in enumerate(cases):
        assert gates[i] == reference.canonical_assignment_at(width, threshold, carry)
        context = reference.DrafterContext(prefill=True, carry=carry)
        assert live[i] == reference.carry_armed_with(context, several)


@on_every_backend
@pytest.mark.parametrize("shift", range(5))
def test_long_rows_agree_up_to_their_first_difference(backend: Backend, shift: int) -> None:
    # Rows that start at every alignment, and differences at both ends and around every vector and probe.
    generator = np.random.default_rng(shift)
    places = [0, 1, 3, 4, 5, 63, 64, 65, 255, 256, 4095, 4096, 4999, 5000]
    mine = [generator.integers(0, 2**32, 5000 + i % 3, dtype=np.uint32) for i in range(len(places))]
    theirs = [np.concatenate([row[:place], ~row[place:]])[: 5000 + shift] for row, place in zip(mine, places, strict=True)]
    first = generator.integers(0, 9, shift, dtype=np.uint32)

    with backend.chosen():
        found = batched.common_prefix_len(
            backend.ragged([first, *mine], np.uint32), backend.ragged([np.zeros(0, np.uint32), *theirs], np.uint32)
        )

    assert listed(found) == [0, *(min(place, len(row)) for place, row in zip(places, mine, strict=True))]


@on_every_backend
def test_batches_wider_than_any_count_of_ranks_are_ordered(backend: Backend) -> None:
    generator = np.random.default_rng(5)
    slots, ks = (generator.integers(0, 7, 1500).tolist() for _ in range(2))
    arguments = backend.ragged([slots, [3, 1]], np.uint64), backend.ragged([ks, [2, 2]], np.uint64)

    with backend.chosen():
        for arm in (True, False):
            orders = batched.verify_batch_order(*arguments, arm)
            assert (listed(orders.order)[:1500], listed(orders.depths)[:1500]) == reference.verify_batch_order(slots, ks, arm)
            assert listed(orders.order)[1500:] == [1, 0]


@on_every_backend
def test_a_huge_batch_is_no_different_from_small_ones(backend: Backend) -> None:
    # More rows than any launch has threads at once on a device, so that every thread takes several.
    rows_in_all = 20_000_000 if backend.name == "cupy" else 300_000
    numbers = np.arange(rows_in_all, dtype=np.uint64)
    columns = [backend.xp.asarray(numbers % modulus) for modulus in (101, 103, 53, 107)]

    with backend.chosen():
        plans = batched.plan_append(*columns)

    for i in (0, 1, rows_in_all // 2, rows_in_all - 2, rows_in_all - 1):
        plan = reference.plan_append(*(int(column[i]) for column in columns))
        assert (int(plans.first_key[i]), int(plans.rows[i])) == ((plan.first_key, plan.rows) if plan else (0, 0))
    # The same cases come again after the product of the four primes, so a sum over one period is known exactly.
    period = numbers[: 101 * 103 * 2]
    expected = sum(
        plan.rows
        for case in zip(*((period % m).tolist() for m in (101, 103, 53, 107)), strict=True)
        if (plan := reference.plan_append(*case))
    )
    assert int(plans.rows[: len(period)].sum()) == expected


def test_the_rows_of_a_ragged_are_those_it_was_made_of() -> None:
    ragged = Ragged.from_rows([[1, 2], [], [3]], np.uint32)

    assert (ragged.rows, ragged.total, ragged.longest) == (3, 3, 2)
    assert listed(ragged.lengths) == [2, 0, 1]
