"""The papers' weak model: JPEG before, reverse sigmoid after."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

from shiftmetrics.attacks import AttackOptions
from shiftmetrics_lab.attacks import pgd
from shiftmetrics_lab.shifts.defences import JPEGDefence, ReverseSigmoid


def test_the_model_sees_what_pillow_decodes():
    rng = np.random.default_rng(0)
    for channels in (1, 3):
        image = np.kron(rng.integers(0, 256, (channels, 2, 3)), np.ones((1, 8, 8))).astype(np.uint8)
        buffer = io.BytesIO()
        Image.fromarray(image[0] if channels == 1 else np.moveaxis(image, 0, -1)).save(
            buffer, "JPEG", quality=30
        )
        expected = np.asarray(Image.open(buffer)) / 255.0
        expected = expected[None] if channels == 1 else np.moveaxis(expected, -1, 0)
        x = torch.tensor(image[None] / 255.0)
        for straight_through in (True, False):
            seen = JPEGDefence(torch.nn.Identity(), quality=30, straight_through=straight_through)(
                x
            )
            np.testing.assert_allclose(seen[0].numpy(), expected, atol=1e-12)
        assert np.abs(seen[0].numpy() - x[0].numpy()).max() > 0.005


@pytest.mark.slow
def test_attacks_pass_straight_through_or_are_refused(digits):
    x, y = digits.x[:40], digits.y[:40]
    options = {"strength": 0.2, "n_steps": 10, "options": AttackOptions(bounds=(0, 1))}
    result = pgd(JPEGDefence(digits.model), x, y, **options)
    assert result.success.mean() > 0.5
    with pytest.raises(TypeError, match="stand-in gradient"):
        pgd(JPEGDefence(digits.model, straight_through=False), x, y, **options)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(2, 2, 8, 8), r"images of shape \(n_samples, 1 or 3, height, width\)"),
        (torch.full((2, 1, 8, 8), 200.0), r"images in \[0, 1\], got values from 200 to 200"),
    ],
)
def test_what_is_no_image_is_refused(x, message):
    with pytest.raises(ValueError, match=message):
        JPEGDefence(torch.nn.Flatten())(x)
    with pytest.raises(ValueError, match="quality must be an integer between 1 and 95"):
        JPEGDefence(torch.nn.Flatten(), quality=0)


def test_reverse_sigmoid_is_the_formula_and_hides_confidence(digits):
    logits = torch.tensor([[4.0, 1.0, -2.0], [0.5, 0.0, 0.2]], dtype=torch.float64)
    p = logits.softmax(1).numpy()
    expected = p - 0.7 * (
        1 / (1 + (p / (1 - p)) ** -0.2) - 0.5
    )  # sigmoid(slope logit p) = 1 / (1 + odds^-slope)
    expected /= expected.sum(1, keepdims=True)
    shown = ReverseSigmoid(torch.nn.Identity(), strength=0.7, slope=0.2)(logits)
    np.testing.assert_allclose(shown.exp().numpy(), expected, rtol=1e-9)
    none = ReverseSigmoid(torch.nn.Identity(), strength=0.0)(logits)
    np.testing.assert_allclose(none.exp().numpy(), p, rtol=1e-6)
    with torch.no_grad():
        open_, hidden = digits.model(digits.x), ReverseSigmoid(digits.model)(digits.x)
    assert open_.softmax(1).amax(1).mean() > 0.9
    assert hidden.softmax(1).amax(1).mean() < 0.3
    assert (open_.argmax(1) == hidden.argmax(1)).double().mean() > 0.97


def test_sure_models_stay_finite_and_attackable(digits):
    sure = lambda x: 1000.0 * digits.model(x)  # noqa: E731
    weak = ReverseSigmoid(JPEGDefence(sure))
    result = pgd(
        weak,
        digits.x[:20],
        digits.y[:20],
        strength=0.1,
        n_steps=3,
        options=AttackOptions(bounds=(0, 1)),
    )
    assert bool(torch.isfinite(weak(digits.x[:20])).all())
    assert np.isfinite(result.distance).all()
