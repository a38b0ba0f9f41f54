"""The evidence as one page for people: every claim with its chain from the engine's function to who has checked it.

Printed from the report of a run; nothing is kept by hand, nothing is loaded from elsewhere, and there is no script. Links lead
to the members of the bundle that it lies in, or into the checkout. It reads on a telephone, on paper and from the keyboard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from proofs.evidence import argument
from proofs.evidence.trusted import GAPS, INFERENCES
from proofs.findings import FINDINGS
from proofs.ledger import ASSUMPTIONS
from proofs.traces.faults import SYSTEM_FAULTS

Entry = Mapping[str, Any]
Links = Callable[[str], str | None]
"""Where a part of a bundle, called by its name there, is to be found from the page; None where it is not."""

STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def page(report: Entry, tested: Entry, links: Links) -> str:
    """The page. `tested` holds `tests.json` and `vectors.json`."""
    told = _Told(report=report, tested=tested, links=links)
    theorems = [entry for entry in report["obligations"] if entry["kind"] == "theorem"]
    certified = sum(told.has(f"certificates/{entry['id']}.json") for entry in theorems)
    killed = sum(fault["exit"] == 0 for fault in report["faults"])
    verdict = "Everything is as it must be." if report["exit"] == 0 else "Something is not as it must be."
    counts = (
        f"{len(theorems)} theorems, {certified} with a certificate here; {killed} of {len(report['faults'])} faults of "
        f"the models were caught; {len(report['obligations']) - len(theorems)} boundaries were refuted, as they must be."
    )
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Draftproof: the evidence</title><style>{STYLE}</style></head><body>",
        '<a class="skip" href="#claims">To the claims</a>',
        "<header><h1>What is proved of the cache bookkeeping, and why it may be believed</h1>",
        f"<p>{_marked(verdict, report['exit'] == 0)} {counts}</p></header>",
        _navigation(),
        "<main>",
        _section("argument", argument.drawn(report, tested, links)),
        told.claims(),
        _matrix(report["faults"]),
        _assumptions(report["obligations"], links),
        _findings(),
        _section("believed", _pairs((f"{rule.number} {escape(rule.name)}", escape(rule.says)) for rule in INFERENCES)),
        _section("unproved", _pairs((gap.number, _gap(gap)) for gap in GAPS)),
        told.checking(),
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


SECTIONS = {
    "argument": "The argument",
    "claims": "Claims",
    "faults": "Faults caught",
    "assumptions": "Assumptions",
    "findings": "Findings",
    "believed": "Inferences that no solver sees",
    "unproved": "What is not proved",
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


class _Told:
    """What is told of the claims of one report."""

    def __init__(self, *, report: Entry, tested: Entry, links: Links) -> None:
        self.report, self.links = report, links
        self.faults = {fault["name"]: fault for fault in report["faults"]}
        self.tests: Entry = tested["tests.json"]
        self.by_module = Counter[tuple[str, str]]()
        for name, outcome in self.tests.get("outcomes", {}).items():
            self.by_module[name.partition("::")[0], outcome] += 1

    def has(self, name: str) -> bool:
        return self.links(name) is not None

    def link(self, name: str, text: str = "") -> str:
        """A link to a part, or its name where it is not at hand."""
        shown, place = escape(text or name.removeprefix("sources/")), self.links(name)
        return f"<span>{shown}</span>" if place is None else f'<a href="{escape(place)}">{shown}</a>'

    def claims(self) -> str:
        modules = list(dict.fromkeys(entry["id"].split("/", 1)[0] for entry in self.report["obligations"]))
        parts = []
        for module in modules:
            entries = [entry for entry in self.report["obligations"] if entry["id"].startswith(f"{module}/")]
            told = escape(argument.claim_of(module))
            parts.append(f'<h3 id="module-{escape(module)}">{escape(module)} <span class="quiet">({len(entries)})</span></h3>')
            parts.append(f"<p>{told}</p>")
            parts += [self.claim(entry) for entry in entries]
        return _section("claims", *parts)

    def claim(self, entry: Entry) -> str:
        """The chain of one claim, from the engine's function to the source proof."""
        name, module = entry["id"], entry["id"].split("/", 1)[0]
        models = [model for model in [*entry["witnesses"], entry["counterexample"]] if model]
        rules = sorted({call["rule"] for model in models for call in model["calls"]})
        kernel = next((check["verdict"] for check in entry["cross_checks"] if check["solver"] == "kernel"), "")
        answers = {"z3": entry["verdict"], **{c["solver"]: c["verdict"] for c in entry["cross_checks"] if c["solver"] != "kernel"}}
        accepted = "accepted by the kernel" if kernel == "unsat" else kernel
        about = "the carry as a whole" if module == "system" else "none: a lemma"
        caught = (f"{_code(f['name'])}: {escape(self.faults[f['name']]['tells'])}" for f in entry["mutants"])
        rows = {
            "function": ", ".join(map(_code, rules)) or about,
            "claim": f"{self.link(f'sources/proofs/claims/{module}.py')}, {escape(entry['scope'] or '')}",
            "model": self.link(f"sources/spec/{module}.py") if self.has(f"sources/spec/{module}.py") else "",
            "obligation": self.link(f"statements/{name}.smt2"),
            "answers": escape(", ".join(f"{solver}: {answer}" for solver, answer in answers.items())),
            "certificate": f"{self.link(f'certificates/{name}.json')} {escape(accepted)}" if kernel else "",
            "assumes": ", ".join(f'<a href="#{number}">{number}</a>' for number in entry["assumptions"]),
            "lemmas": ", ".join(map(_to, entry["lemmas"])),
            "is not empty": escape("; ".join(model["name"] for model in entry["witnesses"] if model["found"])),
            "faults caught": "<br>".join(caught),
            "tests": self.tested(module, bool(rules) or module == "system"),
            "device": "; ".join(map(self.record, self.report["records"])) if rules else "",
            "source proofs": self.sources(rules),
        }
        verdict = _marked(entry["verdict"], entry["exit"] == 0)
        summary = f'{escape(entry["claim"])} {verdict}<br><span class="id quiet">{escape(name)}</span>'
        return _folded(summary, _pairs(rows.items()), name)

    def tested(self, module: str, about_the_engine: bool) -> str:
        """The test modules that share the claim's basename, or hold all models to the code, with their outcomes."""
        if not about_the_engine:
            return ""
        wanted = [f"tests/reference/test_{module}.py", "tests/spec/test_models_against_the_reference.py"]
        if module == "system":
            wanted = [path for path in self.tests.get("tests", {}) if path.startswith("tests/system/test_")]
        told = []
        for path in wanted:
            dotted = path.removesuffix(".py").replace("/", ".")
            counts = [f"{self.by_module[dotted, o]} {o}" for o in ("passed", "failed", "skipped") if self.by_module[dotted, o]]
            place = f"sources/{path}" if self.has(f"sources/{path}") else "tests.json"
            if counts or place != "tests.json":
                told.append(f"{self.link(place, path)}: {', '.join(counts) or 'no outcome is known'}")
        return "; ".join(told) or f"no outcome is known: {escape(self.tests.get('absent', 'not among the tests that ran'))}"

    def record(self, record: Entry) -> str:
        name = f"records/{record['name']}.json"
        return f"{self.link(name, record['name'])}: {escape(record['status'])}"

    def sources(self, rules: Sequence[str]) -> str:
        told = []
        for source in self.report["sources"]:
            file, _, function = source["name"].partition("::")
            if function.rsplit("::", 1)[-1] in rules:
                line = f":{source['line']}" if source.get("line") else ""
                told.append(f"{self.link(f'sources/{file}', f'{file}{line}')} {_code(function)}: {escape(source['verdict'])}")
        return "<br>".join(told)

    def checking(self) -> str:
        report = self.report
        solvers = ", ".join(f"{solver['name']} {solver['version']}" for solver in report["solvers"])
        records = "; ".join(f"{self.record(record)}, {escape(record['reason'])}" for record in report["records"]) or "none"
        how = (
            "Take <code>verify.py</code> out of the archive and run <code>python -I -S verify.py ARCHIVE</code>: it needs Python "
            "3.11 or later and nothing else, checks every certificate without a solver, and says what is only reported."
        )
        parts = ("manifest.json", "report.json", "junit.xml", "results.sarif", "inventory.json", "tests.json", "vectors.json")
        more = ("trusted-base.json", "environment.cdx.json", "SOUNDNESS.md", "ASSUMPTIONS.md", "requirements.lock", "verify.py")
        links = ", ".join(self.link(name) for name in (*parts, *more) if self.has(name))
        told = f"Solvers: {escape(solvers)}. Records of device runs: {records}. {escape(argument.of_tests(self.tests))}"
        return _section("again", f"<p>{how}</p><p>{told}</p><p>{links}</p>")


