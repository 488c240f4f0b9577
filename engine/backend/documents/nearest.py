"""The passages of documents that are nearest to a question: BM25 over chunks of a page or of a few lines.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009). Words are compared by their
first letters, without a plural's s, so that no language's rules are needed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log

from engine.values.passages import Passage, pages
from engine.values.prompts import Attachment

_CHUNK = 1_000  # characters, about
_LETTERS = 7  # of a word that are compared
_K1, _B = 1.2, 0.75  # of BM25, as usual
_WHOLE_SHARE = 0.5  # of the tokens, for short files that are sent whole

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # written without spaces


@dataclass(frozen=True, slots=True)
class _Chunk:
    document: int
    kind: str
    number: int  # of its page, or of its first line
    text: str


def nearest_passages(
    attachments: Sequence[Attachment], question: str, most_tokens: int, count: Callable[[str], int]
) -> tuple[Attachment, ...]:
    """The short files whole, and as many passages of the others as fit into `most_tokens`, in the order of their
    documents; the same for the same question. Where no word matches, the beginnings of the documents are taken."""
    whole: dict[int, Attachment] = {}
    left = most_tokens
    # A character takes a quarter of a token or more; what is longer is not worth counting.
    for index in sorted(range(len(attachments)), key=lambda index: len(attachments[index].text)):
        block = attachments[index].block
        size = count(block) if len(block) < 8 * most_tokens else most_tokens
        if size > left - _WHOLE_SHARE * most_tokens:
            break
        whole[index] = attachments[index]
        left -= size
    chunks = [
        chunk for index, each in enumerate(attachments) if index not in whole for chunk in _chunks(index, each.text)
    ]
    chosen = []
    for place in _ranked(chunks, question):
        passage = _passage(chunks[place], attachments)
        size = count(passage.attachment.block) + 1
        if size <= left:
            chosen.append(place)
            left -= size
        elif left < most_tokens // 20:
            break
    sent = [(index, -1, each) for index, each in whole.items()]
    sent += [(each[0].document, each[0].number, _joined(each, attachments)) for each in _neighbours(chosen, chunks)]
    return tuple(each for _, _, each in sorted(sent, key=lambda each: each[:2]))


def _chunks(document: int, text: str) -> Iterator[_Chunk]:
    paged = list(pages(text))
    for number, page in paged or [(1, text)]:
        for line, part in _parts(page):
            yield _Chunk(document, "page" if paged else "line", number if paged else line, part)


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Parts of whole lines, each with the number of its first. Those of a table begin with its head."""
    head: list[str] = []
    lines: list[str] = []
    first = size = 0
    for number, line in _lines(text):
        is_row = line.startswith("|")
        if size + len(line) > _CHUNK and lines:
            yield first, "\n".join(lines).strip("\n")
            lines, size = [], 0
        if not lines:
            first = number
            lines = list(head) if is_row and len(head) == 2 else []
        if not is_row:
            head = []
        elif len(head) < 2:
            head.append(line)
        lines.append(line)
        size += len(line) + 1
    if any(line.strip() for line in lines):
        yield first, "\n".join(lines).strip("\n")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines; a very long one in pieces."""
    for number, line in enumerate(text.split("\n"), 1):
        for start in range(0, max(1, len(line)), _CHUNK):
            yield number, line[start : start + _CHUNK]


def _words(text: str) -> list[str]:
    words = []
    for word in _WORD.findall(text.lower()):
        if _UNSPACED.search(word):
            words += [word[place : place + 2] for place in range(max(1, len(word) - 1))]
        else:
            words.append((word[:-1] if len(word) > 3 and word.endswith("s") else word)[:_LETTERS])
    return words


def _ranked(chunks: Sequence[_Chunk], question: str) -> list[int]:
    """Places of the chunks, the nearest first; of equals the earlier one."""
    asked = dict.fromkeys(_words(question))
    counts, lengths = [], []
    for chunk in chunks:
        words = _words(chunk.text)
        lengths.append(len(words))
        counts.append(Counter(word for word in words if word in asked))
    seen_in = Counter(word for count in counts for word in count)
    weights = {word: log(1 + (len(chunks) - number + 0.5) / (number + 0.5)) for word, number in seen_in.items()}
    usual = max(1.0, sum(lengths) / max(1, len(lengths)))
    scores = [
        sum(
            weights[word] * times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * length / usual))
            for word, times in count.items()
        )
        for count, length in zip(counts, lengths, strict=True)
    ]
    return sorted(range(len(chunks)), key=lambda place: (-scores[place], place))


def _neighbours(places: Sequence[int], chunks: Sequence[_Chunk]) -> Iterator[list[_Chunk]]:
    """The chunks at these places; those that follow each other on a page, or in a file without pages, are together."""
    group: list[_Chunk] = []
    before = -1
    for place in sorted(places):
        chunk = chunks[place]
        goes_on = place == before + 1 and group and group[-1].document == chunk.document
        if group and not (goes_on and (chunk.kind == "line" or group[-1].number == chunk.number)):
            yield group
            group = []
        group.append(chunk)
        before = place
    if group:
        yield group


def _passage(chunk: _Chunk, attachments: Sequence[Attachment]) -> Passage:
    return Passage(attachments[chunk.document].name, chunk.kind, chunk.number, chunk.text)


def _joined(chunks: Sequence[_Chunk], attachments: Sequence[Attachment]) -> Attachment:
    first = chunks[0]
    text = "\n".join(chunk.text for chunk in chunks)
    return Passage(attachments[first.document].name, first.kind, first.number, text).attachment
