"""The root of a monotone function that may jump, where it is the slope of a convex function known by its values.

Equivalently the minimum of a convex function of one positive variable, from values and slopes. At a kink of the
convex function the slope jumps across zero and no point is a root: so what is returned is a bracket, with both
evaluations, whose tangents enclose the minimum.

The search keeps a bracket and chooses each trial by one of three rules: the minimum of the cubic through both values
and slopes (J. Nocedal and S. Wright, Numerical Optimization, 2006, equation 3.59), which is fast where the function
is smooth; the point where both tangents meet (the cutting plane of J. Kelley, Journal of SIAM 8, 1960, in one
dimension), which is exact at a kink; and halves, which always work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

S = TypeVar("S")

_INSET = 2.0**-8
"""Least distance of a trial from the ends of a bracket, as a fraction of it: a root beside an end is caught, or the
bracket shrinks to almost nothing."""
_LARGEST = 2.0**512
"""Where a search without an upper end gives up: squares are still finite."""


@dataclass(frozen=True)
class Probe(Generic[S]):
    """An evaluation: the convex function and its slope at ``x``, and whatever else the caller needs of it."""

    x: float
    value: float
    slope: float
    state: S


@dataclass(frozen=True)
class Bracket(Generic[S]):
    """Two evaluations around a root: ``low.slope <= 0 <= high.slope`` when ``closed``.

    Without a change of sign both are the last evaluation.
    """

    low: Probe[S]
    high: Probe[S]
    evaluations: int
    closed: bool = True

    @property
    def width(self) -> float:
        """Distance between the ends."""
        return self.high.x - self.low.x

    @property
    def low_fraction(self) -> float:
        """Weight of the low end in the mixture of both whose slope is zero."""
        if self.low is self.high or self.low.slope == 0.0:
            return 1.0
        return self.high.slope / (self.high.slope - self.low.slope)

    @property
    def high_fraction(self) -> float:
        """Weight of the high end, ``1 - low_fraction`` with all its digits."""
        if self.low is self.high or self.low.slope == 0.0:
            return 0.0
        return self.low.slope / (self.low.slope - self.high.slope)

    @property
    def least(self) -> float:
        """The smaller of the two values: an upper bound of the minimum."""
        return min(self.low.value, self.high.value)

    @property
    def gap(self) -> float:
        """How far the minimum may lie below the smaller of both values: down to where the tangents meet."""
        if not self.closed:
            return math.inf
        if self.low is self.high:
            return 0.0
        # The tangents are lower bounds of a convex function, and the larger of both is least where they meet.
        # There it lies (1 - low_fraction) (width * slope_high - rise) below the low end.
        rise = self.high.value - self.low.value
        below_low = (1.0 - self.low_fraction) * (self.width * self.high.slope - rise)
        return max(below_low + min(rise, 0.0), 0.0)

    @property
    def kink(self) -> float:
        """Where the tangents meet: the root itself if the function is two lines."""
        # value_low + slope_low t = value_high - slope_high (width - t), solved for t
        rise = self.high.value - self.low.value
        return self.low.x + (self.width * self.high.slope - rise) / (
            self.high.slope - self.low.slope
        )

    @property
    def turn(self) -> float:
        """Where the cubic through both values and slopes is least: the root if the function is smooth."""
        low = self.low.slope
        high = self.high.slope
        # slope(t) = low (1 - t) + high t + bend t (1 - t), whose mean over the bracket is rise / width
        bend = 6.0 * (self.high.value - self.low.value) / self.width - 3.0 * (low + high)
        if abs(bend) > high - low:
            # The cubic is not convex: there is a kink, or the values agree in all digits. Use the secant.
            bend = 0.0
        # The root of a quadratic, in the form that does not cancel where bend is small.
        linear = high - low + bend
        root = math.sqrt(max(linear * linear + 4.0 * bend * low, 0.0))
        return self.low.x - 2.0 * low / (linear + root) * self.width


def monotone_root(
    evaluate: Callable[[float], Probe[S]],
    start: float,
    accept: Callable[[Bracket[S]], bool],
    *,
    low: Probe[S] | None = None,
    lower: float = 0.0,
    upper: float = math.inf,
    max_iter: int = 200,
) -> Bracket[S]:
    """Find where the nondecreasing slope of a convex function changes its sign.

    Parameters
    ----------
    evaluate : callable
        Maps a number between ``lower`` and ``upper`` to its `Probe`.
    start : float
        First guess, strictly between ``lower`` and ``upper``.
    accept : callable
        Returns True if a bracket is good enough.
    low : Probe, optional
        An evaluation known already, with a negative slope.
    lower, upper : float, default 0 and inf
        Ends of the domain, themselves outside it; ``lower`` is finite.
    max_iter : int, default 200
        Most evaluations.

    Returns
    -------
    Bracket
        Of two evaluations with both signs. Not ``closed`` if the slope has one sign in the whole domain, or in as
        much of it as ``max_iter`` evaluations saw.
    """
    search = _RootSearch(evaluate, lower, upper, max_iter)
    bracket = search.enclose(start, low)
    return search.refine(bracket, accept) if bracket.closed else bracket


class _RootSearch(Generic[S]):
    """The two phases of `monotone_root`, and what they count."""

    def __init__(
        self, evaluate: Callable[[float], Probe[S]], lower: float, upper: float, max_iter: int
    ) -> None:
        self.evaluate = evaluate
        self.lower = lower
        self.upper = upper
        self.max_iter = max_iter
        self.evaluations = 0

    def probe(self, x: float) -> Probe[S]:
        self.evaluations += 1
        return self.evaluate(x)

    def bracket(self, low: Probe[S], high: Probe[S], *, closed: bool = True) -> Bracket[S]:
        return Bracket(low, high, self.evaluations, closed)

    def enclose(self, start: float, low: Probe[S] | None) -> Bracket[S]:
        """Walk away from ``start``, faster and faster, until the slope changes its sign."""
        before = low
        high = None
        x = start
        stride = 4.0
        while True:
            last = self.probe(x)
            if last.slope == 0.0:
                return self.bracket(last, last)
            if not (math.isfinite(last.slope) and math.isfinite(last.value)):
                # An overflow: the domain ends before x. Go back towards what is known.
                self.upper = x
                known = self.lower if low is None else low.x
                x = known + (x - known) / stride
            elif last.slope < 0.0:
                before = low
                low = last
                x = self.farther(before, last, stride)
            else:
                high = last
                x = self.lower + (x - self.lower) / stride
            if low is not None and high is not None:
                return self.bracket(low, high)
            # The ends of the domain are outside it.
            x = min(
                max(x, math.nextafter(self.lower, math.inf)),
                math.nextafter(self.upper, 0.0),
                _LARGEST,
            )
            at_the_end = x == last.x or (low is not None and x <= low.x)
            if at_the_end or self.evaluations >= self.max_iter:
                return self.bracket(low or last, low or last, closed=False)
            # Strides of 4, 16, 256, ... cross any number of orders of magnitude in a few steps.
            stride = min(stride * stride, 2.0**64)

    def farther(self, before: Probe[S] | None, last: Probe[S], stride: float) -> float:
        """Step towards the upper end: as far as the line through two slopes says, and as far again."""
        if math.isinf(self.upper):
            x = self.lower + (last.x - self.lower) * stride
        else:
            x = self.upper - (self.upper - last.x) / stride
        if before is None or last.slope <= before.slope:
            return x
        # Newton with the secant of the last two slopes, twice as far: it should end on the other side.
        guess = last.x - 2.0 * last.slope * (last.x - before.x) / (last.slope - before.slope)
        return min(x, max(guess, last.x + (x - last.x) * 1e-3))

    def refine(self, bracket: Bracket[S], accept: Callable[[Bracket[S]], bool]) -> Bracket[S]:
        """Shrink the bracket: cubics while they help, then kinks, then halves."""
        low = bracket.low
        high = bracket.high
        rule = 0
        while low is not high and not accept(bracket) and self.evaluations < self.max_iter:
            width = bracket.width
            half = 0.5 * (low.x + high.x)
            x = (bracket.turn, bracket.kink, half)[rule]
            # Not too close to an end: a trial there would shrink the bracket by almost nothing.
            x = min(max(x, low.x + _INSET * width), high.x - _INSET * width)
            if not low.x < x < high.x:
                x = half
                if not low.x < x < high.x:
                    break  # the ends are neighbours among floats
            middle = self.probe(x)
            least = min(-low.slope, high.slope)
            if middle.slope < 0.0:
                low = middle
            elif middle.slope > 0.0:
                high = middle
            else:
                low = high = middle
            bracket = self.bracket(low, high)
            # A rule is kept while it cuts the bracket, or the slope, to a quarter. Heuristic: 1/4 is what two
            # halvings would do. Halving itself is done once, then the cubic gets another try.
            helped = bracket.width < 0.25 * width or abs(middle.slope) < 0.25 * least
            if not helped or rule == 2:
                rule = (rule + 1) % 3
        return bracket
