"""The bar above the conversation: the target that answers, a button to choose another one, the settings of the chat,
and signs of what is on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QSize, Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import QFont, QPaintEvent
from PySide6.QtWidgets import QFileDialog, QSizePolicy, QStyle, QStyleOptionButton, QStylePainter, QWidget

from app.text.amounts import percent_words, size_words
from app.text.numbers import whole
from app.text.places import host_words
from app.text.translation import translate
from app.text.unseen import in_tip, one_line
from app.theme import ThemeKeeper
from app.widgets.fitting_label import FittingLabel
from app.widgets.icon_button import IconButton
from app.widgets.layouts import Part, Placed, in_column, in_row
from app.widgets.parts import Button, ProgressLine, button, keep_place, set_up
from app.widgets.target.target_picker import TargetPicker

if TYPE_CHECKING:  # needed only once there is a target
    from engine.values.events import TargetInfo


class SignButton(IconButton):
    """Seen while there is something to tell."""

    def __init__(
        self, keeper: ThemeKeeper, icon: str, on_click: SignalInstance, parent: QWidget, token: str = "quiet"
    ) -> None:
        super().__init__(keeper, icon, "", on_click, icon_px=16, kind="sign", token=token, parent=parent)
        self.hide()

    def tell(self, words: str) -> None:
        """Sets the tooltip; without words the button is hidden."""
        self.set_name(words)
        self.setVisible(bool(words))


class Signs(QWidget):
    """Each leads to where what it tells can be changed."""

    writing_requested = Signal()  # show the chat in which a reply is being written
    # this and the next three: show what is measured, the server for other programs, the settings of the chat, or its
    # preset
    measuring_requested = Signal()
    server_requested = Signal()
    settings_requested = Signal()
    preset_requested = Signal()

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.writing = SignButton(keeper, "edit", self.writing_requested, self, "accent")
        self.measuring = SignButton(keeper, "measure", self.measuring_requested, self)
        self.server = SignButton(keeper, "server", self.server_requested, self)
        self.form = SignButton(keeper, "form", self.settings_requested, self)
        self.banned = SignButton(keeper, "banned", self.settings_requested, self)
        self.preset = SignButton(keeper, "preset", self.preset_requested, self)
        signs = [self.writing, self.measuring, self.server, self.form, self.banned, self.preset]
        in_row(signs, inside=self, spacing=0)


class ChatSettingsButton(IconButton):
    """A button that is lit while the chat differs from the defaults."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        self._name = self._own = ""
        super().__init__(keeper, "sliders", self.tr("Settings of this chat"), parent=parent)

    def set_name(self, name: str) -> None:
        self._name = name
        super().set_name(name)
        about = self.tr("Differs from the defaults: {own}").format(own=self._own) if self._own else ""
        self.setAccessibleDescription(one_line(about))
        self.setToolTip(in_tip("\n".join(filter(None, (name, about)))))

    def show_own(self, own: str) -> None:
        """Shows what differs from the defaults; empty: nothing."""
        self._own = own
        self.set_name(self._name)
        self.set_icon("sliders", "accent" if own else "quiet")


_PADDING_PX = 8
_GAP_PX = 5
_ARROW_PX = 14
_LEAST_PX = 90


