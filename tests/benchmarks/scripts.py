"""Texts that a scripted target says, and which of their tokens a perfect copyist could guess.

Some are random tokens, which nothing but a copy can guess:

- copy: a passage of 300 tokens that the prompt holds, after five tokens of another kind;
- repeat: a phrase of 24 tokens that the prompt holds, twelve times;
- list: the same, but with three new tokens before each;
- random: tokens at random, eight of them equally likely when sampling;
- bait: tokens at random, but half the time it begins to repeat itself, for 2 to 6 tokens, and goes on otherwise.

The others are what people ask for, made of this project's own decisions and code:

- quote: one of four paragraphs that the prompt holds, behind a sentence that announces it;
- correct: a paragraph whose prompt has two letters exchanged in one of twelve words;
- rename: 40 lines of code, in which the most frequent long name becomes another;
- translate: a paragraph, each sentence followed by as many new tokens.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from engine.speculation.model.interface import Vocabulary

_ROOT = Path(__file__).parents[2]
_LONGEST_REPLY = 320  # tokens
_LONGEST_GAP = 4  # new tokens, at most, behind which a copy goes on without a beginning of its own
_SHORTEST_COPY = 3  # tokens in a row that are no chance
_CHANGED = 12  # words, of which one has a slip
_NUM_PARAGRAPHS, _FEWEST_WORDS, _NUM_LINES = 4, 60, 40

Tokenize = Callable[[str], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Script:
    prompt: tuple[int, ...]
    reply: tuple[int, ...]
    is_copied: tuple[bool, ...]  # of each token of the reply: whether a perfect copyist guesses it
    is_random: bool = False  # whether the reply's tokens are no likelier than others, when sampling


def ordinary(vocabulary: Vocabulary) -> list[int]:
    """Tokens that a text may consist of."""
    never = vocabulary.special | vocabulary.end_of_generation
    return [token for token in range(len(vocabulary)) if token not in never]


def copied(source: Sequence[int], reply: Sequence[int]) -> tuple[bool, ...]:
    """For each token of the reply, whether it goes on with a copy of the source: all in a row of them but the first,
    which nothing announces, unless the row before ended just there."""
    found = [False] * len(reply)
    end = -_LONGEST_GAP - 1
    for block in SequenceMatcher(None, source, reply, autojunk=False).get_matching_blocks():
        if block.size >= _SHORTEST_COPY:
            first = block.b + (block.b - end > _LONGEST_GAP)
            end = block.b + block.size
            found[first:end] = [True] * (end - first)
    return tuple(found)


class Scriptwriter:
    """Draws scripts: over ordinary tokens, and of texts that `tokenize` turns into tokens."""

    def __init__(self, tokens: Sequence[int], seed: int, tokenize: Tokenize) -> None:
        self._tokens = tokens
        self._tokenize = tokenize
        self._dice = random.Random(seed)

    def write(self, name: str) -> Script:
        return {
            "copy": self._copy,
            "repeat": self._repeat,
            "list": self._list,
            "random": self._random,
            "bait": self._bait,
            "quote": self._quote,
            "correct": self._correct,
            "rename": self._rename,
            "translate": self._translate,
        }[name]()

    def _copy(self) -> Script:
        passage = self._new(300)
        return _copying(self._around(passage), (*self._new(5), *passage))

    def _repeat(self) -> Script:
        phrase = self._new(24)
        prompt = self._around(phrase)
        # Where the phrase begins a second time, nothing has shown yet that it does; from then on it is a copy.
        once, more = copied(prompt, phrase), (True,) * 24
        return Script(prompt, phrase * 12, once + once + more * 10)

    def _list(self) -> Script:
        phrase = self._new(24)
        prompt = self._around(phrase)
        reply = tuple(token for _ in range(12) for token in (*self._new(3), *phrase))
        return Script(prompt, reply, ((False,) * 3 + copied(prompt, phrase)) * 12)

    def _random(self) -> Script:
        return Script(self._new(60), self._new(256), (False,) * 256, is_random=True)

    def _bait(self) -> Script:
        said = list(self._new(60))
        while len(said) < 60 + 256:
            start = self._dice.randrange(len(said) - 6)
            said += said[start : start + self._dice.randint(2, 6)] if self._dice.random() < 0.5 else self._new(4)
            said += self._new(1)
        return Script(tuple(said[:60]), tuple(said[60 : 60 + 256]), (False,) * 256)

    def _quote(self) -> Script:
        paragraphs = self._dice.sample(_paragraphs(), _NUM_PARAGRAPHS)
        wanted = self._dice.choice(paragraphs)
        prompt = "Quote the paragraph on this subject:\n\n" + "\n\n".join(paragraphs)
        return self._answering(prompt, f"Here is what the text says about it:\n\n{wanted}")

    def _correct(self) -> Script:
        wanted = self._dice.choice(_paragraphs())
        words = wanted.split(" ")
        for place, word in enumerate(words):
            if len(word) > 3 and self._dice.random() < 1 / _CHANGED:
                at = self._dice.randrange(len(word) - 1)
                words[place] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        return self._answering("Correct the spelling:\n\n" + " ".join(words), wanted)

    def _rename(self) -> Script:
        lines = self._dice.choice(_programs())
        start = self._dice.randrange(len(lines) - _NUM_LINES)
        code = "\n".join(lines[start : start + _NUM_LINES])
        names = Counter(re.findall(r"\b[a-z][a-z_]{4,}\b", code))
        name = max(names, key=names.__getitem__)
        return self._answering(
            f"Call `{name}` `latest_item` in this:\n\n```python\n{code}\n```\n",
            "```python\n" + re.sub(rf"\b{name}\b", "latest_item", code) + "\n```\n",
        )

    def _translate(self) -> Script:
        wanted = self._dice.choice(_paragraphs())
        prompt = self._tokenize("Translate this sentence by sentence:\n\n" + wanted)
        reply: list[int] = []
        for sentence in re.split(r"(?<=[.:;]) ", wanted):
            tokens = self._tokenize(" " + sentence)
            reply += [*tokens, *self._new(len(tokens))]
        return _copying(prompt, reply)

    def _answering(self, prompt: str, reply: str) -> Script:
        return _copying(self._tokenize(prompt), self._tokenize(reply))

    def _around(self, passage: Sequence[int]) -> tuple[int, ...]:
        return (*self._new(40), *passage, *self._new(20))

    def _new(self, count: int) -> tuple[int, ...]:
        return tuple(self._dice.choices(self._tokens, k=count))


def _copying(prompt: Sequence[int], reply: Sequence[int]) -> Script:
    reply = tuple(reply[:_LONGEST_REPLY])
    return Script(tuple(prompt), reply, copied(prompt, reply))


def _paragraphs() -> list[str]:
    """Of the decisions, without tables, each in one line."""
    found: list[str] = []
    for path in sorted((_ROOT / "docs" / "decisions").glob("*.md")):
        texts = path.read_text("utf-8").split("\n\n")
        found += [" ".join(text.split()) for text in texts if not text.startswith(("#", "|", "-", "`"))]
    return [text for text in found if len(text.split()) >= _FEWEST_WORDS]


def _programs() -> list[list[str]]:
    """The engine's files, in lines."""
    files = [path.read_text("utf-8").splitlines() for path in sorted((_ROOT / "engine").rglob("*.py"))]
    return [lines for lines in files if len(lines) > 2 * _NUM_LINES]
