"""How what is told of a reply comes to its client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from engine.backend.server import desk
from engine.backend.server.desk import Desk, Told
from engine.backend.server.refusals import RequestRefused
from engine.values.asked import Asked, Refusal
from engine.values.commands import Answer
from engine.values.config import ReplySettings
from engine.values.events import (
    AnswerEnded,
    AnswerRefused,
    AnswerStarted,
    AnswerText,
    Event,
    Finished,
    TargetInfo,
    TargetReady,
)
from engine.values.owner import Owner
from engine.values.replies import ReplyStatistics, StopReason
from engine.values.serving import Asker, ServerLimits
from engine.values.stop_signal import StopSignal
from engine.values.targets import LoadOrder

_T = TypeVar("_T")
_PATIENCE_S = 10.0
TARGET = TargetInfo("fake", "fake.gguf", "", 512, 1, 1, "", "", False, True)


def ended(number: int) -> AnswerEnded:
    statistics = ReplyStatistics(1, 1, 1, 0.0, 0.0, StopReason.END, 1, 512, 0)
    return AnswerEnded(number, "", (), (), statistics, "")


def at_desk(visit: Callable[[Desk], Awaitable[_T]]) -> _T:
    async def main() -> _T:
        at = Desk(lambda _command: StopSignal(), ReplySettings, ServerLimits())
        at.open(asyncio.get_running_loop())
        at.hear(TargetReady(TARGET, LoadOrder("fake")))
        return await asyncio.wait_for(visit(at), _PATIENCE_S)

    return asyncio.run(main())


def test_text_comes_in_few_pieces_and_the_first_of_each_reply_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "_GAP_S", 3600.0)

    async def visit(at: Desk) -> list[list[Told]]:
        came: list[list[Told]] = []
        for _ in range(2):
            job = at.submit(Asked(), Asker(Owner("program")))
            number = job.command.number
            at.hear(AnswerStarted(number, 3))
            came.append(await job.next())
            at.hear(AnswerText(number, "a", ()))
            came.append(await job.next())
            for letter in "bcd":
                at.hear(AnswerText(number, letter, ()))
                await asyncio.sleep(0.01)
            at.hear(ended(number))
            came.append(await job.next())
            at.hear(Finished(job.command))
        return came

    texts = [[each.text for each in piece if isinstance(each, AnswerText)] for piece in at_desk(visit)]
    assert texts == [[], ["a"], ["b", "c", "d"]] * 2


def test_text_is_passed_on_though_no_more_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "_GAP_S", 0.02)

    async def visit(at: Desk) -> list[list[Told]]:
        job = at.submit(Asked(), Asker(Owner("program")))
        came: list[list[Told]] = []
        for wait_s in (0.0, 0.0, 0.1):
            await asyncio.sleep(wait_s)
            at.hear(AnswerText(job.command.number, "a", ()))
            came.append(await job.next())
        return came

    assert [len(each) for each in at_desk(visit)] == [1, 1, 1]


def test_what_another_reply_tells_is_passed_on_to_nobody() -> None:
    async def visit(at: Desk) -> list[Told]:
        job = at.submit(Asked(), Asker(Owner("program")))
        other: list[Event] = [AnswerText(99, "x", ()), ended(99), Finished(Answer(99, Asked(), ReplySettings(), False))]
        for event in (*other, ended(job.command.number)):
            at.hear(event)
        return await job.next()

    (told,) = at_desk(visit)
    assert isinstance(told, AnswerEnded)
    assert told.number != 99


def test_whoever_waits_when_it_closes_is_told_so() -> None:
    async def visit(at: Desk) -> None:
        jobs = [at.submit(Asked(), Asker(Owner("program"))) for _ in range(3)]
        at.close()
        for job in jobs:
            (told,) = await job.next()
            assert isinstance(told, AnswerRefused)
            assert told.refusal is Refusal.NOT_READY
        assert jobs[0].stop is not None
        assert jobs[0].stop.is_set()
        with pytest.raises(RequestRefused):
            at.submit(Asked(), Asker(Owner("program")))

    at_desk(visit)
