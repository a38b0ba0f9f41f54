"""The packages import each other in the directions that keep a shared mistake from hiding.

A model and the code it speaks of must not learn from each other, and what checks a proof must be small enough to read.
Every import statement counts, wherever it stands; `importlib` calls are caught only where a package must load from the
standard library alone.
"""

from __future__ import annotations

import fnmatch
import importlib.util
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]

LIBRARIES = (
    "click",
    "cloudpickle",
    "cryptography",
    "cvc5",
    "dask",
    "distributed",
    "itf_py",
    "jsonschema",
    "junitparser",
    "pebble",
    "rich",
    "securesystemslib",
    "tree_sitter*",
    "z3",
)

# The first row that fits a module gives what it may import besides the standard library, its own row included.
ROWS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("spec", "spec.*"), ("spec", "spec.*", "z3")),
    (("impl", "proofs"), ()),
    (("impl.reference", "impl.reference.*"), ("impl.reference", "impl.reference.*")),
    (("impl.batched", "impl.batched.*"), ("impl.batched", "impl.batched.*", "numpy", "cupy", "cupyx")),
    (
        ("impl.engine", "impl.engine.*"),
        ("impl.engine", "impl.engine.*", "impl.batched", "impl.batched.*", "numpy", "cupy", "cupyx"),
    ),
    (("proofs.kernel", "proofs.kernel.*"), ("proofs.kernel", "proofs.kernel.*")),
    # What a Coq proposition says owes nothing to the kernel; how it is proved does.
    (("proofs.coq.reader", "proofs.coq.printing"), ("proofs.coq.reader",)),
    (("proofs.coq", "proofs.coq.*"), ("proofs.coq.*", "proofs.kernel", "proofs.kernel.*")),
    (("proofs.gpu.engine_plots",), ("proofs.gpu.records", "matplotlib*")),
    (
        ("proofs.cli", "proofs.cli.*", "proofs.replay", "proofs.conform", "proofs.gpu", "proofs.gpu.*", "proofs.campaign.*"),
        ("proofs", "proofs.*", "spec", "spec.*", "impl", "impl.*", "numpy", "cupy", "cupyx", *LIBRARIES),
    ),
    (("proofs.*",), ("proofs", "proofs.*", "spec", "spec.*", *LIBRARIES)),
)


def fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def violations(graph: grimp.ImportGraph) -> list[str]:
    """Every import that its row does not allow, and every module of the three packages that has no row."""
    found = []
    for module in sorted(graph.modules):
        if module.partition(".")[0] not in ("spec", "impl", "proofs"):
            continue
        allowed = next((allowed for modules, allowed in ROWS if fits(module, modules)), None)
        if allowed is None:
            found.append(f"{module} has no row")
            continue
        for imported in sorted(graph.find_modules_directly_imported_by(module)):
            if imported.partition(".")[0] not in sys.stdlib_module_names and not fits(imported, allowed):
                found.append(f"{module} imports {imported}")
    return found


@pytest.fixture
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("spec", "impl", "proofs", include_external_packages=True, cache_dir=None)


def test_every_import_goes_in_an_allowed_direction(graph: grimp.ImportGraph) -> None:
    assert violations(graph) == []


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("spec.store", "impl.reference.store"),
        ("spec.store", "proofs.cli"),
        ("spec.store", "numpy"),
        ("impl.reference.store", "spec.store"),
        ("impl.reference.store", "impl.batched.store"),
        ("impl.reference.store", "numpy"),
        ("impl.batched.store", "impl.reference.store"),
        ("impl.batched.store", "impl.engine.store"),
        ("impl.batched.store", "z3"),
        ("proofs.claims.store", "impl.reference.store"),
        ("proofs.checker", "impl"),
        ("proofs.checker", "hypothesis"),
        ("proofs.kernel.rules", "proofs.checker"),
        ("proofs.kernel.rules", "z3"),
        ("proofs.coq.reader", "proofs.kernel.reader"),
        ("proofs.coq.replay", "z3"),
        ("proofs", "click"),
        ("proofs.cli", "tests.strategies"),
        ("impl.newcomer", "numpy"),
    ],
)
def test_an_import_in_a_wrong_direction_is_named(graph: grimp.ImportGraph, importer: str, imported: str) -> None:
    graph.add_import(importer=importer, imported=imported)

    assert any(importer in line for line in violations(graph))


def test_claims_do_not_reach_the_code_through_other_modules(graph: grimp.ImportGraph) -> None:
    chains = graph.find_shortest_chains(importer="proofs.claims", imported="impl", as_packages=True)

    assert [" -> ".join(chain) for chain in chains] == []


def modules_of(package: str) -> Iterator[str]:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    yield package
    for module in pkgutil.walk_packages(spec.submodule_search_locations, package + "."):
        yield module.name


@pytest.mark.parametrize("package", ["impl.reference", "proofs.kernel"])
def test_a_package_loads_from_the_standard_library_alone(package: str) -> None:
    if not (ROOT / package.replace(".", "/")).is_dir():
        pytest.skip(f"{package} does not exist yet")
    names = list(modules_of(package))
    code = f"import sys; sys.path.append({str(ROOT)!r}); import {', '.join(names)}"

    loaded = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)

    assert loaded.returncode == 0, loaded.stderr
    assert len(names) > 1
