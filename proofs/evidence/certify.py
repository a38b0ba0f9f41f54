"""Makes the certificates that are missing: for new theorems and for those whose statement has changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proofs.certify import NotFound, certify
from proofs.checker import Answered, Settings, in_workers
from proofs.evidence.certificates import FOLDER, Standing, certified, path_of, text_of
from proofs.kernel import Refused, check
from proofs.report import replace_file

BACKSTOP = 600.0


@dataclass(frozen=True, kw_only=True)
class Made:
    """What came of one theorem: the certificate's text, or why there is none."""

    name: str
    text: str = ""
    reason: str = ""


def wanting(statements: Mapping[str, str], folder: Path = FOLDER) -> list[str]:
    """The theorems that have no certificate which the kernel accepts."""
    return [name for name, text in statements.items() if certified(name, text, folder).standing is not Standing.CHECKED]


def make(
    statements: Mapping[str, str],
    names: Sequence[str],
    settings: Settings,
    *,
    folder: Path = FOLDER,
    tries: int = 2,
    noticed: Callable[[], None] = lambda: None,
) -> list[Made]:
    """Makes and stores certificates for these theorems, in several processes; what came of each, in order."""
    items = [(name, statements[name], folder, tries) for name in names]
    patient = dataclasses.replace(settings, backstop=BACKSTOP)
    outcomes = in_workers(_made, items, patient, warm=_ready, warmth=(), noticed=noticed) if items else ()
    return [
        outcome.value if isinstance(outcome, Answered) else Made(name=name, reason=outcome.reason)
        for name, outcome in zip(names, outcomes, strict=True)
    ]


def _ready() -> None:
    """Nothing needs to be built before the first theorem."""


def _made(item: tuple[str, str, Path, int]) -> Made:
    name, statement, folder, tries = item
    try:
        steps = certify(statement, tries=tries)
        check(statement, steps)
    except NotFound as why:
        return Made(name=name, reason=str(why))
    except Refused as why:
        return Made(name=name, reason=f"the kernel rejects what was found: {why}")
    made = Made(name=name, text=text_of(statement, steps))
    replace_file(path_of(name, folder), made.text)
    return made
