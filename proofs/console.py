"""How a report is shown: fixed columns, failures last, colour on a terminal alone.

Everything is read from the report, so a report that was kept shows as the run did.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from proofs.exits import Exit

Entry = Mapping[str, Any]

_COLOURS = {"proved": "green", "refuted": "red", "undecided": "yellow", "vacuous": "red"}


def emit(text: str) -> None:
    """Prints, without colour unless to a terminal. A reader that has gone away stops the output and nothing else."""
    try:
        click.echo(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered would raise again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def progress(total: int, *, after: float = 2.0) -> Iterator[Callable[[], None]]:
    """Gives a function to call at each step; on a terminal a line with the count appears once it takes a while."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    bar = Progress(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=total)
    timer = threading.Timer(after, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda: bar.advance(task)
    finally:
        timer.cancel()
        bar.stop()


def shown(report: Entry) -> str:
    """The whole report for people."""
    width = max((len(entry["id"]) for entry in report["obligations"]), default=0)
    lines = [_row(entry, width) for entry in report["obligations"] if entry["exit"] == Exit.OK]
    lines += _situations(report["situations"])
    lines += _full(report) + _words(report)
    lines += _summary(report)
    lines += _failures(report, width)
    lines += ["", _last_line(report)]
    return "\n".join(lines)


def _row(entry: Entry, width: int) -> str:
    found = sum(witness["found"] is True for witness in entry["witnesses"])
    killed = sum(mutant["verdict"] == "refuted" for mutant in entry["mutants"])
    columns = [
        entry["id"].ljust(width),
        _verdict(entry["verdict"]),
        f"cost {entry['cost']}".ljust(12),
        f"witnesses {found}/{len(entry['witnesses'])}",
        click.style(f"mutants {killed}/{len(entry['mutants'])}", fg="yellow" if _unmutated(entry) else None),
    ]
    kernel = [check["verdict"] for check in entry["cross_checks"] if check["solver"] == "kernel"]
    columns += [f"certificate {'checked' if verdict == 'unsat' else verdict}" for verdict in kernel]
    return "   ".join(columns)


def _unmutated(entry: Entry) -> bool:
    """A theorem about a rule that no mutant of the rule has put to the test. Lemmas speak of no rule, so they call none."""
    calls = any(witness["calls"] for witness in entry["witnesses"])
    return bool(entry["kind"] == "theorem" and calls and not entry["mutants"])


def _verdict(verdict: str, wanted: bool = True) -> str:
    colour = _COLOURS[verdict] if wanted or verdict != "proved" else "red"
    return click.style(verdict.upper().ljust(9), fg="green" if wanted and verdict == "refuted" else colour)


def _situations(situations: Sequence[Entry]) -> list[str]:
    if not situations:
        return []
    lines = ["", "Engine situations, on model and reference"]
    for entry in situations:
        lines.append(f"  {entry['id'].removeprefix('situations/')}: {entry['tells']}")
        width = max((len(fact["tells"]) for fact in entry["facts"]), default=0)
        for fact in entry["facts"]:
            wrong = "" if fact["holds"] else click.style(f"   must be {_brief(fact['expected'])}", fg="red")
            lines.append(f"    {fact['tells'].ljust(width)}   {_brief(fact['found'])}{wrong}")
    return lines


def _full(report: Entry) -> list[str]:
    if not report["options"]["full"] or not report["obligations"]:
        return []
    entries = report["obligations"]
    width = max(len(entry["id"]) for entry in entries)
    lines = ["", "Costs over other seeds, and bounded second tellings"]
    for entry in entries:
        costs = [seed["cost"] for seed in entry["seeds"]]
        again = entry["second_telling"]
        told = f"   up to {again['bound']}: {again['verdict']}" if again else ""
        lines.append(f"  {entry['id'].ljust(width)}   {min(costs)} .. {max(costs)}{told}")
    return lines


def _words(report: Entry) -> list[str]:
    words = report["confirmations"]
    if not words:
        return []
    width = max(len(entry["id"]) for entry in words)
    lines = ["", "The same in 64-bit bit-vectors"]
    for entry in words:
        killed = sum(mutant["verdict"] == "refuted" for mutant in entry["mutants"])
        told = f"mutants {killed}/{len(entry['mutants'])}" if not entry["unfinished"] else entry["reason"]
        verdict = f"{entry['verdict'].upper()} (bit-vectors)" if entry["unfinished"] else _verdict(entry["verdict"])
        lines.append(f"  {entry['id'].ljust(width)}   {verdict}   {told}")
    return lines


def _summary(report: Entry) -> list[str]:
    lines = ["", f"{'module':12}{'theorems':>10}{'boundaries':>12}{'mutants':>10}{'cost':>12}{'seconds':>10}"]
    modules = dict.fromkeys(entry["id"].split("/", 1)[0] for entry in report["obligations"])
    for module in modules:
        entries = [entry for entry in report["obligations"] if entry["id"].startswith(f"{module}/")]
        lines.append(_module(module, entries))
    lines.append(_module("all", report["obligations"]))
    scopes = Counter(entry["scope"] for entry in report["obligations"] if entry["kind"] == "theorem" and entry["scope"])
    assumptions = Counter(name for entry in report["obligations"] for name in entry["assumptions"])
    unmutated = Counter(entry["id"].split("/", 1)[0] for entry in report["obligations"] if _unmutated(entry))
    if unmutated:
        lines += ["", f"no mutant    {unmutated.total()} theorems about a rule: {_counted(unmutated)}"]
    lines += ["", f"scope        {_counted(scopes)}", f"assumptions  {_counted(assumptions)} (DESIGN, section 4)"]
    lines.append("solvers      " + ", ".join(f"{solver['name']} {solver['version']}" for solver in report["solvers"]))
    if words := report["confirmations"]:
        finished = [entry for entry in words if not entry["unfinished"]]
        as_it_must = sum(entry["exit"] == Exit.OK for entry in finished)
        left = f"; {len(words) - len(finished)} more do not finish, and count for nothing" if len(words) > len(finished) else ""
        lines.append(f"bit-vectors  {as_it_must}/{len(finished)} claims told again as they must be{left}")
    for kind, key in (("sources", "verdict"), ("records", "status")):
        if report[kind]:
            lines.append(f"{kind:13}{_counted(Counter(entry[key] for entry in report[kind]))}")
    return lines


def _module(name: str, entries: Sequence[Entry]) -> str:
    def share(kind: str, wanted: str) -> str:
        of_kind = [entry for entry in entries if entry["kind"] == kind]
        return f"{sum(entry['verdict'] == wanted for entry in of_kind)}/{len(of_kind)}"

    mutants = [mutant for entry in entries for mutant in entry["mutants"]]
    killed = f"{sum(mutant['verdict'] == 'refuted' for mutant in mutants)}/{len(mutants)}"
    cost, seconds = sum(entry["cost"] for entry in entries), sum(entry["seconds"] for entry in entries)
    theorems, boundaries = share("theorem", "proved"), share("boundary", "refuted")
    return f"{name:12}{theorems:>10}{boundaries:>12}{killed:>10}{cost:>12}{seconds:>10.2f}"


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} ({number})" for name, number in sorted(counter.items())) or "none"


