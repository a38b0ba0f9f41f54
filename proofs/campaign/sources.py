"""The digests of the sources that decide a shard's result, and how a worker is asked for its own.

A worker of other sources must be found out before it is given anything, so the question travels by value: what runs
there is this text, not the worker's copy of it. It looks at the worker's files, and at what the worker loaded when it
began, for files may have changed under a process that still runs the old ones.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

# Packages, or folders of packages, with the suffixes that count.
SWEEPS = ("impl", "proofs/gpu", "proofs/campaign")
CALLS = (*SWEEPS, "spec", "proofs/conform", "proofs/replay.py", "proofs/traces")
PROOFS = ("spec", "impl", "proofs")


def digest_of(parts: tuple[str, ...]) -> str:
    """SHA-256 over the names and contents of every source in these folders, in order. Standard library alone."""
    import hashlib
    import importlib.util
    from pathlib import Path

    whole = hashlib.sha256()
    for part in parts:
        package, _, below = part.partition("/")
        found = importlib.util.find_spec(package)
        for root in sorted(found.submodule_search_locations or ()) if found else ():
            place = Path(root, below)
            files = [place] if place.is_file() else sorted(place.rglob("*"))
            for path in files:
                if path.suffix in (".py", ".cu", ".cuh", ".json", ".toml") and "records" not in path.parts:
                    name = path.relative_to(root).as_posix().encode()
                    whole.update(b"%s/%s\0%s\0" % (package.encode(), name, hashlib.sha256(path.read_bytes()).digest()))
    return whole.hexdigest()


@functools.cache
def loaded(parts: tuple[str, ...]) -> str:
    """The digest as it was when this process first asked: at the import of proofs.campaign.work for sweeps."""
    return digest_of(parts)


def introduction(parts: tuple[str, ...]) -> Mapping[str, Any]:
    """What a worker says of itself: the digest of its files and of what it has loaded, its process, its versions.

    Runs on the worker, by value; only the standard library is at hand.
    """
    import os
    import platform
    import sys
    from importlib import metadata

    versions = {"python": platform.python_version()}
    for name in ("numpy", "z3-solver", "cvc5"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = ""
    module = sys.modules.get("proofs.campaign.sources")
    before = module.loaded(parts) if module is not None else None
    return {"files": digest_of(parts), "loaded": before, "pid": os.getpid(), "host": platform.node(), "versions": versions}
