"""The wheel is whole and works outside the checkout, with nothing but its own dependencies beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("spec", "impl", "proofs")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("distribution")]


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command that sees no path of this checkout in its environment."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} exited {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(kind: str, source: Path, target: Path) -> Path:
    run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", target, cwd=source)
    (built,) = target.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scripts folder of an environment with the wheel; the dependencies are lent by the one that runs the tests."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
    scripts = folder / "env" / "bin"
    python = scripts / "python"
    install = ("install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", wheel)
    run(sys.executable, "-m", "pip", "--python", python, *install, cwd=folder)
    own = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    # Not a site folder, so the lender's own editable install of this checkout stays out of reach.
    lent = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    (own / "lent.pth").write_text("\n".join(lent) + "\n")
    return scripts


def members(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_carries_every_file_of_the_packages_and_no_other(wheel: Path) -> None:
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file())
    expected = {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}

    assert {name for name in members(wheel) if ".dist-info/" not in name} == expected


def test_the_wheel_carries_the_licence(wheel: Path) -> None:
    (name,) = [name for name in members(wheel) if name.endswith(".dist-info/licenses/LICENSE")]
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(name) == (ROOT / "LICENSE").read_bytes()


def test_the_source_archive_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    archive = build("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()

    assert members(build("wheel", source, tmp_path / "again")) == members(wheel)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_comes_from_the_wheel_and_not_from_the_checkout(installed: Path, tmp_path: Path, package: str) -> None:
    found = run(installed / "python", "-c", f"import {package}; print({package}.__file__)", cwd=tmp_path)

    assert Path(found).is_relative_to(installed.parent)


def test_the_command_explains_itself_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    assert "prove" in run(installed / "draftproof", "--help", cwd=tmp_path)


def test_the_wheel_lists_the_obligations_of_the_checkout(installed: Path, tmp_path: Path) -> None:
    checkout = run(sys.executable, "-c", "from proofs.cli import main; main()", "prove", "--list", cwd=ROOT)

    assert "store/" in checkout
    assert run(installed / "draftproof", "prove", "--list", cwd=tmp_path) == checkout


def test_the_wheel_proves_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    shown = run(installed / "draftproof", "prove", "--only", "store/merge*", cwd=tmp_path)

    assert "PROVED" in shown
