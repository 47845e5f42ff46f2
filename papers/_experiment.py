"""One experiment: run its seeds, keep what each gave, judge its claims, draw its picture."""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from _beside import commit_that_made, first_seed_by
from _claims import Claim, Finding, judge
from _provenance import stamp, without_texts

from shiftmetrics.views.drawings.style import style

RESULTS = Path(__file__).parent / "results"
PICTURES = Path(__file__).parents[1] / "docs" / "reproduction"
RENAMED = {
    "shiftmetrics_lab": "shiftmetrics.lab",
    "bandwidth=width).new": "bandwidth=width).modes",
    "concatenate(known))).new": "concatenate(known))).modes",
    "found.new[": "found.modes[",
    "result.new": "result.modes",
}
"""What imports and fields are called now, and what they were when the first results were kept: the same code."""

NO_DATA = 3
"""Exit status of an experiment whose data are not there."""
ANOTHER = 4
"""Exit status of a confirmation that found other numbers."""
CLOSE = 1e-3
"""How far a number computed again may be from the kept one, relative to the larger of both."""
TEXTS = ("CLAIMS", "draw", "conclude")
"""What may change without a computation: words and bounds of claims, drawings, what follows from the runs."""


def run(
    script: str,
    claims: Mapping[str, Claim],
    measure: Callable[[int, bool], dict[str, Any]],
    draw: Callable[[list[dict[str, Any]]], Any] | None = None,
    *,
    conclude: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    seeds: int = 10,
) -> None:
    """Run an experiment: ``python papers/NAME.py [--quick] [--seeds N] [--again] [--confirm]``.

    Parameters
    ----------
    script : str
        Its ``__file__``.
    claims : mapping of str to Claim
        What is claimed, by the name under which ``measure`` returns its number.
    measure : callable
        ``measure(seed, quick)`` returns for each claim a number, or one for each rival, and whatever ``draw`` needs,
        as numbers, texts and lists of them. ``quick`` asks for the reduced form, whose verdicts are not kept.
    draw : callable, optional
        ``draw(runs)`` returns a matplotlib figure of what all seeds returned.
    conclude : callable, optional
        ``conclude(one)`` returns numbers of claims that follow from what ``measure`` returned for a seed.
    seeds : int, default 10
        How many seeds; 1 where nothing is drawn at random.

    Notes
    -----
    Each seed is written when it ends: an interrupted run goes on where it stopped. A changed script starts anew, but
    for its claims, drawing, conclusions, texts and number of seeds. The record says which sources made it;
    ``--confirm`` computes the first seed again, and says so in the record where it comes out as before, or else as
    by the earlier sources on this machine.
    """
    options = _arguments(seeds)
    name = Path(script).stem
    folder, pictures = (RESULTS / "quick",) * 2 if options.quick else (RESULTS, PICTURES)
    for path in (folder, pictures):
        path.mkdir(parents=True, exist_ok=True)
    kept, unfinished = folder / f"{name}.json", folder / f".{name}.unfinished.json"
    source, by = source_of(Path(script)), stamp(Path(script))
    if options.confirm:
        measured = measure(0, options.quick)
        _confirm(kept, source, by, _plain(measured), _concluded(measured, claims, conclude, name))
        return
    record = None if options.again else _read(unfinished, source) or _read(kept, source)
    record = record or {"script": name, "source": source, "seconds": 0.0, **by, "runs": []}
    for seed in range(len(record["runs"]), options.seeds):
        start = time.process_time()  # cores may be shared
        record["runs"].append(_concluded(measure(seed, options.quick), claims, conclude, name))
        record["seconds"] = round(record["seconds"] + time.process_time() - start, 2)
        _write(unfinished, record)
        print(f"{name}: seed {seed + 1} of {options.seeds}, {record['seconds']:.0f} s", flush=True)
    kept_runs = record["runs"][: options.seeds]
    runs = record["runs"] = [_concluded(one, claims, conclude, name) for one in kept_runs]
    found = {key: judge(claim, [one[key] for one in runs]) for key, claim in claims.items()}
    record["claims"] = {
        key: {**asdict(claim), **asdict(found[key])} for key, claim in claims.items()
    }
    _write(kept, record)
    unfinished.unlink(missing_ok=True)
    if draw is not None:
        with style(), mpl.rc_context({"legend.frameon": True, "legend.framealpha": 0.8}):
            draw(runs).savefig(pictures / f"{name}.png", dpi=90, bbox_inches="tight")
    print(_in_words(claims, found), flush=True)  # in one piece: others may run beside this one


def _in_words(claims: Mapping[str, Claim], found: Mapping[str, Finding]) -> str:
    lines = []
    for key, finding in found.items():
        claim = claims[key]
        interval = "" if finding.low is None else f" [{finding.low:.4g}, {finding.high:.4g}]"
        against = f" (against {finding.rival})" if finding.rival else ""
        lines.append(f"{finding.verdict.upper()}: {claim.sentence}{against}")
        lines.append(
            f"  {claim.statistic}: {finding.mean:.4g}{interval}, claimed {claim.relation} {claim.bound:g}"
        )
    return "\n".join(lines)


