"""From a red line to the fix: the smallest counterexample of a claim, told, drawn, replayed and kept as a test."""
