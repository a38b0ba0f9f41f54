"""Faults are found: none is proved equal, those that change what a function gives are refuted with an input that shows it.

Whether a fault changes anything is asked of many calls of the reference, not of the prover. `tests.source.campaign` judges as
many as one likes.
"""

from __future__ import annotations

import pytest

from tests.source.campaign import account, chosen, stands, summary


def test_there_are_more_than_five_hundred_faults() -> None:
    assert len(chosen(1)) >= 500


@pytest.mark.slow
def test_no_fault_is_proved_and_those_that_change_results_are_refuted() -> None:
    count = summary(account(path, fault) for path, fault in chosen(40))
    assert count["changed"] >= 10
    assert stands(count), count
