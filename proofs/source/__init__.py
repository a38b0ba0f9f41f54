"""Code against the spec: front ends for Rust, CUDA and Python, one executor, one comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def run_vector(path: str | Path, fn: str, args: Mapping[str, Any]) -> Any:
    """What a rule's function in a file gives on concrete arguments, both in vector form (see `files.run_vector`)."""
    from proofs.source import files

    return files.run_vector(path, fn, args)
