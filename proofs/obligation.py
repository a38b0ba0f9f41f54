"""Obligations: a claim, what is given, what must follow, and why the claim is not empty.

A claim is a function from a `World` to a `Goal`. The world hands out terms (their domain becomes a named hypothesis), holds the
rules under judgement, notes every call of a rule (so that a model of the claim can be replayed on the code) and takes
instances of lemmas. One claim has two tellings, unbounded and bounded, by the `telling` around it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from spec.machine import Profile
from spec.rules import Rules
from spec.scope import Fold, Index, bound, every
from spec.sorts import Sort


class Kind(enum.Enum):
    """What the verdict has to be."""

    THEOREM = "theorem"
    """Must be proved."""
    BOUNDARY = "boundary"
    """Is meant to fail: must be refuted, by a model that the code confirms."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One use of a rule in a claim: its name, the argument terms by name, the result term, the build profile."""

    rule: str
    arguments: Mapping[str, Any]
    result: Any
    profile: Profile


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What a claim would say under a fault: hypotheses that it would be `without` (by name), and what would have to follow."""

    without: tuple[str, ...]
    show: z3.BoolRef


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What a claim says in one world: from everything `given` (by name) follows `show`.

    `witnesses` are situations, by name, in which all that is given can hold; one that cannot makes the claim vacuous there.
    `variants` are the claim under faults, by their names; each must be false. A bounded telling alone has them.
    """

    show: z3.BoolRef
    given: Mapping[str, z3.BoolRef] = field(default_factory=dict)
    witnesses: Mapping[str, z3.BoolRef] = field(default_factory=dict)
    variants: Mapping[str, Variant] = field(default_factory=dict)


@dataclass(kw_only=True)
class World:
    """The terms, rules and lemmas of one telling of one claim."""

    table: Rules
    calls: list[Call] = field(default_factory=list)
    domains: dict[str, z3.BoolRef] = field(default_factory=dict)
    lemmas: list[tuple[str, z3.BoolRef]] = field(default_factory=list)

    def some(self, sort: Sort, name: str) -> Any:
        """Any machine value of this shape."""
        term = sort.fresh(name)
        self.domains[f"{name} is a machine value"] = sort.domain(term)
        return term

    def rule(self, name: str, *arguments: Any, result: Any, profile: Profile = Profile.DEBUG) -> z3.BoolRef:
        """The rule gives `result` for these arguments (terms in the engine's order)."""
        rule = self.table[name]
        by_name = dict(zip(rule.params, arguments, strict=True))
        self.calls.append(Call(rule=name, arguments=by_name, result=result, profile=profile))
        return rule.holds(by_name, result, profile)

    def answer(self, name: str, rule: str, *arguments: Any, profile: Profile = Profile.DEBUG) -> tuple[Any, z3.BoolRef]:
        """Any result (a machine value called `name`) that the rule allows, and the statement that it is one."""
        result = self.some(self.table[rule].result, name)
        return result, self.rule(rule, *arguments, result=result, profile=profile)

    def use(self, lemma: Lemma, *arguments: Any) -> None:
        """Takes the lemma, stated for these arguments, as a hypothesis of the unbounded telling (and of no other)."""
        if bound() is None:
            self.lemmas.append((lemma.id, lemma.states(*arguments)))

    def use_everywhere(self, lemma: Lemma, names: str, low: Index, high: Index, *arguments: Any) -> None:
        """Takes the lemma for all indices in [low, high) as its last arguments, one for each of the names."""

        def nested(remaining: list[str], *indices: z3.ArithRef) -> z3.BoolRef:
            if not remaining:
                return lemma.states(*arguments, *indices)
            return every(remaining[0], low, high, lambda i: nested(remaining[1:], *indices, i))

        if bound() is None:
            self.lemmas.append((lemma.id, nested(names.split())))


Build = Callable[[World], Goal]

States = Callable[..., z3.BoolRef]
"""What a lemma states of its arguments."""

Arguments = Callable[[World], tuple[Any, ...]]
"""Gives arguments of which nothing is known, and takes the lemmas that the proof uses."""


@dataclass(frozen=True, kw_only=True)
class Lemma:
    """A proved statement, true of whatever arguments it is stated for. One by induction has the parts `id`.base and `id`.step."""

    id: str
    states: States


