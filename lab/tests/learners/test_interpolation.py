"""LISA mixes the partners that it says, in the shares that it says."""

import numpy as np
import pytest
import torch

from shiftmetrics_lab.learners import LISA, Batch
from shiftmetrics_lab.learners.interpolation import cutmix, mixup


def tagged_batch(n_samples=200, seed=0):
    """Rows that carry their own label and domain, so that mixed rows tell what went in."""
    rng = np.random.default_rng(seed)
    y, domain = rng.integers(0, 3, n_samples), rng.integers(0, 2, n_samples)
    x = np.column_stack([np.eye(3)[y], np.eye(2)[domain]])
    return Batch(
        torch.as_tensor(x),
        torch.as_tensor(y),
        torch.as_tensor(domain),
        generator=torch.Generator().manual_seed(seed),
    )


def test_between_domains_labels_stay_and_domains_mix():
    batch = tagged_batch()
    mixed = LISA(n_classes=3, within_domain=0.0)(batch)
    torch.testing.assert_close(mixed.x[:, :3], batch.x[:, :3])
    torch.testing.assert_close(mixed.y, torch.eye(3, dtype=torch.float64)[batch.y])
    share = mixed.x[:, 3:].max(dim=1).values
    assert bool((share < 1).all())


def test_within_domains_domains_stay_and_labels_mix():
    batch = tagged_batch()
    mixed = LISA(n_classes=3, within_domain=1.0)(batch)
    torch.testing.assert_close(mixed.x[:, 3:], batch.x[:, 3:])
    torch.testing.assert_close(
        mixed.y, mixed.x[:, :3]
    )  # labels mix in the very share of the inputs
    assert bool((mixed.y.max(dim=1).values < 1).all())
    torch.testing.assert_close(mixed.y.sum(dim=1), torch.ones(200, dtype=torch.float64))


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_the_share_of_both_strategies(share):
    batch = tagged_batch(4000)
    mixed = LISA(n_classes=3, within_domain=share)(batch)
    within = (mixed.y.max(dim=1).values < 1).double().mean()
    assert float(within) == pytest.approx(share, abs=0.03)


def test_a_row_without_a_partner_stays():
    batch = Batch(torch.eye(3), torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1]))
    between = LISA(n_classes=3, within_domain=0.0)(batch)
    torch.testing.assert_close(between.x, batch.x)
    within = LISA(n_classes=3, within_domain=1.0)(batch)
    torch.testing.assert_close(within.x[0], batch.x[0])
    assert float(within.x[1].max()) < 1


def test_partners_are_drawn_evenly():
    domain = torch.as_tensor([0] * 3 + [1] * 3000)
    x = torch.zeros(3003, 3, dtype=torch.float64)
    x[:3] = torch.eye(3)
    batch = Batch(
        x, torch.zeros(3003, dtype=torch.int64), domain, generator=torch.Generator().manual_seed(0)
    )
    mixed = LISA(n_classes=2, within_domain=0.0)(batch)
    counts = (mixed.x[3:] > 0).double().mean(dim=0)
    np.testing.assert_allclose(counts, [1 / 3] * 3, atol=0.03)


@pytest.mark.parametrize("concentration", [0.4, 2.0])
def test_shares_follow_the_beta_distribution(concentration):
    batch = tagged_batch(20_000)
    mixed = LISA(n_classes=3, within_domain=0.0, concentration=concentration)(batch)
    share = mixed.x[:, 3:].gather(1, batch.domain[:, None]).ravel()
    assert float(share.mean()) == pytest.approx(0.5, abs=0.01)
    assert float(share.var()) == pytest.approx(1 / (4 * (2 * concentration + 1)), rel=0.05)


def test_seeds():
    first, again = (LISA(n_classes=3)(tagged_batch(seed=3)) for _ in range(2))
    torch.testing.assert_close(first.x, again.x, rtol=0, atol=0)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.75, 1.0])
def test_cutmix_pastes_one_box_of_the_stated_area(weight):
    x, partner = torch.zeros(50, 2, 20, 30), torch.ones(50, 2, 20, 30)
    mixed, kept = cutmix(
        x, partner, torch.full((50,), weight), generator=torch.Generator().manual_seed(0)
    )
    torch.testing.assert_close(mixed.mean(dim=(1, 2, 3)), 1 - kept)
    torch.testing.assert_close(mixed[:, 0], mixed[:, 1])
    assert bool(
        (kept >= weight - 0.06).all()
    )  # a box may leave the image, so more than the share may stay
    for image in mixed[:, 0]:
        rows, columns = image.any(dim=1).nonzero().ravel(), image.any(dim=0).nonzero().ravel()
        if len(rows):
            box = image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
            assert bool((box == 1).all())
            assert box.sum() == image.sum()


def test_lisa_with_cutmix():
    images = torch.rand(40, 1, 8, 8)
    batch = Batch(
        images,
        torch.arange(40) % 2,
        torch.arange(40) // 20,
        generator=torch.Generator().manual_seed(0),
    )
    mixed = LISA(n_classes=2, method="cutmix", within_domain=1.0)(batch)
    kept = (mixed.x == images).double().mean(dim=(1, 2, 3))
    np.testing.assert_allclose(mixed.y[torch.arange(40), batch.y], kept, atol=1e-6)


def test_mixup_is_a_weighted_mean():
    x, partner = torch.rand(4, 2, 3), torch.rand(4, 2, 3)
    weight = torch.tensor([0.0, 0.2, 0.9, 1.0])
    expected = torch.stack(
        [w * a + (1 - w) * b for w, a, b in zip(weight, x, partner, strict=True)]
    )
    torch.testing.assert_close(mixup(x, partner, weight), expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LISA(n_classes=1), "n_classes must be an integer at least 2"),
        (lambda: LISA(n_classes=2, method="cut"), "method must be one of 'mixup', 'cutmix'"),
        (lambda: LISA(n_classes=2, within_domain=1.1), "within_domain must be a number"),
        (
            lambda: LISA(n_classes=2)(Batch(torch.eye(2), torch.arange(2))),
            "domain must be given for LISA",
        ),
        (lambda: LISA(n_classes=2)(tagged_batch()), "y must be labels from 0 to 1, got 0 to 2"),
        (
            lambda: LISA(n_classes=3, method="cutmix")(tagged_batch()),
            'for cutmix.*Use method="mixup"',
        ),
    ],
)
def test_bad_options(make, message):
    with pytest.raises(ValueError, match=message):
        make()
