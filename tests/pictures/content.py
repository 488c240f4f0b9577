"""What the pictures show: made-up chats, figures and models, as they might look after six weeks."""

from __future__ import annotations

import math
import os
import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from PIL import Image, ImageDraw, ImageFilter

from app.engine_bridge import EngineBridge
from engine.backend.storage import Repository
from engine.backend.storage.repository import FILE_NAME
from engine.speculation.learning.judge import Bets, Evidence
from engine.speculation.model.files.identity import file_identity
from engine.speculation.model.llama.runtime import read_runtime
from engine.values.conversations import Role
from engine.values.learned import CandidateRecord, VerifiedReply
from engine.values.pictures import Picture
from engine.values.prompts import AttachedPicture, join_prompt
from engine.values.quantizations import Distance, QuantizationFigures, QuantizationOffer, QuantizationSpeed, TuneReport
from engine.values.remote import RemoteModel, RemoteServer, ServerKind, reference_of
from engine.values.replies import OriginRun, ProposerCounts, ReplyStatistics, StopReason, TextKind, Thought
from engine.values.targets import HubFile, HubModel, TargetSource

DAYS = 40
STARTER_NAME = "SmolLM2-135M-Instruct.Q4_1"
LARGE_NAME = "Qwen2.5-7B-Instruct-Q4_K_M"
_PLAIN = {STARTER_NAME: 41.0, LARGE_NAME: 9.4}  # tokens per second without guesses


@cache
def rainbow() -> Picture:
    """Over a hill."""
    image = Image.new("RGB", (640, 480), "#a9c3da")
    brush = ImageDraw.Draw(image)
    for number, colour in enumerate(("#d8453e", "#e88b3a", "#ecd04b", "#5fae5a", "#4b86c8", "#6a5aa8", "#a9c3da")):
        reach = 300 - 13 * number
        brush.ellipse((320 - reach, 430 - reach, 320 + reach, 430 + reach), fill=colour)
    brush.ellipse((-200, 330, 560, 900), fill="#4d7a4a")
    brush.ellipse((240, 370, 1000, 940), fill="#3f6a41")
    data = BytesIO()
    image.filter(ImageFilter.GaussianBlur(2)).save(data, "JPEG", quality=92)
    return Picture(sha256(data.getvalue()).hexdigest(), data.getvalue(), image.width, image.height)


@dataclass(frozen=True)
class Chat:
    """A chat by turns, each a prompt and its reply. `versions`: other wordings of the last prompt, with replies.
    `thought`: before each reply."""

    days_ago: float
    turns: tuple[tuple[str, str], ...]
    kind: TextKind = TextKind.PROSE
    target: str = STARTER_NAME
    title: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    thought: str = ""
    pictures: tuple[Picture, ...] = ()  # that its prompts name


_STACK = '''Here is a small stack in Python:

```python
class Stack:
    """Last in, first out."""

    def __init__(self) -> None:
        self._items: list[object] = []

    def push(self, item: object) -> None:
        self._items.append(item)

    def pop(self) -> object:
        if not self._items:
            raise IndexError("the stack is empty")
        return self._items.pop()
```

`push` puts an item on top, and `pop` takes the last one away again. An empty stack raises an `IndexError` with words
of its own, so that whoever calls it learns what went wrong.'''

_QUEUE = '''A queue is the same with `popleft`, which takes the oldest item:

```python
from collections import deque


class Queue:
    """First in, first out."""

    def __init__(self) -> None:
        self._items: deque[object] = deque()

    def push(self, item: object) -> None:
        self._items.append(item)

    def pop(self) -> object:
        if not self._items:
            raise IndexError("the queue is empty")
        return self._items.popleft()
```

| | takes | cost |
|---|---|---|
| `Stack.pop` | the newest item | constant |
| `Queue.pop` | the oldest item | constant |'''

_TRAIN = """A weekend in the Lake District by train works well:

1. **Friday evening**: train to Windermere, change at Oxenholme.
2. **Saturday**: boat to Ambleside, walk up Loughrigg Fell, and back by the lake.
3. **Sunday**: Grasmere in the morning, home in the afternoon.

Pack a rain jacket, whatever the forecast says."""

