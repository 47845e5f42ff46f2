"""A small language model with full distributions, and the logs that servers would write of it."""

import json
from pathlib import Path
from typing import Any

import numpy as np

N_TOKENS = 40
WIDTH = 8


class TinyModel:
    """The next token depends on the sum of the last three, through one layer."""

    def __init__(self, seed: int = 0, noise: float = 0.0) -> None:
        rng = np.random.default_rng(seed)
        self.embedding = rng.normal(size=(N_TOKENS, WIDTH))
        self.output = rng.normal(size=(WIDTH, N_TOKENS))
        other = np.random.default_rng(seed + 1)
        self.output = self.output + noise * other.normal(size=self.output.shape)

    def logprobs(self, context: list[int]) -> np.ndarray:
        """Return the log-probability of each token."""
        hidden = np.tanh(self.embedding[context[-3:]].sum(axis=0))
        logits = hidden @ self.output
        return logits - np.logaddexp.reduce(logits)


def spelt(token: int) -> list[int]:
    """Return the bytes of a token."""
    return list(f"t{token} ".encode())


def given_line(model: TinyModel, name: str, tokens: list[int], k: int, *, chat: bool = True) -> str:
    """Return a request with the log-probabilities of a given text; the token that stands there comes first."""
    places: list[Any] = [None]
    for end in range(1, len(tokens)):
        found = model.logprobs(tokens[:end])
        best = np.argsort(-found, kind="stable")[:k]
        shown = dict.fromkeys([tokens[end], *best.tolist()])
        ranks = {int(token): int((found > found[token]).sum()) + 1 for token in shown}
        places.append(
            {str(token): {"logprob": float(found[token]), "rank": ranks[token]} for token in shown}
        )
    body: dict[str, Any] = {"model": "tiny", "choices": [{"index": 0, "message": {"content": ""}}]}
    (body if chat else body["choices"][0])["prompt_logprobs"] = places
    body["usage"] = {"prompt_tokens": len(tokens), "completion_tokens": 1}
    return json.dumps({"custom_id": name, "response": {"status_code": 200, "body": body}})


def generated(model: TinyModel, prompt: list[int], n: int) -> list[int]:
    """Return the likeliest continuation."""
    tokens = list(prompt)
    for _ in range(n):
        tokens.append(int(model.logprobs(tokens).argmax()))
    return tokens[len(prompt) :]


def generated_line(
    model: TinyModel, name: str, prompt: list[int], n: int, k: int, *, ids: bool = True
) -> str:
    """Return a request with an answer that the model wrote."""
    content = []
    tokens = list(prompt)
    for token in generated(model, prompt, n):
        found = model.logprobs(tokens)
        best = np.argsort(-found, kind="stable")[:k].tolist()

        def entry(each: int, found: np.ndarray = found) -> dict[str, Any]:
            names = {"id": each} if ids else {}
            return {**names, "token": "?", "bytes": spelt(each), "logprob": float(found[each])}

        content.append({**entry(token), "top_logprobs": [entry(each) for each in best]})
        tokens.append(token)
    body = {
        "model": "tiny",
        "choices": [{"index": 0, "finish_reason": "length", "logprobs": {"content": content}}],
        "usage": {"prompt_tokens": len(prompt), "completion_tokens": n},
    }
    return json.dumps({"custom_id": name, "response": {"body": body}})


def token_log(path: Path, lines: list[str]) -> Path:
    """Write a log."""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
