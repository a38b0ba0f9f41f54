"""The carry on real memory: conversations told by hand, random runs, the twin in plain Python, and faults that are found."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from impl.engine.carry import SLOT, Cast, Engines, EngineSize, Outcome
from impl.engine.head import HeadSize, Tiled
from proofs.gpu import engine_carry
from proofs.gpu.check import Bench
from proofs.gpu.engine_carry import Turns, found_at_random, watched
from proofs.gpu.engine_carry_audit import EQUAL, FOREIGN, harms
from proofs.gpu.engine_carry_faults import FAULTS, NONE, Fault
from proofs.gpu.engine_carry_runs import ACTIONS, COLD, LAND, TICKET, TOKENS, WARM, WRITE, Interleavings, random_cast
from proofs.gpu.engine_carry_runs import SIZE as RUN_SIZE
from proofs.gpu.engine_carry_traces import PARTS, parting, told
from proofs.gpu.machines import Host
from proofs.replay import run as reference
from proofs.traces.machine import Machine
from proofs.traces.trace import Impossible
from tests.batched.backends import needs_host_kernels

LENGTH = 24
SIZE = EngineSize(
    head=HeadSize(hidden=16, heads=2, head_size=4, vocabulary=64, positions=LENGTH + 1), capacity=20, block_rows=4, blocks=12
)


def talk(*sequences: tuple[list[int], int, int], **options: Any) -> Engines:
    """One engine with these sequences before it: what they will say, how much of it is prompt, and their session."""
    tokens = np.zeros((1, len(sequences) + 1, LENGTH), np.uint32)
    prompt_len = np.zeros((1, len(sequences) + 1), np.uint64)
    session = np.zeros((1, len(sequences) + 1), np.int64)
    for s, (said, prompt, of) in enumerate(sequences, start=1):
        tokens[0, s] = said
        prompt_len[0, s], session[0, s] = prompt, of
    cast = Cast(
        tokens=tokens,
        prompt_len=prompt_len,
        session_hash=session.astype(np.uint64),
        session=session,
        carry=np.array([options.pop("carry", True)]),
        multi_seq=np.array([options.pop("multi_seq", False)]),
    )
    return Engines(options.pop("size", SIZE), cast, np, **options)


def do(engines: Engines, operation: str, s: int, *numbers: int) -> Outcome:
    arguments = [np.array([number], np.uint64) for number in numbers]
    return Outcome(int(getattr(engines, operation)(np.array([0]), np.array([s]), *arguments)[0]))


def nothing_wrong(engines: Engines) -> bool:
    return not any(int(count.sum()) for count in harms(engines).values())


def counts(engines: Engines, h: int) -> tuple[int, int, int]:
    """A holder's rows, last key and blocks."""
    return int(engines.rows[0, h]), int(engines.last_key[0, h]), int(engines.held[0, h])


ONE = list(range(LENGTH))
TWO = [*range(12), *range(40, 52)]
"""As ONE in the first twelve tokens."""


def deposited(**options: Any) -> Engines:
    """Sequence 1 has a prompt of 10, emits 3 tokens, guesses 2, and deposits: rows of keys 0 to 11, and 13 tokens."""
    engines = talk((ONE, 10, 1), (TWO, 16, options.pop("session", 1)), (ONE, 6, 1), **options)
    for operation, *numbers in (
        *(("allocate",), ("write_chunk", 0, 4), ("write_chunk", 4, 6), ("cold_turn",), ("decode",), ("decode",), ("decode",)),
        *(("draft",), ("draft",), ("deposit",)),
    ):
        assert do(engines, str(operation), 1, *map(int, numbers)) is Outcome.DONE
    assert counts(engines, SLOT) == (12, 11, 4)
    assert nothing_wrong(engines)
    return engines


def test_a_turn_adopts_the_rows_that_agree_and_appends_the_rest() -> None:
    engines = deposited()
    assert do(engines, "allocate", 2) is Outcome.DONE
    # Tokens 0 to 11 agree, so keys 0 to 10 do. The prompt's last key is 14; the hidden states from 11 on are there.
    assert do(engines, "write_chunk", 2, 11, 5) is Outcome.DONE
    assert do(engines, "warm_turn", 2) is Outcome.APPENDED

    assert counts(engines, 2) == (15, 14, 4)
    assert not engines.live[0, SLOT]
    assert int(engines.free_count[0]) == 8
    assert nothing_wrong(engines)


