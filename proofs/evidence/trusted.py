"""What must be believed because nothing here checks it: the rules of inference used outside the solvers, and the gaps.

Each rule has a number that stays, what it says, where it is used, and the argument on paper for believing it. Each gap says
what is not proved, what is done about it, and what risk remains. SOUNDNESS.md is printed from this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Inference:
    """A rule of inference that no solver sees. `uses` tells from an obligation's id and lemmas whether it rests on the rule."""

    number: str
    name: str
    says: str
    where: str
    argument: str
    uses: Callable[[str, tuple[str, ...]], bool] = lambda name, lemmas: False


def _by_induction(name: str, lemmas: tuple[str, ...]) -> bool:
    return name.endswith((".base", ".step"))


INFERENCES: tuple[Inference, ...] = (
    Inference(
        number="T1",
        name="Induction over the naturals",
        says="If a statement holds for 0, and for m + 1 whenever it holds for m >= 0, it holds for every m >= 0.",
        where="`Register.induction`: the parts `<id>.base` and `<id>.step` of a lemma give the lemma for every m.",
        argument="The naturals are well-ordered: a least m at which the statement failed would be neither 0 nor a successor.",
        uses=_by_induction,
    ),
    Inference(
        number="T2",
        name="Invariants by initiation and consecution",
        says="If every law holds initially, and each action keeps each law in any state where all laws hold, all laws hold in "
        "every state that any run reaches.",
        where="`system/`: one obligation for the initial states, one for each pair of a law and an action; what an action does "
        "not touch is shown unchanged by one obligation for each law.",
        argument="Induction (T1) over the length of the run. Interleavings are runs, since actions are atomic in the model.",
        uses=lambda name, lemmas: name.startswith("system/"),
    ),
    Inference(
        number="T3",
        name="Arbitrary identities stand for all",
        says="What is proved of constants of which nothing is assumed holds for all values; from laws that hold for all values, "
        "any instances may be taken as hypotheses.",
        where="Every obligation, for its free constants; `system/`, where the laws before a step are taken at chosen identities; "
        "lemmas, which are proved of arbitrary arguments and used at particular ones (`World.use`, `World.use_everywhere`).",
        argument="Generalisation and instantiation of first-order logic. That a lemma is proved in the same run as its use, and "
        "does not rest on its user, is checked (`proofs.checker.unsupported`).",
        uses=lambda name, lemmas: bool(lemmas) or name.startswith("system/"),
    ),
    Inference(
        number="T4",
        name="Definition by recursion",
        says="There is one function F with F(0, a) = 0 and F(m + 1, a) = step(F(m, a), m, a) for m >= 0.",
        where="`spec.scope.Fold` and `Count`: uninterpreted for the solvers, which get the two equations as hypotheses.",
        argument="The recursion theorem. One name has one step: two folds of a name with different steps are an error.",
        uses=_by_induction,
    ),
    Inference(
        number="T5",
        name="Numbers introduced by what they are",
        says="A number may be named by a property that exactly one number has; its definition is then no assumption.",
        where="`spec.scope.the`: the length of a common prefix, the ends of white space.",
        argument="Extension by definition. That there is one is proved where a rule uses it: `<rule>-answers-every-input` gives a "
        "value for each (`proofs.pinning`), and lemmas that walk the sequence find it; that there is one only, by "
        "`trimming-is-unique`, `the-common-prefix-is-the-longest` and `<rule>-has-one-answer`, which takes two choices.",
        uses=lambda name, lemmas: name.endswith(("-answers-every-input", "-has-one-answer")),
    ),
    Inference(
        number="T6",
        name="Choice of a sequence",
        says="If for every position some value fits, some sequence has a fitting value at every position.",
        where="Sequences are functions of a position; a closed form told for each position is the sequence of these values.",
        argument="For finite sequences by induction (T1) on the length; nothing needs more.",
    ),
    Inference(
        number="T7",
        name="Uninterpreted predicates stand for any",
        says="What is proved of a predicate or function of which nothing is assumed holds of every predicate or function.",
        where="`counting/`: lemmas about the count of any predicate, used for the counts of the models.",
        argument="A proof in first-order logic never looks inside an uninterpreted symbol, so the definition may be substituted.",
        uses=lambda name, lemmas: any(lemma.startswith("counting/") for lemma in lemmas),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Something that is not proved: what is done about it, and what remains."""

    number: str
    gap: str
    mitigation: str
    residual: str


GAPS: tuple[Gap, ...] = (
    Gap(
        number="G1",
        gap="The claims may not say what people take them to say.",
        mitigation="Each has an English sentence beside it, witnesses that it is not empty, and mutants that it refutes; the "
        "inventory shows every change of a statement in review.",
        residual="A reader must compare the sentence with the formula.",
    ),
    Gap(
        number="G2",
        gap="The Python text of a claim is turned into SMT-LIB by the solver's own printer.",
        mitigation="What is proved, cross-checked and certified is that text, read anew; the text is in the bundle, and is emitted "
        "again from the sources when they are at hand.",
        residual="A text that differs from what the author of the claim meant to write, in a way that witnesses and mutants miss.",
    ),
    Gap(
        number="G3",
        gap="The kernel's own reader, normal form and rules may be wrong.",
        mitigation="Two solvers answer the same text; attacks written from the kernel's description, drawn formulas in drawn "
        "interpretations, and faulty statements with their old certificates are tests. `make audit-coq` proves each theorem in Coq "
        "from its certificate, by a checker that is proved sound there (`proofs/coq/theory/Refutation.v`), of a proposition that "
        "another reader prints.",
        residual="A fault in kernel and both solvers on one statement, or in the Python interpreter; for whoever runs the audit, "
        "only one that the other reader and Coq share.",
    ),
    Gap(
        number="G4",
        gap="Verdicts of boundaries and mutants (that something is refuted) have no certificate.",
        mitigation="Each is a concrete model that is replayed on the code.",
        residual="None for the claims: nothing that is proved rests on a refutation.",
    ),
    Gap(
        number="G5",
        gap="The rules of inference T1 to T7 are applied outside of any checker.",
        mitigation="They are few, standard, and listed with all their uses. As rules they are proved in Coq, by these numbers: "
        "`proofs/coq/theory/Induction.v`.",
        residual="A step of an induction that is stated for another statement than its base would be seen in review only.",
    ),
    Gap(
        number="G6",
        gap="The models are of functions, call sites and devices as DESIGN describes them.",
        mitigation="Functions: source proofs against the files, and vectors. Devices: records of runs on GPUs.",
        residual="Call sites are specification, not source; weak memory inside a kernel is A5.",
    ),
    Gap(
        number="G7",
        gap="Machine arithmetic is proved as integers with explicit wrapping.",
        mitigation="Results are bounded by explicit domains in every statement; release and debug builds are separate claims; "
        "`draftproof prove --full` tells them again in 64-bit bit-vectors, with the same faults, as far as solvers finish.",
        residual="A bound that is forgotten in the model, which vectors at the boundaries would show.",
    ),
    Gap(
        number="G8",
        gap="The assumptions A1 to A8.",
        mitigation="Each is numbered, carried by the hypotheses that need it, and has a run or model that shows what "
        "breaks without it.",
        residual="Whoever runs the engine must keep them.",
    ),
)
