"""How a drafter is made: conversations, what the target thinks of them, a model to train, training, a folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from engine.config import DistillSettings
from engine.drafter.tokenizer import DrafterTokenizer
from engine.errors import DrafterUnusable, FileUnusable
from engine.lab.distillation.card import write_card
from engine.lab.distillation.cut import Cut, CutShape, check_cut, cut_drafter
from engine.lab.distillation.folder import read_drafter, write_drafter
from engine.lab.distillation.progress import DistillProgress, Judgement
from engine.lab.distillation.source import GgufSource
from engine.lab.distillation.teacher import OpenTeacher, label_lessons
from engine.lab.distillation.training import Lessons, TrainingSettings, train
from engine.lab.distillation.work import WorkFolder, is_begun
from engine.learning.corpus import CorpusLesson, corpus_files, read_lessons
from engine.learning.files import told_in_words, write_whole
from engine.learning.labels import Labels, read_labels
from engine.learning.samples import LabelTable, SampleMaker, spellings
from engine.messages.conversations import ChatTurn, Role
from engine.target.interface import Vocabulary

# What the starter's template says by itself, where a conversation has no system prompt.
_UNSAID_SYSTEM_PROMPTS = frozenset({"You are a helpful AI assistant named SmolLM, trained by Hugging Face"})
_HELD_BACK_SHARE = 20  # every so many lessons, one, where none are given to be held back
_MOST_HELD_BACK = 256
_NUM_WATCHED = 48  # of these, while it trains

Tell = Callable[[DistillProgress], None]


@dataclass(frozen=True, slots=True)
class TargetSide:
    """What the making of a drafter needs of its target."""

    open_source: Callable[[], GgufSource]
    vocabulary: Vocabulary
    invent: Callable[[Path, Tell], None]  # writes a corpus into a folder, or goes on with it
    open_teacher: OpenTeacher
    judge: Callable[[Path, Path, float], Judgement]  # of a drafter's folder, a file of held-back replies, minutes


@dataclass(frozen=True, slots=True)
class _Read:
    """Lessons of one file, and what the target thought where that is known."""

    lessons: list[CorpusLesson]
    labels: Mapping[int, Labels]  # by line


def make_drafter(settings: DistillSettings, target: TargetSide, folder: Path, on_progress: Tell) -> None:
    """Makes a drafter in `folder`, which gets its name when all of it is written. Killed, it goes on where it was when
    it is called again with the same settings.

    Raises TargetUnsupported, FileUnusable, also when something cannot be written, DrafterUnusable when there is
    something at `folder` already, and what the target raises.
    """
    if folder.exists():
        raise DrafterUnusable(f"{folder} exists already; remove it, or choose another folder.")
    with told_in_words(folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
    identity, place = _identity(settings), settings.work or folder.with_name(folder.name + ".work")
    is_begun(place, identity)  # told before anything takes long, and nothing is written for what cannot begin
    begin = _beginning(settings, target)
    work = WorkFolder(place, identity)
    if not settings.corpus:
        target.invent(work.corpus, on_progress)
    read = _read(settings, target, work, on_progress)
    corpus, held_back = _split(settings, read, target)
    cut = begin([lesson for part in corpus for lesson in part.lessons])
    if not work.drafter.exists():
        write_drafter(work.drafter, cut, "")
    _write_held_back(work.held_back, held_back, target.vocabulary)
    tokenizer = DrafterTokenizer.from_folder(work.drafter)
    strings = spellings(target.vocabulary, tokenizer, cut.num_outputs)
    maker = SampleMaker(target.vocabulary, tokenizer, strings, _UNSAID_SYSTEM_PROMPTS)
    samples, labels = LabelTable.joined([maker.make(part.lessons, part.labels) for part in corpus])
    judges, _ = maker.make(held_back, {})
    if not samples or not judges:
        raise FileUnusable(
            "There are too few conversations to learn from some and judge by others; give more, or others to hold back."
        )
    lessons = Lessons(samples, labels, judges[:_NUM_WATCHED])
    training = TrainingSettings(
        60 * settings.minutes, settings.learning_rate, settings.seed, judge_every_s=60 * settings.judge_every_minutes
    )

    def judge(seconds: float) -> Judgement:
        write_drafter(work.drafter, cut, "", replace=True)
        judgement = target.judge(work.drafter, work.held_back, seconds / 60)
        on_progress(judgement)
        return judgement

    state = train(cut.model, cut.num_outputs, lessons, training, work.checkpoint, on_progress, judge)
    card = write_card(settings, cut, samples, labels, state, judges, judge(state.seconds))
    write_drafter(folder, cut, card)


def _identity(settings: DistillSettings) -> dict[str, object]:
    """What must be the same for a making to go on where it was: settings, and what stands in the files they name."""
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


def _read(settings: DistillSettings, target: TargetSide, work: WorkFolder, on_progress: Tell) -> list[_Read]:
    """Invented conversations come with labels; given ones are read by the target once more."""
    pieces = target.vocabulary.pieces
    read = []
    for number, path in enumerate(corpus_files(settings.corpus or (work.corpus,))):
        lessons = list(read_lessons(path, pieces))
        files = [path.with_suffix(".safetensors")]
        if not files[0].is_file():
            wanted = settings.labels
            files = label_lessons(lessons, target.open_teacher, work.labels(number), on_progress) if wanted else []
        read.append(_Read(lessons, read_labels(files, {lesson.line: lesson for lesson in lessons})))
    return read


def _split(
    settings: DistillSettings, read: Sequence[_Read], target: TargetSide
) -> tuple[list[_Read], list[CorpusLesson]]:
    """What is learned from, and what is held back to judge by."""
    if settings.held_back:
        files = corpus_files(settings.held_back)
        held_back = list(chain.from_iterable(read_lessons(path, target.vocabulary.pieces) for path in files))
        return list(read), held_back[:_MOST_HELD_BACK]
    held_back = [lesson for part in read for lesson in part.lessons[::_HELD_BACK_SHARE]][:_MOST_HELD_BACK]
    kept = {id(lesson) for lesson in held_back}
    rest = [_Read([lesson for lesson in part.lessons if id(lesson) not in kept], part.labels) for part in read]
    return rest, held_back


def _beginning(settings: DistillSettings, target: TargetSide) -> Callable[[Sequence[CorpusLesson]], Cut]:
    """What makes the model to train: one that exists, or one cut out of the target once the lessons are known. What
    cannot be made is told before anything takes long."""
    start = None if settings.start is None else read_drafter(settings.start)
    if start is not None and settings.layers is None:
        return lambda _lessons: start
    source = target.open_source()
    shape = CutShape(settings.layers, settings.vocabulary_size, settings.num_outputs, settings.feed_forward)
    check_cut(source, shape)
    return lambda lessons: cut_drafter(source, shape, (_text(lesson, target.vocabulary) for lesson in lessons), start)


def _write_held_back(path: Path, lessons: Sequence[CorpusLesson], vocabulary: Vocabulary) -> None:
    """As recorded replies, for the judge."""
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
    return turn.role is not Role.SYSTEM or turn.text not in _UNSAID_SYSTEM_PROMPTS


def _text(lesson: CorpusLesson, vocabulary: Vocabulary) -> str:
    said = [token for token in lesson.reply.tolist() if token not in vocabulary.end_of_generation]
    return b"".join(vocabulary.pieces[token] for token in said).decode("utf-8", "replace")
