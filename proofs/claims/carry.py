"""Claims about the carried drafter.

*Claim.* Whatever rows a prompt adopts are its own session's, and each was built from tokens that the prompt shares;
without gaps in the keys no such row is lost, and with gaps exactly as many as there are keys without a row.

*Assumptions.* A1 (session hashes do not collide) where a hash stands for a session; A8 (keys strictly increase and
`last_pair_key` is not below the newest) where a row is spoken of; A3 (what is built depends on tokens alone) where a
row's content is.

*Argument.* Keys increase, so a row that is d rows from the end holds a key at least d below `last_pair_key`. To bring
the newest key down to common - 2 as many rows are dropped as that is keys, hence no row left has a key above that, and
key k reads tokens 0..k+1. The ghost `key_of_row` says which key a row holds; the rule never looks at it.
"""

from __future__ import annotations

from collections.abc import Mapping

import z3

from proofs.obligation import Goal, Register, World
from proofs.pinning import pin
from spec.carry import agree
from spec.machine import SIZE
from spec.scope import Fold, Index, every, within
from spec.sorts import CARRIED, CONFIG, FLAG, TOKENS, USIZE, Maybe, Record, Seq

CLAIMS = Register("carry")


# The common prefix: it exists, because comparing element by element ends at it, and it is one.


def walk(entry: Record, prompt: Seq) -> Fold:
    """Compares element by element: `upto(m)` is how far the two agree within their first m elements."""

    def step(matched: z3.ArithRef, j: z3.ArithRef) -> z3.ArithRef:
        return z3.If(z3.And(matched == j, entry.tokens.at(j) == prompt.at(j)), matched + 1, matched)

    return Fold(name=f"walk[{entry.tokens.name},{prompt.name}]", step=step)


def _walk_is_right(entry: Record, prompt: Seq, m: Index) -> z3.BoolRef:
    """Within their first m elements the two agree exactly as far as the walk gets."""
    matched = walk(entry, prompt).upto(m)
    stops = z3.Or(matched == m, entry.tokens.at(matched) != prompt.at(matched))
    right = z3.And(0 <= matched, matched <= m, agree(entry.tokens, prompt, matched), stops)
    return z3.Implies(z3.And(m >= 0, m <= entry.tokens.length, m <= prompt.length), right)


@CLAIMS.induction(
    "walking-finds-the-common-prefix",
    "Within the first m elements two sequences agree exactly as far as comparing element by element gets.",
    states=_walk_is_right,
    folds=lambda entry, prompt: (walk(entry, prompt),),
)
def WALKING_FINDS_THE_COMMON_PREFIX(world: World) -> tuple[Record, Seq]:
    return CARRIED.fresh("entry"), TOKENS.fresh("prompt")


def _shorter(entry: Record, prompt: Seq) -> z3.ArithRef:
    return z3.If(entry.tokens.length <= prompt.length, entry.tokens.length, prompt.length)


def walked(world: World, entry: Record, prompt: Seq) -> z3.ArithRef:
    """How far comparing element by element gets before one of the two ends."""
    world.use(WALKING_FINDS_THE_COMMON_PREFIX, entry, prompt, _shorter(entry, prompt))
    return walk(entry, prompt).upto(_shorter(entry, prompt))


def _common_situations(common: z3.ArithRef, entry: Record, prompt: Seq) -> Mapping[str, z3.BoolRef]:
    return {
        "the two differ at once": z3.And(common == 0, entry.tokens.length > 0, prompt.length > 0),
        "the two differ later": z3.And(common > 0, common < entry.tokens.length, common < prompt.length),
        "the prompt extends the entry": z3.And(common == entry.tokens.length, common < prompt.length),
        "the prompt ends first": z3.And(common == prompt.length, common < entry.tokens.length),
    }


pin(CLAIMS, "common_prefix_len", walked, _common_situations)


@CLAIMS.theorem(
    "the-common-prefix-agrees",
    "At every position below the common prefix length both sequences have an element, and the same one.",
)
def the_common_prefix_agrees(world: World) -> Goal:
    entry, prompt = world.some(CARRIED, "entry"), world.some(TOKENS, "prompt")
    common, is_common = world.answer("common", "common_prefix_len", entry, prompt)
    i = world.some(USIZE, "i")
    both = z3.And(i < entry.tokens.length, i < prompt.length)
    return Goal(
        given={"common is the length": is_common, "the position is below it": i < common},
        show=z3.And(both, entry.tokens.at(i) == prompt.at(i)),
        witnesses={"they part later": z3.And(common < entry.tokens.length, common < prompt.length)},
    )


