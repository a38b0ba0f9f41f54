"""The plots of a record of the engine, drawn from the record alone: measured points, and lines of what was predicted.

A plot is an SVG file that names its record; drawn again from the same record by the same Matplotlib it is the same to the
byte. Leaves out: the numbers themselves, which the record has.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from proofs.gpu.records import ENGINE, Record


@dataclass(frozen=True, kw_only=True)
class Line:
    """A series of figures: its name in the record, what the legend calls it, and how it is drawn."""

    series: str
    label: str
    colour: str
    marker: str = "o"


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Axes with some lines. of: what is drawn of a figure, its rate as a share in percent, or its seconds in milliseconds.

    powers: whether x goes by powers of ten.
    """

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    of: Literal["share", "milliseconds"] = "share"
    powers: bool = False


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A file of one or more panels."""

    file: str
    panels: tuple[Panel, ...]


BLUE, ORANGE, BLACK = "#1f6fb2", "#d1651a", "#222222"

PLOTS: tuple[Plot, ...] = (
    Plot(
        file="graph-captures.svg",
        panels=(
            Panel(
                title="Steps that are captured anew (32 captures kept)",
                x="members of the batch (10 and 12: if the planner pruned there)",
                y="captures per step (%)",
                lines=(
                    Line(series="captures, other", label="every member keeps its depth", colour=ORANGE),
                    Line(series="captures, canonical", label="depths dealt along the slots", colour=BLUE, marker="s"),
                    Line(series="captures, log", label="the engine's own log: 149 of 167", colour=BLACK, marker="x"),
                ),
            ),
            Panel(
                title="Time lost to them",
                x="members of the batch (10 and 12: if the planner pruned there)",
                y="share of the time (%)",
                lines=(
                    Line(series="lost, other", label="every member keeps its depth", colour=ORANGE),
                    Line(series="lost, canonical", label="depths dealt along the slots", colour=BLUE, marker="s"),
                ),
            ),
        ),
    ),
    Plot(
        file="carry-append.svg",
        panels=(
            Panel(
                title="71 rows appended to rows that were carried",
                x="rows before",
                y="device (ms)",
                of="milliseconds",
                powers=True,
                lines=(Line(series="append", label="append", colour=BLUE),),
            ),
            Panel(
                title="A warm turn with all its decisions",
                x="rows before",
                y="by the clock (ms)",
                of="milliseconds",
                powers=True,
                lines=(Line(series="warm turn", label="warm turn", colour=BLUE),),
            ),
        ),
    ),
)


def newest(records: Iterable[Record]) -> Record | None:
    """Return the record of the engine that was made last, or None."""
    return max((record for record in records if record.subject == ENGINE), key=lambda record: record.data["made"], default=None)


def drawn(plot: Plot, record: Record) -> str:
    """Return a plot of a record as SVG. Errors: ValueError where the record has no figure of one of its series."""
    # Here alone, and without pyplot: drawing is an extra, and keeps no state.
    import matplotlib
    from matplotlib.figure import Figure

    points = {line.series: _points(record, line.series) for panel in plot.panels for line in panel.lines}
    if missing := [series for series, found in points.items() if not found]:
        raise ValueError(f"drawn: {record.name} has no figure of {', '.join(missing)}; measure them with draftproof gpu bench")
    settings: dict[Any, Any] = {
        "svg.hashsalt": plot.file,
        "svg.fonttype": "none",
        "font.family": ["DejaVu Sans", "sans-serif"],
        "font.size": 9.0,
    }
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(4.8 * len(plot.panels), 3.5), layout="constrained")
        for number, panel in enumerate(plot.panels, start=1):
            _panel(figure.add_subplot(1, len(plot.panels), number), panel, points)
        figure.supxlabel(f"{record.data['device']['name']}, {record.name}", fontsize=7, color="#666666")
        text = io.StringIO()
        about = {"Date": None, "Title": record.name, "Creator": f"Matplotlib {matplotlib.__version__}"}
        figure.savefig(text, format="svg", metadata=about)
    # Some lines of the backend end in spaces.
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _points(record: Record, series: str) -> Sequence[Mapping[str, Any]]:
    figures = record.data.get("bench", {}).get("figures", [])
    return sorted((figure for figure in figures if figure.get("series") == series), key=lambda figure: figure["x"])


def _panel(axes: Any, panel: Panel, points: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    from matplotlib.ticker import MaxNLocator

    highest, any_said = 0.0, False
    for line in panel.lines:
        found = points[line.series]
        x, y = [figure["x"] for figure in found], [_measured(panel, figure) for figure in found]
        axes.plot(x, y, line.marker, color=line.colour, label=line.label, markersize=5, linestyle="none")
        said = [(figure["x"], _predicted(panel, figure)) for figure in found if figure.get("predicted") is not None]
        if len(said) > 1:
            axes.plot(*zip(*said, strict=True), color=line.colour, linewidth=1, linestyle="--", label="_predicted")
            any_said = True
        highest = max(highest, *y, *(value for _, value in said))
    if any_said:
        axes.plot([], [], color="#888888", linewidth=1, linestyle="--", label="predicted")
    axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    axes.set_ylim(*((-4, 104) if panel.of == "share" else (0, 1.3 * highest)))
    if panel.powers:
        axes.set_xscale("log")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.legend(fontsize=7, framealpha=0.9)


def _measured(panel: Panel, figure: Mapping[str, Any]) -> float:
    return float(100 * figure["rate"] if panel.of == "share" else 1e3 * figure["seconds"])


def _predicted(panel: Panel, figure: Mapping[str, Any]) -> float:
    """What was predicted of what is drawn: where that is seconds, those at the predicted rate."""
    if panel.of == "share":
        return float(100 * figure["predicted"])
    return float(1e3 * figure["seconds"] * figure["rate"] / figure["predicted"])
