"""The gate: whether a verify batch gets the canonical assignment, and the environment that decides it.

A batch of n sequences is canonical where the kill switch is absent and n reaches the minimum width. The switch counts
by presence, whatever its value; the width is read from text, with a default.

Leaves out: that the engine keeps its first reading for the life of the process. Here the caller passes the environment
and chooses when to read it. Twin: spec/gate.py. Source: DESIGN 1b, the gate.
"""

from impl.reference.words import Environment, flag, parse_usize, text_of, u64

CANONICAL_KEY_MIN_WIDTH = 8
"""The width, in sequences, from which a batch is canonical unless the environment says otherwise."""

ENV_MIN_WIDTH = "ATLAS_CANONICAL_KEY_MIN_WIDTH"
ENV_KILL_SWITCH = "ATLAS_NO_CANONICAL_VERIFY_KEY"

# The 25 code points with the Unicode property White_Space. str.strip() without this list also takes U+001C to U+001F.
WHITE_SPACE = (
    "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


def canonical_verify_key_enabled(env: Environment) -> bool:
    """Return True unless env holds the kill switch, with any value at all. Source: canonical_verify_key_enabled."""
    return ENV_KILL_SWITCH not in env


def canonical_key_min_width(env: Environment) -> int:
    """Return the minimum width that env asks for, else 8. Source: canonical_key_min_width."""
    return min_width_from_env(env.get(ENV_MIN_WIDTH))


def min_width_from_env(raw: str | bytes | None) -> int:
    """Return the width that raw spells, else 8: absent, not UTF-8, or not a usize after trimming white space.

    Errors: ValueError where raw is neither str, bytes nor None. Source: min_width_from_env.
    """
    text = text_of("min_width_from_env", "raw", raw)
    width = None if text is None else parse_usize(text.strip(WHITE_SPACE))
    return CANONICAL_KEY_MIN_WIDTH if width is None else width


def canonical_assignment(n: int, env: Environment) -> bool:
    """Return whether a full batch of n sequences is canonical under env, also when it is dispatched in chunks.

    Errors: ValueError outside 64 bits. Source: canonical_assignment.
    """
    u64("canonical_assignment", "n", n)
    return canonical_assignment_at(n, canonical_key_min_width(env), canonical_verify_key_enabled(env))


def canonical_assignment_at(n: int, min_width: int, kill_switch_clear: bool) -> bool:
    """Return whether a full batch of n sequences is canonical: the switch is clear and n is at least min_width.

    Errors: ValueError outside the domain. Source: canonical_assignment_at.
    """
    u64("canonical_assignment_at", "n", n)
    u64("canonical_assignment_at", "min_width", min_width)
    return flag("canonical_assignment_at", "kill_switch_clear", kill_switch_clear) and n >= min_width
