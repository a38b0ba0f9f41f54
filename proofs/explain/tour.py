"""A guided tour: a rule is broken, explained, replayed, and kept as a test that is red with the fault. `make debug` runs it.

It writes below build/debug and changes nothing else: the rule is broken in a copy of the code.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.resources import as_file, files
from pathlib import Path

import click

from proofs import cli
from proofs.exits import Exit, worst

FOLDER = Path("build") / "debug"
MUTANT = "no-owner-check"
FILE, RIGHT, BROKEN = "reference/store.py", "return owner == other != 0", "return other != 0"
"""The same fault as a line of the code."""


def tour(folder: Path = FOLDER) -> Exit:
    """Takes the tour and tells it. Exit.WRONG if a stop does not come to what it should."""
    trace, page = folder / "run.json", folder / "run.html"
    command = ["explain", "--mutant", MUTANT, "--write-trace", str(trace), "--html", str(page), "--write-test", str(folder)]
    ends = [_stop("1. A rule is broken: everyone may read the whole range. What does it come to?", command)]
    ends.append(_stop("2. Does the code as it stands come to that harm? It must not.", ["replay", str(trace)]))
    test = folder / f"test_{MUTANT.replace('-', '_')}.py"
    _say("3. The written test on the code as it stands. It must pass.")
    ends.append(Exit.OK if _passes(test, folder / "right", None) else Exit.WRONG)
    _say(f"4. The same test on a copy of the code where `{RIGHT}` is `{BROKEN}`. It must fail.")
    ends.append(Exit.WRONG if _passes(test, folder / "broken", (RIGHT, BROKEN)) else Exit.OK)
    end = worst(ends)
    _say(f"The tour {'came to what it should' if end is Exit.OK else 'DID NOT come to what it should'}. To step through: {page}")
    return end


def _say(text: str) -> None:
    click.echo(click.style(f"\n{text}\n", bold=True))


def _stop(text: str, arguments: list[str]) -> Exit:
    _say(text)
    click.echo(f"  $ draftproof {' '.join(arguments)}\n")
    return cli.run(cli.draftproof, arguments)


def _passes(test: Path, folder: Path, change: tuple[str, str] | None) -> bool:
    """Whether the test passes with a copy of the code, changed in one line. RuntimeError if it can be told neither way."""
    shutil.rmtree(folder, ignore_errors=True)
    with as_file(files("impl")) as code:
        shutil.copytree(code, folder / "impl", ignore=shutil.ignore_patterns("__pycache__"))
    if change is not None:
        path = folder / "impl" / FILE
        text = path.read_text(encoding="utf-8")
        if change[0] not in text:
            raise RuntimeError(f"tour: {change[0]!r} is not in impl/{FILE}; give the line that is to be broken")
        path.write_text(text.replace(*change), encoding="utf-8")
    # A configuration of its own keeps the project's, which would put the unchanged code first, out of it.
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    path_of_all = os.pathsep.join(filter(None, [str(folder.resolve()), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "pytest", "-q", "-c", "pytest.ini", "-p", "no:cacheprovider", str(test.resolve())]
    ended = subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": path_of_all}, check=False).returncode
    if ended not in (0, 1):
        raise RuntimeError(f"tour: pytest ended with {ended}; it must end with 0 or 1")
    return ended == 0


if __name__ == "__main__":
    sys.exit(tour())
