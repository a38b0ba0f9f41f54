"""Compiles the theorems with coqc, checks what came of it with coqchk, and says on which axioms it rests.

Files of some dozen theorems, those that need `truth` (and the axiom behind it) apart from the others. Where a file does not
compile, each of its theorems is tried alone, so that failures have names. What an axiom is called is compared with a list.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proofs.coq.printing import undecided
from proofs.coq.reader import Unread, read
from proofs.coq.replay import Unplayed
from proofs.coq.script import file, identifier, theorem
from proofs.kernel import Refused

THEORY = Path(__file__).parent / "theory"
LIBRARY = ("Refutation", "Truth", "Induction")
CLASSIC = "Coq.Logic.Classical_Prop.classic"
CHOICE = "Coq.Logic.ClassicalEpsilon.constructive_indefinite_description"
ALLOWED = frozenset([CLASSIC, CHOICE])
LARGEST = 300_000


@dataclass(frozen=True, kw_only=True)
class Theorem:
    """A theorem's id, its statement as SMT-LIB, and the steps of its certificate."""

    name: str
    statement: str
    steps: Sequence[Any]


@dataclass(frozen=True, kw_only=True)
class Proved:
    """What Coq says: the theorems that it accepts (with their axioms), why it does not accept the others, what is wrong else."""

    axioms: Mapping[str, frozenset[str]]
    failed: Mapping[str, str]
    problems: Sequence[str] = field(default=())
    rechecked: frozenset[str] | None = None
    """The axioms that coqchk finds; None if it was not asked."""


@dataclass(frozen=True, kw_only=True)
class _File:
    module: str
    names: Sequence[str]
    texts: Sequence[str]
    allowed: frozenset[str]


class Failed(Exception):
    """A command did not succeed; the message is what it said last."""


def available() -> bool:
    """Whether coqc and coqchk are there."""
    return bool(shutil.which("coqc") and shutil.which("coqchk"))


def version() -> str:
    """The version of Coq, as coqc tells it."""
    return _run("coqc", "--print-version", cwd=THEORY).split()[0]


def prove(
    theorems: Iterable[Theorem],
    folder: Path,
    *,
    jobs: int = 2,
    recheck: bool = True,
    noticed: Callable[[], None] = lambda: None,
) -> Proved:
    """Writes the files into a folder, which must be empty, and has them compiled and checked."""
    folder.mkdir(parents=True, exist_ok=True)
    for library in LIBRARY:
        shutil.copy(THEORY / f"{library}.v", folder)
        _run("coqc", "-q", "-w", "none", "-Q", ".", "Draftproof", f"{library}.v", cwd=folder)
    failed: dict[str, str] = {}
    files = list(_files(theorems, failed))
    axioms: dict[str, frozenset[str]] = {}
    problems: list[str] = []
    compiled: list[str] = []

    def compile_(each: _File) -> tuple[list[tuple[_File, frozenset[str]]], dict[str, str]]:
        try:
            return [(each, _compiled(each, folder))], {}
        except Failed as why:
            if len(each.names) == 1:
                return [], {each.names[0]: str(why)}
        done, wrong = [], {}
        for i, (name, text) in enumerate(zip(each.names, each.texts, strict=True), start=1):
            alone = _File(module=f"{each.module}_{i}", names=[name], texts=[text], allowed=each.allowed)
            try:
                done.append((alone, _compiled(alone, folder)))
            except Failed as why:
                wrong[name] = str(why)
        return done, wrong

    with ThreadPoolExecutor(jobs) as pool:
        for each, (done, wrong) in zip(files, pool.map(compile_, files), strict=True):
            failed |= wrong
            for part, found in done:
                compiled.append(part.module)
                axioms |= dict.fromkeys(part.names, found)
                problems += [f"{part.module}.v rests on {axiom}" for axiom in sorted(found - part.allowed)]
            for _ in each.names:
                noticed()
    rechecked: frozenset[str] | None = None
    if recheck:
        try:
            rechecked = _rechecked([*LIBRARY, *compiled], folder)
        except Failed as why:
            problems.append(str(why))
    problems += [f"coqchk: it rests on {axiom}" for axiom in sorted((rechecked or frozenset()) - ALLOWED)]
    return Proved(axioms=axioms, failed=failed, problems=problems, rechecked=rechecked)


