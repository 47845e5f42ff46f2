"""The one table of names: what columns with a role are often called. Names break ties; evidence comes first."""

from __future__ import annotations

import re
from typing import Literal

RoleName = Literal["id", "truth", "answer", "confidence", "weight", "group", "date", "beside"]

_WORDS: dict[RoleName, str] = {
    "id": """
        id ids idx index row rowid row_index row_number key uuid guid name filename file image path inst inst#
        instance case sample observation record rowindex uid qid docid user customer patient
    """,
    "truth": """
        label labels target targets y y_true truth ground_truth gold actual class category obs observed
        expected
        true_label true_class y_test reference answer_key real
    """,
    "answer": """
        prediction predictions predicted predict pred preds y_pred y_hat yhat answer output decision response
        pred_class predicted_class prediction_label predicted_label label_pred output_label pred_label
        class_pred estimate
        yhat_class predicted_value predictedlabel
    """,
    "confidence": """
        confidence conf score prediction_score max_probability top_probability max_prob probability prob
        certainty
        pred_score predicted_probability
    """,
    "weight": "weight weights sample_weight sample_weights case_weight case_weights wt",
    "group": "group groups cluster clusters",
    "date": "date day time timestamp when datetime created_at month week year hour",
    "beside": """
        latency latency_ms latency_s duration runtime elapsed seconds ms age loss cross_entropy error
        errors fold
        epoch step seed batch weight total sum entropy margin uncertainty count rank cost price temperature
        time n_tokens
        tokens store week month year hour correct is_correct was_correct incorrect is_wrong hit is_hit match
        matches mismatch lower upper lwr upr ci_lower ci_upper std stddev se stderr variance
    """,
}

ROLE_NAMES = {role: frozenset(words.split()) for role, words in _WORDS.items()}
"""``beside``: numbers that often stand beside predictions and are none."""

_ENDINGS: dict[RoleName, tuple[str, ...]] = {
    "id": ("_id", "_key", "_uuid"),
    "truth": ("_label", "_true", "_truth", "_target"),
    "answer": ("_pred", "_prediction", "_predicted"),
    "weight": ("_weight",),
    "beside": ("_ms", "_s", "_sec", "_seconds", "_loss", "_time", "_count"),
}

_UNITS = frozenset(["time", "price", "cost", "latency", "duration", "runtime", "elapsed", "tokens"])
"""Words that say what is counted in names of several words: time_per_example, total_cost, n_output_tokens."""


def plain_name(name: str) -> str:
    """Return a name as it is compared: small letters, underscores between its words, no mark at its ends."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-.]+", "_", spaced).strip("_").lower()


def has_name_of(name: str, role: RoleName) -> bool:
    """Return True if a column has a name that is usual for a role."""
    plain = plain_name(name)
    # The last name of a nested cell: predictions.predicted_label.
    if role == "answer" and plain_name(name.rpartition(".")[2]) in ROLE_NAMES[role]:
        return True
    # An answer that says so is no truth: predicted_label.
    if role == "truth" and has_name_of(name, "answer"):
        return False
    if plain in ROLE_NAMES[role] or plain.replace("_", "") in ROLE_NAMES[role]:
        return True
    words = plain.split("_")
    if role == "beside" and len(words) > 1 and (words[0] in _UNITS or words[-1] in _UNITS):
        return True
    return plain.endswith(_ENDINGS.get(role, ()))
