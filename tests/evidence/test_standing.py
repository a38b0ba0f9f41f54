"""What a run of `prove` makes of certificates: checked, missing, rejected, and their exit codes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from proofs.checker import Catalogue, everything
from proofs.evidence.certificates import path_of
from proofs.exits import Exit
from proofs.obligation import Kind
from tests.checker.proving import Proved, prove

NAME = "store/the-writer-owns-the-result"


def with_certificates(folder: Path, name: str) -> Catalogue:
    """One obligation and its faults, with certificates from a folder."""
    return replace(everything().only(name), certificates=folder)


def run(folder: Path, name: str = NAME) -> Proved:
    # Workers do not see what this process has in its environment by now, so the folder travels with the function.
    return prove(partial(with_certificates, folder / "kept", name), folder)


def keep(folder: Path, text: str) -> None:
    path_of(NAME, folder).parent.mkdir(parents=True)
    path_of(NAME, folder).write_text(text)


def kernel(proved: Proved) -> str:
    told = [check["verdict"] for check in proved.obligation(NAME)["cross_checks"] if check["solver"] == "kernel"]
    assert len(told) == 1
    return str(told[0])


def test_a_theorem_with_its_certificate_is_as_it_must_be(tmp_path: Path) -> None:
    keep(tmp_path / "kept", path_of(NAME).read_text())

    proved = run(tmp_path)

    assert (proved.exit, kernel(proved)) == (Exit.OK, "unsat")
    assert proved.obligation(NAME)["cross_checks"][-1]["cost"] > 0


def test_a_theorem_without_one_is_proved_but_not_complete(tmp_path: Path) -> None:
    proved = run(tmp_path)

    assert (proved.exit, kernel(proved)) == (Exit.UNDECIDED, "missing")
    entry = proved.obligation(NAME)
    assert entry["verdict"] == "proved" and "draftproof evidence certify" in entry["reason"]


def test_a_certificate_for_an_older_statement_counts_as_missing(tmp_path: Path) -> None:
    keep(tmp_path / "kept", path_of("store/generation-zero-sees-nothing").read_text())

    proved = run(tmp_path)

    assert (proved.exit, kernel(proved)) == (Exit.UNDECIDED, "missing")


def test_a_certificate_that_was_tampered_with_is_wrong(tmp_path: Path) -> None:
    text = path_of(NAME).read_text()
    keep(tmp_path / "kept", text[: text.index("[\n") + 2] + "]}\n")

    proved = run(tmp_path)

    assert (proved.exit, kernel(proved)) == (Exit.WRONG, "rejected")
    assert "the kernel rejects" in proved.obligation(NAME)["reason"]


def test_boundaries_have_no_certificate_and_need_none(tmp_path: Path) -> None:
    boundary = next(o for o in everything().obligations if o.kind is Kind.BOUNDARY)

    proved = run(tmp_path, boundary.id)

    assert proved.exit == Exit.OK
    assert all(check["solver"] != "kernel" for entry in proved.report["obligations"] for check in entry["cross_checks"])
