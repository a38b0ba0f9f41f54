"""Faults in the models: a line of `spec` replaced by another, and the rules that the changed module then states.

A patch is text (module, the old text, which must occur exactly once, and the new), so the registry of named faults, the
generated ones and a reader's own experiment are one thing, and what is judged is the module as it would stand in the file.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from types import ModuleType

from spec.rules import RULES, Rules


@dataclass(frozen=True, kw_only=True)
class Patch:
    """In `spec/<module>.py` the one occurrence of `old` becomes `new`."""

    module: str
    old: str
    new: str

    def apply(self) -> str:
        """The module's text with the patch applied. ValueError unless `old` occurs exactly once."""
        text = inspect.getsource(importlib.import_module(f"spec.{self.module}"))
        if (found := text.count(self.old)) != 1:
            raise ValueError(
                f"Patch: old={self.old!r} occurs {found} times in spec/{self.module}.py; give text that occurs exactly once"
            )
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


def rules_of(module: str, text: str) -> Rules:
    """The rules with those of `spec/<module>.py` taken from `text` instead."""
    faulty = ModuleType(f"spec.{module}")
    faulty.__package__ = "spec"
    exec(compile(text, f"spec/{module}.py (patched)", "exec"), faulty.__dict__)
    rules = RULES
    for rule in RULES:
        if rule.module == module:
            rules = rules.with_relation(rule.name, getattr(faulty, rule.name))
    return rules


FAULTS: tuple[Fault, ...] = ()
"""Every named fault. Each must be refuted by the obligation that it names."""
