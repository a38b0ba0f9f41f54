"""Logs of an engine: random runs of the plain twin of the system model, with the reference's rules and outcome texts.

Faults are planted by changing one number of a line that a run wrote so that, by construction, no run could have; where they
stand is told. Damage (cut, interleaved and binary lines) is put in apart from faults, and loses whole lines' meaning on purpose.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from impl.reference import Adopted, ForeignHiddens, ForeignSession, NoCarry, NoHiddens, PrefixMismatch, StoreRange
from proofs.replay import run
from proofs.traces.machine import SLOT, Machine
from proofs.traces.trace import Impossible


class LoggingMachine(Machine):
    """The twin machine, writing a line per store and per attempt to adopt."""

    log: list[str]

    def _say(self, text: str) -> None:
        self.log.append(f"MTP_CARRY {text}")

    def deposit(self, actor: int) -> None:
        super().deposit(actor)
        entry = self.holders[SLOT]
        self._say(f"store: rows={entry.rows} last_pair_key=Some({entry.last_key}) seq_tokens={entry.length}")

    def _adopt_line(self, actor: int, outcome: object) -> None:
        stamp = StoreRange(**self.stamp)
        text = f"StoreRange {{ owner: {stamp.owner}, lo: {stamp.lo}, hi: {stamp.hi} }}"
        self._say(f"adopt: prompt_len={self._about[actor]['prompt_len']} store={text} -> {outcome}")

    def propose(self, actor: int) -> None:
        """The first proposal of a warm turn: whatever of the machine's actions is possible."""
        if self._first_proposal(actor).rows > 0 and SLOT not in self.holders:
            raise Impossible("nothing to adopt and nothing to free")
        if SLOT not in self.holders:
            self._adopt_line(actor, NoCarry())
            return
        entry = self.holders[SLOT]
        about, source = self._about[actor], self._about[entry.source]
        usable = self._usable(actor)
        outcome: object
        if usable is None:
            prompt = about["tokens"][: about["prompt_len"]]
            common = run("common_prefix_len", {"self": {"tokens": source["tokens"][: entry.length]}, "prompt": prompt})
            outcome = PrefixMismatch(common=common, entry_rows=entry.rows)
            if not run("session_matches", {"self": {"session_hash": entry.session_hash}, "session_hash": about["session_hash"]}):
                outcome = ForeignSession(entry_session=entry.session_hash, prompt_session=about["session_hash"])
            self.refuse(actor)
        elif self._running(actor).rows > 0:
            # The rows cannot be installed, which tells like an empty slot.
            outcome = NoCarry()
            self.refuse(actor)
        else:
            me, adopted, plan, _ = self._adopting(actor)
            self.land()
            if plan is not None:
                outcome = Adopted(rows=adopted[0], appended=plan["rows"], first_key=plan["first_key"])
                self.adopt_append(actor)
            else:
                if adopted[1] + 2 == about["prompt_len"]:
                    outcome = Adopted(rows=adopted[0], appended=0, first_key=adopted[1] + 1)
                elif self.stamp["owner"] not in (0, me.generation):
                    outcome = ForeignHiddens(owner=self.stamp["owner"], expected=me.generation or 0)
                else:
                    outcome = NoHiddens()
                self.adopt_only(actor)
        self._adopt_line(actor, outcome)


def conversation(draw: random.Random, sequences: int) -> dict[str, Any]:
    """Sequences of a few sessions, most of which continue what one of their session said before."""
    made: list[dict[str, Any]] = []
    for number in range(1, sequences + 1):
        session = draw.choice((0, 1, 1, 1, 1, 1, 1, 1, 1, 2))
        earlier = [about for about in made if about["session"] == session]
        shared = []
        if earlier and draw.random() < 0.9:
            before = earlier[-1]
            shared = before["tokens"][: before["prompt_len"] + draw.randint(-6, 12)]
        prompt_len = max(0, len(shared) + draw.randint(-3, 30))
        tokens = (shared + [draw.randrange(50) for _ in range(60)])[: prompt_len + 40]
        hidden = list(range(len(tokens)))
        given = {"id": number, "session": session, "session_hash": 0 if session == 0 else 0xABC0 + session}
        made.append({**given, "tokens": tokens, "prompt_len": prompt_len, "hidden": hidden})
    longest = max(len(about["tokens"]) for about in made)
    cfg = {"prefill": True, "carry": True}
    return {"sequences": made, "blocks": 0, "capacity": longest, "cfg": cfg, "multi_seq": False}


