"""Huge and tangled messages in the open window: stored, imported, pasted, sent, drafted and scrolled."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic

from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from app.widgets.transcript.reply_view import ReplyView, shown_of
from engine.backend.exchange.json_stream import MOST_STRING_BYTES
from engine.backend.storage import Repository
from engine.backend.storage.columns import MOST_READ_BYTES
from engine.values.conversations import LeftOut, Role
from engine.values.prompts import MOST_PASTED
from engine.values.requests import Failure
from tests.attacks.archives import import_chats
from tests.attacks.attack import Memory, Outcome, Plan
from tests.attacks.desk import Desk, Held

_ANSWER_S = 5.0  # in which a stopped chat thread ends; on a machine that nobody else uses, one
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
    outcome, held, most = Outcome(), Held(), 0
    slowest: dict[str, float] = {}
    with Desk(plan.folder) as desk:
        desk.ask("Hello.")
        for number in range(plan.count):
            dice = plan.dice(number)
            text = _text(dice, number)
            way = dice.choice([_stored, _stored, _imported, _pasted, _sent])
            about = f"{number}: {way.__name__[1:]} {len(text):,} of {text[:30]!r}"
            steps = way(desk, text)
            next(steps)
            shown = 2 if way is _stored else 1
            memory = Memory()
            with desk.watching() as now, memory.watched(shown * sys.getsizeof(text)):
                began = monotonic()
                next(steps)
                slowest[way.__name__] = max(slowest.get(way.__name__, 0.0), monotonic() - began)
            outcome.failures += [f"{about}: {complaint}" for complaint in steps]
            outcome.check(now.is_within_bar, f"{about}: the interface thread was {now}")
            outcome.check(memory.is_within_bar, f"{about} took {memory}")
            held, most = held.worst(now), max(most, memory.most)
            outcome.tried += 1
        _begin(desk)
        outcome.check(bool(desk.ask("Name a colour.")), "the chat does not go on")
    times = ", ".join(f"{way[1:]} {seconds:.1f} s" for way, seconds in sorted(slowest.items()))
    outcome.figures = {
        "interface": str(held),
        "memory": f"{most / 2**20:.0f} MB over idle and the text itself",
        "slowest": times,
    }
    return outcome


def _begin(desk: Desk) -> None:
    desk.window.new_action.trigger()
    desk.window.prompt_box.set_text("")  # what was given back is the draft of a new chat
    desk.studio.rest()
    desk.window.toasts.clear()
    desk.events.clear()


# Each prepares, yields, does it, yields again, and then yields what is wrong with what came of it.


def _stored(desk: Desk, text: str) -> Iterator[str]:
    """As a prompt and a reply of the store, opened and scrolled through."""
    with closing(Repository.open(desk.store)) as repository:
        chat = repository.create_conversation(text[:1_000_000], "")
        prompt = repository.add_message(chat.id, None, Role.USER, text)
        repository.add_message(chat.id, prompt.id, Role.ASSISTANT, text, "m")
    transcript = desk.window.transcript
    yield ""
    desk.studio.app.conversations.list_all()
    desk.window.conversations.chosen.emit(chat.id)
    desk.until(lambda: bool(transcript.messages) and transcript.messages[0].conversation_id == chat.id)
    desk.studio.rest()
    for pages in (-1, -1, -1, 1):
        transcript.scroll_pages(pages)
        QTest.qWait(5)
    yield ""
    if [message.text for message in transcript.messages] != 2 * [_readable(text)]:
        yield f"{len(transcript.messages)} messages are shown"
    if len(shown_of(text)) < len(text):
        for pages in (20_000, -20_000):  # to its end, and to its beginning
            transcript.scroll_pages(pages)
            desk.studio.rest()
            if any(view.cut is not None for view in transcript.findChildren(ReplyView)):
                return
        yield "it is not said that only the first part is shown"


def _readable(text: str) -> str:
    """What is read of it."""
    begins = text.encode()[: MOST_READ_BYTES + 1]
    return begins.decode(errors="ignore") + "…" if len(begins) > MOST_READ_BYTES else text


def _imported(desk: Desk, text: str) -> Iterator[str]:
    path = Path(desk.store.parent) / "chats.json"
    path.write_text(json.dumps([{"title": text[:50_000], "messages": [{"role": "user", "content": text}]}]))
    _begin(desk)
    yield ""
    imported = import_chats(desk, path)
    yield ""
    if isinstance(imported, Failure):
        if path.stat().st_size < MOST_STRING_BYTES:
            yield f"it fails: {imported.sentence}"
        return
    with closing(Repository.open(desk.store)) as repository:
        chats = [repository.open_conversation(each.id) for each in repository.list_conversations()]
    is_there = any(chat.messages and chat.messages[0].text == text for chat in chats)
    if imported.left_out:
        fits = path.stat().st_size < MOST_STRING_BYTES and text.strip()
        if fits and imported.left_out[0][0] is not LeftOut.KNOWN:
            yield f"it is left out as {imported.left_out[0][0]}"
    elif not is_there:
        yield "what was imported is not in the store"


def _pasted(desk: Desk, text: str) -> Iterator[str]:
    _begin(desk)
    pasted, more, box = text[:_MOST_COPIED], "and more", desk.window.prompt_box
    QGuiApplication.clipboard().setText(pasted)
    yield ""
    box.editor.paste()
    told = [toast.words.text() for toast in desk.window.toasts.shown]
    desk.type(more)
    desk.until(lambda: bool(box.count.text()))
    yield ""
    typed, attached = box.editor.toPlainText(), [each.text for each in box.chips.texts]
    if len(pasted) > MOST_PASTED:
        if attached or typed != more or not any("paste at most" in words for words in told):
            yield f"it is too long, and is told as {told}"
    elif attached:
        if [_bare(each) for each in attached] != [_bare(pasted)] or typed != more:
            yield "another text is attached"
    elif _bare(typed) != _bare(pasted + more):
        yield "another text is in the box"


def _bare(text: str) -> str:
    """Without what Qt writes otherwise: ends of lines, and what no field can hold."""
    return "".join(text.replace("\0", "").split())


def _sent(desk: Desk, text: str) -> Iterator[str]:
    """More than fits the context, as a rule."""
    _begin(desk)
    yield ""
    desk.window.prompt_box.submitted.emit(text)
    QTest.qWait(300)
    began = monotonic()
    desk.window.prompt_box.stop_requested.emit()
    desk.until(lambda: not desk.studio.app.chat.is_answering and bool(desk.events))
    seconds = monotonic() - began
    yield ""
    if seconds > _ANSWER_S:
        yield f"the chat thread stops after {seconds:.1f} s"
    shown = desk.window.transcript.messages
    is_kept = bool(shown) and shown[0].text == text
    if not (is_kept or desk.window.toasts.shown or desk.window.prompt_box.text == text):
        yield "the message is neither stored nor given back"