@CLAIMS.theorem(
    "the-common-prefix-is-the-longest",
    "Two sequences that agree on their first n elements have a common prefix length of at least n.",
)
def the_common_prefix_is_the_longest(world: World) -> Goal:
    entry, prompt = world.some(CARRIED, "entry"), world.some(TOKENS, "prompt")
    common, is_common = world.answer("common", "common_prefix_len", entry, prompt)
    n = world.some(USIZE, "n")
    return Goal(
        given={
            "common is the length": is_common,
            "both have n elements": z3.And(n <= entry.tokens.length, n <= prompt.length),
            "they agree on n elements": agree(entry.tokens, prompt, n),
        },
        show=n <= common,
        witnesses={
            "they part right there": z3.And(n == common, n < entry.tokens.length, n < prompt.length),
            "one ends right there": z3.And(n == entry.tokens.length, n > 0),
        },
    )


# Sessions.


def _session_situations(matches: z3.BoolRef, entry: Record, session_hash: z3.ArithRef) -> Mapping[str, z3.BoolRef]:
    return {
        "it matches": matches,
        "another session asks": z3.And(z3.Not(matches), session_hash != 0, entry.session_hash != 0),
        "neither is known": z3.And(z3.Not(matches), session_hash == 0, entry.session_hash == 0),
    }


pin(
    CLAIMS,
    "session_matches",
    lambda world, entry, session_hash: z3.If(session_hash > 0, session_hash - entry.session_hash == 0, False),
    _session_situations,
)


@CLAIMS.theorem(
    "a-match-is-with-the-same-known-session",
    "A session matches an entry exactly if the entry carries its hash and that hash is not 0.",
)
def a_match_is_with_the_same_known_session(world: World) -> Goal:
    entry, session_hash = world.some(CARRIED, "entry"), world.some(USIZE, "session_hash")
    matches, given = world.answer("matches", "session_matches", entry, session_hash)
    same_and_known = z3.And(entry.session_hash == session_hash, entry.session_hash != 0)
    return Goal(
        given={"matches is the answer": given},
        show=matches == same_and_known,
        witnesses=_session_situations(matches, entry, session_hash),
    )


@CLAIMS.theorem(
    "an-unknown-session-is-refused",
    "Session hash 0 matches nothing and adopts nothing, not even from an entry whose session is unknown too.",
)
def an_unknown_session_is_refused(world: World) -> Goal:
    entry, prompt, zero = world.some(CARRIED, "entry"), world.some(TOKENS, "prompt"), z3.IntVal(0)
    matches, matching = world.answer("matches", "session_matches", entry, zero)
    adopted, adopting = world.answer("adopted", "usable_by", entry, prompt, zero)
    return Goal(
        given={"matches is the answer": matching, "adopted is the answer": adopting},
        show=z3.And(z3.Not(matches), z3.Not(adopted.present)),
        witnesses={"the entry is full and unknown": z3.And(entry.session_hash == 0, entry.rows > 0, entry.last_pair_key.present)},
    )


@CLAIMS.theorem(
    "adopts-own-session-only",
    "Rows are adopted only by the session that the entry names, a known one, which session_matches admits.",
)
def adopts_own_session_only(world: World) -> Goal:
    entry, prompt = world.some(CARRIED, "entry"), world.some(TOKENS, "prompt")
    session_hash = world.some(USIZE, "session_hash")
    adopted, adopting = world.answer("adopted", "usable_by", entry, prompt, session_hash)
    matches, matching = world.answer("matches", "session_matches", entry, session_hash)
    return Goal(
        given={
            "adopted is the answer": adopting,
            "matches is the answer": matching,
            "rows are adopted": adopted.present,
        },
        show=z3.And(entry.session_hash == session_hash, session_hash != 0, matches),
        witnesses={"several rows": adopted.value.rows > 1},
    )


def _sessions(entry: Record, session_hash: z3.ArithRef) -> tuple[z3.ArithRef, z3.ArithRef, dict[str, z3.BoolRef]]:
    """Ghosts: who made the entry and who asks (identities, not hashes), and that each shows its own hash."""
    hash_of = z3.Function("hash_of", z3.IntSort(), z3.IntSort())
    maker, asker = z3.Int("making_session"), z3.Int("asking_session")
    shown = {
        "the entry carries its maker's hash": entry.session_hash == hash_of(maker),
        "the prompt comes with its session's hash": session_hash == hash_of(asker),
    }
    return maker, asker, shown


