"""The law of every additive statistic: a sum over shards is the statistic of the whole.

Each subclass of `Statistic` in the library stands in `MAPPERS` with the map step that makes it, over the rows of a
small sample; a new statistic without one fails here.
"""

import dataclasses
import functools
import importlib
import itertools
import operator
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import shiftmetrics
from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.blocks import Statistic

ROWS = 40
"""Rows of the sample behind every statistic here."""

Mapper = Callable[[slice], Statistic]
"""The map step of a measure: from rows to a statistic."""


@dataclass(frozen=True, eq=False)
class ToyMoments(Statistic):
    """A statistic of each kind of field, for the base class itself."""

    count: float
    total: FloatArray
    products: FloatArray


def moments() -> Mapper:
    rows = np.random.default_rng(0).standard_normal((ROWS, 3))

    def of(part: slice) -> ToyMoments:
        return ToyMoments(
            count=float(len(rows[part])),
            total=rows[part].sum(axis=0),
            products=rows[part].T @ rows[part],
        )

    return of


def agreement(of_pairs: Callable[[Any], Statistic]) -> Mapper:
    from shiftmetrics.agreement.scores import prepare_pairs

    reference = np.random.default_rng(0).normal(size=(ROWS, 4)).round(1)
    scores = reference + np.random.default_rng(1).normal(size=(ROWS, 4)).round(1)
    scores[:3] = reference[:3]
    return lambda part: of_pairs(prepare_pairs(scores[part], reference[part]))


def agreement_at_betas() -> Mapper:
    from shiftmetrics.agreement.statistic import evaluator

    return agreement(lambda pairs: evaluator(pairs)([0.0, 0.1, 1.0, 50.0]))


def agreement_limits() -> Mapper:
    from shiftmetrics.agreement.statistic import limits_of

    return agreement(limits_of)


def agreement_on_grid() -> Mapper:
    from shiftmetrics.agreement.grid import grid_betas, grid_statistic

    return agreement(lambda pairs: grid_statistic(pairs, grid_betas(0.1, 100.0)))


def stability(kernel: Callable[[Any, Any, slice], Statistic]) -> Mapper:
    from shiftmetrics.stability import HingeLoss

    rng = np.random.default_rng(0)
    loss, weights = HingeLoss(rng.normal(size=ROWS), 1.5), rng.uniform(0.5, 2.0, size=ROWS)
    return lambda part: kernel(loss, weights, part)


def dual(divergence: str, theta2: float) -> Mapper:
    from shiftmetrics.stability import divergence as divergences
    from shiftmetrics.stability.passes import AtDual, DualPass

    return stability(DualPass(AtDual(2.0, 0.4), getattr(divergences, divergence)(theta2), 0.3))


def baseline() -> Mapper:
    from shiftmetrics.stability.passes import BaselinePass

    return stability(BaselinePass(0.4))


def plan() -> Mapper:
    from shiftmetrics.stability.divergence import KullbackLeibler, Moment
    from shiftmetrics.stability.passes import AtDual
    from shiftmetrics.stability.plan import PlanPart, PlanPass

    moment = Moment(dual=0.5, conjugate=1.0, risk=0.5, normaliser=0.7)
    parts = (PlanPart(AtDual(0.5, 0.4), moment, 0.4), PlanPart(AtDual(0.6, 0.4), moment, 0.6))
    return stability(PlanPass(parts, KullbackLeibler(0.4)))


def novelty_moments() -> Mapper:
    from shiftmetrics.novelty.score.spectrum import Moments

    rng = np.random.default_rng(0)
    coordinates = rng.normal(size=(ROWS, 3))
    coordinates *= 0.9 / np.linalg.norm(coordinates, axis=1, keepdims=True)

    def of(part: slice) -> Moments:
        rows = coordinates[part]
        left_out = 1.0 - (rows**2).sum(axis=1)
        return Moments(
            products=rows.T @ rows / ROWS,
            residual=float(left_out.sum()) / ROWS,
            spread=float(np.sqrt(left_out * (1.0 - left_out)).sum()) / ROWS,
        )

    return of


MAPPERS: dict[str, Callable[[], Mapper]] = {
    "AgreementGridStatistic": agreement_on_grid,
    "AgreementLimits": agreement_limits,
    "AgreementStatistic": agreement_at_betas,
    "BaselineStatistic": baseline,
    "ExponentialStatistic": lambda: dual("KullbackLeibler", 0.01),
    "MomentStatistic": lambda: dual("ChiSquared", 0.4),
    "Moments": novelty_moments,
    "ToyMoments": moments,
    "PlainStatistic": lambda: dual("Divergence", np.inf),
    "PlanStatistic": plan,
}


def subclasses(cls: type) -> Iterator[type]:
    for child in cls.__subclasses__():
        yield child
        yield from subclasses(child)


