"""Settings of all tests: no example may fail for being slow, since how fast a machine is says nothing of the code.

The slow tests of some folders take many minutes together. They are marked `exhaustive`, which `make test` leaves out and
`make test-full` runs; each has a quick test beside it that looks at a part of the same.
"""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("untimed", settings(deadline=None))
settings.load_profile("untimed")

EXHAUSTIVE = {"batched", "coq", "evidence", "explain", "source", "system"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the slow tests of the folders whose slow tests take minutes."""
    for item in items:
        folder = Path(item.path).relative_to(Path(__file__).parent).parts[0]
        if folder in EXHAUSTIVE and item.get_closest_marker("slow") is not None:
            item.add_marker(pytest.mark.exhaustive)


BEFORE = pytest.StashKey[str]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Notes what sources and tests a run that leaves a JUnit file begins with."""
    if session.config.getoption("xmlpath") and not hasattr(session.config, "workerinput"):
        session.config.stash[BEFORE] = _state()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes into the JUnit file what it is about, so that evidence is never built from results of other sources."""
    if BEFORE not in session.config.stash:
        return
    config, before = session.config, session.config.stash[BEFORE]
    option = config.option
    asked = " ".join(filter(None, [*config.args, option.keyword, option.markexpr]))
    for plugin in config.pluginmanager.get_plugins():
        if note := getattr(plugin, "add_global_property", None):
            note("sources", before if before == _state() else "changed while the tests ran")
            note("asked", asked)


def _state() -> str:
    """The digest of sources and tests. Imported here alone, since tests count on what is imported before them."""
    from proofs.evidence.tested import state_here

    return state_here()
