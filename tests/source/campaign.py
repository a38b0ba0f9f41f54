"""A campaign of faults over the texts of this folder: every k-th of them is judged, and each verdict held against runs.

Whether a fault changes what a function gives is asked of runs of the changed text by the evaluator, on drawn calls (whose results
are the reference's) and on vectors, if a folder of them is given; never of the prover. As a command:

    python -m tests.source.campaign --every 2 --vectors build/vectors --out build/faults.jsonl
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import tree_sitter_cuda
import tree_sitter_rust
from tree_sitter import Language

from proofs.checker import Answered, Settings, in_workers
from proofs.conform.comparison import BadLine, read
from proofs.conform.draws import draw
from proofs.conform.vector import UNKNOWN
from proofs.replay import run
from proofs.source.bridge import Mismatch
from proofs.source.compare import Subject, compared, evaluate
from proofs.source.files import LANGUAGES, completed, subjects
from proofs.source.paths import NotUnderstood
from proofs.source.values import Unmergeable
from proofs.source.verdicts import Row, Verdict
from spec.machine import Profile
from spec.rules import RULES
from spec.sorts import PANIC
from tests.source import compiled
from tests.source.faults import Fault, faults, python_faults

TEXTS = sorted((Path(__file__).parent / "texts").iterdir())
GRAMMARS = {".rs": tree_sitter_rust, ".cu": tree_sitter_cuda}
CALLS = 60
SECONDS = 300.0
"""Wall clock for one fault, before it counts as undecided."""

SLICES = 12
"""The campaign goes through its faults in so many turns, each spread over all texts."""


def of_text(path: Path) -> list[Fault]:
    """Every fault of a text."""
    text = path.read_bytes()
    if path.suffix == ".py":
        return list(python_faults(text))
    language = LANGUAGES[path.suffix]
    names = frozenset(f.name for f in language.parse(str(path), text).functions)
    return list(faults(Language(GRAMMARS[path.suffix].language()), text, names))


def chosen(every: int) -> list[tuple[Path, Fault]]:
    """Every k-th fault over all texts, in their order."""
    return [(path, fault) for path in TEXTS for fault in of_text(path)][::every]


def judged(path: Path, fault: Fault) -> Iterator[tuple[Subject, Row]]:
    """Rows of the functions that the fault can change: the one that it is in, or those that name it, directly or not."""
    language = LANGUAGES[path.suffix]
    found, _ = subjects(language, language.parse(str(path), fault.text), {})
    uses = _uses(path)
    changed = next((name for name, (first, last, _) in uses.items() if first <= fault.line <= last), None)
    for subject in found:
        if changed is None or changed in _reached(uses, subject.function.name):
            yield subject, compared(subject, language.profiles)


_Uses = dict[str, tuple[int, int, frozenset[str]]]


@cache
def _uses(path: Path) -> _Uses:
    """By the name of each function of the text before the change: its first and last line, and the words in them."""
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    if path.suffix == ".py":
        nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
        extents = [(n.name, n.lineno, n.end_lineno or n.lineno) for n in nodes]
    else:
        functions = sorted(LANGUAGES[path.suffix].parse(str(path), text.encode()).functions, key=lambda f: f.line)
        ends = [f.line - 1 for f in functions[1:]] + [len(lines)]
        extents = [(f.name, f.line, end) for f, end in zip(functions, ends, strict=True)]
    found: _Uses = {}
    for name, first, last in extents:
        words = frozenset(re.findall(r"\w+", "\n".join(lines[first - 1 : last])))
        known = found.get(name, (first, last, frozenset()))
        found[name] = (min(first, known[0]), max(last, known[1]), words | known[2])
    return found


def _reached(uses: _Uses, name: str) -> set[str]:
    reached, ahead = {name}, [name]
    while ahead:
        further = uses[ahead.pop()][2] & uses.keys() - reached
        reached |= further
        ahead += further
    return reached


@cache
def _drawn(name: str) -> list[tuple[dict[str, Any], Any]]:
    made = [draw(RULES[name], Random(f"{name} {i}")) for i in range(CALLS)]
    return [(args, run(name, args)) for args in made]


def _refuse(bad: BadLine) -> None:
    raise ValueError(str(bad))


@cache
def _vectors(folder: Path | None, name: str) -> list[tuple[dict[str, Any], Any, Any]]:
    if folder is None:
        return []
    kept = [v for v in read([str(folder / f"{name}.jsonl")], _refuse) if v.fn == name]
    return [(completed(RULES[name], v.args), v.expected(Profile.DEBUG), v.expected(Profile.RELEASE)) for v in kept]


def _expectations(subject: Subject, profile: Profile, folder: Path | None) -> Iterator[tuple[dict[str, Any], Any]]:
    for args, expected in _drawn(subject.rule.name):
        if profile is Profile.DEBUG or expected != PANIC or not subject.rule.overflows:
            yield args, expected
    for args, debug, release in _vectors(folder, subject.rule.name):
        wanted = debug if profile is Profile.DEBUG else release
        if wanted is not UNKNOWN:
            yield args, wanted


def differs(subject: Subject, profile: Profile, folder: Path | None = None) -> bool | None:
    """Does some call give another result than it must? None where the evaluator does not understand the code."""
    understood = True
    for args, expected in _expectations(subject, profile, folder):
        try:
            if evaluate(subject, args, profile) != expected:
                return True
        except (NotUnderstood, Mismatch, Unmergeable):
            understood = False
    return False if understood else None


def account(path: Path, fault: Fault, folder: Path | None = None) -> dict[str, Any]:
    """What became of a fault, with a row for each function that it can change. AssertionError if a refutation is none."""
    told = list(judged(path, fault))
    program = _program(path, fault)
    rows = [_row(path, fault, subject, row, folder, program is True) for subject, row in told]
    verdicts = [row["verdict"] for row in rows]
    worst = next((v.value for v in (Verdict.REFUTED, Verdict.UNDECIDED) if v.value in verdicts), Verdict.PROVED.value)
    changes = [row["changed"] for row in rows]
    return {
        "fault": f"{path.name}:{fault.line} {fault.what}",
        "verdict": worst,
        "program": program,
        "changed": True if True in changes else None if None in changes else False,
        "rows": rows,
    }


def _program(path: Path, fault: Fault) -> bool | None:
    """The language takes the text; None where its compiler is not here."""
    if compiled.compiler(path.suffix) is None:
        return None
    try:
        compiled.results(fault.text, path.suffix, [], Profile.DEBUG)
    except compiled.Refused:
        return False
    return True


@cache
def _originals(path: Path) -> dict[str, Subject]:
    """The functions of the text without fault, by their rules."""
    language = LANGUAGES[path.suffix]
    return {s.rule.name: s for s in subjects(language, language.parse(str(path), path.read_bytes()), {})[0]}


def _as_compiled(path: Path, fault: Fault, rule: str, profile: Profile, calls: list[dict[str, Any]]) -> list[Any]:
    """The results of calls of a rule's function as the language itself runs it; fewer where one does not end."""
    subject = _originals(path)[rule]
    return compiled.results(fault.text, path.suffix, [(subject, args) for args in calls], profile)


