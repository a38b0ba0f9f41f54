"""One campaign from its journal to its summary: what is still wanted is spread, what is found is kept, a violation ends it.

Exit codes: 0 every case was looked at and holds, 1 a case breaks the claim (or in a whole search none was accepted, so
that nothing was seen), 3 some shard could not be run. A campaign that ends early tells exactly which cases were covered.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from distributed import Client

from proofs.campaign import sources
from proofs.campaign.journal import FORM, Journal
from proofs.campaign.spreading import Failed, Refused, Spread, Spreader
from proofs.campaign.work import Found, Job, Total, look, total
from proofs.exits import Exit


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One call of a broken case: the rule's result and the reference's."""

    fn: str
    args: Mapping[str, Any]
    rule: Any
    reference: Any

    @property
    def differs(self) -> bool:
        """Whether the rule answered what the reference does not."""
        return bool(self.rule != self.reference)


@dataclass(frozen=True, kw_only=True)
class Violation:
    """The least broken case of a shard."""

    index: int
    shard: int
    case: Mapping[str, Any]
    calls: Sequence[Answer]

    @property
    def vector(self) -> Mapping[str, Any] | None:
        """The first call that the rule answers wrongly, as a line for `draftproof conform`; None where none does."""
        wrong = next((call for call in self.calls if call.differs), None)
        return None if wrong is None else {"fn": wrong.fn, "args": wrong.args, "result": wrong.reference}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a campaign came to."""

    job: Job
    digest: str
    """Of the sources."""
    place: str
    total: Total
    resumed: int
    """Shards that the journal had."""
    violation: Violation | None
    spread: Spread
    seconds: float
    cpu: float
    """Seconds of processor time that the shards of this run took on their workers."""
    journal: str = ""
    torn: bool = False

    @property
    def complete(self) -> bool:
        """Whether every case was looked at."""
        return self.total.covered == ((self.job.begin, self.job.end),)

    @property
    def vacuous(self) -> bool:
        """Whether nothing was accepted in a whole search, so that nothing was seen; a part of one may be so."""
        return self.total.covered == ((0, self.job.about.sizes[self.job.scale]),) and self.total.accepted == 0

    @property
    def exit(self) -> Exit:
        """The exit code."""
        if self.violation is not None or self.total.broken or self.vacuous:
            return Exit.WRONG
        return Exit.OK if self.complete else Exit.UNDECIDED

    def as_json(self) -> dict[str, Any]:
        """The outcome for programs."""
        violation = None
        if self.violation is not None:
            calls = [{**asdict(call), "differs": call.differs} for call in self.violation.calls]
            violation = {**asdict(self.violation), "calls": calls, "vector": self.violation.vector}
        return {
            "form": FORM,
            **self.job.identity(),
            "claim": self.job.about.claim,
            "sources": self.digest,
            "place": self.place,
            "shards": self.job.shards,
            "shards_done": self.total.shards,
            "shards_resumed": self.resumed,
            "cases_done": self.total.cases,
            "covered": [list(one) for one in self.total.covered],
            "broken": self.total.broken,
            "accepted": self.total.accepted,
            "digest": self.total.digest,
            "complete": self.complete,
            "vacuous": self.vacuous,
            "violation": violation,
            "failed": [{**asdict(one), "cases": list(self.job.shard(one.shard))} for one in self.spread.failed],
            "refused": [asdict(one) for one in self.spread.refused],
            "workers": len(self.spread.workers),
            "retried": self.spread.retried,
            "stopped": self.spread.stopped,
            "journal": self.journal,
            "torn": self.torn,
            "seconds": round(self.seconds, 3),
            "cpu_seconds": round(self.cpu, 3),
            "exit": int(self.exit),
        }


def run(
    job: Job,
    client: Client,
    journal: Journal | None,
    *,
    place: str = "",
    patience: float = 60.0,
    noticed: Callable[[int], None] = lambda cases: None,
) -> Outcome:
    """Run what the journal does not have yet. `noticed` is told how many cases more are done, the journal's first."""
    started = time.perf_counter()
    digest = sources.loaded(job.about.parts)
    found = dict(journal.found) if journal else {}
    resumed = len(found)
    noticed(total(job, found.values()).cases)
    spreader = Spreader(functools.partial(look, job), client, job.about.parts, patience=patience)
    broken = _broken(found.values())
    if broken is None and resumed < job.shards:
        results = spreader.results(number for number in range(job.shards) if number not in found)
        try:
            for each in results:
                batch = [one for _, one in each]
                if journal:
                    journal.add(batch)
                found |= {one.shard: one for one in batch}
                noticed(sum(high - low for low, high in (job.shard(one.shard) for one in batch)))
                if (broken := _broken(batch)) is not None:
                    break
        finally:
            results.close()
    return Outcome(
        job=job,
        digest=digest,
        place=place,
        total=total(job, found.values()),
        resumed=resumed,
        violation=None if broken is None else told(broken),
        spread=spreader.spread,
        seconds=time.perf_counter() - started,
        cpu=sum(one.cpu for one in found.values()),
        journal=str(journal.path) if journal else "",
        torn=journal.torn if journal else False,
    )


def _broken(found: Any) -> Found | None:
    """The result with the least broken case."""
    return min((one for one in found if one.first is not None), key=lambda one: one.first, default=None)


def told(found: Found) -> Violation:
    """A violation, with what the reference answers to its calls."""
    from proofs.replay import run as reference

    assert found.first is not None
    case = found.case or {"told": {}, "calls": []}
    calls = [Answer(**call, reference=reference(call["fn"], call["args"])) for call in case["calls"]]
    return Violation(index=found.first, shard=found.shard, case=case["told"], calls=tuple(calls))


__all__ = ["Answer", "Failed", "Outcome", "Refused", "Violation", "run", "told"]
