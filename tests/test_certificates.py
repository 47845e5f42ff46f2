"""Certificates hold on small hard cases, against high precision; `certificates.py` searches among many more."""

import pytest

pytest.importorskip("mpmath")

from certificates import SEARCHES, wrong

N_CASES = {"agreement": 1000, "stability": 1200, "novelty": 400}


@pytest.mark.slow
@pytest.mark.parametrize("measure", SEARCHES)
def test_no_certificate_is_wrong(measure: str) -> None:
    n_cases, found = wrong(SEARCHES[measure](N_CASES[measure], seed=1))
    assert n_cases > 0.8 * N_CASES[measure]
    assert not found, "\n".join(f"{case.excess:.3g} times its bound: {case.words}" for case in found[:5])
