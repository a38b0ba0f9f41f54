"""Checks a certificate against the SMT-LIB text that it is about: `check(text, certificate)`, with no solver and no trust.

Standard library alone, and short enough to be read whole: `terms` (what a formula is), `reader` (which text means which
formulas), `rules` (the lemmas and steps of a certificate). How the certificate was found does not matter.
"""

from proofs.kernel.rules import check
from proofs.kernel.terms import Refused

__all__ = ["Refused", "check"]
