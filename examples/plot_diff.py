"""
Is the new classifier safe to ship?
===================================

Two classifiers of handwritten digits: the old one has learned from 300 images, the new one from 898. Which
predictions change, how much can the accuracy change without a single label, and what do a few labels prove?
"""

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from shiftmetrics import diff_models

images, digits = load_digits(return_X_y=True)
train, test, train_digits, test_digits = train_test_split(
    images / 16, digits, test_size=0.5, random_state=0
)
old = LogisticRegression(max_iter=1000).fit(train[:300], train_digits[:300])
new = LogisticRegression(max_iter=1000).fit(train, train_digits)

# %%
# Only rows whose prediction changes can change the accuracy. So the first answer needs no label and is certain.
unlabelled = diff_models(old.predict_proba(test), new.predict_proba(test), classes=old.classes_)
print(unlabelled.summary())

# %%
# With labels the answer is an interval; ``allow`` is the loss that may be accepted. Shown is the difference against
# the line that decides: it must lie to the right of what is allowed.
labelled = diff_models(
    old.predict_proba(test),
    new.predict_proba(test),
    labels=test_digits,
    classes=old.classes_,
    allow=0.01,
)
print(labelled.summary())
labelled.plot(kind="difference")

# %%
# Where predictions changed, and which of the changes were right.
labelled.plot(kind="changes")
