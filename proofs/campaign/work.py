"""A campaign as data: the job, its shards, what a shard came to, and the digest that their results add up to.

A shard is a pure function of the job and its number, so it may run anywhere, any number of times, in any order. Results
merge by adding: counts, the least broken index, and a digest that is a sum of hashes, one for each shard.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from proofs.campaign import sources
from proofs.campaign.searches import Search, searches

for _parts in (sources.SWEEPS, sources.CALLS):
    sources.loaded(_parts)  # of what has just been loaded, before any file can change


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is searched: cases begin to end - 1 of a search at a scale, in shards of so many cases."""

    search: str
    backend: str
    scale: str
    begin: int
    end: int
    shard_size: int
    seed: int = 0
    plant: int | None = None

    @property
    def about(self) -> Search:
        """The search."""
        return searches()[self.search]

    @property
    def shards(self) -> int:
        """How many shards there are."""
        return -(-(self.end - self.begin) // self.shard_size)

    def shard(self, number: int) -> tuple[int, int]:
        """The cases [low, high) of a shard."""
        low = self.begin + number * self.shard_size
        return low, min(low + self.shard_size, self.end)

    def identity(self) -> dict[str, Any]:
        """Everything that a shard's result is a function of, but the sources."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a shard came to. `case` is the first broken one, with the calls that it consists of."""

    shard: int
    broken: int
    first: int | None
    accepted: int
    seconds: float = 0.0
    cpu: float = 0.0
    case: Mapping[str, Any] | None = None

    def result(self) -> dict[str, Any]:
        """What is the same wherever and whenever it ran."""
        return {"shard": self.shard, "broken": self.broken, "first": self.first, "accepted": self.accepted}

    def weight(self, job: Job) -> int:
        """The shard's part of the digest: independent of the machine, the time and the backend."""
        low, high = job.shard(self.shard)
        text = json.dumps([low, high, *self.result().values()])
        return int.from_bytes(hashlib.sha256(text.encode()).digest())


@dataclass(frozen=True, kw_only=True)
class Total:
    """What several shards came to."""

    shards: int
    cases: int
    broken: int
    first: int | None
    accepted: int
    covered: tuple[tuple[int, int], ...]
    digest: str


def total(job: Job, found: Iterable[Found]) -> Total:
    """Add up results, each shard once. ValueError where one is there twice."""
    each = sorted(found, key=lambda one: one.shard)
    covered: list[tuple[int, int]] = []
    digest = 0
    for one in each:
        low, high = job.shard(one.shard)
        if covered and low < covered[-1][1]:
            raise ValueError(f"total: shard {one.shard} is there twice; count each once")
        if covered and covered[-1][1] == low:
            covered[-1] = (covered[-1][0], high)
        else:
            covered.append((low, high))
        digest += one.weight(job)
    return Total(
        shards=len(each),
        cases=sum(high - low for low, high in covered),
        broken=sum(one.broken for one in each),
        first=min((one.first for one in each if one.first is not None), default=None),
        accepted=sum(one.accepted for one in each),
        covered=tuple(covered),
        digest=f"{digest % 2**256:064x}",
    )


def look(job: Job, number: int) -> Found:
    """Do one shard."""
    about = job.about
    low, high = job.shard(number)
    started, started_cpu = time.perf_counter(), time.thread_time()
    found = about.look(job.backend, job.scale, job.seed, low, high, job.plant)
    case = None
    if found.first is not None:
        read = about.case(job.backend, job.scale, job.seed, found.first, job.plant)
        case = {"told": dict(read.told), "calls": [{"fn": call.fn, "args": call.args, "rule": call.rule} for call in read.calls]}
    return Found(
        shard=number,
        broken=found.broken,
        first=found.first,
        accepted=found.accepted,
        seconds=time.perf_counter() - started,
        cpu=time.thread_time() - started_cpu,
        case=case,
    )
