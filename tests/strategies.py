"""Every Hypothesis strategy of the tests: words at their boundaries, and values that the functions tell apart.

Plain draws from 64 bits would almost never be equal, touch, share a prefix or overflow, so each strategy mixes small
values, values next to powers of two, and arbitrary ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from impl.reference import CarriedDrafter, StoreRange

U32_MAX = 2**32 - 1
U64_MAX = 2**64 - 1
NO_SLOT = U64_MAX

_EDGES_32 = (0, 1, 2, 255, 256, 2**16 - 1, 2**16, 2**31 - 1, 2**31, U32_MAX - 1, U32_MAX)
_EDGES_64 = (*_EDGES_32, 2**32, 2**32 + 1, 2**62, 2**63 - 1, 2**63, 2**63 + 1, U64_MAX - 2, U64_MAX - 1, U64_MAX)


def u64() -> SearchStrategy[int]:
    """Words of 64 bits, with small ones and boundaries preferred."""
    return st.one_of(st.integers(0, 12), st.sampled_from(_EDGES_64), st.integers(0, U64_MAX))


def u32() -> SearchStrategy[int]:
    """Words of 32 bits, with small ones and boundaries preferred."""
    return st.one_of(st.integers(0, 12), st.sampled_from(_EDGES_32), st.integers(0, U32_MAX))


def not_u64() -> SearchStrategy[object]:
    """Values that are no word of 64 bits, among them some that Python takes for integers."""
    numbers = st.one_of(st.integers(max_value=-1), st.integers(min_value=2**64))
    return st.one_of(numbers, st.booleans(), st.floats(), st.text(max_size=3), st.none(), st.just(()))


def generations() -> SearchStrategy[int]:
    """Few generations, so that they meet: unclaimed (0), two neighbours, and the two extremes."""
    return st.sampled_from((0, 1, 2, 2**63, U64_MAX))


@st.composite
def intervals(draw: DrawFn) -> tuple[int, int]:
    """Pairs of words: mostly ordered and short, at times empty, inverted or far apart."""
    lo = draw(u64())
    hi = draw(st.one_of(st.integers(0, 9).map(lambda length: min(lo + length, U64_MAX)), u64()))
    return lo, hi


@st.composite
def chunks(draw: DrawFn, near: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    """A write (start, count) that stays inside 64 bits, often overlapping, touching or just missing `near`."""
    edge = draw(st.sampled_from(near))
    start = draw(st.one_of(st.integers(max(0, edge - 4), min(edge + 4, U64_MAX)), u64()))
    count = draw(st.one_of(st.integers(0, 6), u64()).map(lambda length: min(length, U64_MAX - start)))
    return start, count


@st.composite
def store_ranges(draw: DrawFn) -> StoreRange:
    """Claims of few owners over any pair of words."""
    lo, hi = draw(intervals())
    return StoreRange(owner=draw(generations()), lo=lo, hi=hi)


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """A prefill chunk: generation `writer` writes count rows from start."""

    writer: int
    start: int
    count: int


@st.composite
def chunk_histories(draw: DrawFn, rows: int = 12) -> tuple[int, list[Chunk]]:
    """(origin, chunks): non-empty chunks of few writers inside the `rows` rows from origin, which may lie far up."""
    origin = draw(st.sampled_from((0, 1, 2**32 - 3, U64_MAX - rows)))
    history = []
    for _ in range(draw(st.integers(0, 8))):
        start = draw(st.integers(0, rows - 1))
        count = draw(st.integers(1, rows - start))
        history.append(Chunk(writer=draw(generations()), start=origin + start, count=count))
    return origin, history


def tokens(max_size: int = 12) -> SearchStrategy[list[int]]:
    """Token sequences over a small alphabet that holds both ends of 32 bits."""
    return st.lists(st.sampled_from((0, 1, 2, U32_MAX)), max_size=max_size)


@st.composite
def token_pairs(draw: DrawFn) -> tuple[list[int], list[int]]:
    """Two token sequences that share a prefix, at times the whole of one of them."""
    shared = draw(tokens())
    return shared + draw(tokens(max_size=4)), shared + draw(tokens(max_size=4))


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """An entry together with what really happened: row r holds the key keys[r], and last_pair_key may overstate."""

    entry: CarriedDrafter
    keys: tuple[int, ...]
    prompt: tuple[int, ...]


@st.composite
def provenances(draw: DrawFn, gaps: bool = True) -> Provenance:
    """Entries as the engine deposits them: increasing keys of their own tokens. Without gaps: exact as well."""
    mine, prompt = draw(token_pairs())
    possible = range(max(0, len(mine) - 1))
    if gaps:
        keys = sorted(draw(st.sets(st.sampled_from(possible)))) if possible else []
        overstated = draw(st.integers(0, 3))
    else:
        first, end = sorted(draw(st.tuples(*[st.integers(0, len(possible))] * 2)))
        keys, overstated = list(possible[first:end]), 0
    entry = CarriedDrafter(
        block_table=range(len(keys)),
        rows=len(keys),
        last_pair_key=keys[-1] + overstated if keys else None,
        tokens=mine,
        session_hash=draw(st.sampled_from((1, 2, U64_MAX))),
    )
    return Provenance(entry=entry, keys=tuple(keys), prompt=tuple(prompt))


@st.composite
def carried_drafters(draw: DrawFn) -> CarriedDrafter:
    """Entries with any fields at all, whether or not the engine could make them."""
    return CarriedDrafter(
        block_table=draw(st.lists(u32(), max_size=3)),
        rows=draw(u64()),
        last_pair_key=draw(st.one_of(st.none(), u64())),
        tokens=draw(tokens()),
        session_hash=draw(st.sampled_from((0, 1, 2, U64_MAX))),
    )


def slots() -> SearchStrategy[int]:
    """SSM slots: few, so that they repeat, with the mark of a member without one."""
    return st.one_of(st.integers(0, 4), st.just(NO_SLOT), u64())


def depths() -> SearchStrategy[int]:
    """Row counts: those that a planner deals, and any word."""
    return st.one_of(st.integers(2, 4), u64())


@st.composite
def batches(draw: DrawFn, max_size: int = 16) -> tuple[list[int], list[int]]:
    """A verify batch (slots, ks), with repeated and missing slots."""
    members = draw(st.lists(st.tuples(slots(), depths()), max_size=max_size))
    return [slot for slot, _ in members], [k for _, k in members]


@st.composite
def key_batches(draw: DrawFn, max_size: int = 8) -> tuple[list[int], list[int]]:
    """A verify batch whose words fit a key."""
    member = st.tuples(st.one_of(st.integers(0, 4), u32()), st.one_of(st.integers(2, 4), u32()))
    members = draw(st.lists(member, max_size=max_size))
    return [slot for slot, _ in members], [k for _, k in members]


@st.composite
def redealt(draw: DrawFn, batch: tuple[Sequence[int], Sequence[int]]) -> tuple[list[int], list[int]]:
    """The same slots and the same depths as batch, met in another order and dealt to other members."""
    return draw(st.permutations(list(batch[0]))), draw(st.permutations(list(batch[1])))


# White space, and characters that Python or a careless reader takes for it: U+001C to U+001F are stripped by
# str.strip(), U+200B, U+180E and U+FEFF are not White_Space although they show nothing.
_BLANK = "\t\n\v\f\r \x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"
_NEARLY_BLANK = "\x00\x1c\x1d\x1e\x1f\u200b\u180e\ufeff\u2060"
# Digits that int() reads and Rust does not: Arabic-Indic, full width, superscript (isdigit() alone), mathematical.
_OTHER_DIGITS = "\u0665\uff15\u00b2\U0001d7d3"


def environment_values() -> SearchStrategy[str | bytes | None]:
    """Raw values: absent, numbers in odd dress, near misses, other digits, any text, any bytes."""
    pad = st.text(alphabet=_BLANK + _NEARLY_BLANK, max_size=2)
    zeros = st.sampled_from(("", "0", "00000000", "0" * 5000))
    number = st.one_of(st.integers(0, 40), st.integers(2**64 - 2, 2**64 + 2), st.integers(0, 10**40)).map(str)
    sign = st.sampled_from(("", "", "+", "++", "-", "+ "))
    tail = st.sampled_from(("", "", "", "_0", ".0", "e3", "\x00", "\udcff", *_OTHER_DIGITS))
    dressed = st.tuples(pad, sign, zeros, number, tail, pad).map("".join)
    encoded = st.one_of(dressed, st.text()).map(lambda text: text.encode("utf-8", "surrogatepass"))
    return st.one_of(st.none(), dressed, st.text(max_size=6), encoded, st.binary(max_size=6))
