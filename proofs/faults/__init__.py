"""The registry of faults: what an engineer could get wrong in a line, and the claim that shows it.

A module here holds the named faults of the module of `spec` that has its name. `proofs.faults.generated` makes others from
the text of `spec`, and `proofs.mutation.models` judges those.
"""

from __future__ import annotations

from proofs.faults import append, carry, gate, key, machine, order, store
from proofs.faults.patch import Fault, Patch, rules_of

__all__ = ["FAULTS", "Fault", "Patch", "rules_of"]

FAULTS: tuple[Fault, ...] = tuple(f for m in (store, machine, carry, append, order, key, gate) for f in m.FAULTS)
"""Every named fault. Each must be refuted by the obligation that it names."""