SQUARE, GAP, WIDE = 9, 6, 640
"""Sizes in the picture of the faults, in pixels."""


def _matrix(faults: Sequence[Entry]) -> str:
    """For each module a picture with a square for each fault; those that one claim caught stand together."""
    caught = sum(fault["exit"] == 0 for fault in faults)
    claims = dict.fromkeys(fault["refuted_by"] for fault in faults)
    told = (
        f"{caught} of {len(faults)} faults, each a square, are caught by {len(claims)} claims; squares that touch were caught "
        "by the same claim."
    )
    pictures = []
    for module in dict.fromkeys(claim.split("/", 1)[0] for claim in claims):
        groups = [[fault for fault in faults if fault["refuted_by"] == claim] for claim in claims if claim.startswith(f"{module}/")]
        number = sum(map(len, groups))
        pictures.append(f'<h3>{escape(module)} <span class="quiet">({number})</span></h3>{_picture(module, groups)}')
    head = "<tr><th>fault</th><th>what it does</th><th>caught by</th><th>verdict</th></tr>"
    table = f'<div class="scroll"><table>{head}{"".join(map(_fault, faults))}</table></div>'
    return _section("faults", f"<p>{told}</p>", *pictures, _folded("The same as a table", table))


def _picture(module: str, groups: Sequence[Sequence[Entry]]) -> str:
    squares, x, y = [], 0, 0
    for group in groups:
        if x and x + SQUARE * len(group) > WIDE:
            x, y = 0, y + SQUARE + GAP
        for fault in group:
            if x + SQUARE > WIDE:
                x, y = 0, y + SQUARE
            squares.append(_square(x, y, fault))
            x += SQUARE
        x += GAP
    label = f"{sum(map(len, groups))} faults of {module}, caught by {len(groups)} claims"
    size = f'viewBox="0 0 {WIDE} {y + SQUARE}" width="{WIDE}" height="{y + SQUARE}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}">{"".join(squares)}</svg>'


