"""Puts the questions of `draftproof prove` to the workers of a scheduler: same order, verdicts, costs, budgets and backstop.

Questions are dealt out in a few hands. A worker answers a hand as `draftproof prove --jobs 1` would, in a process of its
own whose pool of one can be killed (a Dask worker may have no children of its own kind). Solvers must be of the same
versions there, since costs depend on them, and sources equal.
"""

from __future__ import annotations

import functools
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import metadata

import click

from proofs import checker
from proofs.campaign import sources
from proofs.campaign.cluster import Place, connected
from proofs.campaign.spreading import Spreader
from proofs.checker import Load, Lost, Outcome, Question, Settings
from proofs.judge import Runner

_HANDS_OF_A_THREAD, _LEAST_OF_A_HAND = 3, 50
_SIZE = 8
"""Bytes of the length that stands before a hand."""


@dataclass(frozen=True, kw_only=True)
class _Hand:
    """Questions that one worker answers, and what it takes to answer them."""

    asked: Sequence[Question]
    load: Load
    run: Runner
    settings: Settings


def ask_all(
    asked: Sequence[Question],
    load: Load,
    run: Runner,
    settings: Settings,
    *,
    scheduler: str,
    noticed: Callable[[], None] = lambda: None,
    patience: float = 10.0,
) -> tuple[Outcome, ...]:
    """The outcomes in the order of the questions, as proofs.checker.ask_all has them. Errors: NoSchedulerError."""
    versions = {name: metadata.version(name) for name in ("z3-solver", "cvc5")}
    outcomes: dict[int, Outcome] = {}
    with connected(Place(scheduler=scheduler)) as client:
        threads = sum(worker["nthreads"] for worker in client.scheduler_info(n_workers=-1)["workers"].values())
        # Whoever takes up a hand loads solvers and catalogue first, so a hand is not small.
        hands = max(1, min(len(asked), max(threads, min(_HANDS_OF_A_THREAD * threads, len(asked) // _LEAST_OF_A_HAND))))
        # Those that take longest stand first, and go to different hands.
        dealt = [_Hand(asked=asked[hand::hands], load=load, run=run, settings=replace(settings, jobs=1)) for hand in range(hands)]
        task = functools.partial(_answered_of, tuple(dealt))
        spreader = Spreader(task, client, sources.PROOFS, versions=versions, patience=patience)
        for batch in spreader.results(iter(range(hands))):
            for hand, answers in batch:
                outcomes |= dict(zip(range(hand, len(asked), hands), answers, strict=True))
                for _ in answers:
                    noticed()
    for refused in spreader.spread.refused:
        click.echo(f"prove: worker {refused.worker} gets nothing: {refused.reason}", err=True)
    reasons = {failed.shard: failed.reason for failed in spreader.spread.failed}
    for number in range(len(asked)):
        reason = reasons.get(number % hands) or spreader.spread.stopped or "the scheduler gave no answer"
        outcomes.setdefault(number, Lost(reason=reason))
    return tuple(outcomes[number] for number in range(len(asked)))


def _answered_of(hands: Sequence[_Hand], number: int) -> tuple[Outcome, ...]:
    """Answer one hand in a process of its own. Errors: RuntimeError where that gave no answer."""
    payload = pickle.dumps(hands[number])
    # The process loads what this one would, wherever it was found.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-P", "-m", __name__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(len(payload).to_bytes(_SIZE) + payload)
            process.stdin.flush()
            # Its standard input stays open until it has answered: when it closes, nobody is left to answer.
            told = process.stdout.read()
        finally:
            process.stdin.close()
    if process.returncode:
        raise RuntimeError(f"_answered_of: the process that answers ended with {process.returncode}; see the worker's own output")
    outcomes: tuple[Outcome, ...] = pickle.loads(told)
    return outcomes


def _main() -> None:
    """Read a hand from standard input, and write its outcomes to standard output."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    hand: _Hand = pickle.loads(_read(int.from_bytes(_read(_SIZE))))
    threading.Thread(target=_end_with_the_asker, daemon=True).start()
    told = pickle.dumps(checker.ask_all(hand.asked, hand.load, hand.run, hand.settings))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers.write(told)
    answers.close()


def _read(size: int) -> bytes:
    # Not through sys.stdin, whose lock a thread that waits there would hold when the interpreter ends.
    whole = b""
    while len(whole) < size and (part := os.read(0, size - len(whole))):
        whole += part
    return whole


def _end_with_the_asker() -> None:
    _read(1)
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    # What is pickled names this module, not __main__.
    from proofs.campaign.asking import _main as main

    main()
