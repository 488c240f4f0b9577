"""What the app remembers between two starts, in one small JSON file."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, ValidationError

from engine import BUILT_IN, STARTER, LearningSettings, ReplySettings, SamplingSettings, TargetSettings


class AppSettings(BaseModel):
    """Defaults are those of the engine. Unknown fields of a newer version are kept as they are."""

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
    system_prompt: str = Field(default="", description="What every new chat tells the model first")
    temperature: float = Field(default=SamplingSettings().temperature, ge=0, le=5)
    top_k: int = Field(default=SamplingSettings().top_k, ge=0)
    top_p: float = Field(default=SamplingSettings().top_p, ge=0, le=1)
    min_p: float = Field(default=SamplingSettings().min_p, ge=0, le=1)
    context_size: int | None = Field(default=None, ge=32, description="Tokens a model sees at once; null = up to 8,192")
    colour_origins: bool = Field(default=False, description="Whether replies show who guessed which part of them")
    draft: str = Field(default="", description="What was begun in a new chat and not sent")
    window: Base64Bytes = Field(default=b"", description="Size and place of the window, as Qt saves it")

    def reply_settings(self) -> ReplySettings:
        return ReplySettings(SamplingSettings(self.temperature, self.top_k, self.top_p, self.min_p))

    def target_settings(self) -> TargetSettings:
        return TargetSettings(context_size=self.context_size)

    def learning_settings(self) -> LearningSettings:
        return LearningSettings(self.learning, self.learning_share, self.learning_on_battery)

    def keep_learning(self, settings: LearningSettings) -> None:
        self.learning = settings.enabled
        self.learning_share = settings.share
        self.learning_on_battery = settings.on_battery


class SettingsFile:
    """Reads and writes the settings of one data folder. A file that makes no sense is set aside, never lost."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "settings.json"

    def load(self) -> tuple[AppSettings, str]:
        """The settings, and a sentence about what could not be used, if anything."""
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return AppSettings(), ""
        except OSError as error:
            return AppSettings(), f"{self._path} cannot be read ({error.strerror}); the usual settings are used."
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
            return (
                AppSettings(),
                f"The settings make no sense and are the usual ones now; the file is kept as {aside.name}.",
            )
        fields = {name: value for name, value in json.loads(content).items() if name not in wrong}
        sentence = (
            f"In the settings these make no sense and are the usual ones now: {', '.join(sorted(wrong))}; "
            f"the file is kept as {aside.name}."
        )
        return AppSettings.model_validate_json(json.dumps(fields)), sentence

    def save(self, settings: AppSettings) -> None:
        """Whole or not at all. Raises OSError."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=".settings-")  # readable by this user only
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(settings.model_dump_json(indent=2))
            Path(name).replace(self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def _set_aside(self) -> Path:
        aside = self._path.with_suffix(".unreadable.json")
        with contextlib.suppress(OSError):  # then it stays where it is until the next save
            self._path.replace(aside)
        return aside
