"""The key space against the table of DESIGN 1b, and the command that shows it."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from click.testing import CliRunner

from proofs.cli import run as run_command
from proofs.keyspace import Planner, above_the_cap, key_space
from proofs.replay import run
from proofs.report_cli import report

TABLE = {2: (2, 1), 3: (3, 1), 4: (10, 2), 5: (15, 2), 6: (50, 2), 7: (77, 2), 8: (266, 3), 10: (1452, 3), 12: (8074, 4)}


@pytest.mark.parametrize(("width", "counts"), TABLE.items())
def test_three_ways_give_the_table(width: int, counts: tuple[int, int]) -> None:
    space = key_space(Planner(), width, run)

    assert set(space.ways) == {"generating function", "multisets", "the code"}
    assert set(space.ways.values()) == {counts}


def test_a_code_that_drops_the_slots_is_noticed() -> None:
    def shapes_only(fn: str, args: Any) -> Any:
        told = run(fn, args)
        return told[1::2] if fn == "verify_graph_key" else told

    assert not key_space(Planner(), 4, shapes_only).agreed


def test_half_a_position_is_rounded_up() -> None:
    assert [Planner().kept(width) for width in (2, 3, 5)] == [3, 5, 8]


def test_an_lru_of_32_misses_266_keys_in_88_percent_of_steps() -> None:
    space = key_space(Planner(), 8, run)

    assert space.miss_rate(space.arrangements) == 1 - Fraction(32, 266)
    assert space.miss_rate(space.canonical) == 0


def test_widths_6_and_7_exceed_the_cap_below_the_gate() -> None:
    spaces = [key_space(Planner(), width, run) for width in range(2, 9)]

    assert [space.width for space in above_the_cap(spaces)] == [6, 7]
    assert [round(float(space.miss_rate(space.in_use)), 2) for space in above_the_cap(spaces)] == [0.36, 0.58]


@pytest.mark.parametrize("wrong", [{"drafts": 0}, {"cap": 0}, {"ratio": Fraction(2)}])
def test_a_planner_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Planner(**wrong)


def test_the_command_takes_any_width_depth_ratio_and_cap() -> None:
    options = ["keys", "--widths", "3,5-6", "--drafts", "2", "--ratio", "1/2", "--cap", "5", "--gate", "6", "--json"]
    told = json.loads(CliRunner().invoke(report, options).output)

    # With two drafts a member keeps its second or not: of 3, 5 and 6 members 2, 3 and 3 do.
    assert [(row["width"], row["arrangements"], row["canonical"]) for row in told] == [(3, 3, 1), (5, 10, 1), (6, 20, 1)]
    assert [row["in_use"] for row in told] == [3, 10, 1]
    assert [row["above_cap"] for row in told] == [False, True, False]


@pytest.mark.parametrize("options", [["--widths", "0"], ["--widths", "8-"], ["--ratio", "x"], ["--ratio", "2"], ["--cap", "0"]])
def test_wrong_options_end_with_2(options: list[str]) -> None:
    assert run_command(report, ["keys", *options]) == 2
