"""Puts every question to worker processes that can be killed, and gathers the answers in a fixed order.

A question is small and named, so that it travels to any process; each worker builds the catalogue for itself. What an
answer says depends on the question alone: contexts are fresh and budgets are counted in resource units. The clock is a
backstop that kills a worker which hangs. What was killed, or died, is undecided; what raised is an internal error.
Leaves out what a run as a whole is worth (`proofs.report`). The code that models are replayed on is handed in.
"""

from __future__ import annotations

import enum
import fnmatch
import gc
import multiprocessing
import multiprocessing.forkserver
import signal
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import TimeoutError as BackstopError
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pebble import ProcessExpired, ProcessPool

from proofs.evidence.certificates import FOLDER, certified
from proofs.faults import Fault
from proofs.faults.lapses import LAPSES, Lapse
from proofs.judge import Budget, FaultJudgement, Judgement, Runner, Verdict, confirm, judge, judge_fault, tell_again
from proofs.obligation import Confirmation, Kind, Obligation
from proofs.processors import cores
from proofs.situations import EngineSituation
from proofs.traces.faults import SYSTEM_FAULTS, SystemFault
from proofs.traces.judgement import judge_system_claim
from spec.rules import RULES, Rules


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Files whose functions are compared with the rules."""

    files: tuple[str, ...] = ()
    prove: Callable[[str], Sequence[Mapping[str, Any]]] = lambda file: ()
    """The entries of one file: name, verdict, and what else there is to tell."""
    digest: Callable[[], str] = lambda: ""
    """Of everything that the entries are a function of."""


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """Everything that a run can ask about, in the order in which it is reported."""

    obligations: tuple[Obligation, ...]
    faults: tuple[Fault | SystemFault | Lapse, ...] = ()
    situations: tuple[EngineSituation, ...] = ()
    confirmations: tuple[Confirmation, ...] = ()
    """Claims told again in another theory, which a full run asks; with the faults that they refute."""
    confirming_faults: tuple[Fault, ...] = ()
    rules: Rules = RULES
    certificates: Path | None = None
    """The folder of the theorems' certificates, where they are to have them."""
    sources: Sources = Sources()

    def only(self, pattern: str) -> Catalogue:
        """The obligations, situations and source files that match a shell pattern, and the faults that those obligations refute."""
        obligations = tuple(o for o in self.obligations if fnmatch.fnmatchcase(o.id, pattern))
        ids = {o.id for o in obligations}
        return Catalogue(
            obligations=obligations,
            faults=tuple(fault for fault in self.faults if fault.refuted_by in ids),
            situations=tuple(s for s in self.situations if fnmatch.fnmatchcase(s.id, pattern)),
            confirmations=tuple(c for c in self.confirmations if fnmatch.fnmatchcase(c.told.id, pattern)),
            confirming_faults=self.confirming_faults,
            rules=self.rules,
            certificates=self.certificates,
            sources=replace(self.sources, files=tuple(f for f in self.sources.files if fnmatch.fnmatchcase(f, pattern))),
        )


Load = Callable[[], Catalogue]
"""Builds the catalogue. A function of a module, since workers find it by its name."""


def everything() -> Catalogue:
    """The project's own catalogue."""
    from proofs.claims import OBLIGATIONS
    from proofs.claims.words import CONFIRMATIONS
    from proofs.faults import FAULTS, words
    from proofs.situations import SITUATIONS
    from proofs.source.project import SOURCES

    obligations = tuple(OBLIGATIONS.values())
    faults: tuple[Fault | SystemFault | Lapse, ...] = (*FAULTS, *SYSTEM_FAULTS.values(), *LAPSES)
    return Catalogue(
        obligations=obligations,
        faults=faults,
        situations=SITUATIONS,
        confirmations=CONFIRMATIONS,
        confirming_faults=tuple(words.FAULTS),
        certificates=FOLDER,
        sources=SOURCES,
    )


class Ask(enum.Enum):
    """What a question is about."""

    OBLIGATION = "obligation"
    FAULT = "fault"
    SITUATION = "situation"
    SECOND_TELLING = "second telling"
    SEED = "seed"
    CONFIRMATION = "confirmation"
    SOURCE = "source"


@dataclass(frozen=True, kw_only=True)
class Question:
    """One unit of work: a name in the catalogue, and what to do with it. `seed` is the solvers'."""

    ask: Ask
    name: str
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What a worker found: a judgement of the kind that was asked for."""

    value: Any
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Lost:
    """No answer, because the worker was killed or died."""

    reason: str
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Crashed:
    """No answer, because the question raised an exception: an error of ours."""

    reason: str
    traceback: str
    seconds: float = 0.0


Outcome = Answered | Lost | Crashed


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to ask. `backstop` is in seconds of wall clock per question; `jobs` is the number of workers."""

    budget: Budget = field(default_factory=Budget)
    jobs: int = field(default_factory=cores)
    backstop: float = 60.0
    full: bool = False
    full_seeds: tuple[int, ...] = tuple(range(1, 11))