def _changes(path: Path, fault: Fault, rule: str, profile: Profile, folder: Path | None) -> bool:
    """Some call of the code as compiled gives another result than it must."""
    known = [call for call in _expectations(_originals(path)[rule], profile, folder) if compiled.can_be_told(call[0])]
    given = _as_compiled(path, fault, rule, profile, [args for args, _ in known])
    return len(given) != len(known) or any(mine != wanted for mine, (_, wanted) in zip(given, known, strict=True))


def _row(path: Path, fault: Fault, subject: Subject, row: Row, folder: Path | None, program: bool) -> dict[str, Any]:
    changed: bool | None = True
    replayed: bool | None = None
    where = f"{path.name}:{fault.line} {fault.what}"
    if row.verdict is Verdict.REFUTED:
        found = row.counterexample
        assert found is not None and found["source"] != found["spec"], f"{where}: {row}"
        if row.profile == Profile.DEBUG.value:
            assert run(row.spec, found["args"]) == found["spec"], f"{where}: {row}"
        if program and compiled.can_be_told(found["args"]):
            profile = Profile(row.profile)
            replayed = _as_compiled(path, fault, row.spec, profile, [found["args"]]) == [found["source"]]
    else:
        shapes = subject.language.shapes(subject.source)
        profiles = shapes.profiles(subject.function, subject.language.profiles)
        seen = [differs(subject, profile, folder) for profile in profiles]
        if program and True not in seen:
            seen = [_changes(path, fault, subject.rule.name, profile, folder) for profile in profiles]
        changed = True if True in seen else None if None in seen else False
    return {
        "function": row.name,
        "verdict": row.verdict.value,
        "scope": row.scope,
        "reason": row.reason,
        "changed": changed,
        "replayed": replayed,
    }


