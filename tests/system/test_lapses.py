"""Every lapse does its harm in a whole small state in which every law holds, and the twin, which has no lapse, does otherwise."""

from __future__ import annotations

import pytest

from proofs.faults.lapses import LAPSES, Lapse
from proofs.replay import run
from proofs.traces.lapses import loaded, occurrence, shown

UNSHOWN = {
    # What a fresh sequence finds in memory would have to be negative.
    "system/guesses-lie-above/allocate: loses extent": "no state",
    "system/captures-ran/capture: skips it is a batch": "no state",
    # No number of the scope is beyond 32 bits.
    "system/launches-fit-the-batch-that-runs-them/replay: skips slots and depths of the batch fit 32 bits (A7)": "no state",
    "system/launches-fit-the-batch-that-runs-them/replay: skips slots and depths of the earlier batch fit 32 bits (A7)": "no state",
    # The twin has no rows or blocks of a sequence that was never there, and no capture that nobody made.
    "system/tables-have-one-holder/allocate: without holders-are-born": "no twin",
    "system/every-block-has-one-owner: without tables-with-blocks-are-held": "no twin",
    "system/runs-are-of-batches-that-ran/replay: without captures-ran": "no twin",
}
"""What cannot be replayed: because no state of the scope has it, or because the twin cannot hold the state."""

REPLAYED = [lapse for lapse in LAPSES if lapse.action != "initially" and not lapse.in_part and lapse.name not in UNSHOWN]


@pytest.mark.exhaustive
@pytest.mark.parametrize("lapse", REPLAYED, ids=lambda lapse: lapse.name)
def test_a_lapse_breaks_its_law_in_a_small_state_and_the_twin_does_not_make_it(lapse: Lapse) -> None:
    found = shown(lapse, run)

    assert found.confirmed, found.reason


@pytest.mark.parametrize("lapse", REPLAYED[::40], ids=lambda lapse: lapse.name)
def test_some_lapses_are_replayed_at_once(lapse: Lapse) -> None:
    found = shown(lapse, run)

    assert found.confirmed, found.reason


@pytest.mark.exhaustive
def test_what_is_not_replayed_is_what_is_listed() -> None:
    assert set(UNSHOWN) <= {lapse.name for lapse in LAPSES}
    for lapse in LAPSES:
        if lapse.name in UNSHOWN:
            assert (occurrence(lapse) is None) == (UNSHOWN[lapse.name] == "no state")


@pytest.mark.exhaustive
def test_every_law_is_forgotten_in_a_state_where_all_others_hold_everywhere() -> None:
    for lapse in LAPSES:
        if lapse.forgets and lapse.name not in UNSHOWN:
            assert occurrence(lapse) is not None, lapse.name


def test_the_twin_is_put_into_the_state_that_the_model_tells() -> None:
    lapse = next(la for la in LAPSES if la.name == "system/rows-agree/decode: without tables-have-one-holder")
    found = occurrence(lapse)
    assert found is not None
    twin = loaded(found, run)

    assert twin.ticket == found.cells["ticket"][0]
    assert sorted(twin.holders) == [h for h, live in enumerate(found.cells["live"]) if live]
    assert sorted(twin.drafter) == [s for s, born in enumerate(found.cells["born"]) if born]


def test_a_twin_that_makes_the_lapse_itself_is_noticed() -> None:
    """The replay is no formality: a lapse that takes the right step is not confirmed."""
    harmless = Lapse(law="rows-agree", action="decode", loses=("pending",))

    assert not shown(harmless, run).confirmed
