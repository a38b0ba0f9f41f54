"""Contracts of the reference for symbolic execution: each function states one claim by assertions.

The leading assertions of a contract are its domain, all later ones its claim. The functions are reached through their
modules, so that a fault planted there is seen here. test_contracts.py runs them.
"""

from impl.reference import append, carry, gate, key, order, store
from impl.reference.carry import CarriedDrafter
from impl.reference.store import StoreRange

U32 = 2**32
U64 = 2**64


def merge_claims_only_written_rows(lo: int, hi: int, start: int, count: int, row: int) -> None:
    """A row that is claimed after the write was claimed before it, or has just been written."""
    assert 0 <= lo < U64 and 0 <= hi < U64 and 0 <= start < U64 and 0 <= count < U64 and start + count < U64
    new_lo, new_hi = store.merge_interval((lo, hi), start, count)
    assert not new_lo <= row < new_hi or lo <= row < hi or start <= row < start + count


def merge_claims_what_was_just_written(lo: int, hi: int, start: int, count: int) -> None:
    """A write is inside the claim that follows it."""
    assert 0 <= lo < U64 and 0 <= hi < U64 and 0 <= start < U64 and 0 <= count < U64 and start + count < U64
    new_lo, new_hi = store.merge_interval((lo, hi), start, count)
    assert new_lo <= start and start + count <= new_hi


def merge_overflows_exactly_beyond_64_bits(start: int, count: int) -> None:
    """The end of a chunk is a word, or the merge raises OverflowError."""
    assert 0 <= start < U64 and 0 <= count < U64
    try:
        store.merge_interval((0, 0), start, count)
    except OverflowError:
        assert start + count >= U64
    else:
        assert start + count < U64


def a_stamped_merge_never_extends_a_foreign_interval(owner: int, lo: int, hi: int, writer_gen: int, start: int, count: int) -> None:
    """What another generation claimed, or nobody, is gone after the write; the claim is the writer's."""
    assert 0 <= owner < U64 and 0 <= lo < U64 and 0 <= hi < U64
    assert 0 <= writer_gen < U64 and 0 <= start < U64 and 0 <= count < U64 and start + count < U64
    after = store.stamped_merge(StoreRange(owner=owner, lo=lo, hi=hi), writer_gen, start, count)
    assert after.owner == writer_gen
    if owner == 0 or owner != writer_gen:
        assert (after.lo, after.hi) == (start, start + count)


def a_reader_sees_its_own_rows_or_none(owner: int, lo: int, hi: int, reader_gen: int) -> None:
    """The owner sees its interval, anybody else nothing, and generation 0 sees nothing at all."""
    assert 0 <= owner < U64 and 0 <= lo < U64 and 0 <= hi < U64 and 0 <= reader_gen < U64
    seen = StoreRange(owner=owner, lo=lo, hi=hi).visible_to(reader_gen)
    assert seen == ((lo, hi) if reader_gen != 0 and reader_gen == owner else (0, 0))


def a_row_lies_after_the_base(base: int, pos: int, hidden_size: int) -> None:
    """An address is a word and lies two bytes for each value after the base, or OverflowError tells that it cannot."""
    assert 0 <= base < U64 and 0 <= pos < U64 and 0 <= hidden_size < U64
    exact = base + 2 * (pos * hidden_size)
    try:
        address = store.hidden_row_offset(base, pos, hidden_size)
    except OverflowError:
        assert exact >= U64
    else:
        assert address == exact and exact < U64


def a_plan_appends_new_keys_up_to_the_last_from_readable_rows(
    last_pair_key: int, prompt_len: int, hidden_lo: int, hidden_hi: int
) -> None:
    """Keys are above last_pair_key, run to prompt_len - 2, and every one has a readable row."""
    assert 0 <= last_pair_key < U64 - 1 and 0 <= prompt_len < U64 and 0 <= hidden_lo < U64 and 0 <= hidden_hi < U64
    plan = append.plan_append(last_pair_key, prompt_len, hidden_lo, hidden_hi)
    if plan is not None:
        assert plan.rows >= 1
        assert last_pair_key < plan.first_key
        assert plan.first_key + plan.rows == prompt_len - 1
        assert hidden_lo <= plan.first_key and plan.first_key + plan.rows <= hidden_hi


def a_plan_is_refused_only_without_need_or_rows(last_pair_key: int, prompt_len: int, hidden_lo: int, hidden_hi: int) -> None:
    """Where the last key is missing and all rows from the next key on are readable, there is a plan for them all."""
    assert 0 <= last_pair_key < U64 - 1 and 0 <= prompt_len < U64 and 0 <= hidden_lo < U64 and 0 <= hidden_hi < U64
    assert last_pair_key + 2 < prompt_len and hidden_lo <= last_pair_key + 1 and prompt_len - 1 <= hidden_hi
    plan = append.plan_append(last_pair_key, prompt_len, hidden_lo, hidden_hi)
    assert plan is not None and plan.first_key == last_pair_key + 1