def summary(entries: Iterable[dict[str, Any]]) -> Counter[str]:
    """How many faults there are of each class: no program, changing results or not (or not known to), by verdict."""
    count: Counter[str] = Counter()
    for entry in entries:
        verdict, changed, rows = entry["verdict"], entry["changed"], entry["rows"]
        count["faults"] += 1
        if entry["program"] is False:
            count["no program"] += 1
            count[f"no program, {verdict}"] += 1
            continue
        kind = "changed" if changed else "unknown" if changed is None else "unchanged"
        count[kind] += 1
        count[f"{kind}, {verdict}"] += 1
        count["wrongly proved"] += any(row["verdict"] == "proved" and row["changed"] for row in rows)
        count["proved, not run"] += any(row["verdict"] == "proved" and row["changed"] is None for row in rows)
        count["undecided without a reason"] += any(row["verdict"] == "undecided" and not row["reason"] for row in rows)
        count["replayed"] += any(row["replayed"] is True for row in rows)
        count["not replayed"] += any(row["replayed"] is False for row in rows)
    return count


def stands(count: Counter[str]) -> bool:
    """None wrongly proved, none refuted that the code as compiled does not confirm, nearly all that change results refuted."""
    whole = count["changed, refuted"] >= 0.97 * count["changed"]
    wrong = ("wrongly proved", "not replayed", "proved, not run", "undecided without a reason")
    return whole and not any(count[kind] for kind in wrong)


def _ready() -> None:
    """Workers have nothing to prepare."""


def _task(item: tuple[Path, Fault, Path | None]) -> dict[str, Any]:
    return account(*item)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0 if all stands, 1 if not."""
    parser = argparse.ArgumentParser(prog="python -m tests.source.campaign", description="Judge faults over the texts.")
    parser.add_argument("--every", type=int, default=2, metavar="K", help="Every K-th fault.")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--vectors", type=Path, metavar="FOLDER", help="Vectors that what is proved must agree with.")
    parser.add_argument("--out", type=Path, default=Path("build/faults.jsonl"), help="A line for each fault.")
    given = parser.parse_args(arguments)
    work = [(path, fault, given.vectors) for path, fault in chosen(given.every)]
    settings = Settings(jobs=given.jobs, backstop=SECONDS)
    entries: list[dict[str, Any]] = []
    broken: list[str] = []
    done = 0
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with given.out.open("w", encoding="utf-8") as out:
        for turn in range(SLICES):
            part = work[turn::SLICES]
            outcomes = in_workers(_task, part, settings, warm=_ready, warmth=())
            for (path, fault, _), outcome in zip(part, outcomes, strict=True):
                if isinstance(outcome, Answered):
                    entry = outcome.value
                elif outcome.reason.startswith("no answer"):
                    lost = {"function": "", "verdict": "undecided", "scope": None, "reason": outcome.reason, "changed": None}
                    lost |= {"replayed": None, "program": None}
                    entry = {"fault": f"{path.name}:{fault.line} {fault.what}", **lost, "rows": [lost]}
                else:
                    broken.append(f"{path.name}:{fault.line} {fault.what}: {outcome.reason}")
                    continue
                entries.append(entry)
                out.write(json.dumps(entry) + "\n")
            done += len(part)
            out.flush()
            print(f"{done} of {len(work)} faults: {dict(summary(entries))}", flush=True)
    count = summary(entries)
    for line in broken:
        print(f"broken: {line}")
    return 0 if stands(count) and not broken else 1


if __name__ == "__main__":
    from tests.source import campaign

    sys.exit(campaign.main())