def _square(x: int, y: int, fault: Entry) -> str:
    title = escape(f"{fault['name']} caught by {fault['refuted_by']}")
    place = f'x="{x}" y="{y}" width="{SQUARE - 1}" height="{SQUARE - 1}"'
    return f'<rect {place} class="{"caught" if fault["exit"] == 0 else "lived"}"><title>{title}</title></rect>'


def _fault(fault: Entry) -> str:
    cells = (_code(fault["name"]), escape(fault["tells"]), _to(fault["refuted_by"]), escape(fault["verdict"]))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _assumptions(obligations: Sequence[Entry], links: Links) -> str:
    """Each assumption with what rests on it and what breaks without it: boundaries with their calls, runs with their harm."""
    entries = {entry["id"]: entry for entry in obligations}
    rows = []
    for assumption in ASSUMPTIONS:
        users = [entry["id"] for entry in obligations if assumption.number in entry["assumptions"]]
        shown = [_broken(name, entries) for name in assumption.boundaries]
        for name in assumption.traces:
            fault = SYSTEM_FAULTS[name]
            shown.append(f"The run {_code(name)}: {escape(fault.tells)} It ends in a violation of {_code(fault.harm)}.")
        listed = "".join(f"<li>{line}</li>" for line in shown)
        resting = _folded(f"{len(users)} claims state it", "<p>" + ", ".join(map(_to, users)) + "</p>") if users else ""
        text = f"{escape(assumption.tells)} {escape(assumption.remark)}<br>Without it:<ul>{listed}</ul>{resting}"
        rows.append((f'<span id="{assumption.number}">{assumption.number}</span>', text))
    place = links("ASSUMPTIONS.md")
    ledger = f'<p>The ledger: <a href="{escape(place)}">ASSUMPTIONS.md</a></p>' if place else ""
    return _section("assumptions", _pairs(rows), ledger)


def _broken(name: str, entries: Mapping[str, Entry]) -> str:
    if name not in entries:
        return f"{_to(name)}, not in this run."
    entry = entries[name]
    model = entry["counterexample"] or {"values": {}}
    values = ", ".join(f"{key} = {value}" for key, value in model["values"].items())
    return f'{_to(name)} is {escape(entry["verdict"])}: {escape(entry["claim"])} <span class="quiet">{escape(values)}</span>'


def _findings() -> str:
    parts = []
    for finding in FINDINGS:
        backed = ", ".join([*map(_to, finding.obligations), *[f"the run {_code(name)}" for name in finding.traces]])
        where = escape(", ".join(finding.where))
        summary = f'{escape(finding.tells)} <span class="quiet">({where}; {escape(finding.harm.value)})</span>'
        parts.append(_folded(summary, f"<p>{backed or 'the key space, counted'}</p>"))
    return _section("findings", *parts)


def _gap(gap: Any) -> str:
    return f"{escape(gap.gap)} {escape(gap.mitigation)} <i>Remains:</i> {escape(gap.residual)}"
