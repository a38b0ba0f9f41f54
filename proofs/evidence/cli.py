"""`draftproof evidence`: certify, build, verify."""

from __future__ import annotations

import json
from pathlib import Path

import click

from proofs import console
from proofs.checker import Catalogue, Settings, everything
from proofs.evidence.certificates import FOLDER, strangers
from proofs.exits import Exit
from proofs.inventory import statements
from proofs.obligation import Kind


@click.group("evidence")
def evidence() -> None:
    """Certificates that need no solver to check, and the bundle that holds them."""


def theorems(catalogue: Catalogue) -> dict[str, str]:
    """The statement of every theorem, by its id."""
    wanted = {o.id for o in catalogue.obligations if o.kind is Kind.THEOREM}
    return {name: judged.statement for name, judged in statements(catalogue).items() if name in wanted}


@evidence.command("certify")
@click.option("--only", metavar="GLOB", help="Only theorems whose ids match.")
@click.option("--again", is_flag=True, help="Make them all again, also those that the kernel accepts.")
@click.option("--tries", type=click.IntRange(min=1), default=2, help="Keep the shortest of so many.")
@click.option("--jobs", type=click.IntRange(min=1), help="Worker processes; all cores by default.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path), default=FOLDER, help="Where they are kept.")
def certify_command(only: str | None, again: bool, tries: int, jobs: int | None, as_json: bool, folder: Path) -> Exit:
    """Make the certificates that are missing, and delete those of theorems that are gone.

    \b
    Example:
      draftproof evidence certify --only 'store/*'
    """
    from proofs.evidence.certify import make, wanting

    catalogue = everything()
    whole = theorems(catalogue if only is None else catalogue.only(only))
    names = list(whole) if again else wanting(whole, folder)
    settings = Settings() if jobs is None else Settings(jobs=jobs)
    with console.progress(len(names)) as noticed:
        made = make(whole, names, settings, folder=folder, tries=tries, noticed=noticed)
    gone = [] if only is not None else strangers(whole, folder)
    for path in gone:
        path.unlink()
    failed = [each for each in made if each.reason]
    if as_json:
        told = [{"id": each.name, "bytes": len(each.text), "reason": each.reason} for each in made]
        console.emit(json.dumps(told, indent=1))
    else:
        rows = [f"{each.name}   {each.reason}" for each in failed]
        rows.append(
            f"{len(whole)} theorems: {len(made) - len(failed)} certificates made, {len(whole) - len(names)} stand, "
            f"{len(failed)} not found, {len(gone)} deleted"
        )
        console.emit("\n".join(rows))
    return Exit.UNDECIDED if failed else Exit.OK
