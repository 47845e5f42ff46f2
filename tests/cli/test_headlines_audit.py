"""Never confidently wrong: every number of audits is counted again from the files."""

import re

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.isotonic import IsotonicRegression

from shiftmetrics.decisions import audit_samples

N = 160
DAYS = pd.date_range("2024-10-01", periods=20).astype(str)


def visits(rng, n):
    """Return visits with an id, a number, a category with gaps, a day, and an answer with errors."""
    x = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "visit_id": rng.permutation(10 * n)[:n] + 5000,
            "x": x.round(3),
            "city": rng.choice(["A", "B", None], n, p=[0.5, 0.4, 0.1]),
            "day": np.sort(rng.choice(DAYS, n)),
        }
    )
    frame["paid"] = np.where(rng.random(n) < 0.1, x < 0, x > 0).astype(int)
    return frame


def rounds_to(printed: str, exact: float) -> bool:
    """Return True if a printed number is this one, rounded to the digits that it shows."""
    decimals = len(printed.partition(".")[2])
    return abs(float(printed) - exact) <= 0.501 * 10.0**-decimals


def percentages(text: str) -> list[str]:
    return re.findall(r"([\d.]+) %", text)


@pytest.fixture
def samples():
    """Return two samples; from the eleventh day on a third of the current one is of a new city."""
    rng = np.random.default_rng(0)
    reference, current = visits(rng, N), visits(rng, N)
    late = current.index[current["day"] >= DAYS[10]]
    current.loc[late[::3], "city"] = "C"
    return reference, current


def write(reference, current) -> None:
    reference.to_csv("reference.csv", index=False)
    current.to_csv("current.csv", index=False)


def audited(run, *options) -> list[str]:
    result = run("audit", "reference.csv", "current.csv", *options)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    # Samples of one day may come before most of the reference.
    return [line for line in lines if not line.startswith("Warning: The dates of the reference")]


def check_mode(line: str, current: pd.DataFrame, in_mode: pd.Series) -> str:
    """Check the fraction and the size of a mode, and return what the line says of times."""
    found = re.fullmatch(r"1  ([\d.]+) %  (since .*?\)  )?(.*)  (\d+) samples", line)
    assert int(found[4]) == in_mode.sum()
    assert rounds_to(found[1], 100 * in_mode.mean())
    return found[2] or ""


@pytest.mark.slow
def test_modes_and_columns_without_times(run, place, samples):
    reference, current = samples
    write(reference, current)
    lines = audited(run, "--exclude", "day,paid")
    in_mode = current["city"] == "C"
    first = percentages(lines[0])[0]
    assert lines[0].startswith("CHANGED  ")
    assert "in one mode" in lines[0]
    assert rounds_to(first, 100 * in_mode.mean())
    assert check_mode(lines[1], current, in_mode) == ""
    column = next(line for line in lines if line.startswith("city: "))
    sides = [part["city"].fillna("missing") for part in (reference, current)]
    for level, now, before in re.findall(r"(\w+) ([\d.]+) %, was ([\d.]+) %", column):
        assert rounds_to(before, 100 * (sides[0] == level).mean())
        assert rounds_to(now, 100 * (sides[1] == level).mean())
    levels = set(sides[0]) | set(sides[1])
    effect = sum(abs((sides[1] == c).mean() - (sides[0] == c).mean()) for c in levels) / 2
    assert rounds_to(re.search(r"effect ([\d.]+)\)", column)[1], effect)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["as they are", "gaps", "hours"])
def test_since_when(run, place, samples, case):
    reference, current = samples
    days = current["day"].copy()
    if case == "gaps":
        current.loc[::7, "day"] = None
    if case == "hours":
        current["day"] = current["day"] + " 12:30:00"
    write(reference, current)
    lines = audited(run, "--time", "day", "--exclude", "paid")
    in_mode = current["city"] == "C"
    words = check_mode(lines[1], current, in_mode)
    since, before, after = re.match(r"since (\S+) \(([\d.]+) % > ([\d.]+) %\)", words).groups()
    # The split with the highest likelihood of two fractions, over all days.
    known = current["day"].notna()
    best, highest = None, -np.inf
    for day in sorted(set(days[known]))[1:]:
        parts = [in_mode[known & (days < day)], in_mode[known & (days >= day)]]
        likelihood = sum(
            stats.binom.logpmf(part.sum(), len(part), part.mean())
            - np.log(stats.binom.pmf(part.sum(), len(part), 0.5) / 0.5 ** len(part))
            for part in parts
        )
        if likelihood > highest:
            best, highest = day, likelihood
    assert since == best
    early = known & (days < best)
    late = known & (days >= best)
    assert rounds_to(before, 100 * in_mode[early].mean())
    assert rounds_to(after, 100 * in_mode[late].mean())


