"""A foreign kernel: every theorem as a Coq proposition, its certificate replayed, compiled by coqc and checked by coqchk.

`reader` reads the SMT-LIB text anew and `printing` prints it as Coq; `replay` tells a certificate as data for the checker
that theory/Refutation.v proves sound; `running` compiles, checks again, and says on which axioms it all rests. The rules of
inference that no solver sees are proved in theory/Induction.v.
"""
