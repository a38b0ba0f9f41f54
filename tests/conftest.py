"""Settings of all tests: no example may fail for being slow, since how fast a machine is says nothing of the code.

The slow tests of some folders take many minutes together. They are marked `exhaustive`, which `make test` leaves out and
`make test-full` runs; each has a quick test beside it that looks at a part of the same.
"""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("untimed", settings(deadline=None))
settings.load_profile("untimed")

EXHAUSTIVE = {"batched", "evidence", "explain", "source", "system"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the slow tests of the folders whose slow tests take minutes."""
    for item in items:
        folder = Path(item.path).relative_to(Path(__file__).parent).parts[0]
        if folder in EXHAUSTIVE and item.get_closest_marker("slow") is not None:
            item.add_marker(pytest.mark.exhaustive)


@pytest.fixture(autouse=True)
def _solver_context() -> Iterator[None]:
    """A statement starts a fresh solver context; terms that a module made when it was imported live in the one before."""
    if importlib.util.find_spec("z3") is None:  # a machine with a device and no solver
        yield
        return
    import z3

    before = z3.z3._main_ctx
    yield
    z3.z3._main_ctx = before
