"""What the texts of one owner leave behind tells no other owner anything, and serves its own as before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.backend.storage import Repository
from engine.values.asked import Asked, Refused
from engine.values.conversations import ChatTurn, Role
from engine.values.orders import Send
from engine.values.owner import Owner
from engine.values.replies import ReplyStatistics
from engine.values.targets import LoadOrder
from tests.fakes.seer import Seer, picture
from tests.fakes.target import FakeTarget, says
from tests.unit.engine.backend.chats.test_chat_service import GREEDY, Desk, finished

TEXT = "My number is 4711, and my dog is called Waldo, and all of this is a secret."
EDITOR, BROWSER = Owner("editor"), Owner("browser")
ALLOWED = Owner("assistant", drafts_from_chats=True)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    repository = Repository.open(tmp_path)
    yield Desk(repository, tmp_path)
    repository.close()


def opened(desk: Desk, target: FakeTarget | None = None) -> Desk:
    desk.drafts_from_recall = True
    desk.load(LoadOrder(desk.add("model", target or FakeTarget(says(TEXT), 2_048))))
    return desk


def answered(
    desk: Desk, owner: Owner, *said: str, asked: Asked | None = None, is_remembered: bool = False
) -> ReplyStatistics:
    roles = (Role.USER, Role.ASSISTANT)
    turns = tuple(ChatTurn(roles[place % 2], text) for place, text in enumerate(said))
    return desk.reply_to(asked or Asked(turns), GREEDY, is_remembered, owner).statistics


def test_earlier_chats_draft_for_the_user_and_for_a_client_that_may(desk: Desk) -> None:
    opened(desk)
    desk.do(Send("What do you know?", None, GREEDY))
    assert answered(desk, EDITOR, "Hello.").num_accepted < 20, "what it repeats of itself"
    assert answered(desk, ALLOWED, "Hello.").num_accepted > 50
    desk.do(Send("Hello.", None, GREEDY))
    assert (statistics := finished(desk).message.statistics) is not None
    assert statistics.num_accepted > 50


@pytest.mark.parametrize("incognito", [False, True])
def test_a_client_reads_all_of_its_prompt_whatever_others_have_read(desk: Desk, incognito: bool) -> None:
    opened(desk)
    desk.do(Send("What do you know?", None, GREEDY, incognito=incognito))
    for owner in (EDITOR, BROWSER, ALLOWED):
        told = answered(desk, owner, "What do you know?")
        assert told.evaluated_tokens == told.prompt_tokens, "no other owner's tokens are of use"


def test_a_client_reads_only_what_is_new_of_its_own_chat(desk: Desk) -> None:
    opened(desk)
    first = answered(desk, EDITOR, "What do you know?")
    second = answered(desk, EDITOR, "What do you know?", TEXT, "And?")
    assert second.evaluated_tokens < second.prompt_tokens - first.prompt_tokens - len(TEXT) + 10
    assert answered(desk, BROWSER, "What do you know?", TEXT, "And?").evaluated_tokens == second.prompt_tokens


def test_a_request_that_is_refused_leaves_the_chat_where_it_is(desk: Desk) -> None:
    opened(desk)
    desk.do(Send("What do you know?", None, GREEDY))
    chat = finished(desk).message.conversation_id
    for asked in (
        Asked((ChatTurn(Role.USER, "x" * 3_000),)),
        Asked((ChatTurn(Role.USER, "x"),), sampling=(("grammar", "?"),)),
    ):
        with pytest.raises(Refused):
            desk.reply_to(asked, owner=EDITOR)
    desk.do(Send("And?", chat, GREEDY))
    assert (told := finished(desk).message.statistics) is not None
    assert told.evaluated_tokens < 40


def test_the_tokens_of_a_prompt_do_not_follow_those_that_another_owner_wrote(desk: Desk) -> None:
    """The target may spell a text otherwise than the tokenizer does; who sends the same text must not see that."""
    opened(desk, FakeTarget(says("the end"), 2_048))
    desk.do(Send("Hello.", None, GREEDY))
    turns = ("Hello.", "the end", "And?")
    told = answered(desk, EDITOR, *turns)
    assert told.prompt_tokens == answered(desk, BROWSER, *turns).prompt_tokens


def test_what_a_bare_prompt_says_is_not_quoted_to_the_next_one(desk: Desk) -> None:
    opened(desk, FakeTarget(says("."), 2_048))
    before = Asked(text="abc" + "x" * 200 + TEXT)
    fresh = answered(desk, BROWSER, asked=Asked(text="abc" + "x" * 200 + "My number is"))
    answered(desk, EDITOR, asked=before)
    told = answered(desk, BROWSER, asked=Asked(text="abc" + "x" * 200 + "My number is"))
    assert told.num_drafted == fresh.num_drafted


def test_a_picture_is_read_again_for_another_owner(desk: Desk) -> None:
    seer = Seer()
    opened(desk, seer)
    asked = Asked((ChatTurn(Role.USER, "What is it?", pictures=(picture("a"),)),))
    for owner in (EDITOR, BROWSER, BROWSER):
        answered(desk, owner, asked=asked)
    first, second, third = seer.digests
    assert len({first, second, picture("a").digest}) == 3
    assert second == third
    assert "".join(seer.looked_at) == "aaaa", "the last one is held already"


def test_a_client_that_is_remembered_quotes_what_it_was_told_itself(desk: Desk) -> None:
    opened(desk)
    before = answered(desk, EDITOR, "What do you know?", is_remembered=True).num_accepted
    assert answered(desk, BROWSER, "Hello.", is_remembered=True).num_accepted <= before
    assert answered(desk, EDITOR, "Hello.", is_remembered=True).num_accepted > before + 50
    for chat in desk.repository.list_conversations():
        desk.recall.forget(chat.id)
    assert desk.recall.indexes(EDITOR)[0].num_tokens == 0
    desk.recall.reload()
    assert desk.recall.indexes(EDITOR) == ()


def test_what_a_client_reads_is_not_kept_as_a_chat_of_the_user(desk: Desk) -> None:
    opened(desk)
    desk.do(Send("x" * 300, None, GREEDY))
    assert (local := desk.target.local) is not None
    chat = desk.prompt_cache.chat(finished(desk).message.conversation_id)
    with pytest.raises(Refused):
        desk.reply_to(Asked((ChatTurn(Role.USER, "x" * 3_000),)), owner=EDITOR)
    assert local.writer.copy_unkept(chat) is not None, "nothing has come of that"
    answered(desk, EDITOR, "x" * 300)
    assert local.writer.copy_unkept(chat) is None
