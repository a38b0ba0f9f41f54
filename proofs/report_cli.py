"""`draftproof report`: the last run's report, the key space, the findings, the assumption ledger.

Without a subcommand it is the report itself. The code that the key space is counted through is the reference.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from proofs import console
from proofs.commands import report_command
from proofs.exits import Exit
from proofs.keyspace import KeySpace, Planner, key_space

WIDTHS = "2-8,10,12"
WIDEST = 64


def _widths(context: click.Context, parameter: click.Parameter, value: str) -> list[int]:
    """Reads `2-8,10`."""
    widths: list[int] = []
    for part in value.split(","):
        found = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last <= WIDEST:
            rule = f"{part!r} is no width or range of widths from 1 to {WIDEST}; write for example {WIDTHS}"
            raise click.BadParameter(rule, context, parameter)
        widths += range(first, last + 1)
    return widths


def _ratio(context: click.Context, parameter: click.Parameter, value: str) -> Fraction:
    """Reads `0.75` or `3/4`, exactly."""
    try:
        return Fraction(value)
    except (ValueError, ZeroDivisionError):
        rule = f"{value!r} is no number; write for example 0.75 or 3/4"
        raise click.BadParameter(rule, context, parameter) from None


def _report(context: click.Context, html: Path | None, **options: Any) -> Any:
    if html is not None:
        if context.invoked_subcommand is not None or options["as_json"] or options["claims"]:
            raise click.UsageError("--html makes a page of the report alone; leave out the subcommand, --json and --claims")
        return _page(html, options["out"])
    if context.invoked_subcommand is None:
        return context.invoke(report_command, **options)
    return None


def _page(path: Path, folder: Path) -> Exit:
    """Writes the report as one page, whose links lead into the checkout and the folder of the run."""
    from proofs.evidence import tested
    from proofs.evidence.bundle import TESTS, VECTORS, beside, timeless
    from proofs.evidence.cli import TESTED, report_of
    from proofs.evidence.page import page
    from proofs.report import replace_file

    found = report_of(folder)
    told = {TESTS: tested.results(found["digests"], TESTED), VECTORS: {"absent": "`draftproof evidence build` makes them"}}
    try:
        replace_file(path, page(timeless(found), told, beside(path, folder)))
    except OSError as error:
        raise click.UsageError(f"--html {path}: {error.strerror}") from error
    console.emit(f"wrote {path}")
    return Exit(found["exit"])


_HTML = click.Option(
    ["--html"],
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the report as one page: claims, chains, faults, assumptions, findings.",
)

report = click.Group(
    "report",
    params=[*report_command.params, _HTML],
    callback=click.pass_context(_report),
    invoke_without_command=True,
    help=report_command.help,
    short_help=report_command.short_help,
)


@report.command()
@click.option("--widths", default=WIDTHS, callback=_widths, show_default=True, help="Batch widths, as numbers and ranges.")
@click.option("--drafts", default=3, show_default=True, help="Drafts of each member.")
@click.option("--ratio", default="0.75", callback=_ratio, show_default=True, help="Share of the prunable positions kept.")
@click.option("--cap", default=32, show_default=True, help="Captures that the cache holds.")
@click.option("--gate", default=8, show_default=True, help="Width from which keys are canonical.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def keys(widths: list[int], drafts: int, ratio: Fraction, cap: int, gate: int, as_json: bool) -> Exit:
    """Count the graph keys at each width, three ways.

    \b
    Example:
      draftproof report keys --widths 2-8 --ratio 0.5 --cap 64
    """
    try:
        planner = Planner(drafts=drafts, ratio=ratio, cap=cap, gate=gate)
    except ValueError as wrong:
        raise click.UsageError(str(wrong)) from wrong
    spaces = _spaces(planner, widths)
    if as_json:
        console.emit(json.dumps([_as_json(space) for space in spaces], indent=1))
    else:
        console.emit("\n".join(_table(spaces)))
    return Exit.OK if all(space.agreed for space in spaces) else Exit.WRONG


def _spaces(planner: Planner, widths: list[int]) -> list[KeySpace]:
    from proofs.replay import run

    with console.progress(len(widths)) as advance:
        spaces = []
        for width in widths:
            spaces.append(key_space(planner, width, run))
            advance()
    return spaces


def _as_json(space: KeySpace) -> dict[str, Any]:
    return {
        "width": space.width,
        "kept": space.kept,
        "arrangements": space.arrangements,
        "canonical": space.canonical,
        "in_use": space.in_use,
        "miss_rate": float(space.miss_rate(space.in_use)),
        "miss_rate_of_arrangements": float(space.miss_rate(space.arrangements)),
        "above_cap": space.in_use > space.cap,
        "ways": {way: list(counts) for way, counts in space.ways.items()},
        "agreed": space.agreed,
    }


def _table(spaces: list[KeySpace]) -> list[str]:
    lines = [f"{'width':>5}{'kept':>6}{'arrangements':>14}{'canonical':>11}{'in use':>8}{'miss rate':>11}   counted"]
    for space in spaces:
        missed = f"{float(space.miss_rate(space.in_use)):.1%}"
        ways = f"{len(space.ways)} ways" + ("" if space.agreed else f" that DISAGREE: {dict(space.ways)}")
        above = "   above the cap" if space.in_use > space.cap else ""
        counts = f"{space.arrangements:>14}{space.canonical:>11}{space.in_use:>8}"
        lines.append(f"{space.width:>5}{space.kept:>6}{counts}{missed:>11}   {ways}{above}")
    cap = spaces[0].cap if spaces else 0
    lines += ["", f"In use: canonical keys from the gate on, arrangements below it. The cache holds {cap} captures."]
    for space in spaces:
        if space.gated and space.arrangements > space.cap:
            rate = f"{float(space.miss_rate(space.arrangements)):.1%}"
            lines.append(f"Without the gate width {space.width} would miss in {rate} of steps.")
    return lines


@report.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def findings(as_json: bool) -> Exit:
    """Show what the proofs say about the engine's files that the files do not.

    \b
    Example:
      draftproof report findings
    """
    from proofs.claims import OBLIGATIONS
    from proofs.claims.words import CONFIRMATIONS
    from proofs.findings import ARITHMETIC, FINDINGS, told, unbacked

    if wrong := unbacked(OBLIGATIONS):
        for line in wrong:
            console.emit(line)
        return Exit.WRONG
    spaces = _spaces(Planner(), list(range(2, 9)))
    if as_json:
        found = [
            {
                "name": finding.name,
                "where": list(finding.where),
                "tells": finding.tells,
                "harm": finding.harm.value,
                "evidence": told(finding, OBLIGATIONS, spaces),
            }
            for finding in FINDINGS
        ]
        console.emit(json.dumps({"findings": found, "panics": [asdict(panics) for panics in ARITHMETIC]}, indent=1))
        return Exit.OK
    for finding in FINDINGS:
        console.emit(f"{finding.name}   {finding.harm.value}")
        console.emit(f"  where    {', '.join(finding.where)}")
        console.emit(f"  tells    {finding.tells}")
        for line in told(finding, OBLIGATIONS, spaces):
            console.emit(f"  {line}")
    again = {c.confirms: c.told.id for c in CONFIRMATIONS if not c.unfinished}
    console.emit("\nWhen a debug build panics, exactly:")
    for panics in ARITHMETIC:
        console.emit(f"{', '.join(panics.functions)}   {panics.exactly_if}")
        console.emit(f"  release  {panics.in_release}")
        for name in panics.obligations:
            console.emit(f"  proved: {name}" + (f", and in bit-vectors: {again[name]}" if name in again else ""))
    console.emit(f"\n{len(FINDINGS)} findings; `draftproof prove` checks what backs them")
    return Exit.OK


@report.command()
@click.option("--write", "write", is_flag=True, help="Write the ledger to its file.")
@click.option("--check", "check", is_flag=True, help="Say whether the file is up to date.")
@click.option("--json", "as_json", is_flag=True, help="Print what rests on each assumption as JSON.")
def assumptions(write: bool, check: bool, as_json: bool) -> Exit:
    """Show the assumption ledger: what is assumed, what rests on it, what breaks without it.

    \b
    Example:
      draftproof report assumptions --check
    """
    from proofs.claims import OBLIGATIONS
    from proofs.ledger import PATH, dependences, ledger

    if write + check + as_json > 1:
        raise click.UsageError("--write, --check and --json exclude each other; give one")
    if as_json:
        console.emit(json.dumps(dependences(OBLIGATIONS.values()), indent=1))
        return Exit.OK
    text = ledger(OBLIGATIONS)
    if write:
        PATH.write_text(text, encoding="utf-8")
        console.emit(f"wrote {_shown(PATH)}")
    elif check:
        if not PATH.exists() or PATH.read_text(encoding="utf-8") != text:
            console.emit(f"{_shown(PATH)} is not up to date; run `draftproof report assumptions --write`")
            return Exit.WRONG
        console.emit(f"{_shown(PATH)} is up to date")
    else:
        console.emit(text)
    return Exit.OK


def _shown(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
