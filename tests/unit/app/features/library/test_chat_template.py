"""The chat template of a model: seen, chosen and edited, with what it makes of a conversation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.features.library.chat_template import ChatTemplateDialog
from app.features.library.library import connect_library
from app.features.library.library_dialog import LibraryDialog
from app.main_window import MainWindow
from app.theme import ThemeKeeper
from engine import STARTER, SamplingSettings
from engine.values.events import TargetsListed
from engine.values.targets import FamilyTemplate, TemplateFacts
from tests.fakes.bridge import Asked, FakeBridge
from tests.fakes.chats import Chats
from tests.unit.app.library_samples import QWEN, TARGETS

FACTS = TemplateFacts(
    "{{ messages }}",
    "{{ messages }}",
    "",
    (FamilyTemplate("ChatML", "{{ chatml }}"), FamilyTemplate("Gemma", "{{ gemma }}", ("<start_of_turn>",))),
    "<s>",
    "</s>",
)


class Desk:
    def __init__(self, window: MainWindow, keeper: ThemeKeeper, bridge: FakeBridge, folder: Path) -> None:
        self.bridge = bridge
        self.chats = Chats(window, bridge)
        library = connect_library(window, keeper, bridge, self.chats.target, folder, SamplingSettings())
        self.library: LibraryDialog = library.dialog
        self.chats.start(STARTER)
        library.list_all()
        self.bridge.tell(TargetsListed(TARGETS))
        self.library.open_library()
        self.library.library.point_at(QWEN.reference)
        self.dialog = window.findChild(ChatTemplateDialog)
        assert self.dialog is not None

    def open(self, facts: TemplateFacts = FACTS) -> ChatTemplateDialog:
        self.library.library.details.template_button.click()
        self.last(self.bridge.engine.library.templates).answer(facts)
        assert self.dialog is not None
        return self.dialog

    def last(self, method: object) -> Asked:
        return self.bridge.asked(method)[-1]

    def preview(self) -> Asked:
        return self.last(self.bridge.engine.library.preview_template)


@pytest.fixture
def desk(window: MainWindow, keeper: ThemeKeeper, bridge: FakeBridge, tmp_path: Path) -> Desk:
    return Desk(window, keeper, bridge, tmp_path)


def test_the_template_in_the_file_is_shown_with_what_it_makes_of_a_conversation(desk: Desk) -> None:
    dialog = desk.open()
    assert dialog.isVisible()
    assert dialog.heading.text() == QWEN.name
    assert dialog.choice.currentText() == "From the model's file"
    assert dialog.source.toPlainText() == FACTS.in_file
    assert desk.preview().args[:2] == (FACTS.in_file, FACTS)
    desk.preview().answer("<s>What is the capital of France?")
    assert dialog.preview.toPlainText() == "<s>What is the capital of France?"


def test_another_family_is_chosen_and_counts_from_the_next_loading_on(desk: Desk) -> None:
    dialog = desk.open()
    dialog.choice.setCurrentIndex(2)
    dialog.choice.activated.emit(2)
    assert dialog.source.toPlainText() == "{{ gemma }}"
    assert dialog.note.text() == "This model has no token for <start_of_turn>; it may never end its replies."
    desk.preview().answer("gemma")
    dialog.use_button.click()
    path, options = desk.last(desk.bridge.engine.library.change_options).args
    assert (path, options) == (QWEN.path, replace(QWEN.options, chat_template="{{ gemma }}"))
    assert not dialog.isVisible()


def test_a_template_that_is_written_must_work_before_it_can_be_used(desk: Desk) -> None:
    dialog = desk.open()
    desk.preview().answer("all is well")
    dialog.source.setPlainText("{% for")
    assert dialog.choice.currentText() == "Custom"
    assert not dialog.use_button.isEnabled()
    dialog._rest.timeout.emit()
    desk.preview().fail("This template cannot be used (unexpected end); change it.")
    assert dialog.problem.text() == "This template cannot be used (unexpected end); change it."
    assert not dialog.use_button.isEnabled()
    dialog.source.setPlainText("{{ messages }} ")
    dialog._rest.timeout.emit()
    desk.preview().answer("all is well")
    assert dialog.use_button.isEnabled()
    assert dialog.problem.isHidden()


def test_what_the_user_chose_is_shown_again_and_can_be_taken_back(desk: Desk) -> None:
    own = replace(QWEN, options=replace(QWEN.options, chat_template="{{ chatml }}"))
    desk.bridge.tell(TargetsListed(tuple(own if each.path == QWEN.path else each for each in TARGETS)))
    dialog = desk.open()
    assert dialog.choice.currentText() == "ChatML"
    dialog.choice.setCurrentIndex(0)
    dialog.choice.activated.emit(0)
    desk.preview().answer("")
    dialog.use_button.click()
    _, options = desk.last(desk.bridge.engine.library.change_options).args
    assert options == QWEN.options
