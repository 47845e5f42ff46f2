"""
What does the most sensitive sample look like?
==============================================

Behind every stability there is a sample: the rows, moved and weighted anew, at which the model has the risk that we
called broken at the least cost. On two clouds in the plane one can look at it: these are figures 2 to 4 of Blanchet,
Cui, Li and Liu (arXiv:2405.03198), with another draw of the same sample.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from shiftmetrics.models import Moves, model_stability
from shiftmetrics.stability import column_moves, stability_curve, trade_off
from shiftmetrics.views import plot

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal([2, 2], 1, (100, 2)), rng.normal([-1, -1], 1, (100, 2))])
y = np.repeat([0, 1], 100)
model = LogisticRegression().fit(X, y)

# %%
# The risk is the cross-entropy, and 0.5 counts as broken. If rows may not move (theta1 = inf), a few rows near the
# boundary carry nearly all the weight. If weights may not change (theta2 = inf), many rows are pushed across. With
# both, at the same sum of inverse prices, the shift is milder in either respect. Distances are in units of the plane,
# ``cost="unit"``.
PRICES = {"only weights": (np.inf, 0.2), "only moves": (0.2, np.inf), "both": (0.4, 0.4)}
figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for ax, (name, (theta1, theta2)) in zip(axes, PRICES.items(), strict=True):
    result = model_stability(
        model, X, y, 0.5, loss="log_loss", theta1=theta1, theta2=theta2, moves=Moves(cost="unit")
    )
    print(f"{name}: {result.headline()}")
    plot(result, ax, labels=y, predict=model.predict, kind="sample")
    ax.set_title(f"{name}: R = {result.value:.3f}", loc="left")
plt.show()

# %%
# With the zero-one loss, rows stop right behind the boundary: no error is worse than another.
figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for ax, (name, (theta1, theta2)) in zip(axes, PRICES.items(), strict=True):
    result = model_stability(model, X, y, 0.3, theta1=theta1, theta2=theta2, moves=Moves(cost="unit"))
    plot(result, ax, labels=y, predict=model.predict, kind="sample")
    ax.set_title(f"{name}: R = {result.value:.4f}", loc="left")
plt.show()

# %%
# The higher the error rate that we ask for, the deeper the shift cuts into both clouds.
figure, axes = plt.subplots(1, 4, figsize=(14, 3.8), layout="constrained")
for ax, error_rate in zip(axes, (0.2, 0.4, 0.6, 0.8), strict=True):
    result = model_stability(model, X, y, error_rate, theta1=1.0, theta2=0.25, moves=Moves(cost="unit"))
    plot(result, ax, labels=y, predict=model.predict, kind="sample")
    ax.get_legend().remove()
    ax.set_title(f"error rate {error_rate:.0%}", loc="left")
plt.show()

# %%
# The sample is a table too: how far each column moves in it, for instance.
print(column_moves(result))

# %%
# The result also holds the loss behind it, as far as rows can move. From it come the stability over all thresholds,
# its inverse, and the line along which the two prices trade places.
loss = model_stability(model, X, y, 0.5, loss="log_loss", moves=Moves(cost="unit")).loss
curve = stability_curve(loss, np.linspace(0.05, 1.0, 25))
over_prices = trade_off(loss, 0.5, shares=np.linspace(0.0, 1.0, 21))
figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
plot(curve, axes[0, 0], threshold=0.5)
plot(curve, axes[0, 1], budget=0.1, kind="risk")
plot(over_prices, axes[1, 0])
plot(over_prices, axes[1, 1], kind="excess_risk")
plt.show()
