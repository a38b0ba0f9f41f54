"""The drafter rows kept from one turn of a session for its next, and who may adopt how many of them.

An entry belongs to the session that made it, and session 0 means unknown and owns nothing. Within its own session a
prompt adopts the rows whose keys read only tokens that it shares: key k reads tokens 0 to k+1.

Leaves out: the slot and its blocks, and the call that decides which CarryOutcome to report.
Twin: spec/carry.py. Source: DESIGN 1a, the carry slot and arming.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from impl.reference.words import Environment, WordRecord, flag, parse_usize, refusal, text_of, u32_sequence, u64

DEFAULT_MARCONI_MIN_TOKENS = 256
"""The shortest matched prefix, in tokens, that is worth restoring a snapshot for."""

ENV_MARCONI_MIN_TOKENS = "ATLAS_MARCONI_MIN_TOKENS"
ENV_CARRY_DEBUG = "ATLAS_MTP_CARRY_DEBUG"


@dataclass(frozen=True, kw_only=True)
class CarriedDrafter:
    """The drafter state of a finished turn. Block numbers and tokens have 32 bits, all else 64. Source: CarriedDrafter.

    last_pair_key is the key of the newest row, None where unknown; it may overstate. Keys strictly increase over rows.
    """

    block_table: Sequence[int]
    rows: int
    last_pair_key: int | None
    tokens: Sequence[int]
    session_hash: int

    def __post_init__(self) -> None:
        # Tuples of our own: an entry must not change when the list that it was made from does.
        object.__setattr__(self, "block_table", u32_sequence("CarriedDrafter", "block_table", self.block_table))
        object.__setattr__(self, "tokens", u32_sequence("CarriedDrafter", "tokens", self.tokens))
        u64("CarriedDrafter", "rows", self.rows)
        u64("CarriedDrafter", "session_hash", self.session_hash)
        if self.last_pair_key is not None:
            u64("CarriedDrafter", "last_pair_key", self.last_pair_key)

    def common_prefix_len(self, prompt: Sequence[int]) -> int:
        """Return how many leading tokens prompt shares with this entry.

        Errors: ValueError where a token leaves 32 bits. Source: CarriedDrafter::common_prefix_len.
        """
        return _agreement(self.tokens, u32_sequence("common_prefix_len", "prompt", prompt))

    def session_matches(self, session_hash: int) -> bool:
        """Return whether session_hash is known and made this entry.

        Errors: ValueError outside 64 bits. Source: CarriedDrafter::session_matches.
        """
        u64("session_matches", "session_hash", session_hash)
        return self.session_hash == session_hash != 0

    def usable_by(self, prompt: Sequence[int], session_hash: int) -> tuple[int, int] | None:
        """Return (rows, last_pair_key) of what prompt may adopt, None where that is no row.

        Rows are dropped from the end, one for each key that last_pair_key loses. Where keys have gaps that drops more
        rows than disagree, and the key returned may overstate the newest row left: both cost rows, neither lends any.

        Errors: ValueError outside the domain. Source: CarriedDrafter::usable_by.
        """
        theirs = u32_sequence("usable_by", "prompt", prompt)
        u64("usable_by", "session_hash", session_hash)
        if self.last_pair_key is None or not self.session_matches(session_hash):
            return None
        common = _agreement(self.tokens, theirs)
        if common < 2:
            return None
        key = min(self.last_pair_key, common - 2)
        rows = self.rows - (self.last_pair_key - key)
        return (rows, key) if rows > 0 else None


@dataclass(frozen=True, kw_only=True)
class DrafterContext:
    """How the drafter is configured: whether it prefills prompts, and whether it carries rows across turns."""

    prefill: bool
    carry: bool

    def __post_init__(self) -> None:
        flag("DrafterContext", "prefill", self.prefill)
        flag("DrafterContext", "carry", self.carry)


@dataclass(frozen=True, kw_only=True)
class ModelLevers:
    """The engine's switches, as far as the carry reads them."""

    drafter: DrafterContext


def carry_armed_with(cfg: DrafterContext, multi_seq: bool) -> bool:
    """Return whether the carry is live: configured, and the drafter dispatches one sequence at a time.

    Errors: ValueError outside the domain. Source: carry_armed_with.
    """
    if not isinstance(cfg, DrafterContext):
        raise ValueError(refusal("carry_armed_with", "cfg", cfg, "a DrafterContext", "DrafterContext(prefill=, carry=)"))
    flag("carry_armed_with", "multi_seq", multi_seq)
    return cfg.carry and not multi_seq


