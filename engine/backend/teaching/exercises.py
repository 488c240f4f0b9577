"""The shipped prompts, which a target answers for its drafter to learn from.

A file of `resources/exercises` has the parts of one language, our own words. In a text, `{name}` stands for one of the
list of that name, of the kind or of the language, and `{3-9}` for a number between the two.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from engine.values.config import OwnSampling
from engine.values.conversations import ChatTurn, Role
from engine.values.learned import Exercise

_PLACE = re.compile(r"\{(?:([a-z]+)|(\d+)-(\d+))\}")


@dataclass(frozen=True, slots=True)
class ShippedPrompt:
    language: str
    kind: str
    text: str


@cache
def shipped_prompts() -> tuple[ShippedPrompt, ...]:
    """All of them, no two alike, in an order that mixes languages and kinds and is the same on every machine."""
    prompts = []
    for file in sorted(files("resources").joinpath("exercises").iterdir(), key=lambda file: file.name):
        language, content = file.name.removesuffix(".json"), json.loads(file.read_text("utf-8"))
        for kind, parts in content["kinds"].items():
            chance = random.Random(f"{language} {kind}")
            texts = _unlike(content["parts"] | parts, content["prompts_of_a_kind"], chance)
            prompts += [ShippedPrompt(language, kind, text) for text in texts]
    random.Random(0).shuffle(prompts)
    return tuple(prompts)


def shipped_exercises(since: int) -> Iterator[Exercise]:
    """The shipped prompts from that number on. After the last one they begin again, without end."""
    prompts = shipped_prompts()
    number = since
    while True:
        turns = (ChatTurn(Role.USER, prompts[number % len(prompts)].text),)
        yield Exercise(None, None, turns, OwnSampling(), number)
        number += 1


def _unlike(parts: Mapping[str, Sequence[str]], number: int, chance: random.Random) -> Sequence[str]:
    decks = {name: _deck(each, chance) for name, each in parts.items()}

    def fill(found: re.Match[str]) -> str:
        name, low, high = found.groups()
        return str(chance.randint(int(low), int(high))) if name is None else _PLACE.sub(fill, decks[name]())

    texts: dict[str, None] = {}
    while len(texts) < number:
        texts[_PLACE.sub(fill, decks["prompts"]())] = None
    return tuple(texts)


def _deck(cards: Sequence[str], chance: random.Random) -> Callable[[], str]:
    """Deals all of them before one comes again, and none twice in a row."""
    left: list[str] = []
    last = ""

    def deal() -> str:
        nonlocal last
        if not left:
            left.extend(chance.sample(cards, len(cards)))
            if left[-1] == last:
                left.reverse()
        last = left.pop()
        return last

    return deal
