"""What the window says of a tool call, and how its arguments and its result are written."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from app.text.numbers import decimal
from app.text.translation import Words
from app.text.unseen import one_line
from engine.values.sentences import shortened
from engine.values.tools import Change, Outcome, Redefined, ToolCall

if TYPE_CHECKING:  # not before the window is there
    from engine.values.events import ToolAsked

LONGEST_JSON = 60_000  # characters; what is longer is shown as it came
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_INDENT = "  "
_DEEPEST = 40  # that is indented
_LONGEST_BEFORE = 300  # characters of what a tool was
Calls = Words("Calls")


class CallPhase(Enum):
    """How far a call has come that has no result yet."""

    NEXT = auto()  # others of the same reply come first, or the question is on its way
    ASKED = auto()  # the user is asked
    RUNNING = auto()
    ENDED = auto()  # it has a result
    LEFT = auto()  # not carried out, nor about to be


@dataclass(frozen=True, slots=True)
class CallBlock:
    """What is shown of a call, among the blocks of a reply."""

    call: ToolCall
    phase: CallPhase = CallPhase.LEFT
    asked: ToolAsked | None = None  # while the user is
    outcome: Outcome | None = None  # of one that has ended
    seconds: float = 0.0  # that it took
    text: str = ""  # what the model was told
    since_s: float = 0.0  # it runs, by `time.monotonic`
    is_open: bool = False


def name_of(call: ToolCall) -> str:
    """`weather: forecast`."""
    return one_line(f"{call.server}: {call.tool}" if call.server else call.tool)


def question_words(call: ToolCall) -> str:
    tool, server = one_line(call.tool), one_line(call.server)
    return Calls.tr("May the model use “{tool}” of {server}?", tool=tool, server=server)


def redefined_words(redefined: Redefined) -> str:
    """Says what has changed since the user allowed it."""
    changes, sentences = redefined.changes, [Calls.tr("You allowed this tool earlier, but it has changed since then.")]
    if Change.PROGRAM in changes:
        sentences.append(Calls.tr("Its server starts another program or has another address."))
    if Change.ENVIRONMENT in changes:
        sentences.append(Calls.tr("Its server has other environment variables or headers."))
    if Change.DESCRIPTION in changes:
        before = shortened(one_line(" ".join(redefined.description.split())), _LONGEST_BEFORE)
        sentences.append(Calls.tr("Its description was “{before}”.", before=before))
    if Change.ARGUMENTS in changes and redefined.new_arguments:
        names = shortened(one_line(", ".join(redefined.new_arguments)), _LONGEST_BEFORE)
        sentences.append(Calls.tr("It has new arguments: {names}.", names=names))
    elif Change.ARGUMENTS in changes:
        sentences.append(Calls.tr("It takes its arguments in another form."))
    return " ".join(sentences)


def running_words(block: CallBlock, now_s: float) -> str:
    """`Asking weather: forecast… 3 s`; the time is by `time.monotonic`."""
    return Calls.tr("Calling {call}… {seconds} s", call=name_of(block.call), seconds=max(0, int(now_s - block.since_s)))


def call_words(block: CallBlock) -> str:
    """`Asked weather: forecast · 0.8 s`."""
    call, what = block.call, name_of(block.call)
    match block.phase, block.outcome:
        case CallPhase.NEXT, _:
            return Calls.tr("Next: {call}", call=what)
        case CallPhase.ASKED, _:
            return Calls.tr("Waiting for you: {call}", call=what)
        case CallPhase.RUNNING, _:
            return Calls.tr("Calling {call}…", call=what)
        case CallPhase.LEFT, _:
            return Calls.tr("Not run: {call}", call=what)
        case _, Outcome.REFUSED:
            return Calls.tr("You declined {call}", call=what)
        case _, Outcome.STOPPED:
            return Calls.tr("Stopped: {call}", call=what)
        case _, Outcome.TIMED_OUT:
            return Calls.tr("No answer in time: {call} · {time}", call=what, time=seconds_words(block.seconds))
        case _, Outcome.FAILED if not call.server:
            return Calls.tr("There is no tool called {call}", call=what)
        case _, Outcome.FAILED if not block.seconds:
            return Calls.tr("Failed: {call}", call=what)
        case _, Outcome.FAILED:
            return Calls.tr("Failed: {call} · {time}", call=what, time=seconds_words(block.seconds))
    return Calls.tr("Called {call} · {time}", call=what, time=seconds_words(block.seconds))


def seconds_words(seconds: float) -> str:
    if seconds < 10:
        return Calls.tr("{seconds} s", seconds=decimal(seconds, 1))
    if seconds < 60:
        return Calls.tr("{seconds} s", seconds=round(seconds))
    return Calls.tr("{minutes} min {seconds} s", minutes=round(seconds) // 60, seconds=round(seconds) % 60)


def formatted(text: str) -> str | None:
    """JSON objects and lists with one value per line; None for anything else. Nothing is lost: numbers keep all digits,
    and repeated names stay."""
    if len(text) > LONGEST_JSON or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    lines, before, depth = [""], "", 0
    for token in _TOKEN.findall(text):
        is_end = token in ("}", "]")
        depth += (before in ("{", "[")) - is_end
        if (before in ("{", "[", ",")) if not is_end else before not in ("{", "["):
            lines.append(_INDENT * min(depth, _DEEPEST))
        lines[-1] += f"{token} " if token == ":" else _readable(token)
        before = token
    return "\n".join(lines)


def _readable(token: str) -> str:
    return json.dumps(json.loads(token), ensure_ascii=False) if token.startswith('"') else token