@pytest.mark.slow
def test_times_that_are_all_one_tell_no_date(run, place, samples):
    reference, current = samples
    write(reference, current.assign(day=DAYS[3]))
    lines = audited(run, "--time", "day", "--exclude", "paid")
    assert check_mode(lines[1], current, current["city"] == "C") == ""


@pytest.mark.slow
def test_one_row_shows_nothing(run, place, samples):
    reference, current = samples
    write(reference, current.head(1))
    (line, *_) = audited(run, "--time", "day")
    assert line.startswith("NO CHANGE SHOWN  ")


@pytest.mark.slow
def test_a_column_with_other_values_in_every_sample_is_named(run, place, samples):
    reference, current = samples
    current = current.assign(city="C")
    write(reference, current)
    lines = audited(run, "--time", "day", "--exclude", "paid")
    assert not set(reference["city"]) & set(current["city"])
    assert set(reference["x"]) & set(current["x"])
    assert lines[0].startswith("CHANGED  One column has other values in every sample: city.")
    assert lines[1].startswith("By the other columns nothing is shown to be new")
    assert any(line.startswith("If city only tells the samples apart") for line in lines)


@pytest.mark.slow
def test_repeated_rows_prove_nothing(run, place, samples):
    reference, current = (part.drop(columns="visit_id") for part in samples)
    write(pd.concat([reference] * 2), pd.concat([current] * 2))
    warning, line, *_ = audited(run)
    assert warning.startswith("Warning: Every row of the reference stands at least twice")
    assert line.startswith("CANNOT TELL  Rows are copies or depend on each other")


@pytest.mark.slow
@pytest.mark.parametrize("drawn", ["random", "all"])
def test_a_default_forest_judged_by_labels(run, place, samples, drawn):
    reference, current = samples
    rng = np.random.default_rng(5)
    train = visits(rng, 200)
    forest = RandomForestClassifier(random_state=0).fit(train[["x"]], train["paid"])
    joblib.dump(forest, "forest.joblib")
    # Answers turn round, so that labels show the model to be worse.
    current["paid"] = 1 - current["paid"]
    write(reference, current.drop(columns="paid"))
    if drawn == "all":
        labels = current[["visit_id", "paid"]].rename(columns={"paid": "label"})
    else:
        options = ["--model", "forest.joblib", "--trust", "--label", "paid"]
        audited(run, *options, "--plan", "50", "--to-label", "plan.csv")
        labels = pd.read_csv("plan.csv")
        truth = current.set_index("visit_id")["paid"]
        labels["label"] = truth.loc[labels["id"]].to_numpy()
        labels = labels.drop(columns=["x", "city", "day"])
    labels.to_csv("labels.csv", index=False)
    options = ["--model", "forest.joblib", "--trust", "--label", "paid", "--labels", "labels.csv"]
    (line, *_) = audited(run, *options)
    named = labels["visit_id" if drawn == "all" else "id"]
    rows = current.set_index("visit_id").loc[named]
    right = forest.predict(rows[["x"]]) == rows["paid"]
    base = forest.predict(reference[["x"]]) == reference["paid"]
    assert line.startswith("WORSE  ")
    accuracy = percentages(line)[0]
    assert rounds_to(accuracy, 100 * right.mean())
    assert str(len(right)) in line
    # The change: exact limits of both rates, combined by their squares (Newcombe).
    ends = []
    for hits in (right, base):
        interval = stats.binomtest(int(hits.sum()), len(hits)).proportion_ci(0.95, method="exact")
        ends.append((hits.mean(), interval.low, interval.high))
    if drawn == "random":
        low, high = re.search(r"\(([\d.]+) % to ([\d.]+) % of all\)", line).groups()
        limits = hypergeometric_limits(int(right.sum()), len(right), N)
        assert rounds_to(low, 100 * limits[0] / N)
        assert rounds_to(high, 100 * limits[1] / N)
        ends[0] = (ends[0][0], limits[0] / N, limits[1] / N)
    (now, now_low, now_high), (before, before_low, before_high) = ends
    change = now - before
    least = change - np.hypot(now - now_low, before_high - before)
    most = change + np.hypot(now_high - now, before - before_low)
    smallest, largest = re.search(r"([\d.]+) to ([\d.]+) points below", line).groups()
    assert rounds_to(smallest, -100 * most)
    assert rounds_to(largest, -100 * least)


