"""The commands `draftproof vectors` and `draftproof conform`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from pebble import ProcessPool
from rich.console import Console

from proofs import console
from proofs.conform.comparison import Comparison, Mismatch, compare, read, vector_files
from proofs.conform.model import ModelError, NoAnswer
from proofs.conform.program import ProgramError
from proofs.conform.shapes import brief
from proofs.conform.targets import TARGETS, Asked, NoTarget, engine
from proofs.conform.vectors import Disagreement, Written, vectors_of
from proofs.exits import Exit
from spec.machine import Profile
from spec.rules import RULES


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int], None]]:
    """A line on the terminal that counts; nothing elsewhere."""
    terminal = Console(stderr=True)
    if not terminal.is_terminal:
        yield lambda count: None
        return
    with terminal.status(what) as status:
        yield lambda count: status.update(f"{what}: {count}")


@click.command(name="vectors", epilog="Example: draftproof vectors --out build/vectors --seed 1 --count 500")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="The folder to write to.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed, the same bytes.")
@click.option("--count", type=click.IntRange(min=0), default=100, show_default=True, help="Random calls of each function.")
@click.option("--jobs", type=click.IntRange(min=1), default=os.cpu_count() or 1, show_default="all cores")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
@click.argument("functions", nargs=-1, type=click.Choice([rule.name for rule in RULES]), metavar="[FUNCTIONS]...")
def vectors(out: Path, seed: int, count: int, jobs: int, as_json: bool, functions: tuple[str, ...]) -> Exit:
    """Write calls with their results for every function (or the FUNCTIONS named), one JSON Lines file each.

    The solver chooses calls at every boundary of the models; random and long ones follow. Results are the models', and the
    reference confirms them. Nothing is written unless everything could be.
    Exit codes: 0 written, 1 model and reference differ, 2 the folder cannot be written, 3 a question without an answer.
    """
    try:
        found = _vectors([rule.name for rule in RULES if rule.name in functions or not functions], seed, count, jobs)
        out.mkdir(parents=True, exist_ok=True)
        for written in found:
            _replace(out / f"{written.fn}.jsonl", "".join(f"{line}\n" for line in written.lines))
    except NoAnswer as error:
        return _failed(str(error), Exit.UNDECIDED)
    except (Disagreement, ModelError) as error:
        return _failed(str(error), Exit.WRONG)
    except OSError as error:
        return _failed(f"--out {out}: {error}", Exit.USAGE)
    undecided = [situation for written in found for situation in written.undecided]
    if as_json:
        console.emit(json.dumps(_written_as_object(found, out)))
    else:
        console.emit("\n".join([_written_as_text(found, out), *(f"undecided: {situation}" for situation in undecided)]))
    return Exit.UNDECIDED if undecided else Exit.OK


def _vectors(names: list[str], seed: int, count: int, jobs: int) -> list[Written]:
    """The vectors of the rules, in the order of their names here."""
    with ProcessPool(max_workers=jobs) as pool, console.progress(len(names)) as noticed:
        try:
            # The last rules take longest, so they go first.
            futures = {name: pool.schedule(vectors_of, args=[name, seed, count]) for name in reversed(names)}
            found = []
            for name in names:
                found.append(futures[name].result())
                noticed()
        except BaseException:
            pool.stop()  # type: ignore[no-untyped-call]
            raise
    return found


def _replace(path: Path, text: str) -> None:
    """Writes a file that is never seen half-written."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8", newline="\n")
    unfinished.replace(path)


def _failed(message: str, code: Exit) -> Exit:
    click.echo(f"vectors: {message}", err=True)
    return code


def _written_as_object(found: list[Written], out: Path) -> dict[str, Any]:
    functions = {
        written.fn: {
            "file": str(out / f"{written.fn}.jsonl"),
            "vectors": len(written.lines),
            **{origin: written.origins[origin] for origin in ("boundary", "random", "long")},
            "impossible": written.impossible,
            "undecided": written.undecided,
        }
        for written in found
    }
    return {"vectors": sum(len(written.lines) for written in found), "functions": functions}


def _written_as_text(found: list[Written], out: Path) -> str:
    lines = [
        f"{written.fn:26}{written.origins['boundary']:6} at boundaries{written.origins['random']:6} random"
        f"{written.origins['long']:4} long"
        for written in found
    ]
    return "\n".join([*lines, f"{sum(len(written.lines) for written in found)} vectors in {out}"])


