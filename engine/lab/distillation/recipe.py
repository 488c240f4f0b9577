"""The making of a drafter: conversations, the target's distributions in them, a model to train, training, a folder."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import torch

from engine.lab.distillation.corpus import corpus_files, read_labels, read_lessons
from engine.lab.distillation.cut import Cut, CutShape, check_cut, cut_drafter
from engine.lab.distillation.folder import read_drafter, write_drafter
from engine.lab.distillation.progress import DistillProgress, Judgement
from engine.lab.distillation.target_side import MeasureStep, OpenBench, TargetSide
from engine.lab.distillation.teacher import label_lessons
from engine.lab.distillation.training import DistillationSettings, Lessons, TrainingState, train
from engine.lab.distillation.work import WorkFolder, write_whole, writing_to
from engine.speculation.drafter.tokenizer import DrafterTokenizer
from engine.speculation.learning.evaluation import count_hits
from engine.speculation.learning.samples import CorpusLesson, Labels, SampleMaker, join_samples, spellings
from engine.speculation.model.interface import Vocabulary
from engine.values.conversations import ChatTurn, Role
from engine.values.distilling import DistillSettings
from engine.values.errors import DrafterUnusable, FileUnusable
from engine.values.targets import TargetSource

# Added by the starter's template if a conversation has no system prompt.
_DEFAULT_SYSTEM_PROMPTS = frozenset({"You are a helpful AI assistant named SmolLM, trained by Hugging Face"})
_HELD_BACK_EVERY = 20  # one lesson in 20, if no others are given to hold back
_MAX_HELD_BACK = 256

OnProgress = Callable[[DistillProgress], None]


@dataclass(frozen=True, slots=True)
class LabelledLessons:
    """The lessons of one file, with labels if these are known."""

    lessons: list[CorpusLesson]
    labels: Mapping[int, Labels]  # by line


def distill(
    settings: DistillSettings,
    file: TargetSource,
    folder: Path,
    on_progress: OnProgress,
    open_bench: OpenBench,
    measure_step: MeasureStep,
) -> None:
    """Makes a drafter in `folder`, which gets its name when all of it is written. After a kill, it resumes when it is
    called again with the same settings.

    Raises TargetUnsupported, TargetUnusable, FileUnusable, even when something cannot be written, DrafterUnusable when
    `folder` exists already, and what the target raises.
    """
    target = TargetSide(settings, file)
    make_model = _model_maker(settings, target)
    work = begin(settings, folder)
    if not settings.corpus:
        target.invent(work.corpus, on_progress)
    parts, held_back = split(settings, _read(settings, target, work, on_progress), target)
    cut = make_model([lesson for part in parts for lesson in part.lessons])
    if not work.drafter.exists():
        write_drafter(work.drafter, cut, "")
    _write_held_back(work.held_back, held_back, target.vocabulary)
    lessons = _lessons(parts, held_back, work.drafter, target.vocabulary, cut.num_outputs)
    training = DistillationSettings(
        60 * settings.minutes, settings.learning_rate, settings.seed, judge_every_s=60 * settings.judge_every_minutes
    )

    def judge(seconds: float) -> Judgement:
        write_drafter(work.drafter, cut, "", replace=True)
        judgement = target.judge(work.drafter, work.held_back, seconds / 60, open_bench, measure_step)
        on_progress(judgement)
        return judgement

    state = train(cut.model, cut.num_outputs, lessons, training, work.checkpoint, on_progress, judge)
    write_drafter(folder, cut, write_card(settings, cut, lessons, state, judge(state.seconds)))


def begin(settings: DistillSettings, folder: Path) -> WorkFolder:
    """The folder for the state of making `folder`. Raises DrafterUnusable when that exists already, and
    FileUnusable."""
    if folder.exists():
        raise DrafterUnusable(f"{folder} exists already; remove it, or choose another folder.")
    with writing_to(folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
    work = WorkFolder(settings.work or folder.with_name(folder.name + ".work"), _identity(settings))
    work.begin()
    return work


def _identity(settings: DistillSettings) -> dict[str, object]:
    """All that must be the same to resume: settings, and the contents of the files they name."""
    files = [*corpus_files(settings.corpus)] if settings.corpus else []
    files += corpus_files(settings.held_back) if settings.held_back else []
    if settings.start is not None:
        files += sorted(settings.start.glob("*.safetensors"))
    return settings.identity | {"files": {str(file.resolve()): _digest(file) for file in files}}


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise FileUnusable(f"{file} cannot be read ({error.strerror}); choose another file.") from error


def _read(
    settings: DistillSettings, target: TargetSide, work: WorkFolder, on_progress: OnProgress
) -> list[LabelledLessons]:
    """Reads lessons: invented conversations come with labels; for given ones the target's teacher writes them."""
    parts = []
    for number, path in enumerate(corpus_files(settings.corpus or (work.corpus,))):
        lessons = list(read_lessons(path, target.vocabulary.pieces))
        labels = path.with_suffix(".safetensors")
        files = [labels] if labels.is_file() else []
        if settings.labels and not files:
            files = label_lessons(lessons, target.open_teacher, work.labels(number), on_progress)
        parts.append(LabelledLessons(lessons, read_labels(files, {lesson.line: lesson for lesson in lessons})))
    return parts


