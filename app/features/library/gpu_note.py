"""How much of a model goes on graphics cards, or why nothing does."""

from __future__ import annotations

import sys

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QMessageBox, QWidget

from app.text.amounts import size_words
from app.widgets.appearance import restyle
from app.widgets.layouts import Placed, in_column
from app.widgets.parts import button, words
from engine.values.targets import GpuShare, GpuSupport


class GpuNote(QWidget):
    """A sentence, and how to get a build for graphics cards where there is none. Hidden until it is known."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sentence = words("", self, kind="quiet")
        self.help_button = button(self.tr("How to use a graphics card…"), "link", self, self._show_help)
        in_column(
            [self.sentence, Placed(self.help_button, alignment=Qt.AlignmentFlag.AlignLeft)], inside=self, spacing=2
        )
        self.hide()

    def show_share(self, share: GpuShare) -> None:
        support = share.support
        self.sentence.setText(self._share_words(share) if support.devices else self._none_words(support))
        self.sentence.setToolTip(self._device_words(support))
        restyle(self.sentence, kind="warning" if share.num_bytes > share.room else "quiet")
        self.help_button.setVisible(not support.devices)
        self.show()

    def _share_words(self, share: GpuShare) -> str:
        card = share.support.description
        if not share.all_layers:
            return self.tr("Runs on {card}, as far as there is room.").format(card=card)
        if not share.num_layers:
            return self.tr("No layers run on {card}; the processor does the work.").format(card=card)
        if share.num_bytes > share.room:
            layers = self.tr("There is no room for {number} of {every} layers on {card}; choose fewer.")
        elif share.num_layers == share.all_layers:
            layers = self.tr("All {every} layers run on {card}.")
        else:
            layers = self.tr("{number} of {every} layers run on {card}.")
        return layers.format(number=share.num_layers, every=share.all_layers, card=card)

    def _none_words(self, support: GpuSupport) -> str:
        if support.backends:
            return self.tr("llama.cpp was built for {backends}, but found no graphics card it can use.").format(
                backends=", ".join(support.backends)
            )
        return self.tr("This build of llama.cpp runs on the processor only.")

    def _device_words(self, support: GpuSupport) -> str:
        line = self.tr("{card} ({backend}): {free} of {total} of memory free, according to its driver")
        return "\n".join(
            line.format(
                card=device.description,
                backend=device.backend,
                free=size_words(device.free_memory),
                total=size_words(device.total_memory),
            )
            for device in support.devices
        )

    @Slot()
    def _show_help(self) -> None:
        box = QMessageBox(self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setWindowTitle(self.tr("How to use a graphics card"))
        box.setTextFormat(Qt.TextFormat.RichText)
        box.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        box.setText(self._help_words())
        box.open()

    def _help_words(self) -> str:
        why = self.tr(
            "Models run faster on a graphics card, as far as they fit into its memory. This needs a llama.cpp that "
            "was built for the card."
        )
        vulkan = self.tr("For almost any card:")
        cuda = self.tr("For NVIDIA cards, with the CUDA toolkit installed:")
        where = self.tr("Run one of these in Slipstream's source folder, then start it there with {command}.").format(
            command="<code>make run</code>"
        )
        installed = self.tr(
            "An installed Slipstream uses the libraries of such a build if {variable} names their folder."
        ).format(variable="<code>LLAMA_CPP_LIB_PATH</code>")
        more = self.tr("All steps are in {file} in the source.").format(file="<code>docs/gpu.md</code>")
        if sys.platform == "darwin":
            mac = self.tr("On Macs with an Apple chip, llama.cpp always uses the graphics card.")
            return f"<p>{why}</p><p>{mac}</p><p>{more}</p>"
        return (
            f"<p>{why}</p><p>{where}</p>"
            f"<p>{vulkan}<br><code>CMAKE_ARGS=-DGGML_VULKAN=on make -B setup</code></p>"
            f"<p>{cuda}<br><code>CMAKE_ARGS=-DGGML_CUDA=on make -B setup</code></p>"
            f"<p>{installed}</p><p>{more}</p>"
        )
