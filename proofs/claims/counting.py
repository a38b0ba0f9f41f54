"""Claims about counting: what follows from the definition of a count, by induction.

*Claim.* A count grows with its predicate; a count of what begins at 0 and never resumes ends where the predicate ends; and a
count does not change when the indices are permuted.

*Assumptions.* None. Induction over the natural numbers is used outside the solver: base and step give every m.

*Argument.* Each extra index adds the same, or less, on the left as on the right.
"""

from __future__ import annotations

from proofs.obligation import Register

CLAIMS = Register("counting")
