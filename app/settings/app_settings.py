"""The settings, stored in one small JSON file."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    Base64Bytes,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticSerializationError
from PySide6.QtCore import QSettings

from app.settings.declaration import SettingsPage, Shown
from app.settings.look import TEXT_SIZE, Look, Spoken, Theme
from app.text.languages import LANGUAGES, SYSTEM
from app.text.translation import translate
from engine import (
    AUTOMATIC,
    BUILT_IN,
    STARTER,
    LearningSettings,
    PromptCacheSettings,
    ReplySettings,
    SamplingSettings,
    ServerSettings,
    TargetSettings,
    read_tool_servers,
)
from engine.values.parameters import Parameter, Scope, parameter, parameters
from engine.values.places import SETTINGS, UNREADABLE_SETTINGS, Turn, clear_words
from engine.values.remote import is_reference, server_of
from engine.values.tools import ToolServer
from engine.values.whole_file import plain_file, private_folder, whole_file

_VERSION = 2  # in files of version 1, `built-in` was the default, not a choice
_SAMPLING = tuple(each.name for each in parameters(SamplingSettings, Scope.SETTINGS))


class AppSettings(BaseModel):
    """Everything the user sets for the whole app, and what the app notes from one start to the next.

    Defaults are those of the engine. Unknown fields of a newer version are stored as they are. A field with a `Shown`
    in its annotation is in the window of settings; nothing else has to know of it. In the file and in that window, the
    parameters of `sampling` are settings like all others, by their own names.
    """

    model_config = ConfigDict(extra="allow")

    version: int = Field(default=_VERSION, ge=1)  # of this file's format
    target: str = Field(default=STARTER, min_length=1)  # `starter`, or the path of the model to open at start
    target_identity: str = ""  # what that model is, to find it after its file has moved
    drafter: str = Field(default=AUTOMATIC, min_length=1)  # a choice in words, see `drafter/choice.py`
    speed_up: Annotated[
        bool,
        Shown(
            SettingsPage.MODELS, "Speed-up", "Parts of a reply are guessed ahead and checked: the same words, sooner."
        ),
    ] = ReplySettings().speculate
    drafters_offered: tuple[str, ...] = ()  # identities of the models that a small one was offered for, once each
    learning: bool = LearningSettings().enabled
    learning_share: Annotated[float, parameter(LearningSettings, "share")] = LearningSettings().share
    learning_on_battery: bool = LearningSettings().on_battery
    practice: bool = LearningSettings().self_distils
    practice_minutes: Annotated[int, parameter(LearningSettings, "self_distillation_minutes")] = (
        LearningSettings().self_distillation_minutes
    )
    practice_tokens: Annotated[int, parameter(LearningSettings, "self_distillation_tokens")] = (
        LearningSettings().self_distillation_tokens
    )
    practice_at_night: bool = LearningSettings().self_distils_at_night
    night_begins: Annotated[int, parameter(LearningSettings, "night_begins")] = LearningSettings().night_begins
    night_ends: Annotated[int, parameter(LearningSettings, "night_ends")] = LearningSettings().night_ends
    language: Annotated[
        Spoken,
        Shown(
            SettingsPage.GENERAL,
            "Language",
            "For all windows. Models answer in whatever language you use.",
            ((SYSTEM, "Like the system"), *((each.code, each.own_name) for each in LANGUAGES)),
        ),
    ] = Look().language
    open_last_chat: Annotated[
        bool, Shown(SettingsPage.GENERAL, "Open the last chat at start", "When off, a new chat begins.")
    ] = False
    notify: Annotated[
        bool,
        Shown(
            SettingsPage.GENERAL,
            "Notify me when a long reply is ready",
            "Shows a system notification while you work in another window.",
        ),
    ] = True
    notify_after_s: Annotated[
        int,
        Parameter(
            "A reply counts as long after",
            1,
            3600,
            step=5,
            about="Counted from your message to the end of the reply.",
            unit="s",
        ),
        Shown(SettingsPage.GENERAL),
    ] = 15
    check_updates: Annotated[
        bool,
        Shown(
            SettingsPage.GENERAL,
            "Check for updates",
            "Asks for the newest version once a day. When off, nothing is asked.",
        ),
    ] = False
    readings_gb: Annotated[float, parameter(PromptCacheSettings, "gigabytes"), Shown(SettingsPage.GENERAL)] = (
        PromptCacheSettings().gigabytes
    )
    theme: Annotated[
        Theme,
        Shown(
            SettingsPage.APPEARANCE,
            "Theme",
            "Colours of all windows.",
            (("system", "Like the system"), ("light", "Light"), ("dark", "Dark")),
        ),
    ] = Look().theme
    text_size: Annotated[int, TEXT_SIZE, Shown(SettingsPage.APPEARANCE)] = Look().text_size
    send_with: Annotated[
        Literal["enter", "ctrl+enter"],
        Shown(
            SettingsPage.CHAT,
            "Send messages with",
            "Shift+Enter always starts a new line; so does Enter if it does not send.",
            (("enter", "Enter"), ("ctrl+enter", "Ctrl+Enter")),
        ),
    ] = "enter"
    system_prompt: Annotated[
        str,
        Shown(
            SettingsPage.CHAT,
            "System prompt for new chats",
            "What the model is told first in every new chat. Existing chats keep their own.",
        ),
    ] = ""
    sampling: Annotated[SamplingSettings, Shown(SettingsPage.CHAT)] = SamplingSettings()
    reply_length: Annotated[int | None, parameter(ReplySettings, "max_tokens"), Shown(SettingsPage.CHAT)] = None
    thought_length: Annotated[int | None, parameter(ReplySettings, "max_thought"), Shown(SettingsPage.CHAT)] = None
    context_size: Annotated[int | None, parameter(TargetSettings, "context_size"), Shown(SettingsPage.MODELS)] = None
    threads: Annotated[int | None, parameter(TargetSettings, "threads"), Shown(SettingsPage.MODELS)] = None
    server: bool = False  # whether other programs may use the model
    server_port: int = Field(default=ServerSettings().port, ge=1024, le=65_535)
    server_needs_key: bool = False
    server_remembers: bool = False  # whether what programs without a key ask is kept and learned from
    thinking: dict[str, bool] = {}  # whether a model thinks before it answers, by its identity, where that was switched
    tool_servers: str = ""  # as JSON, see `tools/servers.py`
    tools_last: tuple[str, ...] = ()  # servers that the last chat used, for new ones
    tools_of_chats: dict[str, tuple[str, ...]] = {}  # servers that a chat may use, by its id
    shortcuts: dict[str, str] = {}  # keys that differ from the usual ones, by the name of their action
    has_chatted: bool = Look().has_chatted  # until then the app says hello
    tour_seen: bool = False  # it is shown by itself no more
    guided_seen: bool = False  # the guided start is offered by itself no more
    guided_step: int = Field(default=0, ge=0)  # that it goes on with
    proof_offered: bool = False  # the user was shown where to compare the gain from earlier text
    nudge_dismissed: bool = False  # the user has dismissed the pointer to bigger models
    colour_origins: bool = False  # whether replies show who guessed which part of them
    draft: str = ""  # what was typed in a new chat and not sent
    open_folders: tuple[int, ...] = ()  # in the list of chats, by their ids
    update_checked_at: float = Field(default=0, ge=0)  # Unix time
    skipped_version: str = ""  # a newer version that the user does not want
    window: Base64Bytes = Look().window  # its size and place, as Qt saves them

    @model_validator(mode="before")
    @classmethod
    def _migrate(cls, content: Any) -> Any:
        """Drops the drafter of version 1, whose files stored every default."""
        if not isinstance(content, dict) or content.get("version") != 1:
            return content
        drafter = {"drafter": AUTOMATIC} if content.get("drafter") == BUILT_IN else {}
        return content | {"version": _VERSION} | drafter

    @model_validator(mode="before")
    @classmethod
    def _gather_sampling(cls, content: Any) -> Any:
        """Collects the parameters under their names in the file."""
        if not isinstance(content, dict) or isinstance(content.get("sampling"), SamplingSettings):
            return content
        found = {name: content[name] for name in _SAMPLING if name in content}
        return {name: value for name, value in content.items() if name not in _SAMPLING} | {"sampling": found}

    @field_validator("tool_servers")
    @classmethod
    def _check_servers(cls, text: str) -> str:
        read_tool_servers(text)
        return text

    @model_serializer(mode="wrap")
    def _spread_sampling(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Writes the names that `_gather_sampling` reads; those that only a chat or a command can set are left out."""
        content: dict[str, Any] = handler(self)
        sampling = content.pop("sampling", {})
        return content | {name: sampling[name] for name in _SAMPLING if name in sampling}

    def changed(self, **values: Any) -> AppSettings:
        """A copy with other values, all of them checked. Raises ValidationError."""
        return type(self).model_validate(self.model_dump() | values)

    def without_words(self) -> AppSettings:
        """The settings without what the user wrote, including server addresses, and without fields of newer versions,
        which may hold such text."""
        kept = {name: value for name, value in self.model_dump().items() if name not in (self.model_extra or {})}
        words = {"draft": "", "system_prompt": "", "tool_servers": "", "tools_last": (), "tools_of_chats": {}}
        words |= {"thinking": {each: thinks for each, thinks in self.thinking.items() if not server_of(each)}}
        if is_reference(self.target):
            words |= {"target": STARTER, "target_identity": ""}
        return type(self).model_validate(kept | words)

    def servers(self) -> tuple[ToolServer, ...]:
        """The tool servers, in the user's order."""
        return read_tool_servers(self.tool_servers)

    def reply_settings(self) -> ReplySettings:
        return ReplySettings(self.sampling, self.reply_length, self.thought_length, speculate=self.speed_up)

    def target_settings(self) -> TargetSettings:
        return TargetSettings(context_size=self.context_size, threads=self.threads)

    def prompt_cache_settings(self) -> PromptCacheSettings:
        return PromptCacheSettings(self.readings_gb)

    def learning_settings(self) -> LearningSettings:
        return LearningSettings(
            self.learning,
            self.learning_share,
            self.learning_on_battery,
            self.practice,
            self.practice_minutes,
            self.practice_tokens,
            self.practice_at_night,
            self.night_begins,
            self.night_ends,
        )