def _confirm(
    kept: Path,
    source: str,
    by: Mapping[str, Any],
    measured: dict[str, Any],
    again: dict[str, Any],
) -> None:
    """Compare the first seed with what is kept; where they agree the record is as new as the sources.

    ``again`` is what was measured, with what follows from it.
    """
    record = _read(kept, source)
    if record is None:
        print(f"{kept.stem}: nothing kept by this script; run it without --confirm.")
        sys.exit(ANOTHER)
    other = different(again, record["runs"][0])
    how = "as before"
    if other and (then := commit_that_made(kept.stem)) is not None:
        # The machine may be another one: what tells is what the earlier sources give on this one.
        other, how = different(first_seed_by(then, kept.stem), measured), "alike on one machine"
    if other:
        print(f"{kept.stem}: the first seed gives another {', '.join(other)}; run it with --again.")
        sys.exit(ANOTHER)
    full = json.loads(kept.read_text(encoding="utf-8"))
    _write(kept, {**full, "parts": by["parts"], "confirmed": by["commit"], "comes_out": how})
    print(f"{kept.stem}: the first seed comes out {how}.")


def different(one: Any, other: Any, where: str = "") -> list[str]:
    """Return the places where two records of a seed differ by more than `CLOSE`."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            place
            for key in one
            for place in different(one[key], other.get(key), f"{where}/{key}" if where else key)
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return list(
            dict.fromkeys(
                place
                for part, like in zip(one, other, strict=True)
                for place in different(part, like, where)
            )
        )
    if isinstance(one, float | int) and isinstance(other, float | int):
        return [] if math.isclose(one, other, rel_tol=CLOSE, abs_tol=1e-6) else [where]
    return [] if one == other else [where]


def source_of(script: Path) -> str:
    """Return a hash of what a script computes: its code in any layout, but `TEXTS` and the call at its end.

    A package or field that only got another name leaves it as it is.
    """
    tree = without_texts(ast.parse(script.read_text(encoding="utf-8")))
    tree.body = [
        node for node in tree.body if not (isinstance(node, ast.If) or _name(node) in TEXTS)
    ]
    code = ast.unparse(tree)
    for name, earlier in RENAMED.items():
        code = code.replace(name, earlier)
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def _name(node: ast.stmt) -> str:
    """Return the name that a statement defines, where it defines one."""
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0])
    return getattr(node, "name", "")


def data_folder(name: str) -> Path:
    """Return a folder of the real data, or end the script with the name of what is missing."""
    root = os.environ.get("SHIFTMETRICS_DATA")
    if root and (Path(root) / name).is_dir():
        return Path(root) / name
    where = "SHIFTMETRICS_DATA is not set" if not root else f"it is not in {root}"
    print(f"skipped: needs the data folder {name!r}, and {where}.")
    sys.exit(NO_DATA)


def _arguments(seeds: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="the reduced form: it shows that the script runs"
    )
    parser.add_argument(
        "--seeds", type=int, default=None, help=f"number of seeds; {seeds}, or 2 with --quick"
    )
    parser.add_argument("--again", action="store_true", help="forget what an earlier run kept")
    parser.add_argument(
        "--confirm", action="store_true", help="compute the first seed again and compare"
    )
    options = parser.parse_args()
    if options.seeds is None:
        options.seeds = min(seeds, 2) if options.quick else seeds
    if options.seeds < 1:
        parser.error(f"--seeds must be at least 1, got {options.seeds}")
    return options


def _read(kept: Path, source: str) -> dict[str, Any] | None:
    """Return what an earlier run of the same script kept, if there is any."""
    if not kept.is_file():
        return None
    record = json.loads(kept.read_text(encoding="utf-8"))
    if record["source"] != source:
        return None
    return {key: value for key, value in record.items() if key != "claims"}


def _write(kept: Path, record: Mapping[str, Any]) -> None:
    """Replace a file in one step: an interruption leaves the old one whole."""
    new = kept.with_suffix(".json.new")
    head = {key: value for key, value in record.items() if key != "runs"}
    runs = ",\n  ".join(json.dumps(one) for one in record["runs"])
    text = f'{json.dumps(head, indent=1)[:-2]},\n "runs": [\n  {runs}\n ]\n}}\n'  # one line for each seed
    new.write_text(text, encoding="utf-8")
    new.replace(kept)


def _concluded(
    one: dict[str, Any],
    claims: Mapping[str, Claim],
    conclude: Callable[[dict[str, Any]], dict[str, Any]] | None,
    name: str,
) -> dict[str, Any]:
    """Return what a seed gave, with what follows from it: a number for each claim."""
    one = _plain(one)
    if conclude is not None:
        one |= _plain(conclude(one))
    missing = sorted(set(claims) - set(one))
    if missing:
        raise KeyError(
            f"measure of {name} must return a number for {missing[0]!r}, got {sorted(one)}."
        )
    return one


def _plain(value: Any) -> Any:
    """Return arrays as lists, and numbers to six digits."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, np.bool_):
        return bool(value)
    return value if isinstance(value, str | bool | type(None)) else float(f"{value:.6g}")
