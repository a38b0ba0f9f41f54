"""Change impl/reference in every way that mutmut knows, one at a time, and see that its tests notice.

At least 95 in 100 mutants must be killed, and each survivor must stand in survivors.toml with the reason why nothing
could notice it. The list is compared both ways: an entry that no mutant needs any more fails as well.

mutmut works on a copy below build/, so that nobody meets a mutant in the checkout. It changes the bodies of functions;
constants of modules and classes it leaves alone. The contracts are left out of the tests here: they would only be slow.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from proofs.exits import Exit

ROOT = Path(__file__).resolve().parents[2]
COPIES = ("impl/__init__.py", "impl/reference", "tests/strategies.py", "tests/reference", "pyproject.toml")
REQUIRED = 95
"""Of 100 mutants, how many the tests must notice."""

_KILLED = {"killed", "timeout"}  # a mutant that runs for ever has been noticed
_TESTED = _KILLED | {"survived"}


@dataclass(frozen=True, kw_only=True, order=True)
class Change:
    """One mutant by what it does, which outlives the numbers that mutmut gives: lines taken out and put in."""

    function: str
    removed: str
    added: str

    def __str__(self) -> str:
        return f"{self.function}\n  - {self.removed}\n  + {self.added}"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a run came to. Everything in `wrong` is a reason to fail."""

    killed: int
    total: int
    survivors: Mapping[Change, str]
    """Each survivor with the reason of its entry, or an empty text."""
    wrong: tuple[str, ...]


def judge(
    statuses: Mapping[str, str], survivors: Iterable[Change], listed: Mapping[Change, str], modules: Iterable[str]
) -> Judgement:
    """Compare a run with the list. statuses: mutmut's word for each mutant; modules: those that must have mutants."""
    wrong = []
    killed = sum(status in _KILLED for status in statuses.values())
    if 100 * killed < REQUIRED * len(statuses):
        wrong.append(f"{killed} of {len(statuses)} killed, fewer than {REQUIRED} in 100")
    wrong += [f"{name} was not tested: {status}" for name, status in statuses.items() if status not in _TESTED]
    mutated = {name.rpartition(".")[0] for name in statuses}
    wrong += [f"{module} has no mutant: the run is not complete" for module in sorted(set(modules) - mutated)]
    found = {change: listed.get(change, "") for change in sorted(survivors)}
    wrong += [f"survives and is not listed: {change}" for change, reason in found.items() if not reason]
    wrong += [f"is listed and does not survive: {change}" for change in sorted(set(listed) - set(found))]
    return Judgement(killed=killed, total=len(statuses), survivors=found, wrong=tuple(wrong))


def read_list(text: str) -> dict[Change, str]:
    """Read survivors.toml: each entry has function, removed, added and a reason that is not empty."""
    listed = {}
    for entry in tomllib.loads(text).get("survivor", []):
        change = Change(function=entry["function"], removed=entry["removed"], added=entry["added"])
        if not entry["reason"].strip() or change in listed:
            raise ValueError(f"survivors.toml: the entry has no reason or stands there twice; repair it: {change}")
        listed[change] = entry["reason"].strip()
    return listed


def read_statuses(text: str) -> dict[str, str]:
    """Read `mutmut results --all true`: a line `NAME: STATUS` for each mutant."""
    return dict(re.findall(r"^\s*(\S+__mutmut_\d+): (.+?)\s*$", text, re.MULTILINE))


def read_change(name: str, diff: str) -> Change:
    """Read the diff of mutant `name`, as `mutmut show` prints it."""
    changed: dict[str, list[str]] = {"-": [], "+": []}
    for line in diff.splitlines():
        if line[:1] in changed and line[:3] not in {"---", "+++"}:
            changed[line[0]].append(line[1:].strip())
    return Change(function=function_name(name), removed="\n".join(changed["-"]), added="\n".join(changed["+"]))


def function_name(mutant: str) -> str:
    """Give the name of the changed function: `m.x_f__mutmut_1` is m.f, and `m.xǁCǁf__mutmut_1` is m.C.f."""
    module, _, mangled = mutant.partition("__mutmut_")[0].rpartition(".")
    return f"{module}.{mangled.removeprefix('x_').removeprefix('xǁ').replace('ǁ', '.')}"


def copy_to(workshop: Path) -> None:
    """Lay out a fresh copy of what is mutated and what tests it."""
    shutil.rmtree(workshop, ignore_errors=True)
    for name in COPIES:
        source, target = ROOT / name, workshop / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)


def mutmut(workshop: Path, *arguments: str) -> str:
    """Run mutmut in workshop and return what it printed; RuntimeError where it fails."""
    command = [sys.executable, "-m", "mutmut", *arguments]
    done = subprocess.run(command, cwd=workshop, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def mutate(jobs: int) -> Judgement:
    """Mutate impl/reference, run its tests on every mutant, `jobs` at a time, and compare with the reviewed list.

    click.UsageError outside a checkout and for a list that cannot be read; RuntimeError where mutmut fails.
    """
    if missing := [name for name in COPIES if not (ROOT / name).exists()]:
        raise click.UsageError(f"{ROOT} is no checkout of Draftproof ({missing[0]} is missing); run it in one")
    try:
        listed = read_list(Path(__file__).with_name("survivors.toml").read_text(encoding="utf-8"))
    except (KeyError, ValueError) as error:
        raise click.UsageError(f"survivors.toml: {error}") from error
    workshop = ROOT / "build" / "mutants" / "reference"
    copy_to(workshop)
    mutmut(workshop, "run", "--max-children", str(jobs))
    statuses = read_statuses(mutmut(workshop, "results", "--all", "true"))
    alive = [name for name, status in statuses.items() if status == "survived"]
    survivors = [read_change(name, mutmut(workshop, "show", name)) for name in alive]
    modules = [f"impl.reference.{path.stem}" for path in (ROOT / "impl/reference").glob("[!_]*.py")]
    return judge(statuses, survivors, listed, modules)


def document(judgement: Judgement) -> dict[str, Any]:
    """The judgement for programs."""
    survivors = [{**asdict(change), "reason": reason} for change, reason in judgement.survivors.items()]
    return {**vars(judgement), "survivors": survivors, "exit": int(Exit.WRONG if judgement.wrong else Exit.OK)}


def shown(judgement: Judgement) -> str:
    """The judgement for people, failures last."""
    lines = [f"SURVIVES {change}\n  {reason or 'not listed'}" for change, reason in judgement.survivors.items()]
    lines.append(f"mutation/reference  killed {judgement.killed} of {judgement.total}")
    return "\n".join([*lines, *(f"WRONG    {line}" for line in judgement.wrong)])
