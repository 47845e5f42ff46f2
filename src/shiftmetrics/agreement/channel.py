"""The scale people can read: agreement as the error rate of a symmetric channel.

If a share e of the predictions flips to another class, all with one confidence, posterior agreement is the
capacity of the symmetric channel with K classes and error e. So every agreement has an equivalent error.
"""

from __future__ import annotations

import math

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import check_integer, check_number


def channel_capacity(error: float, n_classes: int) -> float:
    """Capacity of a symmetric channel: ``log K + (1 - e) log(1 - e) + e log(e / (K - 1))``.

    Parameters
    ----------
    error : float
        Probability e that a label flips, to any other class alike; in [0, 1 - 1 / n_classes].
    n_classes : int
        Number of classes K, at least 2.

    Returns
    -------
    float
        Nats per sample, from log K at error 0 down to 0 at error 1 - 1 / K.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number of the stated range.

    Examples
    --------
    >>> round(channel_capacity(0.3, 2), 6)
    0.082283
    """
    n_classes = check_integer(n_classes, "n_classes", low=2)
    error = check_number(error, "error", low=0.0, high=1.0 - 1.0 / n_classes)
    return _capacity(error, n_classes)


def equivalent_error(agreement: float, n_classes: int) -> float:
    """Error rate of the symmetric channel whose capacity is ``agreement``: the inverse of `channel_capacity`.

    Parameters
    ----------
    agreement : float
        Nats per sample; values outside [0, log K] count as the nearer end.
    n_classes : int
        Number of classes K, at least 2.

    Returns
    -------
    float
        0 at log K (perfect agreement), 1 - 1 / K at 0 (none). Lower is better.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a number of the stated range.

    Examples
    --------
    >>> round(equivalent_error(0.082283, 2), 4)
    0.3
    """
    n_classes = check_integer(n_classes, "n_classes", low=2)
    agreement = check_number(agreement, "agreement")
    low, high = 0.0, 1.0 - 1.0 / n_classes
    if agreement >= math.log(n_classes):
        return low
    if agreement <= 0.0:
        return high
    # The capacity falls in the error: bisect to the last bit.
    while True:
        middle = (low + high) / 2.0
        if not low < middle < high:
            return middle
        if _capacity(middle, n_classes) > agreement:
            low = middle
        else:
            high = middle


def prior_channel_capacity(error: float, shares: FloatArray, prior: FloatArray) -> float:
    """Agreement of a channel that keeps class k with probability 1 - error, and else takes another by its share.

    All predictions are equally confident. With uniform shares and prior this is the capacity of the symmetric
    channel, up to the largest error at which it agrees at all; beyond, it is 0.

    Parameters
    ----------
    error : float
        Probability that a class changes, in [0, 1).
    shares : ndarray of shape (n_classes,)
        How often each class is predicted, with sum 1.
    prior : ndarray of shape (n_classes,)
        Class prior, positive, with sum 1.

    Returns
    -------
    float
        Nats per sample.
    """
    from scipy.optimize import minimize_scalar

    others = np.maximum(1.0 - shares, 1e-300)
    change = shares[:, None] * shares / others[:, None]
    np.fill_diagonal(change, 0.0)
    if error == 0.0:
        return float(-shares @ np.log(prior))
    both = prior[:, None] + prior
    changed_to = (1.0 - error) * shares + error * change.sum(axis=0)

    def agreement(log_beta: float) -> float:
        # L(s) = log(1 + pi_k (e^beta - 1)) for scores of beta at class k and 0 elsewhere.
        x = math.expm1(math.exp(log_beta))
        kept = shares @ np.log1p(prior * x * (x + 2.0))
        lost = np.sum(change * np.log1p(both * x))
        return float((1.0 - error) * kept + error * lost - (shares + changed_to) @ np.log1p(prior * x))

    found = minimize_scalar(
        lambda t: -agreement(t), bounds=(-7.0, 5.0), method="bounded", options={"xatol": 1e-9}
    )
    return max(0.0, -float(found.fun))


def _capacity(error: float, n_classes: int) -> float:
    if error == 0.0:
        return math.log(n_classes)
    kept = (1.0 - error) * math.log1p(-error)
    return max(0.0, math.log(n_classes) + kept + error * (math.log(error) - math.log(n_classes - 1)))