_TRAIN_WITH_CHILDREN = """With children I would walk less and take the boat more often:

1. **Friday evening**: train to Windermere; have supper on the way.
2. **Saturday**: the steam boat to Lakeside and the aquarium there.
3. **Sunday**: a short round of Tarn Hows, with ducks, and home in the afternoon."""

_MEAL = """Three suppers from lentils, each in half an hour:

- **Soup** with carrots, cumin and a squeeze of lemon
- **Salad**, lukewarm, with feta and parsley
- **Bolognese**: brown the lentils with tomato paste first"""

_LETTER = """Dear Ms Turner,

thank you for the offer of 12 May. The price suits us; could the delivery be a week earlier, on 2 June? If so, we
should like to order all three desks.

With kind regards"""

_RAINBOW = """Sunlight enters a raindrop, is bent, reflected at its back and bent again on the way out. Red is bent a
little less than blue, so every colour leaves at an angle of its own: about 42 degrees for red, 40 for blue. You see
each colour from those drops that stand at its angle, which makes the bow."""

_BOW = r"""Light that enters a drop of water is bent by the law of refraction,

$$\sin\alpha = n \sin\beta,$$

and reflected at the back of the drop. What comes back makes an angle of \(D = 4\beta - 2\alpha\) with the sun's light.

It is largest near $42^\circ$ for red, where $n \approx 1.331$, and near $40^\circ$ for violet, where $n \approx 1.343$.
So red is outside, as in your picture."""

CODE_CHAT = Chat(
    0.02,
    (("Write a small stack in Python with push and pop.", _STACK), ("And the same as a queue, please.", _QUEUE)),
    TextKind.CODE,
    title="Stack and queue in Python",
)
BRANCHED_CHAT = Chat(
    1.0,
    (("Plan a weekend in the Lake District by train.", _TRAIN),),
    TextKind.LISTS,
    title="Weekend in the Lake District",
    versions=(("Plan a weekend in the Lake District by train, with two small children.", _TRAIN_WITH_CHILDREN),),
)
SEEN_CHAT = Chat(
    1.05,
    ((join_prompt([AttachedPicture("Rainbow.jpg", rainbow().digest)], "Why is red outside?"), _BOW),),
    title="Why red is outside",
    thought="The picture shows a single rainbow. Its outer edge is red. I should explain refraction in a drop.",
    pictures=(rainbow(),),
)
CHATS = (
    CODE_CHAT,
    BRANCHED_CHAT,
    SEEN_CHAT,
    Chat(1.1, (("Explain how a rainbow forms, in simple words.", _RAINBOW),), title="How rainbows form"),
    Chat(
        1.4, (("What can I cook from lentils in half an hour?", _MEAL),), TextKind.LISTS, title="Suppers from lentils"
    ),
    Chat(
        3.2, (("Write a reply to the offer for three desks.", _LETTER),), target=LARGE_NAME, title="Reply to the offer"
    ),
    Chat(4.5, (("How does a heat pump work?", _RAINBOW.replace("Sunlight", "Heat")),), title="Heat pumps"),
    Chat(6.1, (("A packing list for the train to Scotland", _TRAIN),), TextKind.LISTS, title="Packing for Scotland"),
)
_MODELS = (  # name, architecture, layers, width, tokens in the vocabulary, weights, bytes
    (LARGE_NAME, "qwen2", 28, 3584, 152_064, 7_616_000_000, 4_683_000_000),
    ("Llama-3.2-3B-Instruct-Q4_K_M", "llama", 28, 3072, 128_256, 3_213_000_000, 2_019_000_000),
    ("gemma-2-2b-it-Q4_K_M", "gemma2", 26, 2304, 256_000, 2_614_000_000, 1_708_000_000),
)
_OLDER = tuple(
    (title, text, kind)
    for titles in zip(
        ("What to cook for the garden club", "Cheap suppers", "A menu for Sunday", "Meals without meat"),
        ("A class for a stack", "Undo and redo", "History of a browser", "Tests for the stack"),
        ("Reply to the carpenter", "Order for the library", "Thank you to Ms Turner", "Delivery a week earlier"),
        ("Walks near Windermere", "Maps for Loughrigg Fell", "A rainy weekend", "Boats on the lake"),
        ("Why the sky is blue", "How a prism works", "Light in a raindrop", "What makes a halo"),
        ("A queue for the print server", "Who comes first?", "Jobs in their order", "A ring buffer"),
        ("A trip with the children", "Half-term plans", "Ducks and boats", "Aquariums up north"),
        strict=True,
    )
    for title, (text, kind) in zip(
        titles,
        (
            (_MEAL, TextKind.LISTS),
            (_STACK, TextKind.CODE),
            (_LETTER, TextKind.PROSE),
            (_TRAIN, TextKind.LISTS),
            (_RAINBOW, TextKind.PROSE),
            (_QUEUE, TextKind.CODE),
            (_TRAIN_WITH_CHILDREN, TextKind.LISTS),
        ),
        strict=True,
    )
)

