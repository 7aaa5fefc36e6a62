"""Which words introduce their speaker, and which only look as if they did."""

from __future__ import annotations

import pytest

from backend.users.extraction import stated

NAMES = [
    ("My name is Ana.", "Ana"),
    ("my name is ana", "Ana"),
    ("my name is ana what's the weather", "Ana"),
    ("Hi, my name is Ana, what's the weather in Paris?", "Ana"),
    ("Hello. My name's Ana and I'd like some help.", "Ana"),
    ("My name’s Zoë", "Zoë"),
    ("My name is Ana María López.", "Ana María López"),
    ("My name is Anne de Vries and I live in Delft", "Anne de Vries"),
    ("My name is Mary-Jane O'Neil!", "Mary-Jane O'Neil"),
    ("My name is April.", "April"),
    ("My name is Ana I live in Oslo", "Ana"),
    ("My name is Ana, not Anna.", "Ana"),
    ("the name is Bond", "Bond"),
    ("Call me Bob.", "Bob"),
    ("Call me Al.", "Al"),
    ("call me bob", "Bob"),
    ("You can call me Bob if you like", "Bob"),
    ("My friends call me Bob.", "Bob"),
    ("Please, call me Bob from now on", "Bob"),
    ("My name is Robert but call me Bob", "Bob"),
    ("Call me Bob, my name is Robert.", "Bob"),
    ("I go by Sam", "Sam"),
    ("I'm called Ana", "Ana"),
    ("I'm Dana", "Dana"),
    ("I’m Dana.", "Dana"),
    ("Hi, I am Dana and I need the news", "Dana"),
    ("Hey, I'm Dana Smith, what's up?", "Dana Smith"),
    ("I'm Dana from Oslo", "Dana"),
    ("This is Dana speaking", "Dana"),
    ("this is Dana calling about the weather", "Dana"),
    ("I'm hungry. I'm Dana.", "Dana"),
    ("I thought so. My name is Ana.", "Ana"),
    ("I don't know, my name is Ana", "Ana"),
    ("No, I said my name is Ana!", "Ana"),
    ("Ich heiße Jürgen.", "Jürgen"),
    ("Me llamo Inés", "Inés"),
    ("Je m'appelle Chloé", "Chloé"),
]

NO_NAMES = [
    "I'm hungry",
    "I'm Hungry.",
    "I'm not sure",
    "I'm Not Sure",
    "I'm in Paris",
    "I am in Paris this week",
    "I'm from Oslo",
    "I'm looking for Dana",
    "i'm dana",  # nothing tells this from "i'm hungry"
    "I'm American",
    "I'm Norwegian and I like snow",
    "I'm Catholic.",
    "I'm OK",
    "I'm Okay.",
    "I'm fine, thanks",
    "I'm Dana's sister",
    "I'm Bitcoin rich",
    "I'm Dana?",
    "Am I Dana?",
    "I'm so tired",
    "I'm going to London",
    "I'm a doctor",
    "I'm the Boss",
    "I'm sorry",
    "call me back",
    "Call me tomorrow",
    "Call me on Monday",
    "call me Monday",
    "call me a taxi",
    "call me when it rains",
    "call me crazy, but it will snow",
    "Don't call me Bob",
    "Never call me Bob.",
    "Why do you call me Bob",
    "My name is not Bob",
    "my name isn't Bob",
    "my name is spelled with two n",
    "my name is hard to pronounce",
    "what is my name",
    "Is my name Ana?",
    "My name is Ana?",
    "If my name is Bob, what is yours?",
    "Imagine my name is Bob",
    "She said my name is Bob",
    "His name is Bob",
    "My dog's name is Rex",
    "This is Paris",
    "This is great",
    "My name is",
    "My name is 42",
    "",
]

HOMES = [
    ("I live in Oslo", "Oslo"),
    ("i live in seattle", "Seattle"),
    ("i live in seattle what's the weather", "Seattle"),
    ("I live in New York and I love it", "New York"),
    ("i live in new york what's the weather", "New York"),
    ("I live in Portland, Oregon.", "Portland, Oregon"),
    ("I live in Rio de Janeiro", "Rio de Janeiro"),
    ("I live in The Hague", "The Hague"),
    ("I live in the Hague", "the Hague"),
    ("I live in Oslo, what's the weather?", "Oslo"),
    ("I live in Oslo, Ana lives in Bergen.", "Oslo"),
    ("We live in São Paulo", "São Paulo"),
    ("I'm based in Berlin", "Berlin"),
    ("I'm living in Lyon now", "Lyon"),
    ("I just moved to Madrid", "Madrid"),
    ("My home is in Bergen", "Bergen"),
    ("I live in Oslo but I'm in Paris this week", "Oslo"),
    ("My name is Ana and I live in Oslo", "Oslo"),
]

NO_HOMES = [
    "I'm in Paris",
    "What's the weather in Paris?",
    "I'm from Oslo",
    "I'm going to Oslo",
    "I don't live in Oslo",
    "I used to live in Oslo",
    "I lived in Oslo",
    "I would never live in Oslo",
    "I wish I live in Oslo",
    "My sister lives in Oslo",
    "I live in a small town",
    "I live in the city",
    "i live in fear",
    "I live in Oslo?",
    "If I moved to Oslo, would it rain?",
    "Do I live in Oslo?",
    "I'm living in the moment",
]


def value(text: str, name: str) -> object:
    return next((update.value for update in stated(text) if update.name == name), None)


@pytest.mark.parametrize(("text", "name"), NAMES)
def test_an_introduction_gives_the_name(text: str, name: str) -> None:
    assert value(text, "name") == name


@pytest.mark.parametrize("text", NO_NAMES)
def test_what_is_no_introduction_gives_no_name(text: str) -> None:
    assert value(text, "name") is None


@pytest.mark.parametrize(("text", "place"), HOMES)
def test_a_stated_home_gives_the_place(text: str, place: str) -> None:
    assert value(text, "default_location") == place


@pytest.mark.parametrize("text", NO_HOMES)
def test_a_passing_place_is_no_home(text: str) -> None:
    assert value(text, "default_location") is None


def test_a_name_and_a_home_may_come_in_one_breath() -> None:
    assert [(each.name, each.value) for each in stated("My name is Ana and I live in Oslo.")] == [
        ("name", "Ana"),
        ("default_location", "Oslo"),
    ]


def test_words_that_memory_would_not_keep_are_left() -> None:
    assert stated("My name is " + "Ana" * 50) == ()