def split(
    settings: DistillSettings, parts: list[LabelledLessons], target: TargetSide
) -> tuple[list[LabelledLessons], list[CorpusLesson]]:
    """The lessons to learn from, and those held back to judge by."""
    if settings.held_back:
        files = corpus_files(settings.held_back)
        held_back = list(chain.from_iterable(read_lessons(path, target.vocabulary.pieces) for path in files))
        return parts, held_back[:_MAX_HELD_BACK]
    held_back = [lesson for part in parts for lesson in part.lessons[::_HELD_BACK_EVERY]][:_MAX_HELD_BACK]
    taken = {id(lesson) for lesson in held_back}
    rest = [
        LabelledLessons([lesson for lesson in part.lessons if id(lesson) not in taken], part.labels) for part in parts
    ]
    return rest, held_back


def _model_maker(settings: DistillSettings, target: TargetSide) -> Callable[[Sequence[CorpusLesson]], Cut]:
    """Makes the model to train: one that exists, or one cut out of the target once the lessons are known. Raises what
    making it would raise before anything takes long."""
    start = None if settings.start is None else read_drafter(settings.start)
    if start is not None and settings.layers is None:
        if settings.target_vocabulary and start.num_outputs < len(target.vocabulary):
            raise DrafterUnusable(
                "The drafter to start from has a vocabulary of its own; name the layers to keep with --layers, and its "
                "weights are taken into a drafter with the vocabulary of the model."
            )
        return lambda _lessons: start
    source = target.source
    vocabulary = None if settings.target_vocabulary else settings.vocabulary_size
    shape = CutShape(settings.layers, vocabulary, settings.num_outputs, settings.feed_forward)
    check_cut(source, shape)
    return lambda lessons: cut_drafter(source, shape, (_text(lesson, target.vocabulary) for lesson in lessons), start)


def _lessons(
    parts: Sequence[LabelledLessons],
    held_back: Sequence[CorpusLesson],
    drafter: Path,
    vocabulary: Vocabulary,
    num_outputs: int,
) -> Lessons:
    tokenizer = DrafterTokenizer.from_folder(drafter)
    strings = spellings(vocabulary, tokenizer, num_outputs)
    maker = SampleMaker(vocabulary, tokenizer, strings, _DEFAULT_SYSTEM_PROMPTS)
    samples, labels = join_samples(maker.make(part.lessons, part.labels) for part in parts)
    judges, _ = maker.make(held_back, {})
    if not samples or not judges:
        raise FileUnusable(
            "There are too few conversations to learn from some and judge by others; give more, or others to hold back."
        )
    return Lessons(samples, labels, judges)


def _write_held_back(path: Path, lessons: Sequence[CorpusLesson], vocabulary: Vocabulary) -> None:
    """Writes recorded replies, for the judge."""
    records = [
        {
            "id": str(lesson.line),
            "prompt": lesson.turns[-1].text,
            "messages": [{"role": turn.role.value, "content": turn.text} for turn in lesson.turns if _is_said(turn)],
            "response": _text(lesson, vocabulary),
        }
        for lesson in lessons
        if lesson.turns[-1].role is Role.USER and lesson.turns[-1].text.strip() and _text(lesson, vocabulary).strip()
    ]
    if not records:
        raise FileUnusable("No conversation that is held back is a question and a reply; hold others back.")
    write_whole(path, "".join(json.dumps(record) + "\n" for record in records).encode())


