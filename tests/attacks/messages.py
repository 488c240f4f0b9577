"""Huge and tangled messages in the open window: stored, imported, pasted, sent, drafted and scrolled."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import monotonic

from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from engine import ImportConversations
from engine.messages.conversations import Role
from engine.storage import Repository
from tests.attacks.archives import carried_out
from tests.attacks.attack import Memory, Outcome, Plan
from tests.attacks.desk import Desk, Held

_ANSWER_S = 1.0  # in which a stopped chat thread takes the next command
_MOST_COPIED = 10_000_000  # Qt itself takes longer to hand over more
_UNITS = (
    *(
        "a",
        "word ",
        "\n",
        "a\n\n",
        "- a\n",
        "> ",
        "- ",
        "1. ",
        "[",
        "![",
        "[a](",
        "*",
        "*a ",
        "**a*",
        "_a ",
        "~~a ",
        "`",
    ),
    *(
        "```\n",
        "```py\nx\n```\n",
        "~~~\n",
        "|a",
        "|",
        "| a | b |\n",
        "# a\n",
        "a\n=\n",
        "---\n",
        "[a]: b\n",
        "<a:",
        "&#x",
    ),
    *("\\", "\u0301", "\u202e", "\N{WOMAN}\u200d", "\N{GRINNING FACE}", "汉", "ü\n", "\t", "\r\n", "\0", "http://a.b/"),
    *("    x\n", "  - a\n", "<b>", "$x_1$ ", "x" * 999 + " ", "\u2028", "((((", "]", ")", "a|b\n-|-\n"),
)


def _text(dice: random.Random, number: int) -> str:
    size = dice.choice([10_000, 100_000, 1_000_000, 32_000_000])
    if number % 3 == 0:
        unit = dice.choice(_UNITS)
    else:
        unit = "".join(dice.choice(_UNITS) * dice.choice([1, 3, 500]) for _ in range(dice.randint(2, 6)))
    opening = dice.choice(["", "", "```python\n", "|a" * 500 + "\n" + "|-" * 500 + "\n", "[link](http://", "- "])
    return opening + unit * max(1, size // len(unit))


def run(plan: Plan) -> Outcome:
    outcome, memory, held = Outcome(), Memory(), Held()
    with Desk(plan.folder) as desk:
        desk.ask("Hello.")
        with memory.watched():
            for number in range(plan.count):
                dice = plan.dice(number)
                text = _text(dice, number)
                way = dice.choice([_stored, _stored, _imported, _pasted, _sent])
                act = way(desk, text)
                with desk.watching() as now:
                    act()
                    desk.studio.rest()
                if not now.is_within_bar:
                    about = f"{way.__name__[1:]} {len(text):,} of {text[:30]!r}"
                    outcome.failures.append(f"{number}: the interface thread was {now}: {about}")
                held = held.worst(now)
                outcome.tried += 1
        _begin(desk)
        outcome.check(bool(desk.ask("Name a colour.")), "the chat does not go on")
    outcome.figures = {"interface": str(held), "memory": str(memory)}
    return outcome


def _begin(desk: Desk) -> None:
    desk.window.prompt_box.set_text("")
    desk.window.new_action.trigger()


def _stored(desk: Desk, text: str) -> Callable[[], None]:
    """As a prompt and a reply of the store, opened and scrolled through."""
    with closing(Repository.open(desk.store)) as repository:
        chat = repository.create_conversation(text[:1_000_000], "")
        prompt = repository.add_message(chat.id, None, Role.USER, text)
        repository.add_message(chat.id, prompt.id, Role.ASSISTANT, text, "m")

    def act() -> None:
        desk.studio.app.conversations.list_all()
        transcript = desk.window.transcript
        desk.window.conversations.chosen.emit(chat.id)
        desk.until(lambda: bool(transcript.messages) and transcript.messages[0].conversation_id == chat.id)
        desk.studio.rest()
        for pages in (-1, -1, -1, 1):
            transcript.scroll_pages(pages)
            QTest.qWait(5)

    return act


def _imported(desk: Desk, text: str) -> Callable[[], None]:
    path = Path(desk.store.parent) / "chats.json"
    path.write_text(json.dumps([{"title": text[:50_000], "messages": [{"role": "user", "content": text}]}]))

    def act() -> None:
        carried_out(desk, ImportConversations(path))

    return act


def _pasted(desk: Desk, text: str) -> Callable[[], None]:
    _begin(desk)
    QGuiApplication.clipboard().setText(text[:_MOST_COPIED])

    def act() -> None:
        desk.window.prompt_box.editor.paste()
        QTest.keyClicks(desk.window.prompt_box.editor, "and more")
        QTest.qWait(300)  # the count

    return act


def _sent(desk: Desk, text: str) -> Callable[[], None]:
    """More than fits the context, as a rule."""
    _begin(desk)

    def act() -> None:
        num_events = len(desk.events)
        desk.window.prompt_box.submitted.emit(text)
        QTest.qWait(300)
        began = monotonic()
        desk.window.prompt_box.stop_requested.emit()
        desk.until(lambda: not desk.studio.app.chat.is_answering and len(desk.events) > num_events)
        assert monotonic() - began < 30 * _ANSWER_S, "the chat thread does not stop"

    return act
