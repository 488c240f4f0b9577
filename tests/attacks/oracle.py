"""A user who chats with the starter, and a program that guesses what was said from the counts and times it is told.

No guess may be right more often than by chance, as a binomial test says.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

import httpx2

from engine import STARTER, Engine, EngineConfig, ReplySettings, SamplingSettings, ServerSettings
from engine.backend.server.clients import Clients
from engine.values.config import TargetSettings
from engine.values.orders import Send
from engine.values.requests import ignore
from engine.values.targets import LoadOrder
from tests.attacks.attack import Outcome
from tests.fakes.served import ANYWHERE

_PATIENCE_S = 120.0
_CHANCE = 0.001  # of an alarm though nothing is told
_WORDS = ("red", "house", "river", "seven", "cloud", "paper", "green", "winter", "stone", "music", "bread", "quiet")
DIGITS = "0123456789"


def words(dice: random.Random, count: int) -> str:
    return " ".join(dice.choice(_WORDS) for _ in range(count))


class User:
    """At the window, beside a server that is switched on."""

    @classmethod
    @contextmanager
    def at(cls, folder: Path) -> Iterator[User]:
        user = cls(folder)
        try:
            yield user
        finally:
            while not user._engine.close():
                pass

    def __init__(self, folder: Path) -> None:
        self._engine = Engine(EngineConfig(folder), ignore)
        self._engine.ask(self._engine.target.load, LoadOrder(STARTER, TargetSettings(context_size=4_096))).result()
        opened = self._engine.ask(self._engine.server.use, ServerSettings(port=ANYWHERE)).result()
        assert opened is not None
        self._address = opened.address
        # One that the user has the app remember, and one that it does not.
        self._keys = [Clients(folder).add("remembered", is_remembered=True), Clients(folder).add("forgotten")]

    def says(self, text: str, incognito: bool = False) -> None:
        """In a new chat."""
        settings = ReplySettings(SamplingSettings(temperature=0), max_tokens=4)
        order = Send(text, None, settings, incognito=incognito)
        self._engine.ask(self._engine.chat.answer, order).result(_PATIENCE_S)

    @contextmanager
    def programs(self) -> Iterator[list[httpx2.Client]]:
        """One of each kind."""
        https = [
            httpx2.Client(base_url=self._address, timeout=_PATIENCE_S, headers={"Authorization": f"Bearer {key}"})
            for key in self._keys
        ]
        try:
            yield https
        finally:
            for http in https:
                http.close()


def timings_of(http: httpx2.Client, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a program is told of a reply: its counts and times."""
    response = http.post(path, json={"temperature": 0, **body})
    assert response.status_code == 200, response.text
    timings: dict[str, Any] = response.json()["timings"]
    return timings


@dataclass
class Guesses:
    """Of secrets of which one in so many is right by chance."""

    name: str
    choices: int
    num: int = 0
    num_right: int = 0

    def note(self, is_right: bool) -> None:
        self.num += 1
        self.num_right += is_right

    def note_least(self, told: Mapping[str, float], right: str, dice: random.Random) -> None:
        """The choice for which least was told is guessed, one of them where several are alike."""
        least = min(told.values())
        self.note(dice.choice([choice for choice, value in told.items() if value == least]) == right)

    def judge(self, outcome: Outcome) -> None:
        chance = binomial_tail(self.num_right, self.num, 1 / self.choices)
        told = f"{self.num_right} of {self.num} right, {self.num / self.choices:.0f} by chance (p = {chance:.2g})"
        outcome.figures[self.name] = told
        outcome.tried += self.num
        outcome.check(chance >= _CHANCE, f"{self.name}: {told}")


def binomial_tail(num_right: int, num: int, share: float) -> float:
    """How likely so many or more are right by chance."""
    return sum(comb(num, each) * share**each * (1 - share) ** (num - each) for each in range(num_right, num + 1))