def carry_armed(cfg: DrafterContext, mtp_multi_seq_mode: Callable[[], bool]) -> bool:
    """Return carry_armed_with under the engine's present dispatch mode. Source: carry_armed."""
    return carry_armed_with(cfg, mtp_multi_seq_mode())


def mtp_carry_drafter_enabled(levers: ModelLevers, mtp_multi_seq_mode: Callable[[], bool]) -> bool:
    """Return carry_armed for the drafter's part of levers. Source: mtp_carry_drafter_enabled."""
    return carry_armed(levers.drafter, mtp_multi_seq_mode)


def mtp_carry_debug(env: Environment) -> bool:
    """Return whether env asks for a line per carry decision: its value is exactly 1. Source: mtp_carry_debug."""
    return text_of("mtp_carry_debug", ENV_CARRY_DEBUG, env.get(ENV_CARRY_DEBUG)) == "1"


class MarconiThreshold:
    """The snapshot threshold of one process: the first writer wins, and a read counts as a writer.

    Safe to share between threads. Source: marconi_min_tokens and set_marconi_min_tokens.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._settled: int | None = None

    def marconi_min_tokens(self, env: Environment) -> int:
        """Return the threshold in tokens, settling it from env (not trimmed; 256 by default) if nothing has before."""
        with self._lock:
            if self._settled is None:
                name = ENV_MARCONI_MIN_TOKENS
                text = text_of("marconi_min_tokens", name, env.get(name))
                asked = None if text is None else parse_usize(text)
                self._settled = DEFAULT_MARCONI_MIN_TOKENS if asked is None else asked
            return self._settled

    def set_marconi_min_tokens(self, v: int) -> bool:
        """Settle the threshold at v tokens and return True; return False, changing nothing, if it was settled before.

        Errors: ValueError outside 64 bits.
        """
        u64("set_marconi_min_tokens", "v", v)
        with self._lock:
            if self._settled is not None:
                return False
            self._settled = v
            return True


_PROCESS = MarconiThreshold()


def marconi_min_tokens(env: Environment) -> int:
    """Return the threshold of this process in tokens; see MarconiThreshold. Source: marconi_min_tokens."""
    return _PROCESS.marconi_min_tokens(env)


def set_marconi_min_tokens(v: int) -> bool:
    """Settle the threshold of this process, once; see MarconiThreshold. Source: set_marconi_min_tokens."""
    return _PROCESS.set_marconi_min_tokens(v)


@dataclass(frozen=True, kw_only=True)
class Adopted(WordRecord):
    """Rows were adopted, and `appended` more built from first_key on."""

    rows: int
    appended: int
    first_key: int

    def __str__(self) -> str:
        return f"adopted rows={self.rows} appended={self.appended} first_key={self.first_key}"


@dataclass(frozen=True, kw_only=True)
class NoCarry(WordRecord):
    """The slot was empty."""

    def __str__(self) -> str:
        return "no carried state"


@dataclass(frozen=True, kw_only=True)
class PrefixMismatch(WordRecord):
    """The entry is the session's own and no row of it survives the common prefix."""

    common: int
    entry_rows: int

    def __str__(self) -> str:
        return f"prefix mismatch (common={self.common} entry_rows={self.entry_rows})"


@dataclass(frozen=True, kw_only=True)
class ForeignHiddens(WordRecord):
    """The hidden rows in the store are those of generation owner, and `expected` asked for them."""

    owner: int
    expected: int

    def __str__(self) -> str:
        return f"hidden rows belong to sequence gen {self.owner}, not {self.expected}"


@dataclass(frozen=True, kw_only=True)
class ForeignSession(WordRecord):
    """The entry is another session's, or one of the two sessions is unknown (0)."""

    entry_session: int
    prompt_session: int

    def __str__(self) -> str:
        return f"foreign session (entry={self.entry_session:#x} prompt={self.prompt_session:#x})"


@dataclass(frozen=True, kw_only=True)
class NoHiddens(WordRecord):
    """The readable hidden rows do not cover what was to be appended."""

    def __str__(self) -> str:
        return "hidden store does not cover the append span"


CarryOutcome: TypeAlias = Adopted | NoCarry | PrefixMismatch | ForeignHiddens | ForeignSession | NoHiddens
"""What an attempt to adopt came to. Its texts are an interface: logs are searched for them. Source: CarryOutcome."""


def _agreement(mine: Sequence[int], theirs: Sequence[int]) -> int:
    shorter = min(len(mine), len(theirs))
    return next((position for position in range(shorter) if mine[position] != theirs[position]), shorter)
