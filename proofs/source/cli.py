"""The command `draftproof source`: files in, a verdict for each function that has a spec out."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from proofs import console
from proofs.exits import Exit
from proofs.source import output
from proofs.source.compare import BOUND
from proofs.source.files import Unreadable, outside, verdicts
from proofs.source.verdicts import Row, Verdict
from spec.machine import Profile
from spec.rules import RULES

_PROFILES = {"debug": (Profile.DEBUG,), "release": (Profile.RELEASE,), "both": (Profile.DEBUG, Profile.RELEASE)}


def _maps(ctx: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    names = [rule.name for rule in RULES]
    chosen: dict[str, str] = {}
    for value in values:
        mine, equals, spec = value.partition("=")
        if not equals or not mine or spec not in names:
            raise click.BadParameter(f"{value!r} is not MINE=SPEC with SPEC one of {', '.join(names)}")
        chosen[mine] = spec
    return chosen


@click.command("source")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--map", "names", multiple=True, metavar="MINE=SPEC", callback=_maps, help="A function by another name.")
@click.option("--only", multiple=True, type=click.Choice([r.name for r in RULES]), help="Only these; missing if absent.")
@click.option("--profile", type=click.Choice(list(_PROFILES)), default="both", help="The builds to compare.")
@click.option("--bound", type=click.IntRange(0, 6), default=BOUND, help="Elements, where sequences of any length fail.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
@click.option("--sarif", type=click.Path(dir_okay=False, path_type=Path), help="Write SARIF 2.1.0 here.")
@click.option("--baseline", type=click.Path(dir_okay=False, path_type=Path), help="Undecided functions that are known.")
@click.option("--write-baseline", type=click.Path(dir_okay=False, path_type=Path), help="Write such a file.")
@click.option("--write-test", type=click.Path(dir_okay=False, path_type=Path), help="Write counterexamples as tests.")
@click.option("--replay", is_flag=True, help="Run counterexamples in compiled code too, where a compiler is present.")
def source(
    files: tuple[Path, ...],
    names: dict[str, str],
    only: tuple[str, ...],
    profile: str,
    bound: int,
    as_json: bool,
    sarif: Path | None,
    baseline: Path | None,
    write_baseline: Path | None,
    write_test: Path | None,
    replay: bool,
) -> Exit:
    """Prove that source files equal the spec, or show an input where they do not.

    \b
    Example:
      draftproof source src/mtp_carry.rs src/verify_key.rs --profile both
    """
    rows: list[Row] = []
    others: list[str] = []
    try:
        known = frozenset() if baseline is None else output.read_baseline(baseline)
        for file in files:
            chosen = frozenset(only) if only else None
            rows += verdicts(file, names, _PROFILES[profile], bound, chosen)
            others += outside(file, names)
    except (Unreadable, output.Unusable) as wrong:
        raise click.UsageError(str(wrong)) from wrong
    rows += _missing(rows, names, only)
    if not rows:
        raise click.UsageError("source: no function of these files has a spec; name one with --map MINE=SPEC")
    if replay:
        from proofs.source.replay import replayed

        rows = [replayed(row) for row in rows]
    shown = json.dumps(output.document(rows), indent=1, ensure_ascii=False) if as_json else output.table(rows, others)
    console.emit(shown)
    for path, text in (
        (sarif, json.dumps(output.sarif(rows, _version()), indent=1, ensure_ascii=False) + "\n"),
        (write_baseline, output.baseline(rows)),
        (write_test, _tests(rows)),
    ):
        if path is not None:
            path.write_text(text, encoding="utf-8")
    return output.exit_of(rows, known)


def _missing(rows: list[Row], names: dict[str, str], only: tuple[str, ...]) -> list[Row]:
    """Rows for functions that were asked for by name and are nowhere."""
    found = {row.spec for row in rows}
    wanted = [(mine, spec) for mine, spec in names.items() if not only or spec in only]
    wanted += [(spec, spec) for spec in only if spec not in names.values()]
    return [
        Row(name=mine, line=0, spec=spec, verdict=Verdict.MISSING, reason="no function of this name")
        for mine, spec in wanted
        if spec not in found
    ]


def _tests(rows: list[Row]) -> str:
    return "\n".join(output.rust_test(row) for row in rows if row.counterexample is not None and row.path.endswith(".rs"))


def _version() -> str:
    try:
        return version("draftproof")
    except PackageNotFoundError:
        return "0"
