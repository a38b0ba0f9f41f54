"""`draftproof evidence coq`: every theorem again, as a proposition of Coq that its certificate proves."""

from __future__ import annotations

import fnmatch
import json
import shutil
from collections import Counter
from pathlib import Path

import click

from proofs import console
from proofs.coq import running
from proofs.evidence.certificates import FOLDER, digest_of, path_of
from proofs.evidence.strict import certificate
from proofs.exits import Exit
from proofs.kernel import Refused

OUT = Path("build") / "coq"


@click.command("coq")
@click.option("--only", metavar="GLOB", help="Only theorems whose ids match.")
@click.option("--jobs", type=click.IntRange(min=1), default=2, help="Files that are compiled at once.")
@click.option("--recheck/--no-recheck", default=True, help="Have coqchk check what was compiled.")
@click.option("--certificates", type=click.Path(file_okay=False, path_type=Path), default=FOLDER, help="Where they are kept.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=OUT, help="Folder of the Coq files.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def coq_command(only: str | None, jobs: int, recheck: bool, certificates: Path, out: Path, as_json: bool) -> Exit:
    """Prove the theorems in Coq, from their certificates. Needs coqc and coqchk; without them nothing is known.

    \b
    Example:
      draftproof evidence coq --only 'store/*'
    """
    if not running.available():
        console.emit("skipped: coqc and coqchk are not on the path; install Coq 8.16 or newer (Debian: apt-get install coq)")
        return Exit.UNDECIDED
    if out.exists():
        if any(out.iterdir()) and not (out / "Refutation.v").exists():
            raise click.BadParameter(f"{out} has other files in it; name a folder that is empty or new", param_hint="--out")
        shutil.rmtree(out)
    from proofs.checker import everything
    from proofs.evidence.cli import theorems

    whole = {name: text for name, text in theorems(everything()).items() if only is None or fnmatch.fnmatch(name, only)}
    if not whole:
        rule = "matches no theorem; `draftproof prove --list` shows them"
        raise click.BadParameter(f"{only!r} {rule}", param_hint="--only")
    found, without = [], dict[str, str]()
    for name, statement in whole.items():
        try:
            digest, steps = certificate(path_of(name, certificates).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, Refused) as why:
            without[name] = f"its certificate cannot be read: {why}"
            continue
        if digest == digest_of(statement):
            found.append(running.Theorem(name=name, statement=statement, steps=steps))
        else:
            without[name] = "its certificate is for another statement"
    try:
        with console.progress(len(found)) as noticed:
            proved = running.prove(found, out, jobs=jobs, recheck=recheck, noticed=noticed)
    except running.Failed as why:
        console.emit(f"Coq refuses the library: {why}")
        return Exit.WRONG
    failed = {**without, **proved.failed}
    if as_json:
        axioms = {name: sorted(each) for name, each in proved.axioms.items()}
        rechecked = None if proved.rechecked is None else sorted(proved.rechecked)
        told = {"proved": axioms, "failed": failed, "problems": list(proved.problems), "coqchk": rechecked}
        console.emit(json.dumps({"theorems": len(whole), **told}, indent=1))
    else:
        console.emit("\n".join(_rows(len(whole), proved, failed, out)))
    return Exit.WRONG if failed or proved.problems else Exit.OK


def _rows(total: int, proved: running.Proved, failed: dict[str, str], out: Path) -> list[str]:
    rows = [f"Coq {running.version()}   files in {out}"]
    for axioms, count in Counter(proved.axioms.values()).most_common():
        rows.append(f"{count} theorems rest on {', '.join(sorted(axioms)) or 'no axiom'}")
    if proved.rechecked is None:
        rows.append("coqchk was not asked")
    else:
        rows.append(f"coqchk finds {', '.join(sorted(proved.rechecked)) or 'no axiom'}")
    rows += [f"WRONG   {name}   {why}" for name, why in failed.items()] + [f"WRONG   {each}" for each in proved.problems]
    return [*rows, f"{len(proved.axioms)} of {total} theorems are proved in Coq"]
