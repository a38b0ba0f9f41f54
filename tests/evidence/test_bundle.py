"""The bundle: its bytes follow from its parts, every change of a byte is noticed, and forgers with new digests are caught."""

from __future__ import annotations

import ast
import json
import os
import random
import re
import struct
import subprocess
import sys
import zipfile
import zlib
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from in_toto_attestation.v1 import resource_descriptor
from in_toto_attestation.v1 import statement as in_toto_statement

from proofs.checker import everything
from proofs.cli import run
from proofs.evidence import onefile, verifying
from proofs.evidence.archive import packed, unpacked
from proofs.evidence.bundle import sealed, statement
from proofs.evidence.certificates import path_of
from proofs.evidence.cli import ARCHIVE, ATTESTATION, evidence
from proofs.evidence.origin import attested
from proofs.evidence.signing import NoSignature, opened, signed
from proofs.evidence.verifying import Verified, verify
from proofs.exits import Exit
from proofs.faults import FAULTS, Fault, rules_of
from proofs.judge import stated
from proofs.kernel import Refused
from proofs.obligation import Kind
from tests.evidence.bundles import MANIFEST, SEAL, Built, build, edited, hexdigest
from tests.evidence.faulty import accepts, steps_of

PROVED = "store/merge-claims-only-written-rows"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("bundle"))


def problems(archive: bytes) -> list[str]:
    return verify(archive).problems


def test_a_bundle_of_a_good_run_holds_together(built: Built) -> None:
    found = verify(built.archive)

    assert found.problems == []
    assert any("the certificates of 28 theorems" in line for line in found.rechecked)
    assert any("z3" in line for line in found.reported)


def test_its_bytes_are_those_of_any_other_run(built: Built, tmp_path: Path) -> None:
    assert build(tmp_path).archive == built.archive


def test_nothing_of_the_machine_or_the_time_is_inside(built: Built) -> None:
    report = json.loads(built.parts["report.json"])
    text = json.dumps(report)

    assert "seconds" not in text and '"python"' not in text
    assert str(built.folder).encode() not in built.archive
    # As a word of its own: short names of machines stand inside other words.
    assert not re.search(rb"(?<![\w-])" + re.escape(os.uname().nodename.encode()) + rb"(?![\w-])", built.archive)


def test_any_unzipper_reads_it(built: Built) -> None:
    with zipfile.ZipFile(BytesIO(built.archive)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == unpacked(built.archive)


def test_a_thousand_changes_of_a_byte_are_a_thousand_refusals(built: Built) -> None:
    archive, draw = built.archive, random.Random(20240607)
    for _ in range(1000):
        place, changed = draw.randrange(len(archive)), bytearray(archive)
        changed[place] ^= draw.randrange(1, 256)

        assert problems(bytes(changed)), f"byte {place}"


def test_changes_that_keep_the_archive_well_formed_are_refused_by_the_digests(built: Built) -> None:
    members, draw = unpacked(built.archive), random.Random(3)
    for name in draw.sample(sorted(members), 40):
        changed = bytearray(members[name])
        changed[draw.randrange(len(changed))] ^= 1

        assert problems(packed({**members, name: bytes(changed)})), name


@pytest.mark.parametrize("cut", [0, 1, 4, 30, 100, 1000])
def test_an_archive_that_is_cut_short_or_goes_on_is_refused(built: Built, cut: int) -> None:
    assert problems(built.archive[:cut]) and problems(built.archive[: len(built.archive) - 1 - cut])
    assert problems(built.archive + b"x" * (cut + 1))


# Hostile archives.


def zipped(*members: tuple[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


@pytest.mark.parametrize(
    "name", ["../up", "/etc/passwd", "a/../b", "a//b", "./a", "a/", "C:\\x", "a\\b", "a\x00b", "ä", ".hidden", "a" * 300, ""]
)
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(Refused, match="is no name"):
        packed({name: b""})
    data = b"x"
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 10, 0, 0, 0, 33, zlib.crc32(data), 1, 1, len(name.encode()), 0)
    assert problems(local + name.encode() + data)


def test_a_bomb_is_refused_unopened() -> None:
    assert problems(zipped(("report.json", b"0" * 50_000_000), compression=zipfile.ZIP_DEFLATED))


def test_a_name_that_comes_twice_is_refused(built: Built) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = zipped(("report.json", b"{}"), ("report.json", b"[]"))
    assert "two members" in problems(twice)[0]


def test_sizes_that_lie_are_refused() -> None:
    lying = struct.pack("<4s5H3I2H", b"PK\x03\x04", 10, 0, 0, 0, 33, 0, 2**32 - 1, 2**32 - 1, 1, 0) + b"a"
    assert problems(lying) and problems(lying[:20])


@pytest.mark.parametrize(
    "text", [b"", b"[]", b'{"a":1,"a":2}', b"[" * 50_000, b"1e9", b'{"schema": ' + b"9" * 5000 + b"}", b"\xff"]
)
def test_members_that_are_no_honest_json_are_refused(built: Built, text: bytes) -> None:
    for name in ("report.json", "inventory.json"):
        assert problems(built.forged(lambda parts, name=name: parts.update({name: text})))  # type: ignore[misc]
    members = unpacked(built.archive)
    assert problems(packed({**members, MANIFEST: text, SEAL: f"{hexdigest(text)}\n".encode()}))


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [[]], {"obligations": 1}, {"obligations": [{}]}])
def test_reports_of_another_form_are_refused(built: Built, value: Any) -> None:
    assert problems(built.forged(lambda parts: parts.update({"report.json": json.dumps(value).encode()})))