def test_what_is_appended_begins_where_hidden_rows_are_visible() -> None:
    engines = deposited()
    do(engines, "allocate", 2)
    do(engines, "write_chunk", 2, 13, 3)

    assert do(engines, "warm_turn", 2) is Outcome.APPENDED
    assert counts(engines, 2) == (13, 14, 4)  # keys 0 to 10, 13 and 14
    assert nothing_wrong(engines)


def test_without_hidden_rows_for_the_last_key_nothing_is_appended() -> None:
    engines = deposited()
    do(engines, "allocate", 2)
    do(engines, "write_chunk", 2, 11, 3)

    assert do(engines, "warm_turn", 2) is Outcome.ADOPTED
    assert counts(engines, 2) == (11, 10, 4)
    assert nothing_wrong(engines)


def test_without_blocks_what_was_adopted_is_kept() -> None:
    engines = deposited(size=dataclasses.replace(SIZE, blocks=4, capacity=24))
    engines.cast.prompt_len[0, 2] = 24
    do(engines, "allocate", 2)
    do(engines, "write_chunk", 2, 11, 13)

    assert do(engines, "warm_turn", 2) is Outcome.NO_BLOCKS
    assert counts(engines, 2) == (11, 10, 4)
    assert nothing_wrong(engines)


def test_a_token_without_blocks_has_no_row_and_guesses_are_forgotten_all_the_same() -> None:
    engines = talk((ONE, 6, 1), size=dataclasses.replace(SIZE, blocks=2))
    for operation, *numbers in (("allocate",), ("write_chunk", 0, 6), ("cold_turn",), ("decode",), ("draft",), ("draft",)):
        assert do(engines, str(operation), 1, *map(int, numbers)) is Outcome.DONE
    assert do(engines, "draft", 1) is Outcome.NO_BLOCKS
    for rows in (7, 8, 8):
        do(engines, "decode", 1)
        assert (counts(engines, 1)[0], int(engines.extent[0, 1])) == (rows, rows)
        do(engines, "draft", 1)

    assert counts(engines, 1) == (8, 7, 2)
    assert int(engines.length[0, 1]) == 10
    assert nothing_wrong(engines)


@pytest.mark.parametrize("session", [0, 2])
def test_another_session_is_refused_and_the_blocks_are_freed(session: int) -> None:
    engines = deposited(session=session)
    do(engines, "allocate", 2)

    assert do(engines, "warm_turn", 2) is Outcome.REFUSED
    assert do(engines, "warm_turn", 2) is Outcome.IMPOSSIBLE
    assert counts(engines, 2) == (0, 0, 0)
    assert int(engines.free_count[0]) == 12
    assert nothing_wrong(engines)


def test_a_cold_turn_frees_the_entry_and_builds_all_keys() -> None:
    engines = deposited()
    do(engines, "allocate", 2)
    do(engines, "write_chunk", 2, 0, 16)

    assert do(engines, "cold_turn", 2) is Outcome.DONE
    assert not engines.live[0, SLOT]
    assert counts(engines, 2) == (15, 14, 4)
    assert nothing_wrong(engines)


def test_a_deposit_replaces_and_frees_the_older_entry() -> None:
    engines = deposited()
    do(engines, "allocate", 3)
    do(engines, "write_chunk", 3, 0, 5)
    engines.cast.carry[:] = False
    assert do(engines, "warm_turn", 3) is Outcome.IMPOSSIBLE
    engines.cast.carry[:] = True
    do(engines, "decode", 3)

    assert do(engines, "deposit", 3) is Outcome.DONE
    assert counts(engines, SLOT) == (1, 5, 1)
    assert int(engines.free_count[0]) == 11
    assert nothing_wrong(engines)


def test_an_abort_frees_and_what_ended_does_nothing_more() -> None:
    engines = deposited()
    do(engines, "allocate", 2)
    do(engines, "decode", 2)

    assert do(engines, "abort", 2) is Outcome.DONE
    assert int(engines.free_count[0]) == 8
    for operation in ("abort", "decode", "draft", "deposit", "cold_turn", "warm_turn", "allocate"):
        assert do(engines, operation, 2) is Outcome.IMPOSSIBLE


@pytest.mark.parametrize(("multi_seq", "carry"), [(True, True), (False, False)])
def test_a_carry_that_is_not_armed_takes_no_deposit(multi_seq: bool, carry: bool) -> None:
    engines = talk((ONE, 10, 1), multi_seq=multi_seq, carry=carry)
    do(engines, "allocate", 1)
    do(engines, "decode", 1)

    assert do(engines, "deposit", 1) is Outcome.IMPOSSIBLE
    assert engines.live[0].tolist() == [False, True]


