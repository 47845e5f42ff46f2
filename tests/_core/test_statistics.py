"""The law of every additive statistic: a sum over shards is the statistic of the whole.

Each subclass of `Statistic` in the library stands in `FACTORIES` with a function from a seed to an instance of one
fixed shape; a new statistic without a factory fails here.
"""

import dataclasses
import functools
import importlib
import operator
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

import shiftmetrics
from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.statistics import Statistic


@dataclass(frozen=True, eq=False)
class Moments(Statistic):
    """A statistic of each kind of field, for the base class itself."""

    count: float
    total: FloatArray
    products: FloatArray


def moments(seed: int) -> Moments:
    rows = np.random.default_rng(seed).standard_normal((7, 3))
    return Moments(count=7.0, total=rows.sum(axis=0), products=rows.T @ rows)


def stability_statistic(kernel: str) -> Callable[[int], Statistic]:
    """Run one pass of stability over a few rows."""

    def make(seed: int) -> Statistic:
        from shiftmetrics.stability import HingeLoss
        from shiftmetrics.stability.divergence import Moment, divergence_of
        from shiftmetrics.stability.passes import AtDual, BaselinePass, DualPass
        from shiftmetrics.stability.plan import Part, PlanPass

        rng = np.random.default_rng(seed)
        loss, weights = HingeLoss(rng.normal(size=7) + 20.0 * seed, 1.5), rng.uniform(0.5, 2.0, size=7)
        place, everything = AtDual(0.3, 0.4), slice(0, 7)
        divergences = {
            "Plain": divergence_of("kl", np.inf),
            "Exponential": divergence_of("kl", 0.02),
            "Moment": divergence_of("chi2", 0.4),
        }
        if kernel == "Baseline":
            return BaselinePass(0.4)(loss, weights, everything)
        if kernel == "Plan":
            part = Part(place, Moment(dual=0.3, conjugate=0.1, risk=0.5))
            return PlanPass((part,), divergences["Moment"])(loss, weights, everything)
        return DualPass(place, divergences[kernel], 0.1)(loss, weights, everything)

    return make


FACTORIES: dict[str, Callable[[int], Statistic]] = {
    "Moments": moments,
    "BaselineStatistic": stability_statistic("Baseline"),
    "PlainStatistic": stability_statistic("Plain"),
    "ExponentialStatistic": stability_statistic("Exponential"),
    "MomentStatistic": stability_statistic("Moment"),
    "PlanStatistic": stability_statistic("Plan"),
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
    return {cls.__name__: cls for cls in subclasses(Statistic) if cls.__module__.startswith("shiftmetrics.")}


@pytest.fixture(params=sorted(FACTORIES))
def make(request: pytest.FixtureRequest) -> Callable[[int], Statistic]:
    return FACTORIES[request.param]


def assert_same(first: Statistic, second: Statistic, rtol: float = 0.0) -> None:
    assert type(first) is type(second)
    for name in first.field_names():
        a, b = getattr(first, name), getattr(second, name)
        assert np.shape(a) == np.shape(b)
        scale = np.max(np.abs(np.where(np.isfinite(a), a, 0.0)), initial=0.0)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale, err_msg=name)


# --- the law ---------------------------------------------------------------------------------------------


def test_every_statistic_has_a_factory() -> None:
    known = library_statistics()
    assert set(known) == set(FACTORIES) - {"Moments"}
    for name, cls in known.items():
        assert type(FACTORIES[name](0)) is cls


def test_zeros_are_neutral(make: Callable[[int], Statistic]) -> None:
    statistic = make(0)
    assert_same(statistic + statistic.zeros(), statistic)
    assert_same(statistic.zeros() + statistic, statistic)
    assert_same(statistic.zeros() + statistic.zeros(), statistic.zeros())


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
    assert_same(make(1).unpack(packed), statistic)  # any statistic of the shape can open the message
    opened = statistic.unpack(packed)
    packed[:] = -1.0  # a buffer that is used again must not change what was read from it
    assert_same(opened, statistic)


def test_a_message_of_another_length_is_refused(make: Callable[[int], Statistic]) -> None:
    statistic = make(0)
    size = statistic.pack().size
    for length in (0, size - 1, size + 1):
        with pytest.raises(ValueError, match=f"vector must be of length {size}, got length {length}"):
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
        assert isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype == np.float64)
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


def test_shards_equal_the_whole() -> None:
    rows = np.random.default_rng(0).standard_normal((100, 3))

    def of(part: np.ndarray) -> Moments:
        return Moments(count=float(len(part)), total=part.sum(axis=0), products=part.T @ part)

    shards = [of(part) for part in np.array_split(rows, [0, 1, 1, 40, 99])]  # some of them empty
    assert_same(functools.reduce(operator.add, shards), of(rows), rtol=1e-12)


def test_shapes_never_broadcast() -> None:
    one = Moments(count=1.0, total=np.ones(1), products=np.ones((1, 1)))
    with pytest.raises(
        ValueError, match=r"other must be a Moments with total of shape \(3,\), got shape \(1,\)"
    ):
        moments(0) + one
