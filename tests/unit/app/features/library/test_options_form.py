from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.features.library.options_form import OptionsForm
from app.features.library.sampling_fields import PRESETS
from app.theme import ThemeKeeper
from app.widgets.number_field import show_number
from engine import SamplingSettings, TargetOptions, TargetSettings
from tests.unit.app.library_samples import LARGE, SMALL

FOR_ALL = SamplingSettings(temperature=0.7, seed=5)


@pytest.fixture
def form(qtbot: QtBot, keeper: ThemeKeeper) -> OptionsForm:
    assert keeper  # the style is applied
    form = OptionsForm(FOR_ALL)
    qtbot.addWidget(form)
    form.show_options(TargetOptions(), 32_768)
    with qtbot.waitExposed(form):
        form.show()
    return form


@pytest.fixture
def changes(form: OptionsForm) -> list[TargetOptions]:
    changes: list[TargetOptions] = []
    form.changed.connect(changes.append)
    return changes


def test_options_are_shown_without_being_changed(form: OptionsForm, changes: list[TargetOptions]) -> None:
    options = TargetOptions(TargetSettings(16_384, 4, 0), PRESETS[0][1], "")
    form.show_options(options, 8192)
    assert form.options == options
    assert changes == []
    assert [field.value() for field in form.fields.values()] == [16_384, 4, 0]
    context = form.fields["context_size"]
    assert context.maximum() == 16_384, "what was set before stays, also beyond what it was trained for"
    assert form.sampling.preset.currentText() == "Precise"
    assert form.prompt.isVisible(), "none at all is a choice too"


def test_figures_count_when_they_are_set(form: OptionsForm, changes: list[TargetOptions]) -> None:
    context = form.fields["context_size"]
    context.setFocus()
    QTest.keyClick(context, Qt.Key.Key_Up)
    QTest.keyClick(form.fields["gpu_layers"], Qt.Key.Key_Up)
    assert changes == [
        TargetOptions(TargetSettings(context_size=1024)),
        TargetOptions(TargetSettings(context_size=1024, gpu_layers=0)),
    ]
    assert context.maximum() == 32_768


def test_a_context_too_small_is_made_the_smallest(form: OptionsForm, changes: list[TargetOptions]) -> None:
    form.fields["context_size"].setValue(7)
    assert changes == [TargetOptions(TargetSettings(context_size=32))]


def test_a_preset_and_then_a_figure_of_one_s_own(form: OptionsForm, changes: list[TargetOptions]) -> None:
    sampling = form.sampling
    assert sampling.preset.currentText() == "Defaults"
    assert sampling.fields["temperature"].value() == 0.7, "what holds is shown"
    sampling.preset.setFocus()
    QTest.keyClick(sampling.preset, Qt.Key.Key_Down)
    assert changes[-1].sampling == PRESETS[0][1]
    show_number(sampling.fields["min_p"], 0.2)
    assert changes[-1].sampling == SamplingSettings(temperature=0.2, top_k=20, top_p=0.9, min_p=0.2)
    assert sampling.preset.currentText() == "Custom"
    sampling.preset.setCurrentIndex(0)
    sampling.preset.activated.emit(0)
    assert changes[-1] == TargetOptions()


def test_a_figure_of_one_s_own_leaves_the_rest_as_for_all(form: OptionsForm, changes: list[TargetOptions]) -> None:
    form.sampling.fields["top_k"].setValue(10)
    assert changes == [TargetOptions(sampling=SamplingSettings(temperature=0.7, top_k=10, seed=5))]


def test_a_prompt_counts_when_nothing_was_typed_for_a_moment(
    qtbot: QtBot, form: OptionsForm, changes: list[TargetOptions]
) -> None:
    form.has_prompt.setChecked(True)
    assert form.prompt.hasFocus()
    with qtbot.waitSignal(form.changed):
        QTest.keyClicks(form.prompt, "Be brief. ")
    assert changes == [TargetOptions(system_prompt=""), TargetOptions(system_prompt="Be brief.")]
    form.has_prompt.setChecked(False)
    assert changes[-1] == TargetOptions()
    form.has_prompt.setChecked(True)
    assert changes[-1].system_prompt == "Be brief.", "it is still there"


def test_everything_is_put_back_at_once(form: OptionsForm, changes: list[TargetOptions]) -> None:
    assert not form.reset_button.isEnabled()
    form.show_options(TargetOptions(TargetSettings(2048), FOR_ALL, "x"), 8192)
    QTest.mouseClick(form.reset_button, Qt.MouseButton.LeftButton)
    assert changes == [TargetOptions()]
    assert form.fields["context_size"].text() == "Automatic"
    assert not form.reset_button.isEnabled()


def test_memory_is_told_in_parts_and_warned_of(form: OptionsForm) -> None:
    form.show_estimate(SMALL)
    assert form.memory.text().endswith("(4.0 GB weights, 500 MB context, 100 MB work)")
    assert form.memory.property("kind") == "quiet"
    form.show_estimate(replace(SMALL, drafter=400_000_000))
    assert form.memory.text().endswith("(4.0 GB weights, 500 MB context, 100 MB work, 400 MB own drafter)")
    form.show_estimate(LARGE)
    assert form.memory.property("kind") == "warning"