NOTES_FILE = """# Garden club, 3 March

- The pond gets a new pump; Ahmed asks for offers.
- Seeds are swapped on 21 March, from two o'clock.
- The shed needs paint. Who has a ladder?
"""

HUB_MODELS = (
    HubModel("Qwen/Qwen2.5-7B-Instruct-GGUF", 1_240_000, 312, datetime(2026, 2, 11, tzinfo=UTC)),
    HubModel("bartowski/Qwen2.5-7B-Instruct-GGUF", 486_000, 141, datetime(2026, 1, 27, tzinfo=UTC)),
    HubModel("Qwen/Qwen2.5-Coder-7B-Instruct-GGUF", 402_000, 228, datetime(2026, 1, 19, tzinfo=UTC)),
    HubModel("unsloth/Qwen2.5-7B-Instruct-GGUF", 96_400, 37, datetime(2025, 12, 2, tzinfo=UTC)),
    HubModel("lmstudio-community/Qwen2.5-7B-Instruct-GGUF", 61_200, 22, datetime(2025, 11, 14, tzinfo=UTC)),
)
_WORKSTATION, _UNIVERSITY = "http://192.168.1.5:8080/v1", "https://models.example.org/v1"
SERVERS = (
    RemoteServer(
        "University", _UNIVERSITY, ServerKind.VLLM, True, is_agreed=True, models=(
            RemoteModel("gpt-oss-120b", reference_of(_UNIVERSITY, "gpt-oss-120b"), 131_072),
        ),
    ),
    RemoteServer(
        "Workstation", _WORKSTATION, ServerKind.LLAMA_SERVER, models=(
            RemoteModel("Qwen2.5-72B-Instruct", reference_of(_WORKSTATION, "Qwen2.5-72B-Instruct"), 32_768),
            RemoteModel("Qwen2.5-VL-32B", reference_of(_WORKSTATION, "Qwen2.5-VL-32B"), 32_768, True),
        ),
    ),
)  # fmt: skip
HUB_FILES = tuple(
    HubFile("Qwen/Qwen2.5-7B-Instruct-GGUF", f"qwen2.5-7b-instruct-{kind.lower()}.gguf", round(size * 1e9), kind)
    for kind, size in (
        ("Q2_K", 3.02), ("Q3_K_M", 3.81), ("Q4_0", 4.43), ("Q4_K_M", 4.68), ("Q5_K_M", 5.44), ("Q6_K", 6.25),
        ("Q8_0", 8.10), ("F16", 15.24),
    )
)  # fmt: skip

HUB_SPEEDS = (QuantizationSpeed("Q4_0", 1.0), QuantizationSpeed("Q4_K_M", 0.82), QuantizationSpeed("Q8_0", 0.49))
_FORMS = (("F16", 15.24), ("Q8_0", 8.10), ("Q6_K", 6.25), ("Q5_K_M", 5.44), ("Q4_K_S", 4.46), ("Q4_0", 4.43))
_MEASURED = (  # form, bytes, V(1) over the original's, V(4) and V(8) over V(1), distance
    ("Q8_0", 8.10e9, 1.67, 1.5, 2.2, Distance(0.0008, 0.0002, 0.99, 412)),
    ("Q4_0", 4.43e9, 0.82, 1.9, 3.3, Distance(0.046, 0.006, 0.92, 412)),
)

