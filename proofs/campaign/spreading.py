"""Spreads shards over the workers of a scheduler until all are done, whoever asks has enough, or nobody is left to ask.

A shard is a number, and a function of a module says what is done about it. Every shard is given to one worker by name. A
worker is first asked for the digest of its sources and gets nothing if it has others; so is one that joins later. What a
worker that died had in hand goes to others, what fails is tried elsewhere before it is reported. Results come back as
events of the scheduler: each is complete in itself, and counted once.
"""

from __future__ import annotations

import os
import pickle
import platform
import queue
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import cloudpickle
from distributed import Client, Future, get_worker

from proofs.campaign import sources
from proofs.campaign.cluster import revive

ATTEMPTS = 3
"""So many times a shard may fail before it is given up."""
_POLL_SECONDS = 0.5
_LATE_SECONDS = 10.0
"""A shard whose end was told, and whose result was not, is asked for again after so long."""


class OtherSourcesError(RuntimeError):
    """A process has loaded other sources than the campaign's."""


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A worker that gets nothing, and why."""

    worker: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Failed:
    """A shard that could not be run, and why."""

    shard: int
    reason: str


@dataclass(kw_only=True)
class Spread:
    """What came of spreading: workers that took part, those refused, shards given up, and why it ended early, if it did."""

    workers: set[str] = field(default_factory=set)
    refused: list[Refused] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    retried: int = 0
    stopped: str = ""


@dataclass(kw_only=True)
class _Flight:
    shard: int
    worker: str
    future: Future[None]
    ended: float | None = None


Task = Callable[[int], Any]
"""What is done about a shard, by its number. It travels by name; what it gives is pickled."""


def _asked(task: Task, shard: int, parts: tuple[str, ...], digest: str, topic: str) -> None:
    """Do a shard on a worker and tell its result to whoever listens to the topic."""
    if sources.loaded(parts) != digest:
        raise OtherSourcesError("this worker has loaded other sources than the campaign's; start it anew with the same ones")
    started = time.perf_counter()
    value = task(shard)
    told = {"shard": shard, "value": pickle.dumps(value), "seconds": time.perf_counter() - started, "sources": digest}
    get_worker().log_event(topic, told)


def why_refused(told: Any, digest: str, versions: Mapping[str, str]) -> str:
    """Why a worker that says this of itself gets nothing; empty where it may be given shards."""
    if not isinstance(told, Mapping):
        return f"it cannot say what its sources are ({type(told).__name__}: {told})"
    # This process itself runs what it has loaded, whatever becomes of its files.
    for what in ("loaded",) if (told["pid"], told["host"]) == (os.getpid(), platform.node()) else ("files", "loaded"):
        if told[what] is not None and told[what] != digest:
            has = "has" if what == "files" else "has loaded"
            return f"it {has} other sources ({told[what][:12]}, not {digest[:12]}); start it anew with the campaign's"
    has = told["versions"]
    other = [
        f"{name} {has.get(name) or 'not at all'}, not {version}" for name, version in versions.items() if has.get(name) != version
    ]
    return f"it has another version of a package: {'; '.join(other)}" if other else ""


def introduced(client: Client, workers: Sequence[str], parts: tuple[str, ...]) -> dict[str, Any]:
    """What each worker says of itself, or the error that it gave instead."""
    cloudpickle.register_pickle_by_value(sources)
    try:
        told = client.run(sources.introduction, parts, workers=list(workers), on_error="return")
    finally:
        cloudpickle.unregister_pickle_by_value(sources)
    return dict(told)


class Spreader:
    """One campaign on one client."""

    def __init__(
        self,
        task: Task,
        client: Client,
        parts: tuple[str, ...],
        *,
        versions: Mapping[str, str] | None = None,
        patience: float = 60.0,
    ) -> None:
        """parts: the sources whose digest a worker must have, and `versions` of packages.

        patience: seconds to wait for a first or another worker when there is none.
        """
        self.task, self.client, self.parts, self.patience = task, client, parts, patience
        self.digest, self.versions = sources.loaded(parts), dict(versions or {})
        self.spread = Spread()
        self._topic = f"draftproof-{uuid.uuid4().hex}"
        self._news: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._flights: dict[int, _Flight] = {}
        self._approved: dict[str, int] = {}
        self._judged: set[str] = set()
        self._again: deque[int] = deque()
        self._tried: dict[int, set[str]] = {}
        self._failures: dict[int, int] = {}
        self._done: set[int] = set()
        self._mean = 0.0
        self._number = 0

    def results(self, wanted: Iterator[int]) -> Generator[list[tuple[int, Any]]]:
        """The wanted shards with what the task gave, as they come, some at a time. What ended early is told in `spread`."""
        self.client.subscribe_topic(self._topic, self._heard)
        looked = lonely = time.monotonic()
        more = True
        try:
            self._meet()
            while True:
                if self._approved:
                    lonely = time.monotonic()
                    more = self._fill(wanted)
                    if not more and not self._flights and not self._again:
                        return
                elif time.monotonic() - lonely > self.patience:
                    self.spread.stopped = f"no worker that may be asked for {self.patience:g} s"
                    return
                if batch := self._batch():
                    yield batch
                if time.monotonic() - looked > _POLL_SECONDS:
                    self._meet()
                    looked = time.monotonic()
        except OSError as error:
            self.spread.stopped = f"the scheduler is gone ({error})"
        finally:
            self._leave()

    def _heard(self, event: tuple[float, Any]) -> None:
        self._news.put(("found", event[1]))

    def _meet(self) -> None:
        """Who is there now: newcomers are asked for their sources, what the departed had in hand is taken back."""
        if self.client.status not in ("running", "connecting"):
            raise OSError(f"the connection is {self.client.status}")
        here = self.client.scheduler_info(n_workers=-1).get("workers")
        if here is None:
            raise OSError("it does not answer any more")
        for gone in self._approved.keys() - here.keys():
            del self._approved[gone]
            for flight in [flight for flight in self._flights.values() if flight.worker == gone]:
                self._take_back(flight)
        # Whoever comes back to an address is a newcomer.
        self._judged &= here.keys()
        if self.client.cluster is not None and len(here) < len(self.client.cluster.worker_spec):
            revive(self.client)
        new = [address for address in here if address not in self._judged]
        if not new:
            return
        told = introduced(self.client, new, self.parts)
        for address in new:
            answer = told.get(address)
            if answer is None or isinstance(answer, OSError):
                continue  # it left before it could answer, or will be asked again
            self._judged.add(address)
            if reason := why_refused(answer, self.digest, self.versions):
                self.spread.refused.append(Refused(worker=address, reason=reason))
            else:
                self._approved[address] = int(here[address]["nthreads"])
                self.spread.workers.add(address)

    def _take_back(self, flight: _Flight) -> None:
        self._drop(flight)
        self._again.append(flight.shard)
        self.spread.retried += 1

    def _drop(self, flight: _Flight) -> None:
        del self._flights[flight.shard]
        flight.future.cancel()

    def _fill(self, wanted: Iterator[int]) -> bool:
        """Give every worker enough to do; False when no wanted shard is left."""
        # Long shards wait with the campaign, where a worker that is free first can have them.
        ahead = 1 if self._mean > 0.5 else 8
        busy = dict.fromkeys(self._approved, 0)
        for flight in self._flights.values():
            busy[flight.worker] += 1
        free = deque(address for address, threads in self._approved.items() for _ in range(threads + ahead - busy[address]))
        for shard in [self._again.popleft() for _ in range(len(self._again))]:
            elsewhere = [address for address in free if address not in self._tried.get(shard, ())]
            only = self._approved.keys() <= self._tried.get(shard, set())
            if free and (elsewhere or only):
                address = elsewhere[0] if elsewhere else free[0]
                free.remove(address)
                self._give(shard, address)
            else:
                self._again.append(shard)
        # One each in turn, so that the first shards go to all.
        for address in sorted(free, key=lambda address: busy[address]):
            shard_or_none = next(wanted, None)
            if shard_or_none is None:
                return False
            self._give(shard_or_none, address)
        return True

    def _give(self, shard: int, address: str) -> None:
        self._number += 1
        future = self.client.submit(
            _asked,
            self.task,
            shard,
            self.parts,
            self.digest,
            self._topic,
            key=f"{self._topic}-{shard}-{self._number}",
            workers=[address],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )
        self._flights[shard] = _Flight(shard=shard, worker=address, future=future)
        future.add_done_callback(lambda ended: self._news.put(("ended", (shard, ended))))

    def _batch(self) -> list[tuple[int, Any]]:
        """What has been found since, after waiting for it a little."""
        found: list[tuple[int, Any]] = []
        for what, about in self._all_news():
            if what == "ended":
                self._ended(*about)
            elif about["sources"] == self.digest and about["shard"] not in self._done:
                shard = about["shard"]
                found.append((shard, pickle.loads(about["value"])))
                self._done.add(shard)
                self._mean += (about["seconds"] - self._mean) / min(len(self._done), 20)
                if flight := self._flights.pop(shard, None):
                    flight.future.release()
        late = time.monotonic() - _LATE_SECONDS
        for flight in [flight for flight in self._flights.values() if flight.ended is not None and flight.ended < late]:
            self._take_back(flight)
        self._again = deque(shard for shard in self._again if shard not in self._done)
        return found

    def _all_news(self) -> Iterator[tuple[str, Any]]:
        try:
            yield self._news.get(timeout=_POLL_SECONDS)
            while True:
                yield self._news.get_nowait()
        except queue.Empty:
            return

    def _ended(self, shard: int, future: Future[None]) -> None:
        flight = self._flights.get(shard)
        if flight is None or flight.future is not future:
            return
        if future.status == "error":
            self._failed(flight, future.exception())
        elif future.status == "finished":
            flight.ended = time.monotonic()
        else:
            self._take_back(flight)

    def _failed(self, flight: _Flight, error: BaseException | None) -> None:
        reason = f"{type(error).__name__}: {error}".strip()
        if isinstance(error, OtherSourcesError):
            self._approved.pop(flight.worker, None)
            self.spread.refused.append(Refused(worker=flight.worker, reason=reason))
            self._take_back(flight)
            return
        self._tried.setdefault(flight.shard, set()).add(flight.worker)
        self._failures[flight.shard] = self._failures.get(flight.shard, 0) + 1
        if self._failures[flight.shard] < ATTEMPTS:
            self._take_back(flight)
            return
        self._drop(flight)
        self.spread.failed.append(Failed(shard=flight.shard, reason=f"{ATTEMPTS} times, last on {flight.worker}: {reason}"))

    def _leave(self) -> None:
        flights, self._flights = list(self._flights.values()), {}
        try:
            if self.client.status == "running":
                self.client.unsubscribe_topic(self._topic)
                self.client.cancel([flight.future for flight in flights], force=True)
        except (OSError, ValueError):
            pass  # the scheduler is gone, and what it had with it
