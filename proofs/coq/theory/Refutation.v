(** A checker of refutations, proved sound: [refuted].

    A statement is told to it twice: as the Coq propositions that are to be refuted, and as data ([form]) whose meaning
    ([fden]) computes to just these propositions. Quantified formulas are atoms of the data; what their instances and
    witnesses are is proved outside, by [instance] and [witness]. The rest is a table of integer terms and
    formulas ([def]), facts about it, and a proof tree that is checked by computation. The only axiom is [classic]. *)

From Coq Require Import ZArith List Bool Lia Classical_Prop.
Import ListNotations.
Open Scope Z_scope.

Local Ltac no := intros; cbn in *; discriminate.

(** * What quantified formulas are good for *)

Lemma instance : forall (B : Z -> Prop) (t : Z), ~ (forall x, B x) \/ B t.
Proof. intros B t. destruct (classic (forall x, B x)) as [H | H]; auto. Qed.

Lemma witness : forall B : Z -> Prop, exists w, (forall x, B x) \/ ~ B w.
Proof.
  intro B. destruct (classic (exists w, ~ B w)) as [[w H] | H]; [exists w; auto | exists 0; left].
  intro x. destruct (classic (B x)); [assumption | elim H; eauto].
Qed.

Lemma exists_is_not_all : forall B : Z -> Prop, (exists x, B x) <-> ~ (forall x, ~ B x).
Proof.
  intro B. split; [intros [x H] N; exact (N x H) | intro N].
  destruct (classic (exists x, B x)) as [H | H]; [assumption | elim N; eauto].
Qed.

Lemma all_alike : forall B C : Z -> Prop, (forall x, B x <-> C x) -> ((forall x, B x) <-> (forall x, C x)).
Proof. intros B C H. split; intros A x; apply H, A. Qed.

(** For quantified formulas that differ in the words of their bodies. *)
Ltac same_formula :=
  match goal with
  | |- (exists x, _) <-> ~ _ => eapply iff_trans; [apply exists_is_not_all | apply not_iff_compat; same_formula]
  | |- (forall x, _) <-> (forall y, _) => apply all_alike; intro; same_formula
  | |- _ => first [reflexivity | lia | tauto]
  end.

(** * Data *)

(** A sum of integers times products of numbered integers. *)
Definition poly := list (Z * list positive).

(** A numbered formula, or its negation. *)
Definition lit := (bool * positive)%type.

Inductive term :=
| Num (z : Z) | Add (a b : term) | Sub (a b : term) | Neg (a : term) | Mul (a b : term)
| Div (a : term) (n : positive) | Mod (a : term) (n : positive) | If (c : form) (a b : term) | IfP (c : form) (a b : term)
| F0 (f : positive) | F1 (f : positive) (a : term) | F2 (f : positive) (a b : term)
| Unk (i : positive) | Pol (p : poly)
with form :=
| Tru | Fls | Not (a : form) | And (l : forms) | Or (l : forms) | Imp (a b : form) | Iff (a b : form) | Ite (c a b : form)
| Eq (a b : term) | Le (a b : term) | Lt (a b : term) | Ge (a b : term) | Gt (a b : term)
| P0 (p : positive) | P1 (p : positive) (a : term) | P2 (p : positive) (a b : term)
| Atom (j : positive) (b : bool) (k : positive)
| Lit (l : lit)
with forms := One (a : form) | More (a : form) (l : forms).

Scheme term_ind3 := Induction for term Sort Prop
with form_ind3 := Induction for form Sort Prop
with forms_ind3 := Induction for forms Sort Prop.
Combined Scheme syntax_ind from term_ind3, form_ind3, forms_ind3.

(** What a numbered integer (the first six) or formula is, told by the numbers before it. *)
Inductive def :=
| D0 (f : positive) | D1 (f : positive) (p : poly) | D2 (f : positive) (p q : poly)
| DIf (l : lit) (p q : poly) | DDiv (p : poly) (n : positive)
| DLe (p : poly) | DEq (p : poly)
| DP0 (f : positive) | DP1 (f : positive) (p : poly) | DP2 (f : positive) (p q : poly)
| DAnd (ls : list lit) | DAtom (j : positive).

(** A constant, or a literal. *)
Inductive nf := K (b : bool) | L (b : bool) (i : positive).

(** What the symbols mean. *)
Record meaning := Meaning {
  f0 : positive -> Z; f1 : positive -> Z -> Z; f2 : positive -> Z -> Z -> Z;
  p0 : positive -> bool; p1 : positive -> Z -> bool; p2 : positive -> Z -> Z -> bool;
  atoms : positive -> Prop; decide : Prop -> bool }.

(** Formulas that a truth value can be computed of. *)
Fixpoint plain (f : form) : bool :=
  match f with
  | Not a => plain a
  | And l | Or l => plains l
  | Imp a b | Iff a b => plain a && plain b
  | Ite c a b => plain c && plain a && plain b
  | Atom _ _ _ | Lit _ => false
  | _ => true
  end
with plains (l : forms) : bool :=
  match l with One a => plain a | More a l => plain a && plains l end.

