"""The shortest run of a system model that ends in a given harm: minimal in steps, then in actors, then in the sum of its data.

One step of the model is told once, as bits (`finite`), and then repeated under new names. Lengths are tried in order, so a run
that is found is a shortest one in the scope, and "none up to a length" is a proof within it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from proofs.obligation import Call, World
from proofs.smt import fresh_context
from proofs.traces.finite import BITS, LARGE, Bits
from proofs.traces.settings import Setting
from proofs.traces.trace import RuleCall, Step, Trace
from spec.rules import Rules
from spec.scope import telling
from spec.system_laws import Law

BEFORE, AFTER, AT = "before:", "after:", "at:"
"""What the symbols of a step start with: its states, and its choices."""


@dataclass
class _Unrolled:
    """One step in bits, and how it is told for the k-th time."""

    setting: Setting
    rules: Rules
    bits: Bits
    actions: list[str]
    step: z3.BoolRef
    calls: Mapping[str, list[Call]]
    choices: Mapping[str, frozenset[str]]
    """For each action the variables among its choices that it uses."""
    _names: dict[int, list[tuple[z3.ExprRef, z3.ExprRef]]] = field(default_factory=dict)

    def told(self, formula: z3.ExprRef, k: int) -> z3.ExprRef:
        """A formula over the state before step k, the step and the state after it."""
        if k not in self._names or len(self._names[k]) != len(self.bits.variables):
            self._names[k] = [(variable, _renamed(variable, k)) for variable in self.bits.variables.values()]
        return z3.substitute(formula, *self._names[k])


def _renamed(variable: z3.ExprRef, k: int) -> z3.ExprRef:
    name = _at(variable.decl().name(), k)
    return z3.Bool(name) if z3.is_bool(variable) else z3.BitVec(name, BITS)


def _at(name: str, k: int) -> str:
    if name.startswith(BEFORE):
        return f"{k}:{name[len(BEFORE) :]}"
    if name.startswith(AFTER):
        return f"{k + 1}:{name[len(AFTER) :]}"
    return f"{k}.{name}" if AT in name else name


def _constants(formula: z3.ExprRef) -> frozenset[str]:
    found, seen, pending = set(), set(), [formula]
    while pending:
        term = pending.pop()
        if term.get_id() not in seen:
            seen.add(term.get_id())
            if z3.is_const(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED:
                found.add(term.decl().name())
            pending.extend(term.children())
    return frozenset(found)


def _unrolled(setting: Setting, rules: Rules, bad: Callable[[Any], z3.BoolRef]) -> tuple[_Unrolled, dict[str, z3.BoolRef]]:
    """The step, and by name the other formulas of the search, all in bits."""
    model = setting.model
    before, after = model.any_state(BEFORE), model.any_state(AFTER)
    bodies: dict[str, z3.BoolRef] = {}
    calls: dict[str, list[Call]] = {}
    touched: dict[str, set[str]] = {}
    with telling(bound=setting.longest) as block:
        for name, action in model.ACTIONS.items():
            world = World(table=rules)
            taken = action(before, model.Act(world, AT))
            parts = [*taken.guard.values(), *world.domains.values()]
            parts += [each.says(z3.IntVal(i)) for each in taken.each for i in setting.extent(each.over)]
            for (cell, new), (_, value) in zip(setting.cells(after), setting.cells(taken.after), strict=True):
                if getattr(taken.after, cell) is not getattr(before, cell):
                    touched.setdefault(cell, set()).add(name)
                    parts.append(new == value)
            parts += block.definitions.values()
            parts += block.limits
            block.definitions.clear()
            block.limits.clear()
            bodies[name], calls[name] = z3.And(parts), world.calls
        start = zip(setting.cells(before), setting.cells(model.initial_state()), strict=True)
        others = {
            "initially": z3.And([cell == value for (_, cell), (_, value) in start]),
            "fixed": z3.And(list(setting.fixed())),
            "inside": z3.And(list(setting.inside(after))),
            "bad": bad(before),
        }
    frames: dict[str, list[z3.BoolRef]] = {}
    for (cell, new), (_, old) in zip(setting.cells(after), setting.cells(before), strict=True):
        frames.setdefault(cell, []).append(new == old)
    kinds, given = model.SHAPES, setting.given()

    def ranges(function: str) -> list[range]:
        base = function.rsplit(":", 1)[-1]
        if base in kinds:
            return [setting.extent(kind) for kind in kinds[base][0]]
        return list(given[base]) if base in given else [setting.extent("block")]

    bits = Bits(ranges)
    bits.learn([*bodies.values(), *others.values(), *(e for eqs in frames.values() for e in eqs)])
    code = z3.BitVec(f"{AT}action", BITS)
    names = list(bodies)
    parts, used = [], {}
    for n, name in enumerate(names):
        body = bits(bodies[name])
        used[name] = frozenset(c for c in _constants(body) if AT in c)
        parts.append(z3.Implies(code == n, body))
    for cell, same in frames.items():
        changing = [code == n for n, name in enumerate(names) if name in touched.get(cell, ())]
        parts.append(z3.Or(z3.And([bits(e) for e in same]), *changing))
    parts.append(z3.And(0 <= code, code < len(names)))
    others_in_bits = {name: bits(formula) for name, formula in others.items()}
    chosen = setting.chosen()
    for name, variable in bits.variables.items():
        if AT in name:
            # A choice that the action does not use is no choice.
            using = [code == n for n, action in enumerate(names) if name in used[action]]
            parts.append(z3.Or(*using, z3.Not(variable) if z3.is_bool(variable) else variable == 0))
            if (of := chosen.get(name.removeprefix(AT))) is not None:
                parts.append(z3.Implies(z3.Or(using), z3.And(of.start <= variable, variable < of.stop)))
        if not z3.is_bool(variable):
            # Numbers stay where sums of two do not reach the large constants.
            parts.append(z3.And(variable >= -2, variable < LARGE // 2) if AT not in name else variable >= -2)
    bits.variables[f"{AT}action"] = code
    step = z3.simplify(z3.And(*parts, others_in_bits["inside"]))
    whole = _Unrolled(setting=setting, rules=rules, bits=bits, actions=names, step=step, calls=calls, choices=used)
    return whole, others_in_bits


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a search came to: the trace, or that there is none up to the length."""

    trace: Trace | None
    searched: int
    """Every run shorter than this was excluded."""


