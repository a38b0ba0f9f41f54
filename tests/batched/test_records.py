"""Records say what was run, and whether its sources are still those of today."""

from __future__ import annotations

import copy
import datetime
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from proofs.gpu import records
from proofs.gpu.cli import gpu
from proofs.gpu.records import Freshness, Record
from tests.batched.backends import DEVICES, needs_host_kernels

ROOT = Path(__file__).resolve().parents[2]
DEVICE = {"name": "a device"}
SECTION = {"name": "sweeps", "ok": True, "seconds": 1.0, "rows": []}


def fits_the_schema(record: Record) -> bool:
    pytest.importorskip("jsonschema").validate(record.data, records.schema())
    return True


def record_of(**changes: Any) -> Record:
    data = records.extended(Path("nowhere.json"), "check", {"sections": [SECTION]}, DEVICE, "2026-01-01T00:00:00Z")
    return Record(name="one", data={**data, **changes})


def test_a_record_of_todays_sources_is_fresh() -> None:
    assert records.freshness(record_of()) is Freshness.FRESH


def test_a_record_is_stale_once_a_source_changes_goes_or_comes() -> None:
    for path, digest in (("impl/batched/kernels/carry.cuh", "0"), ("impl/batched/gone.py", "1"), ("proofs/gpu/check.py", None)):
        sources = {**records.sources()}
        sources.pop(path, None)
        if digest is not None:
            sources[path] = digest
        record = record_of(sources=sources)
        assert records.freshness(record) is Freshness.STALE
        assert records.changed(record) == (path,)


def test_no_record_is_absent(tmp_path: Path) -> None:
    assert records.load_records(tmp_path) == ()
    assert records.freshness(None) is Freshness.ABSENT


def test_what_decides_a_result_is_among_the_sources() -> None:
    names = set(records.sources())

    assert {"impl/batched/mtp_carry.py", "impl/batched/kernels/batched.cu", "proofs/gpu/kernels/sweep.cuh"} <= names
    assert {"proofs/gpu/scopes.py", "proofs/gpu/mutants.py"} <= names
    assert not names & {"proofs/gpu/records.py", "proofs/gpu/cli.py", "proofs/gpu/faults.py"}


def test_parts_are_added_to_a_record_of_the_same_sources_and_device_alone(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    first = records.extended(path, "check", {"sections": [SECTION]}, DEVICE, "monday")
    records.write(path, first)

    both = records.extended(path, "bench", {"figures": []}, DEVICE, "tuesday")
    elsewhere = records.extended(path, "bench", {"figures": []}, {"name": "another"}, "tuesday")

    assert (both["made"], set(both) & {"check", "bench"}) == ("monday", {"check", "bench"})
    assert (elsewhere["made"], set(elsewhere) & {"check", "bench"}) == ("tuesday", {"bench"})


def test_a_record_with_a_failed_section_is_not_ok() -> None:
    failed = copy.deepcopy(SECTION) | {"ok": False}

    assert record_of().ok
    assert not record_of(check={"sections": [SECTION, failed]}).ok
    assert not record_of(check={"sections": []}).ok


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "another/1", "sources": {}}'])
def test_a_file_that_is_no_record_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "odd.json").write_text(text)

    with pytest.raises(ValueError, match=r"load_records: .*odd\.json"):
        records.load_records(tmp_path)


def test_records_load_from_the_standard_library_alone() -> None:
    code = "import sys; import proofs.gpu.records as r; r.load_records(); assert 'numpy' not in sys.modules"

    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_records_are_found_and_judged_where_the_packages_are_installed(tmp_path: Path) -> None:
    for package in ("impl", "proofs"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    made = records.extended(Path("nowhere.json"), "check", {"sections": [SECTION]}, DEVICE, "2026-01-01T00:00:00Z")
    records.write(tmp_path / "proofs" / "records" / "installed.json", made)
    (tmp_path / "elsewhere").mkdir()
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import proofs.gpu.records as r\n"
        "(one,) = [record for record in r.load_records() if record.name == 'installed']\n"
        "print(r.__file__, r.freshness(one).value)"
    )

    ran = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path / "elsewhere", capture_output=True, text=True, check=True)

    assert ran.stdout.split() == [str(tmp_path / "proofs" / "gpu" / "records.py"), "fresh"]