def _files(theorems: Iterable[Theorem], failed: dict[str, str]) -> Iterable[_File]:
    kinds: dict[bool, list[tuple[str, str]]] = {False: [], True: []}
    taken: dict[str, str] = {}
    for each in theorems:
        try:
            if other := taken.get(identifier(each.name)):
                raise Unplayed(f"{other} has the same Coq name")
            text = theorem(each.name, each.statement, each.steps)
            choice = any(map(undecided, read(each.statement).assertions.values()))
        except (Unread, Unplayed, Refused) as why:
            failed[each.name] = str(why)
        else:
            taken[identifier(each.name)] = each.name
            kinds[choice].append((each.name, text))
    for choice, told in kinds.items():
        allowed = ALLOWED if choice else frozenset([CLASSIC])
        for number, batch in enumerate(_batches(told), start=1):
            names, texts = zip(*batch, strict=True)
            yield _File(module=f"{'WithTruth' if choice else 'Theorems'}{number}", names=names, texts=texts, allowed=allowed)


def _batches(told: Sequence[tuple[str, str]]) -> Iterable[Sequence[tuple[str, str]]]:
    batch: list[tuple[str, str]] = []
    for each in told:
        if batch and sum(len(text) for _, text in [*batch, each]) > LARGEST:
            yield batch
            batch = []
        batch.append(each)
    if batch:
        yield batch


def _compiled(each: _File, folder: Path) -> frozenset[str]:
    """The axioms that the theorems of a file rest on. Failed if it does not compile."""
    (folder / f"{each.module}.v").write_text(file(each.texts, each.names), encoding="utf-8")
    return printed_axioms(_run("coqc", "-q", "-w", "none", "-Q", ".", "Draftproof", f"{each.module}.v", cwd=folder))


def printed_axioms(output: str) -> frozenset[str]:
    """What `Print Assumptions` says, by full names. Failed if it says nothing that is known."""
    if output.strip() == "Closed under the global context":
        return frozenset()
    head, _, rest = output.strip().partition("\n")
    names = re.findall(r"^(\S+)(?:\s*:.*)?$", rest, re.MULTILINE)
    if head != "Axioms:" or not names:
        raise Failed(f"Print Assumptions says {output.strip()[:200]!r}")
    known = {name.removeprefix("Coq.Logic."): name for name in ALLOWED}
    return frozenset(known.get(name, name) for name in names)


def _rechecked(modules: Sequence[str], folder: Path) -> frozenset[str]:
    output = _run("coqchk", "-silent", "-o", "-Q", ".", "Draftproof", *[f"Draftproof.{each}" for each in modules], cwd=folder)
    return checked_axioms(output)


def checked_axioms(output: str) -> frozenset[str]:
    """The axioms that coqchk lists, by full names. Failed if it relies on anything that is switched off."""
    sections = dict(re.findall(r"^\* ([^:\n]+):(.*?)(?=^\*|\Z)", output, re.MULTILINE | re.DOTALL))
    if "Axioms" not in sections or "CONTEXT SUMMARY" not in output:
        raise Failed(f"coqchk says {output.strip()[:200]!r}")
    for what, told in sections.items():
        if what.startswith(("Constants/Inductives relying", "Inductives whose")) and told.strip() != "<none>":
            raise Failed(f"coqchk: {what}: {told.strip()}")
    names = sections["Axioms"].split()
    return frozenset(names) - {"<none>"}


def _run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Failed(" ".join(done.stdout.split())[-400:] or f"{command[0]} ended with {done.returncode}")
    return done.stdout
