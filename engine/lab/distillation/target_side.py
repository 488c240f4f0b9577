"""The target in all its roles in the making of a drafter, and the bench as the judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from engine.lab.distillation.cut import GgufSource
from engine.lab.distillation.invent import invent
from engine.lab.distillation.progress import DistillProgress, Judgement, TextFigures
from engine.lab.distillation.teacher import TargetTeacher, Teacher, TorchTeacher, free_memory
from engine.lab.measuring.measurement import Measurement
from engine.lab.measuring.order import ALWAYS_DRAFTING, TRACE, BenchOrder
from engine.lab.measuring.prompts import read_prompts
from engine.speculation.learning.judge import DRAFT_LENGTH
from engine.speculation.model.chat.chat_template import ChatTemplate, usual_template
from engine.speculation.model.llama.batch import BatchTarget
from engine.speculation.model.llama.llama_cpp import LlamaCppTarget
from engine.speculation.model.llama.opening import check_file
from engine.speculation.model.llama.vocabulary import load_vocabulary
from engine.values.config import TargetSettings
from engine.values.distilling import DistillSettings
from engine.values.errors import TargetUnsupported
from engine.values.stop_signal import StopSignal
from engine.values.targets import TargetSource

_JUDGED_REPLIES = 24  # of each kind
_JUDGED_TOKENS = 128  # of each reply
_BYTES_PER_WEIGHT = 3  # of a target in torch: bfloat16, and room to work in
_CONTEXT_SIZE = 1024  # tokens, if given replies are read by llama.cpp

OpenBench = Callable[[Path, BenchOrder], Measurement]  # with the drafter in a folder
MeasureStep = Callable[[Path], float]  # seconds of a draft step of the drafter in a folder


class TargetSide:
    """One target as author of a corpus, as the model that a drafter is cut from, as teacher and as judge. It is loaded
    again for each, in the form that suits it."""

    def __init__(self, settings: DistillSettings, file: TargetSource) -> None:
        """Raises TargetUnusable, even for the targets of recorded replies, and FileUnusable for these."""
        self._settings = settings
        self._file = file
        check_file(file.path)
        words = load_vocabulary(file.path)
        self.vocabulary = words.vocabulary
        words.close()
        for path, replies in settings.traces:  # early: they are needed only after hours
            read_prompts(replies, 1, recorded=True)
            load_vocabulary(path).close()

    @cached_property
    def source(self) -> GgufSource:
        """Its weights, which take seconds to open. Raises TargetUnsupported."""
        return GgufSource(self._file.path)

    def invent(self, corpus: Path, on_progress: Callable[[DistillProgress], None]) -> None:
        """Writes a corpus into a folder, or continues it. Raises what `engine.lab.distillation.invent` raises."""
        path, name = self._file.path, self._file.name
        target = BatchTarget.load(path, name, TargetSettings(), lambda _progress: None, StopSignal())
        try:
            begin, end = map(self.vocabulary.text_of, (self.vocabulary.begin, self.vocabulary.end))
            about = target.description
            template = ChatTemplate(about.chat_template or usual_template(self.vocabulary, about.names), begin, end)
            invent(target, template, corpus, self._settings.conversations, self._settings.seed, on_progress)
        finally:
            target.close()

    @contextmanager
    def open_teacher(self) -> Iterator[Teacher]:
        if self._can_run_in_torch():
            yield TorchTeacher(self.source)
            return
        settings, stop = TargetSettings(context_size=_CONTEXT_SIZE), StopSignal()
        target = LlamaCppTarget.load(self._file.path, self._file.name, settings, lambda _progress: None, stop)
        try:
            yield TargetTeacher(target, stop)
        finally:
            target.close()

    def judge(
        self, drafter: Path, held_back: Path, minutes: float, open_bench: OpenBench, measure_step: MeasureStep
    ) -> Judgement:
        """The judgement of the drafter in a folder, after that many minutes of training; `held_back` is a file of
        recorded replies."""
        texts = [("replies of this target, held back", self._file.path, held_back)]
        texts += [(replies.stem, words, replies) for words, replies in self._settings.traces]
        benches = ((name, _order(words, replies)) for name, words, replies in texts)
        figures = tuple(_figures(name, open_bench(drafter, order)) for name, order in benches)
        return Judgement(minutes, measure_step(drafter) * 1e3, figures)

    def _can_run_in_torch(self) -> bool:
        """True if torch computes what the target does, in the memory that is free."""
        try:
            source = self.source
        except TargetUnsupported:
            return False
        return not source.scales_positions and _BYTES_PER_WEIGHT * source.num_weights < free_memory()


def _order(vocabulary: Path, replies: Path) -> BenchOrder:
    return BenchOrder(
        target=f"{TRACE}{vocabulary}",
        prompts=replies,
        limit=_JUDGED_REPLIES,
        modes=(ALWAYS_DRAFTING,),
        max_tokens=_JUDGED_TOKENS,
        draft_length=DRAFT_LENGTH,
    )


def _figures(name: str, measurement: Measurement) -> TextFigures:
    try:
        modes: Any = measurement.run(StopSignal())["modes"]
    finally:
        measurement.close()
    figures = modes[ALWAYS_DRAFTING]
    accepted = tuple(place["stood"] / place["checked"] for place in figures["by_place"])
    return TextFigures(name, figures["tokens_per_round"], accepted)
