"""What is said of six hundred models, and whether it is true: none false, and no message of another library.

Run it as `python benchmarks/model_table.py [--seed N] [part of a name]`: the seed is that of the samples, and of the
search that tries to refute. Models of libraries that are not installed are left out.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter

from _machine import header
from _model_check import Verdict, verdict_of
from _model_list import cases, data_of


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("name", nargs="*")
    options = parser.parse_args()
    print(header("xgboost-cpu", "lightgbm"))
    wanted = " ".join(options.name)
    words: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for case in cases():
        if wanted not in case.name:
            continue
        X, y = data_of(case.data, seed=options.seed)
        started = time.perf_counter()
        try:
            model = case.fit(X, y)
        except Exception as error:  # not a matter of this package
            print(f"unfit    {case.name}: {type(error).__name__}: {str(error)[:100]}", flush=True)
            continue
        found: Verdict = verdict_of(model, X, y, loss=case.loss, seed=options.seed)
        seconds = time.perf_counter() - started
        words[found.word] += 1
        kinds[f"{found.kind} {found.route}"] += 1
        print(
            f"{found.word:8} {case.name:45} {found.kind:11} {found.route:9} {seconds:5.1f} s {found.why}",
            flush=True,
        )
    print(dict(words))
    print(dict(kinds))


if __name__ == "__main__":
    main()
