"""Which of the tools on offer a sentence calls for, and the calls it makes of them. Pure but for the vectors.

A tool offers actions: those its field `action` allows, or the one in its name; `calendar_list_events` belongs with
`calendar_create_event`. What is to be changed is looked up first, and then changed by its id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from backend.extensions.local.chat.arguments import (
    TIMES,
    Function,
    Missing,
    choices_of,
    fields_of,
    filled,
    new_start,
    value_of,
)
from backend.extensions.local.chat.asked import ACTIONS, CHANGES, Asked, Wish, wish_of
from backend.extensions.local.chat.telling import ASIDE, worded
from backend.extensions.local.dialogue import wording
from backend.extensions.local.dialogue.keeping import MEMORY, MODE, PROMPT, keeping
from backend.extensions.local.dialogue.names import digits
from backend.extensions.local.dialogue.routing import Specialist, router_of, words_of
from backend.extensions.local.dialogue.rules import Thought
from backend.extensions.local.dialogue.times import Timed
from backend.realtime.serving.parts import Call

Group = dict[str, Function]
"""Functions that belong together, by their actions; the action of one that does one thing is ''."""

NONE_FOUND = "I find nothing like that."
_KEPT = (MEMORY, PROMPT, MODE)


def is_called_for(asked: Asked, functions: Sequence[Function]) -> bool:
    """Return whether a sentence calls for one of the tools, whatever it is about."""
    return any(_cued(asked, name, group) for name, group in _groups(functions).items())


def _cued(asked: Asked, name: str, group: Group) -> bool | None:
    """Return whether a sentence calls for a tool: by its name, or by what it alone can do or read; None for perhaps."""
    if name in _KEPT:
        return (kept := keeping(asked.sentence)) is not None and kept.tool == name
    fields = {field: function for function in group.values() for field in fields_of(function)}
    if strict := fields.keys() & {"expression", "score"}:
        return all(value_of(field, asked, fields[field]) for field in strict)
    said = {form for word in re.findall(r"\w+", asked.plain.lower()) for form in (word, word.removesuffix("s"))}
    is_named = all(any(_is_form(part, form) for form in said) for part in {*name.split("_")} - ACTIONS)
    takes_anything = "text" in fields and "title" not in fields  # and therefore waits to be named
    if is_named or wish_of(asked.plain, group).action in ("snooze", "resolve"):
        return True
    return False if takes_anything else None


def _is_form(part: str, word: str) -> bool:
    """Return whether a word is that part of a tool's name but for its ending: "remind" calls for `reminders`."""
    return part.startswith(word) and len(part) - len(word) <= (3 if len(word) > 3 else 0)


def calls_for(asked: Asked, functions: Sequence[Function]) -> Thought | None:
    """Return the calls that a sentence makes, or what has to be asked back; None when no tool can be used."""
    groups = _groups(functions)
    cues = {name: _cued(asked, name, group) for name, group in groups.items()}
    nearest = _nearest(asked, groups)
    able = [name for name in nearest if cues[name] is not False] or nearest
    for name in sorted(able, key=lambda each: not cues[each]):
        try:
            return Thought(calls=_calls(_wish(asked, name, groups[name]), asked, groups[name]))
        except Missing as missing:
            if str(missing) and (cues[name] or len(able) == 1):
                return Thought(str(missing))
    return None


def call_after(asked: Asked, functions: Sequence[Function], name: str, output: str) -> Thought | None:
    """Return the call that changes what the function `name` has looked up, or which is to be changed; None for no wish.

    It is asked back for where that is not clear.
    """
    groups = _groups(functions)
    kind = next((kind for kind, group in groups.items() if name in [each["name"] for each in group.values()]), "")
    wish = _wish(asked, kind, groups[kind]) if kind else None
    result = wording.read(output)
    told = result.items() if isinstance(result, dict) else ()
    what, found = next(((key, value) for key, value in told if key not in ASIDE), ("", None))
    if wish is None or wish.action not in CHANGES or not isinstance(found, list):
        return None
    function = groups[kind][wish.action]
    if not (id_field := _id_of(fields_of(function))):
        return None
    if (entry := _meant(found, wish.subject, ranked="search" in groups[kind])) is None:
        return Thought(f"Which {what.rstrip('s')} do you mean? {worded('', output)}" if found else NONE_FOUND)
    try:
        (given,) = filled(asked, function, wish)
    except Missing as missing:
        return Thought(str(missing))
    if "start" in given:
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
        in_name = next((part for part in name.split("_")[1:] if part in ACTIONS), "")
        if name.startswith(("remember_", "route_")):
            continue
        if in_name:
            groups.setdefault(name.partition("_")[0], {})[in_name] = function
        else:
            groups[name] = dict.fromkeys(actions if ACTIONS.intersection(actions) else [""], function)
    return groups


def _nearest(asked: Asked, groups: Mapping[str, Group]) -> list[str]:
    """Return the groups, that whose descriptions are nearest to the sentence first."""
    told = tuple(
        Specialist(name, " ".join(str(each.get("description", "")) for each in group.values()))
        for name, group in groups.items()
    )
    return [name for name, _ in router_of(told).scores(asked.sentence)] if told and asked.sentence.strip() else []


def _wish(asked: Asked, name: str, group: Group) -> Wish:
    if name in _KEPT:
        kept = keeping(asked.sentence)
        if kept is None or kept.tool != name:
            return Wish(next(each for each in ("search", "list", "") if each in group), asked.plain, Timed(""))
        if kept.action == "delete" and not kept.about and name == "memory":
            raise Missing("What should I forget?")
        return Wish(kept.action, kept.about, Timed(""))
    fields = {field for function in group.values() for field in fields_of(function)}
    plain = digits(asked.plain) if "number" in fields else asked.plain
    return wish_of(plain, group, times=not TIMES.isdisjoint(fields))


def _calls(wish: Wish, asked: Asked, group: Group) -> tuple[Call, ...]:
    function = group.get(wish.action)
    if function is None:
        raise Missing
    fields = fields_of(function)
    lookup = group.get("search") or group.get("list")
    if wish.action in CHANGES and wish.action != "cancel" and lookup and (which := _id_of(fields)):
        can_be_empty = "empty" in fields[which].get("description", "")
        if not can_be_empty or (wish.subject and "query" in fields_of(lookup)):
            wish, function = replace(wish, action="search" if "search" in group else "list"), lookup
    return tuple(call_of(function["name"], given) for given in filled(asked, function, wish))


def _meant(entries: Sequence[Mapping[str, Any]], subject: str, *, ranked: bool) -> Mapping[str, Any] | None:
    """Return the entry that shares most words with the subject, None if that is not clear; without one, the last."""
    entries = [each for each in entries if isinstance(each, Mapping)]
    if not entries or ranked or not subject:
        return entries[0 if ranked else -1] if entries else None
    shared = [len(words_of(subject) & words_of(json.dumps(entry))) for entry in entries]
    return entries[shared.index(max(shared))] if shared.count(max(shared)) == 1 else None


def _id_of(fields: Mapping[str, Any]) -> str:
    return next((name for name in fields if name == "id" or name.endswith("_id")), "")