class SettingsFile:
    """Reads and writes the settings of one data folder. A file that cannot be read is set aside, never lost."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / SETTINGS

    def load(self) -> tuple[AppSettings, str]:
        """The settings, and a sentence about what could not be used, if anything."""
        try:
            with plain_file(self._path) as file:
                content = file.read()
        except FileNotFoundError:
            return AppSettings(), ""
        except OSError as error:
            sentence = translate("Settings", "{file} cannot be read ({reason}); default settings are used.")
            return AppSettings(), sentence.format(file=self._path, reason=error.strerror)
        try:
            return AppSettings.model_validate_json(content), ""
        except ValidationError as error:
            return self._what_makes_sense(content, error)

    def _what_makes_sense(self, content: bytes, error: ValidationError) -> tuple[AppSettings, str]:
        """All valid fields; the file is set aside."""
        aside = self._path.with_name(UNREADABLE_SETTINGS)
        with contextlib.suppress(OSError):  # then it stays where it is until the next save
            self._path.replace(aside)
        places = (detail["loc"] for detail in error.errors() if detail["loc"])
        wrong = {str(place[1] if place[0] == "sampling" else place[0]) for place in places}
        if not wrong:
            sentence = translate(
                "Settings",
                "The settings file is damaged, so default settings are used. The damaged file was kept as {file}.",
            )
            return AppSettings(), sentence.format(file=aside.name)
        fields = {name: value for name, value in json.loads(content).items() if name not in wrong}
        sentence = translate(
            "Settings",
            "These settings were invalid and are back to their defaults: {names}. The old file was kept as {file}.",
        ).format(names=", ".join(sorted(wrong)), file=aside.name)
        return AppSettings.model_validate_json(json.dumps(fields)), sentence

    def save(self, settings: AppSettings) -> None:
        """Saves all or nothing. Raises OSError."""
        private_folder(self._path.parent)
        try:
            text = settings.model_dump_json(indent=2)
        except PydanticSerializationError:
            whole = AppSettings.model_validate(_in_whole_characters(settings.model_dump()))
            text = whole.model_dump_json(indent=2)
        with whole_file(self._path) as file:
            file.write(text.encode())

    def forget_words(self, settings: AppSettings) -> None:
        """Saves these, which hold no words, and removes what earlier ones left, and the folders that Qt's file dialogs
        noted. Raises OSError."""
        self.save(settings)
        for file in clear_words(self._path.parent, Turn.SETTINGS):
            file.unlink(missing_ok=True)  # says why it cannot be removed
        dialogs = QSettings(QSettings.Scope.UserScope, "QtProject")
        for name in ("FileDialog/history", "FileDialog/lastVisited"):
            dialogs.remove(name)


def _in_whole_characters(value: Any) -> Any:
    """Replaces lone surrogates by question marks: pasted text may contain them, files cannot."""
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case dict():
            return {_in_whole_characters(key): _in_whole_characters(each) for key, each in value.items()}
        case list() | tuple():
            return [_in_whole_characters(each) for each in value]
    return value


def not_saved(error: OSError) -> str:
    return translate("Settings", "The settings could not be saved: {reason}.").format(reason=error.strerror)
