"""The gate: which environment text is a width, told by an independent reading of Unicode and of Rust's integers."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.reference import (
    CANONICAL_KEY_MIN_WIDTH,
    canonical_assignment,
    canonical_assignment_at,
    canonical_key_min_width,
    canonical_verify_key_enabled,
    min_width_from_env,
)
from tests import strategies

WIDTH = "ATLAS_CANONICAL_KEY_MIN_WIDTH"
SWITCH = "ATLAS_NO_CANONICAL_VERIFY_KEY"


def is_white_space(character: str) -> bool:
    """Unicode's White_Space: all separators, and the controls U+0009 to U+000D and U+0085."""
    return unicodedata.category(character) in {"Zs", "Zl", "Zp"} or character in "\t\n\v\f\r\x85"


def read_width(raw: str | bytes | None) -> int:
    """The width by the letter of the rule: decode, trim one character at a time, match, compare as decimal text."""
    try:
        text = raw.decode() if isinstance(raw, bytes) else raw or ""
    except UnicodeDecodeError:
        return 8
    while text and is_white_space(text[0]):
        text = text[1:]
    while text and is_white_space(text[-1]):
        text = text[:-1]
    if not re.fullmatch(r"\+?[0-9]+", text):
        return 8
    digits = re.sub(r"^\+?0*", "", text).rjust(20, "0")
    return int(digits) if len(digits) == 20 and digits <= "18446744073709551615" else 8


def test_the_default_width_is_eight() -> None:
    assert CANONICAL_KEY_MIN_WIDTH == 8
    assert min_width_from_env(None) == 8


@pytest.mark.parametrize(
    ("raw", "width"),
    [
        ("5", 5),
        ("0", 0),
        ("+5", 5),
        ("+0", 0),
        ("007", 7),
        ("  5\n", 5),
        ("\u00855\u2003", 5),
        ("\u30005\u2028", 5),
        ("\u00a0+12\u205f", 12),
        ("18446744073709551615", 2**64 - 1),
        ("+00018446744073709551615", 2**64 - 1),
        ("0" * 5000 + "5", 5),
        (b"5", 5),
        (b"\xc2\xa05", 5),
        (b"\xe3\x80\x80+6 ", 6),
    ],
)
def test_a_width_is_read_as_rust_reads_a_usize(raw: str | bytes, width: int) -> None:
    assert min_width_from_env(raw) == width


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "   ",
        "+",
        "++5",
        "+ 5",
        "-5",
        "-0",
        "5 5",
        "5.0",
        "5e1",
        "0x5",
        "1_000",
        "five",
        "18446744073709551616",
        "99999999999999999999",
        "9" * 5000,
        "1" + "0" * 20,
        "\u0665",  # a digit in Arabic script
        "\uff15",  # a full-width digit
        "\u00b2",  # a superscript
        "\x1c5",  # stripped by str.strip()
        "5\x1f",
        "\x005",
        "\u200b5",
        "\u180e5",
        "\ufeff5",
        "\udcff5",  # a byte that was not UTF-8
        b"",
        b"\xff5",
        b"5\xff",
        b"\xa05",
        b"\xed\xa0\x805",  # a surrogate in disguise
        b"\xc0\xb55",  # an overlong 5
        "5".encode("utf-16"),
    ],
)
def test_anything_else_is_the_default(raw: str | bytes) -> None:
    assert min_width_from_env(raw) == 8


def test_white_space_is_unicodes_and_not_pythons() -> None:
    for code in range(0x3100):
        character = chr(code)
        if character not in "+0123456789":
            width = 5 if is_white_space(character) else 8
            assert min_width_from_env(character + "5") == width, hex(code)
            assert min_width_from_env("5" + character) == width, hex(code)


@given(strategies.environment_values())
def test_every_value_reads_as_the_letter_of_the_rule(raw: str | bytes | None) -> None:
    assert min_width_from_env(raw) == read_width(raw)


@pytest.mark.parametrize("raw", [5, 5.0, bytearray(b"5"), ["5"]])
def test_a_value_that_no_environment_holds_is_refused(raw: object) -> None:
    message = r"^min_width_from_env: raw=.* is not an environment value; pass a str, bytes or None$"
    with pytest.raises(ValueError, match=message):
        min_width_from_env(raw)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n", "min_width", "clear", "canonical"),
    [
        (7, 8, True, False),
        (8, 8, True, True),
        (9, 8, True, True),
        (8, 8, False, False),
        (0, 0, True, True),
        (0, 0, False, False),
        (0, 1, True, False),
        (2**64 - 1, 2**64 - 1, True, True),
        (2**64 - 2, 2**64 - 1, True, False),
        (2**64 - 1, 0, False, False),
    ],
)
def test_a_batch_is_canonical_from_the_width_on_unless_the_switch_is_set(
    n: int, min_width: int, clear: bool, canonical: bool
) -> None:
    assert canonical_assignment_at(n, min_width, clear) is canonical


@given(strategies.u64(), strategies.u64(), st.booleans())
def test_a_wider_batch_is_never_less_canonical(n: int, min_width: int, clear: bool) -> None:
    if canonical_assignment_at(n, min_width, clear):
        assert clear
        assert all(canonical_assignment_at(wider, min_width, clear) for wider in (n, 2**64 - 1))
        assert not canonical_assignment_at(n, min_width, False)
    else:
        assert not clear or n < min_width


@pytest.mark.parametrize("value", ["", "0", "1", "false", b"\xff", b""])
def test_the_kill_switch_counts_by_presence_whatever_its_value(value: str | bytes) -> None:
    assert canonical_verify_key_enabled({}) is True
    assert canonical_verify_key_enabled({SWITCH: value}) is False
    assert canonical_assignment(8, {SWITCH: value}) is False
    assert canonical_assignment(8, {SWITCH: value, WIDTH: "0"}) is False


def test_the_width_comes_from_its_own_variable() -> None:
    assert canonical_key_min_width({}) == 8
    assert canonical_key_min_width({WIDTH: " 3 "}) == 3
    assert canonical_key_min_width({WIDTH: b"\xff"}) == 8
    assert canonical_key_min_width({WIDTH.lower(): "3", SWITCH: "3"}) == 8


def test_the_gate_reads_the_environment_it_is_given_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "1")
    monkeypatch.setenv(WIDTH, "3")
    assert canonical_assignment(7, {}) is False
    assert canonical_assignment(8, {}) is True
    assert canonical_assignment(7, {WIDTH: "7"}) is True
    assert canonical_assignment(8, {WIDTH: "9"}) is False
    assert canonical_assignment(0, {WIDTH: "0"}) is True


def test_gating_by_the_width_of_a_chunk_disagrees_with_gating_by_the_batch() -> None:
    """A boundary: a batch of eight in two chunks of four is canonical, and neither chunk alone would be."""
    assert canonical_assignment(8, {}) is True
    assert canonical_assignment(4, {}) is False
