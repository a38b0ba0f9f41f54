"""The evidence as one page for people: every claim with its chain from the engine's function to who has checked it.

Printed from the report of a run; nothing is kept by hand, nothing is loaded from elsewhere, and there is no script. Links lead
to the members of the bundle that it lies in. It reads on a telephone, on paper and from the keyboard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from proofs.evidence.trusted import GAPS, INFERENCES
from proofs.findings import FINDINGS
from proofs.ledger import ASSUMPTIONS

Entry = Mapping[str, Any]

STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def page(report: Entry, members: Iterable[str]) -> str:
    """The page. `members` are the names in the bundle, so that links lead somewhere."""
    present = set(members)
    theorems = [entry for entry in report["obligations"] if entry["kind"] == "theorem"]
    certified = sum(f"certificates/{entry['id']}.json" in present for entry in theorems)
    killed = sum(fault["exit"] == 0 for fault in report["faults"])
    verdict = "Everything is as it must be." if report["exit"] == 0 else "Something is not as it must be."
    counts = (
        f"{len(theorems)} theorems, {certified} with a certificate in this bundle; {killed} of {len(report['faults'])} faults of "
        f"the models were caught; {len(report['obligations']) - len(theorems)} boundaries were refuted, as they must be."
    )
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Draftproof: the evidence</title><style>{STYLE}</style></head><body>",
        '<a class="skip" href="#claims">To the claims</a>',
        "<header><h1>What is proved of the cache bookkeeping, and why it may be believed</h1>",
        f"<p>{_marked(verdict, report['exit'] == 0)}</p><p>{counts}</p></header>",
        _navigation(),
        "<main>",
        _claims(report, present),
        _matrix(report["faults"]),
        _assumptions(report["obligations"]),
        _findings(),
        _believed(),
        _checking(report, present),
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


SECTIONS = {
    "claims": "Claims",
    "faults": "Faults caught",
    "assumptions": "Assumptions",
    "findings": "Findings",
    "believed": "What must be believed",
    "again": "Checking it again",
}


def _navigation() -> str:
    links = " · ".join(f'<a href="#{anchor}">{title}</a>' for anchor, title in SECTIONS.items())
    return f'<nav aria-label="Sections"><p>{links}</p></nav>'


def _section(anchor: str, *parts: str) -> str:
    heading = f'<h2 id="h-{anchor}">{SECTIONS[anchor]}</h2>'
    return f'<section id="{anchor}" aria-labelledby="h-{anchor}">{heading}{"".join(parts)}</section>'


def _marked(text: str, good: bool) -> str:
    return f'<span class="{"good" if good else "bad"}">{escape(text)}</span>'


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _to(claim: str) -> str:
    return f'<a href="#{escape(claim)}">{_code(claim)}</a>'


def _folded(summary: str, inside: str, anchor: str = "") -> str:
    named = f' id="{escape(anchor)}"' if anchor else ""
    return f"<details{named}><summary>{summary}</summary>{inside}</details>"


def _pairs(rows: Iterable[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{term}</dt><dd>{value}</dd>" for term, value in rows if value) + "</dl>"


def _link(name: str, present: set[str], text: str = "") -> str:
    shown = escape(text or name)
    return f'<a href="{escape(name)}">{shown}</a>' if name in present else f"<span>{shown}</span>"


def _claims(report: Entry, present: set[str]) -> str:
    modules = list(dict.fromkeys(entry["id"].split("/", 1)[0] for entry in report["obligations"]))
    faults = {fault["name"]: fault for fault in report["faults"]}
    parts = []
    for module in modules:
        entries = [entry for entry in report["obligations"] if entry["id"].startswith(f"{module}/")]
        parts.append(f'<h3>{escape(module)} <span class="quiet">({len(entries)})</span></h3>')
        parts += [_claim(entry, faults, report, present) for entry in entries]
    return _section("claims", *parts)


def _claim(entry: Entry, faults: Mapping[str, Entry], report: Entry, present: set[str]) -> str:
    name, module = entry["id"], entry["id"].split("/", 1)[0]
    rules = sorted({call["rule"] for model in [*entry["witnesses"], entry["counterexample"]] if model for call in model["calls"]})
    kernel = next((check["verdict"] for check in entry["cross_checks"] if check["solver"] == "kernel"), "")
    answers = {"z3": entry["verdict"], **{c["solver"]: c["verdict"] for c in entry["cross_checks"] if c["solver"] != "kernel"}}
    accepted = "accepted by the kernel" if kernel == "unsat" else kernel
    rows = {
        "functions": ", ".join(map(_code, rules)) or "none: a lemma, or about the system",
        "model, code": f"{_code(f'spec/{module}.py')}, {_code(f'impl/reference/{module}.py')}" if rules else "",
        "statement": f"{_link(f'statements/{name}.smt2', present)} ({escape(entry['scope'] or '')})",
        "answers": escape(", ".join(f"{solver}: {answer}" for solver, answer in answers.items())),
        "certificate": f"{_link(f'certificates/{name}.json', present)} {escape(accepted)}" if kernel else "",
        "assumes": ", ".join(f'<a href="#assumptions">{number}</a>' for number in entry["assumptions"]),
        "lemmas": ", ".join(map(_code, entry["lemmas"])),
        "is not empty": escape("; ".join(model["name"] for model in entry["witnesses"] if model["found"])),
        "faults caught": "<br>".join(f"{_code(f['name'])}: {escape(faults[f['name']]['tells'])}" for f in entry["mutants"]),
        "source proofs": escape(_sources(rules, report)),
        "device": escape("; ".join(f"{record['name']}: {record['status']}" for record in report["records"])) if rules else "",
    }
    summary = (
        f'{escape(entry["claim"])} {_marked(entry["verdict"], entry["exit"] == 0)}<br><span class="id quiet">{escape(name)}</span>'
    )
    return _folded(summary, _pairs(rows.items()), name)


def _sources(rules: Sequence[str], report: Entry) -> str:
    mine = [source for source in report["sources"] if any(rule in source["name"] for rule in rules)]
    return "; ".join(f"{source['name']}: {source['verdict']}" for source in mine)


def _matrix(faults: Sequence[Entry]) -> str:
    """Rows are claims, columns faults: a filled square where the claim caught the fault."""
    claims = list(dict.fromkeys(fault["refuted_by"] for fault in faults))
    size = 6
    squares = [_square(size, column, claims.index(fault["refuted_by"]), fault) for column, fault in enumerate(faults)]
    wide, high = size * len(faults), size * len(claims)
    caught = sum(fault["exit"] == 0 for fault in faults)
    told = f"{caught} of {len(faults)} faults, each a column, are caught by {len(claims)} claims, each a row."
    picture = f'<svg viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img" aria-label="{told}">'
    picture += f'<rect width="{wide}" height="{high}" fill="none" stroke="currentColor" stroke-opacity=".3"/>'
    head = "<tr><th>fault</th><th>what it does</th><th>caught by</th><th>verdict</th></tr>"
    table = f'<div class="scroll"><table>{head}{"".join(map(_fault, faults))}</table></div>'
    return _section("faults", f"<p>{told}</p>{picture}{''.join(squares)}</svg>", _folded("The same as a table", table))


def _square(size: int, column: int, row: int, fault: Entry) -> str:
    title = escape(f"{fault['name']} caught by {fault['refuted_by']}")
    colour = "#1a7f37" if fault["exit"] == 0 else "#cf222e"
    place = f'x="{size * column}" y="{size * row}" width="{size - 1}" height="{size - 1}"'
    return f'<rect {place} fill="{colour}"><title>{title}</title></rect>'


def _fault(fault: Entry) -> str:
    cells = (_code(fault["name"]), escape(fault["tells"]), _to(fault["refuted_by"]), escape(fault["verdict"]))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _assumptions(obligations: Sequence[Entry]) -> str:
    users = Counter(number for entry in obligations for number in entry["assumptions"])
    rows = []
    for assumption in ASSUMPTIONS:
        shown = [*map(_to, assumption.boundaries), *[f"the run {_code(name)}" for name in assumption.traces]]
        told = f"{users[assumption.number]} claims state it. Without it: {', '.join(shown) or 'see the ledger'}"
        text = f'{escape(assumption.tells)} {escape(assumption.remark)}<br><span class="quiet">{told}</span>'
        rows.append((assumption.number, text))
    return _section("assumptions", _pairs(rows))


def _findings() -> str:
    parts = []
    for finding in FINDINGS:
        backed = ", ".join([*map(_to, finding.obligations), *[f"the run {_code(name)}" for name in finding.traces]])
        summary = f'{escape(finding.tells)} <span class="quiet">({escape(finding.harm.value)})</span>'
        parts.append(_folded(summary, f"<p>{backed or 'the key space, counted'}</p>"))
    return _section("findings", *parts)


def _believed() -> str:
    rules = _pairs((f"{rule.number} {escape(rule.name)}", escape(rule.says)) for rule in INFERENCES)
    gaps = _pairs(
        (gap.number, f"{escape(gap.gap)} {escape(gap.mitigation)} <i>Remains:</i> {escape(gap.residual)}") for gap in GAPS
    )
    return _section("believed", "<h3>Rules of inference outside the solvers</h3>", rules, "<h3>What is not proved</h3>", gaps)


def _checking(report: Entry, present: set[str]) -> str:
    solvers = ", ".join(f"{solver['name']} {solver['version']}" for solver in report["solvers"])
    records = "; ".join(f"{record['name']}: {record['status']}, {record['reason']}" for record in report["records"]) or "none"
    how = (
        "Take <code>verify.py</code> out of the archive and run <code>python -I -S verify.py ARCHIVE</code>: it needs Python 3.11 "
        "or later and nothing else, checks every certificate without a solver, and says what is only reported."
    )
    parts = ("manifest.json", "report.json", "inventory.json", "trusted-base.json", "SOUNDNESS.md", "ASSUMPTIONS.md", "verify.py")
    links = ", ".join(_link(name, present) for name in parts if name in present)
    told = f"Solvers: {escape(solvers)}. Records of device runs: {escape(records)}."
    return _section("again", f"<p>{how}</p><p>{told}</p><p>{links}</p>")
