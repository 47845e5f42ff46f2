"""What is new or missing: the gate, the search for modes, their members, and what is no mode.

In the order in which a call uses them, which is the order to read them in:

1. `space`: coordinates of the samples at several widths of the kernel; everything below works in them.
2. `gate`: is anything new or missing at all? Scans of both samples under `permutations` of the labels, by the scores
   of `ridge`, a classifier.
3. `changed_columns` and `changed_correlations`: is it only columns that moved, so that there are no modes?
4. `search`: which modes are there? Eigenvectors that stand out from `permutations`, separated by `varimax`;
   `membership` says which samples belong to each, `merge_and_split` which of them are one and which are two.
5. `fraction_bound`: how much is new at least, by scores that no sample had a part in.
6. `frequencies`: which modes are new or missing, and which only more or less frequent.
7. `mode`: a mode as the result shows it; `contrast` says what sets its members apart.
8. `row_scores`: how new each sample looks.

`novelty/searched.py` asks 1 to 5 of some samples, and `novelty/detection.py` puts all of it together.
"""