def questions(catalogue: Catalogue, settings: Settings, *, kept: Collection[str] = ()) -> tuple[Question, ...]:
    """What a run asks, first what takes longest: the sources, but those whose entries are `kept` from an earlier run."""
    seed = settings.budget.seed
    asked = [Question(ask=Ask.SOURCE, name=file, seed=seed) for file in catalogue.sources.files if file not in kept]
    asked += [Question(ask=Ask.OBLIGATION, name=o.id, seed=seed) for o in catalogue.obligations]
    # The judgement of an obligation has its lapses.
    asked += [Question(ask=Ask.FAULT, name=fault.name, seed=seed) for fault in catalogue.faults if not isinstance(fault, Lapse)]
    asked += [Question(ask=Ask.SITUATION, name=s.id, seed=seed) for s in catalogue.situations]
    if settings.full:
        theorems = [o for o in catalogue.obligations if o.kind is Kind.THEOREM]
        asked += [Question(ask=Ask.CONFIRMATION, name=c.told.id, seed=seed) for c in catalogue.confirmations]
        asked += [Question(ask=Ask.SECOND_TELLING, name=o.id, seed=seed) for o in theorems]
        asked += [Question(ask=Ask.SEED, name=o.id, seed=other) for o in catalogue.obligations for other in settings.full_seeds]
    return tuple(asked)


@dataclass(frozen=True, kw_only=True)
class _Bench:
    """What a worker has at hand."""

    catalogue: Catalogue
    run: Runner
    budget: Budget

    def answer(self, question: Question) -> Any:
        budget = Budget(z3=self.budget.z3, cvc5=self.budget.cvc5, seed=question.seed)
        match question.ask:
            case Ask.OBLIGATION:
                return self._certified(judge(self._obligation(question.name), self.run, rules=self.catalogue.rules, budget=budget))
            case Ask.SEED:
                named, rules = self._obligation(question.name), self.catalogue.rules
                return judge(named, self.run, rules=rules, budget=budget, variants=False)
            case Ask.SECOND_TELLING:
                return tell_again(self._obligation(question.name), rules=self.catalogue.rules, budget=budget)
            case Ask.FAULT:
                fault = next(fault for fault in self.catalogue.faults if fault.name == question.name)
                assert not isinstance(fault, Lapse)
                return self._fault(fault, budget)
            case Ask.CONFIRMATION:
                confirmation = next(c for c in self.catalogue.confirmations if c.told.id == question.name)
                faults = [fault for fault in self.catalogue.confirming_faults if fault.refuted_by == question.name]
                return confirm(confirmation, faults, self.run, budget=budget)
            case Ask.SITUATION:
                situation = next(s for s in self.catalogue.situations if s.id == question.name)
                return situation.show(self.run, self.catalogue.rules)
            case Ask.SOURCE:
                return self.catalogue.sources.prove(question.name)

    def _certified(self, judgement: Judgement) -> Judgement:
        folder, theorem = self.catalogue.certificates, self._obligation(judgement.id).kind is Kind.THEOREM
        if folder is None or not theorem or judgement.verdict is not Verdict.PROVED:
            return judgement
        return replace(judgement, certificate=certified(judgement.id, judgement.statement, folder))

    def _fault(self, fault: Fault | SystemFault, budget: Budget) -> FaultJudgement:
        if all(obligation.id != fault.refuted_by for obligation in self.catalogue.obligations):
            reason = f"refuted_by={fault.refuted_by} is no obligation; name the one that refutes it"
            return FaultJudgement(name=fault.name, verdict=Verdict.VACUOUS, reason=reason)
        if isinstance(fault, SystemFault):
            return judge_system_claim(fault, self.run, budget=budget)
        return judge_fault(fault, self._obligation(fault.refuted_by), self.run, budget=budget)

    def _obligation(self, name: str) -> Obligation:
        return next(o for o in self.catalogue.obligations if o.id == name)


_bench: _Bench | None = None


def _warm(load: Load, run: Runner, budget: Budget) -> None:
    global _bench
    _bench = _Bench(catalogue=load(), run=run, budget=budget)


def _answer(question: Question) -> Any:
    assert _bench is not None
    return _bench.answer(question)