def test_a_member_that_is_not_listed_is_refused(built: Built) -> None:
    members = unpacked(built.archive)

    assert problems(packed({**members, "more.txt": b""})) == ["more.txt: the manifest does not list it"]
    del members["inventory.json"]
    assert any("it is missing" in problem for problem in problems(packed(members)))


# Forgers who compute all digests anew.


def test_a_theorem_without_its_certificate_is_noticed(built: Built) -> None:
    def lose(parts: dict[str, bytes]) -> None:
        del parts[f"certificates/{PROVED}.json"]

    archive = built.forged(lose)

    assert problems(archive) == [f"{PROVED}: its certificate is missing"]


def test_a_theorem_that_is_left_out_is_noticed(built: Built) -> None:
    def leave_out(parts: dict[str, bytes]) -> None:
        edited(parts, "report.json", lambda report: report["obligations"].pop(0))

    assert "the inventory lists it" in problems(built.forged(leave_out))[0]


def test_a_verdict_that_is_polished_is_noticed(built: Built) -> None:
    def boundary_as_theorem(parts: dict[str, bytes]) -> None:
        def change(report: Any) -> None:
            entry = next(entry for entry in report["obligations"] if entry["kind"] == "boundary")
            entry["kind"], entry["verdict"] = "theorem", "proved"

        edited(parts, "report.json", change)

    assert any("its certificate is missing" in problem for problem in problems(built.forged(boundary_as_theorem)))


def test_a_claim_in_other_words_is_noticed(built: Built) -> None:
    def reword(parts: dict[str, bytes]) -> None:
        edited(parts, "report.json", lambda report: report["obligations"][0].update(claim="Everything is fine."))

    assert "not the one in the inventory" in problems(built.forged(reword))[0]


def test_a_run_that_failed_is_no_evidence(built: Built) -> None:
    for change in ({"exit": 1}, {"complete": False}):
        forged = built.forged(lambda parts, change=change: edited(parts, "report.json", lambda report: report.update(change)))  # type: ignore[misc]
        assert any("the run was not complete" in problem for problem in problems(forged))


def test_a_source_that_was_changed_is_noticed(built: Built) -> None:
    name = "sources/spec/store.py"
    found = problems(built.forged(lambda parts: parts.update({name: parts[name] + b"#"})))

    assert found == [f"{name}: it is not the source of which {MANIFEST} tells"]
    forged = built.forged(lambda parts: edited(parts, "report.json", lambda report: report["digests"].update({"spec/x.py": "0"})))
    assert "its sources are not those" in problems(forged)[0]


def test_a_record_that_is_told_as_fresh_and_is_not_is_noticed(built: Built) -> None:
    record = next(name for name in built.parts if name.startswith("records/"))
    assert all(each["status"] == "fresh" for each in built.report["records"])

    def other(data: Any) -> None:
        data["sources"]["proofs/gpu/check.py"] = "0" * 64

    # As Python writes it: a record has numbers that are no integers.
    assert problems(built.forged(lambda parts: edited(parts, record, other))) == [
        f"{record}: it is told as fresh, and proofs/gpu/check.py is another than when it was made"
    ]

    def lose(parts: dict[str, bytes]) -> None:
        del parts[record]

    assert problems(built.forged(lose)) == [f"{record}: it is missing"] or f"{record} is missing" in problems(built.forged(lose))[0]
    untold = built.forged(lambda parts: edited(parts, "report.json", lambda report: report["records"].pop(0)))
    assert problems(untold) == [f"{record}: the report does not tell of this record"]