@pytest.mark.parametrize(("start", "count"), [(3, 0), (0, 21), (20, 1)])
def test_a_chunk_that_is_empty_or_passes_the_capacity_is_neither_written_nor_stamped(start: int, count: int) -> None:
    engines = talk((ONE, 22, 1))
    do(engines, "allocate", 1)
    do(engines, "write_chunk", 1, 0, 4)
    before = engines.store.stream.tolist(), int(engines.lo[0]), int(engines.hi[0])

    assert do(engines, "write_chunk", 1, start, count) is Outcome.IGNORED
    assert (engines.store.stream.tolist(), int(engines.lo[0]), int(engines.hi[0])) == before


def test_another_sequences_chunk_ends_the_right_to_read() -> None:
    engines = talk((ONE, 8, 1), (TWO, 8, 1))
    do(engines, "allocate", 1)
    do(engines, "allocate", 2)
    do(engines, "write_chunk", 1, 0, 8)
    do(engines, "write_chunk", 2, 4, 2)

    assert do(engines, "cold_turn", 1) is Outcome.UNSEEN
    assert do(engines, "cold_turn", 2) is Outcome.UNSEEN
    do(engines, "write_chunk", 1, 0, 8)
    assert do(engines, "cold_turn", 1) is Outcome.DONE
    assert nothing_wrong(engines)


def test_worlds_do_not_touch_each_other() -> None:
    """What acts in some worlds leaves the memory and the books of all others as they were."""
    engines = Engines(RUN_SIZE, random_cast(4, 8), np, lagging=False)
    for _ in Interleavings(engines, 4).steps(40):
        pass
    words, rows = engines.pool.words.reshape(8, -1).copy(), engines.rows.copy()
    acting = np.flatnonzero(engines.live[:, 1:].any(axis=1))[:2]
    engines.decode(acting, 1 + np.argmax(engines.live[acting, 1:], axis=1))
    others = np.setdiff1d(np.arange(8), acting)

    assert len(acting) == 2
    assert (engines.pool.words.reshape(8, -1)[others] == words[others]).all()
    assert (engines.rows[others] == rows[others]).all()
    assert (engines.pool.words.reshape(8, -1)[acting] != words[acting]).any()


# ---- random interleavings


def test_nothing_goes_wrong_in_random_interleavings() -> None:
    found = watched(np, engine_carry.WORLDS[False])

    assert found.ok, (found.case, found.note)
    assert found.accepted > 100


@pytest.mark.slow
def test_every_row_of_the_check_holds_on_this_processor() -> None:
    names = set()
    for row in engine_carry.rows(Bench(machine=Host(), numbers=(), scale="host", host=None)):
        assert row.ok, row
        names.add(row.name)

    assert len(names) > 60


@needs_host_kernels
def test_the_hosts_kernels_take_the_same_runs() -> None:
    found = engine_carry._same(engine_carry._run(np, 60), "by the host's kernels", hosted=True)

    assert found.ok and found.accepted > 0


def test_tags_decide_nothing() -> None:
    assert engine_carry._without_tags(engine_carry._run(np, 60)).ok


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if not fault.world], ids=lambda fault: fault.name)
def test_random_interleavings_find_a_fault(fault: Fault) -> None:
    found = found_at_random(fault, np)

    assert found.ok, found.case


def test_a_fault_that_is_not_there_is_not_found() -> None:
    found = found_at_random(dataclasses.replace(NONE, name="nothing", harms=(FOREIGN,)), np, worlds=60)

    assert not found.ok
    assert found.broken == 0


def test_a_changed_bit_or_tag_or_block_is_seen() -> None:
    for field, law in (("words", EQUAL), ("tags", FOREIGN)):
        engines = deposited()
        do(engines, "allocate", 2)
        do(engines, "warm_turn", 2)
        engines.land(np.array([0]))
        array = getattr(engines.pool, field)
        array[int(engines.table[0, 2, 1]) * SIZE.block_rows] ^= 1
        assert {name for name, count in harms(engines).items() if count.sum()} >= {law}
    engines = deposited()
    engines.free_count -= 1
    assert {name for name, count in harms(engines).items() if count.sum()} == {"every-block-has-one-owner"}


