"""Curves of stability: their sentences, tables and files."""

import numpy as np

from shiftmetrics import Computing, Result
from shiftmetrics.stability import CandidateLoss, FixedLoss, ZeroOneLoss, stability_curve, trade_off


def test_headlines_of_curves() -> None:
    loss = ZeroOneLoss(np.maximum(np.linspace(-0.5, 2.4, 30), 0) / 1.5)
    assert "from there the next unit of risk costs" in stability_curve(loss, [0.3, 0.5]).headline()
    assert "the highest risk that shifts reach" in stability_curve(loss).headline()
    out_of_reach = stability_curve(FixedLoss([0.0, 0.5]), [0.3, 0.9])
    assert "No allowed shift leads to more than a mean loss of 0.5" in out_of_reach.headline()
    assert "Status unattainable at 1 of 2 points" in out_of_reach.summary()
    bound = stability_curve(
        CandidateLoss([[0.0, 1.0], [0.0, 1.0]], [[0.0, 0.5], [0.0, 1.0]]), [0.3]
    )
    assert "Upper bounds" in bound.summary()
    few = stability_curve(loss, [0.3, 0.5], computing=Computing(max_iter=1))
    assert not few.status.ok
    assert "Status max_iter" in few.summary()


def test_json_of_both(tmp_path) -> None:
    loss = FixedLoss([0.0, 0.0, 0.5, 1.0])
    for result in (stability_curve(loss, [0.5, 2.0]), trade_off(loss, 0.6, cheapness=[0, 0.5, 1])):
        assert type(result).from_json(result.to_json()).equals(result)
        result.to_json(tmp_path / "r.json")
        assert Result.from_json(tmp_path / "r.json").equals(result)