def _failures(report: Entry, width: int) -> list[str]:
    lines: list[str] = []
    for entry in report["inventory"]:
        lines += [f"{entry['name'].ljust(width)}   {click.style(entry['what'].upper(), fg='red')}"]
        lines += [f"  why      {entry['tells']}", "  remedy   review it, then `draftproof inventory --write`"]
    for entry in report["situations"]:
        if entry["exit"]:
            lines += [f"{entry['id'].ljust(width)}   {_verdict(entry['verdict'], wanted=False)}"]
            lines += _why(entry) + [f"  differs  {difference}" for difference in entry["differences"]]
    for entry in report["confirmations"]:
        if entry["exit"]:
            lines += [f"{entry['id'].ljust(width)}   {_verdict(entry['verdict'], wanted=False)}   bit-vectors", *_why(entry)]
            lines += [f"  mutant   {m['name']}: {m['verdict']}" for m in entry["mutants"] if m["verdict"] != "refuted"]
    for entry in report["faults"]:
        if entry["exit"]:
            lines += [f"{entry['name'].ljust(width)}   {_verdict(entry['verdict'], wanted=False)}   mutant"]
            lines += [f"  fault    {entry['tells']}", *_why(entry), *_calls(entry["counterexample"])]
    for entry in report["sources"]:
        if entry["verdict"] not in ("proved", "outside"):
            lines += [f"{entry['name'].ljust(width)}   {_verdict(entry['verdict'], wanted=False)}   source"]
            lines += [f"  why      {entry.get('reason', '')}"]
    for entry in report["records"]:
        if report["options"]["strict"] and entry["status"] != "fresh":
            lines += [f"{entry['name'].ljust(width)}   {click.style(entry['status'].upper(), fg='red')}   record"]
    for entry in report["obligations"]:
        if entry["exit"]:
            lines += _failure(entry, width)
    return ["", *lines] if lines else []


