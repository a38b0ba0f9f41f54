"""The commands around a run: `prove`, `inventory`, `report`.

They are made for a catalogue and the code that its models are replayed on; tests make them for catalogues of their own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import jsonschema

from proofs import console, inventory
from proofs.checker import Crashed, Load, Outcome, Settings, ask_all, questions
from proofs.exits import Exit
from proofs.judge import Budget, Runner
from proofs.report import Document, Run, document, replace_file, source_digests, validate, write

Provide = Callable[[], Sequence[Mapping[str, Any]]]

FOLDER = Path("build") / "prove"
SOURCES = "sources.json"


def prove(
    load: Load,
    run: Runner,
    settings: Settings,
    *,
    listed: inventory.Inventory,
    only: str | None = None,
    strict: bool = False,
    folder: Path = FOLDER,
    records: Provide = tuple,
    scheduler: str | None = None,
) -> Document:
    """Asks everything, here or on the workers of a scheduler, writes the report to `folder` and gives it."""
    started = time.perf_counter()
    whole = load()
    catalogue = whole if only is None else whole.only(only)
    digest = catalogue.sources.digest()
    kept = _kept(folder / SOURCES, digest)
    asked = questions(catalogue, settings, kept=kept)
    with console.progress(len(asked)) as noticed:
        outcomes = _ask(scheduler)(asked, load, run, settings, noticed=noticed)
    result = Run(
        catalogue=catalogue,
        known=frozenset(obligation.id for obligation in whole.obligations),
        expected=tuple(listed["obligations"]),
        outcomes=dict(zip(asked, outcomes, strict=True)),
        settings=settings,
        only=only,
        strict=strict,
        kept=kept,
        records=records() if only is None else (),
    )
    within = listed if only is None else inventory.only(listed, only)
    differences = inventory.differences(within, inventory.found(catalogue, {**result.judgements, **result.confirmed}))
    report = document(result, differences, time.perf_counter() - started)
    write(report, {**result.judgements, **result.confirmed}, folder)
    entries = {**kept, **result.sources}
    replace_file(folder / SOURCES, json.dumps({"digest": digest, "entries": entries}, indent=1, ensure_ascii=False))
    crashes = [outcome.traceback for outcome in outcomes if isinstance(outcome, Crashed)]
    if crashes:
        replace_file(folder / "tracebacks.txt", "\n".join(crashes))
    return report


def _ask(scheduler: str | None) -> Callable[..., tuple[Outcome, ...]]:
    """What puts the questions. UsageError where there is no such scheduler, or no Dask to ask it with."""
    if scheduler is None:
        return ask_all
    try:
        # Nobody else needs Dask.
        from proofs.campaign import asking
        from proofs.campaign.cluster import NoSchedulerError
    except ImportError as error:
        raise click.UsageError(f"--scheduler: {error.name} is not installed; install draftproof[campaign]") from error

    def ask(*arguments: Any, **options: Any) -> tuple[Outcome, ...]:
        try:
            return asking.ask_all(*arguments, scheduler=scheduler, **options)
        except NoSchedulerError as error:
            raise click.UsageError(f"--scheduler: {error}") from error

    return ask


def _kept(path: Path, digest: str) -> dict[str, Sequence[Mapping[str, Any]]]:
    """The entries by source file that an earlier run left, if nothing has changed of which they are a function."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return dict(found["entries"]) if found["digest"] == digest else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}  # nothing kept, or not by us


