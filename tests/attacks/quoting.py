"""A program whose grammar forces what it guesses that the user once wrote: were the user's chats quoted for it, the
right guess would be written in fewer passes, which the number of guesses tells, and the time.

Each secret is a digit, which comes again and again in a number of which the program knows all else. It is one of five.
"""

from __future__ import annotations

from random import Random

import httpx2

from tests.attacks.attack import Outcome, Plan
from tests.attacks.oracle import DIGITS, Guesses, User, timings_of, words

_SECRETS_AT_ONCE = 20  # in a message of the user
_PAIRS = 9  # of known digits, between which the secret stands
_CHOICES = 5


def run(plan: Plan) -> Outcome:
    outcome = Outcome()
    by_count, by_time = Guesses("by guesses counted", _CHOICES), Guesses("by time", _CHOICES)
    with User.at(plan.folder / "data") as user, user.programs() as programs:
        for first in range(0, plan.count, _SECRETS_AT_ONCE):
            dice = plan.dice(first)
            secrets = [_Secret(dice) for _ in range(min(_SECRETS_AT_ONCE, plan.count - first))]
            user.says(" ".join(f"{each.begun}{each.number(each.digit)}." for each in secrets))
            for each in secrets:
                told = each.tried(dice.choice(programs), dice)
                by_count.note_least({digit: -found[0] for digit, found in told.items()}, each.digit, dice)
                by_time.note_least({digit: found[1] for digit, found in told.items()}, each.digit, dice)
    by_count.judge(outcome)
    by_time.judge(outcome)
    outcome.figures["requests"] = str(_CHOICES * plan.count)
    return outcome


class _Secret:
    def __init__(self, dice: Random) -> None:
        self.begun = f"The number of the {words(dice, 3)} is "
        self.digit = dice.choice(DIGITS)
        self._pairs = ["".join(dice.choices(DIGITS, k=2)) for _ in range(_PAIRS)]

    def number(self, digit: str) -> str:
        return digit.join(self._pairs)

    def tried(self, http: httpx2.Client, dice: Random) -> dict[str, tuple[int, float]]:
        """With several digits: how many guesses were right, and the milliseconds."""
        others = dice.sample(DIGITS.replace(self.digit, ""), _CHOICES - 1)
        told = {}
        for digit in dice.sample([self.digit, *others], _CHOICES):
            known, forced = self.number(digit)[:2], self.number(digit)[2:]
            body = {"prompt": self.begun + known, "grammar": f'root ::= "{forced}"', "max_tokens": 60}
            timings = timings_of(http, "/v1/completions", body)
            told[digit] = timings["draft_n_accepted"], timings["predicted_ms"]
        return told