class TargetBar(QWidget):
    """The name of the target, and the progress while one is loading. The name opens `picker`, which has signals of its
    own."""

    target_chosen = Signal(str)  # load the model with this reference
    cancel_requested = Signal()  # stop loading
    sidebar_requested = Signal()  # show or hide the sidebar

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("target_bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        sidebar = self.tr("Show or hide the sidebar  (Ctrl+B)")
        self.sidebar_button = IconButton(keeper, "sidebar", sidebar, self.sidebar_requested, parent=self)
        self.picker = TargetPicker(keeper, self)
        self.name = set_up(NameButton(keeper, self), about=self.tr("Chooses another model"))
        self.name.clicked.connect(self.open_picker)
        self.chat_settings = ChatSettingsButton(keeper, self)
        self.state = set_up(FittingLabel(self), kind="quiet")
        self.cancel_button = button(self.tr("Cancel"), "link", self, self.cancel_requested)
        self.cancel_button.setAccessibleDescription(self.tr("Stops loading the model"))
        self.signs = Signs(keeper, self)
        self.menu_button = IconButton(keeper, "menu", self.tr("Menu"), parent=self)
        self.menu_button.setPopupMode(self.menu_button.ToolButtonPopupMode.InstantPopup)
        self.progress = keep_place(ProgressLine(self.tr("Loading the model"), self, height_px=3))
        left: list[Part] = [self.sidebar_button, self.name, self.chat_settings]
        right = [self.cancel_button, self.signs, self.menu_button]
        row = in_row([*left, Placed(self.state, 1), *right], margins=(10, 7, 10, 4), spacing=8)
        in_column([row, self.progress], inside=self, margins=(0, 0, 0, 1), spacing=0)
        self.set_target(None)

    def set_target(self, target: TargetInfo | None) -> None:
        """Shows a target that is ready, or none, and ends a loading one."""
        self.progress.hide()
        self.cancel_button.hide()
        if target is None:
            self._set_name(self.tr("No model"), "")
            self.state.set_words(self.tr("Choose a model to begin"), "")
        elif target.server is not None:
            facts = f"{target.reference}\n{target.description}\n{self._context(target)}"
            self._set_name(target.name, facts.strip())
            self.state.set_words(self.tr("on {host}").format(host=host_words(target.server.address)), "")
        else:
            facts = f"{target.path}\n{target.description}\n{self._facts(target)}"
            if target.num_gpu_layers:
                on_card = self.tr("Layers on {card}: {number}")
                facts += "\n" + on_card.format(card=target.gpu, number=target.num_gpu_layers)
            self._set_name(target.name, facts)
            self.state.set_words("")

    def show_loading(self, name: str, progress: float) -> None:
        """`progress` runs from 0 to 1."""
        self._set_name(name, "")
        share = progress if 0 < progress < 1 else None  # before and after, how far it is is not known
        words = self.tr("Loading…") if share is None else self.tr("Loading… {share}")
        self.state.set_words(words.format(share=percent_words(progress)), "")
        self.progress.show_share(share)
        self.progress.show()
        self.cancel_button.show()

    def show_asking(self, name: str, host: str) -> None:
        """Shows that a server is asked for a target."""
        self.show_loading(name, 0.0)
        self.progress.hide()
        self.state.set_words(self.tr("Asking {host}…").format(host=host), "")

    def show_waiting(self, name: str) -> None:
        """Shows that a target will be loaded after the reply under way."""
        self.show_loading(name, 0.0)
        self.progress.hide()
        self.state.set_words(self.tr("Loads when the reply is finished"), self.tr("Loads after this reply"), "")

    @Slot()
    def open_picker(self) -> None:
        self.picker.open_below(self.name)

    @Slot()
    def choose(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self.window(), self.tr("Open a model"), "", model_files())
        if path:
            self.target_chosen.emit(path)

    def _facts(self, target: TargetInfo) -> str:
        words = self.tr("{size} on disk, {context} tokens of context, %n thread(s)", "", target.threads)
        return words.format(size=size_words(target.size_bytes), context=whole(target.context_size))

    def _context(self, target: TargetInfo) -> str:
        """The context size; empty if the server does not report it."""
        if not target.context_size:
            return ""
        return self.tr("{context} tokens of context").format(context=whole(target.context_size))

    def _set_name(self, name: str, facts: str) -> None:
        self.name.set_words(name)
        self.name.setToolTip(in_tip("\n".join(filter(None, (self.tr("Choose another model  (Ctrl+M)"), facts)))))
        self.name.updateGeometry()


def model_files() -> str:
    """The file kinds for a file dialog."""
    return translate("TargetBar", "Models (*.gguf)")


class NameButton(Button):
    """A name with an arrow, for a choice. A long name is shortened where there is no room; a screen reader says all of
    it."""

    def __init__(self, keeper: ThemeKeeper, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.words = ""
        self.setProperty("kind", "name")
        font = QFont(self.font())
        font.setWeight(QFont.Weight.DemiBold)
        self.setFont(font)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        keeper.changed.connect(self.update)

    def set_words(self, words: str) -> None:
        self.words = one_line(words)
        self.setText(self.words.replace("&", "&&"))  # no letter of it is a shortcut

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        width = metrics.horizontalAdvance(self.words) + _GAP_PX + _ARROW_PX + 2 * _PADDING_PX + 2
        return QSize(width, metrics.height() + 12)

    def minimumSizeHint(self) -> QSize:
        hint = self.sizeHint()
        return QSize(min(hint.width(), _LEAST_PX), hint.height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        option = QStyleOptionButton()
        self.initStyleOption(option)
        option.text = ""
        painter = QStylePainter(self)
        painter.drawControl(QStyle.ControlElement.CE_PushButton, option)
        room = self.rect().adjusted(_PADDING_PX, 0, -_PADDING_PX - _ARROW_PX - _GAP_PX, 0)
        words = self.fontMetrics().elidedText(self.words, Qt.TextElideMode.ElideMiddle, room.width())
        painter.setFont(self.font())
        painter.setPen(self.palette().buttonText().color())
        painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)
        left = room.left() + self.fontMetrics().horizontalAdvance(words) + _GAP_PX
        arrow = QRect(left, (self.height() - _ARROW_PX) // 2 + 1, _ARROW_PX, _ARROW_PX)
        self._keeper.icon("chevron").paint(painter, arrow)
