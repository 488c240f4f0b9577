"""Files that cannot draft, in the real engine: each is told in a sentence, and replies go on with recall alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import Engine, EngineConfig, ReplySettings, SamplingSettings, TargetSettings
from engine.speculation.model.files.sources import starter_path
from engine.speculation.model.interface import Target
from engine.speculation.numerics.draft_length import PassCosts
from engine.values.draft_policy import KnownCosts
from engine.values.events import ReplyFinished, SpeculationChanged, TargetReady
from engine.values.orders import Send
from engine.values.replies import ReplyStatistics, StopReason
from engine.values.stop_signal import StopSignal
from engine.values.targets import LoadOrder
from tests.fakes.listener import EventQueue
from tests.fakes.proposers import FREE
from tests.fakes.tiny_models import tiny_llama, tiny_mamba
from tests.unit.engine.speculation.model.files.test_brought import UNFIT

pytestmark = pytest.mark.starter

PROMPT = "Write a Python function that sorts names."
_READY = "ame is ready"
SETTINGS = ReplySettings(SamplingSettings(temperature=0), max_tokens=32)


class Chat:
    def __init__(self, folder: Path) -> None:
        self.events = EventQueue()
        self.engine = Engine(EngineConfig(folder), self.events)
        self.engine.ask(self.engine.target.use_drafter, str(folder / "nobody"))
        self.engine.ask(self.engine.target.load, LoadOrder("starter", TargetSettings(context_size=512)))
        self.events.wait_for(TargetReady)

    def use(self, drafter: Path, words: str) -> SpeculationChanged:
        """What is said of it at last, with these words in it."""
        self.engine.ask(self.engine.target.use_drafter, str(drafter))
        while True:
            told = self.events.wait_for(SpeculationChanged)
            if words in told.sentence and not told.awaits_drafter:
                return told

    def ask(self) -> ReplyStatistics:
        """Of a whole reply to the same prompt, each time in a chat of its own."""
        reply = self.engine.ask(self.engine.chat.answer, Send(PROMPT, None, SETTINGS))
        message = self.events.wait_for(ReplyFinished).message
        reply.result()
        assert message.text
        assert message.statistics is not None
        assert message.statistics.stop_reason is StopReason.LENGTH
        assert message.statistics.reply_tokens == 32
        return message.statistics


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    def free(_target: Target, _stop: StopSignal, _known: KnownCosts | None) -> PassCosts:
        return FREE

    # What passes truly cost on a busy machine decides whether anything is drafted at all.
    monkeypatch.setattr("engine.loading.measure_passes", free)
    chat = Chat(tmp_path / "store")
    yield chat
    assert chat.engine.close()


def cut_short(path: Path) -> Path:
    path.write_bytes(starter_path().read_bytes()[:2_000_000])
    return path


def without_bytes(path: Path) -> Path:
    return tiny_llama(path, tokenizer="rwkv")


UNFIT_KINDS = {  # that are seen in the header, in the first look and in the model; all others fail at the same places
    "cut-short": (cut_short, "it is cut short; download it again."),
    "no-bytes": (without_bytes, "it has a vocabulary that cannot write every text; choose another"),
    "recurrent": (tiny_mamba, "it cannot roll back what it has read; choose another drafter."),
}


def test_each_is_told_in_a_sentence_and_replies_go_on_with_recall(chat: Chat, tmp_path: Path) -> None:
    alone = chat.ask().num_accepted  # what recall finds in the reply itself
    for name, (make, reason) in UNFIT_KINDS.items():
        told = chat.use(make(tmp_path / f"{name}.gguf"), f"{name} cannot draft: {reason}")
        assert not told.is_drafting
        statistics = chat.ask()
        assert {each.key for each in statistics.proposers} <= {"recall", "lookahead"}
        assert statistics.num_accepted > alone + 10


def test_heads_that_fit_no_model_keep_no_reply_from_going_on(chat: Chat, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    model = folder / "smol-Q4_1.gguf"
    model.symlink_to(starter_path())
    for number, (make, _) in enumerate(UNFIT):
        make(folder / f"eagle3-smol-{number}.gguf")
    added = chat.engine.ask(chat.engine.library.add, (folder,)).result()
    heads = [each for each in added.targets if each.head is not None]
    assert len(heads) > 30
    assert all(each.problem for each in heads)
    (listed,) = (each for each in added.targets if each.path == model)
    assert (listed.brings, listed.unfit_drafter != "") == (None, True)
    chat.engine.ask(chat.engine.target.load, LoadOrder(str(model), TargetSettings(context_size=512)))
    chat.events.wait_for(TargetReady)
    chat.ask()


def test_one_that_drafted_is_replaced_under_its_name(chat: Chat, tmp_path: Path) -> None:
    path = tiny_llama(tmp_path / "same.gguf")
    assert chat.use(path, _READY).is_drafting
    chat.ask()
    tiny_mamba(tmp_path / "other.gguf").replace(path)
    chat.ask()  # the one that is loaded goes on
    told = chat.use(path, "same cannot draft: it cannot roll back what it has read; choose another drafter.")
    assert not told.is_drafting
    assert {each.key for each in chat.ask().proposers} <= {"recall", "lookahead"}
    tiny_llama(tmp_path / "again.gguf").replace(path)
    assert chat.use(path, _READY).is_drafting
    chat.ask()
