"""The engine's results have a record of their own, shown and judged like the others, and plots that are drawn from it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from proofs.gpu import engine, engine_figures, engine_plots, records
from proofs.gpu.cli import gpu
from proofs.gpu.records import ENGINE, RULES, Freshness, Record
from tests.batched.backends import DEVICES, needs_host_kernels

ROOT = Path(__file__).resolve().parents[2]
DEVICE = {"name": "a device", "processor": "one", "python": "3", "numpy": "2"}
WHEN = "2026-01-01T00:00:00Z"

without_device = pytest.mark.skipif(DEVICES > 0, reason="there is a device")


def figure(series: str, x: float, rate: float, predicted: float) -> dict[str, Any]:
    made = engine_figures.Figured(name="f", rate=rate, unit="", seconds=1.0, series=series, x=x, predicted=predicted, within=0.1)
    return made.as_json()


def record_of(figures: list[dict[str, Any]]) -> Record:
    data = records.extended(Path("nowhere.json"), "bench", {"figures": figures}, DEVICE, WHEN, ENGINE)
    return Record(name="one", data=data)


def whole() -> Record:
    """A record with two points of every line of every plot."""
    lines = [line.series for plot in engine_plots.PLOTS for panel in plot.panels for line in panel.lines]
    return record_of([figure(series, x, x / 10, x / 11) for series in lines for x in (2, 8)])


@needs_host_kernels
@without_device
def test_a_check_keeps_the_rules_and_the_engine_in_two_records(tmp_path: Path) -> None:
    path = tmp_path / "host.json"

    ran = CliRunner().invoke(gpu, ["check", "--scale", "small", "--only", "[ek]*-graphs", "--record", str(path)])
    both = CliRunner().invoke(gpu, ["check", "--scale", "small", "--only", "keys", "--record", str(path)])

    assert (ran.exit_code, both.exit_code) == (0, 0), ran.output
    assert "engine-graphs" in ran.stdout
    of_engine, rules = records.load_records(tmp_path)
    assert (rules.name, rules.subject, of_engine.name, of_engine.subject) == ("host", RULES, "host-engine", ENGINE)
    for record in (rules, of_engine):
        pytest.importorskip("jsonschema").validate(record.data, records.schema())
        assert record.ok
        assert records.freshness(record) is Freshness.FRESH
    assert re.search(r"^engine on .* 0 violations, mutants (\d+)/\1$", of_engine.summary)


def test_a_change_of_the_engine_leaves_the_rules_fresh_and_the_other_way_round() -> None:
    of_rules, of_engine = set(records.sources(RULES)), set(records.sources(ENGINE))

    assert {"impl/engine/graphs.py", "impl/engine/kernels/verify_step.cu", "proofs/gpu/graph_traces.json"} <= of_engine - of_rules
    assert {"proofs/gpu/mutants.py", "proofs/gpu/kernels/orders.cu"} <= of_rules - of_engine
    assert {"impl/batched/verify_key.py", "impl/batched/kernels/order.cuh"} <= of_rules & of_engine
    assert not {"proofs/gpu/engine_plots.py", "proofs/gpu/cli.py"} & (of_engine | of_rules)


def test_a_record_of_an_unknown_subject_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text(json.dumps({**whole().data, "subject": "weather"}))

    with pytest.raises(ValueError, match=r"load_records: .*odd\.json"):
        records.load_records(tmp_path)


def test_a_part_that_raises_is_a_section_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "PARTS", {"engine-none": "proofs.gpu.records"})

    (section,) = engine.check(None)  # type: ignore[arg-type]

    assert not section.ok
    assert "AttributeError" in section.rows[0].note


def test_a_figure_far_from_its_prediction_is_not_reached() -> None:
    def reached(rate: float) -> bool:
        return engine_figures.Figured(name="f", rate=rate, unit="", seconds=1.0, predicted=0.5, within=0.03).reached

    assert (reached(0.475), reached(0.525), reached(0.465), reached(0.535)) == (True, True, False, False)


@needs_host_kernels
def test_a_bench_of_nothing_is_bad_usage() -> None:
    ran = CliRunner().invoke(gpu, ["bench", "--only", "nothing"])

    assert ran.exit_code == 2
    assert "engine-graphs" in ran.output


# ---- plots


def test_plots_are_drawn_alike_from_the_same_record_and_show_its_points() -> None:
    pytest.importorskip("matplotlib")
    for plot in engine_plots.PLOTS:
        text = engine_plots.drawn(plot, whole())

        assert text == engine_plots.drawn(plot, whole())
        for panel in plot.panels:
            assert panel.title in text
            assert all(line.label in text for line in panel.lines)


def test_a_record_without_a_line_of_a_plot_is_refused() -> None:
    pytest.importorskip("matplotlib")
    plot = engine_plots.PLOTS[0]
    some = [figure(line.series, 2, 0.1, 0.1) for line in plot.panels[0].lines]

    with pytest.raises(ValueError, match="no figure of lost, other, lost, canonical"):
        engine_plots.drawn(plot, record_of(some))


def test_plots_that_are_not_those_of_the_record_are_told(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    record, out = tmp_path / "one.json", tmp_path / "docs"
    records.write(record, whole().data)
    command = ["plots", "--record", str(record), "--out", str(out)]

    assert CliRunner().invoke(gpu, [*command, "--check"]).exit_code == 1
    assert CliRunner().invoke(gpu, command).exit_code == 0
    assert CliRunner().invoke(gpu, [*command, "--check"]).exit_code == 0
    path = out / engine_plots.PLOTS[0].file
    path.write_text(path.read_text().replace("captured anew", "captured once more"))
    changed = CliRunner().invoke(gpu, [*command, "--check"])
    assert changed.exit_code == 1
    assert "differs" in changed.output


def test_the_plots_in_docs_are_those_of_the_newest_record_of_the_engine() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    record = engine_plots.newest(records.load_records())
    if record is None:
        pytest.skip("no record of the engine is kept; draftproof gpu bench --record proofs/records makes one on a device")
    for plot in engine_plots.PLOTS:
        text = (ROOT / "docs" / plot.file).read_text(encoding="utf-8")
        made_by = re.search(r"Matplotlib ([\w.]+)", text)
        assert made_by is not None
        if made_by[1] != matplotlib.__version__:
            pytest.skip(f"docs/{plot.file} was drawn by Matplotlib {made_by[1]}, and this is {matplotlib.__version__}")
        assert text == engine_plots.drawn(plot, record), f"docs/{plot.file} is not that of {record.name}; run draftproof gpu plots"


def test_the_readme_tells_the_figures_of_the_newest_record_of_the_engine() -> None:
    record = engine_plots.newest(records.load_records())
    if record is None:
        pytest.skip("no record of the engine is kept; draftproof gpu bench --record proofs/records makes one on a device")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    def shown(row: str) -> list[float]:
        found = re.search(rf"^\| {row} \| (.*) \|$", readme, re.MULTILINE)
        assert found is not None, row
        return [float(cell.strip(" %")) for cell in found[1].split("|")]

    def kept(series: str, part: str) -> list[float]:
        of = {f["x"]: f[part] for f in record.data["bench"]["figures"] if f.get("series") == series}
        return [100 * of[width] for width in (6, 7, 8, 10, 12)]

    # Draws are seeded, so captures do not vary from run to run; times do.
    assert shown("captures per step, predicted") == [round(value, 1) for value in kept("captures, other", "predicted")]
    assert shown("captures per step, measured") == [round(value, 1) for value in kept("captures, other", "rate")]
    assert shown("time lost, measured") == pytest.approx(kept("lost, other", "rate"), abs=4)
    assert shown("time lost, predicted from [^|]*") == pytest.approx(kept("lost, other", "predicted"), abs=4)