@click.command(
    name="conform",
    epilog="Example: draftproof conform --target command --command 'python3 engine.py' build/vectors/*.jsonl",
)
@click.option("--target", default="reference", show_default=True, metavar="NAME[:ARGUMENT]", help=", ".join(TARGETS))
@click.option("--command", default="", help="The program of --target command: split into words, run without a shell.")
@click.option("--timeout", type=click.FloatRange(min=0.001), default=300.0, show_default=True, help="Seconds it has in all.")
@click.option(
    "--profile",
    type=click.Choice([profile.value for profile in Profile]),
    default="debug",
    show_default=True,
    help="How the target was built: a release build gives what `release` tells where arithmetic overflows.",
)
@click.option("--max-mismatches", type=click.IntRange(min=0), default=10, show_default=True, help="How many to show.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
@click.argument("files", nargs=-1, required=True)
def conform(
    target: str,
    command: str,
    timeout: float,
    profile: str,
    max_mismatches: int,
    as_json: bool,
    files: tuple[str, ...],
) -> Exit:
    """Replay the vectors in FILES on a target and compare the results.

    FILES are JSON Lines (also gzipped, as .gz), folders of them, or - for standard input. A program reads lines
    {"fn": ..., "args": ...} and answers each, in order, with a line {"result": ...}.
    Exit codes: 0 all agree, 1 a mismatch, 2 a line that is no vector, nothing to compare, or a target that fails.
    """
    name, _, argument = target.partition(":")
    build = Profile(profile)
    tally = Comparison(shown=max_mismatches)
    try:
        asks = engine(name, Asked(argument=argument, command=command, timeout=timeout, profile=build))
        with _progress(f"conform {target}") as step:
            compare(read(vector_files(files), tally.note_bad), asks, tally, build, step)
    except (NoTarget, ProgramError) as error:
        tally.failure = str(error)
    console.emit(json.dumps(_as_object(tally, target, profile)) if as_json else _as_text(tally, target))
    return tally.exit


def _as_object(tally: Comparison, target: str, profile: str) -> dict[str, Any]:
    return {
        "target": target,
        "profile": profile,
        "exit": tally.exit,
        "compared": tally.compared.total(),
        "differing": tally.differing.total(),
        "malformed": tally.malformed,
        "skipped": tally.skipped,
        "absent": [rule.name for rule in RULES if rule.name in tally.absent],
        "functions": {
            rule.name: {"compared": tally.compared[rule.name], "differing": tally.differing[rule.name]}
            for rule in RULES
            if rule.name in tally.compared
        },
        "mismatches": [_mismatch(mismatch) for mismatch in tally.mismatches],
        "bad_lines": [asdict(bad) for bad in tally.bad_lines],
        "failure": tally.failure,
    }


def _mismatch(mismatch: Mismatch) -> dict[str, Any]:
    vector = mismatch.vector
    where = {"file": vector.file, "line": vector.line, "fn": vector.fn, "why": vector.why, "args": vector.args}
    return {**where, "expected": mismatch.expected, "got": mismatch.got}


def _as_text(tally: Comparison, target: str) -> str:
    lines = []
    for rule in RULES:
        if rule.name in tally.compared:
            differing = tally.differing[rule.name]
            verdict = f"{differing} DIFFER" if differing else "agree"
            lines.append(f"{rule.name:26}{tally.compared[rule.name]:10}  {verdict}")
        elif rule.name in tally.absent:
            lines.append(f"{rule.name:26}{0:10}  absent from the target")
    lines.append(
        f"{tally.compared.total()} vectors compared with {target}: {tally.differing.total()} differ; "
        f"{tally.malformed} malformed lines, {tally.skipped} skipped"
    )
    for mismatch in tally.mismatches:
        vector = mismatch.vector
        why = f"  ({vector.why})" if vector.why else ""
        lines += [
            f"\n{vector.file}:{vector.line}: {vector.fn}{why}",
            *(f"  {name:14}{brief(value)}" for name, value in vector.args.items()),
            f"  expected      {brief(mismatch.expected)}",
            f"  got           {brief(mismatch.got)}",
        ]
    lines += [f"{bad.file}:{bad.line}: {bad.reason}" for bad in tally.bad_lines]
    for count, shown, what in (
        (tally.differing.total(), len(tally.mismatches), "mismatches"),
        (tally.malformed, len(tally.bad_lines), "malformed lines"),
    ):
        if count > shown:
            lines.append(f"{count - shown} more {what}; --max-mismatches N shows more")
    if tally.failure:
        lines.append(f"conform: {tally.failure}")
    elif not tally.compared:
        lines.append("conform: nothing was compared; pass files with vectors")
    return "\n".join(lines)
