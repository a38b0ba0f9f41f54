"""Refactoring does not make the tool cry wolf: what means the same is never refuted, and nearly always proved."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs.source.files import verdicts
from proofs.source.verdicts import UNBOUNDED, Row, Verdict
from tests.source.rewrites import ALL, SCALARS, Rewrite


def _row(rewrite: Rewrite, folder: Path) -> Row:
    path = folder / f"rewrite{rewrite.suffix}"
    path.write_text(rewrite.text, encoding="utf-8")
    (row,) = [row for row in verdicts(path) if row.spec == rewrite.rule]
    return row


@pytest.mark.slow
def test_no_rewrite_is_refuted_and_nearly_all_are_proved(tmp_path: Path) -> None:
    rows = {rewrite: _row(rewrite, tmp_path) for rewrite in ALL}
    assert len(rows) >= 60
    assert [row for row in rows.values() if row.verdict is Verdict.REFUTED] == []
    proved = [row for row in rows.values() if row.verdict is Verdict.PROVED]
    assert len(proved) >= 0.9 * len(rows)
    unbounded = [rewrite for rewrite in SCALARS if rows[rewrite].scope == UNBOUNDED]
    assert len(unbounded) >= 0.97 * len(SCALARS)


@pytest.mark.parametrize("rewrite", SCALARS[::7], ids=lambda rewrite: rewrite.rule)
def test_a_rewrite_of_words_is_proved(rewrite: Rewrite, tmp_path: Path) -> None:
    row = _row(rewrite, tmp_path)
    assert (row.verdict, row.scope) == (Verdict.PROVED, UNBOUNDED)
