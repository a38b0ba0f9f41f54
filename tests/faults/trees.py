"""Judges obligations in trees with one file changed: one process for many trees, which is forked for each.

Reads a line of JSON for each: the file below the tree's root, its text, the obligation. Prints one for each: verdict and
reason. What the tree does not hold (solvers and the rest) is imported before the fork, what it holds after it, so every
fork finds the changed file. Started by `tests.faults.test_broken_trees`, with the root as its argument.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click  # noqa: F401 - imported for the forks
import cvc5  # noqa: F401
import jsonschema  # noqa: F401
import junitparser  # noqa: F401
import pebble  # noqa: F401
import z3  # noqa: F401


def judged(obligation: str) -> dict[str, str]:
    """The verdict of the tree on its own obligation, or on the first of its lemmas that does not hold there."""
    from proofs.claims import OBLIGATIONS
    from proofs.judge import Budget, Verdict, judge
    from proofs.replay import run

    asked: dict[str, None] = {obligation: None}
    for name in (pending := [obligation]):
        # A refuted claim with quantifiers may cost any budget before its bounded telling is asked.
        judgement = judge(OBLIGATIONS[name], run, budget=Budget(z3=300_000, cvc5=100_000))
        if judgement.verdict is not Verdict.PROVED:
            return {"verdict": judgement.verdict.value, "reason": f"{name}: {judgement.reason}"}
        parts = [part for lemma in judgement.lemmas for part in (lemma, f"{lemma}.base", f"{lemma}.step")]
        fresh = [part for part in parts if part in OBLIGATIONS and part not in asked]
        asked |= dict.fromkeys(fresh)
        pending += fresh
    return {"verdict": Verdict.PROVED.value, "reason": ""}


def in_fork(obligation: str) -> str:
    """What `judged` says, from a fork of this process."""
    readable, writable = os.pipe()
    if (child := os.fork()) == 0:
        try:
            answer: dict[str, Any] = judged(obligation)
        except Exception as error:  # noqa: BLE001 - told to whoever started this
            answer = {"verdict": "error", "reason": repr(error)}
        with os.fdopen(writable, "w") as out:
            out.write(json.dumps(answer))
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as told:
        text = told.read()
    os.waitpid(child, 0)
    return text


def main(root: Path) -> None:
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(root))
    for line in sys.stdin:
        asked = json.loads(line)
        path = root / asked["file"]
        before = path.read_text(encoding="utf-8")
        path.write_text(asked["text"], encoding="utf-8")
        print(in_fork(asked["obligation"]), flush=True)
        path.write_text(before, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
