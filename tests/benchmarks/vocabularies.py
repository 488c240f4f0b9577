"""Vocabulary map and translation on real vocabularies, with a real drafter's tokenizer.

    python -m tests.benchmarks.vocabularies [--data ../shared/data] [--drafter resources/drafter]

One row per vocabulary in DATA/vocabs:

- tokens; those whose bytes differ from what llama.cpp's own detokenizer writes, not counting spaces that the
  detokenizer removes before punctuation where a vocabulary says so (those are printed after the +);
- milliseconds for the fingerprint, to build the map, and to load it from disk again;
- share of target tokens (without special ones) with a string of one drafter token, of more, and without one;
- texts (samples and recorded replies) whose translated tokens are byte for byte the text;
- share of the texts' drafter tokens that were translated directly, in a merge, and by spelling;
- share of the resulting target tokens that are in the target's own tokenization at the same place;
- microseconds of translation per drafter token, pushed one by one.

Then a square: each of the vocabularies as that of a GGUF drafter, for each as that of a target, and how many texts come
back byte for byte.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from llama_cpp import llama_cpp as lib
from rich.console import Console
from rich.table import Table

from engine.speculation.drafter.gguf import GgufVocabulary
from engine.speculation.drafter.interface import DrafterVocabulary
from engine.speculation.drafter.tokenizer import DrafterTokenizer
from engine.speculation.model.llama.vocabulary import VocabularyFile, load_vocabulary
from engine.speculation.numerics.string_trie import StringTrie
from engine.speculation.numerics.translation import SegmentKind, Speller, Translation
from engine.speculation.numerics.vocabulary_map import VocabularyMap, fingerprint

_ROOT = Path(__file__).parents[2]
_REPLIES_PER_FILE = 25


@dataclass(frozen=True, slots=True)
class PieceCheck:
    num_different: int
    num_tidied: int  # the same except for spaces


@dataclass(frozen=True, slots=True)
class TextCheck:
    num_texts: int
    num_identical: int
    kinds: Counter[SegmentKind]  # of drafter tokens
    num_target: int  # resulting target tokens
    num_own: int  # of these, in the target's own tokenization of the same bytes
    seconds: float


def read_texts(data: Path) -> list[str]:
    """The 47 sample texts and the first replies of every recording."""
    samples = sorted((data / "vocabs").glob("*.inp"))[0].read_text("utf-8")
    texts = samples.split("\n__ggml_vocab_test__\n")
    for path in sorted((data / "traces").glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            texts += [json.loads(line)["response"] for line in itertools.islice(file, _REPLIES_PER_FILE)]
    return texts


def check_pieces(file: VocabularyFile) -> PieceCheck:
    """Checks every token that is not special, after an "a", as the detokenizer strips the space of the first token."""
    pieces, special = file.vocabulary.pieces, file.vocabulary.special
    anchor = next(token for token, piece in enumerate(pieces) if piece == b"a" and token not in special)
    pair = (lib.llama_token * 2)(anchor, anchor)
    buffer = ctypes.create_string_buffer(4096)
    different = tidied = 0
    for token, piece in enumerate(pieces):
        if token in special:
            continue
        pair[1] = token
        length = lib.llama_detokenize(file._tokenizer._vocab, pair, 2, buffer, len(buffer), False, True)
        written = buffer.raw[1:length]
        if written != piece:
            only_spaces = written.replace(b" ", b"") == piece.replace(b" ", b"")
            tidied += only_spaces
            different += not only_spaces
    return PieceCheck(different, tidied)


def check_texts(
    file: VocabularyFile, trie: StringTrie, spell: Speller, drafter: DrafterVocabulary, texts: Sequence[str]
) -> TextCheck:
    """Compares with the bytes of the target's own tokens, since SentencePiece puts a space before a text."""
    pieces = file.vocabulary.pieces
    kinds: Counter[SegmentKind] = Counter()
    num_identical = num_target = num_own = 0
    seconds = 0.0
    for text in texts:
        own = file.tokenize(text)
        data = b"".join(pieces[token] for token in own)
        path = drafter.encode(data)
        if path is None:
            continue
        began = time.perf_counter()
        translation = Translation(trie, spell)
        for draft_token in path:
            translation.push(draft_token)
        tokens = translation.finish()
        seconds += time.perf_counter() - began
        num_identical += b"".join(pieces[token] for token in tokens) == data
        for segment in translation.segments:
            kinds[segment.kind] += segment.num_draft
        num_target += len(tokens)
        num_own += len(set(_placed(tokens, pieces)) & set(_placed(own, pieces)))
    return TextCheck(len(texts), num_identical, kinds, num_target, num_own, seconds)