def library_statistics() -> dict[str, type]:
    """Import every module of the library and collect its statistics by name."""
    for module in pkgutil.walk_packages(shiftmetrics.__path__, "shiftmetrics."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return {
        cls.__name__: cls
        for cls in subclasses(Statistic)
        if cls.__module__.startswith("shiftmetrics.")
    }


@pytest.fixture(params=sorted(MAPPERS))
def mapper(request: pytest.FixtureRequest) -> Mapper:
    return MAPPERS[request.param]()


@pytest.fixture
def make(mapper: Mapper) -> Callable[[int], Statistic]:
    """Return a function from a small number to the statistic of a part of the sample."""
    return lambda number: mapper(slice(8 * number, 8 * number + 8))


def assert_same(first: Statistic, second: Statistic, rtol: float = 0.0) -> None:
    assert type(first) is type(second)
    for name in first.field_names():
        a, b = getattr(first, name), getattr(second, name)
        assert np.shape(a) == np.shape(b)
        scale = np.max(np.abs(np.where(np.isfinite(a), a, 0.0)), initial=0.0)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale, err_msg=name)


# --- the law ---------------------------------------------------------------------------------------------


def test_every_statistic_has_a_map_step() -> None:
    pytest.importorskip("torch")  # some stand in adapters of it
    known = library_statistics()
    assert set(known) - set(MAPPERS) == set(), "add the map step of these to MAPPERS"
    assert set(MAPPERS) - set(known) == {"ToyMoments"}, (
        "these are no more; take them out of MAPPERS"
    )
    for name, cls in known.items():
        assert type(MAPPERS[name]()(slice(0, 8))) is cls


def test_shards_equal_the_whole(mapper: Mapper) -> None:
    whole = mapper(slice(0, ROWS))
    for cuts in ([1], [39], [7, 8, 9], list(range(1, ROWS))):
        ends = [0, *cuts, ROWS]
        shards = [mapper(slice(start, stop)) for start, stop in itertools.pairwise(ends)]
        assert_same(functools.reduce(operator.add, shards), whole, rtol=1e-12)


def test_zeros_are_neutral(make: Callable[[int], Statistic]) -> None:
    statistic = make(0)
    zeros = statistic.unpack(np.zeros(statistic.pack().size))
    assert_same(statistic + zeros, statistic)
    assert_same(zeros + statistic, statistic)
    assert_same(zeros + zeros, zeros)


def test_order_and_grouping_matter_only_to_rounding(make: Callable[[int], Statistic]) -> None:
    parts = [make(seed) for seed in range(5)]
    forward = functools.reduce(operator.add, parts)
    assert_same(forward, functools.reduce(operator.add, reversed(parts)), rtol=1e-12)
    assert_same(forward, (parts[0] + parts[1]) + (parts[2] + (parts[3] + parts[4])), rtol=1e-12)


def test_adding_leaves_its_operands_alone(make: Callable[[int], Statistic]) -> None:
    first, second = make(0), make(1)
    before = first.pack().copy(), second.pack().copy()
    total = first + second
    for name in total.field_names():
        if isinstance(getattr(total, name), np.ndarray):
            assert not np.shares_memory(getattr(total, name), getattr(first, name))
            assert not np.shares_memory(getattr(total, name), getattr(second, name))
    np.testing.assert_array_equal(first.pack(), before[0])
    np.testing.assert_array_equal(second.pack(), before[1])


def test_packing_inverts_unpacking(make: Callable[[int], Statistic]) -> None:
    statistic = make(0)
    packed = statistic.pack()
    assert packed.dtype == np.float64
    assert packed.ndim == 1
    assert_same(statistic.unpack(packed), statistic)
    assert_same(
        make(1).unpack(packed), statistic
    )  # any statistic of the shape can open the message
    opened = statistic.unpack(packed)
    packed[:] = -1.0  # a buffer that is used again must not change what was read from it
    assert_same(opened, statistic)


def test_a_message_of_another_length_is_refused(make: Callable[[int], Statistic]) -> None:
    statistic = make(0)
    size = statistic.pack().size
    for length in (0, size - 1, size + 1):
        with pytest.raises(
            ValueError, match=f"vector must be of length {size}, got length {length}"
        ):
            statistic.unpack(np.zeros(length))


def test_it_travels_between_processes(make: Callable[[int], Statistic]) -> None:
    statistic = make(0)
    copy = pickle.loads(pickle.dumps(statistic))
    assert_same(copy, statistic)
    assert_same(copy + make(1), statistic + make(1))


def test_it_is_frozen_and_float64(make: Callable[[int], Statistic]) -> None:
    statistic = make(0)
    for name in statistic.field_names():
        value = getattr(statistic, name)
        assert isinstance(value, float) or (
            isinstance(value, np.ndarray) and value.dtype == np.float64
        )
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(statistic, name, 0.0)


def test_another_statistic_cannot_be_added(make: Callable[[int], Statistic]) -> None:
    @dataclass(frozen=True, eq=False)
    class Other(Statistic):
        count: float = 0.0

    with pytest.raises(TypeError):
        make(0) + Other()
    with pytest.raises(TypeError):
        make(0) + 1.0


# --- the base class --------------------------------------------------------------------------------------


def test_shapes_never_broadcast() -> None:
    one = ToyMoments(count=1.0, total=np.ones(1), products=np.ones((1, 1)))
    with pytest.raises(
        ValueError, match=r"other must be a ToyMoments with total of shape \(3,\), got shape \(1,\)"
    ):
        moments()(slice(0, 3)) + one
