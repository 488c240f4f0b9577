"""What can be set: typed values with ranges, checked once, where they are made. And where everything is stored."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import platformdirs

from engine.values.errors import FileUnusable, SettingInvalid
from engine.values.parameters import Parameter, Scope, TextParameter, check_parameters, parameters, read_biases, texts

DATA_DIR_VARIABLE = "SLIPSTREAM_DATA_DIR"
PORTABLE_FOLDER = "slipstream-data"  # next to the program; if it exists, everything is stored in it
STARTER = "starter"
AUTOMATIC = "automatic"  # the drafter that is expected to write most tokens per second, or none
USUAL_CONTEXT = 8192  # tokens; more costs memory that most chats never use


def data_dir() -> Path:
    """The folder that everything is stored in: the one `SLIPSTREAM_DATA_DIR` names, else the portable one, else the
    platform's own. Raises FileUnusable for a portable one that is read-only, and if the home folder is unknown."""
    try:
        return _data_dir()
    except RuntimeError as error:
        raise FileUnusable(
            "The system knows no home folder for this user, so there is no place for chats; name a folder for them "
            "with {variable}.",
            variable=DATA_DIR_VARIABLE,
        ) from error


def _data_dir() -> Path:
    chosen = os.environ.get(DATA_DIR_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    program = _program()
    portable = None if program is None else program.parent / PORTABLE_FOLDER
    if portable is None or not portable.is_dir():
        return platformdirs.user_data_path("slipstream", appauthor=False)
    if not os.access(portable, os.W_OK | os.X_OK):
        raise FileUnusable(
            "Slipstream keeps everything in {portable}, which cannot be written; make it writable, or move that "
            "folder away to use the usual one.",
            portable=portable,
        )
    return portable


def _program() -> Path | None:
    """The file of a bundled program that the user sees: an executable, an AppImage or a macOS app; None for a program
    run from its source."""
    executable = Path(sys.executable)
    image, unpacked = os.environ.get("APPIMAGE"), os.environ.get("APPDIR")
    if image and unpacked and executable.is_relative_to(unpacked):  # else they are of the program that started this one
        return Path(image)
    if not getattr(sys, "frozen", False):
        return None
    return next((folder for folder in executable.parents if folder.suffix == ".app"), executable)


_SPECIAL = Scope.TARGET | Scope.CHAT | Scope.COMMAND  # of what few look for
_OF_REPLY = Scope.CHAT | Scope.COMMAND
_special = partial(Parameter, scope=_SPECIAL, is_special=True)


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How a distribution is made from logits. The defaults, and the order in which they apply, are llama.cpp's.

    A new parameter is declared here and used in `numerics/sampling.py`, or in `numerics/rules.py` where
    it needs the vocabulary. The settings, the dialogs of a chat and
    of a target, what is stored of them, and the command line take it from here.
    """

    temperature: Annotated[
        float,
        Parameter(
            "Temperature",
            0,
            5,
            0.1,
            "How freely the model chooses words. At 0, it always takes the likeliest.",
            least_above_zero=1e-4,  # below, it is greedy but for rounding
            option="0 is greedy.",
        ),
    ] = 0.8
    top_k: Annotated[
        int, Parameter("Top-k", 0, 1_000_000, 5, "Chooses among this many of the likeliest tokens", off=0)
    ] = 40
    top_p: Annotated[
        float,
        Parameter("Top-p", 0, 1, 0.05, "Chooses among the likeliest tokens that together have this probability", off=1),
    ] = 0.95
    min_p: Annotated[
        float,
        Parameter("Min-p", 0, 1, 0.01, "Leaves out tokens less likely than this share of the likeliest", off=0),
    ] = 0.05
    repetition_penalty: Annotated[
        float,
        Parameter("Repetition penalty", 0.1, 10, 0.05, "Above 1, the model avoids words it has just used", off=1),
    ] = 1.0
    presence_penalty: Annotated[float, Parameter("Presence penalty", -10, 10, off=0, scope=Scope.COMMAND)] = 0.0
    frequency_penalty: Annotated[float, Parameter("Frequency penalty", -10, 10, off=0, scope=Scope.COMMAND)] = 0.0
    penalty_window: Annotated[int, Parameter("Penalty window", 0, 1_000_000, scope=Scope(0))] = 64  # last tokens
    seed: Annotated[
        int | None,
        Parameter(
            "Seed",
            0,
            2**64 - 1,
            about="With the same seed, the same prompt gives the same reply. Speed-up helps slightly less.",
            unset="random",
            option="The same seed gives the same reply.",
            scope=_OF_REPLY,
        ),
    ] = None
    top_n_sigma: Annotated[
        float,
        _special("Top-n-sigma", 0, 10, 0.1, "Leaves out tokens this many standard deviations below the best", off=0),
    ] = 0.0
    xtc_probability: Annotated[
        float,
        _special("XTC probability", 0, 1, 0.05, "How often the most obvious tokens are left out", off=0),
    ] = 0.0
    xtc_threshold: Annotated[
        float,
        _special(
            "XTC threshold",
            low=0,
            high=0.5,
            step=0.05,
            about="Tokens at least this likely count as obvious.",
            option="Tokens as likely as this are left out but for the least likely of them.",
        ),
    ] = 0.1
    temperature_range: Annotated[
        float,
        _special(
            "Temperature range",
            low=0,
            high=5,
            step=0.1,
            about="The temperature varies by this much: lower where the model is sure, higher where it is not",
            off=0,
        ),
    ] = 0.0
    temperature_exponent: Annotated[
        float,
        _special(
            "Temperature exponent",
            low=0.1,
            high=10,
            step=0.1,
            about="Above 1, a dynamic temperature stays low for longer.",
            option="Above 1, a dynamic temperature stays low for longer.",
        ),
    ] = 1.0
    dry_multiplier: Annotated[
        float,
        _special("DRY strength", 0, 10, 0.1, "Makes repeated passages less likely; 0.8 is usual", off=0),
    ] = 0.0
    dry_base: Annotated[
        float,
        _special(
            "DRY base",
            low=1.05,
            high=10,
            step=0.05,
            about="How fast DRY grows with the length of the repetition.",
            option="How fast DRY grows with the length of the repetition.",
        ),
    ] = 1.75
    dry_length: Annotated[
        int,
        _special(
            "DRY length",
            low=1,
            high=1000,
            step=1,
            about="A passage counts as repeated from this many tokens on.",
            unit="tokens",
            option="Tokens from which a passage counts as repeated.",
        ),
    ] = 2
    grammar: Annotated[
        str,
        TextParameter(
            "Reply format",
            100_000,
            "A JSON schema, or a grammar in llama.cpp's GBNF. Every reply of the chat follows it.",
            '{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}',
            "JSON schema or GBNF grammar that the reply keeps to; @FILE reads it from a file.",
            _OF_REPLY,
        ),
    ] = ""
    banned_words: Annotated[
        str,
        TextParameter(
            "Banned words",
            4000,
            "One per line. The reply will not contain them, not even inside longer words; upper and lower case count "
            "as written.",
            "delve\ntapestry",
            "Letters that must not appear, not even within longer words; may be given several times.",
            _OF_REPLY,
        ),
    ] = ""
    logit_bias: Annotated[
        str,
        TextParameter(
            "Logit bias",
            4000,
            "One word per line with the value added to its logit: above 0 makes it likelier.",
            "sure = -3",
            "A word that gets likelier or less likely, as in: sure=-3; may be given several times.",
            _OF_REPLY,
            read_biases,
        ),
    ] = ""

    def __post_init__(self) -> None:
        check_parameters(self)


@dataclass(frozen=True, slots=True)
class ReplySettings:
    sampling: SamplingSettings = SamplingSettings()
    max_tokens: Annotated[
        int | None,
        Parameter(
            "Longest reply",
            1,
            10_000_000,
            step=128,
            about="Longer replies are cut off there. A token is a word or part of one.",
            unit="tokens",
            unset="no limit",
            suggested=1024,
        ),
    ] = None
    max_thought: Annotated[
        int | None,
        Parameter(
            "Longest thought",
            1,
            10_000_000,
            step=128,
            about="After this much thinking, the model is made to answer.",
            unit="tokens",
            unset="no limit",
            suggested=1024,
        ),
    ] = None
    stop_strings: tuple[str, ...] = ()
    thinks: bool | None = None  # whether the target thinks before it answers, if that can be set; None: as it likes
    tools: tuple[str, ...] = ()  # names of the servers whose tools the reply may call
    learns: bool = True  # whether proposers may learn from the reply
    keeps_distributions: bool = False  # whether the reply carries the target's distribution before each token
    num_logs: int | None = None  # of the likeliest tokens reported with each token; None: no probabilities at all
    speculate: bool = True  # let proposers draft ahead of the target; the text follows the same distribution either way

    def __post_init__(self) -> None:
        check_parameters(self)
        if not all(self.stop_strings):
            raise SettingInvalid("A stop string is empty; remove it or enter text.")

    @property
    def asks_to_think(self) -> bool | None:
        """What the target is asked for. A reply format holds from the first token on: no thought comes before it."""
        return False if self.sampling.grammar.strip() else self.thinks


OWN_PARAMETERS = (*parameters(SamplingSettings, Scope.CHAT), *parameters(ReplySettings, Scope.CHAT))
OWN_TEXTS = texts(SamplingSettings, Scope.CHAT)
_OWN: tuple[Parameter | TextParameter, ...] = (*OWN_PARAMETERS, *OWN_TEXTS)


@dataclass(frozen=True, slots=True, init=False)
class OwnSampling:
    """What a user has set for one conversation, of `OWN_PARAMETERS` and `OWN_TEXTS`; all others are as for all
    conversations."""

    chosen: tuple[tuple[str, float | str], ...]  # names and values, in the order of declaration

    def __init__(self, **values: float | str | None) -> None:
        """None counts as not set. Raises SettingInvalid."""
        chosen = ((each.name, values.pop(each.name, None)) for each in _OWN)
        object.__setattr__(self, "chosen", tuple((name, value) for name, value in chosen if value is not None))
        if values:
            raise TypeError(f"a conversation has no {', '.join(values)} of its own")
        self.over(ReplySettings())

    @classmethod
    def from_json(cls, stored: str | None) -> OwnSampling:
        """Reads what `to_json` wrote. What is unknown, or makes no sense, counts as not set."""
        try:
            found = json.loads(stored or "{}")
        except (TypeError, ValueError, RecursionError):  # SQLite holds any kind of value in any column
            return cls()
        if not isinstance(found, dict):
            return cls()
        return cls(**{each.name: found[each.name] for each in _OWN if each.accepts(found.get(each.name))})

    def to_json(self) -> str | None:
        """None where nothing is set."""
        return json.dumps(dict(self.chosen)) if self.chosen else None

    def over(self, settings: ReplySettings) -> ReplySettings:
        """The settings, with what is set here in their place."""
        own: dict[str, Any] = dict(self.chosen)
        lengths = {each.name: own.pop(each.name) for each in parameters(ReplySettings) if each.name in own}
        return replace(settings, sampling=replace(settings.sampling, **own), **lengths)


@dataclass(frozen=True, slots=True)
class TargetSettings:
    context_size: Annotated[
        int | None,  # None = what the model was trained for, at most USUAL_CONTEXT
        Parameter(
            "Context size",
            32,
            16_777_216,
            step=1024,
            about="How much of a chat the model sees at once. More takes more memory. Automatic: what it was "
            "trained for, up to 8,192.",
            unit="tokens",
            unset="Automatic",
        ),
    ] = None
    threads: Annotated[
        int | None,  # None = one per usable physical core
        Parameter(
            "Threads",
            1,
            1024,
            about="How many processor cores a model uses. Automatic: all physical cores, usually the fastest.",
            unset="Automatic",
        ),
    ] = None
    gpu_layers: Annotated[
        int | None,  # None = all of them where the build has a GPU
        Parameter(
            "GPU layers",
            0,
            100_000,
            about="Layers of the model that run on a graphics card, if there is one. Automatic: as many as fit.",
            unset="Automatic",
        ),
    ] = None

    def __post_init__(self) -> None:
        check_parameters(self)

    def context_for(self, trained: int) -> int:
        """Tokens; `trained`: that the model was trained for, 0 where that is not known."""
        return self.context_size or min(trained or USUAL_CONTEXT, USUAL_CONTEXT)

    def filled_up(self, others: TargetSettings) -> TargetSettings:
        """These, and those of the others where these are None."""
        own: dict[str, Any] = {each.name: getattr(self, each.name) for each in parameters(TargetSettings)}
        return replace(others, **{name: value for name, value in own.items() if value is not None})


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """What a user has set for one target. None: as for all others."""

    settings: TargetSettings = TargetSettings()
    sampling: SamplingSettings | None = None
    system_prompt: str | None = None
    drafter: str | None = None  # a choice in words, as in `SpeculationSettings`
    chat_template: str | None = None  # None: that in its file, or the one that its vocabulary tells of


@dataclass(frozen=True, slots=True)
class SpeculationSettings:
    enabled: bool = True
    drafter: str = AUTOMATIC  # a choice in words, see `drafter/choice.py`
    device: str | None = None  # of the drafter; None = the quickest there is
    merge: bool = True  # False: draft only tokens that are the same in both vocabularies, for comparison


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """How the drafter learns from chats while no reply is being written."""

    enabled: bool = True
    share: Annotated[float, Parameter("Share of the time for learning", 0.05, 1)] = 0.5  # while no reply is awaited
    on_battery: bool = False
    self_distils: bool = True  # whether the target answers earlier prompts again while no reply is awaited
    self_distillation_minutes: Annotated[
        int,
        Parameter("Minutes of an hour", 1, 60, about="At most so long in any hour; the computer is busy meanwhile."),
    ] = 3
    # Until the drafter has read so many of a target's tokens, that answers shipped prompts, too
    self_distillation_tokens: Annotated[int, Parameter("Tokens to practise", 0, 1_000_000_000)] = 0
    self_distils_at_night: bool = False  # and at no other time
    night_begins: Annotated[int, Parameter("From", 0, 23, about="In full hours, local time.")] = 22
    night_ends: Annotated[int, Parameter("Until", 0, 23, about="In full hours, local time.")] = 7

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def night_hours(self) -> int:
        return (self.night_ends - self.night_begins) % 24 or 24

    def may_self_distil_at(self, hour: int) -> bool:
        """True if it is wanted at that hour of the day."""
        is_night = (hour - self.night_begins) % 24 < self.night_hours
        return self.self_distils and (is_night or not self.self_distils_at_night)


@dataclass(frozen=True, slots=True)
class PromptCacheSettings:
    """What is kept of what models have read, so that no chat is read twice."""

    gigabytes: Annotated[
        float,
        Parameter(
            "Disk space for prompt caches",
            0,
            10_000,
            step=1,
            about="Stores what the model has read, so that a long chat continues at once, even after a restart. 0 "
            "stores nothing.",
            unit="GB",
        ),
    ] = 2.0

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def num_bytes(self) -> int:
        return round(self.gigabytes * 1e9)


@dataclass(frozen=True, slots=True)
class EngineConfig:
    data_dir: Path
    speculation: SpeculationSettings = SpeculationSettings()
    learning: LearningSettings = LearningSettings()
    prompt_cache: PromptCacheSettings = PromptCacheSettings()