@CLAIMS.theorem(
    "adopted-rows-were-made-by-the-asking-session",
    "If no two known sessions share a hash, the session that adopts rows is the one that made them.",
    assumes=("A1",),
)
def adopted_rows_were_made_by_the_asking_session(world: World) -> Goal:
    entry, prompt = world.some(CARRIED, "entry"), world.some(TOKENS, "prompt")
    session_hash = world.some(USIZE, "session_hash")
    adopted, adopting = world.answer("adopted", "usable_by", entry, prompt, session_hash)
    maker, asker, shown = _sessions(entry, session_hash)
    known_and_equal = z3.And(entry.session_hash == session_hash, session_hash != 0)
    return Goal(
        given={
            "adopted is the answer": adopting,
            **shown,
            "hashes of known sessions do not collide": z3.Implies(known_and_equal, maker == asker),
            "rows are adopted": adopted.present,
        },
        show=maker == asker,
        witnesses={"the prompts differ further on": entry.tokens.length > adopted.value.last_pair_key + 2},
    )


@CLAIMS.boundary(
    "rows-are-own-even-if-hashes-collide",
    "The session that adopts rows made them, whether or not another session has the same hash.",
    assumes=("A1",),
)
def rows_are_own_even_if_hashes_collide(world: World) -> Goal:
    entry, prompt = world.some(CARRIED, "entry"), world.some(TOKENS, "prompt")
    session_hash = world.some(USIZE, "session_hash")
    adopted, adopting = world.answer("adopted", "usable_by", entry, prompt, session_hash)
    maker, asker, shown = _sessions(entry, session_hash)
    return Goal(given={"adopted is the answer": adopting, **shown, "rows are adopted": adopted.present}, show=maker == asker)


@CLAIMS.boundary(
    "a-shared-prefix-is-an-identity",
    "A prompt that shares its first tokens with an entry comes from the session that made it.",
)
def a_shared_prefix_is_an_identity(world: World) -> Goal:
    entry, prompt = world.some(CARRIED, "entry"), world.some(TOKENS, "prompt")
    session_hash = world.some(USIZE, "session_hash")
    common, is_common = world.answer("common", "common_prefix_len", entry, prompt)
    matches, matching = world.answer("matches", "session_matches", entry, session_hash)
    return Goal(
        given={
            "common is the length": is_common,
            "matches is the answer": matching,
            "both sessions are known": z3.And(session_hash != 0, entry.session_hash != 0),
            "the whole entry is shared": z3.And(common >= 2, common == entry.tokens.length),
        },
        show=matches,
    )


# What is adopted, in numbers.


def _adoption(world: World) -> tuple[Record, Seq, z3.ArithRef, Maybe, dict[str, z3.BoolRef]]:
    """Any entry, a prompt and its session; what is adopted and how far tokens agree, each as the rule says."""
    entry, prompt = world.some(CARRIED, "entry"), world.some(TOKENS, "prompt")
    session_hash = world.some(USIZE, "session_hash")
    adopted, adopting = world.answer("adopted", "usable_by", entry, prompt, session_hash)
    common, is_common = world.answer("common", "common_prefix_len", entry, prompt)
    return (
        entry,
        prompt,
        common,
        adopted,
        {
            "adopted is the answer": adopting,
            "common is the length": is_common,
            "the session is the entry's own": z3.And(entry.session_hash == session_hash, session_hash != 0),
        },
    )


def closed_form(world: World, entry: Record, prompt: Seq, session_hash: z3.ArithRef) -> Maybe:
    """`usable_by` as a computation: the lower of two keys, then one subtraction."""
    common, known = walked(world, entry, prompt), entry.last_pair_key
    key = z3.If(known.value < common - 1, known.value, common - 2)
    rows = entry.rows - (known.value - key)
    own = z3.And(session_hash > 0, session_hash - entry.session_hash == 0)
    return Maybe(
        present=z3.And(known.present, own, common > 1, rows >= 1),
        value=Record(fields={"rows": rows, "last_pair_key": key}),
    )


def _adoption_situations(adopted: Maybe, entry: Record, prompt: Seq, session_hash: z3.ArithRef) -> Mapping[str, z3.BoolRef]:
    own = z3.And(session_hash != 0, entry.session_hash == session_hash, entry.last_pair_key.present)
    return {
        "all rows are adopted": z3.And(adopted.present, adopted.value.rows == entry.rows),
        "some rows are adopted": z3.And(adopted.present, adopted.value.rows < entry.rows),
        "no row is left": z3.And(z3.Not(adopted.present), own, entry.rows > 1, prompt.length > 2),
        "no key is known": z3.And(z3.Not(entry.last_pair_key.present), entry.rows > 0),
        "another session asks": z3.And(session_hash != entry.session_hash, entry.rows > 0),
    }


