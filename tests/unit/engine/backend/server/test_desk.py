"""How what is known of a reply comes to its program."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from engine.backend.server import desk
from engine.backend.server.desk import Desk
from engine.backend.server.refusals import RequestRefused
from engine.values.asked import Answered, Asked, Refusal, Refused
from engine.values.config import ReplySettings
from engine.values.errors import Cancelled, MendableError
from engine.values.growing_reply import PieceReader
from engine.values.owner import Owner
from engine.values.replies import ReplyStatistics, StopReason
from engine.values.sentences import say
from engine.values.serving import Asker, ServerLimits
from engine.values.speed import LiveFigures
from tests.fakes.served_target import FakeServed

_T = TypeVar("_T")
_PATIENCE_S = 10.0
ANSWERED = Answered("", (), (), ReplyStatistics(1, 1, 1, 0.0, 0.0, StopReason.END, 1, 512, 0))
FIGURES = LiveFigures()
WHO = Asker(Owner("program"))


def at_desk(visit: Callable[[Desk, FakeServed], Awaitable[_T]]) -> _T:
    async def main() -> _T:
        served = FakeServed()
        return await asyncio.wait_for(visit(Desk(served, ReplySettings, ServerLimits()), served), _PATIENCE_S)

    return asyncio.run(main())


def test_text_comes_in_few_pieces_and_the_first_of_each_reply_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "_GAP_S", 3600.0)

    async def visit(at: Desk, served: FakeServed) -> list[str]:
        came: list[str] = []
        for _ in range(2):
            job, reader = at.submit(Asked(), WHO), PieceReader()

            async def take(job: desk.Job[Answered] = job, reader: PieceReader = reader) -> None:
                await job.next()
                came.append("".join(each.text for each in reader.new_in(job.so_far)))

            reply = served.replies[-1]
            reply.begin(3, 0)
            await take()
            reply.say("a", FIGURES)
            await take()
            for letter in "bcd":
                reply.say(letter, FIGURES)
                await asyncio.sleep(0.01)
            served.asked[-1].future.set_result(ANSWERED)
            await take()
            assert job.result() == ANSWERED
        return came

    assert at_desk(visit) == ["", "a", "bcd"] * 2


def test_text_is_passed_on_though_no_more_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "_GAP_S", 0.02)

    async def visit(at: Desk, served: FakeServed) -> list[int]:
        job = at.submit(Asked(), WHO)
        came: list[int] = []
        for wait_s in (0.0, 0.0, 0.1):
            await asyncio.sleep(wait_s)
            served.replies[-1].say("a", FIGURES)
            await job.next()
            came.append(job.so_far.num_pieces)
        return came

    assert at_desk(visit) == [1, 2, 3]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Refused(Refusal.TOO_LONG, say("Too long.")), 400),
        (Refused(Refusal.NOT_READY, say("Not yet.")), 503),
        (MendableError("Something went wrong inside."), 500),
        (Cancelled("It has gone."), 500),
    ],
)
def test_why_it_was_not_answered_is_told_as_a_status(error: Exception, status: int) -> None:
    async def visit(at: Desk, served: FakeServed) -> None:
        first, second = at.submit(Asked(), WHO), at.submit(Asked(), WHO)
        served.asked[-1].future.set_exception(error)
        await first.next()
        with pytest.raises(RequestRefused) as refused:
            first.result()
        assert refused.value.status == status
        served.asked[-1].future.set_result(ANSWERED)
        await second.next()
        assert second.result() == ANSWERED, "the next one has its turn"

    at_desk(visit)


def test_who_waits_when_it_closes_is_told_so() -> None:
    async def visit(at: Desk, served: FakeServed) -> None:
        jobs = [at.submit(Asked(), WHO) for _ in range(3)]
        assert len(served.asked) == 1
        at.close()
        for job in jobs:
            await job.next()
            with pytest.raises(RequestRefused) as refused:
                job.result()
            assert refused.value.status == 503
        assert served.asked[0].signal.is_set()
        with pytest.raises(RequestRefused):
            at.submit(Asked(), WHO)

    at_desk(visit)


def test_one_that_leaves_stops_its_reply_or_gives_up_its_place() -> None:
    async def visit(at: Desk, served: FakeServed) -> None:
        first, second = at.submit(Asked(), WHO), at.submit(Asked(), WHO)
        at.leave(second)
        assert at.num_waiting == 0
        at.leave(first)
        assert served.asked[0].signal.is_set()
        assert at.is_busy, "until it has stopped"

    at_desk(visit)
