"""Never confidently wrong: every number of passports and monitors is counted again from the files."""

import re

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.spatial.distance import cdist
from sklearn.ensemble import RandomForestClassifier

from counting import rounds_to
from shiftmetrics.decisions import Passport
from visits import visits


def percentages(text: str) -> list[str]:
    return re.findall(r"([\d.]+) %", text)


@pytest.mark.slow
def test_a_monitor_counts_errors_and_says_what_the_reference_allows(run, place):
    rng = np.random.default_rng(1)
    train, reference = visits(rng, 200), visits(rng, 300)
    forest = RandomForestClassifier(random_state=0).fit(train[["x"]], train["paid"])
    joblib.dump(forest, "forest.joblib")
    reference.to_csv("reference.csv", index=False)
    model = ["--model", "forest.joblib", "--trust"]
    made = run("passport", "reference.csv", *model, "--label", "paid", "--exclude", "day")
    wrong = (forest.predict(reference[["x"]]) != reference["paid"]).sum()
    assert f"Passport of {len(reference)} rows" in made.stdout
    assert f"errors ({wrong} of {len(reference)})" in made.stdout
    # Of 5 % errors have half, of which half is for the time before an alarm is acknowledged, of which half is spent
    # on the upper limit of the reference's rate.
    allowed = stats.beta.ppf(1 - 0.0125 / 2, wrong + 1, len(reference) - wrong)
    counts = []
    for look in range(1, 30):
        batch = visits(rng, 30)
        if look > 2:
            batch["paid"] = 1 - batch["paid"]
        batch["paid"] = batch["paid"].astype(object)
        batch.loc[:4, "paid"] = None
        batch.to_csv("batch.csv", index=False)
        result = run("monitor", "passport.json", "batch.csv", *model)
        known = batch.iloc[5:]
        predicted = forest.predict(known[["x"]])
        counts.append(int((predicted != known["paid"].to_numpy(dtype=int)).sum()))
        if result.exit_code:
            break
        n = 30 * look
        counted = f"{look} batches of {n} samples in all" if look > 1 else f"batch, of {n} samples"
        assert counted in result.stdout
        assert result.stdout.startswith("NO ALARM  ")
    line = result.stdout.splitlines()[0]
    assert line.startswith(f"MORE ERRORS  Alarm at batch {look}: ")
    assert rounds_to(percentages(line)[0], 100 * allowed)
    assert f"{sum(counts)} of {25 * look} labelled samples" in result.stdout


@pytest.mark.slow
def test_a_monitor_counts_far_samples_and_says_when_they_were_too_many(run, place):
    rng = np.random.default_rng(2)
    visits(rng, 600).to_csv("reference.csv", index=False)
    run("passport", "reference.csv", "--exclude", "day,paid,visit_id")
    passport = Passport.load("passport.json")

    def readings(frame: pd.DataFrame) -> np.ndarray:
        features = passport.encoder.transform(frame)
        return cdist(features, passport.centres).min(axis=1)

    # Of 5 % half is for the time before an alarm is acknowledged. Each of four tests has a quarter of that, half of
    # it for the upper limit of the reference's rate.
    part = 0.025 / len(passport.tests)
    allowed = [
        stats.beta.ppf(
            1 - part / 2, test.reference.hits + 1, test.reference.n - test.reference.hits
        )
        for test in passport.tests
    ]
    ratios = np.array([1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0])
    counts: list[list[int]] = []
    for look in range(1, 40):
        batch = visits(rng, 40)
        if look > 3:
            batch.loc[:19, "x"] = rng.normal(4.0, 0.5, 20).round(3)
        batch.to_csv("batch.csv", index=False)
        result = run("monitor", "passport.json", "batch.csv")
        found = readings(pd.read_csv("batch.csv"))
        counts.append([int((found > test.threshold).sum()) for test in passport.tests])
        # All bets anew: one started at each batch, each times its likelihood ratios since then.
        raised = []
        for place_of_test, rate in enumerate(allowed):
            odds = ratios * rate / (1 - rate)
            risen = odds / (1 + odds)
            evidence = 1 / (look + 1)
            for start in range(look):
                won = np.ones(len(ratios)) / ((start + 1) * (start + 2))
                for hits in (each[place_of_test] for each in counts[start:]):
                    won *= (risen / rate) ** hits * ((1 - risen) / (1 - rate)) ** (40 - hits)
                evidence += won.mean()
            if evidence >= 2 / part:
                raised.append(place_of_test)
        assert result.exit_code == int(bool(raised))
        if raised:
            break
    line, below, *_ = result.stdout.splitlines()
    assert line.startswith(f"CHANGED  Alarm at batch {look}: ")
    assert look > 3
    first = raised[0]
    (named,) = percentages(line)
    (limit,) = percentages(below)
    assert float(named) == 100 * passport.tests[first].quantile
    assert rounds_to(limit, 100 * allowed[first])
    assert f"{sum(each[first] for each in counts)} of {40 * look} samples are" in line