def _adoption_numbers(entry: Record, prompt: Seq, session_hash: z3.ArithRef) -> Mapping[str, z3.ArithRef]:
    return {f"common[{entry.tokens.name},{prompt.name}]": walk(entry, prompt).upto(_shorter(entry, prompt))}


pin(CLAIMS, "usable_by", closed_form, _adoption_situations, numbers=_adoption_numbers)


@CLAIMS.theorem("an-entry-without-a-known-key-lends-nothing", "From an entry whose last_pair_key is not known nothing is adopted.")
def an_entry_without_a_known_key_lends_nothing(world: World) -> Goal:
    entry, _, common, adopted, given = _adoption(world)
    return Goal(
        given={**given, "no key is known": z3.Not(entry.last_pair_key.present)},
        show=z3.Not(adopted.present),
        witnesses={"everything else would do": z3.And(entry.rows > 0, common == entry.tokens.length, common > 2)},
    )


@CLAIMS.theorem(
    "adopts-at-least-one-row-and-no-more-than-there-are",
    "What is adopted is at least one row, and never more rows than the entry has.",
)
def adopts_at_least_one_row_and_no_more_than_there_are(world: World) -> Goal:
    entry, _, _, adopted, given = _adoption(world)
    return Goal(
        given={**given, "rows are adopted": adopted.present},
        show=z3.And(1 <= adopted.value.rows, adopted.value.rows <= entry.rows),
        witnesses={
            "a single row is left": z3.And(adopted.value.rows == 1, entry.rows == 2),
            "all are": adopted.value.rows == entry.rows,
        },
    )


@CLAIMS.theorem(
    "the-adopted-key-is-never-raised",
    "The key that comes with adopted rows is the entry's or lower, and reads common tokens alone.",
)
def the_adopted_key_is_never_raised(world: World) -> Goal:
    entry, _, common, adopted, given = _adoption(world)
    key = adopted.value.last_pair_key
    return Goal(
        given={**given, "rows are adopted": adopted.present},
        show=z3.And(key <= entry.last_pair_key.value, key + 1 < common),
        witnesses={
            "it stays": z3.And(key == entry.last_pair_key.value, key + 2 < common),
            "it is lowered": key < entry.last_pair_key.value,
        },
    )


@CLAIMS.theorem(
    "adoption-never-leaves-64-bits",
    "Every value on the way fits 64 bits: the common length, the highest key it allows, the key, the keys lost and, "
    "unless nothing is adopted, the rows left.",
)
def adoption_never_leaves_64_bits(world: World) -> Goal:
    entry, _, common, adopted, given = _adoption(world)
    known, highest = entry.last_pair_key.value, common - 2
    key = z3.If(known <= highest, known, highest)
    lost, left = known - key, entry.rows - (known - key)
    words = [within(0, value, SIZE) for value in (common, highest, key, lost)]
    return Goal(
        given={**given, "a key is known": entry.last_pair_key.present, "a key can survive": common >= 2},
        show=z3.And(
            *words,
            adopted.present == (left > 0),
            z3.Implies(
                adopted.present,
                z3.And(adopted.value.last_pair_key == key, adopted.value.rows == left, left < SIZE),
            ),
        ),
        witnesses={
            "the largest key and the most rows": z3.And(known == SIZE - 1, entry.rows == SIZE - 1),
            "no row is left": z3.And(z3.Not(adopted.present), entry.rows > 0),
        },
    )


# What is adopted, row by row.


def key_of_row(row: Index) -> z3.ArithRef:
    """A ghost: the pair key that a row of the entry holds."""
    return z3.Function("key_of_row", z3.IntSort(), z3.IntSort())(row)


def well_kept(entry: Record) -> dict[str, z3.BoolRef]:
    """A8: the keys of the rows strictly increase, and `last_pair_key` is the newest or above it."""
    newest_told = key_of_row(entry.rows - 1) <= entry.last_pair_key.value
    return {
        "a key is a number": key_of_row(0) >= 0,
        "keys strictly increase": every("row", 0, entry.rows - 1, lambda q: key_of_row(q) < key_of_row(q + 1)),
        "last_pair_key is not below the newest key": z3.Implies(entry.rows > 0, newest_told),
    }


def _spread(entry: Record, row: Index, m: Index) -> z3.BoolRef:
    """In a well-kept entry the keys of two rows that are m rows apart differ by at least m."""
    in_entry = z3.And(m >= 0, row >= 0, row + m < entry.rows)
    return z3.Implies(z3.And(*well_kept(entry).values(), in_entry), key_of_row(row) + m <= key_of_row(row + m))


