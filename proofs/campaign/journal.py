"""The journal of a campaign on disk: what has been found so far, so that a campaign killed at any moment goes on.

One line for the header and one for each shard: JSON, a tab, and a checksum over the line and the checksum before it.
Lines are only ever appended, and are on the disk before they count. A last line that was torn is cut off; damage
anywhere else, another campaign's header, or another process that holds the file, is refused.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from proofs.campaign.work import Found, Job

FORM = "draftproof.campaign/1"


class JournalError(ValueError):
    """The file cannot be this campaign's journal; the message says why and what can be done."""


def header_of(job: Job, digest: str) -> dict[str, Any]:
    """What a journal is bound to: the scope, the plan of shards and the sources."""
    return {"form": FORM, **job.identity(), "sources": digest}


def _sealed(value: Mapping[str, Any], before: str) -> tuple[bytes, str]:
    text = json.dumps(value, ensure_ascii=True)
    seal = hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()[:32]
    return f"{text}\t{seal}\n".encode(), seal


def _opened(line: bytes, before: str) -> tuple[dict[str, Any], str] | None:
    """The value of a line and its checksum; None where the line is not what was written."""
    text, tab, seal = line.removesuffix(b"\n").rpartition(b"\t")
    if not line.endswith(b"\n") or not tab:
        return None
    wanted = hashlib.sha256(before.encode() + b"\n" + text).hexdigest()[:32]
    if seal.decode("ascii", "replace") != wanted:
        return None
    value: dict[str, Any] = json.loads(text)
    return value, wanted


class Journal:
    """An open journal. `found` are the shards that it holds, by number; `torn` says whether a last line was cut off."""

    def __init__(self, path: Path, job: Job, digest: str) -> None:
        """Create the file, or read it and go on after it. Errors: JournalError."""
        self.path, self._job = path, job
        self.found: dict[int, Found] = {}
        self.torn = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = open(path, "a+b")  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise JournalError(f"journal {path} cannot be opened ({error.strerror}); pass another --journal") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read(header_of(job, digest))
        except BlockingIOError:
            self.close()
            raise JournalError(f"journal {path} is in use by another campaign; wait for it or pass another --journal") from None
        except BaseException:
            self.close()
            raise

    def _read(self, wanted: Mapping[str, Any]) -> None:
        self._file.seek(0)
        lines = self._file.readlines()
        seal, kept = "", 0
        for number, line in enumerate(lines):
            opened = _opened(line, seal)
            if opened is None:
                # One append may have written several lines, and only a part of them reached the disk.
                after = itertools.pairwise(lines[number:])
                if any(_opened(later, _seal_of(earlier)) is not None for earlier, later in after):
                    raise JournalError(f"journal {self.path} is damaged in line {number + 1}; move it away and begin anew")
                if number == 0 and not _may_be_torn(lines, wanted):
                    raise JournalError(f"journal {self.path} is no journal of a campaign; pass another --journal")
                self.torn = True
                break
            value, seal = opened
            if number == 0:
                self._compare(value, wanted)
            else:
                self._take(value, number)
            kept += len(line)
        if self.torn:
            self._file.truncate(kept)
        self._seal = seal
        if kept == 0:
            self._append([wanted])
            self._sync_folder()
        elif self.torn:
            self._sync()

    def _compare(self, value: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        if value.get("form") != FORM:
            raise JournalError(f"journal {self.path} is no journal of a campaign; pass another --journal")
        other = [name for name in wanted.keys() | value.keys() if value.get(name) != wanted.get(name)]
        if other:
            told = ", ".join(f"{name} {value.get(name)}, not {wanted.get(name)}" for name in sorted(other) if name != "sources")
            told = told or "the sources have changed since"
            raise JournalError(f"journal {self.path} is of another campaign ({told}); move it away or pass another --journal")

    def _take(self, value: Mapping[str, Any], number: int) -> None:
        found = Found(**value)
        if found.shard in self.found or not 0 <= found.shard < self._job.shards:
            raise JournalError(f"journal {self.path}, line {number + 1}: shard {found.shard} is there twice or is none; begin anew")
        self.found[found.shard] = found

    def add(self, found: Iterable[Found]) -> None:
        """Put shards on the disk that are not there yet; returns when they are."""
        new = [one for one in found if one.shard not in self.found]
        self._append([{**one.result(), **({"case": one.case} if one.case else {})} for one in new])
        self.found |= {one.shard: one for one in new}

    def _append(self, values: Iterable[Mapping[str, Any]]) -> None:
        whole = b""
        for value in values:
            line, self._seal = _sealed(value, self._seal)
            whole += line
        if whole:
            self._file.write(whole)
            self._sync()

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def _sync_folder(self) -> None:
        # The name of a new file is on the disk when its folder is.
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def _seal_of(line: bytes) -> str:
    return line.removesuffix(b"\n").rpartition(b"\t")[2].decode("ascii", "replace")


def _may_be_torn(lines: list[bytes], wanted: Mapping[str, Any]) -> bool:
    """A first line alone that begins as a header of this campaign does."""
    return len(lines) == 1 and _sealed(wanted, "")[0].startswith(lines[0])
