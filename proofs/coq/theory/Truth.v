(** A truth value for every proposition: for conditions of an integer if-then-else that have quantifiers in them.

    Only theorems with such a condition need this file, and the axiom behind it. *)

From Coq Require Import ClassicalEpsilon.

Definition truth (P : Prop) : bool := if excluded_middle_informative P then true else false.

Lemma truth_is_right : forall P : Prop, truth P = true <-> P.
Proof. intro P. unfold truth. destruct (excluded_middle_informative P); split; easy. Qed.
