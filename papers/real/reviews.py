"""Film reviews read by DistilBERT (figure 10 of the paper, figures 4.5 and B.6 of the thesis).

``--model`` is a folder as ``save_pretrained`` writes it (config.json, model.safetensors, vocab.txt, tokenizer.json)
of a network with two classes, or its name on the hub, such as
``distilbert-base-uncased-finetuned-sst-2-english``; the thesis trained its own on the reviews. It needs the package
transformers. ``--data`` is the folder of IMDb (``test/pos/*.txt``, ``test/neg/*.txt``).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _real import digest, rows, table
from agreement_reviews import CLAIMS, POWERS, conclude
from scipy.stats import spearmanr

from shiftmetrics import posterior_agreement
from shiftmetrics_lab.datasets import load
from shiftmetrics_lab.shifts import CharacterEdits, SentimentWords

WORDS = POWERS[:6]


def read_model(where: str) -> Any:
    """Return a function from texts to scores of shape (n, 2): a DistilBERT of a folder, or of the hub."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    local = Path(where).is_dir()
    tokenizer = AutoTokenizer.from_pretrained(where, local_files_only=local)
    network = AutoModelForSequenceClassification.from_pretrained(
        where, local_files_only=local
    ).eval()
    if network.config.num_labels != 2:
        raise ValueError(f"{where} must have 2 classes, got {network.config.num_labels}.")

    def scores(texts: list[str], batch_size: int = 32) -> np.ndarray:
        parts = []
        for start in range(0, len(texts), batch_size):
            batch = tokenizer(
                texts[start : start + batch_size],
                truncation=True,
                max_length=network.config.max_position_embeddings,
                padding=True,
                return_tensors="pt",
            )
            with torch.no_grad():
                parts.append(network(**batch).logits.double().numpy())
        return np.concatenate(parts)

    return scores


def measure(scores: Any, texts: list[str], labels: np.ndarray, seed: int) -> dict[str, Any]:
    """Return the numbers of the claims, and agreement over log 2 and accuracy by shift and power."""
    before = scores(texts)
    plain = float((before.argmax(axis=1) == labels).mean())
    shifts = {
        "edits": (CharacterEdits(), POWERS),
        "amplified": (SentimentWords(labels), WORDS),
        "contradicted": (SentimentWords(labels, agree=False), WORDS),
    }
    agreement: dict[str, list[float]] = {}
    accuracy: dict[str, list[float]] = {}
    for name, (shift, powers) in shifts.items():
        after = [scores(list(shift(texts, strength=2**power, rng=seed))) for power in powers]
        agreement[name] = [posterior_agreement(one, before).value / np.log(2) for one in after]
        accuracy[name] = [float((one.argmax(axis=1) == labels).mean()) for one in after]
    one = {
        "falls": float(spearmanr(agreement["edits"], POWERS).statistic),
        "accuracy_stays": plain - accuracy["edits"][2],
        "first_edit": 1.0 - agreement["edits"][0],
        "amplified": accuracy["amplified"][4] - plain,
        "amplified_agreement": 1.0 - agreement["amplified"][4],
        "contradicted": min(
            plain - accuracy["contradicted"][4], 1.0 - agreement["contradicted"][4]
        ),
        "agreement": agreement,
        "accuracy": accuracy,
    }
    return {**one, **conclude(one)}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--n", type=int, default=25_000)
    parser.add_argument("--seeds", type=int, default=1, help="samples of reviews, and their edits")
    options = parser.parse_args(arguments)
    scores = read_model(options.model)
    reviews = load("imdb", options.data, split="test", progress=False)
    runs = []
    for seed in range(options.seeds):
        chosen = np.random.default_rng(seed).permutation(len(reviews.y))[: options.n]
        texts = [reviews.X[row] for row in chosen]
        runs.append(measure(scores, texts, np.asarray(reviews.y)[chosen], seed))
    print(rows("agreement_reviews", CLAIMS, runs, f"{len(chosen):,} reviews, {options.model}"))
    lines = [
        (shift, f"2^{power}", np.mean([one["agreement"][shift][place] for one in runs]),
         np.mean([one["accuracy"][shift][place] for one in runs]))
        for shift in ("edits", "amplified", "contradicted")
        for place, power in enumerate(POWERS if shift == "edits" else WORDS)
    ]  # fmt: skip
    print("\n" + table(("shift", "power", "PA over log 2", "accuracy"), lines) + "\n")
    model = Path(options.model)
    print(f"Read: {digest(model) if model.exists() else options.model}")
    print(f"Read: {digest(options.data)}")


if __name__ == "__main__":
    main()
