"""Writes that land later than they are issued, in memory and in its tags."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.engine.memory import NOBODY, Rows, spread
from impl.engine.words import POISON


def rows(*, lagging: bool = True) -> Rows:
    return Rows(4, 2, 1, np, lagging=lagging)


def write(memory: Rows, at: list[int], value: int, stream: int) -> None:
    def make(into: Any, places: Any) -> None:
        into[places] = value

    tags = np.full((len(at), 1), value, np.uint64)
    memory.write(np.array(at), tags, np.full(len(at), stream, np.int32), make)


def test_a_write_is_not_there_before_it_lands() -> None:
    memory = rows()
    write(memory, [1, 2], 7, stream=1)

    assert (memory.words == POISON).all()
    assert (memory.tags == np.uint64(NOBODY)).all()
    memory.land(np.array([0, 1]))
    assert memory.words.tolist() == [[POISON] * 2, [7, 7], [POISON] * 2, [POISON] * 2]
    assert memory.tags[:, 0].tolist() == [NOBODY, 7, NOBODY, NOBODY]
    assert memory.stream.tolist() == [0, 0, 1, 0]


def test_of_two_writes_of_one_stream_the_later_stays() -> None:
    memory = rows()
    write(memory, [1], 7, stream=1)
    write(memory, [1], 8, stream=1)
    memory.land(np.arange(4))

    assert memory.words[1].tolist() == [8, 8]
    assert memory.tags[1] == 8


def test_of_two_writes_of_different_streams_the_earlier_lands_last() -> None:
    memory = rows()
    write(memory, [1], 7, stream=1)
    write(memory, [1, 2], 8, stream=2)

    assert memory.words[1].tolist() == [8, 8]
    assert memory.settled(np.array([1, 2]))[0].tolist() == [[7, 7], [8, 8]]
    memory.land(np.arange(4))
    assert memory.words[1].tolist() == [7, 7]
    assert memory.tags[:3, 0].tolist() == [NOBODY, 7, 8]


def test_who_waits_in_between_has_the_order_back() -> None:
    memory = rows()
    write(memory, [1], 7, stream=1)
    memory.land(np.arange(4))
    write(memory, [1], 8, stream=2)
    memory.land(np.arange(4))

    assert memory.words[1].tolist() == [8, 8]


def test_without_lag_a_write_is_there_at_once() -> None:
    memory = rows(lagging=False)
    write(memory, [3], 7, stream=1)

    assert memory.words[3].tolist() == [7, 7]
    assert memory.settled(np.array([3]))[1].tolist() == [[7]]


def test_things_are_told_whose_they_are_and_their_number() -> None:
    which, number = spread(np.array([2, 0, 3]))

    assert which.tolist() == [0, 0, 2, 2, 2]
    assert number.tolist() == [0, 1, 0, 1, 2]
    assert [len(part) for part in spread(np.array([], np.int64))] == [0, 0]
