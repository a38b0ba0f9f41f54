"""`draftproof campaign` on one machine: what it lists and refuses, that it goes on, and what it says of a violation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner, Result

from proofs import cli
from proofs.campaign.planning import RATES, planned, shard_size
from proofs.campaign.searches import BACKENDS, RandomCalls, RandomInterleavings, Sweep, searches
from proofs.exits import Exit
from tests.batched.backends import NO_COMPILER
from tests.campaign.clusters import ended, interrupted, ran, started, waited_for, workers_of

ON_BACKENDS = [
    "numpy",
    pytest.param("kernels", marks=pytest.mark.skipif(NO_COMPILER is not None, reason=str(NO_COMPILER))),
]
SMALL = ("--scale", "small", "--threads", "1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def campaign(*arguments: str) -> tuple[Exit, str, str]:
    result: Result = CliRunner().invoke(_whole, ["campaign", *arguments])
    return Exit(result.exit_code), result.stdout, result.stderr


class _Whole(cli.Commands):
    def main(self, args: Sequence[str] | None = None, **_: Any) -> Any:  # type: ignore[override]
        raise SystemExit(cli.run(cli.draftproof, args or ()))


_whole = _Whole(table={}, name="draftproof")


def found(*arguments: str) -> dict[str, Any]:
    code, output, error = campaign(*arguments, "--json")
    told: dict[str, Any] = json.loads(output or "{}")
    assert told.get("exit") == code, error
    return told


def test_the_list_names_every_search_with_its_cases_and_needs_no_journal(folder: Path) -> None:
    code, output, _ = campaign("--list", "--json", "--backend", "numpy")
    entries = json.loads(output)["scopes"]

    assert code is Exit.OK
    assert {entry["scope"] for entry in entries} == set(searches())
    assert {entry["cases"] for entry in entries if entry["scope"] == "append"} == {2**20, 2**24, 2**36, 2**40}
    assert all(entry["seconds"] > 0 and entry["claim"] for entry in entries)
    assert list(folder.iterdir()) == []
    assert "random-interleavings" in campaign("--list")[1]


def test_every_search_has_a_rate_on_every_backend_and_shards_of_at_least_one_case() -> None:
    for search in searches().values():
        for backend in BACKENDS:
            for cases in search.sizes.values():
                assert shard_size(search, backend, cases) >= 1
    assert all(set(rates) == set(BACKENDS) for rates in RATES.values())


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ((), "SCOPE is missing"),
        (("nothing",), "SCOPE=nothing is no search"),
        (("merge", "--scale", "stretch"), "--scale stretch: merge has small, host, device; pass one of them"),
        (("merge", "--range", "7:3"), "--range 7:3 is no range"),
        (("merge", "--range", "0:99999999999"), "is no range"),
        (("merge", "--range", "5"), "--range 5 is no range"),
        (("merge", "--seed", "3"), "--seed 3: merge is exhaustive"),
        (("random-calls", "--seed", str(2**40)), "is outside 0 to"),
        (("carried", "--plant", "3"), "--plant 3: .*plant in append or merge"),
        (("random-calls", "--plant", "3"), "has no plants"),
        (("merge", "--scale", "small", "--plant", "65536"), "is no case of merge; pass 0 to 65535"),
        (("merge", "--local-workers", "2", "--threads", "2"), "exclude each other"),
        (("merge", "--devices", "0,0"), "names one twice"),
        (("merge", "--devices", "x"), "is no list of numbers"),
    ],
)
def test_bad_usage_names_the_argument_and_leaves_nothing(folder: Path, arguments: tuple[str, ...], rule: str) -> None:
    code, output, error = campaign(*arguments)

    assert (code, output) == (Exit.USAGE, "")
    assert pytest.importorskip("re").search(rule, error), error
    assert "Traceback" not in error
    assert list(folder.iterdir()) == []


def test_a_scheduler_that_does_not_answer_is_bad_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    from proofs.campaign import cluster

    monkeypatch.setattr(cluster, "CONNECTING_SECONDS", 1)

    code, _, error = campaign("merge", "--scale", "small", "--scheduler", "tcp://127.0.0.1:9")

    assert code is Exit.USAGE
    assert "scheduler=tcp://127.0.0.1:9 does not answer" in error


@pytest.mark.parametrize("name", sorted(searches()))
def test_every_search_runs_on_numpy(name: str) -> None:
    scale = next(iter(searches()[name].sizes))
    cases = min(searches()[name].sizes[scale], 600)

    told = found(name, "--backend", "numpy", "--scale", scale, "--range", f"0:{cases}", "--shard-size", "300", "--threads", "1")

    assert (told["exit"], told["complete"], told["broken"]) == (0, True, 0)
    assert told["covered"] == [[0, cases]]
    assert 0 <= told["accepted"] <= cases


@pytest.mark.skipif(NO_COMPILER is not None, reason=str(NO_COMPILER))
@pytest.mark.parametrize("name", ["merge", "append-at-the-edges", "tied", "random-calls"])
def test_both_backends_come_to_one_digest(name: str) -> None:
    one, other = (
        found(name, *SMALL, "--backend", backend, "--range", "100:9000", "--shard-size", "901") for backend in BACKENDS[:2]
    )

    assert one["digest"] == other["digest"]
    assert one["accepted"] == other["accepted"] > 0


def test_a_campaign_goes_on_from_its_journal_and_says_so(folder: Path) -> None:
    whole = found("merge", *SMALL, "--shard-size", "4096", "--backend", "numpy")
    (path,) = folder.glob("build/campaign/*.journal")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:6]) + lines[6][:-9])

    told = found("merge", *SMALL, "--shard-size", "4096", "--backend", "numpy")

    assert (told["shards_resumed"], told["torn"]) == (5, True)
    assert [told[name] for name in ("digest", "covered", "accepted")] == [whole[name] for name in ("digest", "covered", "accepted")]
    again = found("merge", *SMALL, "--shard-size", "4096", "--backend", "numpy")
    assert (again["shards_resumed"], again["workers"], again["digest"]) == (16, 0, whole["digest"])


def test_a_journal_of_another_campaign_is_refused_unless_begun_anew(folder: Path) -> None:
    found("merge", *SMALL, "--journal", "kept", "--backend", "numpy")

    code, _, error = campaign("append", *SMALL, "--journal", "kept", "--backend", "numpy")

    assert code is Exit.USAGE
    assert "is of another campaign" in error
    assert found("append", *SMALL, "--journal", "kept", "--backend", "numpy", "--anew")["complete"]
    assert (folder / "kept.old").is_file()


@pytest.mark.parametrize("backend", ON_BACKENDS)
@pytest.mark.parametrize("name", [n for n, s in searches().items() if n.startswith(("append", "merge"))])
def test_a_planted_answer_is_found_where_it_was_planted_and_nowhere_else(name: str, backend: str) -> None:
    search = searches()[name]
    random = Random(f"{name} {backend}")
    for _ in range(3):
        plant = random.randrange(search.sizes["small"])
        low, high = max(plant - 1500, 0), min(plant + 1500, search.sizes["small"])

        assert search.look(backend, "small", 0, low, high, plant).first == plant
        assert search.look(backend, "small", 0, low, high, plant).broken == 1
        (call, *_) = search.case(backend, "small", 0, plant, plant).calls
        (right, *_) = search.case(backend, "small", 0, plant, None).calls
        assert (call.fn, call.args) == (right.fn, right.args)
        assert call.rule != right.rule


@pytest.mark.parametrize("backend", ON_BACKENDS)
def test_a_violation_ends_the_campaign_with_both_results_and_a_vector_that_conform_takes(folder: Path, backend: str) -> None:
    told = found("append", *SMALL, "--backend", backend, "--shard-size", "105", "--plant", "123456")

    violation = told["violation"]
    assert told["exit"] == Exit.WRONG
    assert (violation["index"], violation["shard"]) == (123456, 123456 // 105)
    # Told by the layout of a case: hi, lo, prompt_len and last_pair_key, five bits each.
    case = {"hidden_hi": 0, "hidden_lo": 18, "prompt_len": 24, "last_pair_key": 3}
    assert 123456 == 0 + (18 << 5) + (24 << 10) + (3 << 15)
    assert violation["case"] == violation["calls"][0]["args"] == case
    assert violation["calls"][0]["rule"] != violation["calls"][0]["reference"]
    assert not told["complete"]
    assert sum(high - low for low, high in told["covered"]) == told["cases_done"]
    (folder / "vector.jsonl").write_text(json.dumps(violation["vector"]))
    assert cli.run(cli.draftproof, ["conform", "--target", backend, "vector.jsonl"]) is Exit.OK

    _, output, _ = campaign("append", *SMALL, "--backend", backend, "--shard-size", "105", "--plant", "123456")
    assert "VIOLATION  case 123456 of append" in output
    assert "vector   " + json.dumps(violation["vector"]) in output
    assert output.rstrip().endswith("WRONG")


def test_a_whole_search_in_which_nothing_was_accepted_is_wrong_and_a_part_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    # A prompt of no token has no plan.
    part = ("append", *SMALL, "--backend", "numpy", "--range", "0:900")
    told = found(*part)
    assert (told["complete"], told["accepted"], told["vacuous"], told["exit"]) == (True, 0, False, Exit.OK)

    monkeypatch.setattr(Sweep, "sizes", {"small": 900})

    told = found(*part, "--anew")
    assert (told["complete"], told["accepted"], told["vacuous"], told["exit"]) == (True, 0, True, Exit.WRONG)


def test_a_fault_of_the_engine_is_found_by_random_interleavings(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from impl.engine.carry import RULES, Engines

    def every_row(ranges: Any, _: Any) -> Any:
        return ranges.lo, ranges.hi

    defaults = Engines.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "rules", replace(RULES, visible_to=every_row))
    search = RandomInterleavings()

    seen = search.look("numpy", "small", 3, 0, 256, None)

    assert seen.broken > 0
    assert seen.first is not None
    case = search.case("numpy", "small", 3, seen.first, None)
    assert case.told["broken"] and case.told["steps"]
    assert search.look("numpy", "small", 3, seen.first, seen.first + 1, None).broken == 1
    assert search.look("numpy", "small", 3, 0, seen.first, None).broken == 0


def test_a_fault_of_a_function_is_found_by_random_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    import impl.batched as batched

    monkeypatch.setattr(batched, "canonical_assignment_at", lambda n, least, clear: clear & (n > least))
    search = RandomCalls()

    seen = search.look("numpy", "small", 0, 0, 6000, None)

    assert seen.first is not None
    (call,) = search.case("numpy", "small", 0, seen.first, None).calls
    assert call.fn == "canonical_assignment_at"
    assert call.args["n"] == call.args["min_width"]


def test_another_seed_is_another_search() -> None:
    for name in ("wide", "random-calls", "random-interleavings"):
        search = searches()[name]
        cases = [search.case("numpy", "small", seed, 5, None).told for seed in (0, 1)]
        assert cases[0] != cases[1]
    wide = searches()["wide"]
    assert isinstance(wide, Sweep)
    assert wide.case("numpy", "small", 2, 7, None).told == wide.scope.decode(7 + 2 * 2**40, {})
    assert planned("wide", seed=2, backend="numpy").seed == 2


@pytest.mark.slow
def test_ctrl_c_ends_with_130_leaves_no_process_and_the_campaign_goes_on(folder: Path) -> None:
    arguments = ("merge", "--scale", "host", "--backend", "numpy", "--range", "0:2000000", "--shard-size", "5000")
    whole = ran(folder, *arguments, "--journal", "whole", "--threads", "1")

    with started(folder, *arguments, "--journal", "cut", "--local-workers", "2") as process:
        waited_for(lambda: (folder / "cut").exists() and (folder / "cut").read_bytes().count(b"\n") > 3)
        children = workers_of(process)
        interrupted(process)
        stopped = ended(process, timeout=60)
        waited_for(lambda: not any(child.is_running() for child in children))

    assert (stopped.code, stopped.told) == (Exit.INTERRUPTED, {})
    assert children and "Traceback" not in stopped.error
    again = ran(folder, *arguments, "--journal", "cut", "--threads", "1")
    assert 0 < again.told["shards_resumed"] < again.told["shards"]
    assert (again.code, again.told["digest"]) == (Exit.OK, whole.told["digest"])