def ask_all(
    asked: Sequence[Question],
    load: Load,
    run: Runner,
    settings: Settings,
    *,
    noticed: Callable[[], None] = lambda: None,
) -> tuple[Outcome, ...]:
    """The outcomes in the order of the questions. `noticed` is called as each becomes known, from any thread."""
    warmth = (load, run, settings.budget)
    return in_workers(_answer, asked, settings, warm=_warm, warmth=warmth, noticed=noticed)


def in_workers(
    task: Callable[[Any], Any],
    items: Sequence[Any],
    settings: Settings,
    *,
    warm: Callable[..., None],
    warmth: tuple[Any, ...],
    noticed: Callable[[], None] = lambda: None,
) -> tuple[Outcome, ...]:
    """What `task` gives for each item, in their order, in processes that have called `warm(*warmth)` first.

    On KeyboardInterrupt, and on any other exception, all workers are killed before it goes on.
    """
    # Workers are forked from a server without threads that has done the imports once, so forking is safe and cheap.
    context = multiprocessing.get_context("forkserver")
    modules = [part.__module__ for part in (task, *warmth) if callable(part)]
    context.set_forkserver_preload(["cvc5", "z3", __name__, *modules])
    # Ctrl-C is for the parent alone, from a worker's first moment on: the server, and so its workers, inherit what is blocked.
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    multiprocessing.forkserver.ensure_running()
    signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
    workers = max(1, min(settings.jobs, len(items)))
    pool = ProcessPool(workers, initializer=_deafened, initargs=(warm, warmth), context=context)
    try:
        futures = [pool.schedule(_tried, args=(task, item), timeout=settings.backstop) for item in items]
        for future in futures:
            future.add_done_callback(lambda _: noticed())
        outcomes = tuple(_outcome(future.result, settings) for future in futures)
        pool.close()  # type: ignore[no-untyped-call]
    except BaseException:
        pool.stop()  # type: ignore[no-untyped-call]
        raise
    finally:
        pool.join()
    return outcomes


def _deafened(warm: Callable[..., None], warmth: tuple[Any, ...]) -> None:
    # The terminal sends Ctrl-C to every process; the parent alone decides what becomes of the run.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warm(*warmth)


def _tried(task: Callable[[Any], Any], item: Any) -> Answered | Crashed:
    started = time.perf_counter()
    # What the collector frees, and when, depends on all that ran before; Z3's terms are numbered by it, and models follow.
    gc.disable()
    try:
        value = task(item)
    except Exception as error:  # noqa: BLE001 - told to the parent, which reports it as an internal error
        reason = f"{type(error).__name__}: {error}"
        return Crashed(reason=reason, traceback="".join(traceback.format_exception(error)), seconds=time.perf_counter() - started)
    finally:
        gc.enable()
    return Answered(value=value, seconds=time.perf_counter() - started)


def _outcome(result: Callable[[], Answered | Crashed], settings: Settings) -> Outcome:
    try:
        return result()
    except BackstopError:
        reason = f"no answer within {settings.backstop:g} s, so its worker was killed"
        return Lost(reason=reason, seconds=settings.backstop)
    except ProcessExpired as expired:
        return Lost(reason=f"its worker died ({_how(expired.exitcode)})")
    except BrokenProcessPool as broken:
        return Lost(reason=f"no worker was left to ask ({broken})")


def _how(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        return signal.Signals(-exitcode).name
    return f"exit code {exitcode}"


def unsupported(judgements: Iterable[Judgement], known: frozenset[str]) -> dict[str, str]:
    """By id, why an obligation does not stand on its lemmas: one is unknown, not proved, or rests on it in turn.

    A lemma's id stands for the obligation of that id, or for its base and step. `known` are the ids of the catalogue;
    those that this run did not ask about count as proved.
    """
    by_id = {judgement.id: judgement for judgement in judgements}

    def parts(lemma: str) -> tuple[str, ...]:
        induction = (f"{lemma}.base", f"{lemma}.step")
        return (lemma,) if lemma in known else induction if known.issuperset(induction) else ()

    def below(name: str, found: dict[str, None]) -> Iterable[str]:
        for lemma in by_id[name].lemmas if name in by_id else ():
            for part in parts(lemma):
                if part not in found:
                    found[part] = None
                    below(part, found)
        return found

    def reason(judgement: Judgement) -> str | None:
        for lemma in judgement.lemmas:
            if not parts(lemma):
                return f"it rests on {lemma}, which is no obligation"
        for part in below(judgement.id, {}):
            if part == judgement.id:
                return "it rests on itself, through its lemmas"
            if part in by_id and by_id[part].verdict is not Verdict.PROVED:
                return f"it rests on {part}, which is {by_id[part].verdict.value}"
        return None

    return {name: why for name, judgement in by_id.items() if (why := reason(judgement))}
