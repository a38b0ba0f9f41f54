"""The commands `draftproof explain` and `draftproof replay`."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proofs import console
from proofs.exits import Exit, worst
from proofs.explain.explanation import MUTANTS, Explanation, Mutant, obligation_of, obligations_of
from proofs.explain.explanation import explain as explained
from proofs.explain.told import told
from proofs.judge import Verdict
from proofs.obligation import Obligation
from proofs.report import replace_file
from proofs.traces.faults import SystemFault

if TYPE_CHECKING:
    from proofs.explain.own import Own

TRACES = Path("build") / "traces"
TESTS = Path("build") / "tests"
PLACES = ("reference", "numpy", "kernels", "cupy")
_DEFAULT = "-"
"""Stands for the default path of an option that was given without one."""


def _file(help_text: str) -> dict[str, Any]:
    return {"is_flag": False, "flag_value": _DEFAULT, "help": help_text}


@click.command("explain")
@click.argument("obligation", required=False)
@click.option("--mutant", metavar="NAME", help="Explain with this fault; OBLIGATION may then be left out.")
@click.option(
    "--rule",
    "rule_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Explain with the rules of this Python file; without OBLIGATION, every claim that asks one of them.",
)
@click.option("--list", "listing", is_flag=True, help="List the mutants and explain nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
@click.option("--write-trace", metavar="[FILE]", **_file("Write it for `draftproof replay`, and beside it as ITF (FILE.itf.json)."))
@click.option("--html", metavar="[FILE]", **_file("Write a page to step through."))
@click.option("--write-test", metavar="[FOLDER]", **_file("Write a pytest module and a Rust test that fail on the fault."))
def explain(
    obligation: str | None,
    mutant: str | None,
    rule_file: Path | None,
    listing: bool,
    as_json: bool,
    write_trace: str | None,
    html: str | None,
    write_test: str | None,
) -> Exit:
    """Explain a verdict: the claim, its smallest counterexample, and where it parts from what is right.

    Exit codes: 0 a theorem is proved, a boundary refuted, a mutant refuted; 1 it is not so; 3 undecided.

    \b
    Example:
      draftproof explain --mutant store/the-owner-is-ignored
      draftproof explain system/no-foreign-rows --mutant no-session-check --html page.html
      draftproof explain --rule mine.py
    """
    if listing:
        console.emit(_listing(as_json))
        return Exit.OK
    if mutant is not None and rule_file is not None:
        raise click.UsageError("--mutant and --rule are two ways to change a rule; pass one")
    fault = None if mutant is None else _known("--mutant", mutant, MUTANTS)
    if rule_file is not None and obligation is None:
        if write_trace or html or write_test:
            raise click.UsageError("--rule FILE without OBLIGATION explains many claims; pass the one to be written")
        return _every_claim(rule_file, as_json)
    explanation = _explained(obligation, fault) if rule_file is None else _explained_own(str(obligation), rule_file)
    written = []
    name = explanation.obligation.replace("/", ".") + (f"@{mutant.replace('/', '.')}" if mutant else "")
    if write_trace is not None:
        written += _write_trace(explanation, TRACES / f"{name}.json" if write_trace == _DEFAULT else Path(write_trace))
    if html is not None:
        from proofs.explain.page import page

        written.append(_written(TRACES / f"{name}.html" if html == _DEFAULT else Path(html), page(explanation)))
    if write_test is not None:
        written += _write_test(explanation, TESTS if write_test == _DEFAULT else Path(write_test))
    if as_json:
        console.emit(json.dumps(explanation.as_json(), indent=1, ensure_ascii=False))
    else:
        console.emit("\n".join([told(explanation), *(f"  {line}" for line in written)]))
    return _exit(explanation)


def _known(option: str, name: str, among: Iterable[str]) -> Mutant:
    if name not in among:
        near = difflib.get_close_matches(name, list(among), n=3)
        told = f"like {', '.join(near)}" if near else "`draftproof explain --list` shows them"
        raise click.BadParameter(f"{name!r} is none; {told}", param_hint=option)
    return MUTANTS[name]


def _explained(name: str | None, fault: Mutant | None) -> Explanation:
    # The code that answers is loaded here, so that explanations themselves do not depend on it.
    from proofs.replay import run

    if name is None and fault is None:
        raise click.UsageError("pass OBLIGATION or --mutant; `draftproof prove --list` and `draftproof explain --list` show them")
    chosen = name if name is not None else obligations_of(fault)[0] if fault is not None else ""
    obligation = _claim(chosen)
    if isinstance(fault, SystemFault) and chosen not in obligations_of(fault):
        told = f"a run shows {fault.name} against {' and '.join(obligations_of(fault))}; pass one of these, or none"
        raise click.BadParameter(told, param_hint="OBLIGATION")
    return explained(obligation, run, mutant=fault)


def _claim(name: str) -> Obligation:
    try:
        return obligation_of(name)
    except KeyError:
        from proofs.claims import OBLIGATIONS

        near = difflib.get_close_matches(name, list(OBLIGATIONS), n=3)
        told = f"like {', '.join(near)}" if near else "`draftproof prove --list` shows them"
        raise click.BadParameter(f"{name!r} is none; {told}", param_hint="OBLIGATION") from None


def _own(path: Path) -> Own:
    from proofs.explain.own import Unsupported, own_rules

    try:
        return own_rules(path)
    except Unsupported as refused:
        raise click.BadParameter(str(refused), param_hint="--rule") from None


def _explained_own(name: str, path: Path) -> Explanation:
    from proofs.replay import run

    own, obligation = _own(path), _claim(name)
    return explained(obligation, run, rules=own.rules, asked=own.runner(run), fault=f"{', '.join(own.subjects)} of {path}")


def _every_claim(path: Path, as_json: bool) -> Exit:
    """Every claim that asks a rule of the file: proved or refuted, the failures last and explained."""
    from proofs.replay import run

    own = _own(path)
    dependents = list(own.dependents())
    tells = f"{', '.join(own.subjects)} of {path}"
    explanations = []
    with console.progress(len(dependents)) as noticed:
        for obligation in dependents:
            explanations.append(explained(obligation, run, rules=own.rules, asked=own.runner(run), fault=tells))
            noticed()
    right = [e for e in explanations if _exit(e) is Exit.OK]
    if as_json:
        console.emit(json.dumps([e.as_json() for e in explanations], indent=1, ensure_ascii=False))
    else:
        width = max((len(e.obligation) for e in explanations), default=0)
        rows = [f"{e.obligation.ljust(width)}   {e.verdict.value.upper()}" for e in right]
        rows += [f"\n{told(e)}" for e in explanations if e not in right]
        console.emit("\n".join([*rows, "", f"{len(right)}/{len(explanations)} claims as they must be with {tells}"]))
    return worst(map(_exit, explanations))


def _exit(explanation: Explanation) -> Exit:
    if explanation.reason.startswith("spurious"):
        return Exit.WRONG
    if explanation.verdict is Verdict.UNDECIDED:
        return Exit.UNDECIDED
    fails = explanation.verdict is Verdict.REFUTED
    if explanation.mutant:
        # Other obligations than its own may hold whatever the mutant does.
        return Exit.OK if fails or explanation.obligation not in obligations_of(MUTANTS[explanation.mutant]) else Exit.WRONG
    return Exit.OK if fails == (explanation.kind == "boundary") else Exit.WRONG


def _written(path: Path, text: str) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text)
    except OSError as error:
        raise click.FileError(str(path), hint=error.strerror or str(error)) from None
    return f"written  {path}"


def _write_trace(explanation: Explanation, path: Path) -> list[str]:
    from proofs.explain.itf import as_itf

    if explanation.verdict is not Verdict.REFUTED:
        return ["not written: there is no counterexample"]
    whole = json.dumps(explanation.as_json(), indent=1, ensure_ascii=False) + "\n"
    viewers = json.dumps(as_itf(explanation), indent=1, ensure_ascii=False) + "\n"
    return [_written(path, whole), _written(path.with_suffix(".itf.json"), viewers), f"replay   draftproof replay {path}"]


def _write_test(explanation: Explanation, folder: Path) -> list[str]:
    from proofs.explain.regression import NoTest, name_of, pytest_text, rust_text

    told = []
    texts: list[tuple[str, Callable[[Explanation], str]]] = [
        (f"test_{name_of(explanation)}.py", pytest_text),
        (f"{name_of(explanation)}.rs", rust_text),
    ]
    for file, text_of in texts:
        try:
            told.append(_written(folder / file, text_of(explanation)))
        except NoTest as why:
            told.append(f"no {Path(file).suffix[1:]} test: {why}")
    return told


def _listing(as_json: bool) -> str:
    entries = [{"name": name, "obligation": obligations_of(m)[0], "tells": m.tells} for name, m in MUTANTS.items()]
    if as_json:
        return json.dumps(entries, indent=1, ensure_ascii=False)
    width = max(len(entry["name"]) for entry in entries)
    return "\n".join(f"{entry['name'].ljust(width)}   {entry['tells']}" for entry in entries)


@click.command("replay")
@click.argument("trace", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--on", "target", type=click.Choice(["reference", "numpy", "kernels", "cupy"]), default="reference", show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="Print what it came to as JSON.")
def replay(trace: Path, target: str, as_json: bool) -> Exit:
    """Run a counterexample on an implementation: does its harm show there, or is it spurious?

    TRACE is a file that `draftproof explain --write-trace` wrote.

    \b
    Example:
      draftproof replay build/traces/store.an-empty-write-loses-nothing.json --on numpy
    """
    from proofs.conform.targets import NoTarget
    from proofs.explain.rerun import Unanswered, rerun, runner

    try:
        document = json.loads(trace.read_text(encoding="utf-8"))
    except ValueError as error:
        raise click.UsageError(
            f"{trace} is not JSON ({error}); pass a file that `draftproof explain --write-trace` wrote"
        ) from None
    if not isinstance(document, dict):
        raise click.UsageError(f"{trace} holds no JSON object; pass a file that `draftproof explain --write-trace` wrote")
    try:
        result = rerun(document, runner(target))
    except NoTarget as error:
        raise click.UsageError(str(error)) from None
    except Unanswered as error:
        console.emit(f"{trace}: undecided: {error}")
        return Exit.UNDECIDED
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise click.UsageError(f"{trace} is no counterexample: {error}") from None
    if as_json:
        told = {"outcome": result.outcome.value, "on": target, "as_it_must_be": result.as_it_must_be, "lines": result.lines}
        console.emit(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        head = f"{document['obligation']}{' with ' + document['mutant'] if document['mutant'] else ''} on {target}"
        console.emit("\n".join([f"{head}: {result.outcome.value}", *(f"  {line}" for line in result.lines)]))
    return Exit.OK if result.as_it_must_be else Exit.WRONG
