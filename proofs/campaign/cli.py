"""The command `draftproof campaign`, and how a campaign is shown.

What needs Dask is imported when a campaign runs, so that the list and the errors of usage do without it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proofs import console
from proofs.campaign import planning
from proofs.campaign.planning import PlanError
from proofs.campaign.searches import BACKENDS, SCALES, missing, searches
from proofs.campaign.work import Job
from proofs.exits import Exit
from proofs.gpu.machines import devices_here

if TYPE_CHECKING:
    from proofs.campaign.cluster import Place
    from proofs.campaign.running import Outcome, Violation


def _numbers(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    if value is None:
        return ()
    try:
        numbers = tuple(int(number) for number in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of numbers; pass e.g. 1,2") from None
    if min(numbers) < 0 or len(set(numbers)) < len(numbers):
        raise click.BadParameter(f"{value!r} names one twice, or one below 0; pass each once")
    return numbers


@click.command(
    epilog="Example: draftproof campaign carried --scale device --local-workers 8",
)
@click.argument("scope", required=False)
@click.option("--list", "listing", is_flag=True, help="List the scopes with their cases and about how long they take.")
@click.option("--backend", type=click.Choice(BACKENDS), help="Kernels where there is a host compiler, else numpy, by default.")
@click.option("--scale", type=click.Choice(SCALES), help="How large; a scope has some of these.")
@click.option("--range", "limits", metavar="LOW:HIGH", help="Only these cases.")
@click.option("--shard-size", type=click.IntRange(min=1), help="Cases of a shard; about two seconds of work by default.")
@click.option("--seed", type=click.IntRange(min=0), help="Of a random search.")
@click.option("--scheduler", metavar="ADDRESS", help="Run on the workers of this Dask scheduler.")
@click.option("--local-workers", type=click.IntRange(min=1), help="Run in so many processes of this machine.")
@click.option(
    "--devices",
    metavar="N,N..",
    callback=_numbers,
    help="Run in a process for each of these CUDA devices; with cupy all by default.",
)
@click.option("--threads", type=click.IntRange(min=1), help="Run in so many threads of this process; all cores by default.")
@click.option("--patience", type=click.FloatRange(min=0), default=60.0, show_default=True, help="Seconds to wait for a worker.")
@click.option("--journal", type=click.Path(dir_okay=False, path_type=Path), help="What is found is kept here and gone on from.")
@click.option("--anew", is_flag=True, help="Begin anew; a journal that is there is kept as FILE.old.")
@click.option("--plant", type=click.IntRange(min=0), metavar="CASE", help="A drill: the rule answers this case wrongly.")
@click.option("--measure", metavar="N,N..", callback=_numbers, help="Run with so many workers each, and compare their times.")
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="Of each measurement, in turn.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def campaign(
    scope: str | None,
    listing: bool,
    backend: str | None,
    scale: str | None,
    limits: str | None,
    shard_size: int | None,
    seed: int | None,
    scheduler: str | None,
    local_workers: int | None,
    devices: tuple[int, ...],
    threads: int | None,
    patience: float,
    journal: Path | None,
    anew: bool,
    plant: int | None,
    measure: tuple[int, ...],
    repeats: int,
    as_json: bool,
) -> Exit:
    """Search SCOPE exhaustively or at random, on one machine or many.

    Killed at any moment, the same command goes on where it stopped. A case that breaks its claim ends the campaign and is
    shown with the rule's answer, the reference's, and a vector line for `draftproof conform`.
    Exit codes: 0 all cases hold, 1 one does not, 2 bad usage or a journal of another campaign, 3 not all could be looked
    at, 130 interrupted.
    """
    if listing:
        console.emit(_listed(backend, as_json))
        return Exit.OK
    if scope is None:
        raise click.UsageError("campaign: SCOPE is missing; `draftproof campaign --list` shows them")
    if sum(map(bool, (scheduler, local_workers, devices, threads))) > 1:
        raise click.UsageError("campaign: --scheduler, --local-workers, --devices and --threads exclude each other; pass one")
    try:
        job = planning.planned(scope, backend=backend, scale=scale, limits=limits, size=shard_size, seed=seed, plant=plant)
    except PlanError as error:
        raise click.UsageError(f"campaign: {error}") from error
    if scheduler is None and (reason := missing(job.backend)):
        raise click.UsageError(f"campaign: --backend {job.backend} cannot run here: {reason}")
    try:
        from proofs.campaign.cluster import NoSchedulerError, Place
        from proofs.campaign.journal import JournalError
    except ImportError as error:
        raise click.UsageError(f"campaign: {error.name} is not installed; install draftproof[campaign]") from error
    from proofs.processors import cores

    if job.backend == "cupy" and not (scheduler or local_workers or devices or threads):
        devices = tuple(range(devices_here()[0]))
    place = Place(scheduler=scheduler, workers=local_workers or 0, devices=devices, threads=threads or cores())
    try:
        if measure:
            return _measured(job, measure, repeats, as_json)
        outcome = _run(job, place, journal or planning.journal_of(job), anew, patience, shown=not as_json)
    except (NoSchedulerError, JournalError) as error:
        raise click.UsageError(f"campaign: {error}") from error
    console.emit(json.dumps(outcome.as_json(), indent=1) if as_json else _told(outcome))
    return outcome.exit


def _run(job: Job, place: Place, path: Path, anew: bool, patience: float, *, shown: bool) -> Outcome:
    from proofs.campaign import running, sources
    from proofs.campaign.cluster import connected
    from proofs.campaign.journal import Journal

    if anew and path.exists():
        path.replace(path.with_name(f"{path.name}.old"))
    journal = Journal(path, job, sources.loaded(job.about.parts))
    try:
        with connected(place) as client, _bar(job, shown) as noticed:
            return running.run(job, client, journal, place=place.told(), patience=patience, noticed=noticed)
    finally:
        journal.close()


@contextmanager
def _bar(job: Job, shown: bool) -> Iterator[Callable[[int], None]]:
    """On a terminal a bar with the rate and the time left. What the journal had counts as done, not as speed."""
    if not shown or not sys.stderr.isatty():
        yield lambda cases: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=120) as bar:
        task = bar.add_task(job.search, total=job.end - job.begin, rate="")
        begun = False

        def noticed(cases: int) -> None:
            nonlocal begun
            if not begun:
                begun = True
                bar.reset(task, completed=cases)
                return
            bar.advance(task, cases)
            speed = bar.tasks[0].speed
            bar.update(task, rate=f"{amount(speed)}cases/s" if speed else "")

        yield noticed


def amount(value: float) -> str:
    """A number for people, with a unit's prefix."""
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{value:.3g} "


