"""Why it holds: obligations, the checker that discharges them, counterexamples, and the evidence that remains."""
