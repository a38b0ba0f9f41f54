(** The rules of inference that no solver sees, T1 to T7 of SOUNDNESS.md, and the zero-one principle of the sorting network.

    What stands here is that the rules are right. That base and step, or initiation and consecution, of an obligation are of
    one statement is not said by this file. *)

From Coq Require Import ZArith List Lia Classical_Prop.
Open Scope Z_scope.

(** T1. Base and step give all naturals. *)
Theorem T1_induction : forall P : Z -> Prop,
  P 0 -> (forall m, 0 <= m -> P m -> P (m + 1)) -> forall m, 0 <= m -> P m.
Proof. intros P B S. apply natlike_ind; [exact B |]. intros m H. apply S, H. Qed.

(** T2. Initiation and consecution, law by law and action by action, give every law in every state that a run reaches. *)
Section Runs.
  Variables (State Action Law : Type) (initial : State -> Prop) (step : Action -> State -> State -> Prop).
  Variable holds : Law -> State -> Prop.

  Inductive reached : State -> Prop :=
  | Start : forall s, initial s -> reached s
  | Next : forall a s t, reached s -> step a s t -> reached t.

  Theorem T2_invariants :
    (forall l s, initial s -> holds l s) ->
    (forall l a s t, (forall k, holds k s) -> step a s t -> holds l t) ->
    forall s, reached s -> forall l, holds l s.
  Proof. intros I C s R. induction R as [s H | a s t R IH H]; intro l; [exact (I l s H) | exact (C l a s t IH H)]. Qed.
End Runs.

(** T3. A statement that no constants refute is a claim about all; and a claim about all may be taken at any. *)
Theorem T3_generalisation : forall (A : Type) (given claim : A -> Prop),
  (forall c, given c -> ~ claim c -> False) -> forall c, given c -> claim c.
Proof. intros A given claim R c G. apply NNPP. exact (R c G). Qed.

Theorem T3_instantiation : forall (A : Type) (claim : A -> Prop), (forall c, claim c) -> forall c, claim c.
Proof. intros A claim H. exact H. Qed.

(** T4. Two equations define a function on the naturals, and only one. *)
Theorem T4_recursion : forall (A : Type) (step : Z -> Z -> A -> Z),
  exists F : Z -> A -> Z,
    (forall a, F 0 a = 0) /\ (forall m a, 0 <= m -> F (m + 1) a = step (F m a) m a).
Proof.
  intros A step.
  exists (fun m a => nat_rect (fun _ => Z) 0 (fun n v => step v (Z.of_nat n) a) (Z.to_nat m)). split; [reflexivity |].
  intros m a H. rewrite Z2Nat.inj_add by lia. change (Z.to_nat 1) with 1%nat. rewrite Nat.add_1_r. cbn [nat_rect].
  rewrite Z2Nat.id by exact H. reflexivity.
Qed.

Theorem T4_one_function : forall (A : Type) (step : Z -> Z -> A -> Z) (F G : Z -> A -> Z),
  (forall a, F 0 a = 0) -> (forall m a, 0 <= m -> F (m + 1) a = step (F m a) m a) ->
  (forall a, G 0 a = 0) -> (forall m a, 0 <= m -> G (m + 1) a = step (G m a) m a) ->
  forall m a, 0 <= m -> F m a = G m a.
Proof.
  intros A step F G F0 F1 G0 G1 m a H. revert m H. apply T1_induction.
  - rewrite F0, G0. reflexivity.
  - intros m H E. rewrite F1, G1, E by exact H. reflexivity.
Qed.

(** T5. A number that exactly one property fits may be named by it: what is shown of a name holds of that number. *)
Theorem T5_definition : forall (P Q : Z -> Prop),
  (exists n, P n) -> (forall m n, P m -> P n -> m = n) -> ((forall n, P n -> Q n) <-> (exists n, P n /\ Q n)).
Proof.
  intros P Q [n H] U. split.
  - intro A. exists n. auto.
  - intros [m [Hm Qm]] k Hk. rewrite (U k m Hk Hm). exact Qm.
Qed.

Theorem T5_nothing_is_assumed : forall (P : Z -> Prop) (claim : Prop), (exists n, P n) -> (forall n, P n -> claim) -> claim.
Proof. intros P claim [n H] A. exact (A n H). Qed.