def hypergeometric_limits(hits: int, drawn: int, n: int) -> tuple[int, int]:
    """Return the least and the largest number of right answers that 2.5 % on each side do not rule out."""
    possible = [
        k
        for k in range(n + 1)
        if stats.hypergeom.sf(hits - 1, n, k, drawn) > 0.025
        and stats.hypergeom.cdf(hits, n, k, drawn) > 0.025
    ]
    return possible[0], possible[-1]


@pytest.mark.realdata
@pytest.mark.slow
def test_a_mode_planted_in_real_data(run, place, data_folder):
    table = data_folder / "tabular_fairness_classics" / "adult.csv.gz"
    frame = pd.read_csv(table, na_values="?").drop(columns="fnlwgt")
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(frame))[:1200]
    reference = frame.iloc[rows[:600]].reset_index(drop=True)
    current = frame.iloc[rows[600:]].reset_index(drop=True)
    current["day"] = np.sort(rng.choice(DAYS, 600))
    late = current.index[current["day"] >= DAYS[10]][::5]
    current.loc[late, "workclass"] = "Gig-platform"
    current.loc[late, "hours-per-week"] = 64
    write(reference, current)
    lines = audited(run, "--time", "day")
    in_mode = current["workclass"] == "Gig-platform"
    words = check_mode(lines[1], current, in_mode)
    assert "workclass = Gig-platform" in lines[1]
    assert f"since {DAYS[10]}" in words
    before, after = percentages(words)
    assert before == "0"
    assert rounds_to(after, 100 * in_mode[current["day"] >= DAYS[10]].mean())


@pytest.mark.slow
@pytest.mark.parametrize("case", ["same source", "older"])
def test_the_range_without_labels(run, place, samples, case):
    reference, current = samples
    train = visits(np.random.default_rng(5), 300)
    forest = RandomForestClassifier(min_samples_leaf=5, random_state=0)
    forest.fit(train[["x"]], train["paid"])
    joblib.dump(forest, "forest.joblib")
    current = current.assign(city=reference["city"].to_numpy()).drop(columns="paid")
    if case == "older":
        current["x"] = (0.6 * current["x"]).round(3)
    write(reference, current)
    options = ["--label", "paid", "--exclude", "day"]
    lines = audited(run, "--model", "forest.joblib", "--trust", *options)
    line = next(line for line in lines if line.startswith("If answers still mean"))
    low, high, before = percentages(line)
    # The temperature by a grid, the calibration by scikit-learn, the range by its formula.
    logs = [
        np.log(np.maximum(forest.predict_proba(side[["x"]]), 1e-4)) for side in (reference, current)
    ]
    places = np.searchsorted(forest.classes_, reference["paid"])
    rows = np.arange(N)

    def tempered(of: np.ndarray, temperature: float) -> np.ndarray:
        powers = np.exp(of / temperature)
        return powers / powers.sum(axis=1, keepdims=True)

    grid = np.geomspace(0.05, 20.0, 4001)
    losses = [-np.log(tempered(logs[0], each)[rows, places]).mean() for each in grid]
    best = grid[int(np.argmin(losses))]
    confidence = [tempered(each, best).max(axis=1) for each in logs]
    right = logs[0].argmax(axis=1) == places
    curve = IsotonicRegression(out_of_bounds="clip").fit(confidence[0], right)
    estimate = curve.predict(confidence[1]).mean()
    accuracy = right.mean()
    assert rounds_to(before, 100 * accuracy)
    # What has no counterpart is counted by the same trees on the same columns.
    changes = audit_samples(reference, current, exclude=["day", "paid"]).changes
    unmatched = changes.unmatched_fraction
    error = np.sqrt((estimate * (1 - estimate) + accuracy * (1 - accuracy)) / N)
    margin = 0.03 + 0.5 * abs(estimate - accuracy) + 1.3 * error
    matched = (1 - unmatched) * estimate
    assert float(low) == pytest.approx(100 * max(matched - margin, 0.0), abs=0.6)
    assert float(high) == pytest.approx(100 * min(matched + unmatched + margin, 1.0), abs=0.6)