@CLAIMS.induction(
    "keys-are-as-far-apart-as-their-rows",
    "The keys of two rows that are m rows apart differ by at least m.",
    states=_spread,
    folds=lambda entry, row: (),
)
def KEYS_ARE_AS_FAR_APART_AS_THEIR_ROWS(world: World) -> tuple[Record, z3.ArithRef]:
    return CARRIED.fresh("entry"), z3.Int("row")


def use_spread(world: World, entry: Record, row: z3.ArithRef) -> None:
    """Takes the lemma for `row` and the first and the newest row of the entry."""
    world.use(KEYS_ARE_AS_FAR_APART_AS_THEIR_ROWS, entry, row, entry.rows - 1 - row)
    world.use(KEYS_ARE_AS_FAR_APART_AS_THEIR_ROWS, entry, 0, row)


def _surviving(adopted: Maybe, row: z3.ArithRef) -> dict[str, z3.BoolRef]:
    return {"the row is adopted": z3.And(adopted.present, within(0, row, adopted.value.rows))}


@CLAIMS.theorem(
    "adopted-rows-read-shared-tokens-alone",
    "Every token that the key of an adopted row depends on is in the prompt too, at the same position.",
    assumes=("A8",),
)
def adopted_rows_read_shared_tokens_alone(world: World) -> Goal:
    entry, prompt, common, adopted, given = _adoption(world)
    row, i = world.some(USIZE, "row"), world.some(USIZE, "i")
    use_spread(world, entry, row)
    shared = z3.And(i < entry.tokens.length, i < prompt.length, entry.tokens.at(i) == prompt.at(i))
    return Goal(
        given={
            **given,
            **well_kept(entry),
            **_surviving(adopted, row),
            "its key depends on the token": i <= key_of_row(row) + 1,
        },
        show=z3.And(key_of_row(row) + 1 < common, shared),
        witnesses={
            "the newest of several, at its last token": z3.And(
                row > 0, row == adopted.value.rows - 1, i == key_of_row(row) + 1, adopted.value.rows < entry.rows
            ),
            "keys have gaps": key_of_row(row) > row,
        },
    )


def _rows_of(entry: Record, prompt: Seq) -> tuple[z3.FuncDeclRef, z3.ArithRef, z3.ArithRef, dict[str, z3.BoolRef]]:
    """Ghosts: what is in a row, and what a sequence's own prefill would build for a key."""
    content, key = z3.Function("content_of_row", z3.IntSort(), z3.IntSort()), z3.Int("key")
    made, wanted = z3.Int("built_by_the_entry"), z3.Int("built_by_the_prompt")
    same_tokens = z3.And(key + 2 <= entry.tokens.length, key + 2 <= prompt.length, agree(entry.tokens, prompt, key + 2))
    return (
        content,
        made,
        wanted,
        {"a row depends on tokens 0 to key + 1 alone": z3.Implies(same_tokens, made == wanted)},
    )


@CLAIMS.theorem(
    "an-adopted-row-is-what-the-prompt-would-build",
    "An adopted row holds what the prompt's own prefill would have built for its key.",
    assumes=("A3", "A8"),
)
def an_adopted_row_is_what_the_prompt_would_build(world: World) -> Goal:
    entry, prompt, _, adopted, given = _adoption(world)
    row = world.some(USIZE, "row")
    use_spread(world, entry, row)
    content, made, wanted, depends = _rows_of(entry, prompt)
    return Goal(
        given={
            **given,
            **well_kept(entry),
            **_surviving(adopted, row),
            "its key": z3.Int("key") == key_of_row(row),
            "the row holds what was built for it": content(row) == made,
            **depends,
        },
        show=content(row) == wanted,
        witnesses={"tokens differ further on": entry.tokens.length > adopted.value.last_pair_key + 2},
    )


@CLAIMS.boundary(
    "a-row-is-right-even-if-it-depends-on-more-than-tokens",
    "An adopted row holds what the prompt would have built, even if rows depend on more than the tokens up to theirs.",
    assumes=("A3",),
)
def a_row_is_right_even_if_it_depends_on_more_than_tokens(world: World) -> Goal:
    entry, prompt, _, adopted, given = _adoption(world)
    row = world.some(USIZE, "row")
    content, made, wanted, _ = _rows_of(entry, prompt)
    return Goal(
        given={
            **given,
            **well_kept(entry),
            **_surviving(adopted, row),
            "the row holds what was built for it": content(row) == made,
        },
        show=content(row) == wanted,
    )