def prove_command(load: Load, run: Runner, path: Path, records: Provide = tuple) -> click.Command:
    """`draftproof prove`."""

    @click.command("prove")
    @click.option("--only", metavar="GLOB", help="Only obligations, situations and source files that match, and their mutants.")
    @click.option("--list", "listing", is_flag=True, help="List the obligations and ask nothing.")
    @click.option("--jobs", type=click.IntRange(min=1), help="Worker processes; all cores by default.")
    @click.option("--scheduler", metavar="ADDRESS", help="Ask on the workers of this Dask scheduler.")
    @click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
    @click.option("--full", is_flag=True, help="Add ten other seeds, bounded second tellings, and bit-vectors.")
    @click.option("--strict", is_flag=True, help="Records that are not fresh count as wrong.")
    @click.option("--seed", type=click.IntRange(min=0, max=2**31 - 1), default=0, help="The solvers' seed.")
    @click.option("--budget", type=click.IntRange(min=1), help="Z3's resource units per question.")
    @click.option("--backstop", type=click.FloatRange(min=0.1), help="Seconds per question, before its worker is killed.")
    @click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=FOLDER, help="Folder of the report.")
    def command(
        only: str | None,
        listing: bool,
        jobs: int | None,
        scheduler: str | None,
        as_json: bool,
        full: bool,
        strict: bool,
        seed: int,
        budget: int | None,
        backstop: float | None,
        out: Path,
    ) -> Exit:
        """Check every claim with Z3 and cvc5.

        \b
        Example:
          draftproof prove --only 'store/*'
        """
        whole = load()
        catalogue = whole if only is None else whole.only(only)
        if not (catalogue.obligations or catalogue.situations or catalogue.confirmations or catalogue.sources.files):
            rule = "matches no obligation; `draftproof prove --list` shows them"
            raise click.BadParameter(f"{only!r} {rule}", param_hint="--only")
        if listing:
            entries = [{"id": o.id, "kind": o.kind.value, "claim": o.claim} for o in catalogue.obligations]
            entries += [{"id": s.id, "kind": "situation", "claim": s.tells} for s in catalogue.situations]
            entries += [{"id": c.told.id, "kind": "bit-vectors", "claim": c.told.claim} for c in catalogue.confirmations]
            entries += [{"id": f, "kind": "source", "claim": "Its functions equal the rules."} for f in catalogue.sources.files]
            width = max(len(entry["id"]) for entry in entries)
            rows = [f"{entry['id'].ljust(width)}   {entry['kind']:11}   {entry['claim']}" for entry in entries]
            console.emit(json.dumps(entries, indent=1, ensure_ascii=False) if as_json else "\n".join(rows))
            return Exit.OK
        given: dict[str, Any] = {"jobs": jobs, "backstop": backstop}
        settings = Settings(
            budget=Budget(seed=seed) if budget is None else Budget(seed=seed, z3=budget),
            full=full,
            **{name: value for name, value in given.items() if value is not None},
        )
        report = prove(
            load,
            run,
            settings,
            listed=_listed(path),
            only=only,
            strict=strict,
            folder=out,
            records=records,
            scheduler=scheduler,
        )
        console.emit(json.dumps(report, indent=1, ensure_ascii=False) if as_json else console.shown(report))
        return Exit(report["exit"])

    return command


def _listed(path: Path) -> inventory.Inventory:
    try:
        return inventory.read(path)
    except FileNotFoundError:
        return {kind: {} for kind in inventory.KINDS}
    except ValueError as broken:
        raise click.UsageError(str(broken)) from broken


def inventory_command(load: Load, path: Path) -> click.Command:
    """`draftproof inventory`."""

    @click.command("inventory")
    @click.option("--write", "rewrite", is_flag=True, help="Rewrite the list from what is there now; review the change.")
    @click.option("--json", "as_json", is_flag=True, help="Print the differences as JSON.")
    def command(rewrite: bool, as_json: bool) -> Exit:
        """Compare claims, statements and mutants with the reviewed list.

        \b
        Example:
          draftproof inventory --write && git diff proofs/inventory.json
        """
        catalogue = load()
        present = inventory.found(catalogue, inventory.statements(catalogue))
        if rewrite:
            replace_file(path, inventory.text(present))
        differences = inventory.differences(_listed(path), present)
        rows = [f"{d.what:18}   {d.name}   {d.tells}" for d in differences]
        counts = ", ".join(f"{len(present[kind])} {kind}" for kind in inventory.KINDS)
        told = [{"what": d.what, "name": d.name, "tells": d.tells} for d in differences]
        console.emit(json.dumps(told, indent=1) if as_json else "\n".join([*rows, f"{counts}; {len(rows)} differences"]))
        return Exit.WRONG if differences else Exit.OK

    return command


@click.command("report")
@click.option("--json", "as_json", is_flag=True, help="Print the report as it stands in the file.")
@click.option("--claims", is_flag=True, help="One line per claim: verdict, scope, and the claim in English.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=FOLDER, help="Folder of the report.")
def report_command(as_json: bool, claims: bool, out: Path) -> Exit:
    """Show the last run's report, and end as that run did.

    \b
    Example:
      draftproof report --claims
      draftproof report --html build/evidence.html
    """
    path = out / "report.json"
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        validate(report)
    except FileNotFoundError as absent:
        raise click.UsageError(f"{path}: there is no report; run `draftproof prove` first") from absent
    except (ValueError, jsonschema.ValidationError) as broken:
        rule = f"it is no draftproof.report/1 ({str(broken).splitlines()[0]}); run `draftproof prove`"
        raise click.UsageError(f"{path}: {rule}") from broken
    if as_json:
        console.emit(json.dumps(report, indent=1, ensure_ascii=False))
    else:
        console.emit(console.claims(report) if claims else console.shown(report))
        if changed := console.changed(report["digests"], source_digests()):
            console.emit(f"stale: {len(changed)} files changed since, {changed[0]} among them; run `draftproof prove`")
    return Exit(report["exit"])
