"""Figures of the engine: beside a prediction, and as points of a series, so that a plot is drawn from the record alone."""

from __future__ import annotations

from dataclasses import dataclass

from proofs.gpu.bench import Figure


@dataclass(frozen=True, kw_only=True)
class Figured(Figure):
    """A figure with what was predicted, and where it lies in a plot.

    predicted, within: it is reached where the rate is at most `within` from the prediction. series, x: the line of a plot
    that it is a point of, and where on the line. note: what it was made of.
    """

    predicted: float | None = None
    within: float | None = None
    series: str = ""
    x: float | None = None
    note: str = ""

    @property
    def reached(self) -> bool:
        """Whether the figure is as predicted, and reaches its target if it has one."""
        near = self.predicted is None or self.within is None or abs(self.rate - self.predicted) <= self.within
        return near and super().reached
