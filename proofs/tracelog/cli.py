"""The command `draftproof trace`."""

from __future__ import annotations

import gzip
import json
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import click

from proofs import console
from proofs.exits import Exit, worst
from proofs.tracelog.reading import Reading

_NONE = "no carry line could be read; with ATLAS_MTP_CARRY_DEBUG=1 the engine writes one per store and per adoption"


@click.command(name="trace", epilog="Example: draftproof trace engine.log --max-findings 5")
@click.option("--continued", is_flag=True, help="Logs begin in the middle of a run: the slot may hold anything at first.")
@click.option("--max-findings", type=click.IntRange(min=0), default=20, show_default=True, help="Show this many; all are counted.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
def trace(continued: bool, max_findings: int, as_json: bool, logs: tuple[str, ...]) -> Exit:
    """Check an engine's debug LOGs against the model: report each carry line that no run of it writes.

    LOG is a file of any size, gzip-compressed if its name ends in .gz, or - for standard input. Each is a run of its own and
    begins with an empty slot, unless --continued. Lines that cannot be read are counted, and are no violation.

    Exit codes: 0 every carry line is possible, 1 one is not, 2 a log cannot be read or has no carry line.
    """
    checked = [_checked(name, Reading(keep=max_findings, continued=continued)) for name in logs]
    code = worst(entry["exit"] for entry in checked)
    if as_json:
        console.emit(json.dumps({"exit": int(code), "logs": checked}, indent=1, ensure_ascii=False))
    else:
        console.emit("\n".join(line for entry in checked for line in _shown(entry)))
    return code


def _checked(name: str, reading: Reading) -> dict[str, Any]:
    """Reads one log; what was found as a JSON object."""
    started = time.perf_counter()
    error = None
    try:
        with _opened(name) as (stream, size), _progress(name, size) as noticed:
            reading.read(stream, noticed)
    except (OSError, EOFError, zlib.error) as unreadable:
        error = f"cannot be read to its end: {unreadable}"
    if error is None and not reading.carry_lines:
        error = _NONE
    code = worst([Exit.USAGE if error else Exit.OK, Exit.WRONG if reading.violations else Exit.OK])
    return {
        "log": name,
        "exit": int(code),
        "error": error,
        "bytes": reading.size,
        "lines": reading.lines,
        "carry_lines": {told.value: count for told, count in reading.told.items()},
        "violations": reading.violations,
        "findings": [asdict(finding) for finding in reading.findings],
        "unread": {"carry_lines": reading.unread, "first_at": reading.unread_at},
        "binary_lines": reading.binary,
        "overlong_lines": reading.overlong,
        "seconds": round(time.perf_counter() - started, 3),
    }


@contextmanager
def _opened(name: str) -> Iterator[tuple[BinaryIO, int | None]]:
    """The bytes of a log, and how many there are if that is known before."""
    if name == "-":
        yield sys.stdin.buffer, None
    elif name.endswith(".gz"):
        with gzip.open(name, "rb") as unpacked:
            yield unpacked, None  # type: ignore[misc]
    else:
        with Path(name).open("rb") as file:
            yield file, Path(name).stat().st_size or None


@contextmanager
def _progress(name: str, size: int | None) -> Iterator[Callable[[int], None]]:
    """On a terminal a line with the bytes read and the rate; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=size)
        yield lambda count: bar.advance(task, count)


def _shown(entry: dict[str, Any]) -> Iterator[str]:
    """One log for people: what it has, then each impossible line with its place and reason."""
    name = entry["log"]
    told = ", ".join(f"{message} {count}" for message, count in entry["carry_lines"].items() if count)
    if told:
        yield f"{name}   {told}"
    for finding in entry["findings"]:
        place = f"{name}:{finding['line']} (byte {finding['offset']})"
        yield f"{place}   {click.style('IMPOSSIBLE', fg='red')}   {finding['reason']}"
        yield f"  {finding['text']}"
    if (more := entry["violations"] - len(entry["findings"])) > 0:
        yield f"  {more} more impossible lines; --max-findings N shows more"
    if places := entry["unread"]["first_at"]:
        first = ", ".join(map(str, places[:5])) + (", ..." if entry["unread"]["carry_lines"] > 5 else "")
        count = entry["unread"]["carry_lines"]
        yield f"  {count} pieces of carry lines could not be read (line {first}); after them the slot may hold anything"
    if entry["error"]:
        yield f"{name}   {click.style('ERROR', fg='red')}   {entry['error']}"
    rate = entry["bytes"] / 1e6 / max(entry["seconds"], 1e-3)
    counts = f"{entry['lines']} lines, {sum(entry['carry_lines'].values())} of the carry, {entry['violations']} impossible"
    other = f"{entry['unread']['carry_lines']} unread, {entry['binary_lines']} binary, {entry['overlong_lines']} overlong"
    yield f"{name}   {counts}; {other}; {entry['bytes'] / 1e6:.1f} MB, {rate:.0f} MB/s"
