"""What a run of `prove` came to: one document, `draftproof.report/1`, that everything shown is read from.

Its JSON Schema is `proofs/schemas/report.schema.json`; a document that does not fit it is never written. Apart from
`seconds` a report is a function of the sources, the solvers and the options. Files are replaced whole, the report last.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import junitparser

from proofs.checker import Answered, Ask, Catalogue, Crashed, Outcome, Question, Settings, unsupported
from proofs.evidence.certificates import Certified, Standing
from proofs.exits import Exit, worst
from proofs.faults.lapses import Lapse
from proofs.inventory import Difference
from proofs.judge import ConcreteCall, Confirmed, FaultJudgement, Judgement, SecondTelling, Situation, Verdict
from proofs.obligation import Confirmation, Kind, Obligation
from proofs.situations import Shown

SCHEMA = "draftproof.report/1"
PACKAGES = ("spec", "impl", "proofs")
SCHEMA_PATH = Path(__file__).with_name("schemas") / "report.schema.json"

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Run:
    """All that a report is made from.

    `catalogue` is what was asked about, `known` the ids of all obligations, `expected` those in the inventory.
    """

    catalogue: Catalogue
    known: frozenset[str]
    expected: tuple[str, ...]
    outcomes: Mapping[Question, Outcome]
    settings: Settings
    only: str | None = None
    strict: bool = False
    kept: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """By source file the entries of an earlier run that still hold; those files were not asked about."""
    records: Sequence[Mapping[str, Any]] = ()

    def outcome(self, ask: Ask, name: str, seed: int | None = None) -> Outcome:
        """What came of one question."""
        return self.outcomes[Question(ask=ask, name=name, seed=self.settings.budget.seed if seed is None else seed)]

    @property
    def judgements(self) -> dict[str, Judgement]:
        """The judgements of the obligations that have one, by id."""
        pairs = ((o.id, self.outcome(Ask.OBLIGATION, o.id)) for o in self.catalogue.obligations)
        return {name: outcome.value for name, outcome in pairs if isinstance(outcome, Answered)}

    @property
    def confirmed(self) -> dict[str, Judgement]:
        """The judgements of the confirmations that were asked and have one, by id."""
        asked = self.catalogue.confirmations if self.settings.full else ()
        pairs = ((c.told.id, self.outcome(Ask.CONFIRMATION, c.told.id)) for c in asked)
        return {name: outcome.value.judgement for name, outcome in pairs if isinstance(outcome, Answered)}

    @property
    def sources(self) -> dict[str, Sequence[Mapping[str, Any]]]:
        """By file the entries of those that have an answer."""
        found: dict[str, Sequence[Mapping[str, Any]]] = {}
        for file in self.catalogue.sources.files:
            outcome = None if file in self.kept else self.outcome(Ask.SOURCE, file)
            if outcome is None or isinstance(outcome, Answered):
                found[file] = self.kept[file] if outcome is None else outcome.value
        return found


def document(run: Run, differences: Sequence[Difference], seconds: float) -> Document:
    """The report of a run, given how it differs from the inventory and how long it took."""
    weak = unsupported(run.judgements.values(), run.known)
    faults = [_fault(run, fault.name) for fault in run.catalogue.faults]
    obligations = [_obligation(run, o, weak.get(o.id), faults) for o in run.catalogue.obligations]
    situations = [_situation(run, situation.id) for situation in run.catalogue.situations]
    judged = {entry["id"] for entry in obligations if entry["smtlib"] is not None}
    confirmations = [_confirmation(run, c) for c in run.catalogue.confirmations] if run.settings.full else []
    parts = [*obligations, *faults, *situations, *confirmations]
    exits = [entry["exit"] for entry in parts] + [Exit.WRONG for _ in differences]
    lost = [file for file in run.catalogue.sources.files if file not in run.sources]
    unanswered = [_lost(run.outcome(Ask.SOURCE, file)) for file in lost]
    sources = [dict(entry) for entries in run.sources.values() for entry in entries]
    sources += [{"name": file, "verdict": e["verdict"], "reason": e["reason"]} for file, e in zip(lost, unanswered, strict=True)]
    exits += [_source_exit(source) for source in sources] + [entry["exit"] for entry in unanswered]
    exits += [Exit.WRONG for record in run.records if run.strict and record["status"] != "fresh"]
    return {
        "schema": SCHEMA,
        "tool": {"name": "draftproof", "version": importlib.metadata.version("draftproof")},
        "solvers": [{"name": name, "version": version} for name, version in _solvers()],
        "python": platform.python_version(),
        "options": {
            "only": run.only,
            "full": run.settings.full,
            "strict": run.strict,
            "seed": run.settings.budget.seed,
            "budget": {"z3": run.settings.budget.z3, "cvc5": run.settings.budget.cvc5},
        },
        "digests": source_digests(),
        "expected": list(run.expected),
        "complete": judged == set(run.expected) and not differences,
        "inventory": [dataclasses.asdict(difference) for difference in differences],
        "obligations": obligations,
        "faults": faults,
        "situations": situations,
        "confirmations": confirmations,
        "sources": sources,
        "records": [dict(record) for record in run.records],
        "seconds": round(seconds, 3),
        "exit": int(worst(exits)),
    }


def _solvers() -> Iterable[tuple[str, str]]:
    return (("z3", importlib.metadata.version("z3-solver")), ("cvc5", importlib.metadata.version("cvc5")))


def source_digests() -> dict[str, str]:
    """SHA-256 of every file of the three packages, by its path from the folder that holds them."""
    found: dict[str, str] = {}
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        for root in map(Path, (spec.submodule_search_locations or ()) if spec else ()):
            for path in sorted(root.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    name = f"{package}/{path.relative_to(root).as_posix()}"
                    found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _lost(outcome: Outcome) -> Document:
    """What is reported where there is no answer."""
    crashed = isinstance(outcome, Crashed)
    reason = "" if isinstance(outcome, Answered) else outcome.reason
    return {
        "verdict": Verdict.UNDECIDED.value,
        "reason": f"internal error: {reason}" if crashed else reason,
        "seconds": round(outcome.seconds, 3),
        "exit": int(Exit.INTERNAL if crashed else Exit.UNDECIDED),
    }


def _exit(verdict: Verdict, wanted: Verdict) -> int:
    if verdict is wanted:
        return int(Exit.OK)
    return int(Exit.UNDECIDED if verdict is Verdict.UNDECIDED else Exit.WRONG)


def _obligation(run: Run, obligation: Obligation, weakness: str | None, faults: Sequence[Document]) -> Document:
    outcome = run.outcome(Ask.OBLIGATION, obligation.id)
    entry: Document = {
        "id": obligation.id,
        "kind": obligation.kind.value,
        "claim": obligation.claim,
        "theory": "int",
        "scope": None,
        "verdict": "",
        "reason": "",
        "assumptions": list(obligation.assumes),
        "lemmas": [],
        "witnesses": [],
        "mutants": [
            {"name": fault["name"], "verdict": fault["verdict"]} for fault in faults if fault["refuted_by"] == obligation.id
        ],
        "cost": 0,
        "seconds": 0.0,
        "smtlib": None,
        "cross_checks": [],
        "core": [],
        "counterexample": None,
    }
    if isinstance(outcome, Answered):
        entry |= _judgement(outcome.value, outcome.seconds, weakness)
        entry["exit"] = _exit(Verdict(entry["verdict"]), _wanted(obligation))
        certificate: Certified | None = outcome.value.certificate
        if certificate is not None and certificate.standing is not Standing.CHECKED:
            entry["reason"] = entry["reason"] or certificate.reason
            entry["exit"] = int(worst([entry["exit"], _UNCERTIFIED[certificate.standing]]))
    else:
        entry |= _lost(outcome)
    if run.settings.full:
        entry |= _full(run, obligation)
        entry["exit"] = int(worst([entry["exit"], _full_exit(entry, obligation)]))
    return entry


# Without a certificate the solvers' word stands alone: not all is there. A certificate that is refused was tampered with.
_UNCERTIFIED = {Standing.MISSING: Exit.UNDECIDED, Standing.REJECTED: Exit.WRONG}


def _wanted(obligation: Obligation) -> Verdict:
    return Verdict.PROVED if obligation.kind is Kind.THEOREM else Verdict.REFUTED


def _judgement(judgement: Judgement, seconds: float, weakness: str | None) -> Document:
    verdict, reason = judgement.verdict, judgement.reason
    if weakness is not None and verdict is Verdict.PROVED:
        verdict, reason = Verdict.UNDECIDED, weakness
    crosses = [judgement.cross_check] if judgement.cross_check else []
    return {
        "scope": judgement.scope,
        "verdict": verdict.value,
        "reason": reason,
        "lemmas": list(judgement.lemmas),
        "witnesses": [_model(witness) for witness in judgement.witnesses],
        "cost": judgement.cost,
        "seconds": round(seconds, 3),
        "smtlib": {"digest": judgement.digest, "file": smt_file(judgement.id)},
        "cross_checks": [
            {"solver": "cvc5", "verdict": check.answer.value, "cost": check.cost, "seconds": round(check.seconds, 3)}
            for check in crosses
        ]
        + [
            {"solver": "kernel", "verdict": told.standing.value, "cost": told.cost, "seconds": round(told.seconds, 3)}
            for told in ([judgement.certificate] if judgement.certificate else [])
        ],
        "core": list(judgement.core),
        "counterexample": _model(judgement.counterexample) if judgement.counterexample else None,
    }


def smt_file(name: str) -> str:
    """Where the statement of an obligation stands, from the folder of the report."""
    return f"smt/{name}.smt2"


def _model(situation: Situation) -> Document:
    return {
        "name": situation.name,
        "found": situation.found,
        "calls": [_call(call) for call in situation.calls],
        "values": dict(situation.values),
    }


def _call(call: ConcreteCall) -> Document:
    shown = {"rule": call.rule, "arguments": dict(call.arguments), "profile": call.profile}
    return {**shown, "model": call.result, "code": call.code, "agree": call.agrees}


def _full(run: Run, obligation: Obligation) -> Document:
    again: Document | None = None
    if obligation.kind is Kind.THEOREM:
        outcome = run.outcome(Ask.SECOND_TELLING, obligation.id)
        if isinstance(outcome, Answered):
            told: SecondTelling = outcome.value
            again = {"verdict": told.verdict.value, "reason": told.reason, "bound": told.bound, "cost": told.cost}
            again |= {"seconds": round(outcome.seconds, 3), "exit": _exit(told.verdict, Verdict.PROVED)}
        else:
            again = {"bound": None, "cost": 0, **_lost(outcome)}
    seeds = []
    for seed in run.settings.full_seeds:
        outcome = run.outcome(Ask.SEED, obligation.id, seed)
        if isinstance(outcome, Answered):
            verdict, cost = outcome.value.verdict.value, outcome.value.cost
        else:
            verdict, cost = _lost(outcome)["verdict"], 0
        seeds.append({"seed": seed, "verdict": verdict, "cost": cost})
    return {"second_telling": again, "seeds": seeds}


def _full_exit(entry: Document, obligation: Obligation) -> Exit:
    exits = [_exit(Verdict(seed["verdict"]), _wanted(obligation)) for seed in entry["seeds"]]
    if entry["second_telling"] is not None:
        exits.append(entry["second_telling"]["exit"])
    return worst(exits)


def _fault(run: Run, name: str) -> Document:
    fault = next(fault for fault in run.catalogue.faults if fault.name == name)
    outcome = _lapse(run, fault) if isinstance(fault, Lapse) else run.outcome(Ask.FAULT, name)
    entry: Document = {"name": name, "tells": fault.tells, "rule": fault.rule, "refuted_by": fault.refuted_by}
    entry["counterexample"] = entry["difference"] = None
    if not isinstance(outcome, Answered):
        return {**entry, **_lost(outcome)}
    judgement: FaultJudgement = outcome.value
    return {
        **entry,
        "verdict": judgement.verdict.value,
        "reason": judgement.reason,
        "counterexample": _model(judgement.counterexample) if judgement.counterexample else None,
        "difference": _call(judgement.difference) if judgement.difference else None,
        "seconds": round(outcome.seconds, 3),
        "exit": _exit(judgement.verdict, Verdict.REFUTED),
    }


def _lapse(run: Run, lapse: Lapse) -> Outcome:
    """What the judgement of its obligation says of a lapse."""
    if lapse.refuted_by not in {obligation.id for obligation in run.catalogue.obligations}:
        reason = f"refuted_by={lapse.refuted_by} is no obligation; name the one that refutes it"
        return Answered(value=FaultJudgement(name=lapse.name, verdict=Verdict.VACUOUS, reason=reason), seconds=0.0)
    outcome = run.outcome(Ask.OBLIGATION, lapse.refuted_by)
    if not isinstance(outcome, Answered):
        return outcome
    found = [variant for variant in outcome.value.variants if variant.name == lapse.name]
    unasked = FaultJudgement(
        name=lapse.name, verdict=Verdict.UNDECIDED, reason=f"{lapse.refuted_by} is not proved, or does not tell it"
    )
    return Answered(value=found[0] if found else unasked, seconds=0.0)


def _situation(run: Run, name: str) -> Document:
    situation = next(situation for situation in run.catalogue.situations if situation.id == name)
    outcome = run.outcome(Ask.SITUATION, name)
    entry: Document = {"id": name, "tells": situation.tells, "facts": [], "calls": 0, "differences": []}
    if not isinstance(outcome, Answered):
        return {**entry, **_lost(outcome)}
    shown: Shown = outcome.value
    return {
        **entry,
        "facts": [{**dataclasses.asdict(fact), "holds": fact.holds} for fact in shown.facts],
        "calls": shown.calls,
        "differences": list(shown.differences),
        "verdict": (Verdict.PROVED if shown.holds else Verdict.REFUTED).value,
        "reason": "" if shown.holds else "it does not come to what it must",
        "seconds": round(outcome.seconds, 3),
        "exit": int(Exit.OK if shown.holds else Exit.WRONG),
    }


def _confirmation(run: Run, confirmation: Confirmation) -> Document:
    """What came of a claim in another theory. One that is known not to finish is said, and no success; only a model is wrong."""
    told = confirmation.told
    outcome = run.outcome(Ask.CONFIRMATION, told.id)
    entry: Document = {
        "id": told.id,
        "kind": told.kind.value,
        "claim": told.claim,
        "theory": told.theory,
        "confirms": confirmation.confirms,
        "unfinished": bool(confirmation.unfinished),
        "smtlib": None,
        "cost": 0,
        "cross_checks": [],
        "mutants": [],
    }
    if not isinstance(outcome, Answered):
        return {**entry, **_lost(outcome)}
    found: Confirmed = outcome.value
    judged = found.judgement
    mutants = [{"name": fault.name, "verdict": fault.verdict.value} for fault in (*found.faults, *judged.variants)]
    exits = [_exit(judged.verdict, _wanted(told)), *(_exit(Verdict(mutant["verdict"]), Verdict.REFUTED) for mutant in mutants)]
    if confirmation.unfinished:
        exits = [int(Exit.WRONG if judged.verdict is Verdict.REFUTED else Exit.OK)]
    shown = _judgement(judged, outcome.seconds, None)
    return {
        **entry,
        **{part: shown[part] for part in ("verdict", "reason", "cost", "seconds", "cross_checks")},
        "smtlib": {"digest": judged.digest, "file": smt_file(judged.id)},
        "mutants": mutants,
        "exit": int(worst(exits)),
    }


def _source_exit(source: Mapping[str, Any]) -> int:
    return int(Exit.OK) if source["verdict"] == "outside" else _exit(Verdict(source["verdict"]), Verdict.PROVED)


def validate(report: Document) -> None:
    """jsonschema.ValidationError if the report does not fit its published schema."""
    schema = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(report)


def replace_file(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write(report: Document, judgements: Mapping[str, Judgement], folder: Path) -> Path:
    """Writes the statements, the JUnit XML and the report, checked against its schema; gives the report's path."""
    validate(report)
    for name, judgement in judgements.items():
        replace_file(folder / smt_file(name), judgement.statement)
    if report["options"]["only"] is None:
        present = {folder / smt_file(name) for name in judgements}
        for path in (folder / "smt").rglob("*.smt2"):
            if path not in present:
                path.unlink()
    replace_file(folder / "junit.xml", junit(report))
    path = folder / "report.json"
    replace_file(path, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return path


def junit(report: Document) -> str:
    """JUnit XML: a suite per module, then faults, situations, inventory. Wrong is a failure, undecided an error."""
    xml = junitparser.JUnitXml(name="draftproof prove")
    suites: dict[str, list[junitparser.TestCase]] = {}

    def add(suite: str, name: str, seconds: float, code: int, reason: str) -> None:
        case = junitparser.TestCase(name=name, classname=suite, time=seconds)
        if code:
            case.result = [(junitparser.Failure if code == Exit.WRONG else junitparser.Error)(reason)]
        suites.setdefault(suite, []).append(case)

    for entry in report["obligations"]:
        told = f"{entry['verdict']}: {entry['reason']} ({entry['claim']})"
        add(entry["id"].split("/", 1)[0], entry["id"], entry["seconds"], entry["exit"], told)
    for entry in report["faults"]:
        told = f"{entry['verdict']} by {entry['refuted_by']}: {entry['reason']} ({entry['tells']})"
        add("faults", entry["name"], entry["seconds"], entry["exit"], told)
    for entry in report["situations"]:
        add("situations", entry["id"], entry["seconds"], entry["exit"], f"{entry['reason']} ({entry['tells']})")
    for entry in report["confirmations"]:
        add("words", entry["id"], entry["seconds"], entry["exit"], f"{entry['verdict']}: {entry['reason']} ({entry['claim']})")
    for entry in report["inventory"]:
        told = f"{entry['what']}: {entry['tells']}"
        add("inventory", f"{entry['name']} ({entry['what']})", 0.0, Exit.WRONG, told)
    for entry in report["sources"]:
        add("sources", entry["name"], 0.0, _source_exit(entry), f"{entry['verdict']}: {entry.get('reason', '')}")
    for name, cases in suites.items():
        suite = junitparser.TestSuite(name)
        suite.add_testcases(cases)  # At once: it counts all of them each time.
        xml.add_testsuite(suite)
    return str(xml.tostring().decode())  # type: ignore[no-untyped-call]
