#!/usr/bin/env bash
# XGBoost 3.1.2: a model that stopped early and is then trained on, without early stopping, keeps the best round of the
# first training as an attribute of its booster. XGBClassifier.predict_proba cuts there, so none of the new rounds counts;
# Booster.predict takes all of them. Guess before the run: a new training without early stopping clears the old best round.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.3.5 scipy==1.16.3 scikit-learn==1.7.2 xgboost==3.1.2
"$folder/venv/bin/python" - <<'PY'
import numpy as np
import xgboost

rng = np.random.default_rng(0)
x = rng.normal(size=(600, 5))
y = (x[:, 0] + 1.5 * rng.normal(size=600) > 0).astype(int)
held = x[400:]
first = xgboost.XGBClassifier(n_estimators=100, early_stopping_rounds=5)
first.fit(x[:400], y[:400], eval_set=[(held, y[400:])], verbose=False)
on = xgboost.XGBClassifier(n_estimators=30).fit(x[:400], y[:400], xgb_model=first.get_booster())
rounds = first.get_booster().num_boosted_rounds(), on.get_booster().num_boosted_rounds()
before, after = (model.predict_proba(held)[:, 1] for model in (first, on))
whole = on.get_booster().predict(xgboost.DMatrix(held))
print("xgboost", xgboost.__version__)
print("rounds before and after:", *rounds, "best round that the second model names:", on.best_iteration)
print("the second wrapper predicts what the first did:", np.array_equal(before, after))
print("largest difference from its own booster:", float(abs(after - whole).max()))
assert rounds[1] == rounds[0] + 30
assert on.best_iteration == first.best_iteration
assert np.array_equal(before, after)
assert abs(after - whole).max() > 0.05
PY
