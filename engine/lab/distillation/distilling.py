"""Brings together what making a drafter takes: the target in several guises, and the bench as the judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from engine.config import DistillSettings, TargetSettings
from engine.errors import TargetUnsupported
from engine.lab.distillation.progress import Judgement, TextFigures
from engine.lab.distillation.recipe import TargetSide, Tell, make_drafter
from engine.lab.distillation.source import GgufSource
from engine.lab.distillation.teacher import TargetTeacher, Teacher, TorchTeacher, free_memory
from engine.lab.measuring.measurement import Measurement
from engine.lab.measuring.order import ALWAYS_DRAFTING, TRACE, BenchOrder
from engine.lab.measuring.prompts import read_prompts
from engine.learning.evaluation import DRAFT_LENGTH
from engine.messages.targets import TargetSource
from engine.stop_signal import StopSignal
from engine.target.chat_template import CHATML, ChatTemplate
from engine.target.interface import Target

_JUDGED_REPLIES = 24  # of each kind
_JUDGED_TOKENS = 128  # of each reply
_BYTES_PER_WEIGHT = 3  # that torch takes for a target: bfloat16, and room to work in
_CONTEXT_SIZE = 1024  # tokens: where given replies are read by llama.cpp

OpenBench = Callable[[Path, BenchOrder], Measurement]  # with the drafter in a folder
MeasureStep = Callable[[Path], float]  # seconds of a draft step of the drafter in a folder


def distill(
    settings: DistillSettings,
    file: TargetSource,
    folder: Path,
    on_progress: Tell,
    open_bench: OpenBench,
    measure_step: MeasureStep,
) -> None:
    """Raises what `make_drafter` raises, FileUnusable and TargetUnusable for recorded replies."""
    # Here, because llama.cpp is slow to load.
    from engine.target.llama_cpp import LlamaCppTarget
    from engine.target.opening import check_file
    from engine.target.vocabulary import load_vocabulary

    check_file(file.path)
    source = load_vocabulary(file.path)
    vocabulary = source.vocabulary
    source.close()
    for words, replies in settings.traces:  # better now than when they are needed first
        read_prompts(replies, 1, recorded=True)
        load_vocabulary(words).close()
    never = StopSignal()

    @cache  # seconds
    def open_source() -> GgufSource:
        return GgufSource(file.path)

    def invent(corpus: Path, tell: Tell) -> None:
        from engine.lab.distillation.invent import invent as write_corpus
        from engine.target.batch import BatchTarget

        target = BatchTarget.load(file.path, file.name, TargetSettings(), lambda _progress: None, never)
        try:
            description = target.description
            begin, end = (_piece(vocabulary.pieces, token) for token in (vocabulary.begin, vocabulary.end))
            template = ChatTemplate(description.chat_template or CHATML, begin, end)
            write_corpus(target, template, corpus, settings.conversations, settings.seed, tell)
        finally:
            target.close()

    @contextmanager
    def open_teacher() -> Iterator[Teacher]:
        if _torch_can_read(open_source):
            yield TorchTeacher(open_source())
            return
        context = TargetSettings(context_size=_CONTEXT_SIZE)
        target: Target = LlamaCppTarget.load(file.path, file.name, context, lambda _progress: None, never)
        try:
            yield TargetTeacher(target, never)
        finally:
            target.close()

    def judge(drafter: Path, held_back: Path, minutes: float) -> Judgement:
        texts = [("replies of this target, held back", file.path, held_back)]
        texts += [(replies.stem, words, replies) for words, replies in settings.traces]
        figures = tuple(_judge(name, words, replies, drafter, open_bench) for name, words, replies in texts)
        return Judgement(minutes, measure_step(drafter) * 1e3, figures)

    make_drafter(settings, TargetSide(open_source, vocabulary, invent, open_teacher, judge), folder, on_progress)


def _torch_can_read(open_source: Callable[[], GgufSource]) -> bool:
    """As the target itself does, and with the memory there is."""
    try:
        source = open_source()
    except TargetUnsupported:
        return False
    return not source.scales_positions and _BYTES_PER_WEIGHT * source.num_weights < free_memory()


def _judge(name: str, vocabulary: Path, replies: Path, drafter: Path, open_bench: OpenBench) -> TextFigures:
    """Recorded replies, drafted for as the app drafts."""
    order = BenchOrder(
        target=f"{TRACE}{vocabulary}",
        prompts=replies,
        limit=_JUDGED_REPLIES,
        modes=(ALWAYS_DRAFTING,),
        max_tokens=_JUDGED_TOKENS,
        draft_length=DRAFT_LENGTH,
    )
    measurement = open_bench(drafter, order)
    try:
        modes: Any = measurement.run(StopSignal())["modes"]
    finally:
        measurement.close()
    figures = modes[ALWAYS_DRAFTING]
    stood = tuple(place["stood"] / place["checked"] for place in figures["by_place"])
    return TextFigures(name, figures["tokens_per_round"], stood)


def _piece(pieces: Sequence[bytes], token: int | None) -> str:
    return "" if token is None else pieces[token].decode("utf-8", "replace")
