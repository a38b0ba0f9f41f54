"""Judge every generated fault of the kernels: a check that needs no device notices it, or nothing could.

Each fault is compiled for the host and put before the checks of `draftproof gpu check` on a processor: every function
against array expressions (here under guards), and every small sweep against what it finds without the fault. It runs in a
process of its own, which may die or run on for ever; either has been noticed. What survives all of it, every exhaustive
sweep included, must stand in equivalents.toml with the argument why it changes nothing; the list is compared both ways.
"""

from __future__ import annotations

import enum
import faulthandler
import fnmatch
import functools
import json
import os
import resource
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click

import impl.batched as batched
from impl.batched.arrays import chosen_kernels
from impl.batched.kernels import NoHostCompilerError, Patch, host_compiler, source
from proofs import console
from proofs.exits import Exit
from proofs.gpu import agreement, changes
from proofs.gpu.changes import FILES, Change, every_change
from proofs.gpu.guards import Soiled, guarded
from proofs.gpu.machines import Host, Tally, text_of
from proofs.gpu.scopes import SCOPES, Scope
from proofs.gpu.walks import walks

REQUIRED = 95
"""Of 100 faults that compile, how many the checks must notice."""

CPU_SECONDS = 3
"""A check of all functions and sweeps takes less than one."""

_OPTIMISE = "-O1"  # what is compiled once and run once gains nothing from more
# The sorting network is not part of the kernels of functions: only sweeps have it.
_OF_SWEEPS = ("Network", "compare_exchange", "exchange", "ascending", "dispatch_word")