def test_the_commands_load_no_solver() -> None:
    code = "import sys; import proofs.gpu.cli, proofs.gpu.check, proofs.gpu.bench; assert not {'z3', 'cvc5'} & set(sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@needs_host_kernels
@pytest.mark.skipif(DEVICES > 0, reason="there is a device")
def test_a_check_without_a_device_says_so_and_writes_a_record(tmp_path: Path) -> None:
    path = tmp_path / "host.json"

    ran = CliRunner().invoke(gpu, ["check", "--scale", "small", "--only", "[sk]*", "--record", str(path)])

    assert ran.exit_code == 0, ran.output
    assert "No device" in ran.stderr
    assert "sequences-3" in ran.stdout
    (record,) = records.load_records(tmp_path)
    assert record.ok
    assert records.freshness(record) is Freshness.FRESH
    assert fits_the_schema(record)


@pytest.mark.skipif(DEVICES > 0, reason="there is a device")
def test_a_required_device_that_is_absent_is_a_failure() -> None:
    ran = CliRunner().invoke(gpu, ["check", "--require-device"])

    assert ran.exit_code == 1
    assert "no device ran" in ran.output


@needs_host_kernels
@pytest.mark.skipif(DEVICES > 0, reason="there is a device")
def test_in_a_folder_a_record_is_called_after_device_and_day_and_extended(tmp_path: Path) -> None:
    for only in ("keys", "sweeps"):
        ran = CliRunner().invoke(gpu, ["check", "--scale", "small", "--only", only, "--record", str(tmp_path)])
        assert ran.exit_code == 0, ran.output

    (record,) = records.load_records(tmp_path)
    assert record.name.startswith("host-20")
    assert record.data["check"]["sections"][0]["name"] == "sweeps"


@pytest.mark.parametrize(
    ("device", "devices", "name"),
    [("NVIDIA H200", 1, "nvidia-h200-2026-11-30.json"), ("NVIDIA H200", 2, "nvidia-h200-x2-2026-11-30.json")],
)
def test_a_record_is_called_after_its_device_and_day(device: str, devices: int, name: str) -> None:
    assert records.file_name(device, devices, datetime.date(2026, 11, 30)) == name


@pytest.mark.parametrize("devices", ["x", "", "0,", "0;1"])
def test_devices_that_are_no_numbers_are_bad_usage(devices: str) -> None:
    ran = CliRunner().invoke(gpu, ["check", "--devices", devices])

    assert ran.exit_code == 2
    assert "--devices" in ran.output


def test_the_report_tells_each_record_and_whether_it_is_fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("jsonschema")
    from proofs import cli

    monkeypatch.setattr(records, "DIRECTORY", tmp_path)
    assert [entry["status"] for entry in cli._records()] == ["absent"]

    fresh = records.extended(Path("nowhere.json"), "check", {"sections": [SECTION]}, DEVICE, "2026-01-01T00:00:00Z")
    stale = {**fresh, "sources": {**fresh["sources"], "impl/batched/kernels/carry.cuh": "0"}}
    records.write(tmp_path / "a.json", fresh)
    records.write(tmp_path / "b.json", stale)

    first, second = cli._records()
    assert (first["name"], first["status"]) == ("a", "fresh")
    assert (second["name"], second["status"]) == ("b", "stale")
    assert "impl/batched/kernels/carry.cuh" in second["reason"]


@needs_host_kernels
def test_a_section_that_does_not_exist_is_bad_usage() -> None:
    assert CliRunner().invoke(gpu, ["check", "--only", "nothing"]).exit_code == 2


@needs_host_kernels
@pytest.mark.skipif(DEVICES > 0, reason="there is a device")
def test_results_are_printed_as_json_on_demand() -> None:
    ran = CliRunner().invoke(gpu, ["check", "--scale", "small", "--only", "keys", "--json"])

    assert json.loads(ran.stdout)["sections"][0]["ok"] is True


def test_every_committed_record_fits_the_schema() -> None:
    assert all(fits_the_schema(record) for record in records.load_records())
