"""Builds the locked Python environment in a folder, or says that it already stands there.

Usage: environment.py FOLDER, run by any Python >= 3.11 with the standard library alone. Packages come from
requirements.lock and from nowhere else (hashes are checked, wheels only, no build step runs); the checkout itself is
then installed editable. The network is used by that first build and after a change of the lock.

Two files in FOLDER carry the state. `.draftproof-owned` is written before anything else into a folder made here, so
only such a folder is ever deleted; `.draftproof-ready` is written last, in one step, and holds the digest of what was
installed. A folder that is owned but not ready is half built, and is built anew; a folder that somebody else made is
installed into and never deleted.
"""

from __future__ import annotations

import enum
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INPUTS = (ROOT / "requirements.lock", ROOT / "pyproject.toml")
OWNED = ".draftproof-owned"
READY = ".draftproof-ready"
PROBE = "import sys; from importlib.util import find_spec; sys.exit(sys.version_info < (3, 11) or not find_spec('pip'))"


class Step(enum.Enum):
    """What a folder needs before it holds the locked environment."""

    NOTHING = "nothing"
    CREATE = "create"
    REBUILD = "rebuild"
    INSTALL = "install"


class RefusedError(Exception):
    """The folder cannot be used as it is; the text names the remedy."""


def wanted_digest() -> str:
    """Digest of everything that decides what gets installed, the place of the checkout included."""
    digest = hashlib.sha256(os.fsencode(ROOT))
    for path in INPUTS:
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def has_working_python(folder: Path) -> bool:
    """Whether the folder's interpreter starts and has pip; false after the system's Python was replaced."""
    try:
        probe = subprocess.run(
            [folder / "bin" / "python", "-I", "-c", PROBE],
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return probe.returncode == 0


def next_step(folder: Path, digest: str) -> Step:
    """Decide from what lies in the folder. Raises `RefusedError` for somebody else's broken folder."""
    if not folder.exists():
        return Step.CREATE
    owned = (folder / OWNED).exists()
    ready = folder / READY
    if not has_working_python(folder):
        if owned:
            return Step.REBUILD
        raise RefusedError(f"{folder} exists but its bin/python is no Python >= 3.11 with pip; remove it or pass VENV=FOLDER")
    if ready.exists():
        return Step.NOTHING if ready.read_text().strip() == digest else Step.INSTALL
    return Step.REBUILD if owned else Step.INSTALL


def create(folder: Path) -> None:
    """Make an empty virtual environment that is marked as made here."""
    folder.mkdir(parents=True)
    (folder / OWNED).touch()
    made = subprocess.run([sys.executable, "-m", "venv", folder], check=False)
    if made.returncode:
        raise RefusedError(
            f"{sys.executable} -m venv failed; install its venv module (on Debian: python3-venv) or pass PYTHON=COMMAND"
        )


def install(folder: Path, digest: str) -> None:
    """Install the lock and the checkout; the mark of readiness goes first and comes back last."""
    ready = folder / READY
    ready.unlink(missing_ok=True)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"]
    locked = [*pip, "--require-hashes", "--only-binary", ":all:", "-r", str(INPUTS[0])]
    itself = [*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
    for command in (locked, itself):
        if subprocess.run(command, check=False).returncode:
            raise RefusedError("pip failed (its message is above); the first build needs the network; run the command again")
    partial = ready.with_suffix(".partial")
    partial.write_text(digest + "\n")
    partial.replace(ready)


def establish(folder: Path) -> None:
    """Bring the folder to the locked state, one process at a time."""
    with INPUTS[0].open() as mutex:
        fcntl.flock(mutex, fcntl.LOCK_EX)
        digest = wanted_digest()
        step = next_step(folder, digest)
        if step is Step.NOTHING:
            return
        print(f"draftproof: {step.value} {folder} from requirements.lock (once; a minute or two)", file=sys.stderr)
        started = time.monotonic()
        if step is Step.REBUILD:
            shutil.rmtree(folder)
        if step in (Step.CREATE, Step.REBUILD):
            create(folder)
        install(folder, digest)
        print(f"draftproof: {folder} stands after {time.monotonic() - started:.0f} s", file=sys.stderr)


def main() -> int:
    """Exit 0 when the environment stands, 2 with a line that names the remedy when it cannot."""
    if len(sys.argv) != 2:
        print("usage: environment.py FOLDER", file=sys.stderr)
        return 2
    try:
        establish(Path(sys.argv[1]).absolute())
    except RefusedError as reason:
        print(f"draftproof: {reason}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
