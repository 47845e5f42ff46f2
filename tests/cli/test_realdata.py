"""The commands on real outputs, patients and pictures, as a user would run them."""

import json

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.realdata


def value_of(path) -> float:
    return float(json.loads(path.read_text())["value"])


@pytest.fixture(scope="module")
def networks(data_folder, tmp_path_factory):
    """Return an archive with the scores of each network at each level of noise, ``noise-LEVEL-NETWORK``."""
    path = tmp_path_factory.mktemp("networks") / "networks.npz"
    with np.load(data_folder / "imagenet16h_noise" / "imagenet16h.npz") as arrays:
        scores = arrays["log_probs"]
        parts = {
            f"noise-{level}-{model}": scores[level, model]
            for level in range(len(scores))
            for model in range(scores.shape[1])
        }
        np.savez(path, labels=arrays["labels"], **parts)
    return path


@pytest.mark.slow
def test_five_networks_under_noise(run, data_folder, networks, tmp_path):
    with np.load(data_folder / "imagenet16h_noise" / "imagenet16h.npz") as arrays:
        names = [str(name) for name in arrays["model_names"]]
        predicted = arrays["log_probs"].argmax(axis=-1)
    agreement, kept = [], []
    for model in range(len(names)):
        out = tmp_path / f"{model}.json"
        result = run(
            "agreement", f"{networks}:noise-3-{model}", f"{networks}:noise-0-{model}",
            "--label", f"{networks}:labels", "--json", out, "--report", tmp_path / f"{model}.html",
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        agreement.append(value_of(out))
        kept.append(float((predicted[3, model] == predicted[0, model]).mean()))
        assert (tmp_path / f"{model}.html").stat().st_size < 1_000_000
    assert all(0.0 < value < np.log(16) for value in agreement)
    # The networks that keep most of their predictions agree most with themselves.
    order, kept_order = np.argsort(agreement), np.argsort(kept)
    assert names[order[-1]] == "vgg19"
    assert set(order[-2:]) == set(kept_order[-2:])
    assert np.corrcoef(agreement, kept)[0, 1] > 0.9


def test_more_noise_means_less_agreement(run, networks, tmp_path):
    values = []
    for level in (1, 2, 3):
        out = tmp_path / f"{level}.json"
        run(
            "agreement",
            f"{networks}:noise-{level}-1",
            f"{networks}:noise-0-1",
            "--json",
            out,
            "-q",
        )
        values.append(value_of(out))
    assert values[0] > values[1] > values[2]


def test_a_release_of_networks_in_one_run(run, networks, tmp_path):
    (tmp_path / "release.toml").write_text(
        f"""
        title = "Five networks under noise"
        seed = 1
        [[agreement]]
        name = "vgg19"
        shifted = "{networks}:noise-3-1"
        reference = "{networks}:noise-0-1"
        label = "{networks}:labels"
        confidence_level = 0.95
        [[compare]]
        name = "networks"
        shifted = {{ first = "{networks}:noise-3-0", vgg19 = "{networks}:noise-3-1" }}
        reference = ["{networks}:noise-0-0", "{networks}:noise-0-1"]
        resamples = 200
        criterion = "agreement"
        [[rule]]
        name = "the best network stays the best"
        result = "networks"
        field = "models.vgg19.rank_low"
        at_most = 1
        [[rule]]
        name = "it survives noise"
        result = "vgg19"
        field = "value"
        at_least = 2.0
        """
    )
    done = run("run", tmp_path / "release.toml")
    assert done.exit_code == 0, done.output
    assert "Passed: 2 checks of 2 rules" in done.stdout
    results = tmp_path / "results"
    assert 2.0 < value_of(results / "vgg19.json") < np.log(16)
    assert (
        value_of(results / "networks.json") > 2.0
    )  # by the predicted prior, so not the same number
    page = (results / "report.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 1_000_000
    assert "Five networks under noise" in page


@pytest.mark.slow
def test_patients_of_a_logistic_regression(run, data_folder, tmp_path):
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    table = pd.read_csv(data_folder / "covid_sivep" / "covid_sivep.csv.gz")
    died = table["is_dead"].to_numpy()
    features = table.drop(columns=["is_dead", "Days_hospital_to_outcome"])
    half = len(table) // 2
    scaler = StandardScaler().fit(features[:half])
    model = LogisticRegression(max_iter=1000).fit(scaler.transform(features[:half]), died[:half])
    signed = model.decision_function(scaler.transform(features[half:])) * (2 * died[half:] - 1)
    distances = np.maximum(signed, 0.0) / np.linalg.norm(model.coef_)
    patients = features[half:].assign(distance=distances, died=died[half:])
    patients.to_csv(tmp_path / "patients.csv.gz", index_label="patient")

    values = []
    for threshold in (0.35, 0.5):
        out = tmp_path / f"{threshold}.json"
        result = run(
            "stability", tmp_path / "patients.csv.gz", "--distances", "distance", "--threshold", threshold,
            "--id", "patient", "--label", "died", "--json", out, "--report", tmp_path / "r.html",
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        document = json.loads(out.read_text())
        assert document["base_risk"] == pytest.approx((distances == 0).mean())
        values.append(document["value"])
    assert 0.0 < values[0] < values[1]
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert ">Age<" in page
    assert "Who the worst case is about" in page or "Upweighted group" in page


@pytest.mark.slow
def test_generations_of_a_generator_trained_on_itself(run, data_folder, tmp_path):
    from sklearn.decomposition import PCA

    with np.load(data_folder / "mnist_wgan_generations" / "wgan_mnist.npz") as arrays:
        made = arrays["images"][[0, 4, 9]][:, :500]
    with np.load(data_folder / "mnist_test" / "mnist_t10k.npz") as arrays:
        real = arrays["images"][:500]
        pca = PCA(20, random_state=0).fit(arrays["images"].reshape(10_000, -1) / 255)
    features = {
        f"made{g}": pca.transform(images.reshape(500, -1) / 255) for g, images in enumerate(made)
    }
    real_features = pca.transform(real.reshape(500, -1) / 255)
    np.savez(tmp_path / "runs.npz", real=real_features, **features)

    shares = []
    for generation in range(3):
        out, source = tmp_path / f"{generation}.json", tmp_path / "runs.npz"
        result = run(
            "novelty", f"{source}:made{generation}", f"{source}:real", "--bandwidth", "5",
            "--json", out, "--report", tmp_path / "r.html",
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        shares.append(json.loads(out.read_text())["score"]["total"])
    assert shares[0] < shares[1] < shares[2]
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 1_000_000


@pytest.mark.slow
def test_a_pipeline_of_patients_from_its_file(run, data_folder, tmp_path):
    """From raw columns, categories as words, to the report: what moves, who gains weight, which features matter."""
    import joblib
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    table = pd.read_csv(data_folder / "covid_sivep" / "covid_sivep.csv.gz")
    table = table.drop(columns="Days_hospital_to_outcome").sample(frac=1, random_state=0)
    regions = np.array(["Central-West", "North", "Northeast", "South", "Southeast"])
    ethnicities = np.array(["Mixed", "White", "Black", "East Asian", "Indigenous"])
    table = table.assign(Region=regions[table["Region"]], Ethnicity=ethnicities[table["Ethnicity"]])
    train, test = table[:3441], table[3441:]
    encoder = make_column_transformer(
        (OneHotEncoder(), ["Region", "Ethnicity"]), remainder=StandardScaler()
    )
    model = make_pipeline(encoder, LogisticRegression(max_iter=2000))
    model.fit(train.drop(columns="is_dead"), train["is_dead"])
    joblib.dump(model, tmp_path / "model.joblib")
    test.to_csv(tmp_path / "patients.csv", index_label="patient")
    result = run(
        "stability", tmp_path / "patients.csv", "--model", tmp_path / "model.joblib", "--target", "is_dead",
        "--trust", "-r", 0.5, "--id", "patient", "--immutable", "Sex,Ethnicity", "--bounds", "Age=0:110",
        "--feature-stability", "--json", tmp_path / "o.json", "--report", tmp_path / "r.html",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    first, features = json.loads((tmp_path / "o.json").read_text())["results"]
    error_rate = float((model.predict(test.drop(columns="is_dead")) != test["is_dead"]).mean())
    assert first["base_risk"] == pytest.approx(error_rate)
    assert first["search"]["route"] == "linear"
    assert 0.0 < first["value"] <= min(float(part["value"]) for part in features["features"])
    assert features["features"][0]["feature"] == "Age"
    assert (tmp_path / "r.html").stat().st_size < 1_000_000
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for part in ("The most sensitive sample", "What changes, by column", "Age "):
        assert part in page


@pytest.mark.slow
def test_employment_of_people_from_a_forest(run, data_folder, tmp_path):
    """A forest on numbers and codes: bounds on both sides, whole steps, and who gains weight."""
    import joblib
    from sklearn.ensemble import RandomForestClassifier

    rows = pd.read_parquet(data_folder / "acs_employment_ma_2015_2018" / "employment.parquet")
    rows = rows.drop(columns=["prediction", "predicted_probability"]).sample(1200, random_state=0)
    train, test = rows[:600], rows[600:]
    known = train.drop(columns=["employed", "year"])
    forest = RandomForestClassifier(n_estimators=10, max_depth=6, random_state=0).fit(
        known, train["employed"]
    )
    joblib.dump(forest, tmp_path / "forest.joblib")
    test.to_csv(tmp_path / "people.csv", index=False)
    result = run(
        "stability", tmp_path / "people.csv", "--model", tmp_path / "forest.joblib", "--target", "employed",
        "--trust", "-r", 0.4, "--json", tmp_path / "o.json", "--report", tmp_path / "r.html",
        "--features", "AGEP,SCHL",
        "--integer", "AGEP,SCHL",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    document = json.loads((tmp_path / "o.json").read_text())
    assert document["value"] > 0.0
    assert document["kind"] in ("exact", "upper_bound")
    assert (tmp_path / "r.html").stat().st_size < 1_000_000


def test_a_release_gate_on_networks_under_noise(run, networks, tmp_path):
    for level in (1, 3):
        run(
            "agreement", f"{networks}:noise-{level}-1", f"{networks}:noise-0-1", "--confidence-level", 0.95,
            "--resamples", 200, "--json", tmp_path / f"noise-{level}.json", "-q",
        )  # fmt: skip
    rule = '[[rule]]\nname = "at noise {0}"\nresult = "noise-{0}"\nfield = "equivalent_error"\nat_most = 0.03\n'
    (tmp_path / "rules.toml").write_text(rule.format(1) + rule.format(3))
    checked = run(
        "check", tmp_path, "--rules", tmp_path / "rules.toml", "--report", tmp_path / "r.html"
    )
    assert checked.exit_code == 1, checked.output
    assert [line.split("\t")[0] for line in checked.stdout.splitlines()[:2]] == ["passed", "failed"]
    assert (tmp_path / "r.html").stat().st_size < 1_000_000