@CLAIMS.theorem(
    "the-adopted-key-bounds-the-adopted-rows",
    "No adopted row holds a key above the one that comes with the rows, and rows below it hold keys below.",
    assumes=("A8",),
)
def the_adopted_key_bounds_the_adopted_rows(world: World) -> Goal:
    entry, _, _, adopted, given = _adoption(world)
    row = world.some(USIZE, "row")
    use_spread(world, entry, row)
    from_newest = adopted.value.rows - 1 - row
    return Goal(
        given={**given, **well_kept(entry), **_surviving(adopted, row)},
        show=key_of_row(row) + from_newest <= adopted.value.last_pair_key,
        witnesses={
            "the key is exact": z3.And(from_newest == 0, key_of_row(row) == adopted.value.last_pair_key),
            "the key overstates": z3.And(from_newest == 0, key_of_row(row) < adopted.value.last_pair_key),
        },
    )


def _reads_shared_tokens(world: World, kept: tuple[str, ...]) -> Goal:
    """The claim of adopted-rows-read-shared-tokens-alone with only some parts of A8."""
    entry, _, common, adopted, given = _adoption(world)
    row = world.some(USIZE, "row")
    rest = {name: formula for name, formula in well_kept(entry).items() if name in kept}
    known = {"a key fits 64 bits": within(0, key_of_row(row), SIZE)}
    return Goal(given={**given, **rest, **known, **_surviving(adopted, row)}, show=key_of_row(row) + 1 < common)


@CLAIMS.boundary(
    "rows-agree-even-if-the-newest-key-is-understated",
    "Adopted rows read shared tokens alone, even if last_pair_key is below the newest row's key.",
    assumes=("A8",),
)
def rows_agree_even_if_the_newest_key_is_understated(world: World) -> Goal:
    return _reads_shared_tokens(world, ("a key is a number", "keys strictly increase"))


@CLAIMS.boundary(
    "rows-agree-even-if-keys-repeat-or-fall",
    "Adopted rows read shared tokens alone, even if the keys of the rows do not strictly increase.",
    assumes=("A8",),
)
def rows_agree_even_if_keys_repeat_or_fall(world: World) -> Goal:
    return _reads_shared_tokens(world, ("a key is a number", "last_pair_key is not below the newest key"))


# Coverage: what is not lost.


@CLAIMS.theorem(
    "full-agreement-adopts-everything",
    "A prompt that shares every token which an entry's keys can read adopts all its rows, and its key as it is.",
)
def full_agreement_adopts_everything(world: World) -> Goal:
    entry, prompt, _, adopted, given = _adoption(world)
    known = entry.last_pair_key
    needed = known.value + 2
    return Goal(
        given={
            **given,
            "the entry has rows and a key": z3.And(entry.rows > 0, known.present),
            "its tokens and the prompt are long enough": z3.And(needed <= entry.tokens.length, needed <= prompt.length),
            "they agree that far": agree(entry.tokens, prompt, needed),
        },
        show=z3.And(adopted.present, adopted.value.rows == entry.rows, adopted.value.last_pair_key == known.value),
        witnesses={
            "the prompt parts right after": z3.And(
                needed < entry.tokens.length,
                needed < prompt.length,
                entry.tokens.at(needed) != prompt.at(needed),
            ),
            "the prompt is exactly that long": prompt.length == needed,
        },
    )


def _without_gaps(entry: Record) -> dict[str, z3.BoolRef]:
    return {
        "a key is a number": key_of_row(0) >= 0,
        "keys have no gaps": every("row", 0, entry.rows - 1, lambda q: key_of_row(q + 1) == key_of_row(q) + 1),
        "last_pair_key is the newest key": z3.Implies(entry.rows > 0, key_of_row(entry.rows - 1) == entry.last_pair_key.value),
    }


def _in_step(entry: Record, row: Index, m: Index) -> z3.BoolRef:
    """Without gaps the keys of two rows that are m rows apart differ by m."""
    in_entry = z3.And(m >= 0, row >= 0, row + m < entry.rows)
    return z3.Implies(z3.And(*_without_gaps(entry).values(), in_entry), key_of_row(row + m) == key_of_row(row) + m)


@CLAIMS.induction(
    "keys-without-gaps-count-the-rows",
    "Without gaps the keys of two rows that are m rows apart differ by m.",
    states=_in_step,
    folds=lambda entry, row: (),
)
def KEYS_WITHOUT_GAPS_COUNT_THE_ROWS(world: World) -> tuple[Record, z3.ArithRef]:
    return CARRIED.fresh("entry"), z3.Int("row")


