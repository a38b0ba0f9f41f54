"""What the batched functions take, what they refuse, and that they neither convert nor move anything silently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import impl.batched as batched
from impl.batched import Ragged
from tests.batched.backends import CUPY, Backend, listed, needs_device, on_every_backend

U64_MAX = 2**64 - 1
WORDS = np.array([0, 1, 7, U64_MAX], np.uint64)


@on_every_backend
def test_a_signed_array_is_refused_since_numpy_would_make_floats_of_it(backend: Backend) -> None:
    signed = backend.xp.asarray(np.array([1, 2], np.int64))

    with backend.chosen(), pytest.raises(TypeError, match=r"plan_append: prompt_len has dtype int64; .*astype"):
        batched.plan_append(backend.words([0, 0]), signed, 0, 9)


@on_every_backend
@pytest.mark.parametrize("dtype", [np.float64, np.bool_, np.int8])
def test_only_unsigned_arrays_are_words(backend: Backend, dtype: Any) -> None:
    with backend.chosen(), pytest.raises(TypeError, match=f"session_hash has dtype {np.dtype(dtype)}"):
        batched.session_matches(backend.words([1]), backend.xp.asarray(np.ones(1, dtype)))


@on_every_backend
def test_narrow_unsigned_arrays_widen_exactly(backend: Backend) -> None:
    narrow = backend.xp.asarray(np.array([2**32 - 1], np.uint32))

    with backend.chosen():
        found = batched.merge_interval((narrow, narrow), narrow, narrow)

    assert (listed(found.lo), listed(found.hi)) == ([2**32 - 1], [2**33 - 2])
    assert found.lo.dtype == np.uint64


@on_every_backend
def test_numbers_stand_for_all_rows_and_keep_every_bit(backend: Backend) -> None:
    with backend.chosen():
        found = batched.merge_interval((U64_MAX - 1, U64_MAX), backend.words([U64_MAX - 1, 5]), 1)

    assert (listed(found.lo), listed(found.hi)) == ([U64_MAX - 1, 5], [U64_MAX, 6])


@on_every_backend
@pytest.mark.parametrize("value", [-1, 2**64])
def test_a_number_outside_64_bits_is_refused(backend: Backend, value: int) -> None:
    with backend.chosen(), pytest.raises(ValueError, match=f"hidden_row_offset: pos={value} is outside"):
        batched.hidden_row_offset(backend.words([0]), value, 8)


def test_plain_numbers_alone_choose_no_place() -> None:
    with pytest.raises(TypeError, match=r"plan_append: .* plain numbers; pass at least one array"):
        batched.plan_append(1, 2, 3, 4)


@pytest.mark.parametrize("value", [[1, 2], "1", None, 1.0, np.float64(1)])
def test_what_is_no_array_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="last_pair_key"):
        batched.plan_append(value, WORDS, WORDS, WORDS)


@on_every_backend
def test_a_flag_is_a_bool(backend: Backend) -> None:
    with backend.chosen(), pytest.raises(TypeError, match="kill_switch_clear has dtype uint64; pass bool"):
        batched.canonical_assignment_at(backend.words([1]), 1, backend.words([1]))
    with backend.chosen(), pytest.raises(TypeError, match="kill_switch_clear has dtype int; pass bool"):
        batched.canonical_assignment_at(backend.words([1]), 1, 1)


@on_every_backend
def test_shapes_that_do_not_broadcast_are_named(backend: Backend) -> None:
    with backend.chosen(), pytest.raises(ValueError, match=r"shapes do not broadcast: entry_session \(2,\)"):
        batched.session_matches(backend.words([1, 2]), backend.words([1, 2, 3]))


@on_every_backend
def test_batches_broadcast_and_keep_their_shape(backend: Backend) -> None:
    column, row = backend.words([0, 1, 2]).reshape(3, 1), backend.words([0, 1])

    with backend.chosen():
        assert batched.session_matches(column, row).tolist() == [[False, False], [False, True], [False, False]]
        assert batched.session_matches(column[1, 0], row[1]).shape == ()
        assert bool(batched.session_matches(column[1, 0], row[1]))
        assert batched.plan_append(column[:0], row, 0, 9).rows.shape == (0, 2)


@on_every_backend
def test_arrays_need_not_be_contiguous_nor_writable(backend: Backend) -> None:
    spaced = backend.words([3, 99, 4, 99, 5, 99])[::2]
    turned = backend.words([9, 8, 7])[::-1]
    if backend.name != "cupy":  # CuPy has no read-only arrays
        spaced.flags.writeable = turned.flags.writeable = False
    wanted = backend.words([3, 4, 5]), backend.words([7, 8, 9])

    with backend.chosen():
        found, expected = batched.plan_append(spaced, turned, 0, 9), batched.plan_append(*wanted, 0, 9)

    assert listed(found.rows) == listed(expected.rows) == [2, 2, 2]
    assert listed(spaced) == [3, 4, 5]


@on_every_backend
def test_ragged_rows_need_not_be_contiguous(backend: Backend) -> None:
    tokens = backend.xp.asarray(np.arange(12, dtype=np.uint32))[::2]
    offsets = backend.words([0, 99, 4, 99, 6])[::2]

    ragged = Ragged(data=tokens, offsets=offsets)
    with backend.chosen():
        found = batched.common_prefix_len(ragged, backend.ragged([[0, 2, 4], [8, 10]], np.uint32))

    assert listed(found) == [3, 2]


@on_every_backend
def test_empty_batches_give_empty_results(backend: Backend) -> None:
    nothing = backend.words([])
    tokens, words = backend.ragged([], np.uint32), backend.ragged([], np.uint64)
    pairs = Ragged(data=backend.xp.asarray(np.empty((0, 2), np.uint32)), offsets=backend.words([0]))
    entries = batched.CarriedDrafters(
        rows=nothing, last_pair_key=nothing, key_known=backend.flags([]), tokens=tokens, session_hash=nothing
    )

    with backend.chosen():
        assert listed(batched.plan_append(nothing, nothing, nothing, nothing).status) == []
        assert listed(batched.usable_by(entries, tokens, 1).rows) == []
        assert listed(batched.common_prefix_len(tokens, tokens)) == []
        assert listed(batched.verify_batch_order(words, words, True).order) == []
        assert listed(batched.verify_graph_key(pairs, False).offsets) == [0]
        assert listed(batched.min_width_from_env(backend.ragged([], np.uint8))) == []


@on_every_backend
@pytest.mark.parametrize("offsets", [[1, 3], [0, 2], [0, 4, 3], [0, 5]])
def test_offsets_that_do_not_cut_the_data_in_order_are_refused(backend: Backend, offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="do not cut data of length 3 in order"):
        Ragged(data=backend.words([1, 2, 3]), offsets=backend.words(offsets))


@on_every_backend
def test_rows_of_other_words_are_refused(backend: Backend) -> None:
    wide, narrow = backend.ragged([[1]], np.uint64), backend.ragged([[1]], np.uint32)

    with backend.chosen():
        with pytest.raises(TypeError, match="common_prefix_len: prompt holds uint64; pass rows of uint32"):
            batched.common_prefix_len(narrow, wide)
        with pytest.raises(TypeError, match="verify_batch_order: ks holds uint32; pass rows of uint64"):
            batched.verify_batch_order(wide, narrow, True)
        with pytest.raises(TypeError, match="verify_graph_key: pairs holds"):
            batched.verify_graph_key(narrow, True)
        with pytest.raises(TypeError, match="min_width_from_env: raw holds uint32"):
            batched.min_width_from_env(narrow)
    with pytest.raises(TypeError, match="Ragged: data has dtype int64"):
        Ragged(data=backend.xp.asarray(np.array([1])), offsets=backend.words([0, 1]))


@on_every_backend
def test_batches_of_unequal_numbers_of_rows_are_refused(backend: Backend) -> None:
    one, two = backend.ragged([[1]], np.uint64), backend.ragged([[1], [2]], np.uint64)

    with backend.chosen():
        with pytest.raises(ValueError, match="slots has 1 rows and ks 2"):
            batched.verify_batch_order(one, two, True)
        with pytest.raises(ValueError, match=r"canonical has shape \(2,\) for 1 rows"):
            batched.verify_batch_order(one, one, backend.flags([True, False]))


@needs_device
@pytest.mark.parametrize(
    "call",
    [
        lambda here, there: batched.plan_append(here, there, here, here),
        lambda here, there: batched.session_matches(there, here),
        lambda here, there: Ragged(data=here[:1], offsets=there),
        lambda here, there: batched.verify_batch_order(
            Ragged(data=here[:1], offsets=here), Ragged(data=there[:1], offsets=there), True
        ),
    ],
)
def test_numpy_beside_cupy_is_an_error_not_a_transfer(call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"NumPy array beside CuPy arrays; move it with cupy\.asarray"):
        call(np.array([0, 1], np.uint64), CUPY.words([0, 1]))


@needs_device
def test_results_on_a_device_stay_there() -> None:
    import cupy

    words = CUPY.words([1, 2])

    assert isinstance(batched.plan_append(words, words, words, words).rows, cupy.ndarray)
    assert isinstance(batched.verify_graph_key(CUPY.ragged([[(1, 2)]], np.uint32), True).data, cupy.ndarray)


@needs_device
def test_launches_do_not_wait_for_the_device() -> None:
    import cupy

    words = CUPY.words([1, 2])
    batched.plan_append(words, words, words, words)
    stream = cupy.cuda.Stream(non_blocking=True)
    busy = cupy.RawKernel(
        'extern "C" __global__ void busy(long long cycles) { long long s = clock64(); while (clock64() - s < cycles); }',
        "busy",
    )
    with stream:
        busy((1,), (1,), (np.int64(0),))
        stream.synchronize()
        busy((1,), (1,), (np.int64(4_000_000_000),))  # about two seconds
        plans = batched.plan_append(words, words, words, words)
        still_running = not stream.done
        rows = listed(plans.rows)

    assert still_running
    assert rows == [0, 0]