def _failure(entry: Entry, width: int) -> list[str]:
    lines = [f"{entry['id'].ljust(width)}   {_verdict(entry['verdict'], wanted=False)}   {entry['kind']}"]
    lines += [f"  claim    {entry['claim']}", *_why(entry)]
    lines += [f"  vacuous  {witness['name']}" for witness in entry["witnesses"] if witness["found"] is False]
    lines += _calls(entry["counterexample"])
    if again := entry.get("second_telling"):
        lines += [f"  bounded  {again['verdict']} up to {again['bound']}: {again['reason']}"] if again["exit"] else []
    changed = [seed for seed in entry.get("seeds", ()) if seed["verdict"] != entry["verdict"]]
    lines += [f"  seed     {seed['seed']}: {seed['verdict']}" for seed in changed]
    return lines


def _why(entry: Entry) -> list[str]:
    return [f"  why      {entry['reason']}"] if entry["reason"] else []


def _calls(model: Entry | None) -> Iterable[str]:
    for call in model["calls"] if model else ():
        told = ", ".join(f"{name}={_brief(value)}" for name, value in call["arguments"].items())
        sides = f"model {_brief(call['model'])}   code {_brief(call['code'])}"
        yield f"  call     {call['rule']}({told})"
        yield f"           {sides}" + ("" if call["agree"] else click.style("   differ", fg="red"))


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:97]}..."


def claims(report: Entry) -> str:
    """One line per claim."""
    width = max((len(entry["id"]) for entry in report["obligations"]), default=0)
    rows = (
        f"{entry['id'].ljust(width)}   {_verdict(entry['verdict'], wanted=not entry['exit'])}   "
        f"{(entry['scope'] or '').ljust(9)}   {entry['claim']}"
        for entry in report["obligations"]
    )
    return "\n".join([*rows, "", _last_line(report)])


def changed(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The files that were added, removed or changed between two sets of digests."""
    return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


def _last_line(report: Entry) -> str:
    obligations, faults = report["obligations"], report["faults"]
    right = sum(entry["exit"] == Exit.OK for entry in obligations)
    killed = sum(entry["exit"] == Exit.OK for entry in faults)
    whole = "complete" if report["complete"] else "not complete"
    if report["options"]["only"] is not None:
        whole = f"only {report['options']['only']}"
    word = {
        0: ("as it must be", "green"),
        1: ("WRONG", "red"),
        3: ("UNDECIDED", "yellow"),
        4: ("INTERNAL ERROR", "red"),
    }
    text, colour = word[report["exit"]]
    told = f"{right}/{len(obligations)} obligations and {killed}/{len(faults)} mutants as they must be"
    return f"{click.style(text, fg=colour)}: {told}, {whole}, {report['seconds']:.1f} s"