def _placed(tokens: Iterable[int], pieces: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Each token with the position of its first byte."""
    place = 0
    for token in tokens:
        yield place, token
        place += len(pieces[token])


def _milliseconds(began: float) -> str:
    return f"{1000 * (time.perf_counter() - began):.0f}"


def _shares(*parts: int) -> str:
    total = max(1, sum(parts))
    return " / ".join(f"{100 * part / total:.1f}" for part in parts)


def _row(path: Path, drafter: DrafterTokenizer, texts: Sequence[str], folder: Path) -> list[str]:
    file = load_vocabulary(path)
    vocabulary = file.vocabulary
    began = time.perf_counter()
    name = fingerprint(vocabulary.pieces, vocabulary.special)
    fingerprint_ms = _milliseconds(began)
    began = time.perf_counter()
    made = VocabularyMap.build(vocabulary.pieces, vocabulary.special, drafter.pieces, drafter.encode_many)
    build_ms = _milliseconds(began)
    saved = folder / f"{path.stem}.npz"
    made.save(saved, name, drafter.fingerprint)
    began = time.perf_counter()
    assert VocabularyMap.load(saved, name, drafter.fingerprint) is not None
    load_ms = _milliseconds(began)
    num_strings = len(made.order)
    num_direct = len(made.only_direct().order)
    piece_check = check_pieces(file)
    spell = Speller(vocabulary.pieces, vocabulary.special, drafter.pieces)
    text_check = check_texts(file, StringTrie(made), spell, drafter, texts)
    file.close()
    num_draft = sum(text_check.kinds.values())
    return [
        path.stem.removeprefix("ggml-vocab-"),
        f"{len(vocabulary):,}",
        f"{piece_check.num_different} + {piece_check.num_tidied}",
        f"{fingerprint_ms} / {build_ms} / {load_ms}",
        _shares(num_direct, num_strings - num_direct, len(vocabulary) - len(vocabulary.special) - num_strings),
        f"{text_check.num_identical} of {text_check.num_texts}",
        _shares(*(text_check.kinds[kind] for kind in SegmentKind)),
        f"{100 * text_check.num_own / max(1, text_check.num_target):.1f}",
        f"{1e6 * text_check.seconds / max(1, num_draft):.2f}",
    ]


def _square(paths: Sequence[Path], texts: Sequence[str]) -> Table:
    """A row for each drafter."""
    table = Table(title=f"texts that come back, of {len(texts)}: drafters in rows, targets in columns")
    table.add_column("drafter")
    files = [load_vocabulary(path) for path in paths]
    names = [path.stem.removeprefix("ggml-vocab-") for path in paths]
    for name in names:
        table.add_column(name, justify="right")
    for name, source in zip(names, files, strict=True):
        drafter, cells = GgufVocabulary(source), []
        for file in files:
            vocabulary = file.vocabulary
            silent = vocabulary.special | vocabulary.end_of_generation
            made = VocabularyMap.build(vocabulary.pieces, silent, drafter.pieces, drafter.encode_many)
            spell = Speller(vocabulary.pieces, silent, drafter.pieces)
            cells.append(str(check_texts(file, StringTrie(made), spell, drafter, texts).num_identical))
        table.add_row(name, *cells)
    for file in files:
        file.close()
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=_ROOT.parent / "shared" / "data")
    parser.add_argument("--drafter", type=Path, default=_ROOT / "resources" / "drafter")
    arguments = parser.parse_args()
    drafter = DrafterTokenizer.from_folder(arguments.drafter)
    texts = read_texts(arguments.data)
    table = Table(title=f"{len(drafter.pieces):,} draft tokens, {len(texts)} texts", show_lines=False)
    for column in (
        "vocabulary",
        "tokens",
        "bytes differ\n+ tidied",
        "fingerprint /\nbuild / load, ms",
        "direct / merged /\nno string, %",
        "identical\ntexts",
        "draft tokens: direct /\nmerged / spelled, %",
        "target's own\ntokens, %",
        "push,\nµs",
    ):
        table.add_column(column, justify="left" if column == "vocabulary" else "right", no_wrap=True)
    paths = sorted((arguments.data / "vocabs").glob("*.gguf"))
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            table.add_row(*_row(path, drafter, texts, Path(folder)))
    console = Console(width=150)
    console.print(table)
    console.print(_square(paths, texts))


if __name__ == "__main__":
    main()
