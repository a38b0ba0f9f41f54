"""The one form of a bundle's archive: a ZIP without compression, times or extras, so that its bytes follow from its members.

Whoever reads it writes it again and compares, so every byte counts, and no trick of the format survives: neither overlapping
members nor bombs, links, comments, repeated names or paths that lead elsewhere. Standard library alone.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping

from proofs.kernel.terms import need

MOST_BYTES = 64 * 2**20
MOST_MEMBERS = 10_000
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*", re.ASCII)

LOCAL = struct.Struct("<4s5H3I2H")
CENTRAL = struct.Struct("<4s6H3I5H2I")
END = struct.Struct("<4s4H2IH")
DAY = 33  # 1 January 1980, the first that the format knows


def packed(members: Mapping[str, bytes]) -> bytes:
    """The archive of these members, in the order of their names."""
    need(len(members) <= MOST_MEMBERS, f"more than {MOST_MEMBERS} members")
    body, directory = bytearray(), bytearray()
    for name in sorted(members):
        need(NAME.fullmatch(name) and len(name) <= 200, f"{name[:80]!r} is no name for a member")
        data, encoded = members[name], name.encode("ascii")
        common = (10, 0, 0, 0, DAY, zlib.crc32(data), len(data), len(data), len(encoded), 0)
        directory += CENTRAL.pack(b"PK\x01\x02", 0x314, *common, 0, 0, 0, 0o100644 << 16, len(body)) + encoded
        body += LOCAL.pack(b"PK\x03\x04", *common) + encoded + data
        need(len(body) <= MOST_BYTES, f"more than {MOST_BYTES} bytes")
    end = END.pack(b"PK\x05\x06", 0, 0, len(members), len(members), len(directory), len(body), 0)
    return bytes(body + directory + end)


def unpacked(archive: bytes) -> dict[str, bytes]:
    """The members of an archive that `packed` has written. Refused if it is anything else."""
    need(len(archive) <= 2 * MOST_BYTES, "the archive is too large")
    members: dict[str, bytes] = {}
    place = 0
    while archive[place : place + 4] == b"PK\x03\x04":
        need(place + LOCAL.size <= len(archive), "the archive ends in the middle of a member")
        *_, size, length, _ = LOCAL.unpack_from(archive, place)
        start = place + LOCAL.size + length
        need(start + size <= len(archive), "the archive ends in the middle of a member")
        name = archive[place + LOCAL.size : start].decode("ascii", "replace")
        need(name not in members, f"two members are named {name[:80]!r}")
        members[name] = archive[start : start + size]
        place = start + size
    need(packed(members) == archive, "the archive is not in the form in which bundles are written, or a byte has changed")
    return members
