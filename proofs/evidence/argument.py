"""The assurance case: why the claims may be believed, in goal structuring notation, drawn as a nested list.

Goals are boxes, strategies slanted, solutions round, contexts and assumptions beside what they are for; a diamond marks what
is left open. All of it follows from the report, the claims' modules, the ledger and the trusted base. A list is read on a
narrow screen, on paper and aloud, which a drawn graph of this width is not.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from proofs import claims
from proofs.evidence.trusted import GAPS, INFERENCES
from proofs.ledger import ASSUMPTIONS

Entry = Mapping[str, Any]

KINDS = {
    "goal": "Goal",
    "strategy": "Strategy",
    "solution": "Solution",
    "context": "Context",
    "assumption": "Assumption",
    "justification": "Justification",
    "open": "Left open",
}


@dataclass(frozen=True, kw_only=True)
class Element:
    """An element of the case: its kind, its label, what it says, where that leads, and what it is supported by."""

    kind: str
    label: str
    says: str
    link: str | None = None
    below: Sequence[Element] = field(default=())


def claim_of(module: str) -> str:
    """What a module of claims claims, in its own words."""
    text = inspect.getdoc(getattr(claims, module, None)) or ""
    found = re.search(r"\*Claim\.\* (.*?)(?:\n\n|\Z)", text, re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def of_tests(tests: Entry) -> str:
    """What is known of the tests, in a sentence."""
    if "absent" in tests:
        return f"Tests: {tests['absent']}."
    counts = Counter(tests["outcomes"].values())
    return f"Tests: {', '.join(f'{counts[each]} {each}' for each in ('passed', 'failed', 'skipped') if counts[each])}."


def case(report: Entry, tested: Entry, links: Callable[[str], str | None]) -> Element:
    """The whole case."""
    modules = list(dict.fromkeys(entry["id"].split("/", 1)[0] for entry in report["obligations"]))
    goals = [_module(module, number, report) for number, module in enumerate(modules, start=1)]
    world = [Element(kind="assumption", label=each.number, says=each.tells, link=f"#{each.number}") for each in ASSUMPTIONS]
    rules = [Element(kind="justification", label=each.number, says=f"{each.name}.", link="#believed") for each in INFERENCES]
    by_claim = Element(
        kind="strategy",
        label="S1",
        says="Each part of the engine is told as a model, and each claim about it is proved for every length and value.",
        below=[*rules, *goals],
    )
    to_code = Element(
        kind="strategy",
        label="S2",
        says="The models are held to code: to sources by proof, to what runs by tests, and to devices by recorded runs.",
        below=_running(report, tested, links),
    )
    left = [Element(kind="open", label=gap.number, says=f"{gap.gap} {gap.residual}", link="#unproved") for gap in GAPS]
    limits = Element(kind="strategy", label="S3", says="What nothing here checks is said, with what remains of it.", below=left)
    said = "The cache bookkeeping gives nobody another's rows, loses no block, keeps order and multiset, and keys captures rightly."
    return Element(kind="goal", label="G", says=said, link="#claims", below=[*world, by_claim, to_code, limits])


def _module(module: str, number: int, report: Entry) -> Element:
    entries = [entry for entry in report["obligations"] if entry["id"].startswith(f"{module}/")]
    theorems = [entry for entry in entries if entry["kind"] == "theorem"]
    certified = sum(check["verdict"] == "unsat" for e in theorems for check in e["cross_checks"] if check["solver"] == "kernel")
    second = sum(check["verdict"] == "unsat" for e in theorems for check in e["cross_checks"] if check["solver"] != "kernel")
    witnesses = [model for entry in theorems for model in entry["witnesses"]]
    faults = [fault for fault in report["faults"] if fault["refuted_by"].startswith(f"{module}/")]
    caught = sum(fault["exit"] == 0 for fault in faults)
    proved = sum(entry["verdict"] == "proved" for entry in theorems)
    answers = f"{proved} of {len(theorems)} theorems proved by Z3, {second} by cvc5, {certified} by certificate."
    below = [Element(kind="solution", label=f"Sn{number}.1", says=answers, link=f"#module-{module}")]
    if witnesses or faults:
        held = sum(bool(model["found"]) for model in witnesses)
        says = f"{held} of {len(witnesses)} witnesses that a claim is not empty"
        says += f"; {caught} of {len(faults)} faults caught." if faults else "."
        below.append(Element(kind="solution", label=f"Sn{number}.2", says=says, link="#faults"))
    return Element(kind="goal", label=f"{number} {module}", says=claim_of(module), link=f"#module-{module}", below=below)


def _running(report: Entry, tested: Entry, links: Callable[[str], str | None]) -> list[Element]:
    verdicts = Counter(source["verdict"] for source in report["sources"])
    sources = ", ".join(f"{number} {verdict}" for verdict, number in sorted(verdicts.items())) or "none in this run"
    says = [
        (f"Source proofs, by function: {sources}.", links("report.json")),
        (of_tests(tested["tests.json"]), links("tests.json")),
        (_of_vectors(tested["vectors.json"]), links("vectors.json")),
    ]
    for record in report["records"]:
        says.append((f"{record['name']}: {record['status']}; {record['reason']}", links(f"records/{record['name']}.json")))
    return [
        Element(kind="solution", label=f"Sn0.{number}", says=text, link=link) for number, (text, link) in enumerate(says, start=1)
    ]


def _of_vectors(vectors: Entry) -> str:
    if "absent" in vectors:
        return f"Test vectors: {vectors['absent']}."
    return f"Test vectors of {len(vectors['files'])} functions, by their digests."


def drawn(report: Entry, tested: Entry, links: Callable[[str], str | None]) -> str:
    """The case as HTML."""
    return f'<ul class="gsn">{_drawn(case(report, tested, links))}</ul>'


def _drawn(element: Element) -> str:
    told = f"<b>{escape(element.label)}</b> {escape(element.says)}"
    inner = f'<a href="{escape(element.link)}">{told}</a>' if element.link else f"<span>{told}</span>"
    below = f"<ul>{''.join(map(_drawn, element.below))}</ul>" if element.below else ""
    return f'<li class="{element.kind}"><div title="{KINDS[element.kind]}">{inner}</div>{below}</li>'
