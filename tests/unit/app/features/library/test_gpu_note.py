"""What the window tells of graphics cards."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from app.features.library.gpu_note import GpuNote
from app.features.library.options_form import OptionsForm
from app.theme import ThemeKeeper
from app.widgets.target.target_picker import memory_words
from engine import SamplingSettings, TargetOptions, TargetSettings
from engine.values.targets import GpuShare, GpuSupport
from tests.unit.app.library_samples import CARD, ON_CARD, SMALL


def test_a_build_for_the_cpu_says_so_and_leads_on(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    assert keeper  # the style is applied
    note = GpuNote()
    qtbot.addWidget(note)
    assert note.isHidden(), "nothing is known yet"
    note.show_share(GpuShare())
    assert note.sentence.text() == "This build of llama.cpp runs on the processor only."
    note.help_button.click()
    (box,) = note.findChildren(QMessageBox)
    assert "docs/gpu.md" in box.text()
    note.show_share(GpuShare(GpuSupport(("Vulkan",), ())))
    assert "built for Vulkan, but found no graphics card" in note.sentence.text()


def test_the_share_of_a_card_is_told(qtbot: QtBot) -> None:
    note = GpuNote()
    qtbot.addWidget(note)
    note.show_share(ON_CARD.gpu)
    assert note.sentence.text() == "All 33 layers run on NVIDIA GeForce RTX 4070."
    assert note.sentence.toolTip().startswith("NVIDIA GeForce RTX 4070 (CUDA): 8.0 GB of 12.0 GB of memory free")
    assert not note.help_button.isVisibleTo(note)
    note.show_share(replace(ON_CARD.gpu, num_layers=20))
    assert note.sentence.text() == "20 of 33 layers run on NVIDIA GeForce RTX 4070."
    note.show_share(replace(ON_CARD.gpu, num_layers=20, num_bytes=9_000_000_000))
    assert note.sentence.text().startswith("There is no room for 20 of 33 layers")
    assert note.sentence.property("kind") == "warning"
    note.show_share(replace(ON_CARD.gpu, num_layers=0, num_bytes=0))
    assert note.sentence.text() == "No layers run on NVIDIA GeForce RTX 4070; the processor does the work."
    note.show_share(GpuShare(GpuSupport(("CUDA",), (CARD,))))
    assert "as far as there is room" in note.sentence.text()


def test_layers_can_be_set_where_there_is_a_card(qtbot: QtBot) -> None:
    form = OptionsForm(SamplingSettings())
    qtbot.addWidget(form)
    form.show_options(TargetOptions(TargetSettings(gpu_layers=7)), 8192)
    form.show_estimate(SMALL)
    assert not form.fields["gpu_layers"].isEnabled()
    assert form.options.settings.gpu_layers == 7, "kept for when there is one"
    form.show_estimate(ON_CARD)
    assert form.fields["gpu_layers"].isEnabled()


def test_memory_is_told_for_card_and_machine() -> None:
    assert memory_words(ON_CARD) == (
        "Takes about 4.3 GB on NVIDIA GeForce RTX 4070 (7.0 GB free) and 300 MB of other memory (10.0 GB free)."
    )
    assert not ON_CARD.is_too_much
    assert replace(ON_CARD, available=1_000).is_too_much
    assert replace(ON_CARD, gpu=replace(ON_CARD.gpu, room=1_000)).is_too_much
