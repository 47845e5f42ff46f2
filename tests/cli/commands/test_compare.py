import json

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import Resampling, Result
from shiftmetrics.cli.commands.compare import which_was_which
from shiftmetrics.comparison import compare_agreement


@pytest.fixture
def models(folder):
    """Files of two models on the rows of ``clean.csv``: one that noise hardly moves, and one that it upsets."""
    rng = np.random.default_rng(1)
    clean = pd.read_csv(folder / "clean.csv")
    for name, noise in (("calm", 0.3), ("upset", 4.0)):
        frame = clean.copy()
        frame[["cat", "dog", "eel"]] += noise * rng.normal(size=(60, 3))
        frame = frame.assign(scene=frame["image"].str[6:].astype(int) // 3)
        frame.sample(frac=1, random_state=2).to_csv(folder / f"{name}.csv", index=False)
    return [f"{name}={folder / name}.csv" for name in ("upset", "calm")]


def test_models_are_ranked_with_rows_matched_by_id(run, folder, models):
    result = run(
        "compare", *models, "--reference", folder / "clean.csv", "--id", "image", "--label", "truth",
        "--groups", "scene", "--json", folder / "out.json", "--report", folder / "out.html", "--resamples", 200,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "calm is the best of 2 models" in result.stdout
    assert "rank 1, Accuracy" in result.stdout
    clean = pd.read_csv(folder / "clean.csv", index_col="image")[["cat", "dog", "eel"]]
    tables = {
        name: pd.read_csv(folder / f"{name}.csv", index_col="image") for name in ("upset", "calm")
    }
    expected = compare_agreement(
        {name: table[list(clean)] for name, table in tables.items()},
        clean,
        labels=tables["upset"]["truth"].to_numpy(),
        resampling=Resampling(groups=tables["upset"]["scene"], n_resamples=200, rng=0),
    )
    written = Result.from_json(folder / "out.json")
    assert written.value == expected.value
    assert written.differences[0].equals(expected.differences[0])
    page = (folder / "out.html").read_text()
    assert "Models side by side" in page
    assert "Paired differences" in page


def test_it_is_said_which_reference_was_taken_for_which_model() -> None:
    models = {"a": "one.csv", "two.csv": "folder/two.csv"}
    (apart,) = which_was_which(models, ["r1.csv", "r2.csv"], ["k1.csv", "k2.csv"])
    first, second = apart.split(";")
    assert first.split()[0] == "a"
    for name in ("one.csv", "r1.csv", "k1.csv"):
        assert name in first
    for name in ("two.csv", "r2.csv", "k2.csv"):
        assert name in second
    (together,) = which_was_which(models, ["r1.csv"])
    assert together.count("r1.csv") == 1
    (many,) = which_was_which({str(k): f"{k}.csv" for k in range(20)}, [])
    assert "5.csv" in many
    assert "6.csv" not in many
    assert "20" in many
    files = {"one.csv": "one.csv", "two.csv": "folder/two.csv"}
    assert which_was_which(files, []) == []
    (against,) = which_was_which(files, ["r1.csv"])
    assert "one.csv" not in against
    assert "r1.csv" in against


def test_each_model_may_have_its_reference(run, folder, models):
    references = [
        "--reference",
        f"{folder / 'runs.npz'}:clean",
        "--reference",
        f"{folder / 'runs.npz'}:noisy",
    ]
    arguments = [f"a={folder / 'runs.npz'}:noisy", f"b={folder / 'runs.npz'}:noisy", *references]
    assert run("compare", *arguments, "--json", folder / "out.json", "--quiet").exit_code == 0
    models = {
        model["name"]: model for model in json.loads((folder / "out.json").read_text())["models"]
    }
    assert models["b"]["value"] > models["a"]["value"]  # b is compared with itself


def test_files_give_their_names(run, folder, models):
    result = run("compare", folder / "calm.csv", folder / "upset.csv", "--exclude", "truth", "--reference",
                 folder / "clean.csv", "--id", "image", "--resamples", 50)  # fmt: skip
    assert "calm.csv is the steadiest of 2 models by agreement over its ceiling" in result.stdout
    assert f"shiftmetrics diff OLD {folder / 'calm.csv'} --allow 0.01" in result.stdout


@pytest.fixture
def three(folder, models):
    """What is typed for three models, with rows of known classes beside them."""
    rng = np.random.default_rng(5)
    clean = pd.read_csv(folder / "clean.csv")
    guess = clean.assign(**{name: rng.normal(size=60) for name in ("cat", "dog", "eel")})
    guess.to_csv(folder / "guess.csv", index=False)
    references = [
        part
        for name in ("clean", "clean", "guess")
        for part in ("--reference", folder / f"{name}.csv")
    ]
    return [
        *models,
        f"guess={folder / 'guess.csv'}",
        *references,
        "--id",
        "image",
        "--resamples",
        50,
    ]


def test_three_models_vote_unless_there_are_labels(run, folder, three):
    plain = run("compare", *three, "--exclude", "truth")
    assert "calm agrees most with the others of 3 models, by match with the" in plain.stdout
    assert "No labels: each model is set against the vote of all before the shift" in plain.stdout
    labelled = run("compare", *three, "--columns", "cat,dog,eel", "--label", "truth")
    assert (
        "calm is the best of 3 models by mean of accuracy and macro F1 after the shift: 0."
        in labelled.stdout
    )
    by_name = run("compare", *three, "--columns", "cat,dog,eel", "--label", "truth", "--criterion", "roc_auc_ovr",
                  "--kind", "scores")  # fmt: skip
    assert "by roc_auc_ovr after the shift" in by_name.stdout
    named = run("compare", *three, "--exclude", "truth", "--criterion", "agreement")
    assert "guess is the steadiest of 3 models by posterior agreement: 1." in named.stdout


def test_labels_of_other_rows_estimate_the_accuracy(run, folder, three):
    others = [
        part
        for name in ("clean", "clean", "guess")
        for part in ("--labelled", folder / f"{name}.csv")
    ]
    result = run(
        "compare",
        *three,
        "--columns",
        "cat,dog,eel",
        *others,
        "--label",
        "truth",
        "--report",
        folder / "r.html",
    )
    assert result.exit_code == 0, result.output
    assert "macro F1 after the shift, estimated: 0." in result.stdout
    assert "rank 1, Accuracy " in " ".join(result.stdout.split())
    assert "Estimated from 60 labelled rows" in " ".join(result.stdout.split())
    assert "Of its ceiling" in (folder / "r.html").read_text()


def test_errors_name_what_was_typed(fails, folder, models):
    clean = ["--reference", folder / "clean.csv", "--id", "image", "--exclude", "truth"]
    assert "SHIFTED must be at least two files" in fails("compare", models[0], *clean)
    assert "'upset' twice" in fails("compare", models[0], models[0], *clean)
    assert "--reference" in fails(
        "compare", *models, "--id", "image", "--exclude", "truth", "--criterion", "agreement"
    )
    three = ["--reference", folder / "clean.csv"] * 2
    assert "got 3 times" in fails("compare", *models, *clean, *three)
    assert "--labelled must be given once for each" in fails(
        "compare", *models, *clean, "--labelled", folder / "a.csv"
    )
    assert "--label must be given for the criterion" in fails(
        "compare", *models, *clean, "--criterion", "accuracy"
    )
    assert "--groups must name a column" in fails("compare", *models, *clean, "--groups", "nothing")
    assert "--confidence-level must be" in fails(
        "compare", *models, *clean, "--confidence-level", "95"
    )
    assert "--resamples must be" in fails("compare", *models, *clean, "--resamples", "1")


def test_results_of_stability_are_ranked(run, folder):
    rng = np.random.default_rng(3)
    distances = np.maximum(rng.normal(0.6, 0.5, 80), 0.0)
    for name, factor in (("steep", 0.5), ("flat", 1.5)):
        np.save(folder / f"{name}.npy", factor * distances)
        wrote = run(
            "stability", folder / f"{name}.npy", "--distances", "0", "-r", 0.4, "--json",
            folder / f"{name}.json",
        )  # fmt: skip
        assert wrote.exit_code == 0, wrote.output
    ranked = run(
        "compare", f"steep={folder / 'steep.json'}", f"flat={folder / 'flat.json'}", "--json",
        folder / "out.json", "--report", folder / "out.html",
    )  # fmt: skip
    assert ranked.exit_code == 0, ranked.output
    assert "flat is the best of 2 models by stability" in ranked.stdout
    written = Result.from_json(folder / "out.json")
    assert [model.name for model in written.models] == ["flat", "steep"]
    page = (folder / "out.html").read_text()
    assert "Root-mean-square change" in page
    assert "Paired differences" in page


def test_results_that_cannot_be_compared_are_refused(run, fails, folder):
    for threshold in (0.3, 0.4):
        run("stability", folder / "distances.npy", "--distances", "0", "-r", threshold, "--json",
            folder / f"{threshold}.json")  # fmt: skip
    files = [folder / "0.3.json", folder / "0.4.json"]
    (folder / "none.json").write_text('{"schema_version": 2, "results": []}')
    assert "which holds none" in fails("compare", files[0], folder / "none.json")
    assert "results must share the threshold, got 0.3 for" in fails("compare", *files)
    assert "would overwrite" in fails("compare", *files, "--json", files[1])
    assert "which does not exist" in fails("compare", files[0], folder / "nothing.json")
    assert "a name for each model" in fails("compare", files[0], files[0])
    two = [folder / "clean.csv", folder / "noisy.csv", "--id", "image", "--exclude", "truth"]
    assert "--reference must be" in fails("compare", *two)


def test_predictions_in_json_are_no_results(run, folder):
    clean = pd.read_csv(folder / "clean.csv")
    for name in ("clean", "noisy"):
        frame = pd.read_csv(folder / f"{name}.csv")
        frame.to_json(folder / f"{name}.json", orient="records")
    files = [f"{name}={folder / name}.json" for name in ("clean", "noisy")]
    done = run("compare", *files, "--criterion", "accuracy", "--json", folder / "c.json")
    assert done.exit_code == 0, done.output
    right = clean[["cat", "dog", "eel"]].idxmax(axis=1) == clean["truth"]
    models = {m["name"]: m["value"] for m in json.loads((folder / "c.json").read_text())["models"]}
    assert models["clean"] == pytest.approx(right.mean())


@pytest.fixture
def answers(folder):
    """Write the answers of three models alone, and return them with the truth."""
    rng = np.random.default_rng(6)
    truth = rng.choice(["cat", "dog", "eel"], 90)
    words = {}
    for name, rate in (("a", 0.1), ("b", 0.3), ("c", 0.5)):
        other = rng.choice(["cat", "dog", "eel"], 90)
        words[name] = np.where(rng.random(90) < rate, other, truth)
        frame = pd.DataFrame({"image": np.arange(90) + 100, "answer": words[name], "truth": truth})
        # rows in another order are matched by their ids
        frame.sample(frac=1.0, random_state=1).to_csv(folder / f"{name}.csv", index=False)
    return words, truth


def test_answers_alone_are_ranked_by_accuracy_and_by_vote(run, folder, answers):
    words, truth = answers
    files = [folder / f"{name}.csv" for name in words]
    typed = ["compare", *files, "--label", "truth", "--criterion", "accuracy", "--json", "-"]
    found = json.loads(run(*typed).stdout)
    got = {model["name"]: model["value"] for model in found["models"]}
    assert got == pytest.approx(
        {f"{name}.csv": np.mean(part == truth) for name, part in words.items()}
    )
    # each predicts what at least two of three do, or what the first of the best does
    voted = run("compare", *files, "--exclude", "truth")
    assert "a.csv agrees most with the others of 3 models" in voted.stdout


def test_answers_alone_are_no_probabilities(fails, folder, answers):
    files = [folder / f"{name}.csv" for name in answers[0]]
    typed = ["compare", *files, "--label", "truth"]
    for other in (["--criterion", "neg_log_loss"], ["--reference", files[0]]):
        message = fails(*typed, *other)
        assert "must hold scores of classes, got answers alone" in message
        assert "by vote or accuracy, without --reference" in message
