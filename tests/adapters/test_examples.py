"""The examples of training loops do what they say: a plain loop, and Lightning's callbacks."""

import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def clean_figures():
    yield
    plt.close("all")


def test_plain_loop() -> None:
    found = runpy.run_path(str(EXAMPLES / "plot_training_loop.py"))
    plain, regularised = found["plain"], found["regularised"]
    assert len(plain) == len(regularised) == 20
    for name in ("beyond collapse", "unchanged (AFR_P)"):
        assert regularised[-1][name] > plain[-1][name]
    assert 0.5 < plain[-1]["right (AFR_T)"] < 1.0
    assert found["last"].n_samples == 1397
    assert found["last"].value == pytest.approx(plain[-1]["agreement"], abs=1e-9)


def test_lightning_stops_and_keeps_by_agreement() -> None:
    found = runpy.run_path(str(EXAMPLES / "plot_training_lightning.py"))
    history, keep, stop = found["module"].history, found["keep"], found["stop"]
    assert keep.best_model_score.item() == pytest.approx(max(history), abs=1e-6)
    assert found["best"]["epoch"] == history.index(max(history))
    assert stop.stopped_epoch == len(history) - 1 == found["best"]["epoch"] + stop.patience
    names = {name for name in found["best"]["state_dict"] if "agreement" in name}
    assert names == set()  # the state of the metric is no part of a checkpoint
    assert "network.0.weight" in found["best"]["state_dict"]
    assert torch.isfinite(found["best"]["state_dict"]["network.0.weight"]).all()
    assert "torchvision" not in sys.modules
