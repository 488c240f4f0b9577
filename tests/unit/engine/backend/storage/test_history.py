"""What the store tells of all replies."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import asdict, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import insert

from engine.backend.storage import Repository
from engine.backend.storage.schema import ConversationRow, MessageRow, ReplyProposerRow, ReplyStatisticsRow
from engine.values.conversations import Role
from engine.values.history import Tally, total
from engine.values.learned import Learned, NgramRecord
from engine.values.origins import SERVER
from engine.values.replies import ProposerCounts, ReplyStatistics, StopReason, TextKind, Thought
from engine.values.speed import Hindrance

from .made import reply_of


def statistics(**changes: object) -> ReplyStatistics:
    values: dict[str, object] = {
        "prompt_tokens": 9,
        "evaluated_tokens": 9,
        "reply_tokens": 20,
        "prompt_s": 1.0,
        "reply_s": 2.0,
        "stop_reason": StopReason.END,
        "context_used": 30,
        "context_size": 100,
        "num_rounds": 12,
        "num_drafted": 16,
        "num_accepted": 8,
        "plain_tokens_per_s": 8.0,
        "plain_error": 0.1,
        "draft_s": 0.25,
        "check_s": 1.5,
        "kind": TextKind.CODE,
        "proposers": (ProposerCounts("drafter", 9, 11, 5), ProposerCounts("recall", 3, 5, 3)),
    }
    return ReplyStatistics(**{**values, **changes})  # type: ignore[arg-type]


def say(
    repository: Repository, *replies: ReplyStatistics, target: str = "Tiny", incognito: bool = False, identity: str = ""
) -> int:
    chat = repository.create_conversation("chat", "", incognito)
    parent = None
    for told in replies:
        prompt = repository.add_message(chat.id, parent, Role.USER, "Hi")
        parent = repository.add_message(chat.id, prompt.id, Role.ASSISTANT, "Hello.", target, told, identity or None).id
    return chat.id


def test_an_empty_store_has_no_history(repository: Repository) -> None:
    history = repository.read_history()
    assert (history.days, history.chats, history.adapters, history.learning) == ((), (), (), ())
    assert (history.num_ngrams, history.num_recall_texts, history.num_recall_tokens) == (0, 0, 0)


def test_replies_that_reuse_text_stand_apart(repository: Repository) -> None:
    reused = (ProposerCounts("recall", 3, 15, 12),)
    say(repository, statistics(), statistics(proposers=reused, ratio=1.8), statistics(proposers=reused, ratio=1.6))
    for portions in (repository.read_history().days, repository.read_history().chats):
        assert {each.reuses: each.tally.num_replies for each in portions} == {False: 1, True: 2}
        (again,) = (each for each in portions if each.reuses)
        assert sorted(again.tally.ratios) == [1.6, 1.8]
        assert again.tally.proposers == (ProposerCounts("recall", 6, 30, 24),)
        assert total(each.tally for each in portions).num_replies == 3


def test_replies_are_added_up_by_day_and_by_chat(repository: Repository) -> None:
    cut = statistics(stop_reason=StopReason.LENGTH, reply_tokens=21, reply_s=4.0)
    first = say(repository, statistics(), cut)
    second = say(repository, statistics(kind=TextKind.PROSE))
    say(repository, statistics(), target="Big")
    history = repository.read_history()
    assert [(each.conversation_id, each.target_name, each.kind) for each in history.chats] == [
        (first, "Tiny", TextKind.CODE),
        (second, "Tiny", TextKind.PROSE),
        (history.chats[2].conversation_id, "Big", TextKind.CODE),
    ]
    tally = history.chats[0].tally
    assert (tally.num_replies, tally.num_tokens, tally.num_timed, tally.seconds) == (2, 41, 40, 6.0)
    assert (tally.num_rounds, tally.num_in_rounds, tally.num_drafted, tally.num_accepted) == (24, 40, 32, 16)
    assert tally.proposers == (ProposerCounts("drafter", 18, 22, 10), ProposerCounts("recall", 6, 10, 6))
    assert (tally.parted_s, tally.draft_s, tally.check_s) == (6.0, 0.5, 3.0)
    assert tally.ratios == pytest.approx((2.5 / 2.0, 2.5 / 4.0)), "by the clock, where counts are not known"
    assert tally.saved_s == pytest.approx(5.0 - 6.0)
    assert (tally.num_slow, tally.num_repeating) == (0, 0)
    (day,) = {portion.day for portion in history.days}
    assert abs(day - datetime.now().astimezone().date()) <= timedelta(days=1)
    assert len(history.days) == 3
    assert total(each.tally for each in history.days) == total(each.tally for each in history.chats)


def test_what_recall_saved_is_its_part_of_what_the_reply_saved(repository: Repository) -> None:
    say(repository, statistics(ratio=1.5), identity="sha256:1")
    (tally,) = (portion.tally for portion in repository.read_history().chats)
    assert tally.saved_s == pytest.approx(2.0 * 0.5)
    # Plainly 3 seconds for 20 tokens. Of the 2 seconds, 12 plain passes and 0.25 of drafting leave -0.05 for checking.
    assert tally.recall_saved_s == pytest.approx(3 * 0.15 - (-0.05) * 5 / 16)
    drafter_saved_s = 5 * 0.15 - (-0.05) * 11 / 16
    assert tally.recall_saved_s + drafter_saved_s - 0.25 == pytest.approx(tally.saved_s)


def test_every_model_that_wrote_here_is_told_with_what_recall_saved(repository: Repository, store: Path) -> None:
    assert repository.summarize_learned().models == ()
    say(repository, statistics(ratio=1.5), statistics(ratio=1.5), identity="sha256:1")
    unknown = statistics(ratio=0.0, plain_tokens_per_s=0.0)
    say(repository, unknown, target="Far", identity="server:http://far:5/v1#Far")
    say(repository, replace(unknown, proposers=()), target="Old")
    repository.add_learned(Learned({}, {}, {"w": (np.array([1], np.int32),)}, (), {"w": ("Old",)}))
    repository.save_lesson("v", 2, reply_of([7], [[7]], np.zeros((1, 1))), most=10)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE messages SET created_at = '2026-03-03 12:00:00.000000' WHERE id <= 2")
    far, old, tiny = repository.summarize_learned().models
    assert (far.name, far.is_remote, far.vocabulary, far.num_replies) == ("Far (far)", True, "", 1)
    assert (far.speedup, far.num_recalled, far.recall_saved_s) == (None, 0, None), "a server's guesses are its own"
    assert (old.name, old.is_remote, old.tokens_per_s, old.recall_saved_s) == ("Old", False, 10.0, None)
    assert old.vocabulary == "w", "by its name"
    assert (tiny.name, tiny.identity, tiny.vocabulary) == ("Tiny", "sha256:1", "v")
    assert (tiny.num_replies, tiny.num_tokens, tiny.num_recalled, tiny.speedup) == (2, 40, 6, (1.5, 0.0))
    (lately, whole) = tiny.recall_saved_s or (0.0, 0.0)
    assert (lately, whole) == pytest.approx((whole / 2, total_saved(repository)))


def total_saved(repository: Repository) -> float:
    return total(each.tally for each in repository.read_history().days).recall_saved_s


def test_what_kept_replies_from_being_faster_is_counted(repository: Repository) -> None:
    kinds = (Hindrance.COSTS, Hindrance.NOTHING, Hindrance.LITTLE, Hindrance.WRONG, Hindrance.UNKNOWN)
    say(repository, *(statistics(ratio=1.0, hindrance=each) for each in kinds))
    (portion,) = repository.read_history().chats
    assert (portion.tally.num_unpaid, portion.tally.num_unrepeated) == (1, 2)


def test_one_endless_reply_earns_no_figure(repository: Repository) -> None:
    endless = statistics(ratio=6.0, reply_tokens=2664, reply_s=40.0, repeats=True)
    proposers = (ProposerCounts("recall", 9, 90, 80),)
    say(repository, statistics(ratio=0.88), statistics(ratio=0.96), statistics(ratio=1.02), endless)
    say(repository, replace(endless, kind=TextKind.PROSE, proposers=proposers))
    replies, alone = (portion.tally for portion in repository.read_history().chats)
    assert (replies.ratios, replies.num_slow, replies.num_repeating) == ((0.88, 0.96, 1.02), 2, 1)
    assert (replies.num_replies, replies.num_tokens, replies.seconds) == (3, 60, 6.0)
    assert replies.saved_s == pytest.approx(2.0 * (-0.12 - 0.04 + 0.02))
    assert alone == Tally(num_repeating=1)
    assert repository.summarize_learned().statistics[0].speedup == 0.96


def test_a_target_is_told_by_what_it_is_and_called_as_it_was_last(repository: Repository) -> None:
    say(repository, statistics())  # before identities existed
    say(repository, statistics(), identity="file:1")
    say(repository, statistics(), target="Renamed", identity="file:1")
    say(repository, statistics(), target="Other")
    say(repository, statistics(), identity="file:2")  # another file under the first name
    say(repository, statistics(), target="Renamed", identity="file:3")
    history = repository.read_history()
    numbers = {"Renamed": 3, "Other": 1, "Tiny": 1, "Renamed (2)": 1}
    assert {portion.target_name: portion.tally.num_replies for portion in history.days} == numbers
    assert [portion.target_name for portion in history.chats[:3]] == ["Renamed"] * 3
    totals = repository.summarize_learned().statistics
    assert {each.name: each.num_replies for each in totals} == numbers


def test_a_target_on_a_server_is_called_with_its_host_and_never_compared(repository: Repository) -> None:
    """Its name may have blanks, and its server may claim a speed-up, which nobody has measured here. Its guesses say
    nothing of this machine."""
    desk, cloud = "server:http://192.168.1.5:8080/v1#My Tiny", "server:https://models.example.org/v1#tiny"
    told = statistics(plain_tokens_per_s=0.0, ratio=0.5)
    say(repository, told, identity=desk)
    say(repository, told, identity=cloud)
    say(repository, statistics())  # of this machine, from before identities were stored
    history = repository.read_history()
    assert [each.target_name for each in history.chats] == ["Tiny (192.168.1.5)", "Tiny (models.example.org)", "Tiny"]
    assert [each.tally.speedup is None for each in history.chats] == [True, True, False]
    assert [each.tally.num_slow for each in history.chats] == [0, 0, 0]
    assert [each.tally.num_accepted for each in history.chats] == [0, 0, 8]


def test_an_identity_that_names_no_server_is_no_reason_to_show_nothing(repository: Repository) -> None:
    say(repository, statistics(), identity="server:http://[")
    assert [each.target_name for each in repository.read_history().chats] == ["Tiny"]


def test_an_adapter_is_of_the_targets_that_taught_it(repository: Repository) -> None:
    for identity in ("file:1", "file:2"):
        say(repository, statistics(), identity=identity)
    deleted = say(repository, statistics(), target="Gone")
    repository.delete_conversations([deleted])
    for message_id in (4, 6):
        repository.save_lesson("v", message_id, reply_of([7], [[7]], np.zeros((1, 1))), most=10)
    repository.save_adapter("v", "d", 2.0, 2.5, 30, 200, b"weights")
    (note,) = repository.read_history().adapters
    assert note.target_names == ("Gone", "Tiny (2)")


def test_a_reply_that_was_not_compared_counts_for_all_but_the_ratio(repository: Repository) -> None:
    old = statistics(plain_tokens_per_s=0.0, plain_error=0.0, draft_s=0.0, check_s=0.0)
    nothing = statistics(reply_tokens=0, reply_s=0.0, stop_reason=StopReason.STOPPED, check_s=0.0, draft_s=0.0)
    say(repository, old, nothing)
    (portion,) = repository.read_history().days
    assert portion.tally.num_replies == 2
    assert portion.tally.num_timed == 20
    assert portion.tally.speedup is None
    assert portion.tally.parted_s == 0.0, "nothing is known of where its time went"


def test_what_a_server_guesses_counts_for_nobody_here(repository: Repository) -> None:
    told = ProposerCounts(SERVER.key, 5, 10, 5)
    guessed = statistics(proposers=(told,), ratio=2.0, plain_tokens_per_s=0.0, plain_error=0.0)
    say(repository, guessed, identity="server:http://192.168.1.5:8080/v1#llama", target="llama")
    (portion,) = repository.read_history().days
    assert portion.target_name == "llama (192.168.1.5)"
    assert portion.tally.num_tokens == guessed.reply_tokens
    assert portion.tally.seconds == guessed.reply_s
    assert portion.tally.num_rounds == portion.tally.num_drafted == portion.tally.saved_s == 0
    assert portion.tally.proposers == ()
    assert portion.tally.ratios == ()


def test_deleted_and_incognito_chats_are_not_told_of(repository: Repository) -> None:
    kept = say(repository, statistics())
    gone = say(repository, statistics())
    say(repository, statistics(), incognito=True)
    repository.save_recall("v", {1: [1, 2, 3], 2: [4], 4: [1] * 10})
    assert repository.read_history().num_recall_tokens == 14
    repository.delete_conversations([gone])
    history = repository.read_history()
    assert {each.conversation_id for each in history.chats} == {kept}
    assert (history.num_recall_texts, history.num_recall_tokens) == (2, 4)


def test_damaged_rows_are_left_out(repository: Repository, store: Path) -> None:
    kept = say(repository, statistics())
    say(repository, statistics())
    say(repository, statistics())
    say(repository, statistics())
    repository.add_learning_time(date(2026, 1, 31), 5.0)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE messages SET created_at = 'yesterday' WHERE conversation_id = 2").close()
        connection.execute("UPDATE reply_statistics SET kind = 'song' WHERE message_id = 6").close()
        connection.execute("UPDATE messages SET target_name = x'00' WHERE conversation_id = 4").close()
        connection.execute("INSERT INTO reply_proposers VALUES (2, x'00', 1, 1, 1)").close()
        connection.execute("INSERT INTO learning_days VALUES ('soon', 1.0), ('2026-02-01', 'long')").close()
    history = repository.read_history()
    assert [each.conversation_id for each in history.chats] == [kept]
    assert [counts.key for counts in history.chats[0].tally.proposers] == ["drafter", "recall"]
    assert [(each.day, each.seconds) for each in history.learning] == [(date(2026, 1, 31), 5.0)]


def test_what_was_learned_is_told_oldest_first(repository: Repository) -> None:
    reply = say(repository, statistics())
    repository.save_adapter("target", "drafter", 0.9, 1.1, 24, 40, b"weights")
    repository.save_adapter("target", "drafter", 1.0, 1.2, 24, 80, b"others")
    repository.save_ngrams("target", "drafter", [NgramRecord((1, 2), 3, 1, 0, 1), NgramRecord((4,), 5, 1, 0, 1)])
    history = repository.read_history()
    assert [(note.number, note.before, note.after, note.num_learned) for note in history.adapters] == [
        (1, 0.9, 1.1, 40),
        (2, 1.0, 1.2, 80),
    ]
    assert [note.is_published for note in history.adapters] == [False, True]
    assert history.num_ngrams == 2
    assert reply


def test_time_of_learning_adds_up_by_day_and_is_forgotten_with_what_was_learned(repository: Repository) -> None:
    for day, seconds in ((date(2026, 2, 1), 4.0), (date(2026, 1, 31), 1.5), (date(2026, 1, 31), 2.0)):
        repository.add_learning_time(day, seconds)
    assert [(each.day, each.seconds) for each in repository.read_history().learning] == [
        (date(2026, 1, 31), 3.5),
        (date(2026, 2, 1), 4.0),
    ]
    repository.forget_learned()
    assert repository.read_history().learning == ()


def test_two_thousand_replies_are_added_up(repository: Repository) -> None:
    num_replies, num_chats = 2_000, 400
    fill(repository, num_replies, num_chats)
    history = repository.read_history()
    assert len(history.chats) == num_chats
    whole = total(portion.tally for portion in history.days)
    assert whole.num_replies == num_replies
    assert sum(counts.num_accepted for counts in whole.proposers) == whole.num_accepted
    assert whole.speedup is not None
    assert whole.speedup.ratio == pytest.approx(1.25)
    assert whole == total(portion.tally for portion in history.chats)


def fill(repository: Repository, num_replies: int, num_chats: int) -> None:
    """Over a year, in equal chats."""
    end = datetime(2026, 6, 1, tzinfo=UTC)
    chats = [
        {"id": number, "title": "chat", "system_prompt": "", "created_at": end, "updated_at": end, "draft": ""}
        for number in range(1, num_chats + 1)
    ]
    told = statistics()
    columns = {name: getattr(told, name) for name in told.__slots__ if name != "proposers"}
    replies = [
        {
            "id": number,
            "conversation_id": 1 + (number - 1) * num_chats // num_replies,
            "parent_id": None,
            "role": Role.ASSISTANT,
            "text": "A reply of some length. " * 20,
            "created_at": end - timedelta(days=365 * (1 - number / num_replies)),
            "target_name": "Tiny",
        }
        for number in range(1, num_replies + 1)
    ]
    with repository._writing() as connection:
        connection.execute(insert(ConversationRow), chats)
        connection.execute(insert(MessageRow), replies)
        connection.execute(
            insert(ReplyStatisticsRow),
            [{"message_id": number, **columns} for number in range(1, num_replies + 1)],
        )
        connection.execute(
            insert(ReplyProposerRow),
            [
                {"message_id": number, **asdict(counts)}
                for number in range(1, num_replies + 1)
                for counts in told.proposers
            ],
        )


def test_thoughts_are_added_up_apart(repository: Repository, store: Path) -> None:
    chat = repository.create_conversation("chat", "")
    prompt = repository.add_message(chat.id, None, Role.USER, "Hi")
    thoughts = (Thought(0, "Hm.", 0.5, 4, True), Thought(3, "Wait.", 0.25, 3, True))
    for told in (thoughts, (), thoughts):
        values = "Hello.", "Tiny", statistics(), None, told
        last = repository.add_message(chat.id, prompt.id, Role.ASSISTANT, *values)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE messages SET thoughts = '[[0, garbage' WHERE id = ?", (last.id,)).close()
    tally = total(portion.tally for portion in repository.read_history().days)
    assert (tally.num_thought, tally.thought_s) == (7, 0.75)
    assert tally.paces == (7 / 0.75, (60 - 7) / (6.0 - 0.75))
