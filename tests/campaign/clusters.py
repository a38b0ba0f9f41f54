"""Schedulers, workers and campaigns in processes of their own, all on this machine and all ended with the test."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-c", "from proofs.cli import main; main()", "campaign")
_DASK = (sys.executable, "-m", "dask")
_HERE = ("--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0")


def waited_for(what: Callable[[], Any], *, seconds: float = 60.0) -> Any:
    """What `what` gives once it is true. AssertionError when it never is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds:g} s in vain")


@functools.cache
def frozen() -> Path:
    """The packages as they are now: a journal is bound to its sources, and somebody may be at work on these."""
    folder = Path(tempfile.mkdtemp(prefix="draftproof-campaign-"))
    atexit.register(shutil.rmtree, folder)
    return copied(ROOT, folder)


def copied(root: Path, folder: Path) -> Path:
    """A copy of the packages."""
    for package in ("spec", "impl", "proofs"):
        shutil.copytree(root / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def environment(root: Path | None = None, **more: str) -> dict[str, str]:
    """The environment of a process that loads these packages."""
    return {**os.environ, "PYTHONPATH": str(root or frozen()), **more}


def _ended(process: subprocess.Popen[Any]) -> None:
    """Ends a process and all that it has started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        family = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
        for one in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
    process.wait()


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A scheduler, and how to start workers of it."""

    address: str
    folder: Path

    @contextlib.contextmanager
    def worker(self, name: str, root: Path | None = None, *, port: int = 0, **more: str) -> Iterator[subprocess.Popen[Any]]:
        """A worker process that loads the sources of `root`, or those that the campaigns load."""
        with open(self.folder / f"{name}.log", "wb") as log:
            process = subprocess.Popen(
                [
                    *_DASK,
                    "worker",
                    self.address,
                    *_HERE,
                    "--nthreads",
                    "1",
                    "--no-nanny",
                    "--name",
                    name,
                    "--worker-port",
                    str(port),
                ],
                env=environment(root, **more),
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        try:
            waited_for(lambda: b"Registered to" in (self.folder / f"{name}.log").read_bytes())
            yield process
        finally:
            _ended(process)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A scheduler on a free port of 127.0.0.1."""
    port = free_port()
    with open(folder / "scheduler.log", "wb") as log:
        process = subprocess.Popen(
            [*_DASK, "scheduler", *_HERE, "--port", str(port)], env=environment(), cwd=folder, stdout=log, stderr=log
        )
    try:
        waited_for(lambda: b"Scheduler at" in (folder / "scheduler.log").read_bytes())
        yield Cluster(address=f"tcp://127.0.0.1:{port}", folder=folder)
    finally:
        _ended(process)


@dataclass(frozen=True, kw_only=True)
class Ran:
    """How a campaign ended, and what it told."""

    code: int
    told: dict[str, Any]
    error: str


@contextlib.contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A campaign at work, in a process group of its own as a terminal's command is."""
    process = subprocess.Popen(
        [*COMMAND, *arguments, "--json"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        _ended(process)


def ended(process: subprocess.Popen[str], *, timeout: float = 300.0) -> Ran:
    """What became of a campaign."""
    output, error = process.communicate(timeout=timeout)
    return Ran(code=process.returncode, told=json.loads(output) if output.startswith("{") else {}, error=error)


def ran(folder: Path, *arguments: str) -> Ran:
    """Run a campaign to its end."""
    with started(folder, *arguments) as process:
        return ended(process)


def workers_of(process: subprocess.Popen[Any]) -> list[psutil.Process]:
    """The worker processes of a campaign."""
    with contextlib.suppress(psutil.NoSuchProcess):
        found = psutil.Process(process.pid).children(recursive=True)
        return [one for one in found if any(word in _command(one) for word in ("spawn_main", "dask worker"))]
    return []


def _command(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return " ".join(process.cmdline())
    return ""


def interrupted(process: subprocess.Popen[Any]) -> None:
    """Ctrl-C, as the terminal sends it: to the whole group."""
    os.killpg(process.pid, signal.SIGINT)


def changed(folder: Path, file: str, text: str) -> Path:
    """A copy of the packages with a line more at the end of one file."""
    copied(frozen(), folder)
    with open(folder / file, "a", encoding="utf-8") as longer:
        longer.write(text)
    return folder
