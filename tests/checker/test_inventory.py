"""The inventory: nothing that is proved may vanish, appear or change without being noticed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import z3

from proofs import inventory
from proofs.checker import Catalogue
from proofs.cli import run
from proofs.commands import inventory_command
from proofs.exits import Exit
from proofs.faults import Fault
from proofs.inventory import Difference, Inventory, differences, found, statements
from proofs.obligation import Goal, World
from tests.checker import catalogues
from tests.checker.catalogues import BOUNDARY, SEES_NOTHING


def of(catalogue: Catalogue) -> Inventory:
    return found(catalogue, statements(catalogue))


def told(before: Catalogue, after: Catalogue) -> list[tuple[str, str]]:
    return [(d.what, d.name) for d in differences(of(before), of(after))]


ONE = Catalogue(obligations=(SEES_NOTHING,))


def test_the_same_catalogue_does_not_differ() -> None:
    assert told(catalogues.good(), catalogues.good()) == []


def test_differences_are_seen_in_both_directions() -> None:
    two = replace(ONE, obligations=(SEES_NOTHING, BOUNDARY))

    assert told(two, ONE) == [("missing", BOUNDARY.id)]
    assert told(ONE, two) == [("unexpected", BOUNDARY.id)]


def test_a_claim_in_other_words_is_a_change() -> None:
    other = replace(ONE, obligations=(replace(SEES_NOTHING, claim="Something weaker."),))

    (difference,) = differences(of(ONE), of(other))

    assert difference == Difference(
        what="changed claim",
        name=SEES_NOTHING.id,
        tells=f"listed {SEES_NOTHING.claim!r}, found 'Something weaker.'",
    )


def test_a_weaker_statement_under_the_same_words_is_a_change() -> None:
    def weaker(world: World) -> Goal:
        goal = SEES_NOTHING.build(world)
        return replace(goal, show=z3.Or(goal.show, z3.Int("anything") == 1))

    other = replace(ONE, obligations=(replace(SEES_NOTHING, build=weaker),))

    assert told(ONE, other) == [("changed statement", SEES_NOTHING.id)]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"assumes": ("A1", "A2")}, ["changed assumes"]),
        ({"only_bounded": True}, ["changed scope"]),
    ],
)
def test_what_a_claim_rests_on_is_listed(options: dict[str, object], what: list[str]) -> None:
    other = replace(ONE, obligations=(replace(SEES_NOTHING, **options),))  # type: ignore[arg-type]

    assert [kind for kind, _ in told(ONE, other)] == what


def test_a_fault_that_is_dropped_or_refuted_by_another_claim_is_a_change() -> None:
    (fault,) = catalogues.good().faults
    assert isinstance(fault, Fault)
    with_fault = replace(ONE, faults=(fault,))

    assert told(with_fault, ONE) == [("missing", fault.name)]
    assert told(with_fault, replace(ONE, faults=(replace(fault, refuted_by=BOUNDARY.id),))) == [("changed refuted by", fault.name)]


def test_a_partial_run_is_compared_within_its_pattern() -> None:
    listed = of(catalogues.good())
    pattern = SEES_NOTHING.id

    assert differences(inventory.only(listed, pattern), of(catalogues.good().only(pattern))) == ()
    assert differences(inventory.only(listed, "*"), of(catalogues.good())) == ()


def test_the_command_writes_the_list_and_then_finds_no_difference(tmp_path: Path) -> None:
    path = tmp_path / "inventory.json"
    command = inventory_command(catalogues.good, path)

    assert run(command, []) == Exit.WRONG
    assert run(command, ["--write"]) == Exit.OK
    assert run(command, []) == Exit.OK
    assert json.loads(path.read_text())["obligations"][SEES_NOTHING.id]["claim"] == SEES_NOTHING.claim


def test_a_file_that_is_no_inventory_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "inventory.json"
    path.write_text('{"schema": "something else"}')

    assert run(inventory_command(catalogues.good, path), []) == Exit.USAGE
    assert f"{path}: it is no draftproof.inventory/1" in capsys.readouterr().err
