"""A log as a stream of bytes: finds the carry's lines in large blocks, reads them, and survives everything else.

Only carry lines are looked at one by one; the rest is searched. A carry line that cannot be read (cut, interleaved, damaged) is
counted, and afterwards the slot may hold anything, so that what was lost raises no false alarm. Memory does not grow with the
log or with its lines. A cut inside a line's last number leaves a smaller number and cannot be seen.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from proofs.tracelog.conditions import Attempt, Entry
from proofs.tracelog.slot import Holds, Slot, Told

BLOCK = 1 << 20
"""Bytes read at a time. A line longer than this is not kept."""

SHOWN = 300
"""As many bytes of a line are shown."""

_SIZE = 2**64
_WIDE = "a number is beyond 64 bits"
_LONGEST = 400
"""No message with numbers of 64 bits is as long."""
_MARK = b"MTP_CAR"
"""What carry lines have, and what of a mark that was cut can be told from other words."""
_STORE_ENDS = b") seq_tokens="
_FRAGMENTS = (b"MTP_", b"CARRY", b"store", b"adopt", b"rows=", b"pair_key", b"seq_tokens")

_MESSAGE = re.compile(
    rb"MTP_CARRY (?:"
    rb"store: rows=(\d+) last_pair_key=(?:None|Some\((\d+)\)) seq_tokens=(\d+)|"
    rb"adopt: prompt_len=(\d+) store=StoreRange \{ owner: (\d+), lo: (\d+), hi: (\d+) \} -> (?:"
    rb"adopted rows=(\d+) appended=(\d+) first_key=(\d+)|"
    rb"(no carried state)|"
    rb"prefix mismatch \(common=(\d+) entry_rows=(\d+)\)|"
    rb"foreign session \(entry=(0x[0-9a-f]+) prompt=(0x[0-9a-f]+)\)|"
    rb"hidden rows belong to sequence gen (\d+), not (\d+)|"
    rb"(hidden store does not cover the append span)"
    rb"))(?:\x1b\[[0-9;]*m|[ \t\r])*\Z"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Message:
    """What a message tells, and which of the groups are its outcome's numbers."""

    told: Told
    numbers: slice = field(default_factory=lambda: slice(0, 0))
    base: int = 10


# By the last group that took part.
_MESSAGES = {
    3: _Message(told=Told.STORE, numbers=slice(0, 3)),
    10: _Message(told=Told.ADOPTED, numbers=slice(7, 10)),
    11: _Message(told=Told.NO_CARRY),
    13: _Message(told=Told.PREFIX_MISMATCH, numbers=slice(11, 13)),
    15: _Message(told=Told.FOREIGN_SESSION, numbers=slice(13, 15), base=16),
    17: _Message(told=Told.FOREIGN_HIDDENS, numbers=slice(15, 17)),
    18: _Message(told=Told.NO_HIDDENS),
}

_PIECE = 1 << 14
"""Where a block is no text, its pieces of this many bytes are looked at."""

