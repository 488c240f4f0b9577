"""Runs a GGUF model as a drafter: llama.cpp in its own context, which is rolled back token by token."""

from __future__ import annotations

import logging
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from engine.speculation.drafter.exact_encoder import STRAY, STRAY_OR_MARK, WORD_MARK, ExactEncoder
from engine.speculation.drafter.gguf_adapter import Addition, adapter_file
from engine.speculation.drafter.interface import LogitRow
from engine.speculation.drafter.prompt_format import PromptFormat
from engine.speculation.drafter.siblings import LARGER
from engine.speculation.drafter.timing import measure_step
from engine.speculation.model.files.facts import TargetFacts, facts_of
from engine.speculation.model.files.model_files import model_name
from engine.speculation.model.files.pairing import brought_by
from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.interface import FloatRow, SpellingVocabulary
from engine.speculation.model.llama.drafting_model import DraftingModel
from engine.speculation.model.llama.preflight import preflight
from engine.speculation.model.loading import bytes_on_cards, check_memory, fitted_whole
from engine.values.config import TargetSettings
from engine.values.conversations import ChatTurn
from engine.values.errors import Cancelled, CardsTooSmall, DrafterUnusable, MendableError, TargetMissing
from engine.values.sentences import Sentence, say
from engine.values.stop_signal import StopSignal

MAX_HELD = 2048  # tokens; more would cost memory, and what is further away hardly changes a guess
_MIN_HELD = 64
_CONTEXT_BYTES = 128 << 20  # or more, where the weights take more, too
_GUARD = "\x01"  # a character that no tokenizer merges with another
_NUM_JOINED = 256
_WITH_STATE = 4  # of the last tokens read at once: all of them pass the head, but none takes a pass of its own

_logger = logging.getLogger("slipstream.drafters")


class GgufDrafter:
    """Implements `drafter.interface.Drafter`. The model is freed with it."""

    def __init__(self, model: DraftingModel, adapters: Path | None = None) -> None:
        """Owns the model from here on. `adapters`: the folder for files of adapters that llama.cpp reads."""
        self._model = model
        self._adapters = adapters
        self._offered: deque[Addition | None] = deque(maxlen=1)
        self._learned: Addition | None = None  # of which llama.cpp has read its part
        self._addition: Addition | None = None  # the same, while it is in use
        self._state: FloatRow | None = None  # after the last token, where the addition needs it
        self._never = StopSignal()
        self.close = weakref.finalize(self, model.close)

    @property
    def num_held(self) -> int:
        return self._model.num_held

    @property
    def max_held(self) -> int:
        return self._model.limits.context_size

    @property
    def most_threads(self) -> int:
        return self._model.description.threads

    def use_threads(self, num_threads: int) -> None:
        self._model.use_threads(num_threads)

    def read(self, tokens: Sequence[int]) -> LogitRow:
        addition, most = self._addition, self._model.limits.max_tokens
        needs_state = addition is not None and addition.head is not None
        num_last = min(len(tokens), _WITH_STATE) if needs_state else 0
        self._model.tell_states(False)
        for start in range(0, len(tokens) - num_last, most):
            end = min(start + most, len(tokens) - num_last)
            row = self._model.evaluate(tokens[start:end], 1, self._never)[-1]
        if addition is not None and num_last:
            self._model.tell_states(True)
            row = self._model.evaluate(tokens[-num_last:], num_last, self._never)[-1]
            assert self._model.states is not None
            self._state = self._model.states[-1].copy()
            if addition.head is not None:
                row = addition.head.added(row, self._state)
        last: LogitRow = row
        return last

    def roll_back(self, num_kept: int) -> None:
        self._model.roll_back(num_kept)

    @property
    def can_drop(self) -> bool:
        return self._model.can_drop

    def drop(self, start: int, end: int) -> None:
        self._model.drop(start, end)

    def offer(self, addition: Addition | None) -> None:
        """Offers what was learned, or None: what the file holds alone; the next `refresh` takes it. From any thread."""
        self._offered.append(addition)

    def refresh(self, is_original: bool = False) -> bool:
        has_learned = self._take_up()
        wanted = None if is_original else self._learned
        if not has_learned and wanted is self._addition:
            return False
        self._addition, self._state = wanted, None
        self._model.apply_adapter(wanted is not None)
        return True

    def _take_up(self) -> bool:
        """Takes up what was offered, if anything."""
        try:
            addition = self._offered.pop()
        except IndexError:
            return False
        try:
            self._load(addition)
        except (MendableError, OSError) as error:
            _logger.warning("a drafter goes on without what it has learned: %s", error)
            self._load(None)
        return True

    def _load(self, addition: Addition | None) -> None:
        self._learned = None
        if addition is None or not addition.tensors:
            self._model.use_adapter(None)
        else:
            assert self._adapters is not None
            with adapter_file(self._adapters, addition.architecture, addition.tensors) as path:
                self._model.use_adapter(path)
        self._learned = addition