@CLAIMS.theorem(
    "without-gaps-exactly-the-agreeing-rows-are-adopted",
    "If keys have no gaps and last_pair_key is exact, a row is adopted if and only if it reads shared tokens alone.",
)
def without_gaps_exactly_the_agreeing_rows_are_adopted(world: World) -> Goal:
    entry, _, common, adopted, given = _adoption(world)
    row = world.some(USIZE, "row")
    world.use(KEYS_WITHOUT_GAPS_COUNT_THE_ROWS, entry, row, entry.rows - 1 - row)
    world.use(KEYS_WITHOUT_GAPS_COUNT_THE_ROWS, entry, 0, row)
    survives = z3.And(adopted.present, row < adopted.value.rows)
    return Goal(
        given={
            **given,
            **_without_gaps(entry),
            "the newest key is known": entry.last_pair_key.present,
            "it is a row of the entry": row < entry.rows,
        },
        show=survives == (key_of_row(row) + 1 < common),
        witnesses={
            "the last that survives": z3.And(survives, row + 1 == adopted.value.rows, row + 1 < entry.rows),
            "the first that does not": z3.And(z3.Not(survives), adopted.present, row == adopted.value.rows),
            "none survives": z3.And(z3.Not(adopted.present), common > 2),
        },
    )


SKIPPED = Fold(name="skipped", step=lambda number, j: number + key_of_row(j + 1) - key_of_row(j) - 1)
"""How many keys the first m steps from a row to the next skip."""


def _told_by_gaps(m: Index) -> z3.BoolRef:
    """Row m holds the first row's key plus m plus as many as were skipped on the way."""
    return z3.Implies(m >= 0, key_of_row(m) == key_of_row(0) + m + SKIPPED.upto(m))


@CLAIMS.induction(
    "a-key-counts-the-rows-and-the-gaps-below-it",
    "Row m holds the first row's key plus m plus as many as were skipped on the way.",
    states=_told_by_gaps,
    folds=lambda: (SKIPPED,),
)
def A_KEY_COUNTS_THE_ROWS_AND_THE_GAPS_BELOW_IT(world: World) -> tuple[()]:
    return ()


def _agreeing(world: World, entry: Record, common: z3.ArithRef) -> tuple[z3.ArithRef, dict[str, z3.BoolRef]]:
    """How many rows read shared tokens alone: as keys increase, these are the first ones."""
    agreeing: z3.ArithRef = world.some(USIZE, "agreeing")
    for row in (agreeing - 1, agreeing, entry.rows - 1):
        world.use(A_KEY_COUNTS_THE_ROWS_AND_THE_GAPS_BELOW_IT, row)
    use_spread(world, entry, agreeing)
    first = every("row", 0, agreeing, lambda q: key_of_row(q) + 1 < common)
    newest = z3.Implies(agreeing > 0, key_of_row(agreeing - 1) + 1 < common)
    return agreeing, {
        "there are as many rows": agreeing <= entry.rows,
        "the first rows agree": z3.And(first, newest),
        "the next does not": z3.Or(agreeing == entry.rows, key_of_row(agreeing) + 1 >= common),
        "the newest key is known": z3.And(entry.last_pair_key.present, entry.rows > 0),
    }


@CLAIMS.theorem(
    "as-many-agreeing-rows-are-lost-as-keys-have-no-row",
    "Of the rows that agree exactly as many are lost as there are keys above the common prefix, up to last_pair_key, "
    "that no row holds (or all, if there are fewer).",
    assumes=("A8",),
)
def as_many_agreeing_rows_are_lost_as_keys_have_no_row(world: World) -> Goal:
    entry, _, common, adopted, given = _adoption(world)
    agreeing, split = _agreeing(world, entry, common)
    told, last, first_lost = entry.last_pair_key.value, entry.rows - 1, common - 1
    overstated = told - key_of_row(last)
    up_to_the_next_row = key_of_row(agreeing) - first_lost
    # If all rows agree, only an overstated key can cost any.
    without_row = z3.If(
        agreeing == entry.rows,
        z3.If(told >= first_lost, told - first_lost + 1, 0),
        up_to_the_next_row + SKIPPED.upto(last) - SKIPPED.upto(agreeing) + overstated,
    )
    survivors = z3.If(adopted.present, adopted.value.rows, 0)
    return Goal(
        given={**given, **well_kept(entry), **split},
        show=survivors == z3.If(without_row < agreeing, agreeing - without_row, 0),
        witnesses={
            "some are lost, some are not": z3.And(within(0, survivors, agreeing), survivors > 0, agreeing < entry.rows),
            "all are lost": z3.And(survivors == 0, agreeing > 0),
            "an overstated key costs rows": z3.And(agreeing == entry.rows, survivors < agreeing),
            "none agrees": agreeing == 0,
        },
    )


