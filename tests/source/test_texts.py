"""The texts of all rules, in several styles and languages, equal the spec; so do the engine's own files where they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proofs.source.files import verdicts
from proofs.source.verdicts import UNBOUNDED, Row, Verdict
from spec.rules import RULES

HERE = Path(__file__).parent
TEXTS = sorted((HERE / "texts").iterdir())
SEEDS = Path(os.environ.get("DRAFTPROOF_SEEDS", HERE.parents[2] / "shared" / "seeds"))
"""The engine's own files, which are not in this repository; they may lie beside the checkout."""

BOUNDED = {"min_width_from_env": ".py"}
"""What is proved up to a bound only, because it holds no further: int() makes no number of more than 4300 digits."""


def _assert_proved(row: Row) -> None:
    assert row.verdict is Verdict.PROVED, row
    if BOUNDED.get(row.spec) != Path(row.path).suffix:
        assert row.scope == UNBOUNDED, row


@pytest.mark.slow
@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_every_function_of_a_text_equals_its_rule(path: Path) -> None:
    rows = verdicts(path)
    assert len(rows) >= 7
    for row in rows:
        _assert_proved(row)


def test_the_texts_together_tell_every_rule_in_three_styles() -> None:
    for suffix, styles in ((".rs", 3), (".py", 3)):
        for rule in RULES:
            if suffix == ".py" and rule.name == "min_width_from_env":
                continue
            told = [path for path in TEXTS if path.suffix == suffix and f"{rule.name}(" in path.read_text(encoding="utf-8")]
            assert len(told) >= styles, rule.name


@pytest.mark.parametrize("name", ["mtp_carry.rs", "verify_key.rs"])
def test_the_engines_files_equal_the_spec_in_both_builds_at_any_length(name: str) -> None:
    path = SEEDS / name
    if not path.is_file():
        pytest.skip(f"{path} is not here; DRAFTPROOF_SEEDS names the folder of the engine's files")
    rows = verdicts(path)
    assert len(rows) == {"mtp_carry.rs": 9, "verify_key.rs": 5}[name]
    for row in rows:
        _assert_proved(row)
        assert row.profile == "both"