def shortest(setting: Setting, rules: Rules, harm: Law, *, limit: int = 10) -> Found:
    """The minimal run of at most `limit` steps in the scope after which `harm` is false for some identities."""
    fresh_context()

    def broken(state: Any) -> Iterator[z3.BoolRef]:
        for place in setting.instances(harm):
            yield z3.Not(harm.says(state, *map(z3.IntVal, place)))

    whole, formulas = _unrolled(setting, rules, lambda state: z3.Or(list(broken(state))))
    return _search(whole, formulas, lambda: _last(setting, harm), limit)


def shortest_to(setting: Setting, rules: Rules, action: str, *, limit: int = 10) -> Found:
    """The minimal run of at most `limit` steps that ends with `action`."""
    fresh_context()
    whole, formulas = _unrolled(setting, rules, lambda state: z3.BoolVal(False))
    wanted = z3.BitVec(f"{AT}action", BITS) == whole.actions.index(action)
    return _search(whole, {**formulas, "last": wanted}, lambda: None, limit)


def follow(setting: Setting, rules: Rules, given: Mapping[str, Any], steps: Sequence[Step]) -> Trace | None:
    """The model's run with exactly this data and these actions and choices; None if it allows none.

    What the steps say of calls and states is not looked at: those of the answer are the model's.
    """
    fresh_context()
    whole, formulas = _unrolled(setting, rules, lambda state: z3.BoolVal(False))
    solver = z3.SolverFor("QF_FD")
    solver.add(whole.told(formulas["initially"], 0), whole.told(formulas["fixed"], 0))
    for term, value in setting.retold(given):
        solver.add(whole.told(whole.bits(term), 0) == (z3.BoolVal(value) if z3.is_bool(term) else whole.bits.number(value)))
    for k, step in enumerate(steps):
        solver.add(whole.told(whole.step, k))
        code = z3.BitVec(_at(f"{AT}action", k), BITS)
        solver.add(code == whole.actions.index(step.action))
        for name in whole.choices[step.action]:
            base, _, index = name.removeprefix(AT).partition("[")
            variable = _renamed(whole.bits.variables[name], k)
            if base in ("draws", "writes"):
                solver.add(variable == (int(index[:-1]) in step.choices.get(base, ())))
            elif base in setting.chosen():
                solver.add(variable == whole.bits.number(step.choices[base]))
    if not _some(solver):
        return None
    return _extracted(whole, solver.model(), len(steps), None)


def _last(setting: Setting, harm: Law) -> tuple[Law, Setting]:
    return harm, setting


def _search(
    whole: _Unrolled, formulas: Mapping[str, z3.BoolRef], harm: Callable[[], tuple[Law, Setting] | None], limit: int
) -> Found:
    solver = z3.SolverFor("QF_FD")
    solver.add(whole.told(formulas["initially"], 0), whole.told(formulas["fixed"], 0))
    for k in range(limit + 1):
        here = z3.Bool(f"harm after {k}")
        if "last" in formulas:
            solver.add(z3.Implies(here, whole.told(formulas["last"], k - 1) if k else z3.BoolVal(False)))
        else:
            solver.add(z3.Implies(here, whole.told(formulas["bad"], k)))
        if _some(solver, here):
            return Found(trace=_minimal(solver, whole, here, k, harm()), searched=k)
        if k < limit:
            solver.add(whole.told(whole.step, k))
    return Found(trace=None, searched=limit + 1)


