"""The service with a real store, on the thread of the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from engine.backend.profile.forgetting import Forgetting
from engine.backend.profile.personal_service import PersonalService
from engine.backend.remote.keys import Keys
from engine.backend.remote.servers import Servers
from engine.backend.storage import Repository
from engine.backend.teaching.learning_service import LearningService
from engine.backend.teaching.recall import Recall
from engine.speculation.model.files.prompt_cache import PromptCache
from engine.values.config import LearningSettings, OwnSampling, PromptCacheSettings
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import AdapterUnusable, Cancelled, FileUnusable
from engine.values.events import (
    ConversationsListed,
    Event,
    EverythingForgotten,
    FoldersListed,
    LearnedChanged,
    ServersListed,
)
from engine.values.learned import Exercise, ImportOutcome, NgramRecord, VerifiedReply
from engine.values.places import SERVERS
from engine.values.remote import RemoteServer
from engine.values.stop_signal import StopSignal
from tests.fakes.keyring import FakeKeyring
from tests.fakes.target import FakeTarget
from tests.unit.engine.backend.profile.conftest import DRAFTER, TARGET, TOKENIZER, WEIGHTS

NGRAM = NgramRecord((1, 2), 3, count=4, doubts=0, last_use=5)


class Desk:
    """What one user has learned, and the service that carries it about."""

    def __init__(self, folder: Path) -> None:
        self.repository = Repository.open(folder)
        self.recall = Recall(self.repository)
        self.learning = LearningService(lambda: self.repository, LearningSettings(), lambda _event: None)
        self.events: list[Event] = []
        shared = self.repository, self.recall, self.learning
        self.keyring = FakeKeyring()
        self.servers = Servers(folder, Keys(lambda: self.keyring))
        self.wanted: list[str] = []  # what the service asked of others
        catch_up, erase = partial(self.wanted.append, "catch_up"), partial(self.wanted.append, "erase")
        self.service = PersonalService(*shared, self.events.append, catch_up, erase)
        cache = PromptCache(folder, PromptCacheSettings())
        self.forgetting = Forgetting(self.repository, self.service, cache, self.servers, self.events.append)

    def close(self) -> None:
        self.repository.close()

    def learn(self) -> None:
        target = FakeTarget()
        self.recall.open(target)
        chat = self.repository.create_conversation("chat", "")
        prompt = self.repository.add_message(chat.id, None, Role.USER, "one two three")
        self.recall.add(prompt)
        self.repository.save_ngrams(TARGET, TOKENIZER, [NGRAM])
        for number, weights in enumerate(WEIGHTS):
            self.repository.save_adapter(TARGET, DRAFTER, 1.0, 1.5 + number, 20, 40, weights)

    def tells(self, *kinds: type[Event]) -> list[Event]:
        """What was told since the last call, which is of these kinds."""
        told = self.events[:]
        self.events.clear()
        assert [type(event) for event in told] == list(kinds)
        return told

    def num_found(self) -> int:
        return sum(len(index.find(list(b"one"), 8)) for index in self.recall.indexes())


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with closing(Desk(tmp_path / "home")) as desk:
        desk.learn()
        yield desk


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Desk]:
    with closing(Desk(tmp_path / "other")) as other:
        yield other


def test_what_is_learned_is_told_with_its_size_and_since_when(desk: Desk) -> None:
    read = desk.service.read_learned()
    assert read.in_use is None
    target = FakeTarget().vocabulary.fingerprint
    assert (read.vocabulary, read.progress) == (target, None), "loaded, with nobody who drafts"
    summary = read.summary
    assert [adapter.is_published for adapter in summary.adapters[TARGET, DRAFTER]] == [True, False]
    oldest = summary.adapters[TARGET, DRAFTER][-1]
    assert summary.since == {TARGET: oldest.created_at}
    recalled = FakeTarget().vocabulary.fingerprint
    assert summary.num_bytes[recalled] == 4 * summary.recall[recalled].num_tokens
    assert summary.num_bytes[TARGET] > sum(map(len, WEIGHTS))


def test_a_profile_is_carried_to_another_machine_and_used_there_at_once(
    desk: Desk, other: Desk, tmp_path: Path
) -> None:
    path = tmp_path / "me.slipstream"
    path.write_text("an older one")
    assert desk.service.export_profile(path, with_recall=True) == path.stat().st_size
    other.recall.open(FakeTarget())
    assert len(other.service.summarize_profile(path).learned.adapters[TARGET, DRAFTER]) == 2
    assert other.num_found() == 0, "nothing is imported"

    era = other.learning.era.number
    assert other.service.import_profile(path) == ImportOutcome(1, 2, 1, 1)
    other.tells(LearnedChanged)
    assert other.service.read_learned().summary.ngrams == {(TARGET, TOKENIZER): 1}
    assert other.num_found() == 1
    assert other.learning.era.number > era
    assert other.wanted == ["catch_up", "erase"]


def test_a_profile_can_take_the_place_of_what_is_here(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "me.slipstream"
    desk.service.export_profile(path)
    more = replace(NGRAM, string=(9,))
    desk.repository.save_ngrams(TARGET, TOKENIZER, [more])
    desk.service.import_profile(path, replace=True)
    assert desk.repository.load_ngrams(TARGET, TOKENIZER) == (NGRAM,)
    assert desk.num_found() == 1, "what is recalled of chats stays with them"


def test_a_damaged_profile_changes_nothing_and_nobody_waits_for_it(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "me.slipstream"
    path.write_bytes(b"nonsense" * 10)
    era = desk.learning.era.number
    service, missing = desk.service, tmp_path / "missing"
    for read in (service.summarize_profile, service.import_profile):
        with pytest.raises(FileUnusable, match=r"^The profile .* is damaged"):
            read(path)
    with pytest.raises(FileUnusable, match=r"^There is no file .*; name a profile"):
        service.import_profile(missing)
    with pytest.raises(FileUnusable, match="name a file in a folder that exists"):
        service.export_profile(missing / "me.slipstream")
    assert desk.learning.era.number == era
    desk.tells()


def test_an_earlier_adapter_is_used_and_which_one_was_before_is_told(desk: Desk) -> None:
    second, first = desk.repository.list_adapters(TARGET, DRAFTER)
    for number, before in ((first.number, second.number), (None, first.number), (second.number, None)):
        assert desk.service.use_adapter((TARGET, DRAFTER), number) == before
        desk.tells(LearnedChanged)
        published = desk.repository.published_adapter(TARGET, DRAFTER)
        assert (published.number if published else None) == number
    with pytest.raises(AdapterUnusable, match="99"):
        desk.service.use_adapter((TARGET, DRAFTER), 99)
    published = desk.repository.published_adapter(TARGET, DRAFTER)
    assert published is not None
    assert published.number == second.number


def test_what_was_learned_is_forgotten_and_chats_stay(desk: Desk) -> None:
    desk.service.forget_learned()
    desk.tells(LearnedChanged)
    assert desk.service.read_learned().summary.vocabularies == ()
    assert desk.num_found() == 0
    (chat,) = desk.repository.list_conversations()
    assert len(desk.repository.open_conversation(chat.id).messages) == 1
    assert desk.wanted == ["catch_up", "erase"]
    while desk.recall.catch_up():
        pass
    assert desk.num_found() == 1, "read again from the chat that stays"


def test_self_distilled_replies_are_erased_and_nothing_else(desk: Desk) -> None:
    reply = VerifiedReply(np.ones(2, np.int32), np.ones((2, 1), np.int32), np.zeros((2, 1), np.float16))
    exercise = Exercise(None, None, (ChatTurn(Role.USER, "Explain tides."),), OwnSampling())
    desk.repository.save_self_distilled(TARGET, exercise, reply, 100)
    before = desk.service.read_learned()
    assert before.practice is None, "there is no drafter"
    desk.service.erase_self_distilled()
    desk.tells(LearnedChanged)
    assert desk.wanted == ["catch_up", "erase"]
    after = desk.service.read_learned().summary
    assert (before.summary.self_distilled, after.self_distilled) == ({TARGET: 1}, {})
    assert (after.adapters, after.ngrams) == (before.summary.adapters, before.summary.ngrams)


def test_everything_is_forgotten(desk: Desk) -> None:
    desk.repository.create_folder("Diary")
    desk.repository.create_conversation("secret", "", incognito=True)
    desk.repository.delete_conversations([desk.repository.create_conversation("deleted", "").id])
    desk.servers.save(RemoteServer("Desk", "http://192.168.1.5/v1"), "sk-1")
    assert desk.keyring.kept
    assert desk.forgetting.forget_everything() == 3
    told = LearnedChanged, EverythingForgotten, FoldersListed, ConversationsListed, ServersListed
    _, _, folders, listed, servers = desk.tells(*told)
    assert servers == ServersListed(())
    assert not desk.servers.all()
    assert not desk.keyring.kept
    assert folders == FoldersListed(())
    assert listed == ConversationsListed(())
    read = desk.service.read_learned()
    assert (read.summary.vocabularies, read.summary.statistics) == ((), ())
    assert desk.num_found() == 0
    assert not desk.recall.catch_up()
    assert desk.num_found() == 0


def test_a_list_of_servers_that_cannot_be_removed_hinders_nothing_else(desk: Desk) -> None:
    (desk.repository.data_dir / SERVERS).mkdir()
    with pytest.raises(FileUnusable, match="cannot be written"):
        desk.forgetting.forget_everything()
    desk.tells(LearnedChanged, EverythingForgotten, FoldersListed, ConversationsListed)
    assert desk.wanted == ["catch_up", "erase"]


def test_a_profile_whose_import_is_ended_when_everything_is_forgotten_adds_nothing(
    desk: Desk, other: Desk, tmp_path: Path
) -> None:
    path, stop = tmp_path / "me.slipstream", StopSignal()
    desk.service.export_profile(path)
    stop.set()
    with pytest.raises(Cancelled, match="import was cancelled"):
        other.service.import_profile(path, stop=stop)
    assert other.repository.summarize_learned().vocabularies == ()
