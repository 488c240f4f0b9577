"""Makes embeddings for clients of the server, with a model of their own that is opened when the first are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from engine.backend.precedence import Precedence
from engine.speculation.model.interface import FloatRow, Interrupted
from engine.values.asked import Refusal
from engine.values.commands import Embed
from engine.values.errors import Cancelled, MendableError, PromptTooLong
from engine.values.events import AnswerRefused, EmbeddingsMade, Listener
from engine.values.stop_signal import StopSignal

_AT_ONCE = 8  # texts, before the user may go first


class Embeds(Protocol):
    """What `model.llama.embedder.Embedder` does."""

    max_tokens: int

    @property
    def name(self) -> str: ...
    def tokenize(self, text: str) -> list[int]: ...
    def embed(self, texts: Sequence[Sequence[int]], stop: StopSignal) -> list[FloatRow]: ...
    def close(self) -> None: ...


class Embedding:
    """The chat thread calls all methods: embeddings take their turn among replies."""

    def __init__(self, load: Callable[[Path, StopSignal], Embeds], emit: Listener, precedence: Precedence) -> None:
        self._load = load
        self._precedence = precedence
        self._emit = emit
        self._opened: tuple[Path, Embeds] | None = None

    def embed(self, command: Embed, stop: StopSignal) -> None:
        """What the client can mend, or the user, is told to it, and raises nothing."""
        try:
            self._embed(command, stop)
        except (Interrupted, Cancelled):  # it went away
            return
        except PromptTooLong as error:
            self._emit(AnswerRefused(command.number, Refusal.TOO_LONG, str(error)))
        except MendableError as error:
            self._emit(AnswerRefused(command.number, Refusal.NOT_OFFERED, str(error)))

    def close(self) -> None:
        if self._opened is not None:
            self._opened[1].close()
            self._opened = None

    def _embed(self, command: Embed, stop: StopSignal) -> None:
        if stop.is_set():
            raise Interrupted
        model = self._model(command.path, stop)
        texts: list[list[int]] = []
        for place, words in enumerate(command.texts):
            if stop.is_set():
                raise Interrupted
            text = model.tokenize(words)
            texts.append(text)
            if len(text) > model.max_tokens:
                raise PromptTooLong(
                    "Text {place} has {count:,} tokens, but {name} can read at most {most:,} at once; send shorter "
                    "texts.",
                    place=place + 1,
                    count=len(text),
                    name=model.name,
                    most=model.max_tokens,
                )
        vectors: list[bytes] = []
        for start in range(0, len(texts), _AT_ONCE):
            self._precedence.give_way()
            vectors += [row.astype("<f4").tobytes() for row in model.embed(texts[start : start + _AT_ONCE], stop)]
        self._emit(EmbeddingsMade(command.number, model.name, tuple(vectors), sum(map(len, texts))))

    def _model(self, path: Path, stop: StopSignal) -> Embeds:
        if self._opened is None or self._opened[0] != path:
            self.close()
            self._opened = path, self._load(path, stop)
        return self._opened[1]
