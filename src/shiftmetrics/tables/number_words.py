"""Words that are numbers: plain, with decimal commas, thousands marks, a sign of per cent or of a currency."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.tables.cell_words import _BLANKS, WordList

PLAIN = r"[ \t]*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[ \t]*|[ \t]*[-+]?(?:[iI]nf|INF|[iI]nfinity)[ \t]*"
_INTEGER = r"[ \t]*[-+]?\d+[ \t]*"
_LEADING_ZERO = r"[ \t]*[-+]?0\d+[ \t]*"
_BARE_EXPONENT = r"[ \t]*\d+[eE]\d+[ \t]*"
_COMMA_AND_EXPONENT = r"[ \t]*[-+]?\d+(?:,\d*)?[eE][-+]?\d+[ \t]*"
_LONG = r"[ \t]*[-+]?\d{19,}[ \t]*"

_CURRENCIES = (
    "AED|AUD|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EGP|EUR|GBP|HKD|HUF|IDR|ILS|INR|JPY|KES|KRW|MXN|MYR|NGN|NOK|NZD|PEN|PHP"
    "|PKR|PLN|RON|RUB|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR"
)
_SIGN = rf"[$€£¥₹₽₩₺₫₴₦฿]|(?:US|C|A|R)\$|{_CURRENCIES}|kr|zł|Kč"
_CODES_OF_SIGNS = {"€": "EUR", "£": "GBP", "₹": "INR", "US$": "USD"}
_MONEY = re.compile(
    rf"(?P<minus>[-+(]?)(?P<before>{_SIGN})?(?P<inner>[-+]?)(?P<body>[\d.,' \u00a0\u202f’]*\d)"
    rf"(?P<after>{_SIGN}|%)?(?P<close>\)?)"
)

_BY_COMMA = r"\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+(?:\.\d*)?"
_BY_DOT = r"\d{1,3}(?:\.\d{3})+(?:,\d*)?|\d+(?:,\d*)?"
_BY_BLANK = r"\d{1,3}(?:[ '’]\d{3})+(?:[.,]\d*)?|\d+(?:[.,]\d*)?"


@dataclass(frozen=True, eq=False)
class NumberWords:
    """Words as numbers.

    Attributes
    ----------
    values : array
        One for each word.
    is_integer : bool
        Whether all are written without a decimal point.
    is_code : bool
        Whether a word says that they are no numbers: 007 has zeros to lose, and 1E2 beside 100 is another word.
    sign : str
        "%" or the currency that every word has.
    other : array or None
        The second reading, by decimal commas, of words such as 1,234.
    """

    values: FloatArray
    is_integer: bool = False
    is_code: bool = False
    sign: str = ""
    other: FloatArray | None = None


def number_words(words: Sequence[str], decimal: str | None = None) -> NumberWords | None:
    """Return words as numbers, or None where a word is none.

    Parameters
    ----------
    words : list of str
        Distinct words, without gaps.
    decimal : {".", ","}, optional
        The decimal mark. Default: told by the words.
    """
    if not words:
        return None
    lines = WordList(words)
    has_points = decimal == "," and any("." in word for word in words)
    if not has_points and lines.all_have(PLAIN):
        return _plain(lines)
    return _marked(words, decimal)


def _plain(lines: WordList) -> NumberWords:
    """Read words without marks, and tell codes."""
    is_integer = lines.all_have(_INTEGER)
    is_code = False
    if is_integer:
        is_code = lines.any_has(_LEADING_ZERO) or lines.any_has(_LONG)
    elif lines.any_has(_BARE_EXPONENT):
        # Tools write 1e+02, 1E-2 or 1.0E2 beside numbers with a decimal point; a bare 1E2 beside integers is a word.
        is_code = lines.all_have(f"{_INTEGER}|{_BARE_EXPONENT}")
    values = np.array([float(word) for word in lines.words], dtype=np.float64)
    return NumberWords(values, is_integer, is_code)


def _marked(words: Sequence[str], decimal: str | None) -> NumberWords | None:
    """Read words with a sign of per cent or currency, decimal commas or thousands marks."""
    by_comma = _with_exponents(words, decimal)
    if by_comma is not None:
        return by_comma
    bodies = []
    signs = set()
    factors = []
    for word in words:
        found = _MONEY.fullmatch(
            re.sub(r"[\s\u00a0\u202f]+", " ", word.strip(_BLANKS)).replace("−", "-")
        )
        if found is None:
            # A blank between sign and number: "€ 5", "5 %".
            found = _MONEY.fullmatch(re.sub(r"(?<=\D)\s|\s(?=\D)", "", word.strip(_BLANKS)))
        if found is None or (found["minus"] == "(") != (found["close"] == ")"):
            return None
        sign = (found["before"] or "") + (found["after"] or "")
        signs.add(_CODES_OF_SIGNS.get(sign, sign))
        is_negative = "(" in found["minus"] or "-" in found["minus"] + found["inner"]
        factors.append(-1.0 if is_negative else 1.0)
        bodies.append(found["body"].strip())
    # Two currencies are not one unit, nor are per cent beside plain numbers.
    if len(signs) > 1:
        return None
    sign = signs.pop()
    factor = np.array(factors)
    readings = _bodies(bodies, decimal)
    if not readings:
        return None
    # Codes with marks, such as 0.123 beside 007, are plain words: only plain words tell codes.
    if not sign and not any(mark in body for body in bodies for mark in ".,' ’"):
        return None
    other = factor * readings[1] if len(readings) > 1 else None
    return NumberWords(factor * readings[0], sign=sign, other=other)


def _with_exponents(words: Sequence[str], decimal: str | None) -> NumberWords | None:
    """Read decimal commas where some number has an exponent, as 8,3e-05: such a comma is no mark of thousands."""
    lines = WordList(words)
    # All words first: the head of a column of names refuses it.
    if decimal == "." or not lines.all_have(
        rf"{_COMMA_AND_EXPONENT}|[ \t]*[-+]?\d*,\d+[ \t]*|{_INTEGER}"
    ):
        return None
    if not lines.any_has(_COMMA_AND_EXPONENT):
        return None
    numbers = [float(word.replace(",", ".")) for word in words]
    return NumberWords(np.array(numbers, dtype=np.float64))


def _bodies(bodies: list[str], decimal: str | None) -> list[FloatArray]:
    """Return the readings of digits with marks: one, or two where every comma stands before three digits."""
    lines = WordList(bodies)
    by_comma = _read(bodies, ",", ".") if lines.all_have(_BY_COMMA) else None
    by_dot = _read(bodies, ".", ",") if lines.all_have(_BY_DOT) else None
    if decimal == ".":
        by_dot = None
    if decimal == ",":
        by_comma = None
    if by_comma is not None and by_dot is not None:
        if not any("," in body for body in bodies):
            return [by_comma]  # a point is a decimal point unless a comma says otherwise
        # Both readings fit all words. A group of thousands never begins with 0: 0,125 and 0.125 tell.
        has_decimal_comma = lines.any_has(r"0\d*,\d*")
        has_decimal_point = lines.any_has(r"0\d*\.\d*")
        if has_decimal_comma and has_decimal_point:
            return []
        if has_decimal_comma:
            return [by_dot]
        if has_decimal_point:
            return [by_comma]
        return [by_comma, by_dot]
    found = by_comma if by_dot is None else by_dot
    if found is None and lines.all_have(_BY_BLANK):
        found = _read(bodies, " '’", ",")
    return [] if found is None else [found]


def _read(bodies: list[str], thousands: str, mark: str) -> FloatArray:
    drop = str.maketrans(mark, ".", thousands)
    return np.array([float(body.translate(drop)) for body in bodies], dtype=np.float64)
