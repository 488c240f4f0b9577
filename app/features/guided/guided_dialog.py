"""The guided start: three steps that show what speed-up does on this computer."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from app.features.guided.steps import MachinePage, OutlookPage, ProofPage, State, StepPage
from app.widgets.dialog_parts import Dialog, fill_dialog
from app.widgets.layouts import Placed, Stretch
from app.widgets.parts import announce, button, words

_SIZE_PX = (780, 660)


class GuidedDialog(Dialog):
    """One step after the other; any of them can be passed over, and closing the window leaves at any moment."""

    begun = Signal()  # do what the step is about
    stopped = Signal()  # do no more of it
    turned = Signal(int)  # this step is shown
    completed = Signal()  # the last step was left by its button

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(_SIZE_PX, parent)
        self.setWindowTitle(self.tr("Guided start"))
        self.machine, self.proof, self.outlook = MachinePage(self), ProofPage(self), OutlookPage(self)
        self.pages: tuple[StepPage, ...] = (self.machine, self.proof, self.outlook)
        self.number = 0
        self.count = words("", self, kind="faint")
        self.title = words("", self, kind="heading")
        tip = self.tr("Closes this window; continue with Help → Guided start")
        self.skip_button = button(self.tr("Skip the rest"), "link", self, self.close, tip=tip)
        self.back_button = button(self.tr("Back"), "outlined", self, lambda: self.show_step(self.number - 1))
        self.pass_button = button(self.tr("Next"), "outlined", self, self._go_on)
        self.main_button = button("", "primary", self, self._on_main)
        self.main_button.setDefault(True)
        for page in self.pages:
            page.changed.connect(self._show_state)
        fill_dialog(
            self,
            [self.count, self.title, *(Placed(page, 1) for page in self.pages)],
            [self.skip_button, Stretch(), self.back_button, self.pass_button, self.main_button],
            spacing=10,
        )
        self.show_step(0)

    @property
    def page(self) -> StepPage:
        return self.pages[self.number]

    def show_step(self, number: int) -> None:
        self.number = number
        for page in self.pages:
            page.setVisible(page is self.page)
        count = self.tr("Step {number} of {most}").format(number=number + 1, most=len(self.pages))
        self.count.setText(count)
        self.title.setText(self.page.title)
        self._show_state()
        self.main_button.setFocus()
        self.turned.emit(number)
        said = f"{count}. {self.page.title}."
        announce(self, said)

    @Slot()
    def _show_state(self) -> None:
        page, is_last = self.page, self.number + 1 == len(self.pages)
        names = {
            State.OPEN: page.action,
            State.RUNNING: self.tr("Stop"),
            State.DONE: self.tr("Done") if is_last else self.tr("Next"),
        }
        self.main_button.setText(names[page.state])
        self.main_button.setEnabled(page.state is not State.OPEN or page.can_begin)
        self.back_button.setVisible(self.number > 0)
        self.back_button.setEnabled(page.state is not State.RUNNING)
        self.pass_button.setVisible(page.state is State.OPEN)
        self.skip_button.setVisible(not is_last)

    @Slot()
    def _on_main(self) -> None:
        match self.page.state:
            case State.OPEN:
                self.begun.emit()
            case State.RUNNING:
                self.main_button.setEnabled(False)  # until it has stopped
                self.stopped.emit()
            case State.DONE:
                self._go_on()

    @Slot()
    def _go_on(self) -> None:
        if self.number + 1 < len(self.pages):
            self.show_step(self.number + 1)
        else:
            self.completed.emit()
            self.close()