def _is_said(turn: ChatTurn) -> bool:
    return turn.role is not Role.SYSTEM or turn.text not in _DEFAULT_SYSTEM_PROMPTS


def _text(lesson: CorpusLesson, vocabulary: Vocabulary) -> str:
    said = [token for token in lesson.reply.tolist() if token not in vocabulary.end_of_generation]
    return b"".join(vocabulary.pieces[token] for token in said).decode("utf-8", "replace")


def write_card(
    settings: DistillSettings,
    cut: Cut,
    lessons: Lessons,
    state: TrainingState,
    judgement: Judgement,
) -> str:
    hits = count_hits(cut.model, cut.num_outputs, lessons.held_back)
    shape = cut.model.config
    num_learned = sum(int((sample.weights > 0).sum()) for sample in lessons.samples)
    labelled = sum(int((sample.rows >= 0).sum()) for sample in lessons.samples) / max(1, num_learned)
    places = ", ".join(f"{share:.3f}" for share in hits.by_place)
    origin = ", ".join(path.name for path in settings.corpus) or f"{settings.conversations:,} that it invented"
    texts = "".join(
        f"| {text.name} | {text.tokens_per_round:.3f} | {', '.join(f'{share:.3f}' for share in text.accepted)} |\n"
        for text in judgement.texts
    )
    return f"""---
license: {settings.licence_name}
---
# A drafter for Slipstream

A small Llama-type model that drafts for a target. It is not meant for chats.

| | |
|---|---|
| {_origin(settings, shape.num_hidden_layers)} |
| shape | {shape.num_hidden_layers} layers, {shape.hidden_size} wide, {shape.intermediate_size} neurons each |
| vocabulary | {_vocabulary(settings, shape.vocab_size, cut.num_outputs)} |
| size | {sum(weight.numel() for weight in cut.model.parameters()) / 1e6:.1f} million weights, int8 |
| data | conversations that the target wrote itself ({origin}): {num_learned:,} reply tokens |
| loss | the target's own distribution where it is known ({labelled:.0%} of the tokens, the \
{lessons.labels.tokens.shape[1]} likeliest each) and the token it wrote; loops weighted down |
| training | {state.step:,} steps in {state.seconds / 60:.0f} minutes, {state.epoch + 1} epochs begun; AdamW, \
{settings.learning_rate:g}, cosine |
| machine | {platform.machine()}, {torch.get_num_threads()} threads, {next(cut.model.parameters()).device.type} |
| greedy agreement | {hits.agreement:.3f} of all tokens of {len(lessons.held_back)} replies held back, \
in its own tokens |
| by place in a draft | {places} of the first, second, … token, if those before it were accepted |
| a draft step | {judgement.step_ms:.2f} ms on that machine |
| licence | {settings.licence_name} |

As it runs, in the target's tokens, drafts of four tokens, greedy:

| replies | tokens per round | draft tokens accepted, 1st, 2nd, … |
|---|---|---|
{texts}
Made with:

    {settings.command}
"""


def _vocabulary(settings: DistillSettings, size: int, outputs: int) -> str:
    if settings.target_vocabulary:
        return f"that of {settings.target}: {size:,} tokens, all of which it can guess"
    return f"{size:,} tokens to read, the {outputs:,} most frequent of them to guess"


def _origin(settings: DistillSettings, num_layers: int) -> str:
    start = "" if settings.start is None else f"the drafter of the folder `{settings.start.name}`"
    if settings.layers is None and start:
        return f"made from | {start}, trained on with {settings.target}"
    layers = "the first and the last" if settings.layers is None else ", ".join(map(str, settings.layers))
    warm = f"; layers and embeddings as {start} had them" if start else ""
    return f"cut from | {settings.target}: {'layer' if num_layers == 1 else 'layers'} {layers}{warm}"