class Fate(enum.Enum):
    """What became of a fault."""

    NOTICED = "noticed"
    REFUSED = "refused"
    """The compiler does not take it."""
    SURVIVES = "survives"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A fault, what became of it, and the check that noticed it."""

    change: Change
    fate: Fate
    by: str = ""


def judge(change: Change) -> Judged:
    """The fate of one fault, found in a process of its own."""
    found, status = _in_a_child(lambda: _first_notice((change.patch,), change.function))
    if found is None:
        # Whatever kills the process would have killed the test.
        return Judged(change=change, fate=Fate.NOTICED, by="does not end" if status == signal.SIGXCPU else "crash")
    return Judged(change=change, fate=Fate(found[0]), by=found[1])


def _first_notice(patches: tuple[Patch, ...], function: str) -> tuple[str, str]:
    try:
        for name, noticed in _checks(patches, function):
            if noticed:
                return Fate.NOTICED.value, name
    except NoHostCompilerError:
        return Fate.REFUSED.value, ""
    return Fate.SURVIVES.value, ""


def _checks(patches: tuple[Patch, ...], function: str) -> Iterator[tuple[str, bool]]:
    """Every check of kernels with these patches, the quickest first: its name, and whether it differs."""
    if all(_includes("walk.cu", patch.file) for patch in patches):
        yield "walks", walks(patches, optimise=_OPTIMISE).broken > 0
    if function not in _OF_SWEEPS:
        with chosen_kernels(Soiled(source("batched.cu", patches=patches), optimise=_OPTIMISE)):
            for name in agreement.functions():
                yield name, agreement.compare(name, getattr(batched, name), guarded).differing > 0
    for scope, expected in _expected_tallies():
        if all(_includes(scope.program, patch.file) for patch in patches):
            tally = _swept(scope, patches)
            yield scope.name, (tally.broken, tally.first, tally.accepted) != (0, None, expected)


@functools.cache
def _expected_tallies() -> tuple[tuple[Scope, int], ...]:
    return tuple((scope, _swept(scope).accepted) for scope in SCOPES if "small" in scope.sizes)


def _swept(scope: Scope, patches: Iterable[Patch] = ()) -> Tally:
    return Host(optimise=_OPTIMISE).sweep(scope, scope.sizes["small"], patches=patches)


@functools.cache
def _includes(program: str, file: str) -> bool:
    body = changes.text_of(file).rpartition("#include")[2].partition("\n")[2]
    return body in text_of(program)


def _in_a_child(work: Callable[[], tuple[str, str]]) -> tuple[tuple[str, str] | None, int]:
    """What `work` gives in a forked process; None and the signal where one ended it. RuntimeError where it raises."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            # Crashes are wanted here, and no news.
            faulthandler.disable()
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
            os.write(writing, json.dumps(work()).encode())
        except BaseException:  # noqa: BLE001 - nothing of the parent's may run on in the child
            os.write(writing, json.dumps([None, traceback.format_exc()]).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        told = answer.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return None, os.WTERMSIG(status)
    fate, by = json.loads(told)
    if fate is None:
        raise RuntimeError(f"judge: a check raised under a fault, which no kernel can make it do:\n{by}")
    return (fate, by), 0


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a run came to. Everything in `wrong` is a reason to fail."""

    judged: tuple[Judged, ...]
    reasons: Mapping[Change, str]
    """Each survivor with the reason of its entry in the list, or an empty text."""
    wrong: tuple[str, ...]

    @property
    def counts(self) -> Counter[Fate]:
        """How many came to each fate."""
        return Counter(judged.fate for judged in self.judged)


Key = tuple[str, str, str, str]


def _key(change: Change) -> Key:
    return change.file, change.function, change.removed, change.added


def read_list(text: str) -> dict[Key, str]:
    """Read equivalents.toml: each entry has file, function, removed, added and a reason that is not empty."""
    listed: dict[Key, str] = {}
    for entry in tomllib.loads(text).get("equivalent", []):
        key = entry["file"], entry["function"], entry["removed"].strip(), entry["added"].strip()
        if not entry["reason"].strip() or key in listed:
            raise ValueError(f"equivalents.toml: the entry has no reason or stands there twice; repair it: {entry}")
        listed[key] = entry["reason"].strip()
    return listed


def listed_here() -> dict[Key, str]:
    """The list of this project."""
    return read_list(Path(__file__).with_name("equivalents.toml").read_text(encoding="utf-8"))


def compared(judged: Sequence[Judged], listed: Mapping[Key, str], *, whole: bool = True) -> Judgement:
    """Compare a run with the list; `whole`: it was about every fault, so they count and the list must be used up."""
    wrong = []
    noticed = sum(each.fate is Fate.NOTICED for each in judged)
    survivors = [each.change for each in judged if each.fate is Fate.SURVIVES]
    if whole and 100 * noticed < REQUIRED * (noticed + len(survivors)):
        wrong.append(f"{noticed} of {noticed + len(survivors)} noticed, fewer than {REQUIRED} in 100")
    reasons = {change: listed.get(_key(change), "") for change in survivors}
    wrong += [f"survives and is not listed: {change}" for change, reason in reasons.items() if not reason]
    if whole:
        unused = listed.keys() - {_key(change) for change in survivors}
        wrong += [f"is listed and does not survive: {' / '.join(key)}" for key in sorted(unused)]
        wrong += [f"{file} has no fault: the run is not complete" for file in FILES if file not in {e.change.file for e in judged}]
    return Judgement(judged=tuple(judged), reasons=reasons, wrong=tuple(wrong))


def named(pattern: str) -> tuple[Change, ...]:
    """The faults whose `file function` match a shell pattern."""
    return tuple(change for change in every_change() if fnmatch.fnmatchcase(f"{change.file} {change.function}", pattern))


def campaign(jobs: int, faults: Sequence[Change] | None = None) -> Judgement:
    """Judge the faults, all of them by default, `jobs` at a time. Errors: NoHostCompilerError."""
    host_compiler()
    asked = every_change() if faults is None else faults
    before = os.environ.get("DRAFTPROOF_CACHE")
    with tempfile.TemporaryDirectory() as scratch:
        # What is compiled here is of no use to anyone later.
        os.environ["DRAFTPROOF_CACHE"] = scratch
        try:
            # Workers have no threads, so that they can fork.
            with (
                console.progress(len(asked)) as noticed,
                ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_warm) as pool,
            ):
                judged = []
                for one in pool.map(judge, asked, chunksize=4):
                    judged.append(one)
                    noticed()
        finally:
            os.environ.pop("DRAFTPROOF_CACHE")
            if before is not None:
                os.environ["DRAFTPROOF_CACHE"] = before
    return compared(judged, listed_here(), whole=faults is None)


def _warm() -> None:
    """Compute once what every fault is compared with."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in agreement.functions():
        if agreement.compare(name, getattr(batched, name), guarded).differing:
            raise RuntimeError(f"judge: {name} differs from itself")
    if walks(optimise=_OPTIMISE).broken:
        raise RuntimeError("judge: walks go wrong without a fault")
    _expected_tallies()


def document(judgement: Judgement) -> dict[str, Any]:
    """The judgement for programs."""
    return {
        "faults": [
            {
                "file": each.change.file,
                "function": each.change.function,
                "removed": each.change.removed,
                "added": each.change.added,
                "fate": each.fate.value,
                "by": each.by,
                "reason": judgement.reasons.get(each.change, ""),
            }
            for each in judgement.judged
        ],
        "counts": {fate.value: judgement.counts[fate] for fate in Fate},
        "wrong": list(judgement.wrong),
        "exit": int(Exit.WRONG if judgement.wrong else Exit.OK),
    }


def shown(judgement: Judgement) -> str:
    """The judgement for people, failures last."""
    lines = [f"SURVIVES {change}\n  {reason or 'not listed'}" for change, reason in judgement.reasons.items()]
    lines += ["", f"{'file':14}{'faults':>10}" + "".join(f"{fate.value:>12}" for fate in Fate)]
    for file in (*FILES, "all"):
        fates = Counter(each.fate for each in judgement.judged if file in (each.change.file, "all"))
        lines.append(f"{file:14}{fates.total():>10}" + "".join(f"{fates[fate]:>12}" for fate in Fate))
    by = Counter(each.by for each in judgement.judged if each.fate is Fate.NOTICED)
    lines += ["noticed first by " + ", ".join(f"{name} {count}" for name, count in by.most_common())]
    lines += [f"WRONG {wrong}" for wrong in judgement.wrong]
    return "\n".join(lines)


@click.command()
@click.option("--jobs", type=click.IntRange(min=1), default=os.cpu_count() or 1, show_default="all cores")
@click.option("--json", "as_json", is_flag=True, help="Print what came of it as JSON.")
@click.option("--fault", default="*", metavar="GLOB", help="Only faults whose file and function match, e.g. 'carry.cuh *'.")
def main(jobs: int, as_json: bool, fault: str) -> None:
    """Change the kernels line by line; the checks that need no device must notice."""
    started = time.perf_counter()
    judgement = campaign(jobs, None if fault == "*" else named(fault))
    console.emit(json.dumps(document(judgement), indent=1) if as_json else shown(judgement))
    click.echo(f"{time.perf_counter() - started:.0f} s", err=True)
    sys.exit(Exit.WRONG if judgement.wrong else Exit.OK)


if __name__ == "__main__":
    main()