def _lost_and_skipped(entry: Record, adopted: Maybe, agreeing: z3.ArithRef) -> tuple[z3.ArithRef, z3.ArithRef]:
    """How many agreeing rows are lost, and how many keys above the newest of them, up to last_pair_key, have no row."""
    lost = agreeing - z3.If(adopted.present, adopted.value.rows, 0)
    skipped = SKIPPED.upto(entry.rows - 1) - SKIPPED.upto(agreeing - 1)
    return lost, skipped + entry.last_pair_key.value - key_of_row(entry.rows - 1)


@CLAIMS.theorem(
    "gaps-cost-at-most-a-row-each",
    "No more agreeing rows are lost than keys are skipped above the newest agreeing row, up to last_pair_key.",
    assumes=("A8",),
    size=4,
)
def gaps_cost_at_most_a_row_each(world: World) -> Goal:
    entry, _, common, adopted, given = _adoption(world)
    agreeing, split = _agreeing(world, entry, common)
    lost, skipped = _lost_and_skipped(entry, adopted, agreeing)
    return Goal(
        given={**given, **well_kept(entry), **split, "a row agrees": agreeing > 0},
        show=z3.And(0 <= lost, lost <= skipped),
        witnesses={
            "the bound is reached": z3.And(lost == skipped, lost > 0, adopted.present),
            "it is not": z3.And(lost < skipped, lost > 0, adopted.present),
            "nothing is skipped": z3.And(skipped == 0, agreeing < entry.rows),
        },
    )


@CLAIMS.boundary(
    "gaps-cost-fewer-rows-than-keys-are-skipped",
    "Where keys are skipped above the newest agreeing row, fewer agreeing rows are lost than keys were skipped.",
)
def gaps_cost_fewer_rows_than_keys_are_skipped(world: World) -> Goal:
    entry, _, common, adopted, given = _adoption(world)
    agreeing, split = _agreeing(world, entry, common)
    lost, skipped = _lost_and_skipped(entry, adopted, agreeing)
    return Goal(
        given={
            **given,
            **well_kept(entry),
            **split,
            "a row agrees": agreeing > 0,
            "keys are skipped, and rows are adopted": z3.And(skipped > 0, adopted.present),
        },
        show=lost < skipped,
    )


@CLAIMS.boundary(
    "every-agreeing-row-is-adopted",
    "Every row that reads shared tokens alone is adopted, gaps or not.",
)
def every_agreeing_row_is_adopted(world: World) -> Goal:
    entry, _, common, adopted, given = _adoption(world)
    row = world.some(USIZE, "row")
    return Goal(
        given={
            **given,
            **well_kept(entry),
            "the newest key is known exactly": z3.And(
                entry.last_pair_key.present, key_of_row(entry.rows - 1) == entry.last_pair_key.value
            ),
            "it is a row of the entry": row < entry.rows,
            "it reads shared tokens alone": key_of_row(row) + 1 < common,
        },
        show=z3.And(adopted.present, row < adopted.value.rows),
    )


# Arming.


def _arming_situations(armed: z3.BoolRef, cfg: Record, multi_seq: z3.BoolRef) -> Mapping[str, z3.BoolRef]:
    return {
        "it is armed": armed,
        "several sequences are dispatched": z3.And(cfg.carry, multi_seq, z3.Not(armed)),
        "prefill alone is configured": z3.And(cfg.prefill, z3.Not(cfg.carry), z3.Not(multi_seq), z3.Not(armed)),
    }


pin(
    CLAIMS,
    "carry_armed_with",
    lambda world, cfg, multi_seq: z3.If(multi_seq, False, cfg.carry),
    _arming_situations,
)


@CLAIMS.theorem(
    "armed-only-if-configured-and-alone",
    "The carry is live exactly if it is configured and one sequence is dispatched at a time; prefill has no say.",
)
def armed_only_if_configured_and_alone(world: World) -> Goal:
    cfg, multi_seq = world.some(CONFIG, "cfg"), world.some(FLAG, "multi_seq")
    armed, given = world.answer("armed", "carry_armed_with", cfg, multi_seq)
    return Goal(
        given={"armed is the answer": given},
        show=z3.Not(armed) == z3.Or(multi_seq, z3.Not(cfg.carry)),
        witnesses=_arming_situations(armed, cfg, multi_seq),
    )
