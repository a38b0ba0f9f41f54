"""The parts of the engine on real memory that `draftproof gpu check` and `gpu bench` run, beside the rules alone.

A part is a module of this package with `rows(bench)` for the check and `figures(bench)` for the bench. What it finds is kept
in a record of its own, so that a change of the engine leaves the records of the rules fresh, and a sweep's leaves the
engine's.
"""

from __future__ import annotations

import fnmatch
import importlib
import time
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType

from proofs.gpu.bench import Figure
from proofs.gpu.check import Bench, Row, Section

PARTS: Mapping[str, str] = {
    "engine-graphs": "proofs.gpu.engine_graphs",
    "engine-carry": "proofs.gpu.engine_carry",
}
"""By the name of its section, the module of a part."""


def _named(only: str) -> Iterator[tuple[str, ModuleType]]:
    for name, module in PARTS.items():
        if fnmatch.fnmatchcase(name, only):
            yield name, importlib.import_module(module)


def check(bench: Bench, only: str = "*", progress: Callable[[str], None] = lambda _: None) -> tuple[Section, ...]:
    """Run every part whose name matches `only`. A part that raises is a section that fails, and takes no other with it."""
    sections = []
    for name, part in _named(only):
        progress(name)
        started = time.perf_counter()
        rows: list[Row] = []
        try:
            for row in part.rows(bench):
                progress(row.name)
                rows.append(row)
        except Exception as error:  # noqa: BLE001 -- whatever went wrong here must not lose the other sections
            rows.append(Row(kind="error", name=name, ok=False, note=f"{type(error).__name__}: {error}"[:2000]))
        sections.append(Section(name=name, seconds=time.perf_counter() - started, rows=tuple(rows)))
    return tuple(sections)


def measure(bench: Bench, only: str = "*", progress: Callable[[str], None] = lambda _: None) -> list[Figure]:
    """Measure every part whose name matches `only`."""
    figures: list[Figure] = []
    for _, part in _named(only):
        for figure in part.figures(bench):
            progress(figure.name)
            figures.append(figure)
    return figures
