"""How a drafter is distilled from a target."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from engine.values.config import STARTER
from engine.values.errors import SettingInvalid
from engine.values.parameters import Parameter, check_parameters


@dataclass(frozen=True, slots=True)
class DistillSettings:
    """How a drafter is made for a target, or heads."""

    target: str  # `starter`, the name of a target used before, or a path
    corpus: tuple[Path, ...] = ()  # files or folders of conversations; none: the target invents them
    held_back: tuple[Path, ...] = ()  # others like them, for the judge; none: a twentieth of the corpus
    traces: tuple[tuple[Path, Path], ...] = ()  # vocabularies and files of recorded replies, for the judge
    conversations: Annotated[int, Parameter("Number of conversations", 2, 10_000_000)] = 2000  # that the target invents
    heads: Annotated[int | None, Parameter("Number of heads", 1, 8)] = None  # instead of a drafter
    states_gb: Annotated[float, Parameter("Gigabytes of states", 0, 100_000)] = 4  # of the target, kept on disk
    labels: bool = True  # read given replies with the target once more, to learn from its own distribution
    start: Path | None = None  # folder of a drafter to train on; with `layers`, only its weights are used
    layers: tuple[int, ...] | None = None  # of the target, that the drafter keeps; None: the first and the last
    vocabulary_size: Annotated[int, Parameter("Size of the vocabulary", 300, 1_000_000)] = 32_768  # of the drafter
    num_outputs: Annotated[int, Parameter("Tokens to guess", 300, 1_000_000)] = 8192  # the most frequent of these
    target_vocabulary: bool = False  # instead: that of the target, all of which can be guessed
    feed_forward: Annotated[int | None, Parameter("Neurons of a layer", 1, 1_000_000)] = None  # None: as the target
    minutes: Annotated[float, Parameter("Minutes of training", 0.01, 100_000)] = 60
    judge_every_minutes: Annotated[float, Parameter("Minutes between judgements", 0.001, 100_000)] = 15
    learning_rate: Annotated[float, Parameter("Learning rate", 1e-7, 1)] = 1.5e-3
    seed: Annotated[int, Parameter("Seed", 0, 2**63 - 1)] = 0
    licence: str | None = None  # of the drafter; None: the starter's, or unknown
    work: Path | None = None  # folder for what is needed to go on after a stop; None: next to the drafter

    def __post_init__(self) -> None:
        if self.layers is not None and (not self.layers or sorted(set(self.layers)) != list(self.layers)):
            raise SettingInvalid("Give the layers in order, each once, as in 0,1,29.")
        check_parameters(self)

    @property
    def licence_name(self) -> str:
        """A drafter inherits the licence of the target that wrote its texts."""
        return self.licence or ("apache-2.0" if self.target == STARTER else "other")

    @property
    def identity(self) -> dict[str, object]:
        """What must be the same for a stopped run to go on, as JSON holds it."""
        as_given = ("target", "labels", "vocabulary_size", "num_outputs", "feed_forward", "seed")
        return {name: getattr(self, name) for name in as_given} | {
            "corpus": [str(path) for path in self.corpus],
            "held_back": [str(path) for path in self.held_back],
            "conversations": None if self.corpus else self.conversations,
            "start": None if self.start is None else str(self.start),
            "layers": None if self.layers is None else list(self.layers),
            **({} if self.heads is None else {"heads": self.heads}),
            **({"target_vocabulary": True} if self.target_vocabulary else {}),
        }

    @property
    def command(self) -> str:
        """The command line that makes such a drafter, with the names of files in place of their paths."""
        options: list[tuple[str, object]] = [
            ("target", self.target),
            ("heads", self.heads),
            *(("corpus", path.name) for path in self.corpus),
            *(("held-back", path.name) for path in self.held_back),
            *(("trace", f"{words.name}={replies.name}") for words, replies in self.traces),
            ("conversations", None if self.corpus else self.conversations),
            ("no-labels", None if self.labels else True),
            ("start", None if self.start is None else self.start.name),
            ("layers", None if self.layers is None else ",".join(map(str, self.layers))),
            ("vocabulary", None if self.heads else "target" if self.target_vocabulary else self.vocabulary_size),
            ("outputs", None if self.target_vocabulary else self.num_outputs),
            ("feed-forward", self.feed_forward),
            *(("minutes", f"{self.minutes:g}"), ("learning-rate", f"{self.learning_rate:g}"), ("seed", self.seed)),
            ("out", "FOLDER"),
        ]
        given = ((f"--{name}", value) for name, value in options if value is not None)
        words = (name if value is True else f"{name} {shlex.quote(str(value))}" for name, value in given)
        return " ".join(("slipstream distill", *words))