def test_names_inside_cannot_play_with_the_terminal(built: Built, tmp_path: Path) -> None:
    for odd in ("\x1b]0;owned\x07", "\ud800", "\u202e", "x\ny", "\x9b31m"):
        forged = built.forged(lambda parts, odd=odd: edited(parts, "report.json", lambda r: r["obligations"][0].update(id=odd)))  # type: ignore[misc]
        (tmp_path / "bundle.zip").write_bytes(forged)
        said = subprocess.run(
            [sys.executable, "-I", "-S", "-c", onefile.text(), "bundle.zip"], cwd=tmp_path, env={}, capture_output=True, check=False
        )
        assert said.returncode == 1 and not said.stderr and said.stdout.endswith(b"the bundle is not what it says\n")
        assert all(byte == 10 or 32 <= byte < 127 for byte in said.stdout)


def test_work_without_end_is_refused(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "MOST_WORK_IN_ALL", 1000)

    assert problems(built.archive) == ["the certificates are more work than those of any honest bundle"]


def faulty_statement(fault: Fault) -> str:
    """What the theorem that refutes the fault says under its rules."""
    return stated(THEOREMS[fault.refuted_by], rules_of(fault.patch.module, fault.patch.apply())).statement


def of_the_faulty_model(built: Built, fault: Any, name: str) -> bytes:
    """What a forger makes of a faulty model: all digests fit, in report, inventory and certificate."""
    faulty = faulty_statement(fault)
    old, new = hexdigest(built.parts[f"statements/{name}.smt2"]), hexdigest(faulty.encode())
    assert old != new

    def change(parts: dict[str, bytes]) -> None:
        parts[f"statements/{name}.smt2"] = faulty.encode()
        for part in ("report.json", "inventory.json", f"certificates/{name}.json"):
            parts[part] = parts[part].replace(old.encode(), new.encode())

    return built.forged(change)


THEOREMS = {o.id: o for o in everything().obligations if o.kind is Kind.THEOREM}
OF_THE_STORE = [fault for fault in FAULTS if fault.refuted_by.startswith("store/") and fault.refuted_by in THEOREMS]


@pytest.mark.parametrize("fault", OF_THE_STORE, ids=lambda fault: fault.name)
def test_a_bundle_of_a_faulty_model_fails_and_says_where(built: Built, fault: Any) -> None:
    name = fault.refuted_by

    found = problems(of_the_faulty_model(built, fault, name))

    assert len(found) == 1 and found[0].startswith(f"{name}: its certificate is rejected")


@pytest.mark.slow
def test_no_certificate_passes_for_a_faulty_model() -> None:
    seen = 0
    for fault in FAULTS:
        if fault.refuted_by not in THEOREMS:
            continue
        try:
            faulty = faulty_statement(fault)
        except RuntimeError:
            continue  # the lemmas define their counts by the rule: under another rule the claim cannot even be stated
        assert not accepts(faulty, steps_of(fault.refuted_by)), fault.name
        seen += 1
    assert seen > 100


# The verifier that travels.


def test_the_verifier_needs_nothing_but_python(built: Built, tmp_path: Path) -> None:
    (tmp_path / "verify.py").write_bytes(unpacked(built.archive)["verify.py"])
    (tmp_path / "bundle.zip").write_bytes(built.archive)
    (tmp_path / "broken.zip").write_bytes(built.archive[:-1])
    codes = {}
    for name in ("bundle.zip", "broken.zip", "absent.zip"):
        command = [sys.executable, "-I", "-S", "verify.py", name]
        codes[name] = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, check=False)

    assert {name: result.returncode for name, result in codes.items()} == {"bundle.zip": 0, "broken.zip": 1, "absent.zip": 2}
    assert "integrity, not origin" in codes["bundle.zip"].stdout and "WRONG" in codes["broken.zip"].stdout
    assert all(not result.stderr or name == "absent.zip" for name, result in codes.items())


def test_its_modules_share_no_name() -> None:
    names: Counter[str] = Counter()
    for part in ast.parse(onefile.text()).body:
        if isinstance(part, (ast.FunctionDef, ast.ClassDef)):
            names[part.name] += 1
        elif isinstance(part, (ast.Import, ast.ImportFrom)):
            names.update({alias.asname or alias.name for alias in part.names} - set(names))
        elif isinstance(part, (ast.Assign, ast.AnnAssign)):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            names.update(each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))

    assert [name for name, number in names.items() if number > 1] == []


def test_it_imports_the_standard_library_alone() -> None:
    for part in ast.walk(ast.parse(onefile.text())):
        modules = [alias.name for alias in part.names] if isinstance(part, ast.Import) else []
        modules += [part.module or ""] if isinstance(part, ast.ImportFrom) else []
        assert all(module.split(".")[0] in sys.stdlib_module_names for module in modules)