(** T6. If some value fits at each position of a finite sequence, some sequence fits. *)
Theorem T6_sequence : forall (fits : Z -> Z -> Prop) (n : Z), 0 <= n ->
  (forall i, 0 <= i < n -> exists v, fits i v) -> exists s : Z -> Z, forall i, 0 <= i < n -> fits i (s i).
Proof.
  intro fits. apply (T1_induction (fun n => (forall i, 0 <= i < n -> exists v, fits i v) ->
    exists s : Z -> Z, forall i, 0 <= i < n -> fits i (s i))).
  - intros _. exists (fun _ => 0). lia.
  - intros m H IH E. destruct IH as [s S]; [intros i B; apply E; lia |]. destruct (E m ltac:(lia)) as [v V].
    exists (fun i => if i =? m then v else s i). intros i B. destruct (Z.eqb_spec i m) as [-> |]; [exact V | apply S; lia].
Qed.

(** T7. What is proved of an arbitrary predicate or function holds of every one. *)
Theorem T7_any_predicate : forall (Symbol : Type) (claim : Symbol -> Prop),
  (forall P, claim P) -> forall definition, claim definition.
Proof. intros Symbol claim H. exact H. Qed.

(** The zero-one principle: a network of comparators that sorts all zeros and ones sorts everything. *)
Section Networks.
  Local Open Scope nat_scope.

  Definition compare_at (c : nat * nat) (x : nat -> Z) : nat -> Z :=
    fun k => if k =? fst c then Z.min (x (fst c)) (x (snd c)) else if k =? snd c then Z.max (x (fst c)) (x (snd c)) else x k.

  Fixpoint run (network : list (nat * nat)) (x : nat -> Z) : nat -> Z :=
    match network with nil => x | cons c rest => run rest (compare_at c x) end.

  Lemma run_pointwise : forall network x y, (forall k, x k = y k) -> forall k, run network x k = run network y k.
  Proof.
    induction network as [| c rest IH]; intros x y E; [exact E |]. apply IH. intro k. unfold compare_at. rewrite !E. reflexivity.
  Qed.

  Lemma run_monotone : forall (f : Z -> Z), (forall a b, (a <= b)%Z -> (f a <= f b)%Z) ->
    forall network x k, run network (fun k => f (x k)) k = f (run network x k).
  Proof.
    intros f F. induction network as [| c rest IH]; intros x k; [reflexivity |]. cbn [run]. rewrite <- IH.
    apply run_pointwise. intro i. unfold compare_at.
    destruct (Z.le_ge_cases (x (fst c)) (x (snd c))) as [H | H]; pose proof (F _ _ H);
      destruct (i =? fst c), (i =? snd c);
      rewrite ?Z.min_l, ?Z.min_r, ?Z.max_l, ?Z.max_r by assumption; reflexivity.
  Qed.

  Theorem zero_one_principle : forall network n,
    (forall x, (forall k, x k = 0%Z \/ x k = 1%Z) -> forall i j, i <= j -> j < n -> (run network x i <= run network x j)%Z) ->
    forall x i j, i <= j -> j < n -> (run network x i <= run network x j)%Z.
  Proof.
    intros network n Z01 x i j I J. destruct (Z.le_gt_cases (run network x i) (run network x j)) as [H | H]; [exact H |].
    exfalso. set (f := fun v => if (v <=? run network x j)%Z then 0%Z else 1%Z).
    assert (F : forall a b, (a <= b)%Z -> (f a <= f b)%Z).
    { intros a b L. unfold f. destruct (Z.leb_spec a (run network x j)), (Z.leb_spec b (run network x j)); lia. }
    specialize (Z01 (fun k => f (x k))).
    assert (B : forall k, f (x k) = 0%Z \/ f (x k) = 1%Z) by (intro k; unfold f; destruct (_ <=? _)%Z; auto).
    specialize (Z01 B i j I J). rewrite !(run_monotone f F) in Z01. unfold f in Z01.
    rewrite Z.leb_refl in Z01. destruct (Z.leb_spec (run network x i) (run network x j)); lia.
  Qed.
End Networks.

Definition rules :=
  (conj T1_induction (conj T2_invariants (conj T3_generalisation (conj T3_instantiation (conj T4_recursion (conj T4_one_function
  (conj T5_definition (conj T5_nothing_is_assumed (conj T6_sequence (conj T7_any_predicate zero_one_principle)))))))))).
Print Assumptions rules.
