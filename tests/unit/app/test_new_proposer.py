"""A proposer that is one file and one line: coloured, named, counted, stored and shown like all others."""

from __future__ import annotations

import csv
import io
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.features.history.columns import csv_text
from app.features.history.figures import rows
from app.features.history.page import HistoryPage
from app.theme import ThemeKeeper
from app.widgets.prompt.pictures import Pictures
from app.widgets.transcript.reply_view import ReplyView
from app.widgets.transcript.transcript import Transcript
from engine.backend.storage import Repository
from engine.speculation.decoding.speculation import open_speculation
from engine.speculation.proposers import catalogue
from engine.speculation.proposers.draft_policy import DraftPolicy
from engine.speculation.proposers.interface import Supplies
from engine.speculation.replies.reply import ReplyWriter
from engine.speculation.replies.writing import Reply
from engine.values.config import ReplySettings, SamplingSettings
from engine.values.conversations import ChatTurn, Message, Role
from engine.values.history import History
from engine.values.stop_signal import StopSignal
from tests.fakes.listener import RecordingReply
from tests.fakes.proposers import FREE
from tests.fakes.target import FakeTarget, says
from tests.fakes.toy import LINE, TEXT
from tests.unit.app.features.history.test_page import column
from tests.unit.app.widgets.test_origin_colours import last_view, tinted

pytestmark = pytest.mark.usefixtures("drafter_and_recall")


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Message, History]:
    """A reply that the toy drafted for, as the store gives it back, and the history."""
    reply = write()
    with closing(Repository.open(tmp_path)) as repository:
        chat = repository.create_conversation("chat", "")
        prompt = repository.add_message(chat.id, None, Role.USER, "Count.")
        added = repository.add_message(chat.id, prompt.id, Role.ASSISTANT, reply.text, "Tiny", reply.statistics)
        message = repository.open_conversation(chat.id).messages[-1]
        assert message == added
        return message, repository.read_history()


def write() -> Reply:
    target = FakeTarget(says(TEXT))
    speculation = open_speculation(DraftPolicy(FREE, step_s=0.0), Supplies(target), [LINE])
    writer = ReplyWriter(target, speculation)
    with closing(writer):
        prepared = writer.prepare([ChatTurn(Role.USER, "Count.")])
        settings = ReplySettings(SamplingSettings(temperature=0))
        return writer.write(prepared, settings, StopSignal(), RecordingReply())


def shown(qtbot: QtBot, keeper: ThemeKeeper, message: Message) -> ReplyView:
    transcript = Transcript(keeper, Pictures())
    qtbot.addWidget(transcript)
    transcript.resize(800, 600)
    transcript.show()
    transcript.set_colouring(True)
    transcript.show_messages((message,))
    return last_view(transcript)


def test_a_new_proposer_is_counted_stored_coloured_named_and_in_the_history(
    qtbot: QtBot, keeper: ThemeKeeper, kept: tuple[Message, History], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "PROPOSERS", (*catalogue.PROPOSERS, LINE))
    message, history = kept
    assert message.text == TEXT
    assert message.statistics is not None
    (toy,) = message.statistics.proposers
    assert (toy.key, toy.num_accepted) == ("toy", message.statistics.num_accepted)
    assert toy.num_drafted == message.statistics.num_drafted > toy.num_accepted > 10

    view = shown(qtbot, keeper, message)
    drafted = sum(run.num_characters for run in message.statistics.origins if run.origin == "toy")
    assert drafted in (toy.num_accepted, toy.num_accepted - 1), "a character each, but for the end of the reply"
    assert len(tinted(view, keeper)["toy"]) == drafted
    keeper.show_scheme(Qt.ColorScheme.Dark)
    assert len(tinted(view, keeper)["toy"]) == drafted
    assert view.legend is not None
    share = round(100 * drafted / len(TEXT))
    assert view.legend.words == f"Toy {share}\u00a0%, Model itself {100 - share}\u00a0%"

    page = HistoryPage(keeper)
    qtbot.addWidget(page)
    page.show_history(history)
    assert column(page, "Who guessed")[-1] == "Toy 100\u00a0%"
    (line,) = csv.DictReader(io.StringIO(csv_text(rows(history.days))))
    assert (line["drafter_share"], line["recall_share"], line["toy_share"]) == ("0", "0", "1")


def test_a_proposer_of_another_version_has_its_key_for_a_name_and_no_colour(
    qtbot: QtBot, keeper: ThemeKeeper, kept: tuple[Message, History]
) -> None:
    message, history = kept
    view = shown(qtbot, keeper, message)
    assert tinted(view, keeper) == {"drafter": "", "recall": ""}
    assert view.legend is not None
    assert view.legend.words.startswith("toy ")
    page = HistoryPage(keeper)
    qtbot.addWidget(page)
    page.show_history(history)
    assert column(page, "Who guessed")[-1] == "toy 100\u00a0%"
    (line,) = csv.DictReader(io.StringIO(csv_text(rows(history.days))))
    assert line["toy_share"] == "1"