@dataclass(frozen=True, kw_only=True)
class Obligation:
    """A claim with its name and what it rests on. `module` is the basename of its model, code and claims."""

    id: str
    claim: str
    kind: Kind
    build: Build
    assumes: tuple[str, ...] = ()
    size: int = 3
    """The bound of its bounded telling: sequences of at most this many elements."""
    full_size: int | None = None
    """The bound of its second telling in a full run, where that is not `size`."""
    only_bounded: bool = False
    """The claim is stated for sequences of at most `size` elements, and says so."""
    theory: str = "int"
    """Machine words are integers with bounds, or 64-bit bit-vectors (`bv64`)."""
    rules: Rules | None = None
    """The rules that it is about, where these are not the ones that it is asked with: those of another theory."""

    @property
    def module(self) -> str:
        return self.id.split("/", 1)[0]


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """A claim told again in another theory, beside the obligation that it confirms and in place of none."""

    told: Obligation
    confirms: str = ""
    """The obligation that says the same, where one does."""
    unfinished: str = ""
    """Why no solver finishes it within a budget; then it counts for nothing, and is only said."""


class Register:
    """The obligations of one claims module, in the order in which they stand there."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.obligations: list[Obligation] = []

    def __iter__(self) -> Iterator[Obligation]:
        return iter(self.obligations)

    def theorem(self, name: str, claim: str, **options: Any) -> Callable[[Build], Build]:
        """Registers the decorated claim as one that must be proved."""
        return self._add(Kind.THEOREM, name, claim, options)

    def boundary(self, name: str, claim: str, **options: Any) -> Callable[[Build], Build]:
        """Registers the decorated claim as one that must be refuted."""
        return self._add(Kind.BOUNDARY, name, claim, options)

    def lemma(self, name: str, claim: str, *, states: States, **options: Any) -> Callable[[Arguments], Lemma]:
        """Registers a theorem that others may use; what it states is `states`, for any arguments.

        The decorated function gives arguments of which nothing is known (and lemmas used). What is proved has no hypotheses
        but these lemmas, so it holds for whatever arguments it is used with.
        """

        def register(fresh: Arguments) -> Lemma:
            @self.theorem(name, claim, **options)
            def statement(world: World) -> Goal:
                return Goal(show=states(*_of_nothing_known(world, fresh)))

            return Lemma(id=f"{self.module}/{name}", states=states)

        return register

    def induction(
        self, name: str, claim: str, *, states: States, folds: Callable[..., Sequence[Fold]], **options: Any
    ) -> Callable[[Arguments], Lemma]:
        """Registers a lemma about every m >= 0, its last argument: base and step, which together give it for every m.

        The decorated function gives all arguments but m; `folds` gives, for these, the folds that the statement speaks of, by
        whose definition alone it is proved.
        """

        def register(fresh: Arguments) -> Lemma:
            @self.theorem(f"{name}.base", f"{claim} Base: m = 0.", **options)
            def base(world: World) -> Goal:
                arguments = _of_nothing_known(world, fresh)
                return Goal(given=_definitions(folds(*arguments), None), show=states(*arguments, z3.IntVal(0)))

            @self.theorem(f"{name}.step", f"{claim} Step: from m to m + 1.", **options)
            def step(world: World) -> Goal:
                arguments, m = _of_nothing_known(world, fresh), z3.Int("m")
                given = {
                    **_definitions(folds(*arguments), m),
                    "m is a number": m >= 0,
                    "the claim holds for m": states(*arguments, m),
                }
                return Goal(given=given, show=states(*arguments, m + 1))

            return Lemma(id=f"{self.module}/{name}", states=states)

        return register

    def _add(self, kind: Kind, name: str, claim: str, options: Mapping[str, Any]) -> Callable[[Build], Build]:
        def register(build: Build) -> Build:
            new = Obligation(id=f"{self.module}/{name}", claim=claim, kind=kind, build=build, **options)
            self.obligations.append(new)
            return build

        return register


def _definitions(folds: Sequence[Fold], m: z3.ArithRef | None) -> dict[str, z3.BoolRef]:
    named = {}
    for fold in folds:
        name = f"{fold.name}({', '.join(map(str, fold.of))})" if fold.of else fold.name
        named[f"{name} by definition"] = fold.starts() if m is None else fold.unfolds(m)
    return named


def _of_nothing_known(world: World, fresh: Arguments) -> tuple[Any, ...]:
    arguments = fresh(world)
    if world.domains or world.calls:
        raise RuntimeError(f"lemma: it assumes {sorted(world.domains)}; state what it needs inside the statement itself")
    return arguments
