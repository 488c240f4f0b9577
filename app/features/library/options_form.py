"""The settings of one model."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QLabel, QPlainTextEdit, QSpinBox, QWidget

from app.features.library.gpu_note import GpuNote
from app.features.library.sampling_fields import SamplingFields
from app.text.amounts import size_words
from app.text.translation import QT_TRANSLATE_NOOP, translate
from app.widgets.appearance import restyle
from app.widgets.layouts import Gap, Placed, in_column, in_grid, in_row
from app.widgets.number_field import label_of, number_box
from app.widgets.parts import button, set_up, words
from app.widgets.target.target_picker import memory_words
from engine import SamplingSettings, TargetOptions, TargetSettings
from engine.values.parameters import Parameter, parameters
from engine.values.targets import MemoryEstimate

_PARAMETERS = parameters(TargetSettings)
_REST_MS = 500  # from the last key to taking the system prompt
_MOST_CONTEXT = 1_048_576  # where a model does not say what it was trained for
_FIELD_PX = 130
_PROMPT_PX = 84
_ABOUT_PROMPT = QT_TRANSLATE_NOOP(
    "OptionsForm", "What the model is told first in every new chat, instead of the default."
)


class OptionsForm(QWidget):
    """Shows the options of one target and takes others; changes take effect at once. The minimum of a number's field
    means None."""

    changed = Signal(TargetOptions)  # the user wants these from now on
    load_again_requested = Signal()  # load the target in use again

    def __init__(self, sampling_for_all: SamplingSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.options = TargetOptions()
        self._is_filling = False
        self.fields = {each.name: self._number(each) for each in _PARAMETERS}
        estimated = self.tr(
            "Estimated from the file's header and the context size; “free” is what programs can use now"
        )
        self.memory = set_up(words("", self), kind="quiet", tip=estimated)
        self.gpu = GpuNote(self)
        self.when = words(self.tr("Takes effect when the model is reloaded."), self, kind="faint")
        self.load_again_button = button(self.tr("Reload now"), "outlined", self, self._on_load_again)
        self.sampling = SamplingFields(sampling_for_all, self)
        self.sampling.changed.connect(self._on_changed)
        about_prompt = self.tr(_ABOUT_PROMPT)
        self.has_prompt = set_up(QCheckBox(self.tr("Own system prompt for new chats"), self), tip=about_prompt)
        self.has_prompt.toggled.connect(self._on_prompt_toggled)
        example = self.tr("You are a helpful assistant who answers briefly.")
        prompt = QPlainTextEdit(self, placeholderText=example, tabChangesFocus=True)
        self.prompt = set_up(prompt, kind="field", name=self.tr("System prompt"), tip=about_prompt)
        self.prompt.setFixedHeight(_PROMPT_PX)
        self.reset_button = button(self.tr("Reset to defaults"), "link", self, self._on_reset)
        self._rest = QTimer(self, singleShot=True, interval=_REST_MS)
        self._rest.timeout.connect(self._on_changed)
        self.prompt.textChanged.connect(self._on_typed)
        self._arrange()
        self.show_options(TargetOptions(), 0)
        self.show_loaded(False, False)

    def show_options(self, options: TargetOptions, trained_context: int) -> None:
        """Shows the options of another target, after taking over what was typed for the previous one. `trained_context`
        is in tokens; 0: unknown."""
        self.flush()
        self._fill(options, trained_context)

    def take_others(self, options: TargetOptions) -> None:
        """Takes the drafter and the chat template, which were chosen elsewhere."""
        self.options = replace(self.options, drafter=options.drafter, chat_template=options.chat_template)

    def show_estimate(self, estimate: MemoryEstimate) -> None:
        """Shows the memory that these settings need."""
        words = self.tr("{memory} ({weights} weights, {context} context, {work} work)")
        if estimate.drafter:
            words = self.tr("{memory} ({weights} weights, {context} context, {work} work, {drafter} own drafter)")
        parts = words.format(
            memory=memory_words(estimate),
            weights=size_words(estimate.weights),
            context=size_words(estimate.context),
            work=size_words(estimate.work),
            drafter=size_words(estimate.drafter),
        )
        self.memory.setText(parts)
        restyle(self.memory, kind="warning" if estimate.is_too_much else "quiet")
        self.gpu.show_share(estimate.gpu)
        self.fields["gpu_layers"].setEnabled(bool(estimate.gpu.support.devices))

    def show_no_estimate(self, sentence: str = "") -> None:
        """Shows why there is no estimate; without a sentence, it is on its way."""
        self.memory.setText(sentence or self.tr("Estimating its memory…"))
        restyle(self.memory, kind="quiet")

    def show_loaded(self, is_in_use: bool, differs: bool) -> None:
        """Says whether the target is in use, and whether it was loaded with other settings than these."""
        self.load_again_button.setVisible(is_in_use and differs)
        self.when.setText(
            self.tr("The loaded model still uses its previous settings.")
            if is_in_use and differs
            else self.tr("Takes effect when the model is reloaded.")
        )

    def flush(self) -> None:
        """Takes over text typed a moment ago."""
        if self._rest.isActive():
            self._on_changed()

    # Arrangement

    def _number(self, parameter: Parameter) -> QSpinBox:
        field = number_box(parameter, _FIELD_PX, self)
        assert isinstance(field, QSpinBox)
        field.setMinimum(min(0, int(parameter.low) - 1))
        field.setSpecialValueText(translate("Settings", parameter.unset))
        field.setSuffix(self.tr(" tokens") if parameter.unit else "")
        field.setKeyboardTracking(False)
        field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # the wheel scrolls the page
        field.valueChanged.connect(self._on_changed)
        return field

    def _value(self, name: str) -> int | None:
        field = self.fields[name]
        return None if field.value() == field.minimum() else field.value()

    def _arrange(self) -> None:
        fields = in_grid(
            [[label_of(field, self), field] for field in self.fields.values()], spacing=(10, 8), stretches=(0, 0, 1)
        )
        loading = in_row([Placed(self.when, 1), self.load_again_button])
        in_column(
            [
                set_up(QLabel(self.tr("Loading"), self), kind="title"),
                fields,
                self.gpu,
                self.memory,
                loading,
                Gap(4),
                set_up(QLabel(self.tr("How it answers"), self), kind="title"),
                self.sampling,
                self.has_prompt,
                self.prompt,
                Placed(self.reset_button, alignment=Qt.AlignmentFlag.AlignLeft),
            ],
            inside=self,
            spacing=10,
        )

    def _fill(self, options: TargetOptions, trained_context: int) -> None:
        self._is_filling = True
        self.options = options
        own_context = options.settings.context_size or 0
        self.fields["context_size"].setMaximum(max(trained_context or _MOST_CONTEXT, own_context))
        for name, field in self.fields.items():
            value = getattr(options.settings, name)
            field.setValue(field.minimum() if value is None else value)
        self.sampling.show_sampling(options.sampling)
        self.has_prompt.setChecked(options.system_prompt is not None)
        self.prompt.setPlainText(options.system_prompt or "")
        self.prompt.setVisible(options.system_prompt is not None)
        self.reset_button.setEnabled(options != self._usual())
        self._is_filling = False

    # What the user does

    @Slot()
    def _on_typed(self) -> None:
        if not self._is_filling:
            self._rest.start()

    @Slot(bool)
    def _on_prompt_toggled(self, checked: bool) -> None:
        self.prompt.setVisible(checked)
        if checked and not self._is_filling:
            self.prompt.setFocus()
        self._on_changed()

    @Slot()
    def _on_changed(self) -> None:
        if self._is_filling:
            return
        self._rest.stop()
        for each in _PARAMETERS:
            if self._value(each.name) is not None and self.fields[each.name].value() < each.low:
                self.fields[each.name].setValue(int(each.low))  # comes here again
                return
        options = TargetOptions(
            TargetSettings(**{name: self._value(name) for name in self.fields}),
            self.sampling.sampling,
            self.prompt.toPlainText().strip() if self.has_prompt.isChecked() else None,
            self.options.drafter,
            self.options.chat_template,
        )
        if options != self.options:
            self.options = options
            self.reset_button.setEnabled(options != self._usual())
            self.changed.emit(options)

    @Slot()
    def _on_reset(self) -> None:
        self._rest.stop()
        self._fill(self._usual(), self.fields["context_size"].maximum())
        self.changed.emit(self.options)

    def _usual(self) -> TargetOptions:
        """The options for all models, except for what is chosen elsewhere."""
        return TargetOptions(drafter=self.options.drafter, chat_template=self.options.chat_template)

    @Slot()
    def _on_load_again(self) -> None:
        self.flush()
        self.load_again_requested.emit()
