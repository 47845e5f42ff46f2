"""The laboratory: shifted data, training, data sets, and what the papers run. The measures do not need it.

- `shiftmetrics_lab.shifts`: corruptions of images, tables and strings, partly shifted samples, factors, defences.
- `shiftmetrics_lab.attacks`: attacks of given strength, noise, and attacks of other libraries.
- `shiftmetrics_lab.learners`: training for robustness in torch.
- `shiftmetrics_lab.datasets`: loaders of published data, and samples with known answers.
- `shiftmetrics_lab.distances`: other distances between outputs or features.
- `shiftmetrics_lab.baselines`: other scores to compare novelty with.
- `shiftmetrics_lab.published`: the papers' own solvers, for comparison.

It is a distribution of its own, ``shiftmetrics-lab``, of the same version as ``shiftmetrics``, which never
imports it.
"""

from shiftmetrics_lab._version import __version__
from shiftmetrics_lab.old_paths import keep_old_paths

__all__ = ["__version__"]

# what was pickled while the laboratory was a part of shiftmetrics is still read
keep_old_paths()
