"""This module chooses the offered tools that a sentence needs, and makes their calls. Pure except for the vectors.

A tool offers actions: those that its field `action` allows, or the one in its name, so `calendar_list_events` belongs
with `calendar_create_event`. An entry that is to be changed is looked up first, and then changed by its id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backend.extensions.local.dialogue import wording
from backend.extensions.local.dialogue.arguments import Function, Missing, choices_of, fields_of, filled, new_start
from backend.extensions.local.dialogue.routing import Specialist, router_of, words_of
from backend.extensions.local.dialogue.sums import digits, sum_in
from backend.extensions.local.dialogue.telling import ASIDE, phrased
from backend.extensions.local.dialogue.wishes import ACTIONS, Kind, Wish, plain_of, wish_of
from backend.realtime.serving.parts import Call

Group = dict[str, Function]
"""Functions that belong together, by their actions; a function without a choice of actions has the action ''."""

FAR = "in 12 months"
"""The end of the time in which entries are looked for."""
WHICH = "Which one do you mean?"
NONE_FOUND = "I find nothing like that."
_ALL_ACTIONS = frozenset(action for actions in ACTIONS.values() for action in actions if action)
_SEVERAL = re.compile(r"\b(?:which|list|everything|all|busy|working on)\b|\w\ws\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Thought:
    """The words of an answer, its tool calls, or both."""

    text: str = ""
    calls: tuple[Call, ...] = ()


def named_in(sentence: str, functions: Sequence[Function]) -> list[Function]:
    """Return the tools that a sentence names."""
    return [
        function
        for name, group in _groups(functions).items()
        if _is_named(name, sentence)
        for function in group.values()
    ]


def calls_for(sentence: str, functions: Sequence[Function]) -> Thought | None:
    """Return the calls that a sentence needs, or the question that comes first; None if no tool fits."""
    groups, wish = _groups(functions), wish_of(sentence)
    able = [name for name, group in groups.items() if _actions(group, wish.kind)]
    if not able and wish.kind is not Kind.FIND:
        wish = Wish(Kind.FIND, "", wish.time)
        able = [name for name, group in groups.items() if _actions(group, Kind.FIND)]
    about = wish.subject if wish.kind is Kind.REMOVE and ":" in sentence else sentence
    nearest, asks = _nearest(about, {name: groups[name] for name in able}), ""
    for name in sorted(nearest, key=lambda each: not _is_named(each, sentence)):
        try:
            return Thought(calls=_calls(sentence, wish, groups[name]))
        except Missing as missing:
            asks = asks or str(missing)
            if asks and _is_named(name, sentence):
                break
    return Thought(asks) if asks else None


def call_after(sentence: str, functions: Sequence[Function], name: str, output: str) -> Thought | None:
    """Return the call that changes an entry found by the function `name`, or a question if several fit; None if the
    sentence wants no change."""
    group = next((each for each in _groups(functions).values() if name in [one["name"] for one in each.values()]), {})
    wish, result = wish_of(sentence), wording.read(output)
    action = next(iter(_actions(group, wish.kind)), "")
    values = result if isinstance(result, dict) else {}
    what, found = next(((key, value) for key, value in values.items() if key not in ASIDE), ("", None))  # its entries
    if wish.kind in (Kind.FIND, Kind.MAKE) or not action or not isinstance(found, list):
        return None
    function = group[action]
    if not (id_field := _id_of(fields_of(function))):
        return None
    if (entry := _meant(found, wish.subject, ranked="search" in group)) is None:
        return Thought(f"Which {what.rstrip('s')} do you mean? {phrased(sentence, values)}" if found else NONE_FOUND)
    given: dict[str, Any] = {"action": action} if "action" in fields_of(function) else {}
    if wish.kind is Kind.CHANGE:
        if not wish.target:
            return Thought("On which day, and at what time?")
        given["start"] = new_start(wish.target, entry.get("start", ""))
    which = {field: entry[key] for field, key in ((id_field, "id"), ("occurrence", "occurrence")) if key in entry}
    return Thought(calls=(call_of(function["name"], given | which),))


def call_of(name: str, arguments: Mapping[str, Any]) -> Call:
    """Return a call with its arguments as JSON."""
    return Call(name, json.dumps(arguments, ensure_ascii=False))


def _groups(functions: Sequence[Function]) -> dict[str, Group]:
    groups: dict[str, Group] = {}
    for function in functions:
        name, actions = str(function["name"]), choices_of(fields_of(function).get("action", {}))
        in_name = next((part for part in name.split("_")[1:] if part in _ALL_ACTIONS), "")
        if in_name:
            groups.setdefault(name.partition("_")[0], {})[in_name] = function
        else:
            groups[name] = dict.fromkeys(actions if _ALL_ACTIONS.intersection(actions) else [""], function)
    return groups


def _actions(group: Group, kind: Kind) -> list[str]:
    """Return the actions of a kind that a group offers, the best first."""
    return [action for action in ACTIONS[kind] if action in group]


def _nearest(sentence: str, groups: Mapping[str, Group]) -> list[str]:
    """Return the names of the groups; the group with the descriptions nearest to the sentence comes first."""
    described = tuple(
        Specialist(name, " ".join(str(each.get("description", "")) for each in group.values()), _examples(group))
        for name, group in groups.items()
    )
    return [name for name, _ in router_of(described).scores(sentence)] if described and sentence.strip() else []


def _examples(group: Group) -> tuple[str, ...]:
    """Return the example sentences in the schemas."""
    fields = (field for function in group.values() for field in fields_of(function).values())
    return tuple(dict.fromkeys(str(each) for field in fields for each in field.get("examples", ())))


def _is_named(name: str, sentence: str) -> bool:
    """Return whether a sentence names a tool: "remind" names `reminders`, and "note" names `stickynotes`."""
    plain = plain_of(sentence)
    said = {form for word in re.findall(r"\w+", plain.lower()) for form in (word, word.removesuffix("s"))}
    parts = {*name.split("_")} - _ALL_ACTIONS
    return all(
        words_of(part) <= words_of(plain)
        or any(part.startswith(form) and len(part) - len(form) <= (3 if len(form) > 3 else 0) for form in said)
        or any(len(form) > 3 and part.removesuffix("s").endswith(form.removesuffix("d")) for form in said)
        for part in parts
    )


def _calls(sentence: str, wish: Wish, group: Group) -> tuple[Call, ...]:
    action = _action(sentence, wish, group)
    function = group[action]
    if "expression" in fields_of(function) and sum_in(sentence) is None:
        raise Missing
    lookup = next((each for each in ("search", "list") if each in group), "")
    if wish.kind not in (Kind.FIND, Kind.MAKE) and lookup and (which := _id_of(fields_of(function))):  # a change
        found_by_words = "text" in fields_of(function) and action == "cancel"
        can_be_empty = "empty" in fields_of(function)[which].get("description", "")  # then it means the newest entry
        # Some tools find the entry themselves: by its words, or as the newest.
        if not found_by_words and (not can_be_empty or (wish.subject and "query" in fields_of(group[lookup]))):
            if not can_be_empty and not wish.subject and not wish.time.when:  # all entries would fit
                raise Missing(WHICH)
            return (_looked_up(wish, group[lookup], lookup),)
    return tuple(call_of(function["name"], given) for given in filled(sentence, function, wish, action))


def _looked_up(wish: Wish, function: Function, action: str) -> Call:
    """Return the call that lists the entries that may be changed."""
    fields, day = fields_of(function), wish.time.day
    given: dict[str, Any] = {"action": action} if "action" in fields else {}
    if day or wish.subject:  # without a day, the named entry may be far ahead
        given |= {name: value for name, value in (("start", day), ("end", day or FAR)) if value and name in fields}
    return call_of(function["name"], given | ({"query": wish.subject} if wish.subject and "query" in fields else {}))


def _action(sentence: str, wish: Wish, group: Group) -> str:
    """Return the group's action that is meant. Raises `Missing` if it needs a value that was not said."""
    able = _actions(group, wish.kind)
    if wish.kind is not Kind.FIND:
        return able[0]
    for action in able:
        fields = fields_of(group[action])
        needs_id = "empty" not in fields.get(_id_of(fields), {}).get("description", "empty")
        if action == "view" and not re.search(r"\d", digits(sentence)):
            continue
        if action == "search" and not words_of(sentence) - {"remember", "know", "you"}:
            continue
        if action == "list" and "get" in able and not _SEVERAL.search(sentence):  # one entry is meant
            continue
        if action == "get" and needs_id and "list" in group:  # the list gives the id
            return "list"
        return action
    raise Missing


def _meant(entries: Sequence[Mapping[str, Any]], subject: str, *, ranked: bool) -> Mapping[str, Any] | None:
    """Return the entry that shares most words with the subject, None if several do; without a subject, the last."""
    entries = [each for each in entries if isinstance(each, Mapping)]
    if not entries or ranked or not subject:
        return entries[0 if ranked else -1] if entries else None
    shared = [len(words_of(subject) & words_of(json.dumps(entry))) for entry in entries]
    return entries[shared.index(max(shared))] if shared.count(max(shared)) == 1 else None


def _id_of(fields: Mapping[str, Any]) -> str:
    return next((name for name in fields if name == "id" or name.endswith("_id")), "")
