"""Two samples of people with a planted mode, a model of them, and their audit."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from people import FEATURES, people, with_riders
from shiftmetrics.decisions import audit_samples


@pytest.fixture(scope="session")
def samples():
    rng = np.random.default_rng(0)
    reference, current = people(rng, 600), people(rng, 600)
    rows = with_riders(rng, current, 0.1)
    return reference, current, rows


@pytest.fixture(scope="session")
def forest():
    train = people(np.random.default_rng(5), 500)
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(encoder, RandomForestClassifier(random_state=0))
    return model.fit(train[FEATURES], train["rich"])


@pytest.fixture(scope="session")
def audited(samples, forest):
    reference, current, _ = samples
    return audit_samples(
        reference, current.drop(columns="rich"), model=forest, label="rich", time="day"
    )
