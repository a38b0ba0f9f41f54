"""Random calls of a rule, drawn from the shapes of its arguments so that they meet: words near each other, near a length of
a sequence and near the ends of their range; sequences that share a prefix or a length; numbers in odd dress.

A call is a function of the rule, the seed and its number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from spec.gate import WHITE_SPACE
from spec.rules import Rule
from spec.sorts import Concrete, Flag, Option, RawText, Sequence, Sort, Struct, Word

_DIGITS_OF_OTHERS = "\u0665\uff15\u00b2\U0001d7d3"
"""Digits for Python and Unicode, but not for the rule: Arabic-Indic, full width, superscript, mathematical."""

_NOT_UTF8 = ("ff", "c3", "80", "38ff", "2038c0", "eda080", "f4908080")


def draw(rule: Rule, random: Random, longest: int = 6) -> dict[str, Concrete]:
    """Arguments for one call, with sequences of at most `longest` elements, and of nearly so many where that is more than 6."""
    length = random.randint(0 if longest <= 6 else longest - 3, longest)
    anchors = [random.randrange(13), random.choice((2**32, 2**63, 2**64 - 1)), random.randrange(2**64)]
    drawn = _Draw(random=random, length=length, anchors=[length, *anchors])
    return {name: drawn.value(sort) for name, sort in rule.params.items()}


@dataclass(kw_only=True)
class _Draw:
    random: Random
    length: int
    anchors: list[int]
    """Words that the others lie near."""
    tokens: list[int] = field(default_factory=list)
    """The sequence of tokens drawn before, whose beginning the next one shares."""

    def value(self, sort: Sort) -> Concrete:
        if isinstance(sort, Flag):
            return self.random.random() < 0.5
        if isinstance(sort, Word):
            return self._word(sort)
        if isinstance(sort, Option):
            return None if self.random.random() < 0.1 else self.value(sort.some)
        if isinstance(sort, Struct):
            parts = {name: self.value(part) for name, part in sort.parts}
            return list(parts.values()) if sort.is_tuple else parts
        if isinstance(sort, Sequence):
            return self._sequence(sort.element)
        if isinstance(sort, RawText):
            return self._raw_text()
        raise TypeError(f"draw: sort={sort!r} has no random values; give it some here")

    def _word(self, sort: Word) -> Concrete:
        if self.random.random() < 0.1:
            return self.random.randrange(2**sort.bits)
        # Anchors beyond a narrow word stand for its own end.
        near = min(self.random.choice(self.anchors), 2**sort.bits - 1) + self.random.randint(-2, 2)
        return min(max(near, 0), 2**sort.bits - 1)

    def _sequence(self, element: Sort) -> list[Concrete]:
        if isinstance(element, Word) and element.bits == 32:
            return self._tokens()
        # Sequences of one call belong together, so their lengths rarely differ.
        length = self.length if self.random.random() < 0.95 else self.random.randint(0, self.length + 1)
        return [self.value(element) for _ in range(length)]

    def _tokens(self) -> list[Concrete]:
        shared = self.tokens[: self.random.randint(0, len(self.tokens))] if self.random.random() < 0.8 else self.tokens[:]
        alphabet = (0, 1, 2**32 - 1)
        self.tokens = shared + [self.random.choice(alphabet) for _ in range(max(0, self.length - len(shared)))]
        return list(self.tokens)

    def _raw_text(self) -> Concrete:
        kind = self.random.random()
        if kind < 0.02:
            return None
        if kind < 0.1:
            return {"hex": self.random.choice(_NOT_UTF8)}
        number = self.random.choice((self.random.randrange(40), 2**64 + self.random.randint(-2, 2), self.anchors[-1]))
        zeros = "0" * (self.length if self.length > 6 or self.random.random() < 0.3 else 0)
        sign = self.random.choice(("", "", "+", "++", "-", "+ "))
        tail = self.random.choice(("", "", "", " 0", "\u30007", "_0", ".0", "e3", "\x00", *_DIGITS_OF_OTHERS))
        return self._blank() + sign + zeros + str(number) + tail + self._blank()

    def _blank(self) -> str:
        """White space, now and then with a neighbour of it."""
        found = []
        for _ in range(self.random.choice((0, 0, 1, 2, self.length))):
            first, last = self.random.choice(WHITE_SPACE)
            beside = self.random.choice((-1, 1)) if self.random.random() < 0.1 else 0
            found.append(chr(self.random.choice((first, last)) + beside))
        return "".join(found)