COMPARED_PROMPT = "Write a small stack in Python with push and pop."
COMPARED_TEXT = _STACK.replace("```python\n", "").replace("```", "")


def fill_store(folder: Path) -> None:
    """Chats with replies and their figures, and what was learned for a model that is not loaded."""
    models = folder.parent / "models"
    models.mkdir(parents=True)
    for model in _MODELS:
        _write_model(models / f"{model[0]}.gguf", *model)
    dice = random.Random(7)
    now = datetime.now(UTC)
    with closing(Repository.open(folder)) as repository:
        for name, *_, size in _MODELS:
            repository.add_target(TargetSource(models / f"{name}.gguf", name, size))
        dates = [date for chat in (*_older(dice), *reversed(CHATS)) for date in _keep(repository, chat, now, dice)]
        _keep_learned(repository, now)
        large = models / f"{LARGE_NAME}.gguf"
        repository.save_tune_report(file_identity(large), _tune_report(file_identity(large), now))
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection, connection:
        for message_id, at in dates:
            text = at.replace(tzinfo=None).isoformat(" ", "microseconds")
            connection.execute("UPDATE messages SET created_at = ? WHERE id = ?", (text, message_id))
        connection.execute(
            "UPDATE conversations SET updated_at = (SELECT max(created_at) FROM messages WHERE conversation_id = "
            "conversations.id), created_at = (SELECT min(created_at) FROM messages WHERE conversation_id = "
            "conversations.id)"
        )
        learned = [(at.replace(tzinfo=None).isoformat(" "), number) for number, at in _learning_times(now)]
        connection.executemany("UPDATE adapters SET created_at = ? WHERE id = ?", learned)


def form_offers(path: Path) -> tuple[QuantizationOffer, ...]:
    """What could be made of the large model; there is no room for the largest."""
    full = "There is no room for it in /home/robin/models."
    return tuple(
        QuantizationOffer(
            form,
            round(size * 1e9),
            path.with_name(f"{form}.gguf"),
            full if form == "F16" else "",
            is_usual=form in ("Q8_0", "Q4_0"),
        )
        for form, size in _FORMS
    )


def _tune_report(identity: str, now: datetime) -> TuneReport:
    def figures(
        form: str, size: float, one: float, four: float, eight: float, far: Distance | None
    ) -> QuantizationFigures:
        passes = tuple(
            (number, one * share / _PLAIN[LARGE_NAME]) for number, share in ((1, 1.0), (4, four), (8, eight))
        )
        return QuantizationFigures(form, identity if far is None else form, round(size), passes, 0.004, far)

    original = figures("Q4_K_M", 4.683e9, 1.0, 1.7, 2.9, None)
    return TuneReport(read_runtime().key, 4, now, original, tuple(figures(*each) for each in _MEASURED))


def origins_of(text: str, dice: random.Random) -> tuple[OriginRun, ...]:
    """Runs of whole words: longer ones from recall, shorter ones from the drafter."""
    runs: list[OriginRun] = []
    at = 0
    while at < len(text):
        origin = dice.choices(("target", "drafter", "recall"), (5, 3, 2))[0]
        length = {"target": 9, "drafter": 11, "recall": 42}[origin] * dice.uniform(0.6, 1.5)
        end = at + max(1, round(length))
        while end < len(text) and not text[end].isspace():
            end += 1
        end = min(end, len(text))
        if runs and runs[-1].origin == origin:
            runs[-1] = OriginRun(runs[-1].num_characters + end - at, origin)
        else:
            runs.append(OriginRun(end - at, origin))
        at = end
    return tuple(runs)