def surviving_rows_agree(
    shared: int, mine: int, theirs: int, rows: int, last_pair_key: int, entry_session: int, session_hash: int
) -> None:
    """What a prompt adopts is its own session's, its newest key reads shared tokens, and one row goes for each key."""
    assert 0 <= shared < U32 and 0 <= mine < U32 and 0 <= theirs < U32
    assert 0 <= rows < U64 and 0 <= last_pair_key < U64 and 0 <= entry_session < U64 and 0 <= session_hash < U64
    entry = CarriedDrafter(
        block_table=(),
        rows=rows,
        last_pair_key=last_pair_key,
        tokens=(shared, shared, mine),
        session_hash=entry_session,
    )
    usable = entry.usable_by((shared, shared, theirs, theirs), session_hash)
    if usable is not None:
        kept, newest = usable
        assert session_hash != 0 and entry_session == session_hash
        assert newest + 2 <= (3 if mine == theirs else 2)
        assert kept >= 1 and newest <= last_pair_key and rows - kept == last_pair_key - newest


def the_common_prefix_is_the_longest(tokens: list[int], prompt: list[int]) -> None:
    """All tokens before it agree, and the next ones, where both exist, do not."""
    assert len(tokens) <= 4 and len(prompt) <= 4
    assert all(0 <= token < U32 for token in tokens) and all(0 <= token < U32 for token in prompt)
    entry = CarriedDrafter(block_table=(), rows=0, last_pair_key=None, tokens=tokens, session_hash=1)
    length = entry.common_prefix_len(prompt)
    assert all(tokens[i] == prompt[i] for i in range(length))
    assert length == len(tokens) or length == len(prompt) or tokens[length] != prompt[length]


def the_threshold_is_settled_once(first: int, second: int) -> None:
    """The second writer changes nothing and is told so."""
    assert 0 <= first < U64 and 0 <= second < U64
    threshold = carry.MarconiThreshold()
    assert threshold.set_marconi_min_tokens(first)
    assert not threshold.set_marconi_min_tokens(second)
    assert threshold.marconi_min_tokens({}) == first


def the_canonical_arm_never_deepens_along_slots_that_never_fall(slots: list[int], ks: list[int]) -> None:
    """Positions are in slot order with ties by index, and depths never increase."""
    assert len(slots) == len(ks) <= 3
    assert all(0 <= slot < U64 for slot in slots) and all(0 <= k < U64 for k in ks)
    dispatched, depths = order.verify_batch_order(slots, ks, True)
    for position in range(len(slots) - 1):
        a, b = dispatched[position], dispatched[position + 1]
        assert slots[a] < slots[b] or (slots[a] == slots[b] and a < b)
        assert depths[position] >= depths[position + 1]


def the_other_arm_keeps_every_depth_and_starts_with_the_deepest(slots: list[int], ks: list[int]) -> None:
    """Depths never increase, slots never fall within a depth, ties go by index, and nobody's depth changes."""
    assert len(slots) == len(ks) <= 3
    assert all(0 <= slot < U64 for slot in slots) and all(0 <= k < U64 for k in ks)
    dispatched, depths = order.verify_batch_order(slots, ks, False)
    assert depths == [ks[member] for member in dispatched]
    for position in range(len(slots) - 1):
        a, b = dispatched[position], dispatched[position + 1]
        assert ks[a] > ks[b] or (ks[a] == ks[b] and (slots[a] < slots[b] or (slots[a] == slots[b] and a < b)))


def the_total_of_rows_does_not_change(slots: list[int], ks: list[int], canonical: bool) -> None:
    """The order is a permutation, and the depths add up to the same rows."""
    assert len(slots) == len(ks) <= 3
    assert all(0 <= slot < U64 for slot in slots) and all(0 <= k < U64 for k in ks)
    dispatched, depths = order.verify_batch_order(slots, ks, canonical)
    assert len(dispatched) == len(slots) and all(member in dispatched for member in range(len(slots)))
    assert len(depths) == len(ks) and sum(depths) == sum(ks)


def a_key_can_be_read_back(pairs: list[tuple[int, int]], wy_tables_null: bool) -> None:
    """The words are the pairs in order, then one that tells the tables apart."""
    assert len(pairs) <= 3 and all(0 <= slot < U32 and 0 <= k < U32 for slot, k in pairs)
    words = key.verify_graph_key(pairs, wy_tables_null)
    assert len(words) == 2 * len(pairs) + 1
    assert all((words[2 * i], words[2 * i + 1]) == pairs[i] for i in range(len(pairs)))
    assert words[-1] == U32 - 1 - (1 if wy_tables_null else 0)


def the_gate_opens_from_the_width_on(n: int, min_width: int, kill_switch_clear: bool) -> None:
    """The gate is open exactly for a clear switch and a batch at least as wide."""
    assert 0 <= n < U64 and 0 <= min_width < U64
    opened = gate.canonical_assignment_at(n, min_width, kill_switch_clear)
    assert opened == (kill_switch_clear and not n < min_width)


def white_space_around_a_width_does_not_matter(raw: str) -> None:
    """Blanks of either kind before and after leave the width as it is, and it is a word."""
    assert len(raw) <= 2
    width = gate.min_width_from_env(raw)
    assert 0 <= width < U64
    assert gate.min_width_from_env("\u3000" + raw + "\x85") == width
