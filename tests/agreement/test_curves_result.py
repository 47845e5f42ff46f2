"""Curves of agreement: ceiling, table, file and sentence."""

import numpy as np

from shiftmetrics import Resampling
from shiftmetrics.agreement import AgreementCurvesResult, agreement_curves

RNG = np.random.default_rng(7)
LABELS = RNG.integers(4, size=300)
REFERENCE = RNG.normal(size=(300, 4)) + 2 * np.eye(4)[LABELS]
NOISE = RNG.normal(size=(300, 4))
SHIFTED = {power: REFERENCE + power * NOISE for power in (0.5, 1.5)}

RATIOS = (0.0, 0.25, 0.5, 1.0)


def test_table_json_and_sentence() -> None:
    curves = agreement_curves(
        SHIFTED, REFERENCE, labels=LABELS, ratios=RATIOS, resampling=Resampling(rng=0)
    )
    frame = curves.to_frame()
    assert len(frame) == 8
    assert frame["agreement"].tolist() == curves.agreement.value.ravel().tolist()
    assert frame.query("power == 1.5 and ratio == 0.25")["afr_t"].item() == curves.afr_t.value[1, 1]
    assert AgreementCurvesResult.from_json(curves.to_json()).equals(curves)
    assert "of the agreement that is possible" in curves.headline()
    assert agreement_curves(SHIFTED, REFERENCE, ratios=[1.0]).afr_t is None