def _write_model(
    path: Path, name: str, architecture: str, num_layers: int, width: int, vocabulary: int, num_weights: int, size: int
) -> None:
    """A sparse file with the header of such a model; it takes no room on the disk and cannot be loaded."""
    writer = GGUFWriter(None, architecture)
    writer.add_name(name)
    writer.add_license("apache-2.0")
    writer.add_file_type(15)  # mostly Q4_K_M
    writer.add_context_length(32_768)
    writer.add_block_count(num_layers)
    writer.add_embedding_length(width)
    writer.add_head_count(width // 128)
    writer.add_head_count_kv(max(1, width // 896))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([f"{number}" for number in range(vocabulary)])
    writer.add_chat_template("{{ messages }}")
    kind = GGMLQuantizationType.Q4_K
    num_rows = num_weights // width
    num_bytes = num_rows * width // 256 * 144
    writer.add_tensor_info("weights", (num_rows, width // 256 * 144), np.dtype(np.uint8), num_bytes, kind)
    writer.write_header_to_file(path)
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    os.truncate(path, max(size, path.stat().st_size + num_bytes))


def _older(dice: random.Random) -> Iterator[Chat]:
    """One or two chats on most days."""
    number = 0
    for day in range(DAYS, 7, -1):
        for hour in range(dice.choice((0, 1, 1, 2))):
            title, text, kind = _OLDER[number % len(_OLDER)]
            target = LARGE_NAME if dice.random() < 0.3 else STARTER_NAME
            turns = ((title, text), ("Once more, and longer.", text), ("Thank you. Now the whole again.", text))
            yield Chat(day + hour / 9, turns, kind, target, title)
            number += 1


def _keep(repository: Repository, chat: Chat, now: datetime, dice: random.Random) -> Iterator[tuple[int, datetime]]:
    """Stores the chat. Yields the ids of its messages, and when they were written."""
    summary = repository.create_conversation(chat.title or chat.turns[0][0], "")
    at = now - timedelta(days=chat.days_ago, minutes=len(chat.turns) * 2)
    parent: int | None = None
    before_last: int | None = None
    thoughts = (Thought(0, chat.thought, 12.4, 302, True),) if chat.thought else ()
    for place, turn in enumerate((*chat.turns, *chat.versions)):
        if place < len(chat.turns):
            before_last = parent
        else:
            parent = before_last
        for role, text in zip((Role.USER, Role.ASSISTANT), turn, strict=True):
            at += timedelta(seconds=45)
            figures = None if role is Role.USER else _statistics(chat, text, dice)
            told = (
                (chat.target, figures, None, thoughts)
                if role is Role.ASSISTANT
                else (None, None, None, (), chat.pictures)
            )
            parent = repository.add_message(summary.id, parent, role, text, *told).id
            yield parent, at


def _statistics(chat: Chat, text: str, dice: random.Random) -> ReplyStatistics:
    """Later replies are faster, code more than prose."""
    plain = _PLAIN[chat.target]
    progress = 1 - chat.days_ago / DAYS
    gain = {TextKind.CODE: 0.75, TextKind.LISTS: 0.45, TextKind.PROSE: 0.25}.get(chat.kind, 0.3)
    ratio = (
        1.05 + gain * math.sqrt(max(0.0, progress)) + dice.gauss(0, 0.04) + (0.2 if chat.target == LARGE_NAME else 0)
    )
    tokens = max(40, round(len(text) / 3.6))
    seconds = tokens / (plain * ratio)
    per_round = 1 + (ratio - 1) * 1.7
    rounds = round(tokens / per_round)
    accepted = tokens - rounds
    runs = origins_of(text, dice)
    recalled = sum(run.num_characters for run in runs if run.origin == "recall")
    guessed = sum(run.num_characters for run in runs if run.origin != "target")
    by_recall = round(accepted * recalled / max(1, guessed))
    return ReplyStatistics(
        prompt_tokens=120,
        evaluated_tokens=34,
        reply_tokens=tokens,
        prompt_s=0.21,
        reply_s=seconds,
        stop_reason=StopReason.END,
        context_used=120 + tokens,
        context_size=8192,
        num_rounds=rounds,
        num_drafted=round(accepted / 0.71),
        num_accepted=accepted,
        plain_tokens_per_s=plain,
        plain_error=0.04,
        draft_s=seconds * 0.14,
        check_s=seconds * 0.79,
        kind=chat.kind,
        origins=runs,
        proposers=(
            ProposerCounts("drafter", rounds, round((accepted - by_recall) / 0.71), accepted - by_recall),
            ProposerCounts("recall", rounds // 4, round(by_recall / 0.71), by_recall),
        ),
    )


def _learning_times(now: datetime) -> Sequence[tuple[int, datetime]]:
    return [(number, now - timedelta(days=days)) for number, days in ((1, 31), (2, 19), (3, 8))]


def _keep_learned(repository: Repository, now: datetime) -> None:
    pair = "a vocabulary of pictures", "a drafter of pictures"
    for message_id in _keep_scores(repository, pair, LARGE_NAME):
        repository.save_recall(pair[0], {message_id: list(range(240))})
    for number, (before, after) in enumerate(((0.62, 0.71), (0.62, 0.78), (0.63, 0.84)), start=1):
        repository.save_adapter(*pair, before, after, 24, 12 * number, b"weights")
    for days in range(31):
        if days % 3:
            repository.add_learning_time((now - timedelta(days=days)).date(), 7.0 + (days % 7))


def _keep_scores(repository: Repository, pair: tuple[str, str], target: str) -> Sequence[int]:
    """Lessons and scores of all replies of the target, whose ids are returned. The first third came before there was
    an adapter."""
    distributions = np.tile(np.arange(4, dtype=np.int32), (12, 1))
    reply = VerifiedReply(np.arange(12, dtype=np.int32), distributions, np.full((12, 4), -1.5, np.float16))
    dice = random.Random(5)
    replies = {
        message.id: message.statistics
        for summary in repository.list_conversations()
        for message in repository.open_conversation(summary.id).messages
        if message.target_name == target and message.statistics is not None
    }
    usual = {TextKind.CODE: (2.6, 0.3), TextKind.LISTS: (2.2, 0.2), TextKind.PROSE: (1.8, 0.14)}
    for place, message_id in enumerate(sorted(replies)):
        repository.save_lesson(pair[0], message_id, reply, 400)
        per_round, gain = usual[replies[message_id].kind]
        num_tokens, progress = replies[message_id].reply_tokens, place / len(replies) - 0.3
        before = num_tokens / (per_round + dice.gauss(0, 0.1))
        saved = gain * math.sqrt(progress) * dice.uniform(0.6, 1.4) if progress > 0 else 0.0
        repository.save_score(*pair, message_id, num_tokens, before, before / (1 + saved))
    return sorted(replies)


def keep_adapters(bridge: EngineBridge, folder: Path) -> None:
    """Stores adapters and scores for the loaded model and drafter, as learning would; the last one is in use."""
    drafting = bridge.engine._services.learning._drafting
    assert drafting is not None
    assert drafting.teachable is not None
    adapter = drafting.teachable.make_learner().candidate.to_bytes()
    pair = drafting.target_fingerprint, drafting.drafter_fingerprint
    with closing(Repository.open(folder)) as repository:
        numbers = [
            repository.save_adapter(*pair, 0.58, after, 24, num_learned, adapter).number
            for after, num_learned in ((0.66, 22), (0.73, 41), (0.79, 66))
        ]
        last = _keep_scores(repository, pair, STARTER_NAME)[-1]
        bets = Bets()
        while not bets.is_won:
            bets = bets.after(0.5)
        evidence = Evidence(better=bets).numbers
        repository.save_candidate(*pair, CandidateRecord(numbers[-1], last, last, 66, evidence, b""))
    now = datetime.now(UTC)
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection, connection:
        for number, days in zip(numbers, (27, 15, 4), strict=True):
            at = (now - timedelta(days=days)).replace(tzinfo=None).isoformat(" ")
            connection.execute("UPDATE adapters SET created_at = ? WHERE id = ?", (at, number))