def given_of(engines: Engines, world: int) -> dict[str, Any]:
    """A world's cast as the twin is given it."""
    cast = engines.cast
    sequences = [
        {
            "id": s,
            "session": int(cast.session[world, s]),
            "session_hash": int(cast.session_hash[world, s]),
            "prompt_len": int(cast.prompt_len[world, s]),
            "tokens": [*cast.tokens[world, s].tolist(), 0],
            "hidden": [0] * (TOKENS + 1),
        }
        for s in range(1, cast.tokens.shape[1])
    ]
    cfg = {"prefill": True, "carry": bool(cast.carry[world])}
    return {
        "sequences": sequences,
        "capacity": engines.size.capacity,
        "blocks": 0,
        "cfg": cfg,
        "multi_seq": bool(cast.multi_seq[world]),
    }


TWINS = {"write_chunk": "write-chunk", "cold_turn": "cold-build", "draw_ticket": "draw-ticket"}
WARM_TURNS = {Outcome.APPENDED: "adopt-append", Outcome.ADOPTED: "adopt-only", Outcome.REFUSED: "refuse"}


@pytest.mark.slow
def test_the_books_are_those_of_the_twin_in_plain_python_after_every_operation() -> None:
    """The twin asks the reference for every rule. Blocks are left out: here there are enough."""
    worlds = 40
    engines = Engines(dataclasses.replace(RUN_SIZE, blocks=60), random_cast(9, worlds), np)
    twins = [Machine(given=given_of(engines, world), run=reference) for world in range(worlds)]
    taken = dict.fromkeys(range(len(ACTIONS)), 0)
    interleavings = Interleavings(engines, 9)
    choose = interleavings._chosen
    chosen: list[Any] = []
    interleavings._chosen = lambda step: chosen.append(choose(step)) or chosen[-1]  # type: ignore[method-assign, func-returns-value]
    for step, _ in enumerate(interleavings.steps()):
        action, sequence, start, count = chosen[step]
        outcomes = interleavings.log[step][1]
        for world, twin in enumerate(twins):
            number, outcome = int(action[world]), Outcome(int(outcomes[world]))
            choices = {} if number in (LAND, TICKET) else {"actor": int(sequence[world])}
            if number == WRITE:
                choices |= {"start": int(start[world]), "count": int(count[world])}
            name = TWINS.get(ACTIONS[number], ACTIONS[number])
            if number == WARM:
                name = WARM_TURNS.get(outcome, "adopt-append")
            if outcome in (Outcome.IMPOSSIBLE, Outcome.UNSEEN):
                at_the_end = choices.get("actor") in twin.holders and twin.holders[choices["actor"]].length >= TOKENS
                if not at_the_end:
                    twin.land()
                    impossible = WARM_TURNS.values() if number == WARM else [name]
                    for one in impossible:
                        with pytest.raises(Impossible):
                            twin.step(one, choices)
            elif outcome is not Outcome.NO_BLOCKS:
                twin.land()
                twin.step(name, choices)
                taken[number] += 1
            engines.land(np.array([world]))
            twin.land()
            after = twin.snapshot()
            assert not parting(told(engines, after, world), {part: after[part] for part in PARTS}), (world, step, name)

    assert min(taken.values()) > 5, taken
    assert taken[COLD] > 20


# ---- turns at some size


@pytest.mark.parametrize("turn", [1, 5, 71])
def test_an_append_has_the_bits_of_a_rebuild(turn: int) -> None:
    turns = Turns(head=engine_carry.SMALL, history=90, turn=turn)

    assert engine_carry._rebuilt(turns, Tiled(rows=16), np, "tile").ok


def test_the_figures_of_a_machine_without_a_device_are_given() -> None:
    figures = list(engine_carry.figures(Bench(machine=Host(), numbers=(), scale="host", host=None)))

    assert [figure.unit for figure in figures] == ["rows/s", "x"]
    assert all(figure.rate > 0 for figure in figures)


def test_bytes_and_operations_of_an_append_are_counted() -> None:
    # 71 rows of hidden 5120 with 8 heads of 128: weights 5120 x 10240 and 2048 x 5120, two bytes a number.
    assert engine_carry.flops(engine_carry.REAL, 71) == 71 * 2 * (5120 * 10240 + 2048 * 5120)
    assert engine_carry.moved_bytes(engine_carry.REAL, 71) == 2 * (5120 * 10240 + 2048 * 5120) + 71 * 2 * (10240 + 2048)
