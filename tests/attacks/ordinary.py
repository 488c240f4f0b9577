"""No attack: chats as they should be. Shows that what the others measure can be met, and how steady it is here."""

from __future__ import annotations

from tests.attacks.attack import Memory, Outcome, Plan
from tests.attacks.desk import Desk, Held


def run(plan: Plan) -> Outcome:
    outcome, memory, held = Outcome(), Memory(), Held()
    with Desk(plan.folder) as desk, memory.watched():
        for number in range(plan.count):
            with desk.watching() as now:
                reply = desk.ask(f"Name {plan.dice(number).randint(2, 9)} colours.")
            held = held.worst(now)
            outcome.tried += 1
            outcome.check(bool(reply), f"{number}: there is no reply")
    outcome.check(held.is_within_bar, f"the interface thread was {held}")
    outcome.figures = {"interface": str(held), "memory": str(memory)}
    return outcome
