"""The tests that are written: red on code with the fault, green on the right code; and Rust that compiles."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from proofs.explain.explanation import MUTANTS, Explanation, explain, obligation_of, obligations_of
from proofs.explain.regression import NoTest, pytest_text, rust_text
from proofs.replay import run

ROOT = Path(__file__).resolve().parents[2]
RUSTC = shutil.which("rustc") or shutil.which("rustc", path=str(Path.home() / ".cargo" / "bin"))


def explained(name: str) -> Explanation:
    mutant = MUTANTS[name]
    return explain(obligation_of(obligations_of(mutant)[0]), run, mutant=mutant)


def ends(test: Path, root: Path) -> int:
    """The exit code of pytest on one file, with the packages of a folder."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(test.parent), str(test)]
    return subprocess.run(command, capture_output=True, check=False, env=environment, cwd=test.parent).returncode


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("copy")
    for package in ("spec", "impl", "proofs"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__", "certificates"))
    return root


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "file", "right", "faulty"),
    [
        ("store/zero-is-a-generation", "impl/reference/store.py", "return owner == other != 0", "return owner == other"),
        (
            "append/the-last-key-is-appended-again",
            "impl/reference/append.py",
            "last_pair_key + 1",
            "last_pair_key + 0",
        ),
        ("no-owner-check", "impl/reference/store.py", "return owner == other != 0", "return other != 0"),
        (
            "claimed-rows-are-read-before-they-are-written",
            "proofs/traces/machine.py",
            "return all(self.landed[p] for p in rows)",
            "return True",
        ),
    ],
)
def test_a_written_test_is_red_with_the_fault_and_green_without(
    copied: Path, tmp_path: Path, name: str, file: str, right: str, faulty: str
) -> None:
    test = tmp_path / "test_it.py"
    test.write_text(pytest_text(explained(name)), encoding="utf-8")
    code = copied / file
    text = code.read_text(encoding="utf-8")
    assert right in text

    assert ends(test, copied) == pytest.ExitCode.OK
    code.write_text(text.replace(right, faulty), encoding="utf-8")
    try:
        assert ends(test, copied) == pytest.ExitCode.TESTS_FAILED
    finally:
        code.write_text(text, encoding="utf-8")


def test_no_test_is_written_of_a_world_that_no_code_can_help() -> None:
    with pytest.raises(NoTest, match="about the world"):
        pytest_text(explained("A1"))


def test_no_rust_test_is_written_of_a_fault_that_is_in_no_function() -> None:
    with pytest.raises(NoTest, match="no call of one shows it"):
        rust_text(explained("claimed-rows-are-read-before-they-are-written"))


def test_no_python_test_is_written_of_a_sum_that_wraps() -> None:
    with pytest.raises(NoTest, match="does not wrap"):
        pytest_text(explained("machine/sums-saturate"))


STUBS = """
#![allow(dead_code, unused_variables)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePtr(pub u64);
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreRange { pub owner: u64, pub lo: usize, pub hi: usize }
#[derive(Debug, PartialEq, Eq)]
pub struct AppendPlan { pub first_key: usize, pub rows: usize }
pub struct DrafterContext { pub prefill: bool, pub carry: bool }
pub struct CarriedDrafter {
    pub block_table: Vec<u32>, pub rows: usize, pub last_pair_key: Option<usize>, pub tokens: Vec<u32>, pub session_hash: u64,
}
impl CarriedDrafter {
    pub fn common_prefix_len(&self, prompt: &[u32]) -> usize { unimplemented!() }
    pub fn session_matches(&self, session_hash: u64) -> bool { unimplemented!() }
    pub fn usable_by(&self, prompt: &[u32], session_hash: u64) -> Option<(usize, usize)> { unimplemented!() }
}
impl StoreRange {
    pub fn visible_to(self, reader_gen: u64) -> (usize, usize) { if reader_gen == 0 { (0, 0) } else { unimplemented!() } }
}
pub fn plan_append(a: usize, b: usize, c: usize, d: usize) -> Option<AppendPlan> { unimplemented!() }
pub fn hidden_row_offset(base: DevicePtr, pos: usize, hidden_size: usize) -> DevicePtr { unimplemented!() }
pub fn stamped_merge(cur: StoreRange, writer_gen: u64, start: usize, count: usize) -> StoreRange { unimplemented!() }
pub fn merge_interval(cur: (usize, usize), start: usize, count: usize) -> (usize, usize) { unimplemented!() }
pub fn carry_armed_with(cfg: DrafterContext, multi_seq: bool) -> bool { unimplemented!() }
pub fn verify_batch_permutation(slots: &[usize], ks: &[usize], canonical: bool) -> Vec<usize> { unimplemented!() }
pub fn verify_batch_order(slots: &[usize], ks: &[usize], canonical: bool) -> (Vec<usize>, Vec<usize>) { unimplemented!() }
pub fn verify_graph_key(pairs: &[(u32, u32)], wy_tables_null: bool) -> Vec<u32> { unimplemented!() }
pub fn canonical_assignment_at(n: usize, min_width: usize, kill_switch_clear: bool) -> bool { unimplemented!() }
pub fn min_width_from_env(raw: Option<std::ffi::OsString>) -> usize { unimplemented!() }
"""


@pytest.mark.slow
@pytest.mark.skipif(RUSTC is None, reason="rustc is not here")
def test_the_rust_tests_of_all_mutants_of_rules_compile_and_run_against_stubs(tmp_path: Path) -> None:
    texts = [STUBS]
    for name in [name for name in MUTANTS if "/" in name]:
        texts.append(rust_text(explained(name)))
    source, binary = tmp_path / "written.rs", tmp_path / "written"
    source.write_text("\n".join(texts), encoding="utf-8")
    assert RUSTC is not None

    built = subprocess.run(
        [RUSTC, "--edition", "2021", "--test", "-o", binary, source], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    listed = subprocess.run([binary, "--list"], capture_output=True, text=True, check=True).stdout
    told = subprocess.run([binary, "store_zero_is_a_generation"], capture_output=True, text=True, check=False)

    assert listed.count(": test") >= 100
    assert told.returncode == 0, told.stdout
