"""The kernel sources, and how they become code: their text with includes resolved, a host library, a device module.

The text of a program is complete in itself, so its digest names what was built, and patching it (a mutant) needs no
file. Host libraries are kept under their digest in the user's cache; NVRTC's results are kept by CuPy.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

_INCLUDE = re.compile(r'^#include "([\w.]+)"$', re.MULTILINE)
_HOST_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-DHOST", "-x", "c++", "-Wno-unknown-pragmas")
_DEVICE_FLAGS = ("--std=c++17",)


class NoHostCompilerError(RuntimeError):
    """There is no g++ to build the host's copy of the kernels with, or it failed."""


@dataclass(frozen=True, kw_only=True)
class Patch:
    """One replacement in a source file: `before` occurs there exactly once."""

    file: str
    before: str
    after: str


def source(name: str, *, packages: Iterable[str] = ("impl.batched.kernels",), patches: Iterable[Patch] = ()) -> str:
    """Return the text of kernel file `name`, every quoted include put in its place once.

    packages: where files are looked for, in order. Errors: FileNotFoundError; ValueError where a patch does not fit.
    """
    places = [resources.files(package) for package in packages]
    wanted = list(patches)
    included: set[str] = set()
    unused = set(wanted)

    def text_of(file: str) -> str:
        for place in places:
            entry = place.joinpath(file)
            if entry.is_file():
                return entry.read_text(encoding="utf-8")
        raise FileNotFoundError(f"source: name={file} is in none of the packages {', '.join(packages)}")

    def expanded(file: str) -> str:
        included.add(file)
        text = text_of(file)
        for patch in wanted:
            if patch.file == file:
                if text.count(patch.before) != 1:
                    raise ValueError(
                        f"source: patch.before={patch.before!r} occurs {text.count(patch.before)} times in {file}; "
                        "a patch must fit exactly one place"
                    )
                text = text.replace(patch.before, patch.after)
                unused.discard(patch)
        text = text.replace("#pragma once\n", "")
        return _INCLUDE.sub(lambda match: "" if match[1] in included else expanded(match[1]), text)

    whole = expanded(name)
    if unused:
        raise ValueError(f"source: patch.file={min(patch.file for patch in unused)} is not part of {name}")
    return whole


def cache_directory() -> Path:
    """Return where built host libraries are kept: $DRAFTPROOF_CACHE, or draftproof/ in the user's cache."""
    chosen = os.environ.get("DRAFTPROOF_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "draftproof"


@functools.cache
def host_compiler() -> str:
    """Return the command of the host compiler: $CXX or g++. Errors: NoHostCompilerError."""
    command = shutil.which(os.environ.get("CXX") or "g++")
    if command is None:
        raise NoHostCompilerError("host_library: no g++ on the PATH; install it or set CXX")
    return command


def host_library(text: str, *, optimise: str = "-O2", defines: Iterable[str] = ()) -> ctypes.CDLL:
    """Compile `text` for the host, or take the build that the cache has, and load it.

    Errors: NoHostCompilerError where there is no compiler or it refuses the text.
    """
    compiler = host_compiler()
    flags = (*(optimise if flag == "-O2" else flag for flag in _HOST_FLAGS), *(f"-D{define}" for define in defines))
    digest = hashlib.sha256("\0".join((text, _version(compiler), *flags)).encode()).hexdigest()
    path = cache_directory() / f"{digest[:32]}.so"
    if not path.is_file():
        _build(compiler, flags, text, path)
    return ctypes.CDLL(str(path))


def device_module(text: str, *, defines: Iterable[str] = ()) -> Any:
    """Compile `text` with NVRTC for the current device. Returns a cupy.RawModule, loaded on first use."""
    import cupy  # a machine without CuPy runs everything else of this package

    return cupy.RawModule(code=text, options=(*_DEVICE_FLAGS, *(f"-D{define}" for define in defines)), backend="nvrtc")


@functools.cache
def _version(compiler: str) -> str:
    answer = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return answer.stdout.partition("\n")[0] + os.uname().machine


def _build(compiler: str, flags: tuple[str, ...], text: str, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        directory = path.parent
        with tempfile.TemporaryDirectory(dir=directory) as scratch:
            code, library = Path(scratch, "program.cpp"), Path(scratch, "program.so")
            code.write_text(text, encoding="utf-8")
            ran = subprocess.run([compiler, *flags, str(code), "-o", str(library)], capture_output=True, text=True, check=False)
            if ran.returncode != 0:
                raise NoHostCompilerError(f"host_library: {compiler} refused the kernels:\n{ran.stderr[-4000:]}")
            os.replace(library, path)  # whole or not at all, also when two processes build the same text
    except OSError as error:
        raise NoHostCompilerError(f"host_library: cannot build in {path.parent}: {error}; set DRAFTPROOF_CACHE") from error