def _duration(seconds: float) -> str:
    for name, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s" if seconds >= 1 else "< 1 s"


def _listed(backend: str | None, as_json: bool) -> str:
    backend = backend or ("numpy" if missing("kernels") else "kernels")
    entries: list[dict[str, Any]] = [
        {
            "scope": search.name,
            "scale": scale,
            "cases": cases,
            "seconds": cases / planning.rate(search, backend),
            "random": search.seeded,
            "claim": search.claim,
        }
        for search in searches().values()
        for scale, cases in search.sizes.items()
    ]
    if as_json:
        return json.dumps({"backend": backend, "scopes": entries}, indent=1)
    lines = [f"{'scope':22}{'scale':9}{'cases':>22}  {'about':>8}   claim (one worker, {backend})"]
    for entry in entries:
        kind = "random: " if entry["random"] else ""
        columns = f"{entry['scope']:22}{entry['scale']:9}{entry['cases']:>22,}  {_duration(entry['seconds']):>8}"
        lines.append(f"{columns}   {kind}{entry['claim']}")
    return "\n".join(lines)


def _told(outcome: Outcome) -> str:
    job, total, spread = outcome.job, outcome.total, outcome.spread
    ranges = ", ".join(f"[{low}, {high})" for low, high in total.covered) or "nothing"
    whole = f"{total.cases:,} of {job.end - job.begin:,} cases, {total.shards:,} of {job.shards:,} shards of {job.shard_size:,}"
    lines = [
        f"{job.search} ({job.scale}, {job.backend}{f', seed {job.seed}' if job.about.seeded else ''})   {job.about.claim}",
        f"covered    {ranges}",
        f"           {whole}",
        f"found      {total.broken:,} broken, {total.accepted:,} accepted",
        f"digest     {total.digest}",
        f"workers    {len(spread.workers)} ({outcome.place}); {spread.retried} shards were taken back and given again",
        f"time       {outcome.seconds:.1f} s, {outcome.cpu:.1f} s of the workers' processors",
    ]
    if outcome.journal:
        went_on = f"; went on after {outcome.resumed:,} shards" if outcome.resumed else ""
        torn = "; its last line was torn and is done again" if outcome.torn else ""
        lines.append(f"journal    {outcome.journal}{went_on}{torn}")
    if job.plant is not None:
        lines.append(f"drill      the rule answers case {job.plant} wrongly")
    lines += [f"REFUSED    {refused.worker}: {refused.reason}" for refused in spread.refused]
    for one in spread.failed:
        low, high = job.shard(one.shard)
        lines.append(f"FAILED     shard {one.shard} [{low}, {high}): {one.reason}")
    if spread.stopped:
        lines.append(f"STOPPED    {spread.stopped}; the same command goes on")
    if outcome.violation:
        lines += _violation(outcome.violation, job)
    elif outcome.vacuous:
        lines.append("VACUOUS    nothing was accepted, so nothing was seen")
    word = {Exit.OK: ("as it must be", "green"), Exit.WRONG: ("WRONG", "red"), Exit.UNDECIDED: ("UNDECIDED", "yellow")}
    text, colour = word[outcome.exit]
    return "\n".join([*lines, click.style(text, fg=colour)])


def _violation(violation: Violation, job: Job) -> list[str]:
    told = ", ".join(f"{name}={_brief(value)}" for name, value in violation.case.items())
    lines = [f"VIOLATION  case {violation.index} of {job.search} (the least in shard {violation.shard}): {told}"]
    for call in violation.calls:
        arguments = ", ".join(f"{name}={_brief(value)}" for name, value in call.args.items())
        lines += [f"  call     {call.fn}({arguments})"]
        differ = "   differ" if call.differs else ""
        lines += [f"           rule {_brief(call.rule)}   reference {_brief(call.reference)}{differ}"]
    if violation.vector is not None:
        return [*lines, f"  vector   {json.dumps(violation.vector)}"]
    return [*lines, "  vector   none: each call is answered as the reference answers it; the fault is in what the sweep alone runs"]


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _measured(job: Job, counts: tuple[int, ...], repeats: int, as_json: bool) -> Exit:
    from proofs.campaign.measuring import measured, shown

    found = measured(job, counts, repeats)
    console.emit(json.dumps(found, indent=1) if as_json else shown(found))
    return Exit.OK if found["agree"] else Exit.WRONG