def carry_lines(seed: int, sequences: int = 40) -> list[str]:
    """The carry lines of one run: sequences come, are prefilled in chunks among each other, propose, decode, and go."""
    draw = random.Random(seed)
    given = conversation(draw, sequences)
    machine = LoggingMachine(given=given, run=run)
    machine.log = []
    waiting = list(range(1, sequences + 1))
    running: list[int] = []
    while waiting or running:
        if waiting and (not running or (len(running) < 3 and draw.random() < 0.15)):
            running.append(waiting.pop(0))
            machine.allocate(running[-1])
            # What prefill has done of it so far: a warm turn starts behind what it reuses.
            given["sequences"][running[-1] - 1]["at"] = draw.choice((0, 0, draw.randint(0, 30)))
            continue
        actor = draw.choice(running)
        if not _go_on(machine, given["sequences"][actor - 1], actor, draw):
            running.remove(actor)
    return machine.log


def _go_on(machine: LoggingMachine, about: dict[str, Any], actor: int, draw: random.Random) -> bool:
    """One step of a sequence; False when it has gone."""
    if about["at"] < about["prompt_len"]:
        count = min(draw.randint(1, 25), about["prompt_len"] - about["at"])
        machine.write_chunk(actor, about["at"], count)
        about["at"] += count
        return True
    if draw.random() < 0.05:
        machine.abort(actor)
        return False
    try:
        machine.land()
        if draw.random() < 0.3:
            machine.cold_build(actor)
        else:
            machine.propose(actor)
            if draw.random() < 0.05:
                machine.propose(actor)  # Again, with rows or without.
    except Impossible:
        pass
    while 0 < machine.holders[actor].length < len(about["tokens"]) and draw.random() < 0.9:
        machine.decode(actor)
    try:
        machine.deposit(actor)
    except Impossible:
        machine.abort(actor)
    return False


# ---- faults ---------------------------------------------------------------------------------------------------------------

