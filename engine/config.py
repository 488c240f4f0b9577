"""What can be set, as typed and ranged values that are checked once, where they are made."""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import dataclass, fields, replace
from importlib.resources import files
from pathlib import Path

import platformdirs

from engine.errors import FileUnusable, SettingInvalid

DATA_DIR_VARIABLE = "SLIPSTREAM_DATA_DIR"
PORTABLE_FOLDER = "slipstream-data"  # beside the program: then everything is kept in it
UPDATE_URL_VARIABLE = "SLIPSTREAM_UPDATE_URL"
STARTER = "starter"
USUAL_CONTEXT = 8192  # tokens; more costs memory that most chats never use
_LOWEST_TEMPERATURE = 1e-4  # below, it is greedy but for rounding


def data_dir() -> Path:
    """The folder of everything Slipstream keeps: the one `SLIPSTREAM_DATA_DIR` names, else the portable one, else the
    platform's own. Raises FileUnusable for a portable one that cannot be written."""
    chosen = os.environ.get(DATA_DIR_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    portable = portable_dir()
    if portable is None:
        return platformdirs.user_data_path("slipstream", appauthor=False)
    if not os.access(portable, os.W_OK | os.X_OK):
        raise FileUnusable(
            f"Slipstream keeps everything in {portable}, which cannot be written; allow it to be written, or move that "
            "folder away to use the usual one."
        )
    return portable


def portable_dir() -> Path | None:
    """The folder `slipstream-data` beside the program, where there is one; never for a program run from its source."""
    program = _program()
    folder = None if program is None else program.parent / PORTABLE_FOLDER
    return folder if folder is not None and folder.is_dir() else None


def _program() -> Path | None:
    """What the user sees of a bundled program: an executable, an AppImage or an app of macOS."""
    executable = Path(sys.executable)
    image, unpacked = os.environ.get("APPIMAGE"), os.environ.get("APPDIR")
    if image and unpacked and executable.is_relative_to(unpacked):  # else they are of a program that started this one
        return Path(image)
    if not getattr(sys, "frozen", False):
        return None
    return next((folder for folder in executable.parents if folder.suffix == ".app"), executable)


def update_url() -> str:
    """Where this build asks for its newest version, if the user wants that: what `SLIPSTREAM_UPDATE_URL` names, else
    what whoever packaged it wrote into `resources/release.json`; empty for nowhere."""
    told = json.loads((files("resources") / "release.json").read_text("utf-8"))
    return os.environ.get(UPDATE_URL_VARIABLE) or str(told["update_url"])


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # also refuses NaN
        raise SettingInvalid(f"{name} is {_shown(value)}; choose a value from {_shown(low)} to {_shown(high)}.")


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How a distribution is made from logits. The defaults, and the order in which they apply, are llama.cpp's."""

    temperature: float = 0.8  # 0 = greedy
    top_k: int = 40  # 0 = off
    top_p: float = 0.95  # 1 = off
    min_p: float = 0.05  # 0 = off
    repetition_penalty: float = 1.0  # 1 = off
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    penalty_window: int = 64  # the last tokens that penalties look at
    seed: int | None = None  # None = another one each time

    def __post_init__(self) -> None:
        _check("Temperature", self.temperature, 0.0, 5.0)
        if 0 < self.temperature < _LOWEST_TEMPERATURE:
            raise SettingInvalid(f"Temperature is {self.temperature:g}; choose 0 or at least {_LOWEST_TEMPERATURE:g}.")
        _check("Top-k", self.top_k, 0, 1_000_000)
        _check("Top-p", self.top_p, 0.0, 1.0)
        _check("Min-p", self.min_p, 0.0, 1.0)
        _check("Repetition penalty", self.repetition_penalty, 0.1, 10.0)
        _check("Presence penalty", self.presence_penalty, -10.0, 10.0)
        _check("Frequency penalty", self.frequency_penalty, -10.0, 10.0)
        _check("Penalty window", self.penalty_window, 0, 1_000_000)
        if self.seed is not None:
            _check("Seed", self.seed, 0, 2**64 - 1)


@dataclass(frozen=True, slots=True)
class ReplySettings:
    sampling: SamplingSettings = SamplingSettings()
    max_tokens: int | None = None  # None = until the target ends, or the context is full
    stop_strings: tuple[str, ...] = ()
    learns: bool = True  # whether what is written may teach those who draft
    keeps_distributions: bool = False  # whether the reply carries the target's distribution before each token
    speculate: bool = True  # let proposers draft ahead of the target; the text follows the same distribution either way

    def __post_init__(self) -> None:
        if self.max_tokens is not None:
            _check("Length of a reply", self.max_tokens, 1, 10_000_000)
        if not all(self.stop_strings):
            raise SettingInvalid("A stop string is empty; remove it or give it text.")


@dataclass(frozen=True, slots=True)
class OwnSampling:
    """What a user has set for one conversation. None: as for all others."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    seed: int | None = None
    max_tokens: int | None = None  # of a reply

    def __post_init__(self) -> None:
        self.over(ReplySettings())

    def over(self, settings: ReplySettings) -> ReplySettings:
        """The settings with what is set here in their place."""
        own = {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}
        max_tokens = own.pop("max_tokens", settings.max_tokens)
        return replace(settings, sampling=replace(settings.sampling, **own), max_tokens=max_tokens)


@dataclass(frozen=True, slots=True)
class TargetSettings:
    context_size: int | None = None  # tokens; None = what the model was trained for, at most USUAL_CONTEXT
    threads: int | None = None  # None = one per usable physical core
    gpu_layers: int | None = None  # None = all of them where the build has a GPU

    def __post_init__(self) -> None:
        if self.context_size is not None:
            _check("Context size", self.context_size, 32, 16_777_216)
        if self.threads is not None:
            _check("Threads", self.threads, 1, 1024)
        if self.gpu_layers is not None:
            _check("GPU layers", self.gpu_layers, 0, 100_000)

    def context_for(self, trained: int) -> int:
        """Tokens; `trained`: that the model was trained for, 0 where that is not known."""
        return self.context_size or min(trained or USUAL_CONTEXT, USUAL_CONTEXT)

    def filled_up(self, others: TargetSettings) -> TargetSettings:
        """With those of the others where these say nothing."""
        return TargetSettings(
            context_size=others.context_size if self.context_size is None else self.context_size,
            threads=others.threads if self.threads is None else self.threads,
            gpu_layers=others.gpu_layers if self.gpu_layers is None else self.gpu_layers,
        )


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """What a user has set for one target. None: as for all others."""

    settings: TargetSettings = TargetSettings()
    sampling: SamplingSettings | None = None
    system_prompt: str | None = None


@dataclass(frozen=True, slots=True)
class SpeculationSettings:
    enabled: bool = True
    drafter: Path | None = None  # folder of a checkpoint; None = the built-in drafter
    device: str | None = None  # that the drafter computes on; None = the quickest there is
    merge: bool = True  # False: draft only tokens that are the same in both vocabularies, for comparison


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """How the drafter learns from chats, while nobody waits."""

    enabled: bool = True
    share: float = 0.5  # of the time that nobody waits
    on_battery: bool = False  # also then

    def __post_init__(self) -> None:
        _check("Share of the time for learning", self.share, 0.05, 1.0)


@dataclass(frozen=True, slots=True)
class DistillSettings:
    """How a drafter is made for a target."""

    target: str  # `starter`, the name of a target used before, or a path
    corpus: tuple[Path, ...] = ()  # files or folders of conversations; none: the target invents them
    held_back: tuple[Path, ...] = ()  # others like them, to judge by; none: a twentieth of the corpus
    traces: tuple[tuple[Path, Path], ...] = ()  # vocabularies and files of recorded replies, to judge by as well
    conversations: int = 2000  # that the target invents
    labels: bool = True  # read given replies with the target once more, to learn from its own distribution
    start: Path | None = None  # folder of a drafter to train on; with `layers`, only its weights are taken over
    layers: tuple[int, ...] | None = None  # of the target, that the drafter keeps; None: the first and the last
    vocabulary_size: int = 32_768  # tokens of the drafter
    num_outputs: int = 8192  # of these, how many it can guess: the most frequent ones
    feed_forward: int | None = None  # neurons of a layer; None: as many as the target has
    minutes: float = 60.0  # of training
    judge_every_minutes: float = 15.0
    learning_rate: float = 1.5e-3
    seed: int = 0
    licence: str | None = None  # of the drafter; None: the starter's, or unknown
    work: Path | None = None  # folder for what is kept on the way; None: beside the drafter

    def __post_init__(self) -> None:
        if self.layers is not None and (not self.layers or sorted(set(self.layers)) != list(self.layers)):
            raise SettingInvalid("The layers are to be given in order, each once, as in 0,1,29.")
        _check("Number of conversations", self.conversations, 2, 10_000_000)
        _check("Size of the vocabulary", self.vocabulary_size, 300, 1_000_000)
        _check("Tokens to guess", self.num_outputs, 300, 1_000_000)
        if self.feed_forward is not None:
            _check("Neurons of a layer", self.feed_forward, 1, 1_000_000)
        _check("Minutes of training", self.minutes, 0.01, 100_000)
        _check("Minutes between judgements", self.judge_every_minutes, 0.001, 100_000)
        _check("Learning rate", self.learning_rate, 1e-7, 1.0)
        _check("Seed", self.seed, 0, 2**63 - 1)

    @property
    def licence_name(self) -> str:
        """A drafter inherits the licence of the target that wrote its texts."""
        return self.licence or ("apache-2.0" if self.target == STARTER else "other")

    @property
    def identity(self) -> dict[str, object]:
        """What must be the same for a making to go on where it was."""
        return {
            "target": self.target,
            "corpus": [str(path) for path in self.corpus],
            "held_back": [str(path) for path in self.held_back],
            "conversations": None if self.corpus else self.conversations,
            "labels": self.labels,
            "start": None if self.start is None else str(self.start),
            "layers": self.layers if self.layers is None else list(self.layers),
            "vocabulary_size": self.vocabulary_size,
            "num_outputs": self.num_outputs,
            "feed_forward": self.feed_forward,
            "seed": self.seed,
        }

    @property
    def command(self) -> str:
        """What makes the like on a command line, files by their names alone."""
        parts = [f"slipstream distill --target {shlex.quote(self.target)}"]
        parts += [f"--corpus {shlex.quote(path.name)}" for path in self.corpus]
        parts += [f"--held-back {shlex.quote(path.name)}" for path in self.held_back]
        parts += [f"--trace {shlex.quote(f'{words.name}={replies.name}')}" for words, replies in self.traces]
        if not self.corpus:
            parts.append(f"--conversations {self.conversations}")
        if not self.labels:
            parts.append("--no-labels")
        if self.start is not None:
            parts.append(f"--start {shlex.quote(self.start.name)}")
        if self.layers is not None:
            parts.append(f"--layers {','.join(map(str, self.layers))}")
        parts.append(f"--vocabulary {self.vocabulary_size} --outputs {self.num_outputs}")
        if self.feed_forward is not None:
            parts.append(f"--feed-forward {self.feed_forward}")
        parts.append(
            f"--minutes {self.minutes:g} --learning-rate {self.learning_rate:g} --seed {self.seed} --out FOLDER"
        )
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class EngineConfig:
    data_dir: Path
    speculation: SpeculationSettings = SpeculationSettings()
    learning: LearningSettings = LearningSettings()
