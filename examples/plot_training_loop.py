"""
Agreement in a training loop
============================

A network learns handwritten digits. After each epoch it sees the validation images twice, as they are and with noise,
and a metric asks, without labels, whether its predictions survive. A second network trains with that very
question as a part of its loss.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn
from torchmetrics import MetricCollection

from shiftmetrics.adapters.torch import AgreementLoss
from shiftmetrics.adapters.torchmetrics import AttackFailureRate, PosteriorAgreement

# %%
# Few images to train on, the others to validate. Pixels are in [0, 1].
images, labels = (torch.as_tensor(part) for part in load_digits(return_X_y=True))
images = (images / 16).float()
order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
train, validation = order[:400], order[400:]
noise = 0.4


# %%
# The metrics are fed batch by batch. `PosteriorAgreement` keeps sums alone, so its memory does not depend on the
# number of images; `exact=True` keeps the scores instead, which the predicted prior needs: with it, a network that
# predicts one class for all images agrees with itself to no avail.
def fit(weight: float, epochs: int = 20):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    metrics = MetricCollection(
        {
            "agreement": PosteriorAgreement(prior="uniform"),
            "beyond collapse": PosteriorAgreement(),
            "unchanged (AFR_P)": AttackFailureRate(against="predictions"),
            "right (AFR_T)": AttackFailureRate(against="labels"),
        }
    )
    agreement_loss = AgreementLoss()
    history = []
    for _ in range(epochs):
        for batch in train[torch.randperm(len(train))].split(50):
            clean = images[batch]
            scores = model(clean)
            loss = nn.functional.cross_entropy(scores, labels[batch])
            if weight:
                noisy = model(clean + noise * torch.randn_like(clean))
                loss = loss + weight * agreement_loss(noisy, scores)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            for batch in validation.split(256):
                clean = images[batch]
                metrics.update(
                    model(clean + noise * torch.randn_like(clean)),
                    model(clean),
                    labels=labels[batch],
                )
        history.append({name: value.item() for name, value in metrics.compute().items()})
        last = metrics["agreement"].result()
        metrics.reset()
    return model, history, last


model, plain, last = fit(weight=0.0)
_, regularised, last_regularised = fit(weight=0.5)
print(last.summary())

# %%
# The regularised network agrees more with itself under noise, and, though no label had a part in that, is right more
# often.
figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharex=True, layout="constrained")
for ax, name in zip(axes, ("beyond collapse", "unchanged (AFR_P)", "right (AFR_T)"), strict=True):
    for history, label in ((plain, "cross-entropy"), (regularised, "with agreement")):
        ax.plot(range(1, len(history) + 1), [epoch[name] for epoch in history], label=label)
    ax.set(xlabel="epoch", title=name)
axes[0].set_ylabel("nats per pair")
axes[0].legend(frameon=False)
plt.show()

# %%
# The loss takes the gradient at the best inverse temperature (the envelope theorem), which is kept in a bracket:
# at 0 there would be no gradient, and at infinity, where small batches without contradictions end, neither.
with torch.no_grad():
    batch = images[train[:50]]
    loss = AgreementLoss()
    loss(model(batch + noise * torch.randn_like(batch)), model(batch))
print(f"beta = {loss.beta:.3g}, between {loss.beta_range[0]:g} and {loss.beta_range[1]:g}")
