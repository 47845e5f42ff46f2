"""Log-probabilities as servers of language models write them: JSON lines of requests with the answer to each.

Generated tokens stand in ``logprobs.content`` of a choice. Given ones (teacher-forced) stand in ``prompt_logprobs``,
where the first token of each place is the one that stands there and the others are the likeliest.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import DAMAGED, Content, Reader
from shiftmetrics.tables.token_logs import (
    TokenCells,
    TokenPlace,
    TokenSequence,
    frame_of_sequences,
)

WHAT = "a log of log-probabilities"

NAMES = ("custom_id", "id")
"""What names a request: that of a batch, or what the table calls its rows; the id of an answer is a random one."""


def _tells(content: Content) -> bool:
    head = content.head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(b"{"):
        return False
    has_answer = b'"choices"' in head or b'"prompt_logprobs"' in head
    has_tokens = b'"top_logprobs"' in head or b'"prompt_logprobs"' in head
    return has_answer and has_tokens


def _read(content: Content) -> Cells:
    # Parsed JSON takes several times the bytes of its text.
    content.check_size(4 * content.size)
    sequences: list[TokenSequence] = []
    models: dict[str, None] = {}
    known: set[tuple[str, int]] = set()
    with content.open() as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            for part in _sequences(content, _parsed(content, line, number), number, models):
                if (part.name, part.choice) in known:
                    got = f"{part.name!r} twice"
                    raise content.refusal(f"{WHAT} with each request once", f"with {got}")
                known.add((part.name, part.choice))
                sequences.append(part)
    found = tuple(sequences)
    names = [names for part in found for place in part.places for names in _names_in(place)]
    if not names:
        raise content.refusal(f"{WHAT} with tokens", "which holds none", DAMAGED)
    # Tokens of two logs are matched by one of these, so that every token must have it.
    has_ids = all(token is not None for token, _ in names)
    has_bytes = all(spelt is not None for _, spelt in names)
    if not (has_ids or has_bytes):
        remedy = (
            "Ask the server for ids of tokens, or for their bytes: several tokens share one text."
        )
        raise content.refusal(
            f"{WHAT} with ids or bytes of tokens", "which has texts alone", remedy
        )
    return TokenCells(
        argument=content.argument,
        name=content.name,
        table=frame_of_sequences(found),
        sequences=found,
        has_ids=has_ids,
        has_bytes=has_bytes,
        settings={"model": ", ".join(models)},
    )


def _names_in(place: TokenPlace) -> list[tuple[int | None, bytes | None]]:
    return [place.names, *(names for names, _ in place.candidates)]


def _parsed(content: Content, line: bytes, number: int) -> Any:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise content.refusal(WHAT, f"whose line {number} cannot be read", DAMAGED) from error
    if not isinstance(found, Mapping):
        raise content.refusal(WHAT, f"whose line {number} is no object", DAMAGED)
    return found


def _sequences(
    content: Content, record: Mapping[str, Any], number: int, models: dict[str, None]
) -> list[TokenSequence]:
    """Return what one line holds: an answer, or a request with its answer."""
    body = record
    response = record.get("response")
    if isinstance(response, Mapping):
        inner = response.get("body")
        body = inner if isinstance(inner, Mapping) else response
    name = next((record[key] for key in NAMES if body is not record and key in record), None)
    if name is None:
        name = record.get("custom_id")
    if name is None:
        remedy = (
            "Give each line a custom_id, equal in both logs: an answer does not say what was asked."
        )
        raise content.refusal(
            f"{WHAT} whose lines name their requests", f"no custom_id in line {number}", remedy
        )
    if body.get("model"):
        models[str(body["model"])] = None
    usage = body.get("usage") or {}
    found = []
    choices = body.get("choices") or []
    given = body.get("prompt_logprobs")
    ids = body.get("prompt_token_ids")
    for place, choice in enumerate(choices):
        index = int(choice.get("index", place))
        given_here = choice.get("prompt_logprobs") or given
        if given_here:
            # the text is given, whatever was generated after it
            tokens = choice.get("prompt_token_ids") or ids
            places = _given_places(content, given_here, tokens, number)
            found.append(_sequence(name, index, places, True, usage))
            continue
        logprobs = choice.get("logprobs") or {}
        if "content" not in logprobs and logprobs.get("top_logprobs"):
            remedy = "Ask for chat completions, or for prompt_logprobs with ids of tokens."
            raise content.refusal(
                f"{WHAT} with ids or bytes of tokens", "which has texts alone", remedy
            )
        places = [
            _generated_place(content, entry, number) for entry in logprobs.get("content") or ()
        ]
        # of several answers the server counts all together
        counted = usage if len(choices) == 1 else {"prompt_tokens": usage.get("prompt_tokens")}
        found.append(_sequence(name, index, places, False, counted))
    if not choices and given:
        places = _given_places(content, given, ids, number)
        found.append(_sequence(name, 0, places, True, usage))
    return found


def _sequence(
    name: Any, choice: int, places: list[TokenPlace], is_given: bool, usage: Mapping[str, Any]
) -> TokenSequence:
    n_tokens = None if is_given else usage.get("completion_tokens")
    return TokenSequence(
        name=str(name),
        choice=choice,
        places=tuple(places),
        is_given=is_given,
        n_tokens=n_tokens,
        n_prompt=usage.get("prompt_tokens"),
    )


def _number(content: Content, value: Any, number: int) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value <= 1e-3:
        got = f"{value!r} in line {number}"
        raise content.refusal(f"{WHAT} with numbers of at most 0", got, DAMAGED)
    return float(value) if math.isfinite(value) else -math.inf


def _names_of(entry: Mapping[str, Any]) -> tuple[int | None, bytes | None]:
    token = entry.get("id", entry.get("token_id"))
    spelt = entry.get("bytes")
    return (
        token if isinstance(token, int) else None,
        bytes(spelt) if isinstance(spelt, list) else None,
    )


def _generated_place(content: Content, entry: Mapping[str, Any], number: int) -> TokenPlace:
    token, spelt = _names_of(entry)
    before = b""
    candidates = {}
    for other in entry.get("top_logprobs") or ():
        names = _names_of(other)
        candidates[names] = _number(content, other.get("logprob"), number)
        # bytes of a token that was left out, such as the first half of a character, stand before those of this one
        if token is not None and names[0] == token and spelt and names[1] is not None:
            if spelt.endswith(names[1]) and spelt != names[1]:
                before = spelt[: len(spelt) - len(names[1])]
            spelt = names[1]
    candidates.setdefault((token, spelt), _number(content, entry.get("logprob"), number))
    return TokenPlace(names=(token, spelt), before=before, candidates=tuple(candidates.items()))


def _given_places(content: Content, places: list[Any], ids: Any, number: int) -> list[TokenPlace]:
    """Return the places of a given text; of the first token nothing is known."""
    found = []
    for position, place in enumerate(places):
        if place is None:
            continue
        candidates = []
        for text, value in place.items():
            logprob = value.get("logprob") if isinstance(value, Mapping) else value
            # Some servers have the texts of tokens as keys, which name no token.
            try:
                token = int(text)
            except ValueError:
                continue
            candidates.append(((token, None), _number(content, logprob, number)))
        if not candidates:
            remedy = "Ask the server for ids of tokens: several tokens share one text."
            raise content.refusal(f"{WHAT} with ids of tokens", f"none in line {number}", remedy)
        # By the order of the keys the first one stands there; ids of the text are safer.
        token = candidates[0][0][0]
        if isinstance(ids, list) and position < len(ids):
            token = int(ids[position])
        found.append(TokenPlace(names=(token, None), before=b"", candidates=tuple(candidates)))
    return found


READER = Reader(
    name=WHAT,
    suffixes=(".jsonl",),
    told_by="lines of answers with top_logprobs or prompt_logprobs",
    tells=_tells,
    read=_read,
)