_TEXT = bytes({*range(0x20, 0x7F), *range(0x80, 0x100), *b"\t\n\r\x1b"})


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A line that no run of the model writes. `line` counts from 1, `offset` in bytes from 0 to the start of the line."""

    line: int
    offset: int
    reason: str
    text: str


@dataclass(kw_only=True)
class Reading:
    """What was found in one log."""

    keep: int = 100
    """As many findings and places of damage are kept; all are counted."""
    continued: bool = False
    """The log begins in the middle of a run, so the slot may hold anything."""
    size: int = 0
    """Bytes read."""
    lines: int = 0
    messages: dict[int, int] = field(default_factory=dict)
    """Carry lines read, by the number of their kind."""
    violations: int = 0
    findings: list[Finding] = field(default_factory=list)
    unread: int = 0
    """Carry lines, or pieces of them, that could not be read."""
    unread_at: list[int] = field(default_factory=list)
    """The first of their line numbers."""
    binary: int = 0
    """Lines that are no text."""
    overlong: int = 0
    """Lines longer than a block; what they say is not looked at."""
    slot: Slot = field(init=False)

    def __post_init__(self) -> None:
        self.slot = Slot(holds=Holds.ANYTHING if self.continued else Holds.NOTHING)

    @property
    def told(self) -> dict[Told, int]:
        """Carry lines read, by message."""
        return {message.told: self.messages.get(kind, 0) for kind, message in _MESSAGES.items()}

    @property
    def carry_lines(self) -> int:
        """Carry lines that were read."""
        return sum(self.messages.values())

    def read(self, stream: BinaryIO, noticed: Callable[[int], None] = lambda size: None) -> None:
        """Reads a log to its end; `noticed` is told the size of each block. OSError and the like as the stream raises them."""
        for data in self._whole_lines(stream, noticed):
            self._block(data)
            self.size += len(data)

    def _whole_lines(self, stream: BinaryIO, noticed: Callable[[int], None]) -> Iterator[bytes]:
        """Blocks that end where a line does."""
        rest = b""
        inside = False  # of a line that is too long to keep
        while block := stream.read(BLOCK):
            noticed(len(block))
            if inside:
                end = block.find(b"\n")
                if end < 0:
                    self.size += len(block)
                    continue
                self.size += end + 1
                self.lines += 1
                block = block[end + 1 :]
                inside = False
            data = rest + block
            end = data.rfind(b"\n") + 1
            rest = data[end:]
            if end:
                yield data[:end]
            if len(rest) > BLOCK:
                inside = True
                self.overlong += 1
                self.slot.lose_track()
                self.size += len(rest)
                rest = b""
        if inside:
            self.lines += 1
        if rest:
            yield rest

    def _block(self, data: bytes) -> None:
        suspects = self._not_text(data)
        position = 0  # everything before it is done
        counted = 0  # newlines before it are counted in `lines`
        while True:
            found = data.find(_MARK, position)
            until = len(data) if found < 0 else found
            for place in _lost(data, position, until, suspects):
                self.lines += data.count(b"\n", counted, place)
                counted = place
                self._not_read(self.lines + 1)
            if found < 0:
                break
            self.lines += data.count(b"\n", counted, found)
            counted = found
            end = data.find(b"\n", found)
            end = len(data) if end < 0 else end
            match = _MESSAGE.match(data, found, end)
            if match is not None:
                self._message(match, data, found, end)
            else:
                self._not_read(self.lines + 1)
            position = end
        self.lines += data.count(b"\n", counted) + (not data.endswith(b"\n"))

    def _message(self, match: re.Match[bytes], data: bytes, found: int, end: int) -> None:
        last = match.lastindex or 0
        message = _MESSAGES[last]
        self.messages[last] = self.messages.get(last, 0) + 1
        if match.end(last) - found > _LONGEST:
            self.slot.lose_track()
            broken: str | None = _WIDE
        elif message.told is Told.STORE:
            broken = self._store(match.groups())
        else:
            broken = self._adopt(message, match.groups())
        if broken is None:
            return
        self.violations += 1
        if len(self.findings) < self.keep:
            start = data.rfind(b"\n", 0, found) + 1
            text = data[start:end].strip() if end - start <= SHOWN else data[found : min(end, found + SHOWN)]
            shown = text.decode("utf-8", "backslashreplace")
            self.findings.append(Finding(line=self.lines + 1, offset=self.size + start, reason=broken, text=shown))

    def _store(self, groups: tuple[bytes, ...]) -> str | None:
        rows, tokens = int(groups[0]), int(groups[2])
        key = None if groups[1] is None else int(groups[1])
        if rows < _SIZE and tokens < _SIZE and (key is None or key < _SIZE):
            return self.slot.store(Entry(rows=rows, last_pair_key=key, seq_tokens=tokens), self.lines + 1)
        self.slot.lose_track()
        return _WIDE

    def _adopt(self, message: _Message, groups: tuple[bytes, ...]) -> str | None:
        prompt_len, owner, lo, hi = map(int, groups[3:7])
        numbers = [int(group, message.base) for group in groups[message.numbers]]
        attempt = Attempt(prompt_len=prompt_len, owner=owner, lo=lo, hi=hi)
        broken = self.slot.adopt(attempt, message.told, *numbers)
        return broken if max(prompt_len, owner, lo, hi, *numbers) < _SIZE else _WIDE

    def _not_read(self, line: int) -> None:
        self.slot.lose_track()
        self.unread += 1
        if len(self.unread_at) < self.keep:
            self.unread_at.append(line)

    def _not_text(self, data: bytes) -> deque[int]:
        """Counts the lines that are no text; gives the starts of those that may have been carry lines."""
        suspects: deque[int] = deque()
        for start, line in _binary_lines(data):
            self.binary += 1
            searched_for = _MARK in line or _STORE_ENDS in line
            if not searched_for and any(fragment in line for fragment in _FRAGMENTS):
                suspects.append(start)
        return suspects


def _lost(data: bytes, start: int, end: int, suspects: deque[int]) -> list[int]:
    """Where store lines without their beginning, and the suspects before `end`, are."""
    places = []
    place = data.find(_STORE_ENDS, start, end)
    while place >= 0:
        places.append(place)
        place = data.find(_STORE_ENDS, place + 1, end)
    while suspects and suspects[0] < end:
        places.append(suspects.popleft())
    return sorted(places)


def _binary_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Starts and contents of the lines with control characters, or with bytes that are no UTF-8."""
    if _is_text(data):
        return
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _PIECE) + 1 or len(data)
        piece = data[start:end]
        if not _is_text(piece):
            place = start
            for line in piece.split(b"\n"):
                if not _is_text(line):
                    yield place, line
                place += len(line) + 1
        start = end


def _is_text(data: bytes) -> bool:
    if data.translate(None, _TEXT):
        return False
    if data.isascii():  # which is much faster than to decode
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
