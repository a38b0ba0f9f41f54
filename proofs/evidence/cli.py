"""`draftproof evidence`: certify, build, verify."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click
import jsonschema

from proofs import console
from proofs.checker import Catalogue, Settings, everything
from proofs.commands import FOLDER as PROVED
from proofs.evidence.certificates import FOLDER, strangers
from proofs.evidence.coq import coq_command
from proofs.exits import Exit
from proofs.inventory import statements
from proofs.obligation import Kind
from proofs.processors import cores
from proofs.report import Document, smt_file, source_digests, validate
from spec.rules import RULES

TESTED = Path("build") / "tests"


@click.group("evidence", epilog="Example: draftproof evidence build --out build/evidence")
def evidence() -> None:
    """Certificates that need no solver to check, and the bundle that holds them."""


evidence.add_command(coq_command)


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


@evidence.command("soundness")
@click.option("--write", "rewrite", is_flag=True, help="Write SOUNDNESS.md anew.")
@click.option("--check", "compare", is_flag=True, help="Say whether SOUNDNESS.md is up to date.")
@click.option("--json", "as_json", is_flag=True, help="Print the rules of inference and the gaps as JSON.")
def soundness_command(rewrite: bool, compare: bool, as_json: bool) -> Exit:
    """Print what is proved, how it is checked, and what must be believed.

    \b
    Example:
      draftproof evidence soundness --check
    """
    from proofs.evidence.soundness import PATH, text
    from proofs.evidence.trusted import GAPS, INFERENCES
    from proofs.report import replace_file

    if as_json:
        inferences = [{"number": t.number, "name": t.name, "says": t.says, "where": t.where} for t in INFERENCES]
        console.emit(json.dumps({"inferences": inferences, "gaps": [dataclasses.asdict(gap) for gap in GAPS]}, indent=1))
        return Exit.OK
    catalogue = everything()
    told = text(catalogue, {name: judged.lemmas for name, judged in statements(catalogue).items()})
    if rewrite:
        replace_file(PATH, told)
    elif compare:
        current = PATH.read_text(encoding="utf-8") if PATH.exists() else ""
        console.emit("SOUNDNESS.md is up to date" if current == told else "SOUNDNESS.md is old; write it with --write")
        return Exit.OK if current == told else Exit.WRONG
    else:
        console.emit(told)
    return Exit.OK


ARCHIVE = "draftproof-evidence.zip"
ATTESTATION = "draftproof-evidence.intoto.json"


@evidence.command("build")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder for the archive.")
@click.option(
    "--run", "folder", type=click.Path(file_okay=False, path_type=Path), default=PROVED, help="Folder of the run's report."
)
@click.option("--key", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Private key (PEM) to sign with.")
@click.option("--tests", type=click.Path(file_okay=False, path_type=Path), default=TESTED, help="Folder of what `make test` left.")
@click.option("--jobs", type=click.IntRange(min=1), default=cores, help="Worker processes; all cores by default.")
@click.option("--json", "as_json", is_flag=True, help="Print what was built as JSON.")
def build_command(out: Path, folder: Path, key: Path | None, tests: Path, jobs: int, as_json: bool) -> Exit:
    """Build the bundle from the last complete run of `draftproof prove`.

    The first time it makes the test vectors for their digests, which takes most of a minute; the results of tests are told
    if `make test` ran on the same sources.

    \b
    Example:
      draftproof evidence build --out build/evidence
    """
    from proofs.evidence import tested
    from proofs.evidence.bundle import TESTS, VECTORS, members, sealed, statement
    from proofs.evidence.signing import NoSignature, signed
    from proofs.evidence.verifying import hexdigest, verify

    report = report_of(folder)
    if changed := console.changed(report["digests"], source_digests()):
        rule = f"{len(changed)} files changed since ({changed[0]} among them); run `draftproof prove` again"
        raise click.UsageError(f"{folder}: the report is stale: {rule}")
    texts = {entry["id"]: (folder / smt_file(entry["id"])).read_bytes() for entry in report["obligations"]}
    with console.progress(len(list(RULES))) as noticed:
        made = tested.vectors(report["digests"], out / VECTORS, jobs=jobs, noticed=noticed)
    beside = {TESTS: tested.results(report["digests"], tests), VECTORS: made}
    archive = sealed(members(report, texts, beside), report["digests"])
    about = statement(archive, ARCHIVE, report)
    try:
        attestation = about if key is None else signed(about, key)
    except NoSignature as why:
        raise click.UsageError(str(why)) from why
    replace_bytes(out / ARCHIVE, archive)
    replace_bytes(out / ATTESTATION, (json.dumps(attestation, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode())
    found = verify(archive)
    if as_json:
        told = {"archive": str(out / ARCHIVE), "sha256": hexdigest(archive), "bytes": len(archive), "signed": key is not None}
        console.emit(json.dumps({**told, "problems": found.problems}, indent=1))
    else:
        console.emit(f"{out / ARCHIVE}   {len(archive)} bytes   sha256 {hexdigest(archive)}")
        console.emit(f"{out / ATTESTATION}   {'signed' if key else 'not signed'}")
        console.emit("\n".join(f"WRONG   {problem}" for problem in found.problems) or "it holds together")
    return Exit.WRONG if found.problems else Exit.OK


@evidence.command("verify")
@click.argument("bundle", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--key", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Public key (PEM) of who made it.")
@click.option("--sources/--no-sources", default=True, help="Compare with the sources at hand (statements are told again).")
@click.option("--vectors", is_flag=True, help="Make the test vectors again too, which takes most of a minute.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def verify_command(bundle: Path, key: Path | None, sources: bool, vectors: bool, as_json: bool) -> Exit:
    """Check a bundle again, and say what was checked and what is only reported.

    \b
    Example:
      draftproof evidence verify build/evidence/draftproof-evidence.zip --no-sources
    """
    from proofs.evidence.origin import attested
    from proofs.evidence.verifying import for_people, verify
    from proofs.evidence.with_sources import compared

    archive = bundle.read_bytes()
    found = verify(archive)
    attested(found, archive, bundle.with_name(ATTESTATION), key)
    if sources and not found.problems:
        compared(found, vectors=cores() if vectors else 0)
    if as_json:
        parts = {"checked again": found.rechecked, "only reported": found.reported, "problems": found.problems}
        console.emit(json.dumps(parts, indent=1))
    else:
        console.emit(for_people(found))
    return Exit.WRONG if found.problems else Exit.OK


def report_of(folder: Path) -> Document:
    """The report of the last complete run of `prove` in the folder. UsageError where there is none."""
    path = folder / "report.json"
    try:
        report: Document = json.loads(path.read_text(encoding="utf-8"))
        validate(report)
    except FileNotFoundError as absent:
        raise click.UsageError(f"{path}: there is no report; run `draftproof prove` first") from absent
    except (ValueError, jsonschema.ValidationError) as broken:
        raise click.UsageError(f"{path}: it is no report ({str(broken).splitlines()[0]})") from broken
    if report["options"]["only"] is not None:
        raise click.UsageError(f"{path}: the run was of {report['options']['only']} only; run `draftproof prove` without --only")
    return report


def replace_bytes(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
