"""Rules for amounts: prices, percentages, temperatures, units, multiples, and ranges of them."""

import re

from backend.extensions.local.synthesis.verbalize.numbers import NUMBER, SCALES, cardinal, is_one, number
from backend.extensions.local.synthesis.verbalize.spans import Rule, rule
from backend.extensions.local.synthesis.verbalize.words import CURRENCIES, PER, PLURALS, UNITS, any_of

DIRECTIONS = {"N": " north", "S": " south", "E": " east", "W": " west"}
SCALES_OF_DEGREES = {"C": " Celsius", "F": " Fahrenheit", "K": " Kelvin", **DIRECTIONS}
ONE_FOOT = {"ft": "foot", "ft²": "square foot", "sq ft": "square foot"}

_SCALE = r"(?:\s?(thousand|million|billion|trillion|[kKmMbBT]|mn|mio|bn|tn)(?![\w]))?"
_SIGN = r"(?:(?<![\w.)])[-−+])?"
_TO = r"\s?[-–—]\s?"


def _money(currency: str, amount: str, scale: str | None) -> str:
    one, many, cent, cents = CURRENCIES[currency]
    if scale:
        return f"{number(amount)} {SCALES[scale]} {many}"
    whole, _, decimals = amount.partition(".")
    if len(decimals) != 2:
        return f"{number(amount)} {one if is_one(amount) else many}"
    small = f"{cardinal(str(int(decimals)))} {cent if int(decimals) == 1 else cents}"
    if int(decimals) == 0 or int(whole.replace(",", "")) == 0:
        return f"{cardinal(whole)} {one if is_one(whole) else many}" if int(decimals) == 0 else small
    return f"{cardinal(whole)} {one if is_one(whole) else many} and {small}"


def _price(match: re.Match[str]) -> str:
    sign, currency, amount, scale = match.groups()
    return {"": "", "+": "plus "}.get(sign, "minus ") + _money(currency, amount, scale)


def _price_range(match: re.Match[str]) -> str:
    currency, low, high, scale = match.groups()
    return f"{number(low)} to {_money(currency, high, scale)}"


def unit(name: str, amount: str) -> str:
    """Return the unit's name, singular or plural as `amount` requires."""
    if name in PLURALS:
        return ONE_FOOT.get(name, PLURALS[name]) if is_one(amount) else PLURALS[name]
    if is_one(amount):
        return UNITS[name]
    head, per, rest = UNITS[name].partition(" per ")
    return f"{head}s{per}{rest}"


def _span(low: str, high: str | None) -> str:
    return f"{number(low)} to {number(high)}" if high else number(low)


def _measure(match: re.Match[str]) -> str:
    low, high, name = match.groups()
    return f"{_span(low, high)} {unit(name, high or low)}"


def _degrees(match: re.Match[str]) -> str:
    low, high, scale = match.groups()
    noun = "degree" if is_one(high or low) else "degrees"
    return f"{_span(low, high)} {noun}{SCALES_OF_DEGREES.get(scale, '')}"


def _percent(match: re.Match[str]) -> str:
    return f"{_span(match[1], match[2])} percent"


_MEASURED = rf"(?<![\w.])({_SIGN}{NUMBER})(?:{_TO}({NUMBER}))?"
AMOUNTS: tuple[Rule, ...] = (
    rule(
        rf"(?<![\w.])({any_of(CURRENCIES)})({NUMBER}){_TO}(?:{any_of(CURRENCIES)})?({NUMBER}){_SCALE}(?![\w%])",
        _price_range,
    ),
    rule(rf"({_SIGN})(?<![A-Za-z])({any_of(CURRENCIES)})\s?({NUMBER}){_SCALE}", _price),
    rule(
        rf"(?<![\w.])({NUMBER}){_SCALE}\s?({any_of(CURRENCIES)})(?!\w)",
        lambda match: _money(match[3], match[1], match[2]),
    ),
    rule(rf"(?<![\w.])({NUMBER})\s?¢", lambda match: f"{number(match[1])} {'cent' if is_one(match[1]) else 'cents'}"),
    rule(rf"{_MEASURED}\s?(?:%|percent\b)", _percent),
    rule(rf"{_MEASURED}\s?°\s?([CFKNSEW])?(?!\w)", _degrees),
    rule(r"(?<![\w.])([-−]?\d{1,3})()([CF])(?!\w)", _degrees),
    rule(r"(?<![\w.])(\d)['′’]\s?(\d{1,2})[\"″”]", lambda match: f"{cardinal(match[1])} foot {cardinal(match[2])}"),
    rule(
        rf"(?<![\w.])({NUMBER})\s?(?:″|\"(?=\s(?:screen|display|pipe|monitor|TV)))",
        lambda match: f"{number(match[1])} inches",
    ),
    rule(rf"{_MEASURED}\s?({any_of({**UNITS, **PLURALS})})(?![\w²³/'’])", _measure),
    rule(r"(?<![\w.])([48])K(?!\w)", lambda match: f"{number(match[1])} K."),
    rule(rf"(?<![\w.])({_SIGN}{NUMBER})\s?([kKMBT]|bn)(?!\w)", lambda match: f"{number(match[1])} {SCALES[match[2]]}"),
    rule(rf"(?<![\w.])({NUMBER})\s?[x×](?![\w×])", lambda match: f"{number(match[1])} times"),
    rule(rf"(?<=[\w.²])\s?/\s?({any_of(PER)})(?!\w)", lambda match: f" per {PER[match[1]]}"),
)
"""The rules for amounts, in the order in which they are tried."""
