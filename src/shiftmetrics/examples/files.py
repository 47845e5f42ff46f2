"""The demonstration as files: what it measured, and a configuration that measures it again on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shiftmetrics._core.files import MARK, atomic_path, write_text
from shiftmetrics.examples.evaluate import BROKEN_RISK, Demonstration

CONFIG = (
    f"# {MARK}\n"
    + """\
# What `shiftmetrics demo` has measured, for `shiftmetrics run`. Each table holds the arguments and options of the
# command of its name: `shiftmetrics agreement --help` lists them. Paths start at the folder of this file.

title = "A classifier of handwritten digits under shift"
output = "results"
rules = "rules.toml"
seed = {seed}

[[agreement]]
name = "{rotation}"
shifted = "digits.npz:rotated_scores"
reference = "digits.npz:scores"
label = "digits.npz:labels"

[[agreement]]
name = "{noise}"
shifted = "digits.npz:noisy_scores"
reference = "digits.npz:scores"
label = "digits.npz:labels"

[[stability]]
name = "{stability}"
file = "digits.npz:distances"
distances = 0
label = "digits.npz:labels"
threshold = {threshold}

[[novelty]]
name = "{novelty}"
test = "digits.npz:images"
reference = "digits.npz:reference_images"
label = "digits.npz:labels"
"""
)
RULES = (
    f"# {MARK}\n"
    + """\
# What the results must hold, for `shiftmetrics run` and `shiftmetrics check`: change a bound and see it fail.

[[rule]]
name = "predictions survive a turn"
measure = "posterior_agreement"
result = "{rotation}"
field = "changes.disagreement"
at_most = 0.1
reason = "Forms are scanned by hand, and lie askew."

[[rule]]
name = "predictions survive noise"
measure = "posterior_agreement"
result = "{noise}"
field = "changes.disagreement"
at_most = 0.15
reason = "The next scanner is a cheap one."

[[rule]]
name = "no small shift breaks the classifier"
measure = "stability"
at_least = 0.001

[[rule]]
name = "nothing new has come in"
measure = "novelty"
field = "new.count"
at_most = 0
severity = "warn"
reason = "Look at the modes that stand out before you release. A warning, so the gate stays open."
"""
)


def write_inputs(found: Demonstration, folder: Path, *, seed: int) -> Path:
    """Write ``digits.npz``, ``config.toml`` and ``rules.toml`` into ``folder``, and return the configuration."""
    rotation, noise, stability, novelty = found.results
    rows = found.context.rows
    write_text(folder / "rules.toml", RULES.format(rotation=rotation, noise=noise))
    text = CONFIG.format(
        seed=seed,
        rotation=rotation,
        noise=noise,
        stability=stability,
        threshold=BROKEN_RISK,
        novelty=novelty,
    )
    write_text(folder / "config.toml", text)
    # Last: the configuration beside them says whose they are, also where the process is killed between the two.
    with atomic_path(folder / "digits.npz") as temporary:
        np.savez_compressed(
            temporary,
            rotated_scores=rows[rotation].scores,
            noisy_scores=rows[noise].scores,
            scores=rows[rotation].reference_scores,
            labels=rows[rotation].labels,
            distances=found.distances,
            images=rows[novelty].images,
            reference_images=rows[novelty].reference_images,
        )
    return folder / "config.toml"