def _some(solver: z3.Solver, *assumed: z3.BoolRef) -> bool:
    """Whether there is a run. RuntimeError if the solver gives up: that no run is found would then mean nothing."""
    if (answer := solver.check(*assumed)) == z3.unknown:
        raise RuntimeError(f"search: the solver gave up: {solver.reason_unknown()}; narrow the scope")
    return bool(answer == z3.sat)


def _minimal(solver: z3.Solver, whole: _Unrolled, here: z3.BoolRef, k: int, harm: tuple[Law, Setting] | None) -> Trace:
    state = whole.setting.model.any_state(BEFORE)
    for used in [whole.told(whole.bits(actor), k) for actor in whole.setting.actors(state)]:
        if _some(solver, here, z3.Not(used)):
            solver.add(z3.Not(used))
    weights = _weights(whole, k)
    assert _some(solver, here)
    best = solver.model()
    # Downwards, not by halves: a smaller run is found sooner than it is shown that there is none, which is thus shown once.
    while size := sum(weight for bit, weight in weights if z3.is_true(best.eval(bit, model_completion=True))):
        smaller = z3.Bool(f"below {size}")
        solver.add(z3.Implies(smaller, z3.PbLe(weights, size - 1)))
        if not _some(solver, here, smaller):
            break
        best = solver.model()
    return _extracted(whole, best, k, harm)


def _weights(whole: _Unrolled, k: int) -> list[tuple[z3.BoolRef, int]]:
    """The bits of everything in a run that could be smaller, each with what it adds to the sum."""
    sizes: Iterable[z3.ExprRef] = [whole.told(whole.bits(s), 0) for s in whole.setting.sizes(None)]
    choices = [
        _renamed(variable, j)
        for name, variable in whole.bits.variables.items()
        for j in range(k)
        if name.removeprefix(AT).split("[")[0] in (*whole.setting.chosen(), "draws", "writes")
    ]
    weights: list[tuple[z3.BoolRef, int]] = []
    for part in [*sizes, *choices]:
        if z3.is_bool(part):
            weights.append((part, 1))
        else:
            weights += [(z3.Extract(bit, bit, part) == 1, 2**bit) for bit in range(BITS)]
    return weights


@dataclass
class _Reader:
    """Gives terms of the model their values in one state or step of a run; stands for a solver's model of them."""

    whole: _Unrolled
    model: z3.ModelRef
    k: int

    def eval(self, term: z3.ExprRef, model_completion: bool = True) -> z3.ExprRef:
        bits = self.whole.bits(term)
        single = z3.is_const(bits) and self.whole.bits.variables.get(bits.decl().name())
        here = _renamed(bits, self.k) if single is not None and single is not False else self.whole.told(bits, self.k)
        value = self.model.eval(here, model_completion=model_completion)
        return value if z3.is_bool(value) else z3.IntVal(self.whole.bits.meant(value.as_signed_long()))

    def __call__(self, term: z3.ExprRef) -> Any:
        value = self.eval(term)
        return z3.is_true(value) if z3.is_bool(value) else value.as_long()


def _extracted(whole: _Unrolled, model: z3.ModelRef, k: int, harm: tuple[Law, Setting] | None) -> Trace:
    setting = whole.setting
    state = setting.model.any_state(BEFORE)
    steps = []
    for j in range(k):
        read = _Reader(whole, model, j)
        action = whole.actions[model.eval(whole.told(whole.bits.variables[f"{AT}action"], j)).as_signed_long()]
        calls = [_call(whole, call, read) for call in whole.calls[action]]
        steps.append(
            Step(
                action=action,
                choices=_choices(whole, action, read),
                calls=tuple(calls),
                after=setting.snapshot(state, _Reader(whole, model, j + 1)),
            )
        )
    read = _Reader(whole, model, k)
    place: tuple[int, ...] = ()
    name = ""
    if harm is not None:
        law, _ = harm
        name = law.name
        place = next(p for p in setting.instances(law) if not read(law.says(state, *map(z3.IntVal, p))))
    return Trace(given=setting.told(_Reader(whole, model, 0)), steps=tuple(steps), harm=name, place=place)


def _choices(whole: _Unrolled, action: str, read: _Reader) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name in sorted(whole.choices[action]):
        base, _, index = name.removeprefix(AT).partition("[")
        if base in ("draws", "writes"):
            chosen = told.setdefault(base, [])
            if z3.is_true(read.model.eval(whole.told(whole.bits.variables[name], read.k), model_completion=True)):
                chosen.append(int(index[:-1]))
        elif base in whole.setting.chosen():
            value = read.model.eval(whole.told(whole.bits.variables[name], read.k), model_completion=True)
            told[base] = value.as_signed_long()
    return told


def _call(whole: _Unrolled, call: Call, read: _Reader) -> RuleCall:
    rule = whole.rules[call.rule]
    arguments = {name: sort.read(read, call.arguments[name]) for name, sort in rule.params.items()}
    return RuleCall(rule=call.rule, arguments=arguments, result=rule.result.read(read, call.result))
