"""What a drafter reads of chats that are longer than it can hold."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from engine.speculation.numerics.sampling import RandomDice
from engine.speculation.proposers.interface import Context
from engine.speculation.proposers.shared_vocabulary import SharedVocabularyDrafter
from engine.speculation.proposers.translated import TranslatedDrafter
from engine.speculation.proposers.window import ReadingWindow
from engine.values.config import SamplingSettings
from engine.values.conversations import ChatTurn, Role
from tests.fakes.drafter import END, FakeDrafter
from tests.fakes.proposers import Generous, neural_proposer, sharing_proposer
from tests.fakes.target import FakeTarget
from tests.unit.engine.speculation.proposers.bench import tokens_of

SIZE, MOST = 256, 224
GREEDY = SamplingSettings(temperature=0)
SONG = "the inn is hot and she sings of this thing in the night then both hear it ring"


def window_of(drafter: FakeDrafter) -> ReadingWindow:
    return ReadingWindow(drafter)


def drafter(can_drop: bool = True) -> FakeDrafter:
    made = FakeDrafter(lambda _held: np.zeros(1, np.float32), SIZE)
    made.can_drop = can_drop
    return made


def read(window: ReadingWindow, tokens: Sequence[int], num_certain: int | None = None) -> int:
    """The number of tokens that were read."""
    unread = window.unread(tokens, len(tokens) if num_certain is None else num_certain)
    window._drafter.read(unread)
    window.held += unread
    assert window.held == window._drafter.held  # type: ignore[attr-defined]
    return len(unread)


def text(seed: int, length: int) -> list[int]:
    return random.Random(seed).choices(range(1000), k=length)


def test_where_a_reply_outgrows_the_drafter_a_part_behind_the_beginning_goes_and_nothing_is_read_again() -> None:
    window, written = window_of(drafter()), text(1, 1000)
    window.begin()
    num_read = read(window, written[:200])
    for place in range(200, 1000):
        num_read += read(window, written[place : place + 1])
        assert window.held[:16] == written[:16]
        assert window.held[16:] == written[place + 1 - len(window.held) + 16 : place + 1]
        assert len(window.held) <= MOST
    assert num_read == 1000


def test_a_drafter_that_cannot_move_what_it_holds_reads_half_of_it_again_now_and_then() -> None:
    window, written = window_of(drafter(can_drop=False)), text(1, 1000)
    window.begin()
    read(window, written[:200])
    for place in range(200, 1000):
        expected = window.num_unread_after(1)
        assert read(window, written[place : place + 1]) in (expected, expected - SIZE // 16)
        assert window.held[-60:] == written[place - 59 : place + 1]
    assert len(window.held) <= MOST


@pytest.mark.parametrize("can_drop", [True, False])
def test_the_next_prompt_of_a_long_chat_is_read_from_its_new_turns_on(can_drop: bool) -> None:
    window, written = window_of(drafter(can_drop)), text(2, 3000)
    window.begin()
    read(window, written[:600])
    for end in range(700, 3000, 40):
        window.begin()
        expected = window.num_unread_of(written[:end])
        assert read(window, written[:end]) == expected
        for place in range(end, end + 20):
            read(window, written[place : place + 1])
        if can_drop and end > 700:
            assert expected == 20
    assert window.held[-60:] == written[place - 59 : place + 1]


def test_what_the_target_drops_in_front_and_thoughts_that_leave_the_prompt_are_dropped_unread() -> None:
    window, system, turns, thought = window_of(drafter()), text(3, 20), text(4, 120), text(5, 40)
    window.begin()
    read(window, [*system, *turns, *thought, *text(6, 30)])
    window.begin()
    assert read(window, [*system, *turns, *text(6, 30), *text(7, 12)]) == 12
    window.begin()
    assert read(window, [*system, *turns[70:], *text(6, 30), *text(7, 12), *text(8, 9)]) == 9
    assert window.held == [*system, *turns[70:], *text(6, 30), *text(7, 12), *text(8, 9)]


def test_what_stands_in_the_middle_of_a_text_that_fits_is_read() -> None:
    window, written = window_of(drafter()), text(9, 150)
    window.begin()
    read(window, written)
    window.begin()
    edited = [*written[:40], *text(10, 5), *written[45:]]
    assert read(window, edited) == 110
    assert window.held == edited


def test_another_chat_is_read_from_where_it_differs() -> None:
    window = window_of(drafter())
    window.begin()
    read(window, text(1, 700))
    window.begin()
    other = [*text(1, 5), *text(11, 700)]
    assert window.num_unread_of(other) == SIZE // 2 - 5
    assert read(window, other) == SIZE // 2 - 5
    assert window.held == [*other[:16], *other[-(SIZE // 2 - 16) :]]


@pytest.mark.parametrize("can_drop", [True, False])
def test_whatever_follows_what_is_held_is_a_part_of_the_text_and_its_end(can_drop: bool) -> None:
    """Fuzzed: prompts that go on, are cut in front, edited or exchanged; replies with ends that change."""
    dice = random.Random(7)
    window = window_of(drafter(can_drop))
    chat = text(0, 100)
    for _ in range(300):
        match dice.randrange(6):
            case 0:
                chat = chat[: dice.randrange(1, len(chat) + 1)]
            case 1:
                place = dice.randrange(len(chat))
                chat = [*chat[:place], *chat[place + dice.randrange(80) :]] or [1]
            case 2:
                chat = [*chat[: dice.randrange(30)], *text(dice.randrange(99), dice.randrange(1, 600))]
            case _:
                chat = [*chat, *text(dice.randrange(999), dice.randrange(1, 60))]
        window.begin()
        unread = window.num_unread_of(chat)
        assert read(window, chat) == unread
        for _ in range(dice.randrange(40)):
            certain, open_end = text(dice.randrange(999), dice.randrange(3)), text(dice.randrange(999), 3)
            read(window, [*certain, *open_end], len(certain))
            chat += certain
            assert window.held[: window.num_certain][-60:] == chat[-min(60, window.num_certain) :]
            assert window.held[window.num_certain :] == open_end
            assert len(window.held) <= MOST


@dataclass
class Chat:
    """A scripted one, whose replies are in tokens of the fake target."""

    proposer: TranslatedDrafter | SharedVocabularyDrafter
    turns: tuple[ChatTurn, ...] = ()
    room: int | None = None  # characters of its oldest turns that the target drops beyond this

    def reply(self, question: str, answer: str) -> tuple[int, int, int]:
        """The tokens that were new, those that were read at once, and those that were said to be unread first."""
        self.turns = (*self.turns, ChatTurn(Role.USER, question))
        prompt = tokens_of("".join(f"<{turn.role.value}>{turn.text}" for turn in self.turns) + "<assistant>")
        if self.room is not None:
            prompt = [*prompt[:20], *prompt[20:][-self.room :]]
        tokens, written, num_read, said = list(prompt), tokens_of(answer), 0, -1
        for token in written:
            context = Context(self.turns, tokens, token, len(prompt), GREEDY, RandomDice(0))
            said = self.proposer.num_unread(context) if said < 0 else said
            draft = self.proposer.propose(context, 2, Generous())
            num_read += draft.num_read
            tokens.append(token)
        self.proposer.end_reply()
        self.turns = (*self.turns, ChatTurn(Role.ASSISTANT, answer))
        return len(tokens_of(question)) + len(written), num_read, said


def replies() -> Iterator[tuple[str, str]]:
    dice, words = random.Random(5), SONG.split()
    for _ in range(60):
        yield " ".join(dice.choices(words, k=10)), " ".join(dice.choices(words, k=40))


def flat(size: int) -> Callable[[Sequence[int]], np.ndarray]:
    row = np.zeros(size, np.float32)
    row[END] = -np.inf
    return lambda _held: row


@pytest.mark.parametrize("kind", ["translated", "shared", "shared, where the target drops turns"])
def test_in_a_chat_of_thousands_of_tokens_each_reply_has_the_drafter_read_what_is_new(kind: str) -> None:
    target = FakeTarget().vocabulary
    proposer: TranslatedDrafter | SharedVocabularyDrafter
    if kind == "translated":
        proposer = neural_proposer(target, flat(264), max_held=1024)
    else:
        proposer = sharing_proposer(target, flat(len(target)), max_held=1024)
    chat = Chat(proposer, room=1500 if "drops" in kind else None)
    num_all = 0
    for question, answer in replies():
        num_new, num_read, said = chat.reply(question, answer)
        num_all += num_new
        assert num_read <= num_new + 64
        assert said <= 2 * max(num_read, 64)
        assert num_read <= 2 * max(said, 64)
    assert num_all > 6000
