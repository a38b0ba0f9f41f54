"""A fault is a patch: a line of `spec` replaced by another, and the rules that the changed module then states.

A patch is text (module, the old text, which must occur exactly once, and the new), so the registry of named faults, the
generated ones and a reader's own experiment are one thing, and what is judged is the module as it would stand in the
file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from types import ModuleType
from unittest.mock import patch as replaced

from spec.rules import RULES, Rules


@dataclass(frozen=True, kw_only=True)
class Patch:
    """In `spec/<module>.py` the one occurrence of `old` becomes `new`."""

    module: str
    old: str
    new: str

    def apply(self) -> str:
        """The module's text with the patch applied. ValueError unless `old` occurs exactly once."""
        text = source(self.module)
        if (found := text.count(self.old)) != 1:
            raise ValueError(f"Patch: old={self.old!r} occurs {found} times in spec/{self.module}.py; give text that occurs once")
        return text.replace(self.old, self.new)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A named mutant: a fault an engineer might make, and the obligation that refutes it."""

    name: str
    tells: str
    """What the faulty code does, in English."""
    rule: str
    patch: Patch
    refuted_by: str


class Faults:
    """The named faults of one module of `spec`, in the order in which they stand there."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.faults: list[Fault] = []

    def __iter__(self) -> Iterator[Fault]:
        return iter(self.faults)

    def add(self, name: str, tells: str, *, rule: str, old: str, new: str, refuted_by: str) -> None:
        """Registers `<module>/<name>`: with `old` replaced by `new`, `rule` is faulty and `refuted_by` shows it."""
        patch = Patch(module=self.module, old=old, new=new)
        fault = Fault(name=f"{self.module}/{name}", tells=tells, rule=rule, patch=patch, refuted_by=refuted_by)
        self.faults.append(fault)


def source(module: str) -> str:
    """The text of `spec/<module>.py`."""
    return files("spec").joinpath(f"{module}.py").read_text(encoding="utf-8")


def rules_of(module: str, text: str) -> Rules:
    """The rules with those of `spec/<module>.py`, and of modules that import from it, taken from `text` instead."""
    faulty = {module: executed(module, text)}
    modules = dict.fromkeys(rule.module for rule in RULES)
    with replaced.dict(sys.modules, {f"spec.{module}": faulty[module]}):
        for other in modules:
            if f"\nfrom spec.{module} import " in source(other):
                faulty[other] = executed(other, source(other))
    rules = RULES
    for rule in RULES:
        if rule.module in faulty:
            rules = rules.with_relation(rule.name, getattr(faulty[rule.module], rule.name))
    return rules


def executed(module: str, text: str) -> ModuleType:
    """`spec/<module>.py` as it would be with this text. Nobody else sees it."""
    name = f"spec.{module}"
    faulty = ModuleType(name)
    faulty.__package__ = "spec"
    exec(compile(text, f"spec/{module}.py (patched)", "exec"), faulty.__dict__)
    # Classes stay what they are, so that a build profile in the patched module is the claims' build profile.
    for known, value in vars(sys.modules[name]).items():
        if isinstance(value, type) and value.__module__ == name:
            setattr(faulty, known, value)
    return faulty