# Origin.


def keys(folder: Path) -> tuple[Path, Path]:
    key = ed25519.Ed25519PrivateKey.generate()
    private, public = folder / "key.pem", folder / "key.pub"
    unlocked = serialization.NoEncryption()
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, unlocked))
    public.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))
    return private, public


def test_a_signed_statement_tells_who_made_the_bundle(built: Built, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    private, public = keys(tmp_path)
    _, stranger = keys(tmp_path / "other")
    about = statement(built.archive, ARCHIVE, built.report)
    envelope = json.dumps(signed(about, private))

    assert opened(envelope, public) == about
    with pytest.raises(NoSignature, match="not signed with this key"):
        opened(envelope, stranger)
    changed = json.loads(envelope)
    changed["payload"] = signed({**about, "subject": []}, private)["payload"]
    with pytest.raises(NoSignature):
        opened(json.dumps(changed), public)
    for strange in ("{}", "[]", "1", '{"payload": 1}'):
        with pytest.raises(NoSignature):
            opened(strange, public)


def test_the_statement_fits_the_published_format(built: Built) -> None:
    about = statement(built.archive, ARCHIVE, built.report)
    subjects = [resource_descriptor.ResourceDescriptor(name=each["name"], digest=each["digest"]).pb for each in about["subject"]]

    in_toto_statement.Statement(subjects, about["predicateType"], about["predicate"]).validate()
    assert about["predicate"]["result"] == "PASSED" and about["predicate"]["failedTests"] == []


def test_a_statement_about_another_archive_is_noticed(built: Built, tmp_path: Path) -> None:
    private, public = keys(tmp_path)
    path = tmp_path / ATTESTATION
    other = statement(sealed({"a": b""}, {}), ARCHIVE, built.report)
    for key, text in ((None, json.dumps(other)), (public, json.dumps(signed(other, private))), (public, "{}"), (None, "[")):
        path.write_text(text)
        found = Verified()
        attested(found, built.archive, path, key)
        assert found.problems, text[:20]
    path.unlink()
    found = Verified()
    attested(found, built.archive, path, public)
    assert "no signed statement" in found.problems[0]


def test_the_command_checks_by_whom_a_bundle_was_signed(built: Built, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other").mkdir()
    private, public = keys(tmp_path)
    _, stranger = keys(tmp_path / "other")
    (tmp_path / ARCHIVE).write_bytes(built.archive)
    (tmp_path / ATTESTATION).write_text(json.dumps(signed(statement(built.archive, ARCHIVE, built.report), private)))
    command = ["verify", str(tmp_path / ARCHIVE), "--no-sources"]

    assert run(evidence, [*command, "--key", str(public)]) == Exit.OK
    assert "signed with key.pub" in capsys.readouterr().out
    assert run(evidence, [*command, "--key", str(stranger)]) == Exit.WRONG
    assert "not signed with this key" in capsys.readouterr().out
    assert run(evidence, command) == Exit.OK
    assert "pass --key to check by whom" in capsys.readouterr().out
    for strange in (private, tmp_path / ARCHIVE):
        assert run(evidence, [*command, "--key", str(strange)]) == Exit.WRONG
        assert "it is no public key" in capsys.readouterr().out


# The commands.


def test_build_and_verify_say_what_they_did(built: Built, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / ARCHIVE
    path.write_bytes(built.archive)

    assert run(evidence, ["verify", str(path), "--no-sources"]) == Exit.OK
    said = capsys.readouterr().out
    assert "checked again" in said and "only reported" in said and "integrity, not origin" in said
    path.write_bytes(built.archive[:-2])
    assert run(evidence, ["verify", str(path), "--no-sources", "--json"]) == Exit.WRONG
    assert json.loads(capsys.readouterr().out)["problems"]
    assert run(evidence, ["verify", str(tmp_path / "absent")]) == Exit.USAGE
    assert run(evidence, ["build", "--out", str(tmp_path), "--run", str(tmp_path)]) == Exit.USAGE


def test_certificates_are_made_where_they_are_missing_and_nowhere_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["certify", "--only", "key/a-*", "--folder", str(tmp_path), "--json"]
    names = [o.id for o in everything().only("key/a-*").obligations if o.kind is Kind.THEOREM]

    assert run(evidence, arguments) == Exit.OK
    assert sorted(each["id"] for each in json.loads(capsys.readouterr().out)) == sorted(names)
    path_of(names[0], tmp_path).write_text("{}")
    assert run(evidence, arguments) == Exit.OK
    assert [each["id"] for each in json.loads(capsys.readouterr().out)] == [names[0]]
