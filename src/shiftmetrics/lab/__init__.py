"""The laboratory: shifted data, training, data sets, and what the papers run. The measures do not need it.

- `shiftmetrics.lab.shifts`: corruptions of images, tables and strings, partly shifted samples, factors, defences.
- `shiftmetrics.lab.attacks`: attacks of given strength, noise, and attacks of other libraries.
- `shiftmetrics.lab.learners`: training for robustness in torch.
- `shiftmetrics.lab.datasets`: loaders of published data, and samples with known answers.
- `shiftmetrics.lab.distances`: other distances between outputs or features.
- `shiftmetrics.lab.baselines`: other scores to compare novelty with.
- `shiftmetrics.lab.published`: the papers' own solvers, for comparison.
- `shiftmetrics.lab.demo`: the demonstration of the command line.

Measures, models, comparison and views never import it; adapters and the command line do on first use.
"""
