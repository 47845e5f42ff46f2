"""Small results of every measure, with the rows behind them."""

import numpy as np
import pandas as pd
import pytest

from decided import Decided
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.stability import ZeroOneLoss, stability_criterion
from shiftmetrics.views import Context, Rows


@pytest.fixture(scope="session")
def results():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 60)
    clean = rng.normal(size=(60, 3)) + 3 * np.eye(3)[labels]
    points = np.concatenate([rng.normal(size=(40, 2)), rng.normal(9.0, 0.3, size=(20, 2))])
    return {
        "mild": posterior_agreement(clean + 0.2 * rng.normal(size=(60, 3)), clean),
        "strong": posterior_agreement(clean + 2.0 * rng.normal(size=(60, 3)), clean),
        "break": stability_criterion(ZeroOneLoss(np.maximum(rng.normal(1, 1, 60), 0)), 0.4),
        "new": kernel_entropic_novelty(points, rng.normal(size=(50, 2)), bandwidth=1.0),
    }


@pytest.fixture(scope="session")
def context():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 60)
    clean = rng.normal(size=(60, 3)) + 3 * np.eye(3)[labels]
    images = rng.random((60, 5, 5))
    pair = Rows(
        scores=clean + 0.2, reference_scores=clean, labels=labels, images=images, reference_images=images[::-1],
        class_names=["cat", "dog", "eel"], names=[f"image-{i}" for i in range(60)],
    )  # fmt: skip
    table = pd.DataFrame(
        {"age": rng.integers(20, 90, 60), "height": rng.normal(170, 9, 60), "word": "x"}
    )
    return Context(
        description="A model of pets.",
        facts={"Model": "a forest"},
        rows={
            "mild": pair,
            "strong": pair,
            "break": Rows(labels=labels, table=table),
            "new": Rows(labels=labels, images=images, reference_images=images[:50]),
        },
        remarks={"break": "Distances are in metres.", "new": "Twenty rows are new."},
    )


@pytest.fixture
def decided():
    return Decided(value=0.02, error_bound=0.0, n_samples=10)
