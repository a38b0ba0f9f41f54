"""A line broken in a copy of the tree: `draftproof prove` there fails, and names the claim.

The faults of the registry break the models, and a break of each function breaks the reference.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from proofs.faults import FAULTS, Fault
from tests.faults import trees

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Break:
    """A function of the reference broken in one line, and a claim whose witness or model the broken code contradicts."""

    function: str
    file: str
    old: str
    new: str
    claim: str

    @property
    def text(self) -> str:
        text = (ROOT / "impl/reference" / self.file).read_text(encoding="utf-8")
        assert text.count(self.old) == 1, self
        return text.replace(self.old, self.new)


BREAKS = (
    Break(
        function="visible_to",
        file="store.py",
        old="(self.lo, self.hi) if _same_generation(self.owner, reader_gen) else (0, 0)",
        new="(self.lo, self.hi)",
        claim="append/nothing-is-appended-from-what-is-not-ones-own",
    ),
    Break(
        function="merge_interval",
        file="store.py",
        old="touches = start <= hi and lo <= end",
        new="touches = lo < hi",
        claim="store/merge-claims-only-written-rows",
    ),
    Break(
        function="stamped_merge",
        file="store.py",
        old="_merged(cur.lo, cur.hi, start, end) if _same_generation(cur.owner, writer_gen) else (start, end)",
        new="_merged(cur.lo, cur.hi, start, end)",
        claim="store/a-foreign-interval-is-never-extended",
    ),
    Break(
        function="hidden_row_offset",
        file="store.py",
        old="address = base + pos * hidden_size * 2",
        new="address = base + pos * hidden_size",
        claim="store/rows-lie-apart-in-memory",
    ),
    Break(
        function="common_prefix_len",
        file="carry.py",
        old='return _agreement(self.tokens, u32_sequence("common_prefix_len", "prompt", prompt))',
        new='return len(u32_sequence("common_prefix_len", "prompt", prompt))',
        claim="carry/the-common-prefix-agrees",
    ),
    Break(
        function="session_matches",
        file="carry.py",
        old="return self.session_hash == session_hash != 0",
        new="return self.session_hash == session_hash",
        claim="carry/an-unknown-session-is-refused",
    ),
    Break(
        function="usable_by",
        file="carry.py",
        old="rows = self.rows - (self.last_pair_key - key)",
        new="rows = self.rows",
        claim="carry/adopted-rows-read-shared-tokens-alone",
    ),
    Break(
        function="carry_armed_with",
        file="carry.py",
        old="return cfg.carry and not multi_seq",
        new="return cfg.carry",
        claim="carry/armed-only-if-configured-and-alone",
    ),
    Break(
        function="plan_append",
        file="append.py",
        old="first_key = max(last_pair_key + 1, hidden_lo)",
        new="first_key = max(last_pair_key, hidden_lo)",
        claim="append/planned-keys-are-new",
    ),
    Break(
        function="verify_batch_permutation",
        file="order.py",
        old='return _permutation(*_batch("verify_batch_permutation", slots, ks, canonical))',
        new='return _permutation(*_batch("verify_batch_permutation", slots, ks, canonical))[::-1]',
        claim="order/the-order-is-a-permutation",
    ),
    Break(
        function="verify_batch_order",
        file="order.py",
        old="sorted(depths, reverse=True) if canonical",
        new="sorted(depths) if canonical",
        claim="order/canonical-depths-never-increase",
    ),
    Break(
        function="verify_graph_key",
        file="key.py",
        old="key.append(U32_MAX - 1 if wy_tables_null else U32_MAX)",
        new="key.append(U32_MAX)",
        claim="key/a-key-has-two-words-a-member-and-one",
    ),
    Break(
        function="canonical_assignment_at",
        file="gate.py",
        old="and n >= min_width",
        new="and n > min_width",
        claim="gate/canonical-exactly-if-clear-and-wide-enough",
    ),
    Break(
        function="min_width_from_env",
        file="gate.py",
        old="CANONICAL_KEY_MIN_WIDTH = 8",
        new="CANONICAL_KEY_MIN_WIDTH = 7",
        claim="gate/without-readable-text-the-width-is-the-default",
    ),
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the three packages, and nothing else."""
    for package in ("spec", "impl", "proofs"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def prove(tree: Path, claim: str) -> subprocess.CompletedProcess[str]:
    """`draftproof prove --only CLAIM` of that tree."""
    command = [sys.executable, "-m", "proofs.cli", "prove", "--only", claim, "--jobs", "1", "--budget", "300000"]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def judge_all(tree: Path, asked: Iterable[tuple[str, str, str]]) -> list[dict[str, str]]:
    """Verdict and reason for each (file, its text, claim)."""
    lines = [json.dumps({"file": file, "text": text, "obligation": claim}) for file, text, claim in asked]
    command = [sys.executable, str(Path(trees.__file__)), str(tree)]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(lines), done.stderr
    return answers


FAILS = {"refuted", "vacuous"}
FIRST_OF_ITS_MODULE = {fault.patch.module: fault for fault in reversed(FAULTS)}


@pytest.mark.parametrize("fault", FIRST_OF_ITS_MODULE.values(), ids=lambda fault: fault.name)
def test_prove_fails_where_a_model_is_broken_and_names_the_claim(fault: Fault, tree: Path) -> None:
    (tree / "spec" / f"{fault.patch.module}.py").write_text(fault.patch.apply(), encoding="utf-8")

    done = prove(tree, fault.refuted_by)

    assert done.returncode == 1, done.stdout + done.stderr
    refuted = [line for line in done.stdout.splitlines() if line.startswith(fault.refuted_by) and "REFUTED" in line]
    assert len(refuted) == 1, done.stdout


def test_prove_fails_where_the_reference_is_broken_and_names_the_claim(tree: Path) -> None:
    broken = BREAKS[0]
    (tree / "impl/reference" / broken.file).write_text(broken.text, encoding="utf-8")

    done = prove(tree, broken.claim)

    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{broken.claim}   REFUTED" in done.stdout
    assert "model and code differ in the witness" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_every_broken_model_fails_its_claim(part: int, tree: Path) -> None:
    faults = FAULTS[part::4]
    asked = ((f"spec/{fault.patch.module}.py", fault.patch.apply(), fault.refuted_by) for fault in faults)

    answers = judge_all(tree, asked)

    wrong = {fault.name: answer for fault, answer in zip(faults, answers, strict=True) if answer["verdict"] not in FAILS}
    assert wrong == {}


@pytest.mark.slow
def test_every_broken_function_of_the_reference_fails_a_claim(tree: Path) -> None:
    assert len({broken.function for broken in BREAKS}) == 14

    answers = judge_all(tree, ((f"impl/reference/{broken.file}", broken.text, broken.claim) for broken in BREAKS))

    wrong = {b.function: answer for b, answer in zip(BREAKS, answers, strict=True) if answer["verdict"] != "refuted"}
    assert wrong == {}


def test_an_unbroken_tree_passes(tree: Path) -> None:
    fault, broken = FAULTS[0], BREAKS[0]
    same = [
        (f"impl/reference/{broken.file}", (ROOT / "impl/reference" / broken.file).read_text(encoding="utf-8"), claim)
        for claim in (fault.refuted_by, broken.claim)
    ]

    assert [answer["verdict"] for answer in judge_all(tree, same)] == ["proved", "proved"]
