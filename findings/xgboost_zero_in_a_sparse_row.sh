#!/usr/bin/env bash
# XGBoost 3.1.2 behind a ColumnTransformer of scikit-learn 1.7.2 with a one-hot of many levels and a number passed through:
# the transformer's output is sparse, a number that is exactly 0 is not stored there, and XGBoost takes what is not stored as
# missing. So the prediction at 0.0 is neither that just below nor that just above, although no cell is missing; with
# sparse_threshold=0 it is that of one side. Guess before the run: a 0 that was passed through is split as the number 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.3.5 scipy==1.16.3 pandas==2.3.3 scikit-learn==1.7.2 xgboost==3.1.2
"$folder/venv/bin/python" - <<'PY'
import numpy as np
import pandas as pd
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

rng = np.random.default_rng(0)
n = 800
frame = pd.DataFrame({"balance": rng.normal(size=n), "town": rng.integers(0, 40, n).astype(str)})
paid = (frame["balance"].abs() < 0.7).astype(int)
asked = pd.DataFrame({"balance": [-1e-6, 0.0, 1e-6], "town": "7"})
said = {}
for kind, threshold in (("sparse", 0.3), ("dense", 0.0)):
    steps = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]), remainder="passthrough", sparse_threshold=threshold
    )
    model = make_pipeline(steps, xgboost.XGBClassifier(n_estimators=30, max_depth=3)).fit(frame, paid)
    said[kind] = model.predict_proba(asked)[:, 1].round(3).tolist()
    print(f"{kind}: just below 0, at 0, just above 0: {said[kind]}")
print("xgboost", xgboost.__version__, "- cells that are missing:", int(frame.isna().sum().sum()))
below, zero, above = said["sparse"]
assert abs(zero - below) > 0.3 and abs(zero - above) > 0.3
below, zero, above = said["dense"]
assert zero in (below, above)
PY