STORE = re.compile(r"store: rows=(\d+) last_pair_key=Some\((\d+)\) seq_tokens=(\d+)")
ADOPT = re.compile(
    r"prompt_len=(?P<prompt>\d+) store=StoreRange \{ owner: (?P<owner>\d+), lo: (?P<lo>\d+), hi: (?P<hi>\d+) \} -> "
    r"adopted rows=(?P<rows>\d+) appended=(?P<appended>[1-9]\d*) first_key=(?P<first>\d+)"
)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Lines of which the last is the first that no run writes."""

    what: str
    lines: tuple[str, ...]


def faults(log: list[str]) -> Iterator[Fault]:
    """Faults made of each adoption with an append that comes right after its store line."""
    for store, adopt in pairwise(log):
        stored, told = STORE.search(store), ADOPT.search(adopt)
        if stored and told:
            rows, key, tokens = map(int, stored.groups())
            numbers = {name: int(value) for name, value in told.groupdict().items()}
            yield Fault(what="a second adoption", lines=(store, adopt, adopt))
            for what, line in _adoptions(rows, key, tokens, numbers):
                yield Fault(what=what, lines=(store, line))
            for what, line in _stores(rows, key, tokens):
                yield Fault(what=what, lines=(line,))


def _adoptions(rows: int, key: int, tokens: int, told: dict[str, int]) -> Iterator[tuple[str, str]]:
    """What is wrong with an adopt line, and the line."""

    def adopted(**changed: int) -> str:
        return attempt("adopted rows={rows} appended={appended} first_key={first}", **changed)

    def attempt(outcome: str, **changed: int) -> str:
        n = told | changed
        stamp = f"StoreRange {{ owner: {n['owner']}, lo: {n['lo']}, hi: {n['hi']} }}"
        return f"MTP_CARRY adopt: prompt_len={n['prompt']} store={stamp} -> {outcome.format(**n)}"

    prompt, first = told["prompt"], told["first"]
    last_kept = key - (rows - told["rows"])
    low = {"lo": min(told["lo"], last_kept)}
    yield "more rows than stored", adopted(rows=rows + 1)
    yield "no row", adopted(rows=0)
    yield "the last key kept again", adopted(first=last_kept, appended=prompt - 1 - last_kept, **low)
    yield "past the prompt", adopted(appended=told["appended"] + 1)
    yield "short of the prompt", adopted(prompt=prompt + 2, hi=prompt + 2)
    yield "below the store range", adopted(lo=first + 1, hi=prompt + (first + 1 == prompt))
    yield "above the store range", adopted(hi=prompt - 2)
    yield "from nobody's range", adopted(owner=0, lo=0, hi=0)
    yield "beyond 64 bits", adopted(owner=2**64)
    if told["appended"] > 1 and (told["lo"] <= last_kept):
        yield "a key left out", adopted(first=first + 1, appended=told["appended"] - 1)
    yield "other rows refused", attempt(f"prefix mismatch (common=1 entry_rows={rows + 1})")
    yield "refused with all tokens in common", attempt(f"prefix mismatch (common={tokens} entry_rows={rows})", prompt=tokens + 9)
    yield "more in common than the prompt has", attempt(f"prefix mismatch (common={prompt} entry_rows={rows})", prompt=prompt - 1)
    yield "its own session refused", attempt("foreign session (entry=0xabc1 prompt=0xabc1)")
    yield "rows of another owner", attempt(f"hidden rows belong to sequence gen {told['owner'] + 1}, not {told['owner'] + 2}")
    yield "its own rows refused", attempt("hidden rows belong to sequence gen {owner}, not {owner}")
    yield "too short for any row", attempt("hidden store does not cover the append span", prompt=1)


def _stores(rows: int, key: int, tokens: int) -> Iterator[tuple[str, str]]:
    """What is wrong with a store line, and the line."""
    for what, numbers in {
        "a store of no rows": (0, key, tokens),
        "more rows than keys": (key + 2, key, tokens),
        "a key without its token": (rows, tokens - 1, tokens),
        "a store beyond 64 bits": (rows, key, 10**400),
    }.items():
        yield what, "MTP_CARRY store: rows={} last_pair_key=Some({}) seq_tokens={}".format(*numbers)


# ---- whole logs -----------------------------------------------------------------------------------------------------------

NOISE = (
    "INFO  scheduler: step batch=3 tokens=118 accepted=2.41",
    "DEBUG prefix_cache: hit blocks=631 tokens=10096",
    "WARN  http: client closed the connection early (stream 18, MTP_CAPTURE on)",
    "DEBUG kv: alloc block=5120 free=90112 — größer als nötig",
    "INFO  mtp: drafts=3 kept=2 rows=142",
)


def damaged(line: str, draw: random.Random) -> bytes:
    """A carry line of which something is lost: its end, its beginning, or bytes of its middle, or another line has come between.

    Not a part of the last number: what is left then is a line.
    """
    text = line.encode()
    mark = text.index(b"MTP_CARRY")
    last = re.search(rb"\d*\D*$", text)
    assert last
    cut = draw.randint(mark + 7, last.start())
    kind = draw.randrange(4)
    if kind == 0:
        return text[:cut]
    if kind == 1:
        return text[:cut] + b"2026-11-30T10:00:00Z INFO between" + text[cut:]
    if kind == 2:
        hit = draw.randint(mark + 1, mark + 16)
        return text[:hit] + bytes(draw.choice((0, 1, 0x80, 0xFF)) for _ in range(3)) + text[hit + 3 :]
    return text[:cut] + text


def written_log(
    draw: random.Random, runs: int, *, quiet: int = 9, faulty: int = 1, harmed: float = 0.02
) -> Iterator[tuple[bytes, str]]:
    """Lines with what is wrong with each ("" where nothing is); `quiet` other lines before each carry line.

    After each run come `faulty` planted faults; the share `harmed` of the lines of runs is damaged.
    """
    logs = [carry_lines(seed) for seed in range(min(runs, 40))]
    planted = [fault for log in logs for fault in faults(log)]

    def line(text: str, what: str = "") -> Iterator[tuple[bytes, str]]:
        for _ in range(quiet):
            yield f"2026-11-30T10:00:00.{draw.randrange(1000):03}Z {draw.choice(NOISE)}".encode(), ""
        said = f"2026-11-30T10:00:00.{draw.randrange(1000):03}Z DEBUG atlas::mtp: {text}"
        if not what and draw.random() < harmed:
            yield damaged(said, draw), "damage"
        else:
            yield said.encode(), what

    for number in range(runs):
        for text in logs[number % len(logs)]:
            yield from line(text)
        for _ in range(faulty):
            fault = planted[draw.randrange(len(planted))]
            for text in fault.lines[:-1]:
                yield from line(text, "before a fault")
            yield from line(fault.lines[-1], fault.what)