class GgufVocabulary:
    """Implements `drafter.interface.TurnVocabulary` with llama.cpp's own tokenizer."""

    def __init__(self, source: SpellingVocabulary, chat_template: str | None = None) -> None:
        vocabulary = source.vocabulary
        self.special = vocabulary.silent
        self.end = vocabulary.end
        self.pieces = tuple(b"" if token in self.special else piece for token, piece in enumerate(vocabulary.pieces))
        self.fingerprint = vocabulary.fingerprint
        self._source = source
        self._spell: Callable[[str], list[int]] = source.spell
        stray = STRAY
        self._guard = tuple(source.spell(_GUARD))
        if b"".join(self.pieces[token] for token in source.spell("a")) == b" a":  # SentencePiece begins with a space
            self._spell, stray = self._spell_in_the_middle, STRAY_OR_MARK
        self._exact = ExactEncoder(self.pieces, self._spell, stray)
        begin, end = map(vocabulary.text_of, (vocabulary.begin, vocabulary.end))
        self._format = PromptFormat(chat_template, begin, end)

    def encode(self, data: bytes) -> list[int] | None:
        return self._exact.encode(data)

    def encode_many(self, items: Sequence[bytes]) -> list[list[int] | None]:
        """Splits many in one call: some tokenizers take most of their time to begin."""
        found: dict[int, list[int]] = {}
        if self._guard and self.pieces[self._guard[-1]] == _GUARD.encode():
            places = [place for place, data in enumerate(items) if _is_joinable(data)]
            for start in range(0, len(places), _NUM_JOINED):
                some = places[start : start + _NUM_JOINED]
                parts = self._split([items[place].decode() for place in some])
                found |= dict(zip(some, parts, strict=False))
        return [
            found[place] if place in found and self._exact.spells(found[place], data) else self._exact.encode(data)
            for place, data in enumerate(items)
        ]

    def encode_prompt(self, turns: Sequence[ChatTurn]) -> list[int]:
        return self._source.vocabulary.with_begin(self._source.tokenize(self._format.render(turns)[0]))

    def _split(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text, without those before the first."""
        parts: list[list[int]] = []
        for token in self._source.spell(_GUARD + _GUARD.join(texts) + _GUARD):
            if token == self._guard[-1]:
                parts.append([])
            elif parts:
                parts[-1].append(token)
        return parts

    def _spell_in_the_middle(self, text: str) -> list[int]:
        """The tokens after the guard, and the space that the tokenizer puts before them."""
        tokens = self._source.spell(_GUARD + text)
        return tokens[len(self._guard) :] if tuple(tokens[: len(self._guard)]) == self._guard else tokens


def _is_joinable(data: bytes) -> bool:
    """True if a tokenizer splits it the same way anywhere: spaces at an end belong to what follows them, and signs at
    the beginning to other signs before them."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    first = text.removeprefix(" ")[:1]
    return first.isalnum() and not text[-1].isspace() and _GUARD not in text and WORD_MARK not in text


def load_gguf(
    path: Path, name: str, trusted: bool, stop: StopSignal, adapters: Path | None = None
) -> tuple[GgufDrafter, GgufVocabulary]:
    """Loads a drafter. `trusted`: a file that was run before; another one is first tried in a separate process.
    `adapters`: see `GgufDrafter`. Raises DrafterUnusable and Cancelled."""
    try:
        drafter = _load(path, name, trusted, stop, adapters)
    except Cancelled:
        raise
    except MendableError as error:
        raise DrafterUnusable(_refusal(name, path, str(error))) from error
    model = drafter._model
    try:
        if not model.limits.rolls_back_freely:
            raise DrafterUnusable(
                "{name} cannot draft: it cannot roll back what it has read; choose another drafter.", name=name
            )
        return drafter, GgufVocabulary(model, model.description.chat_template)
    except BaseException:
        drafter.close()
        raise


def _load(path: Path, name: str, trusted: bool, stop: StopSignal, adapters: Path | None) -> GgufDrafter:
    found = facts_of(path)
    if found.problem:
        raise DrafterUnusable(found.problem)
    settings = TargetSettings(context_size=_most_held(found))
    check_memory(path, settings, way_out=say("close other programs, or choose a smaller drafter"))
    if not trusted:
        preflight(path, stop)

    def load(settings: TargetSettings) -> GgufDrafter:
        model = DraftingModel.load(path, name, settings, _ignore, stop, max_rows=_WITH_STATE)
        return GgufDrafter(model, adapters)

    whole, on_processor = fitted_whole(path, settings), replace(settings, gpu_layers=0)
    try:
        drafter = load(whole)
    except CardsTooSmall:
        return load(on_processor)
    return _quicker(drafter, load(on_processor)) if whole.gpu_layers else drafter


def _quicker(on_card: GgufDrafter, on_processor: GgufDrafter) -> GgufDrafter:
    """The one whose step takes less time; the other is closed. A slow card, or one on which much else runs, need not be
    the better place for a small model."""
    card_s, processor_s = measure_step(on_card), measure_step(on_processor)
    _logger.info("a step takes %.1f ms on the card and %.1f on the processor", 1000 * card_s, 1000 * processor_s)
    quicker, slower = (on_card, on_processor) if card_s <= processor_s else (on_processor, on_card)
    slower.close()
    return quicker


def room_for_drafter(target: Path) -> int:
    """The bytes of graphics cards that what is likely to draft for this target would take: the drafter that lies beside
    it, or else the starter; 0 if that is not there, or the target is too small for it, or is the starter itself."""
    try:
        if (head := brought_by(target).file) is not None:
            return bytes_on_cards(head, TargetSettings())
        starter = starter_path()
        if target.stat().st_size < LARGER * starter.stat().st_size:
            return 0
        return bytes_on_cards(starter, TargetSettings(context_size=_most_held(facts_of(starter))))
    except (TargetMissing, OSError):
        return 0


def _most_held(found: TargetFacts) -> int:
    """The tokens for which a context has room next to the weights; in known drafters `MAX_HELD`. Raises
    DrafterUnusable."""
    room = max(_CONTEXT_BYTES, 2 * found.stamp.size_bytes)
    held = min(MAX_HELD, room // max(1, found.memory.token_bytes)) if found.memory else MAX_HELD
    if held < _MIN_HELD:
        raise DrafterUnusable("it takes far more memory per token than its weights take; choose another drafter.")
    return min(held, (found.details.trained_context if found.details else 0) or held)


def _refusal(name: str, path: Path, reason: str) -> str:
    """A sentence that does not repeat the name of the file, with which most reasons begin."""
    names = (path.name, model_name(path))
    if isinstance(reason, Sentence) and reason.template.startswith("{name} ") and reason.values.get("name") in names:
        reason = say(reason.template, **{**reason.values, "name": say("it")})
    return say("{name} cannot draft: {reason}", name=name, reason=reason)


def _ignore(_progress: float) -> None: ...
