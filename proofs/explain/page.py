"""An explanation as one page of its own: a drawn timeline to step through, by keyboard or touch, with nothing to fetch.

Every step is drawn beforehand, as SVG; the script shows one of them. Without scripts, and on paper, all are
shown. What colours tell is told by letters and marks too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from proofs.explain.explanation import Explanation, Told, brief
from proofs.explain.timeline import cast, drafter_row, is_bad_block, is_bad_row, letter, lines, owners
from proofs.traces.trace import Trace

_COLOURS = ("#9aa0a6", "#4e79a7", "#e8a838", "#59a14f", "#b07aa1")
_WIDTH, _CELL, _LANE = 340, 62, 44


def page(explanation: Explanation) -> str:
    """The whole page."""
    e = explanation
    facts = [
        ("claim", e.claim),
        ("mutant" if e.mutant else "rules", f"{e.mutant}: {e.fault}" if e.mutant else e.fault),
        ("harm", e.harm),
        ("why", e.reason),
    ]
    facts += [("scope", e.scope), ("minimal", e.minimal), ("parts", _parts(e)), ("witnesses", "; ".join(e.witnesses))]
    told = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in facts if text)
    steps = list(_trace_steps(e.trace, e.parts_at) if e.trace is not None else _call_steps(e.calls, e.parts_at))
    dots = "".join(_dot(number, mark) for number, (mark, _) in enumerate(steps, start=1))
    sections = "".join(f'<section id="step{n}" class="step">{body}</section>' for n, (_, body) in enumerate(steps, start=1))
    who = "".join(f"<li>{escape(line)}</li>" for line in (cast(e.trace) if e.trace is not None else ()))
    return _PAGE.format(
        title=escape(e.obligation),
        verdict=e.verdict.value,
        facts=told,
        cast=f"<ul>{who}</ul>" if who else "",
        dots=dots,
        steps=sections,
        controls="" if steps else " hidden",
    )


def _parts(e: Explanation) -> str:
    where = f"at {'step' if e.trace is not None else 'call'} {e.parts_at}: " if e.parts_at else ""
    return where + e.parts if e.parts else ""


def _dot(number: int, mark: str) -> str:
    told = {"!": ", harm", "≠": ", parts here", "": ""}[mark]
    return f'<button type="button" data-step="{number}" aria-label="step {number}{told}">{number}{mark}</button>'


def _call_steps(calls: Sequence[Told], parts_at: int | None) -> Iterator[tuple[str, str]]:
    for number, call in enumerate(calls, start=1):
        rows = [(name, brief(value), "") for name, value in call.arguments.items()]
        who = "the mutant gives" if call.changed else "the rule gives"
        rows += [(who, brief(call.gives), "bad" if call.parts else ""), (f"the {call.by} gives", brief(call.right), "")]
        told = "".join(f'<tr class="{kind}"><th>{escape(name)}</th><td>{escape(text)}</td></tr>' for name, text, kind in rows)
        here = f"<p class=bad>Here they part: {escape(call.parts)}.</p>" if number == parts_at else ""
        release = " in a release build" if call.profile == "release" else ""
        yield "≠" if number == parts_at else "", f"<h2>Call {number}: {escape(call.rule)}{release}</h2><table>{told}</table>{here}"


def _trace_steps(trace: Trace, parts_at: int | None) -> Iterator[tuple[str, str]]:
    for line, step in zip(lines(trace), trace.steps, strict=True):
        marks = ["Here the right engine parts."] * (line.number == parts_at) + ["Here the harm stands."] * line.bad
        said = "".join(f"<p class=bad>{mark}</p>" for mark in marks)
        harm, place = (trace.harm, trace.place) if line.bad else ("", ())
        drawn = _drawn(step.after, harm, place) if "store" in step.after else ""
        columns = "".join(f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in line.columns.items())
        mark = "!" if line.bad else "≠" if line.number == parts_at else ""
        yield mark, f"<h2>Step {line.number}: {escape(line.action)}</h2>{drawn}<table>{columns}</table>{said}"


def _drawn(after: Mapping[str, Any], harm: str, place: Sequence[int]) -> str:
    """The state: a lane each for the hidden store, every holder and the blocks."""
    lanes: list[tuple[str, list[_Cell]]] = [("hidden", [_hidden_cell(cell) for cell in after["store"]])]
    for h, holder in sorted(after["holders"].items(), key=lambda item: (item[0] == "0", item[0])):
        rows = enumerate(holder["drafter"])
        lanes.append(
            (letter(int(h)), [_Cell(drafter_row(row), row["maker"], is_bad_row(harm, place, int(h), r)) for r, row in rows])
        )
    blocks = []
    for b in range(len(after["free"])):
        writing = f" ✎{after['pending'][b]}" if after["pending"][b] >= 0 else ""
        blocks.append(_Cell(f"{b}: {'+'.join(owners(after, b)) or 'lost'}{writing}", 0, is_bad_block(harm, place, b)))
    lanes.append(("blocks", blocks))
    height = _LANE * len(lanes) + 12
    parts = [f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="the state after this step">']
    for number, (name, cells) in enumerate(lanes):
        y = number * _LANE + 10
        parts.append(f'<text x="2" y="{y + 19}">{escape(name)}</text>')
        if not cells:
            parts.append(f'<text x="58" y="{y + 19}" class="none">no rows</text>')
        width = _CELL if name != "blocks" else 2 * _CELL
        parts += [_rectangle(58 + c * (width + 6), y, width, cell) for c, cell in enumerate(cells)]
    stamp = after["stamp"]
    if stamp["hi"] > stamp["lo"]:
        left, right = 58 + stamp["lo"] * (_CELL + 6), 58 + stamp["hi"] * (_CELL + 6) - 6
        parts.append(f'<path d="M{left} 4H{right}" class="range"/>')
    return "".join([*parts, "</svg>"])


class _Cell(NamedTuple):
    """A drawn row or block: its text, whose it is (0 and below: nobody's), the harm is about it, its write has not landed."""

    text: str
    whose: int
    bad: bool = False
    late: bool = False


def _hidden_cell(cell: Sequence[Any]) -> _Cell:
    writer, position, landed = cell
    return _Cell("·" if writer < 0 else f"{letter(writer)}{position}", writer, late=not landed and writer >= 0)


def _rectangle(x: int, y: int, width: int, cell: _Cell) -> str:
    fill = _COLOURS[cell.whose % len(_COLOURS)] if cell.whose > 0 else "none"
    kind = " ".join(["cell", *(["late"] if cell.late else []), *(["badcell"] if cell.bad else [])])
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="28" rx="4" fill="{fill}" fill-opacity=".35" class="{kind}"/>'
        f'<text x="{x + width / 2}" y="{y + 19}" text-anchor="middle">{escape(cell.text)}{"!" if cell.bad else ""}</text>'
    )


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --bad: light-dark(#b00020, #ff8a80); }}
body {{ font: 16px/1.45 system-ui, sans-serif; max-width: 44rem; margin: 0 auto; padding: .75rem; overflow-wrap: anywhere; }}
h1 {{ font-size: 1.15rem; }} h2 {{ font-size: 1.05rem; margin: .5rem 0; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .2rem .75rem; margin: 0; }}
dd {{ margin: 0; }} dt {{ opacity: .7; }}
table {{ border-collapse: collapse; width: 100%; }} td {{ font-family: ui-monospace, monospace; }}
th, td {{ text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0; }} th {{ font-weight: 500; opacity: .75; }}
th {{ width: 6rem; }}
svg {{ width: 100%; max-width: 27rem; height: auto; }} svg text {{ font: 13px ui-monospace, monospace; fill: currentColor; }}
.cell {{ stroke: currentColor; }} .late {{ stroke-dasharray: 4 3; }} .badcell {{ stroke: var(--bad); stroke-width: 3.5; }}
.range {{ stroke: currentColor; stroke-width: 3; }} .none {{ opacity: .6; }}
.bad, .bad td {{ color: var(--bad); font-weight: 600; }}
nav {{ display: flex; flex-wrap: wrap; gap: .3rem; margin: 1rem 0 .5rem; }}
nav button {{ font: inherit; min-width: 2.6rem; min-height: 2.6rem; }}
nav [aria-current] {{ background: CanvasText; color: Canvas; font-weight: 600; }}
:focus-visible {{ outline: 3px solid light-dark(#1a56db, #8ab4f8); outline-offset: 2px; }}
@media screen {{ .stepping .step:not(.shown) {{ display: none; }} }}
@media print {{
  :root {{ color-scheme: light; }} nav, .keys {{ display: none; }}
  .step {{ break-inside: avoid; }} svg {{ max-width: 22rem; print-color-adjust: exact; }}
}}
</style>
</head>
<body>
<h1>{title}: {verdict}</h1>
<dl>{facts}</dl>
{cast}
<nav aria-label="steps"{controls}><button type="button" id="back" aria-label="previous step">←</button>{dots}<button
 type="button" id="on" aria-label="next step">→</button></nav>
<main aria-live="polite">{steps}</main>
<footer{controls}><p><small><span class="keys">Arrow keys, Home and End step. </span>Rows are letters of their makers with
their key; after &lt; the hidden row that one was made from; a dashed hidden row has not landed; the line above hidden rows is the
range; ! is what the harm is about.</small></p></footer>
<script>
const steps = [...document.querySelectorAll(".step")], dots = [...document.querySelectorAll("[data-step]")];
let now = 0;
function show(to) {{
  if (!steps.length) return;
  now = Math.max(0, Math.min(steps.length - 1, to));
  steps.forEach((step, i) => step.classList.toggle("shown", i === now));
  dots.forEach((dot, i) => i === now ? dot.setAttribute("aria-current", "step") : dot.removeAttribute("aria-current"));
}}
document.body.classList.add("stepping");
dots.forEach((dot, i) => dot.addEventListener("click", () => show(i)));
document.getElementById("back").addEventListener("click", () => show(now - 1));
document.getElementById("on").addEventListener("click", () => show(now + 1));
document.addEventListener("keydown", event => {{
  const to = {{ ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: steps.length - 1 }}[event.key];
  if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  show(to);
  // Who stands on a step goes along.
  if (dots.includes(document.activeElement)) dots[now].focus();
}});
show(0);
</script>
</body>
</html>
"""
