"""The folder of the environment: made once, rebuilt when half built, never deleted when somebody else made it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module; making a folder is replaced by laying a stand-in interpreter into it."""
    spec = importlib.util.spec_from_file_location("environment", ROOT / ".ci" / "environment.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "environment", module)
    spec.loader.exec_module(module)

    def create(folder: Path) -> None:
        folder.mkdir()
        (folder / module.OWNED).touch()
        interpreter(folder)

    monkeypatch.setattr(module, "create", create)
    return module


def interpreter(folder: Path, pip: str = "exit 0") -> None:
    """A stand-in for bin/python whose probe works and whose `-m pip` does what is said."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(f'#!/bin/sh\n[ "$1" = -m ] || exit 0\necho "$@" >> "{folder}/pip.log"\n{pip}\n')
    python.chmod(0o755)


def calls(folder: Path) -> list[str]:
    log = folder / "pip.log"
    return log.read_text().splitlines() if log.exists() else []


def test_a_missing_folder_gets_the_lock_and_then_the_checkout(environment: ModuleType, tmp_path: Path) -> None:
    environment.establish(tmp_path / "env")

    locked, itself = calls(tmp_path / "env")
    assert "--require-hashes" in locked
    assert str(ROOT / "requirements.lock") in locked
    assert "--no-deps --no-build-isolation --editable" in itself


def test_a_ready_folder_is_left_alone(environment: ModuleType, tmp_path: Path) -> None:
    environment.establish(tmp_path / "env")
    environment.establish(tmp_path / "env")

    assert len(calls(tmp_path / "env")) == 2


def test_another_lock_is_installed_in_place(environment: ModuleType, tmp_path: Path) -> None:
    environment.establish(tmp_path / "env")
    (tmp_path / "env" / environment.READY).write_text("the digest of an older lock\n")

    environment.establish(tmp_path / "env")

    assert len(calls(tmp_path / "env")) == 4


def test_a_half_built_folder_is_built_anew(environment: ModuleType, tmp_path: Path) -> None:
    environment.create(tmp_path / "env")
    (tmp_path / "env" / "half a package").touch()

    environment.establish(tmp_path / "env")

    assert not (tmp_path / "env" / "half a package").exists()
    assert (tmp_path / "env" / environment.READY).exists()


def test_a_folder_whose_python_is_gone_is_built_anew(environment: ModuleType, tmp_path: Path) -> None:
    environment.establish(tmp_path / "env")
    (tmp_path / "env" / "bin" / "python").unlink()

    environment.establish(tmp_path / "env")

    assert len(calls(tmp_path / "env")) == 2


def test_a_failed_install_leaves_the_folder_not_ready(environment: ModuleType, tmp_path: Path) -> None:
    environment.establish(tmp_path / "env")
    (tmp_path / "env" / environment.READY).write_text("the digest of an older lock\n")
    interpreter(tmp_path / "env", pip="exit 1")

    with pytest.raises(environment.RefusedError, match="pip failed"):
        environment.establish(tmp_path / "env")

    assert environment.next_step(tmp_path / "env", environment.wanted_digest()) is environment.Step.REBUILD


def test_a_folder_of_somebody_else_is_installed_into_and_kept(environment: ModuleType, tmp_path: Path) -> None:
    interpreter(tmp_path / "env")
    (tmp_path / "env" / "their work").touch()

    environment.establish(tmp_path / "env")

    assert (tmp_path / "env" / "their work").exists()
    assert len(calls(tmp_path / "env")) == 2


def test_a_folder_of_somebody_else_without_python_is_refused(environment: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "their work").touch()

    with pytest.raises(environment.RefusedError, match="remove it or pass VENV"):
        environment.establish(tmp_path / "env")

    assert (tmp_path / "env" / "their work").exists()


def test_the_digest_follows_the_lock(environment: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("one\n")
    monkeypatch.setattr(environment, "INPUTS", (lock,))
    before = environment.wanted_digest()
    lock.write_text("two\n")

    assert environment.wanted_digest() != before


def test_the_digest_follows_the_place(environment: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = environment.wanted_digest()
    monkeypatch.setattr(environment, "ROOT", tmp_path)

    assert environment.wanted_digest() != before


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_says_which_python_it_needs_where_there_is_none(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("make", "sh"):
        (tools / tool).symlink_to(shutil.which(tool) or "")
    (tools / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tools / "python3").chmod(0o755)

    made = subprocess.run(
        [tools / "make", "-C", ROOT, "environment", f"VENV={tmp_path}/env", "SHELL=/bin/sh"],
        env={**os.environ, "PATH": str(tools)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert made.returncode == 2
    assert "no Python >= 3.11 found" in made.stderr
    assert not (tmp_path / "env").exists()
