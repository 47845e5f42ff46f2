import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from shiftmetrics_lab.shifts.factors.designs import uncorrelated_factors
from shiftmetrics_lab.shifts.factors.render import HUE_DEGREES, render_factors, texture_field, tint
from shiftmetrics_lab.shifts.factors.spec import FACTORS, FactorSpec


def probe(images, values, *, side=4, train=0.75):
    """Return the accuracy of a linear classifier of pixels, averaged over cells of ``side`` pixels."""
    n, size = images.shape[:2]
    cells = (
        images.reshape(n, size // side, side, size // side, side, 3)
        .mean(axis=(2, 4))
        .reshape(n, -1)
    )
    split = int(train * n)
    scaled = (cells - cells[:split].mean(axis=0)) / cells[:split].std()
    model = LogisticRegression(C=1.0, max_iter=100, tol=1e-3).fit(scaled[:split], values[:split])
    return model.score(scaled[split:], values[split:])


@pytest.fixture(scope="module")
def all_varied(handwriting):
    digits, labels = handwriting
    factors = uncorrelated_factors(labels, rng=0)
    return render_factors(digits, factors, rng=1), factors


@pytest.mark.slow
@pytest.mark.parametrize("factor", ["hue", "lightness", "position", "texture"])
def test_a_linear_probe_decodes_a_factor_while_all_others_vary(factor, all_varied):
    images, factors = all_varied
    assert probe(images, factors[factor]) > 0.95


@pytest.mark.slow
def test_a_linear_probe_decodes_the_scale(handwriting):
    digits, labels = handwriting
    factors = uncorrelated_factors(labels, vary=["scale", "hue"], rng=0)
    images = render_factors(digits, factors, rng=1)
    assert probe(images.mean(axis=3, keepdims=True).repeat(3, axis=3), factors["scale"]) > 0.95


@pytest.mark.slow
def test_a_linear_probe_decodes_the_shape(handwriting):
    digits, labels = handwriting
    chosen = np.isin(labels, (1, 4, 7, 9))
    images = render_factors(digits[chosen], FactorSpec(scale="large"), rng=1)
    assert probe(images, labels[chosen]) > 0.95


@pytest.mark.realdata
@pytest.mark.slow
def test_linear_probes_decode_the_factors_of_mnist(data_folder):
    stored = np.load(data_folder / "mnist_test" / "mnist_t10k.npz")
    digits, labels = stored["images"], stored["labels"].astype(int)
    chosen = np.flatnonzero(np.isin(labels, (4, 9)))
    factors = uncorrelated_factors(labels[chosen], rng=0)
    images = render_factors(digits[chosen], factors, rng=1)
    for factor in ("hue", "lightness", "position", "texture"):
        assert probe(images, factors[factor]) > 0.95, factor
    scales = uncorrelated_factors(labels[chosen], vary=["scale"], rng=0)
    assert probe(render_factors(digits[chosen], scales, rng=1), scales["scale"]) > 0.95
    shapes = render_factors(digits[chosen], FactorSpec(scale="large"), rng=1)
    assert probe(shapes, labels[chosen]) > 0.95


def test_each_factor_does_what_its_name_says(handwriting):
    digits = handwriting[0][:20]
    draw = {
        (factor, value): render_factors(digits, FactorSpec(**{factor: value}), jitter=0.0) / 255.0
        for factor, values in FACTORS.items()
        for value in values
    }
    strongest = {
        "red": {0},
        "yellow": {0, 1},
        "green": {1},
        "cyan": {1, 2},
        "blue": {2},
        "magenta": {0, 2},
    }
    for hue, channels in strongest.items():
        means = draw["hue", hue].mean(axis=(0, 1, 2))
        assert means[list(channels)].min() > 2 * means[list(set(range(3)) - channels)].max()
    levels = [draw["lightness", value].mean() for value in ("dark", "normal", "bright")]
    assert levels[0] < levels[1] < levels[2]

    def ink(images):
        grey = images.mean(axis=3)
        return grey > grey[:, :1, :1] + 0.05

    for position in FACTORS["position"]:
        where = np.argwhere(ink(draw["position", position]))[:, 1:].mean(axis=0) / 128
        row, column = position
        assert where[0] == pytest.approx({"U": 0.25, "C": 0.5, "L": 0.75}[row], abs=0.03)
        assert where[1] == pytest.approx({"L": 0.25, "C": 0.5, "R": 0.75}[column], abs=0.03)
    for scale, share in (("small", 0.24), ("normal", 0.35), ("large", 0.46)):
        heights = ink(draw["scale", scale]).any(axis=2).sum(axis=1)
        assert np.median(heights) == pytest.approx(share * 128, abs=2)
    corner = [
        draw["texture", value][0, :32, :32].mean(axis=2).std()
        for value in ("blank", "tiles", "wood")
    ]
    assert corner[0] < 0.5 * min(corner[1:])


@pytest.mark.parametrize("hue", HUE_DEGREES)
def test_hue_leaves_the_mean_of_the_channels_alone(hue):
    lightness = np.linspace(0.0, 1.0, 11)
    rgb = tint(lightness, HUE_DEGREES[hue])
    np.testing.assert_allclose(rgb.mean(axis=-1), lightness, atol=1e-12)
    import colorsys

    angle = colorsys.rgb_to_hls(*rgb[5])[0] * 360
    assert angle == pytest.approx(HUE_DEGREES[hue], abs=1e-9)


@pytest.mark.parametrize("texture", FACTORS["texture"])
def test_textures_leave_the_mean_lightness_alone(texture):
    assert texture_field(texture, 128, (0.3, 0.7)).mean() == pytest.approx(1.0)


def test_jitter_makes_images_differ_and_does_not_depend_on_the_factors(handwriting):
    digit = np.repeat(handwriting[0][:1], 6, axis=0)
    still = render_factors(digit, FactorSpec(), jitter=0.0, rng=0)
    assert (still == still[0]).all()
    moved = render_factors(digit, FactorSpec(), rng=0)
    assert len({image.tobytes() for image in moved}) == 6
    # The same instance under another hue is drawn at the same place, of the same size.
    green = render_factors(digit, FactorSpec(hue="green"), rng=0)
    np.testing.assert_allclose(green.mean(axis=3), moved.mean(axis=3), atol=1.0)


def test_batches_and_kinds_of_digits_give_the_same(handwriting):
    digits = handwriting[0][:5]
    whole = render_factors(digits, FactorSpec(), rng=3)
    parts = [render_factors(digits[:2], FactorSpec(), rng=3)]
    parts.append(render_factors(digits[2:], FactorSpec(), rng=3, first_row=2))
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(render_factors(digits[..., None], FactorSpec(), rng=3), whole)
    assert render_factors(digits, FactorSpec(), size=64, rng=3).shape == (5, 64, 64, 3)


@pytest.mark.parametrize(
    ("digits", "factors", "options", "error", "message"),
    [
        (np.ones((2, 8, 8, 3)), FactorSpec(), {}, ValueError, "grey images"),
        (16 * np.ones((2, 8, 8)), FactorSpec(), {}, ValueError, "pixels from 0 to 1"),
        (np.zeros((2, 8, 8)), FactorSpec(), {}, ValueError, "an empty image at row 0"),
        (np.ones((2, 8, 8)), "red", {}, TypeError, "a FactorSpec or a mapping"),
        (
            np.ones((2, 8, 8)),
            {"hue": ["red", "red"]},
            {},
            ValueError,
            "a mapping of hue, lightness",
        ),
        (np.ones((2, 8, 8)), FactorSpec(), {"size": 8}, ValueError, "at least 32"),
        (np.ones((2, 8, 8)), FactorSpec(), {"jitter": 2.0}, ValueError, "jitter must be"),
    ],
)
def test_bad_input_is_named(digits, factors, options, error, message):
    with pytest.raises(error, match=message):
        render_factors(digits, factors, rng=0, **options)


def test_bad_values_of_rows_are_named():
    factors = uncorrelated_factors([1, 2], rng=0)
    with pytest.raises(ValueError, match=r"factors\['hue'\] must be 2 values"):
        render_factors(np.ones((2, 8, 8)), {**factors, "hue": ["red"]})
    with pytest.raises(ValueError, match=r"factors\['hue'\] must be of red.*got 'pink'"):
        render_factors(np.ones((2, 8, 8)), {**factors, "hue": ["red", "pink"]})
