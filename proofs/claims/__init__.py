"""The claims, one module for each module of rules: `proofs.claims.store` states what holds of `spec.store`, and so on."""

from __future__ import annotations

from collections.abc import Mapping

from proofs.claims import append, carry, counting, gate, key, order, sorting, store, system
from proofs.obligation import Obligation

_MODULES = (counting, sorting, store, carry, append, order, key, gate, system)

OBLIGATIONS: Mapping[str, Obligation] = {o.id: o for module in _MODULES for o in module.CLAIMS}
"""Every obligation by its id, in the order of the modules."""
