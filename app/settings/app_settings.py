"""What the app remembers between two starts, in one small JSON file."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, ValidationError, field_validator

from app.settings.declaration import Group, Shown
from app.settings.look import SETTINGS_FILE
from app.text.marked_words import QT_TRANSLATE_NOOP
from app.text.translation import translate
from engine import BUILT_IN, STARTER, LearningSettings, ReplySettings, SamplingSettings, TargetSettings
from engine.errors import SettingInvalid


class AppSettings(BaseModel):
    """Defaults are those of the engine. Unknown fields of a newer version are kept as they are.

    A field with a `Shown` beside its type is in the window of settings; nothing else has to know of it.
    """

    model_config = ConfigDict(extra="allow")

    version: int = Field(default=1, ge=1, description="Format of this file")
    target: str = Field(
        default=STARTER, min_length=1, description="`starter`, or the path of the model to open at start"
    )
    drafter: str = Field(default=BUILT_IN, min_length=1, description="`built-in`, a folder, or a name on the hub")
    learning: bool = Field(default=LearningSettings().enabled, description="Whether the drafter learns from chats")
    learning_share: float = Field(
        default=LearningSettings().share, ge=0.05, le=1, description="Of the time that nobody waits for a reply"
    )
    learning_on_battery: bool = Field(default=LearningSettings().on_battery, description="Also then")
    open_last_chat: Annotated[
        bool, Shown(Group.GENERAL, QT_TRANSLATE_NOOP("Settings", "Open the last chat at start"))
    ] = Field(default=False, description=QT_TRANSLATE_NOOP("Settings", "Otherwise a new chat begins."))
    notify: Annotated[
        bool, Shown(Group.GENERAL, QT_TRANSLATE_NOOP("Settings", "Tell me when a long reply is ready"))
    ] = Field(
        default=True,
        description=QT_TRANSLATE_NOOP(
            "Settings", "With a message of the system, and only while you work in another window."
        ),
    )
    notify_after_s: Annotated[
        int, Shown(Group.GENERAL, QT_TRANSLATE_NOOP("Settings", "A reply is long after"), unit="s", step=5)
    ] = Field(
        default=15, ge=1, le=3600, description=QT_TRANSLATE_NOOP("Settings", "From your message to the reply's end.")
    )
    check_updates: Annotated[bool, Shown(Group.GENERAL, QT_TRANSLATE_NOOP("Settings", "Check for updates"))] = Field(
        default=False,
        description=QT_TRANSLATE_NOOP(
            "Settings", "Once a day, the site of this build is asked for the newest version. Off, nobody is asked."
        ),
    )
    theme: Annotated[
        Literal["system", "light", "dark"],
        Shown(
            Group.APPEARANCE,
            QT_TRANSLATE_NOOP("Settings", "Theme"),
            choices=(
                ("system", QT_TRANSLATE_NOOP("Settings", "As the system")),
                ("light", QT_TRANSLATE_NOOP("Settings", "Light")),
                ("dark", QT_TRANSLATE_NOOP("Settings", "Dark")),
            ),
        ),
    ] = Field(default="system", description=QT_TRANSLATE_NOOP("Settings", "Colours of all windows of Slipstream."))
    text_size: Annotated[
        int, Shown(Group.APPEARANCE, QT_TRANSLATE_NOOP("Settings", "Text size"), unit="%", step=10)
    ] = Field(
        default=100,
        ge=80,
        le=200,
        description=QT_TRANSLATE_NOOP("Settings", "Of the system's own size; code and buttons grow along."),
    )
    send_with: Annotated[
        Literal["enter", "ctrl+enter"],
        Shown(
            Group.CHAT,
            QT_TRANSLATE_NOOP("Settings", "Send messages with"),
            choices=(("enter", "Enter"), ("ctrl+enter", "Ctrl+Enter")),
        ),
    ] = Field(
        default="enter",
        description=QT_TRANSLATE_NOOP(
            "Settings", "Shift+Enter breaks the line, and so does Enter where it does not send."
        ),
    )
    system_prompt: Annotated[str, Shown(Group.CHAT, QT_TRANSLATE_NOOP("Settings", "System prompt for new chats"))] = (
        Field(
            default="",
            description=QT_TRANSLATE_NOOP(
                "Settings", "What every new chat tells the model first; chats that have begun keep their own."
            ),
        )
    )
    temperature: Annotated[float, Shown(Group.CHAT, QT_TRANSLATE_NOOP("Settings", "Temperature"), step=0.1)] = Field(
        default=SamplingSettings().temperature,
        ge=0,
        le=5,
        description=QT_TRANSLATE_NOOP(
            "Settings", "How freely the model chooses its words; 0 is always the likeliest one."
        ),
    )
    top_k: Annotated[int, Shown(Group.CHAT, QT_TRANSLATE_NOOP("Settings", "Top-k"), step=5)] = Field(
        default=SamplingSettings().top_k,
        ge=0,
        le=1_000_000,
        description=QT_TRANSLATE_NOOP("Settings", "Chooses among so many of the likeliest tokens; 0 switches it off."),
    )
    top_p: Annotated[float, Shown(Group.CHAT, QT_TRANSLATE_NOOP("Settings", "Top-p"), step=0.05)] = Field(
        default=SamplingSettings().top_p,
        ge=0,
        le=1,
        description=QT_TRANSLATE_NOOP(
            "Settings", "Chooses among the likeliest tokens that together have this probability; 1 switches it off."
        ),
    )
    min_p: Annotated[float, Shown(Group.CHAT, QT_TRANSLATE_NOOP("Settings", "Min-p"), step=0.01)] = Field(
        default=SamplingSettings().min_p,
        ge=0,
        le=1,
        description=QT_TRANSLATE_NOOP(
            "Settings", "Leaves out tokens less likely than this share of the likeliest one; 0 switches it off."
        ),
    )
    repetition_penalty: Annotated[
        float, Shown(Group.CHAT, QT_TRANSLATE_NOOP("Settings", "Repetition penalty"), step=0.05)
    ] = Field(
        default=SamplingSettings().repetition_penalty,
        ge=0.1,
        le=10,
        description=QT_TRANSLATE_NOOP(
            "Settings", "Above 1 the model avoids words that it has just used; 1 switches it off."
        ),
    )
    reply_length: Annotated[
        int | None,
        Shown(
            Group.CHAT,
            QT_TRANSLATE_NOOP("Settings", "Longest reply"),
            unit=QT_TRANSLATE_NOOP("Settings", "tokens"),
            step=128,
            unset=QT_TRANSLATE_NOOP("Settings", "No limit"),
        ),
    ] = Field(
        default=None,
        ge=1,
        le=10_000_000,
        description=QT_TRANSLATE_NOOP(
            "Settings", "A reply that reaches it ends there. A token is a word or a piece of one."
        ),
    )
    context_size: Annotated[
        int | None,
        Shown(
            Group.MODELS,
            QT_TRANSLATE_NOOP("Settings", "Context size"),
            unit=QT_TRANSLATE_NOOP("Settings", "tokens"),
            step=1024,
            unset=QT_TRANSLATE_NOOP("Settings", "Automatic"),
            at_loading=True,
        ),
    ] = Field(
        default=None,
        ge=32,
        le=16_777_216,
        description=QT_TRANSLATE_NOOP(
            "Settings",
            "How much of a chat the model sees at once; more takes more memory. "
            "Automatic: what it was trained for, up to 8,192.",
        ),
    )
    threads: Annotated[
        int | None,
        Shown(
            Group.MODELS,
            QT_TRANSLATE_NOOP("Settings", "Threads"),
            unset=QT_TRANSLATE_NOOP("Settings", "Automatic"),
            at_loading=True,
        ),
    ] = Field(
        default=None,
        ge=1,
        le=1024,
        description=QT_TRANSLATE_NOOP(
            "Settings",
            "How many processor cores a model uses. Automatic: all physical cores, which is usually fastest.",
        ),
    )
    shortcuts: dict[str, str] = Field(
        default_factory=dict, description="Keys that differ from the usual ones, by the name of their action"
    )
    has_chatted: bool = Field(
        default=False, description="Whether there was a chat before; until then the app says hello"
    )
    colour_origins: bool = Field(default=False, description="Whether replies show who guessed which part of them")
    draft: str = Field(default="", description="What was begun in a new chat and not sent")
    update_checked_at: float = Field(default=0, ge=0, description="When updates were asked for last, as Unix time")
    skipped_version: str = Field(default="", description="A newer version that the user does not want to hear of")
    window: Base64Bytes = Field(default=b"", description="Size and place of the window, as Qt saves it")

    @field_validator("temperature")
    @classmethod
    def _suits_the_engine(cls, temperature: float) -> float:
        """Which refuses some values inside the range, too."""
        try:
            SamplingSettings(temperature)
        except SettingInvalid as error:
            raise ValueError(str(error)) from error
        return temperature

    def changed(self, **values: Any) -> AppSettings:
        """The same with other values, all of it checked. Raises ValidationError."""
        return type(self).model_validate(self.model_dump() | values)

    def reply_settings(self) -> ReplySettings:
        sampling = SamplingSettings(self.temperature, self.top_k, self.top_p, self.min_p, self.repetition_penalty)
        return ReplySettings(sampling, self.reply_length)

    def target_settings(self) -> TargetSettings:
        return TargetSettings(context_size=self.context_size, threads=self.threads)

    def learning_settings(self) -> LearningSettings:
        return LearningSettings(self.learning, self.learning_share, self.learning_on_battery)

    def keep_learning(self, settings: LearningSettings) -> None:
        self.learning = settings.enabled
        self.learning_share = settings.share
        self.learning_on_battery = settings.on_battery


class SettingsFile:
    """Reads and writes the settings of one data folder. A file that makes no sense is set aside, never lost."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / SETTINGS_FILE

    def load(self) -> tuple[AppSettings, str]:
        """The settings, and a sentence about what could not be used, if anything."""
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return AppSettings(), ""
        except OSError as error:
            sentence = translate("Settings", "{file} cannot be read ({reason}); the usual settings are used.")
            return AppSettings(), sentence.format(file=self._path, reason=error.strerror)
        try:
            return AppSettings.model_validate_json(content), ""
        except ValidationError as error:
            aside = self._set_aside()
            return self._what_makes_sense(content, error, aside)

    @staticmethod
    def _what_makes_sense(content: bytes, error: ValidationError, aside: Path) -> tuple[AppSettings, str]:
        """All fields but those that are wrong."""
        wrong = {str(detail["loc"][0]) for detail in error.errors() if detail["loc"]}
        if not wrong:
            sentence = translate(
                "Settings", "The settings make no sense and are the usual ones now; the file is kept as {file}."
            )
            return AppSettings(), sentence.format(file=aside.name)
        fields = {name: value for name, value in json.loads(content).items() if name not in wrong}
        sentence = translate(
            "Settings",
            "In the settings these make no sense and are the usual ones now: {names}; the file is kept as {file}.",
        )
        sentence = sentence.format(names=", ".join(sorted(wrong)), file=aside.name)
        return AppSettings.model_validate_json(json.dumps(fields)), sentence

    def save(self, settings: AppSettings) -> None:
        """Raises OSError."""
        self.write(settings.model_dump_json(indent=2))

    def write(self, content: str) -> None:
        """Whole or not at all. Raises OSError."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=".settings-")  # readable by this user only
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(content)
            Path(name).replace(self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def _set_aside(self) -> Path:
        aside = self._path.with_suffix(".unreadable.json")
        with contextlib.suppress(OSError):  # then it stays where it is until the next save
            self._path.replace(aside)
        return aside


def not_saved(error: OSError) -> str:
    """A sentence for the user."""
    return translate("Settings", "The settings could not be saved: {reason}.").format(reason=error.strerror)
