"""Where a campaign runs: threads of this process, worker processes of its own, or a scheduler that is already there.

Everything that is started here listens on 127.0.0.1 alone, has no dashboard, and ends with the campaign. On a machine with
several CUDA devices each worker process sees one of them.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import dask
from distributed import Client, Nanny, Scheduler, SpecCluster, Status, Worker

HERE = "127.0.0.1"
CONNECTING_SECONDS = 20

_SETTINGS = {
    # Shards come back by other means than results; whoever is asked again is asked by the campaign.
    "distributed.scheduler.allowed-failures": 3,
    "distributed.comm.timeouts.connect": f"{CONNECTING_SECONDS}s",
    "distributed.worker.daemon": True,
    "distributed.admin.low-level-log-length": 1000,
}


class NoSchedulerError(ValueError):
    """There is no scheduler at the address."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where to run. scheduler: an address. workers: so many processes here. devices: one process for each of them.

    Without any of them: `threads` threads of this process.
    """

    scheduler: str | None = None
    workers: int = 0
    devices: Sequence[int] = ()
    threads: int = 1

    def told(self) -> str:
        """The place in words."""
        if self.scheduler:
            return f"scheduler {self.scheduler}"
        if self.devices:
            return f"{len(self.devices)} worker processes, a device each"
        if self.workers:
            return "1 worker process" if self.workers == 1 else f"{self.workers} worker processes"
        return "1 thread of this process" if self.threads == 1 else f"{self.threads} threads of this process"


def dask_setup(worker: Worker) -> None:
    """Called by Dask in each worker process of ours: the terminal sends Ctrl-C to all, and the campaign alone decides."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def connected(place: Place) -> Iterator[Client]:
    """A client in this place, with whatever had to be started. Errors: NoSchedulerError."""
    quiet = logging.CRITICAL
    for name in ("distributed", "tornado.application", "asyncio"):
        logging.getLogger(name).setLevel(quiet)
    with dask.config.set({**_SETTINGS, "distributed.logging": {"distributed": "critical"}}), contextlib.ExitStack() as stack:
        if place.scheduler:
            yield stack.enter_context(_client_of(place.scheduler))
            return
        protocol = "tcp" if place.workers or place.devices else "inproc"
        listening = {"protocol": protocol, "dashboard": False, "dashboard_address": f"{HERE}:0"}
        if protocol == "tcp":
            listening |= {"host": HERE}
        shared = {**listening, "memory_limit": 0, **({"silence_logs": quiet, "preload": [__name__]} if protocol == "tcp" else {})}
        if place.devices:
            options = [{**shared, "nthreads": 1, "env": {"CUDA_VISIBLE_DEVICES": str(number)}} for number in place.devices]
        elif place.workers:
            options = [{**shared, "nthreads": 1} for _ in range(place.workers)]
        else:
            options = [{**shared, "nthreads": place.threads}]
        kind = Worker if protocol == "inproc" else Nanny
        # Workers come afterwards: one that dies while it starts must not take the campaign with it.
        cluster = SpecCluster(scheduler={"cls": Scheduler, "options": {**listening, "port": 0}}, workers={}, silence_logs=quiet)
        stack.enter_context(cluster)
        cluster.worker_spec.update({number: {"cls": kind, "options": one} for number, one in enumerate(options)})
        client = stack.enter_context(Client(cluster, set_as_default=False))
        revive(client)
        yield client


def revive(client: Client) -> None:
    """Start what a cluster of ours lacks of its workers; returns at once. Other schedulers' workers are not ours to start."""
    cluster = client.cluster
    if cluster is None:
        return

    def again() -> None:
        for name, worker in list(cluster.workers.items()):
            if worker.status in (Status.failed, Status.closed):
                del cluster.workers[name]
        cluster.scale(len(cluster.worker_spec))

    cluster.loop.add_callback(again)


def _client_of(scheduler: str) -> Client:
    try:
        return Client(scheduler, timeout=CONNECTING_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        rule = f"does not answer ({error}); pass the address of one, e.g. tcp://{HERE}:8786"
        raise NoSchedulerError(f"scheduler={scheduler} {rule}") from error