Section Denotation.
  Variables (M : meaning) (vz : positive -> Z) (vf : positive -> Prop).

  Definition mden (m : list positive) : Z := fold_right (fun i r => vz i * r) 1 m.
  Fixpoint pden (p : poly) : Z := match p with [] => 0 | (c, m) :: p => c * mden m + pden p end.
  Definition lden (l : lit) : Prop := if fst l then vf (snd l) else ~ vf (snd l).
  Definition nden (n : nf) : Prop := match n with K b => b = true | L b i => lden (b, i) end.

  Fixpoint tden (t : term) : Z :=
    match t with
    | Num z => z
    | Add a b => tden a + tden b
    | Sub a b => tden a - tden b
    | Neg a => - tden a
    | Mul a b => tden a * tden b
    | Div a n => tden a / Zpos n
    | Mod a n => tden a mod Zpos n
    | If c a b => if bden c then tden a else tden b
    | IfP c a b => if decide M (fden c) then tden a else tden b
    | F0 f => f0 M f
    | F1 f a => f1 M f (tden a)
    | F2 f a b => f2 M f (tden a) (tden b)
    | Unk i => vz i
    | Pol p => pden p
    end
  with bden (f : form) : bool :=
    match f with
    | Tru => true
    | Fls | Atom _ _ _ | Lit _ => false
    | Not a => negb (bden a)
    | And l => band l
    | Or l => bor l
    | Imp a b => implb (bden a) (bden b)
    | Iff a b => Bool.eqb (bden a) (bden b)
    | Ite c a b => if bden c then bden a else bden b
    | Eq a b => tden a =? tden b
    | Le a b => tden a <=? tden b
    | Lt a b => tden a <? tden b
    | Ge a b => tden a >=? tden b
    | Gt a b => tden a >? tden b
    | P0 p => p0 M p
    | P1 p a => p1 M p (tden a)
    | P2 p a b => p2 M p (tden a) (tden b)
    end
  with band (l : forms) : bool := match l with One a => bden a | More a l => bden a && band l end
  with bor (l : forms) : bool := match l with One a => bden a | More a l => bden a || bor l end
  with fden (f : form) : Prop :=
    match f with
    | Tru => True
    | Fls => False
    | Not a => ~ fden a
    | And l => fand l
    | Or l => for_ l
    | Imp a b => fden a -> fden b
    | Iff a b => fden a <-> fden b
    | Ite c a b => (fden c -> fden a) /\ (~ fden c -> fden b)
    | Eq a b => tden a = tden b
    | Le a b => tden a <= tden b
    | Lt a b => tden a < tden b
    | Ge a b => tden a >= tden b
    | Gt a b => tden a > tden b
    | P0 p => p0 M p = true
    | P1 p a => p1 M p (tden a) = true
    | P2 p a b => p2 M p (tden a) (tden b) = true
    | Atom j _ _ => atoms M j
    | Lit l => lden l
    end
  with fand (l : forms) : Prop := match l with One a => fden a | More a l => fden a /\ fand l end
  with for_ (l : forms) : Prop := match l with One a => fden a | More a l => fden a \/ for_ l end.

  (** The number [i] is what [d] says. *)
  Definition holds (i : positive) (d : def) : Prop :=
    match d with
    | D0 f => vz i = f0 M f
    | D1 f p => vz i = f1 M f (pden p)
    | D2 f p q => vz i = f2 M f (pden p) (pden q)
    | DIf l p q => (lden l -> vz i = pden p) /\ (~ lden l -> vz i = pden q)
    | DDiv p n => vz i = pden p / Zpos n
    | DLe p => vf i <-> pden p <= 0
    | DEq p => vf i <-> pden p = 0
    | DP0 f => vf i <-> p0 M f = true
    | DP1 f p => vf i <-> p1 M f (pden p) = true
    | DP2 f p q => vf i <-> p2 M f (pden p) (pden q) = true
    | DAnd ls => vf i <-> Forall lden ls
    | DAtom j => vf i <-> atoms M j
    end.

  Lemma plain_is_computed :
    (forall t : term, True) /\ (forall f, plain f = true -> (bden f = true <-> fden f)) /\
    (forall l, plains l = true -> (band l = true <-> fand l) /\ (bor l = true <-> for_ l)).
  Proof.
    apply syntax_ind; cbn [plain plains bden band bor fden fand for_]; intros; auto; try easy;
      repeat match goal with H : _ && _ = true |- _ => apply andb_prop in H; destruct H end;
      repeat match goal with H : ?a = true -> _, H' : ?a = true |- _ => specialize (H H') end;
      try tauto; try (rewrite ?Z.eqb_eq, ?Z.leb_le, ?Z.ltb_lt; tauto).
    - rewrite negb_true_iff, <- H, not_true_iff_false. tauto.
    - rewrite implb_true_iff. tauto.
    - rewrite eqb_true_iff. rewrite <- H, <- H0. destruct (bden a), (bden b); intuition congruence.
    - rewrite <- H, <- H0, <- H1. destruct (bden c); intuition congruence.
    - rewrite Z.geb_le. lia.
    - rewrite Z.gtb_lt. lia.
    - rewrite andb_true_iff, orb_true_iff. tauto.
  Qed.

  (** * Arithmetic of sums of products *)

  Fixpoint mcompare (m n : list positive) : comparison :=
    match m, n with
    | [], [] => Datatypes.Eq
    | [], _ => Datatypes.Lt
    | _, [] => Datatypes.Gt
    | i :: m, j :: n => match Pos.compare i j with Datatypes.Eq => mcompare m n | c => c end
    end.

  Lemma mcompare_eq : forall m n, mcompare m n = Datatypes.Eq -> m = n.
  Proof.
    induction m as [| i m IH]; destruct n as [| j n]; cbn; try easy.
    destruct (Pos.compare_spec i j); try easy. intro H'. rewrite (IH n H'). congruence.
  Qed.

  Definition pcons (c : Z) (m : list positive) (p : poly) : poly := if c =? 0 then p else (c, m) :: p.

  Lemma pcons_den : forall c m p, pden (pcons c m p) = c * mden m + pden p.
  Proof. intros. unfold pcons. destruct (Z.eqb_spec c 0); cbn [pden]; subst; lia. Qed.

  Fixpoint padd (p : poly) : poly -> poly :=
    match p with
    | [] => fun q => q
    | (c, m) :: p' =>
      fix go (q : poly) : poly :=
        match q with
        | [] => p
        | (d, n) :: q' =>
          match mcompare m n with
          | Datatypes.Eq => pcons (c + d) m (padd p' q')
          | Datatypes.Lt => (c, m) :: padd p' q
          | Datatypes.Gt => (d, n) :: go q'
          end
        end
    end.

  Lemma padd_den : forall p q, pden (padd p q) = pden p + pden q.
  Proof.
    induction p as [| [c m] p IHp]; [reflexivity |]. induction q as [| [d n] q IHq]; [cbn [padd pden]; lia |].
    cbn [padd]. destruct (mcompare m n) eqn:E.
    - apply mcompare_eq in E. subst n. rewrite pcons_den, IHp. cbn [pden]. lia.
    - cbn [pden]. rewrite IHp. cbn [pden]. lia.
    - cbn [padd] in IHq. cbn [pden]. rewrite IHq. cbn [pden]. lia.
  Qed.

  Definition pscale (z : Z) (p : poly) : poly := if z =? 0 then [] else map (fun cm => (z * fst cm, snd cm)) p.

  Lemma pscale_den : forall z p, pden (pscale z p) = z * pden p.
  Proof.
    intros. unfold pscale. destruct (Z.eqb_spec z 0); [subst; cbn; lia |].
    induction p as [| [c m] p IH]; cbn [map pden fst snd]; [lia | rewrite IH; ring].
  Qed.

  Definition pnum (z : Z) : poly := pcons z [] [].

  Lemma pnum_den : forall z, pden (pnum z) = z.
  Proof. intro. unfold pnum. rewrite pcons_den. cbn. lia. Qed.

  Fixpoint mmul (m : list positive) : list positive -> list positive :=
    match m with
    | [] => fun n => n
    | i :: m' =>
      fix go (n : list positive) : list positive :=
        match n with
        | [] => m
        | j :: n' => if (i <=? j)%positive then i :: mmul m' n else j :: go n'
        end
    end.

  Lemma mmul_den : forall m n, mden (mmul m n) = mden m * mden n.
  Proof.
    induction m as [| i m IHm]; [intro n; change (mden n = 1 * mden n); ring |].
    induction n as [| j n IHn]; [change (mden (i :: m) = mden (i :: m) * 1); ring |].
    cbn [mmul]. destruct (i <=? j)%positive.
    - change (vz i * mden (mmul m (j :: n)) = vz i * mden m * mden (j :: n)). rewrite IHm. ring.
    - change (vz j * mden (mmul (i :: m) n) = mden (i :: m) * (vz j * mden n)). rewrite IHn. ring.
  Qed.

  Fixpoint pmul (p q : poly) : poly :=
    match p with
    | [] => []
    | (c, m) :: p => padd (fold_right (fun dn r => padd [(c * fst dn, mmul m (snd dn))] r) [] q) (pmul p q)
    end.

  Lemma pmul_den : forall p q, pden (pmul p q) = pden p * pden q.
  Proof.
    induction p as [| [c m] p IH]; intro q; [reflexivity |].
    cbn [pmul pden]. rewrite padd_den, IH. rewrite Z.mul_add_distr_r. f_equal.
    induction q as [| [d n] q IHq]; cbn [fold_right pden fst snd]; [lia |].
    rewrite padd_den, IHq. cbn [pden]. rewrite mmul_den. ring.
  Qed.

  (** All coefficients divided by a number that divides them. *)
  Fixpoint divided (g : Z) (p : poly) : option poly :=
    match p with
    | [] => Some []
    | (c, m) :: p => if c =? g * (c / g) then option_map (cons (c / g, m)) (divided g p) else None
    end.

  Lemma divided_den : forall g p q, divided g p = Some q -> pden p = g * pden q.
  Proof.
    intros g p. induction p as [| [c m] p IH]; cbn [divided]; intros q H.
    - inversion H. cbn. lia.
    - destruct (Z.eqb_spec c (g * (c / g))) as [E |]; [| no].
      destruct (divided g p) as [r |] eqn:D; [| no]. inversion H. cbn [pden]. rewrite (IH r eq_refl).
      rewrite E at 1. ring.
  Qed.

  Definition split (p : poly) : Z * poly := match p with (c, []) :: p => (c, p) | _ => (0, p) end.

  Lemma split_den : forall p k s, split p = (k, s) -> pden p = k + pden s.
  Proof. intros [| [c [| i m]] p] k s H; inversion H; subst; cbn [pden]; try lia. cbn. lia. Qed.

  Definition content (p : poly) : Z := fold_right (fun cm g => Z.gcd (fst cm) g) 0 p.

  (** * Normal forms, found in the table *)

  Variable table : list (positive * def).

  Fixpoint monoeqb (m n : list positive) : bool :=
    match m, n with
    | [], [] => true
    | i :: m, j :: n => (i =? j)%positive && monoeqb m n
    | _, _ => false
    end.
  Fixpoint polyeqb (p q : poly) : bool :=
    match p, q with
    | [], [] => true
    | (c, m) :: p, (d, n) :: q => (c =? d) && monoeqb m n && polyeqb p q
    | _, _ => false
    end.
  Definition liteqb (l m : lit) : bool := Bool.eqb (fst l) (fst m) && (snd l =? snd m)%positive.
  Fixpoint litseqb (l m : list lit) : bool :=
    match l, m with
    | [], [] => true
    | a :: l, b :: m => liteqb a b && litseqb l m
    | _, _ => false
    end.
  Definition defeqb (d e : def) : bool :=
    match d, e with
    | D0 f, D0 g | DP0 f, DP0 g | DAtom f, DAtom g => (f =? g)%positive
    | D1 f p, D1 g q | DP1 f p, DP1 g q => (f =? g)%positive && polyeqb p q
    | D2 f p q, D2 g r s | DP2 f p q, DP2 g r s => (f =? g)%positive && polyeqb p r && polyeqb q s
    | DIf l p q, DIf m r s => liteqb l m && polyeqb p r && polyeqb q s
    | DDiv p n, DDiv q m => (n =? m)%positive && polyeqb p q
    | DLe p, DLe q | DEq p, DEq q => polyeqb p q
    | DAnd l, DAnd m => litseqb l m
    | _, _ => false
    end.

  Lemma monoeqb_eq : forall m n, monoeqb m n = true -> m = n.
  Proof.
    induction m as [| i m IH]; destruct n as [| j n]; cbn; try easy. intro H. apply andb_prop in H. destruct H as [H1 H2].
    apply Pos.eqb_eq in H1. rewrite (IH n H2). congruence.
  Qed.

  Lemma polyeqb_eq : forall p q, polyeqb p q = true -> p = q.
  Proof.
    induction p as [| [c m] p IH]; destruct q as [| [d n] q]; cbn; try easy. intro H.
    apply andb_prop in H. destruct H as [H1 H2]. apply andb_prop in H1. destruct H1 as [H0 H1].
    apply Z.eqb_eq in H0. apply monoeqb_eq in H1. rewrite (IH q H2). congruence.
  Qed.

  Lemma liteqb_eq : forall l m, liteqb l m = true -> l = m.
  Proof.
    intros [a i] [b j] H. apply andb_prop in H. destruct H as [H1 H2]. cbn in *.
    apply eqb_prop in H1. apply Pos.eqb_eq in H2. congruence.
  Qed.

  Lemma litseqb_eq : forall l m, litseqb l m = true -> l = m.
  Proof.
    induction l as [| a l IH]; destruct m as [| b m]; cbn; try easy. intro H. apply andb_prop in H. destruct H as [H1 H2].
    apply liteqb_eq in H1. rewrite (IH m H2). congruence.
  Qed.

  Lemma defeqb_eq : forall d e, defeqb d e = true -> d = e.
  Proof.
    intros d e. destruct d, e; cbn; try easy; intro H;
      repeat match goal with
        | H : _ && _ = true |- _ => apply andb_prop in H; destruct H
        | H : polyeqb _ _ = true |- _ => apply polyeqb_eq in H
        | H : litseqb _ _ = true |- _ => apply litseqb_eq in H
        | H : liteqb _ _ = true |- _ => apply liteqb_eq in H
        | H : (_ =? _)%positive = true |- _ => apply Pos.eqb_eq in H
        end; congruence.
  Qed.

  Fixpoint find (t : list (positive * def)) (d : def) : option positive :=
    match t with [] => None | (i, e) :: t => if defeqb d e then Some i else find t d end.
  Fixpoint get (t : list (positive * def)) (i : positive) : option def :=
    match t with [] => None | (j, d) :: t => if (i =? j)%positive then Some d else get t i end.

  Hypothesis consistent : forall i d, In (i, d) table -> holds i d.

  Lemma find_holds : forall d i, find table d = Some i -> holds i d.
  Proof.
    intros d i H. apply consistent. clear consistent. revert H. induction table as [| [j e] t IH]; cbn; [discriminate |].
    destruct (defeqb d e) eqn:E; [| auto]. apply defeqb_eq in E. intro H. inversion H. subst. auto.
  Qed.

  Lemma get_holds : forall d i, get table i = Some d -> holds i d.
  Proof.
    intros d i H. apply consistent. clear consistent. revert H. induction table as [| [j e] t IH]; cbn; [discriminate |].
    destruct (Pos.eqb_spec i j); [| auto]. intro H. inversion H. subst. auto.
  Qed.

  Definition neg (n : nf) : nf := match n with K b => K (negb b) | L b i => L (negb b) i end.

  Lemma neg_den : forall n, nden (neg n) <-> ~ nden n.
  Proof.
    intros [[] | [] i]; unfold nden, lden; cbn.
    - split; [discriminate | intro H; elim H; reflexivity].
    - split; [discriminate | reflexivity].
    - tauto.
    - destruct (classic (vf i)); tauto.
  Qed.

  Definition unknown (d : def) : option poly := option_map (fun i => [(1, [i])]) (find table d).
  Definition formula (d : def) : option nf := option_map (L true) (find table d).

  Definition bind {A B : Type} (a : option A) (f : A -> option B) : option B :=
    match a with Some x => f x | None => None end.

  Lemma bind_some : forall (A B : Type) (a : option A) (f : A -> option B) y,
    bind a f = Some y -> exists x, a = Some x /\ f x = Some y.
  Proof. intros A B [x |] f y H; [exists x; auto | discriminate]. Qed.

  Lemma unknown_den : forall d p, unknown d = Some p -> exists i, holds i d /\ pden p = vz i.
  Proof.
    intros d p. unfold unknown. destruct (find table d) as [i |] eqn:F; [| no]. cbn. intro H. inversion H.
    exists i. split; [apply find_holds, F | change (1 * (vz i * 1) + 0 = vz i); ring].
  Qed.

  Lemma formula_den : forall d n, formula d = Some n -> exists i, holds i d /\ n = L true i.
  Proof.
    intros d p. unfold formula. destruct (find table d) as [i |] eqn:F; [| no]. cbn. intro H. inversion H.
    exists i. split; [apply find_holds, F | reflexivity].
  Qed.

  Definition orelse (a b : option nf) : option nf := match a with None => b | _ => a end.

  Lemma orelse_some : forall a b n, orelse a b = Some n -> a = Some n \/ b = Some n.
  Proof. intros [x |] b n H; auto. Qed.

  (** [p <= 0], divided by the content of its variable part. *)
  Definition reduced (p : poly) : option poly :=
    let (k, s) := split p in
    let g := content s in
    option_map (pcons (- ((- k) / g)) []) (if 0 <? g then divided g s else None).

  Lemma reduced_den : forall p q, reduced p = Some q -> (pden p <= 0 <-> pden q <= 0).
  Proof.
    intros p q. unfold reduced. destruct (split p) as [k s] eqn:S. apply split_den in S.
    destruct (Z.ltb_spec 0 (content s)) as [G |]; [| no]. set (g := content s) in *. clearbody g.
    destruct (divided g s) as [r |] eqn:D; [| no]. apply divided_den in D. cbn. intro H. inversion H; subst q.
    rewrite pcons_den, S, D. cbn [mden fold_right]. rewrite Z.mul_1_r.
    pose proof (Z.div_mod (- k) g ltac:(lia)). pose proof (Z.mod_pos_bound (- k) g G). nia.
  Qed.

  Definition found (p : poly) : option nf := bind (reduced p) (fun q => formula (DLe q)).

  Lemma found_den : forall p n, found p = Some n -> (nden n <-> pden p <= 0).
  Proof.
    intros p n H. apply bind_some in H. destruct H as [q [R F]]. rewrite (reduced_den _ _ R).
    apply formula_den in F. destruct F as [i [F ->]]. exact F.
  Qed.

  Definition at_most_zero (p : poly) : option nf :=
    match split p with
    | (k, []) => Some (K (k <=? 0))
    | _ => orelse (found p) (option_map neg (found (padd (pnum 1) (pscale (-1) p))))
    end.

  Lemma at_most_zero_den : forall p n, at_most_zero p = Some n -> (nden n <-> pden p <= 0).
  Proof.
    intros p n. unfold at_most_zero. destruct (split p) as [k [| cm s]] eqn:S; intro H.
    - apply split_den in S. inversion H. cbn in *. rewrite Z.leb_le, S. lia.
    - apply orelse_some in H. destruct H as [H | H]; [exact (found_den _ _ H) |].
      destruct (found (padd (pnum 1) (pscale (-1) p))) as [m |] eqn:F; [| no]. apply found_den in F. inversion H.
      rewrite neg_den, F, padd_den, pnum_den, pscale_den. lia.
  Qed.

  Definition is_zero (p : poly) : option nf :=
    let (k, s) := split p in
    match s with
    | [] => Some (K (k =? 0))
    | _ =>
      let g := content s in
      if 0 <? g then
        match divided g s with
        | None => None
        | Some r =>
          if k mod g =? 0 then
            let q := pcons (k / g) [] r in
            orelse (formula (DEq q)) (formula (DEq (pscale (-1) q)))
          else Some (K false)
        end
      else None
    end.

  Lemma is_zero_den : forall p n, is_zero p = Some n -> (nden n <-> pden p = 0).
  Proof.
    intros p n. unfold is_zero. destruct (split p) as [k s] eqn:S. apply split_den in S. destruct s as [| cm s'].
    { intro H. inversion H. cbn in *. rewrite Z.eqb_eq, S. lia. }
    set (s := cm :: s') in *. clearbody s.
    destruct (Z.ltb_spec 0 (content s)) as [G |]; [| no]. set (g := content s) in *. clearbody g.
    destruct (divided g s) as [r |] eqn:D; [| no]. apply divided_den in D.
    pose proof (Z.div_mod k g ltac:(lia)) as E. pose proof (Z.mod_pos_bound k g G).
    destruct (Z.eqb_spec (k mod g) 0) as [Z0 |]; cbv zeta.
    - assert (Q : pden (pcons (k / g) [] r) = 0 <-> pden p = 0).
      { rewrite pcons_den, S, D. cbn [mden fold_right]. rewrite Z.mul_1_r. nia. }
      set (q := pcons (k / g) [] r) in *. clearbody q. intro I. apply orelse_some in I. rewrite <- Q.
      destruct I as [I | I]; apply formula_den in I; destruct I as [i [I ->]]; cbn [holds] in I.
      + exact I.
      + rewrite pscale_den in I. change (vf i <-> pden q = 0). rewrite I. lia.
    - intro I. inversion I. cbn. split; [discriminate |]. rewrite S, D. intro A. exfalso.
      assert (B : k = - pden r * g) by lia. rewrite B, Z.mod_mul in n0; lia.
  Qed.

  Definition nfeqb (m n : nf) : bool :=
    match m, n with
    | K a, K b => Bool.eqb a b
    | L a i, L b j => Bool.eqb a b && (i =? j)%positive
    | _, _ => false
    end.

  Lemma nfeqb_eq : forall m n, nfeqb m n = true -> m = n.
  Proof.
    intros [a | a i] [b | b j]; cbn; try easy; intro H.
    - apply eqb_prop in H. congruence.
    - apply andb_prop in H. destruct H as [H1 H2]. apply eqb_prop in H1. apply Pos.eqb_eq in H2. congruence.
  Qed.

  (** The list without what it has said already, and without what is true. *)
  Fixpoint distinct (seen : list nf) (l : list nf) : list nf :=
    match l with
    | [] => []
    | n :: l => if nfeqb n (K true) || existsb (nfeqb n) seen then distinct seen l else n :: distinct (n :: seen) l
    end.

  Lemma distinct_den : forall l seen, Forall nden seen -> (Forall nden (distinct seen l) <-> Forall nden l).
  Proof.
    induction l as [| n l IH]; intros seen S; cbn [distinct]; [tauto |].
    destruct (nfeqb n (K true) || existsb (nfeqb n) seen) eqn:E.
    - rewrite (IH seen S), Forall_cons_iff. assert (nden n); [| tauto].
      apply orb_prop in E. destruct E as [E | E].
      + apply nfeqb_eq in E. subst. reflexivity.
      + apply existsb_exists in E. destruct E as [m [I E]]. apply nfeqb_eq in E. subst.
        exact (proj1 (Forall_forall _ _) S _ I).
    - rewrite !Forall_cons_iff. split; intros [A B]; (split; [assumption |]); apply (IH (n :: seen)); auto.
  Qed.

  Definition literal (n : nf) : lit := match n with L b i => (b, i) | K _ => (false, 1%positive) end.
  Definition constant (n : nf) : bool := match n with K _ => true | L _ _ => false end.

  Lemma literals_den : forall l, existsb constant l = false -> (Forall lden (map literal l) <-> Forall nden l).
  Proof.
    induction l as [| [b | b i] l IH]; cbn [existsb constant map literal]; intro H; try easy.
    rewrite !Forall_cons_iff, IH by assumption. reflexivity.
  Qed.

  Definition all_of (l : list nf) : option nf :=
    match distinct [] l with
    | [] => Some (K true)
    | [n] => Some n
    | k => if existsb (nfeqb (K false)) k then Some (K false)
           else if existsb constant k then None else formula (DAnd (map literal k))
    end.

  Lemma all_of_den : forall l n, all_of l = Some n -> (nden n <-> Forall nden l).
  Proof.
    intros l n. unfold all_of. rewrite <- (distinct_den l [] (Forall_nil _)).
    destruct (distinct [] l) as [| a [| b k]].
    - intro H. inversion H. cbn. split; auto.
    - intro H. inversion H. rewrite Forall_cons_iff. split; intros; [auto | tauto].
    - set (whole := a :: b :: k). clearbody whole. destruct (existsb (nfeqb (K false)) whole) eqn:E.
      + intro H. inversion H. cbn. split; [discriminate |]. intro F. exfalso.
        apply existsb_exists in E. destruct E as [m [I E]]. apply nfeqb_eq in E. subst m.
        pose proof (proj1 (Forall_forall _ _) F _ I) as X. discriminate X.
      + destruct (existsb constant whole) eqn:C; [discriminate |]. unfold formula.
        destruct (find table (DAnd (map literal whole))) as [i |] eqn:F; [| no]. cbn.
        intro H. inversion H. apply find_holds in F. cbn in *. rewrite F. apply literals_den, C.
  Qed.

  Definition any_of (l : list nf) : option nf := option_map neg (all_of (map neg l)).

  Lemma any_of_den : forall l n, any_of l = Some n -> (nden n <-> Exists nden l).
  Proof.
    intros l n. unfold any_of. destruct (all_of (map neg l)) as [m |] eqn:A; [| no].
    apply all_of_den in A. cbn. intro H. inversion H. rewrite neg_den, A. clear.
    induction l as [| a l IH]; cbn [map].
    - rewrite Exists_nil. split; [intro H; apply H; constructor | easy].
    - rewrite Forall_cons_iff, Exists_cons, <- IH, neg_den. destruct (classic (nden a)); tauto.
  Qed.

  (** Formulas that are equivalent, though told in other words: atom [j] is atom [k] ([b]), or its negation. *)
  Variable aliases : list (positive * bool * positive).
  Hypothesis alike : forall j b k, In (j, b, k) aliases -> (atoms M j <-> if b then atoms M k else ~ atoms M k).

  Definition known (j : positive) (b : bool) (k : positive) : bool :=
    ((j =? k)%positive && b) ||
    existsb (fun e => match e with (j', b', k') => (j =? j')%positive && Bool.eqb b b' && (k =? k')%positive end) aliases.

  Lemma known_den : forall j b k, known j b k = true -> (atoms M j <-> if b then atoms M k else ~ atoms M k).
  Proof.
    intros j b k H. apply orb_prop in H. destruct H as [H | H].
    - apply andb_prop in H. destruct H as [H ->]. apply Pos.eqb_eq in H. subst. reflexivity.
    - apply existsb_exists in H. destruct H as [[[j' b'] k'] [I H]].
      apply andb_prop in H. destruct H as [H H2]. apply andb_prop in H. destruct H as [H0 H1].
      apply Pos.eqb_eq in H0, H2. apply eqb_prop in H1. subst. apply alike, I.
  Qed.

  (** Whether truth values may be computed of all formulas, as the condition of an integer if-then-else may want. *)
  Variable decides : bool.
  Hypothesis right : decides = true -> forall P : Prop, decide M P = true <-> P.

  Fixpoint norm_t (t : term) : option poly :=
    match t with
    | Num z => Some (pnum z)
    | Add a b => bind (norm_t a) (fun p => bind (norm_t b) (fun q => Some (padd p q)))
    | Sub a b => bind (norm_t a) (fun p => bind (norm_t b) (fun q => Some (padd p (pscale (-1) q))))
    | Neg a => bind (norm_t a) (fun p => Some (pscale (-1) p))
    | Mul a b => bind (norm_t a) (fun p => bind (norm_t b) (fun q => Some (pmul p q)))
    | Div a n => bind (norm_t a) (fun p => unknown (DDiv p n))
    | Mod a n => bind (norm_t a) (fun p => bind (unknown (DDiv p n)) (fun q => Some (padd p (pscale (Zneg n) q))))
    | If c a b =>
      if plain c then
        bind (norm_f c) (fun n => bind (norm_t a) (fun p => bind (norm_t b) (fun q =>
          match n with K true => Some p | K false => Some q | L s i => unknown (DIf (s, i) p q) end)))
      else None
    | IfP c a b =>
      if decides then
        bind (norm_f c) (fun n => bind (norm_t a) (fun p => bind (norm_t b) (fun q =>
          match n with K true => Some p | K false => Some q | L s i => unknown (DIf (s, i) p q) end)))
      else None
    | F0 f => unknown (D0 f)
    | F1 f a => bind (norm_t a) (fun p => unknown (D1 f p))
    | F2 f a b => bind (norm_t a) (fun p => bind (norm_t b) (fun q => unknown (D2 f p q)))
    | Unk i => Some [(1, [i])]
    | Pol p => Some p
    end
  with norm_f (f : form) : option nf :=
    match f with
    | Tru => Some (K true)
    | Fls => Some (K false)
    | Not a => bind (norm_f a) (fun n => Some (neg n))
    | And l => bind (norms l) all_of
    | Or l => bind (norms l) any_of
    | Imp a b => bind (norm_f a) (fun m => bind (norm_f b) (fun n => any_of [neg m; n]))
    | Iff a b =>
      bind (norm_f a) (fun m => bind (norm_f b) (fun n =>
        bind (any_of [neg m; n]) (fun r => bind (any_of [m; neg n]) (fun s => all_of [r; s]))))
    | Ite c a b =>
      bind (norm_f c) (fun k => bind (norm_f a) (fun m => bind (norm_f b) (fun n =>
        bind (any_of [neg k; m]) (fun r => bind (any_of [k; n]) (fun s => all_of [r; s])))))
    | Eq a b => bind (norm_t a) (fun p => bind (norm_t b) (fun q => is_zero (padd p (pscale (-1) q))))
    | Le a b => bind (norm_t a) (fun p => bind (norm_t b) (fun q => at_most_zero (padd p (pscale (-1) q))))
    | Lt a b => bind (norm_t a) (fun p => bind (norm_t b) (fun q => at_most_zero (padd (pnum 1) (padd p (pscale (-1) q)))))
    | Ge a b => bind (norm_t a) (fun p => bind (norm_t b) (fun q => at_most_zero (padd q (pscale (-1) p))))
    | Gt a b => bind (norm_t a) (fun p => bind (norm_t b) (fun q => at_most_zero (padd (pnum 1) (padd q (pscale (-1) p)))))
    | P0 p => formula (DP0 p)
    | P1 p a => bind (norm_t a) (fun x => formula (DP1 p x))
    | P2 p a b => bind (norm_t a) (fun x => bind (norm_t b) (fun y => formula (DP2 p x y)))
    | Atom j b k => if known j b k then option_map (fun i => L b i) (find table (DAtom k)) else None
    | Lit (b, i) => Some (L b i)
    end
  with norms (l : forms) : option (list nf) :=
    match l with
    | One a => bind (norm_f a) (fun n => Some [n])
    | More a l => bind (norm_f a) (fun n => bind (norms l) (fun k => Some (n :: k)))
    end.

  Ltac open :=
    repeat match goal with
      | H : bind _ _ = Some _ |- _ => apply bind_some in H; destruct H as [? [? ?]]
      | H : Some _ = Some _ |- _ => inversion H; clear H; subst
      | H : unknown _ = Some _ |- _ => apply unknown_den in H; destruct H as [? [? ?]]
      | H : formula _ = Some _ |- _ => apply formula_den in H; destruct H as [? [? ?]]; subst
      | H : forall p, norm_t ?a = Some p -> _, H' : norm_t ?a = Some _ |- _ => specialize (H _ H')
      | H : forall p, norm_f ?a = Some p -> _, H' : norm_f ?a = Some _ |- _ => specialize (H _ H')
      | H : forall p, norms ?a = Some p -> _, H' : norms ?a = Some _ |- _ => specialize (H _ H')
      | H : any_of _ = Some _ |- _ => apply any_of_den in H
      | H : all_of _ = Some _ |- _ => apply all_of_den in H
      | H : at_most_zero _ = Some _ |- _ => apply at_most_zero_den in H
      | H : is_zero _ = Some _ |- _ => apply is_zero_den in H
      end.

  Ltac lists := rewrite ?Forall_cons_iff, ?Exists_cons, ?Forall_nil_iff, ?Exists_nil, ?neg_den in *.

  Ltac atoms_ :=
    match goal with H : nden ?n <-> _ |- nden ?n <-> _ => rewrite H, ?padd_den, ?pscale_den, ?pnum_den, ?padd_den, ?pscale_den end.

  Theorem norm_den :
    (forall t p, norm_t t = Some p -> pden p = tden t) /\
    (forall f n, norm_f f = Some n -> (nden n <-> fden f)) /\
    (forall l k, norms l = Some k -> (Forall nden k <-> fand l) /\ (Exists nden k <-> for_ l)).
  Proof.
    apply syntax_ind; cbn [norm_t norm_f norms tden fden fand for_]; intros.
    (* terms *)
    - open. apply pnum_den.
    - open. rewrite padd_den. congruence.
    - open. rewrite padd_den, pscale_den. lia.
    - open. rewrite pscale_den. lia.
    - open. rewrite pmul_den. congruence.
    - open. cbn [holds] in *. congruence.
    - open. cbn [holds] in *. rewrite padd_den, pscale_den, H2, H1, H, Z.mod_eq by lia.
      change (Z.neg n) with (- Z.pos n). ring.
    - destruct (plain c) eqn:P; [| no]. open.
      pose proof (proj1 (proj2 plain_is_computed) c P) as C. rewrite <- H in C.
      destruct x as [[] | s i].
      + open. rewrite (proj2 C eq_refl). assumption.
      + open. destruct (bden c); [| assumption]. destruct C as [C _]. specialize (C eq_refl). discriminate C.
      + open. cbn [holds] in *. change (nden (L s i)) with (lden (s, i)) in C. destruct (bden c).
        * rewrite H6, (proj1 H5) by tauto. assumption.
        * rewrite H6, (proj2 H5); [assumption |]. rewrite <- C. discriminate.
    - destruct decides eqn:P; [| no]. open.
      assert (C : decide M (fden c) = true <-> nden x) by exact (iff_trans (right eq_refl (fden c)) (iff_sym H)).
      destruct x as [[] | s i].
      + open. rewrite (proj2 C eq_refl). assumption.
      + open. destruct (decide M (fden c)); [| assumption]. destruct C as [C _]. specialize (C eq_refl). discriminate C.
      + open. cbn [holds] in *. change (nden (L s i)) with (lden (s, i)) in C. destruct (decide M (fden c)).
        * rewrite H6, (proj1 H5) by tauto. assumption.
        * rewrite H6, (proj2 H5); [assumption |]. rewrite <- C. discriminate.
    - open. cbn [holds] in *. congruence.
    - open. cbn [holds] in *. congruence.
    - open. cbn [holds] in *. congruence.
    - open. change (1 * (vz i * 1) + 0 = vz i). ring.
    - open. reflexivity.
    (* formulas *)
    - open. cbn. tauto.
    - open. cbn. easy.
    - open. rewrite neg_den. tauto.
    - open. tauto.
    - open. tauto.
    - open. lists. destruct (classic (nden x)); tauto.
    - open. lists. destruct (classic (nden x)), (classic (nden x0)); tauto.
    - open. lists. destruct (classic (nden x)), (classic (nden x0)), (classic (nden x1)); tauto.
    - open. atoms_. lia.
    - open. atoms_. lia.
    - open. atoms_. lia.
    - open. atoms_. lia.
    - open. atoms_. lia.
    - open. cbn in *. tauto.
    - open. cbn in *. rewrite <- H. assumption.
    - open. cbn in *. rewrite <- H, <- H0. assumption.
    - destruct (known j b k) eqn:E; [| no]. apply known_den in E.
      destruct (find table (DAtom k)) as [i |] eqn:F; [| no]. apply find_holds in F. cbn in *.
      inversion H. unfold nden, lden. cbn. destruct b; tauto.
    - destruct l as [b i]. open. reflexivity.
    - open. rewrite Forall_cons_iff, Exists_cons, Exists_nil. split; split; auto; try tauto. intros; split; auto; tauto.
    - open. rewrite Forall_cons_iff, Exists_cons. tauto.
  Qed.

  (** * Lemmas that hold of what is in the table *)

  Inductive rule :=
  | Then (u : positive) | Else (u : positive) | Same (u w : positive) | Low (u : positive) | High (u : positive)
  | Sides (a : positive) | Product (p q : poly) | Cut (p : poly).

  Definition says (r : rule) : option form :=
    match r with
    | Then u =>
      match get table u with
      | Some (DIf l p q) => Some (Or (More (Not (Lit l)) (One (Eq (Unk u) (Pol p)))))
      | _ => None
      end
    | Else u =>
      match get table u with
      | Some (DIf l p q) => Some (Or (More (Lit l) (One (Eq (Unk u) (Pol q)))))
      | _ => None
      end
    | Same u w =>
      match get table u, get table w with
      | Some (D1 f p), Some (D1 g q) =>
        if (f =? g)%positive then Some (Or (More (Not (Eq (Pol p) (Pol q))) (One (Eq (Unk u) (Unk w))))) else None
      | Some (D2 f p r), Some (D2 g q s) =>
        if (f =? g)%positive then
          Some (Or (More (Not (Eq (Pol p) (Pol q))) (More (Not (Eq (Pol r) (Pol s))) (One (Eq (Unk u) (Unk w))))))
        else None
      | Some (DP1 f p), Some (DP1 g q) =>
        if (f =? g)%positive then
          Some (Or (More (Not (Eq (Pol p) (Pol q))) (One (Iff (Lit (true, u)) (Lit (true, w))))))
        else None
      | Some (DP2 f p r), Some (DP2 g q s) =>
        if (f =? g)%positive then
          Some (Or (More (Not (Eq (Pol p) (Pol q))) (More (Not (Eq (Pol r) (Pol s)))
                     (One (Iff (Lit (true, u)) (Lit (true, w)))))))
        else None
      | _, _ => None
      end
    | Low u =>
      match get table u with
      | Some (DDiv p n) => Some (Le (Mul (Num (Zpos n)) (Unk u)) (Pol p))
      | _ => None
      end
    | High u =>
      match get table u with
      | Some (DDiv p n) => Some (Lt (Pol p) (Add (Mul (Num (Zpos n)) (Unk u)) (Num (Zpos n))))
      | _ => None
      end
    | Sides a =>
      match get table a with
      | Some (DEq p) => Some (Or (More (Eq (Pol p) (Num 0)) (More (Lt (Num 0) (Pol p)) (One (Lt (Pol p) (Num 0))))))
      | _ => None
      end
    | Product p q =>
      Some (Or (More (Lt (Pol p) (Num 0)) (More (Lt (Pol q) (Num 0)) (One (Le (Num 0) (Mul (Pol p) (Pol q)))))))
    | Cut p => Some (Or (More (Le (Pol p) (Num 0)) (One (Not (Le (Pol p) (Num 0))))))
    end.

  Lemma says_true : forall r f, says r = Some f -> fden f.
  Proof.
    intros r f. unfold says. destruct r.
    - destruct (get table u) as [[] |] eqn:G; try discriminate. apply get_holds in G. intro H. inversion H. cbn in *.
      destruct (classic (lden l)); tauto.
    - destruct (get table u) as [[] |] eqn:G; try discriminate. apply get_holds in G. intro H. inversion H. cbn in *.
      destruct (classic (lden l)); tauto.
    - destruct (get table u) as [[] |] eqn:G; try discriminate; destruct (get table w) as [[] |] eqn:G'; try discriminate;
        apply get_holds in G; apply get_holds in G'; cbn [holds] in *;
        match goal with |- context [(?a =? ?b)%positive] => destruct (Pos.eqb_spec a b); [subst | discriminate] end;
        intro H; inversion H; cbn [fden for_ tden lden fst snd]; unfold lden; cbn [fst snd];
        repeat match goal with |- ~ (?a = ?b) \/ _ => destruct (Z.eq_dec a b) as [E |]; [right; rewrite ?E in G; clear E | left; assumption] end;
        try congruence; tauto.
    - destruct (get table u) as [[] |] eqn:G; try discriminate. apply get_holds in G. intro H. inversion H.
      cbn [fden tden] in *. cbn [holds] in G. rewrite G. apply Z.mul_div_le. lia.
    - destruct (get table u) as [[] |] eqn:G; try discriminate. apply get_holds in G. intro H. inversion H.
      cbn [fden tden] in *. cbn [holds] in G. rewrite G. pose proof (Z.mul_succ_div_gt (pden p) (Zpos n) ltac:(lia)). lia.
    - destruct (get table a) as [[] |] eqn:G; try discriminate. intro H. inversion H. cbn [fden for_ tden]. lia.
    - intro H. inversion H. cbn [fden for_ tden]. nia.
    - intro H. inversion H. cbn [fden for_ tden]. lia.
  Qed.

  (** * Proof trees *)

  Definition case := list (positive * bool).

  Fixpoint value (c : case) (i : positive) : option bool :=
    match c with [] => None | (j, b) :: c => if (i =? j)%positive then Some b else value c i end.

  Definition is (c : case) (l : lit) : bool :=
    match value c (snd l) with Some b => Bool.eqb b (fst l) | None => false end.

  Definition models (c : case) : Prop := Forall (fun e => lden (snd e, fst e)) c.

  Definition opposite (l : lit) : lit := (negb (fst l), snd l).

  Lemma is_den : forall c l, models c -> is c l = true -> lden l.
  Proof.
    intros c [b i] Mo. unfold is. cbn [fst snd]. destruct (value c i) as [b' |] eqn:V; [| no].
    intro E. apply eqb_prop in E. subst b'. revert V. induction Mo as [| [j d] c' H Mo IH]; cbn; [discriminate |].
    destruct (Pos.eqb_spec i j); [| assumption]. intro E. inversion E. subst. exact H.
  Qed.

  Lemma opposite_den : forall l, lden (opposite l) <-> ~ lden l.
  Proof. intros [b i]. change (nden (neg (L b i)) <-> ~ nden (L b i)). apply neg_den. Qed.

  (** Whether a conjunction and its parts, in this case, give the literal. *)
  Definition follows (c : case) (k : positive) (l : lit) : bool :=
    match get table k with
    | Some (DAnd ls) =>
      if (snd l =? k)%positive then (if fst l then forallb (is c) ls else existsb (fun m => is c (opposite m)) ls)
      else (is c (true, k) && existsb (liteqb l) ls) ||
           (is c (false, k) && forallb (fun m => is c m || liteqb m (opposite l)) ls)
    | _ => false
    end.

  Lemma follows_den : forall c k l, models c -> follows c k l = true -> lden l.
  Proof.
    intros c k l Mo. unfold follows. destruct (get table k) as [[] |] eqn:G; try discriminate.
    apply get_holds in G. cbn [holds] in G. destruct (Pos.eqb_spec (snd l) k) as [E |].
    - destruct l as [[] i]; cbn [fst snd] in *; subst i; intro H.
      + unfold lden. cbn. apply G. apply Forall_forall. intros m I. apply (is_den c); [assumption |].
        exact (proj1 (forallb_forall _ _) H m I).
      + apply existsb_exists in H. destruct H as [m [I H]]. apply (is_den _ _ Mo), opposite_den in H.
        unfold lden. cbn. rewrite G. intro F. apply H. exact (proj1 (Forall_forall _ _) F m I).
    - intro H. apply orb_prop in H. destruct H as [H | H]; apply andb_prop in H; destruct H as [H1 H2];
        apply (is_den _ _ Mo) in H1; unfold lden in H1; cbn [fst snd] in H1.
      + apply G in H1. apply existsb_exists in H2. destruct H2 as [m [I E]]. apply liteqb_eq in E. subst m.
        exact (proj1 (Forall_forall _ _) H1 l I).
      + destruct (classic (lden l)) as [| N]; [assumption |]. exfalso. apply H1, G. apply Forall_forall. intros m I.
        pose proof (proj1 (forallb_forall _ _) H2 m I) as X. cbn beta in X. apply orb_prop in X. destruct X as [X | X].
        * exact (is_den _ _ Mo X).
        * apply liteqb_eq in X. subst m. apply opposite_den, N.
  Qed.

  Definition weighed (c : case) (w : Z) (i : positive) : option poly :=
    match get table i, value c i with
    | Some (DLe p), Some b =>
      if 0 <? w then Some (pscale w (if b then p else padd (pnum 1) (pscale (-1) p))) else None
    | Some (DEq p), Some true => Some (pscale w p)
    | _, _ => None
    end.

  Fixpoint total (c : case) (ws : list (Z * positive)) : option poly :=
    match ws with
    | [] => Some []
    | (w, i) :: ws => bind (weighed c w i) (fun p => bind (total c ws) (fun q => Some (padd p q)))
    end.

  Lemma value_den : forall c i b, models c -> value c i = Some b -> lden (b, i).
  Proof.
    intros c i b Mo V. apply (is_den c); [assumption |]. unfold is. cbn [fst snd]. rewrite V. apply eqb_reflx.
  Qed.

  Lemma some_inj : forall (A : Type) (x y : A), Some x = Some y -> x = y.
  Proof. congruence. Qed.

  Lemma total_den : forall c ws p, models c -> total c ws = Some p -> pden p <= 0.
  Proof.
    intros c ws. induction ws as [| [w i] ws IH]; cbn [total]; intros p Mo H.
    - inversion H. cbn. lia.
    - apply bind_some in H. destruct H as [q [W H]]. apply bind_some in H. destruct H as [r [T H]]. inversion H.
      rewrite padd_den. specialize (IH r Mo T). enough (pden q <= 0) by lia. unfold weighed in W.
      destruct (get table i) as [[] |] eqn:G; try discriminate; apply get_holds in G; cbn [holds] in G;
        destruct (value c i) as [b |] eqn:V; try discriminate; apply (value_den _ _ _ Mo) in V; unfold lden in V;
        cbn [fst snd] in V.
      + destruct (Z.ltb_spec 0 w); [| no]. apply some_inj in W. subst q. destruct b.
        * rewrite pscale_den. apply G in V. nia.
        * rewrite pscale_den, padd_den, pnum_den, pscale_den. rewrite G in V. nia.
      + destruct b; [| no]. apply some_inj in W. subst q. rewrite pscale_den. apply G in V. nia.
  Qed.

  Inductive proof :=
  | Stuck
  | Have (l : lit) (k : positive) (rest : proof)
  | Lemma_ (r : rule) (rest : proof)
  | Sum (ws : list (Z * positive))
  | Case (ls : list lit) (inner rest : proof).

  (** Goes on with one literal more; a literal whose opposite is there ends the case. *)
  Definition add (l : lit) (c : case) (go : case -> bool) : bool :=
    match value c (snd l) with
    | Some b => if Bool.eqb b (fst l) then go c else true
    | None => go ((snd l, fst l) :: c)
    end.

  Definition learn (n : nf) (c : case) (go : case -> bool) : bool :=
    match n with K true => go c | K false => true | L b i => add (b, i) c go end.

  Fixpoint assume (ls : list lit) (c : case) (go : case -> bool) : bool :=
    match ls with [] => go c | l :: ls => add l c (fun c => assume ls c go) end.

  Fixpoint check (p : proof) (c : case) : bool :=
    match p with
    | Stuck => false
    | Have l k rest => if follows c k l then add l c (check rest) else false
    | Lemma_ r rest => match bind (says r) norm_f with Some n => learn n c (check rest) | None => false end
    | Sum ws => match total c ws with Some [(z, [])] => 0 <? z | _ => false end
    | Case ls inner rest =>
      if assume ls c (check inner) then
        match all_of (map (fun l => L (fst l) (snd l)) ls) with Some n => learn (neg n) c (check rest) | None => false end
      else false
    end.

  Lemma add_den : forall l c go, models c -> lden l -> (forall c', models c' -> go c' = true -> False) ->
    add l c go = true -> False.
  Proof.
    intros l c go Mo Hl Go. unfold add. destruct (value c (snd l)) as [b |] eqn:V.
    - destruct (Bool.eqb b (fst l)) eqn:E; [apply Go, Mo |]. intros _.
      apply (value_den _ _ _ Mo) in V. destruct l as [d i]. cbn in *. unfold lden in *. cbn in *.
      destruct b, d; cbn in *; try discriminate; tauto.
    - apply Go. constructor; [| assumption]. destruct l. exact Hl.
  Qed.

  Lemma learn_den : forall n c go, models c -> nden n -> (forall c', models c' -> go c' = true -> False) ->
    learn n c go = true -> False.
  Proof.
    intros [[] | b i] c go Mo H Go; cbn [learn].
    - apply Go, Mo.
    - discriminate H.
    - apply add_den; assumption.
  Qed.

  Lemma assume_den : forall ls c go, models c -> Forall lden ls -> (forall c', models c' -> go c' = true -> False) ->
    assume ls c go = true -> False.
  Proof.
    induction ls as [| l ls IH]; intros c go Mo A Go; cbn [assume]; [apply Go, Mo |].
    inversion A. subst. apply add_den; try assumption. intros c' Mo'. apply IH; assumption.
  Qed.

  Theorem check_den : forall p c, models c -> check p c = true -> False.
  Proof.
    induction p as [| l k rest IH | r rest IH | ws | ls inner IHi rest IH]; intros c Mo; cbn [check].
    - discriminate.
    - destruct (follows c k l) eqn:F; [| no]. apply add_den; try assumption. exact (follows_den _ _ _ Mo F).
    - destruct (bind (says r) norm_f) as [n |] eqn:B; [| no]. apply bind_some in B. destruct B as [f [S N]].
      apply learn_den; try assumption. apply (proj1 (proj2 norm_den) f n N). exact (says_true r f S).
    - destruct (total c ws) as [p |] eqn:T; [| no]. apply (total_den _ _ _ Mo) in T.
      destruct p as [| [z [| i m]] [| e p]]; try discriminate. intro H. apply Z.ltb_lt in H. cbn in T. lia.
    - destruct (assume ls c (check inner)) eqn:A; [| no].
      destruct (all_of (map (fun l => L (fst l) (snd l)) ls)) as [n |] eqn:E; [| no].
      apply learn_den; try assumption. apply neg_den. apply all_of_den in E. rewrite E. intro F.
      apply (assume_den ls c (check inner) Mo) in A; try assumption.
      clear - F. induction ls as [| [b i] ls IH]; [constructor |]. cbn [map] in F. inversion F. subst. constructor; auto.
  Qed.

  Fixpoint check_facts (facts : list form) (p : proof) (c : case) : bool :=
    match facts with
    | [] => check p c
    | f :: facts => match norm_f f with Some n => learn n c (check_facts facts p) | None => false end
    end.

  Fixpoint all_facts (facts : list form) : Prop :=
    match facts with [] => True | f :: facts => fden f /\ all_facts facts end.

  Theorem check_facts_den : forall facts p c, models c -> all_facts facts -> check_facts facts p c = true -> False.
  Proof.
    induction facts as [| f facts IH]; intros p c Mo A; cbn [check_facts]; [apply check_den, Mo |].
    destruct A as [A B]. destruct (norm_f f) as [n |] eqn:N; [| no].
    apply learn_den; try assumption.
    - apply (proj1 (proj2 norm_den) f n N), A.
    - intros c' Mo'. apply IH; assumption.
  Qed.

End Denotation.

(** * A table has numbers and formulas that are what it says *)

Fixpoint numbered (n : positive) (l : list def) : list (positive * def) :=
  match l with [] => [] | d :: l => (n, d) :: numbered (Pos.succ n) l end.

Definition pbelow (n : positive) (p : poly) : bool := forallb (fun cm => forallb (fun i => (i <? n)%positive) (snd cm)) p.
Definition lbelow (n : positive) (l : lit) : bool := (snd l <? n)%positive.

Definition dbelow (n : positive) (d : def) : bool :=
  match d with
  | D0 _ | DP0 _ | DAtom _ => true
  | D1 _ p | DP1 _ p | DDiv p _ | DLe p | DEq p => pbelow n p
  | D2 _ p q | DP2 _ p q => pbelow n p && pbelow n q
  | DIf l p q => lbelow n l && pbelow n p && pbelow n q
  | DAnd ls => forallb (lbelow n) ls
  end.

Fixpoint well_founded_from (n : positive) (l : list def) : bool :=
  match l with [] => true | d :: l => dbelow n d && well_founded_from (Pos.succ n) l end.

Section Tables.
  Variable M : meaning.

  Definition agree (n : positive) (vz wz : positive -> Z) (vf wf : positive -> Prop) : Prop :=
    forall i, (i < n)%positive -> vz i = wz i /\ (vf i <-> wf i).

  Lemma pden_agree : forall n vz wz vf wf p, agree n vz wz vf wf -> pbelow n p = true -> pden vz p = pden wz p.
  Proof.
    intros n vz wz vf wf p A. induction p as [| [c m] p IH]; cbn [pbelow forallb pden snd]; [reflexivity |].
    intro H. apply andb_prop in H. destruct H as [H1 H2]. rewrite (IH H2). f_equal. f_equal. clear - A H1.
    induction m as [| i m IH]; [reflexivity |]. cbn [forallb] in H1. apply andb_prop in H1. destruct H1 as [H1 H2].
    unfold mden in *. cbn [fold_right]. rewrite (IH H2). f_equal. apply A. apply Pos.ltb_lt, H1.
  Qed.

  Lemma lden_agree : forall n vz wz vf wf l, agree n vz wz vf wf -> lbelow n l = true -> (lden vf l <-> lden wf l).
  Proof.
    intros n vz wz vf wf [b i] A H. apply Pos.ltb_lt in H. destruct (A i H) as [_ E]. unfold lden. cbn in *.
    destruct b; tauto.
  Qed.

  Lemma lits_agree : forall n vz wz vf wf ls, agree n vz wz vf wf -> forallb (lbelow n) ls = true ->
    (Forall (lden vf) ls <-> Forall (lden wf) ls).
  Proof.
    intros n vz wz vf wf ls A. induction ls as [| l ls IH]; cbn [forallb]; intro H; [split; constructor |].
    apply andb_prop in H. destruct H as [H1 H2]. rewrite !Forall_cons_iff, (IH H2), (lden_agree _ _ _ _ _ l A H1). reflexivity.
  Qed.

  Lemma definable : forall vz vf d, exists z P,
    forall n wz wf, agree n vz wz vf wf -> dbelow n d = true -> wz n = z -> (wf n <-> P) -> holds M wz wf n d.
  Proof.
    intros vz vf d.
    assert (I : exists z, match d with
      | D0 f => z = f0 M f | D1 f p => z = f1 M f (pden vz p) | D2 f p q => z = f2 M f (pden vz p) (pden vz q)
      | DIf l p q => (lden vf l -> z = pden vz p) /\ (~ lden vf l -> z = pden vz q)
      | DDiv p n => z = pden vz p / Zpos n | _ => True end).
    { destruct d; try (eexists; reflexivity); try (exists 0; exact Logic.I). destruct (classic (lden vf l)); [exists (pden vz p) | exists (pden vz q)]; tauto. }
    destruct I as [z I]. exists z.
    exists (match d with
      | DLe p => pden vz p <= 0 | DEq p => pden vz p = 0
      | DP0 f => p0 M f = true | DP1 f p => p1 M f (pden vz p) = true | DP2 f p q => p2 M f (pden vz p) (pden vz q) = true
      | DAnd ls => Forall (lden vf) ls | DAtom j => atoms M j | _ => True end).
    intros n wz wf A B Z P. destruct d; cbn [holds dbelow] in *;
      repeat match goal with H : _ && _ = true |- _ => apply andb_prop in H; destruct H end;
      repeat match goal with H : pbelow n ?p = true |- _ => rewrite <- (pden_agree _ _ _ _ _ p A H); clear H end;
      try congruence; try exact P.
    - rewrite Z. rewrite <- (lden_agree _ _ _ _ _ l A) by assumption. exact I.
    - rewrite P. apply (lits_agree _ _ _ _ _ ls A B).
  Qed.

  Lemma tables_exist : forall l n vz vf, well_founded_from n l = true ->
    exists wz wf, agree n vz wz vf wf /\ forall i d, In (i, d) (numbered n l) -> holds M wz wf i d.
  Proof.
    induction l as [| d l IH]; cbn [numbered well_founded_from]; intros n vz vf W.
    - exists vz, vf. split; [intros i _; split; reflexivity | easy].
    - apply andb_prop in W. destruct W as [B W]. destruct (definable vz vf d) as [z [P D]].
      set (uz := fun i => if (i =? n)%positive then z else vz i).
      set (uf := fun i => if (i =? n)%positive then P else vf i).
      destruct (IH (Pos.succ n) uz uf W) as [wz [wf [A H]]]. exists wz, wf.
      assert (A' : agree n vz wz vf wf).
      { intros i L'. destruct (A i ltac:(lia)) as [A1 A2]. unfold uz, uf in *.
        destruct (Pos.eqb_spec i n); [lia |]. split; assumption. }
      split; [assumption |]. intros i e [E | I]; [| exact (H i e I)].
      inversion E. subst i e. destruct (A n ltac:(lia)) as [A1 A2]. unfold uz, uf in *. rewrite Pos.eqb_refl in *.
      apply D; try assumption; [congruence | tauto].
  Qed.
End Tables.

Definition aliases_hold (M : meaning) (l : list (positive * bool * positive)) : Prop :=
  fold_right (fun e r => (match e with (j, b, k) => atoms M j <-> (if b : bool then atoms M k else ~ atoms M k) end) /\ r) True l.

Lemma aliases_in : forall M l, aliases_hold M l ->
  forall j b k, In (j, b, k) l -> (atoms M j <-> if b : bool then atoms M k else ~ atoms M k).
Proof.
  intros M l. induction l as [| [[j' b'] k'] l IH]; cbn; [easy |].
  intros [H R] j b k [E | I]; [inversion E; subst; exact H | exact (IH R j b k I)].
Qed.

Definition accepted (decides : bool) (aliases : list (positive * bool * positive)) (defs : list def) (facts : list form)
    (p : proof) : bool :=
  well_founded_from 1 defs && check_facts (numbered 1 defs) aliases decides facts p [].

(** Facts that a proof tree refutes do not hold together, whatever the symbols mean. *)
Theorem refuted : forall M decides aliases defs facts p,
  (decides = true -> forall P : Prop, decide M P = true <-> P) -> aliases_hold M aliases ->
  (forall vz vf, all_facts M vz vf facts) -> accepted decides aliases defs facts p = true -> False.
Proof.
  intros M decides aliases defs facts p R A F H. apply andb_prop in H. destruct H as [W C].
  destruct (tables_exist M defs 1 (fun _ => 0) (fun _ => True) W) as [vz [vf [_ T]]].
  exact (check_facts_den M vz vf (numbered 1 defs) T aliases (aliases_in M aliases A) decides R facts p [] (Forall_nil _) (F vz vf) C).
Qed.
