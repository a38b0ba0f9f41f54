"""An explanation as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import click

from proofs.explain.explanation import Explanation, Told, brief
from proofs.explain.timeline import Line, cast, lines
from proofs.judge import Verdict


def told(explanation: Explanation) -> str:
    """The whole explanation."""
    return "\n".join(_told(explanation))


def _told(e: Explanation) -> Iterator[str]:
    colour = "green" if e.verdict is Verdict.PROVED else "red"
    yield f"{e.obligation}   {click.style(e.verdict.value.upper(), fg=colour)}   {e.kind}"
    yield f"  claim    {e.claim}"
    if e.mutant:
        yield f"  mutant   {e.mutant}: {e.fault}"
    elif e.fault:
        yield f"  rules    {e.fault}"
    if e.harm:
        yield f"  harm     {e.harm}"
    if e.reason:
        yield f"  why      {e.reason}"
    if e.scope:
        yield f"  scope    {e.scope}"
    if e.minimal:
        yield f"  minimal  {e.minimal}"
    if e.trace is not None:
        yield ""
        yield from (f"  {who}" for who in cast(e.trace))
        yield ""
        yield from table(lines(e.trace), e.parts_at)
    calls = [call for call in e.calls if call.parts] if e.trace is not None else list(e.calls)
    if calls:
        yield ""
        for number, call in enumerate(calls, start=1):
            who = ("the mutant" if e.mutant else "your rule") if call.changed else "the rule"
            yield from _call(call, number, who, parts=e.trace is None and number == e.parts_at)
    if e.numbers:
        yield "  where    " + ", ".join(f"{name} = {value}" for name, value in e.numbers.items())
    if e.verdict is Verdict.REFUTED and e.parts:
        what = "step" if e.trace is not None else "call"
        yield f"  parts    {f'at {what} {e.parts_at}: ' if e.parts_at else ''}{e.parts}"
    elif e.verdict is Verdict.REFUTED and e.trace is None:
        yield "  parts    nowhere: the code does what the counterexample says"
    if e.witnesses:
        yield "  witness  " + "; ".join(e.witnesses)
    if e.verdict is Verdict.PROVED and not e.fault:
        yield "  refutes  " + (", ".join(e.refutes) or "no registered mutant")


def _call(call: Told, number: int, who: str, *, parts: bool) -> Iterator[str]:
    arguments = ", ".join(f"{name}={brief(value)}" for name, value in call.arguments.items())
    release = " in a release build" if call.profile == "release" else ""
    yield f"  call {number}   {call.rule}({arguments}){release}"
    yield f"           {who} gives {brief(call.gives)}"
    right = f"           the {call.by} gives {brief(call.right)}"
    yield right + (click.style("   <- here they part", fg="red") if parts else "")


def table(rows: tuple[Line, ...], parts_at: int | None) -> Iterator[str]:
    """A timeline in fixed columns."""
    if not rows:
        return
    names = list(rows[0].columns)
    head = ["step", "action", *names]
    body = [[str(row.number), row.action, *row.columns.values()] for row in rows]
    widths = [max(len(line[c]) for line in [head, *body]) for c in range(len(head))]
    yield "  " + "   ".join(text.ljust(width) for text, width in zip(head, widths, strict=True)).rstrip()
    for row, cells in zip(rows, body, strict=True):
        line = "  " + "   ".join(text.ljust(width) for text, width in zip(cells, widths, strict=True)).rstrip()
        marks = ["parts here"] * (row.number == parts_at) + ["harm"] * row.bad
        yield line + (click.style(f"   <- {', '.join(marks)}", fg="red") if marks else "")
