"""What must hold: relational models of the engine's rules in Z3. Imports z3 alone; the code it speaks of is in impl/."""
