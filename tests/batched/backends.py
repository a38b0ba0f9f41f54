"""The places that a batch can be worked on: one test body runs on each of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import impl.batched as batched
from impl.batched import Ragged
from proofs.gpu.machines import devices_here, host_compiler_here


@dataclass(frozen=True, kw_only=True)
class Backend:
    """A place: NumPy arrays by array expressions or by the host's kernels, or CuPy arrays."""

    name: str

    @property
    def xp(self) -> Any:
        """The array module."""
        if self.name == "cupy":
            import cupy

            return cupy
        return np

    @contextlib.contextmanager
    def chosen(self) -> Iterator[None]:
        """Within this context calls run in this place."""
        with batched.host_kernels() if self.name == "host kernels" else contextlib.nullcontext():
            yield

    def words(self, values: Sequence[int]) -> Any:
        """Return an array of 64-bit words."""
        return self.xp.asarray(np.array(values, np.uint64))

    def flags(self, values: Sequence[bool]) -> Any:
        """Return an array of bools."""
        return self.xp.asarray(np.array(values, np.bool_))

    def ragged(self, rows: Sequence[Any], dtype: Any) -> Ragged:
        """Return rows end to end."""
        return Ragged.from_rows(rows, dtype, self.xp)


def listed(array: Any) -> list[Any]:
    """Return an array's values as Python numbers."""
    values: list[Any] = (array if isinstance(array, np.ndarray) else array.get()).tolist()
    return values


NO_COMPILER = host_compiler_here()
DEVICES, NO_DEVICE = devices_here()

needs_host_kernels = pytest.mark.skipif(NO_COMPILER is not None, reason=str(NO_COMPILER))
# Where a device is required its absence is a failure: then the tests run, and fail for want of it.
needs_device = pytest.mark.skipif(
    DEVICES == 0 and not os.environ.get("DRAFTPROOF_REQUIRE_GPU"), reason=NO_DEVICE or "there is a device"
)

NUMPY = Backend(name="numpy")
HOST = Backend(name="host kernels")
CUPY = Backend(name="cupy")

on_every_backend = pytest.mark.parametrize(
    "backend",
    [
        pytest.param(NUMPY, id="numpy"),
        pytest.param(HOST, id="host-kernels", marks=needs_host_kernels),
        pytest.param(CUPY, id="cupy", marks=needs_device),
    ],
)
