"""The string of drafter tokens for each token of a target: computed once per pair of vocabularies, and saved on disk.

It is computed from the bytes alone; `▁`, `Ġ` and `<0x41>` are only ways to print bytes.
"""

from __future__ import annotations

import hashlib
import logging
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.values.whole_file import plain_file, private_folder, whole_file

_logger = logging.getLogger("slipstream.vocabulary_map")

MAX_STRING = 8  # draft tokens; longer strings would hardly ever be drafted whole
NO_TOKEN = -1  # pads the rows of `VocabularyMap.strings`

_FORMAT = 1  # of the file; raise it when the computation changes
_LETTER = b"a"
_JOINED = frozenset({b".\n\n", b":\n\n", b",\n\n"})

# Raised by numpy and zipfile for files that are not, or not completely, archives of arrays.
_UNREADABLE = (OSError, EOFError, ValueError, TypeError, AttributeError, KeyError, RuntimeError)
_DAMAGED = (*_UNREADABLE, zipfile.BadZipFile, zlib.error)

Strings = npt.NDArray[np.int32]
EncodeMany = Callable[[Sequence[bytes]], list[list[int] | None]]


@dataclass(frozen=True, slots=True, eq=False)
class VocabularyMap:
    """The string (draft tokens) of every target token that has one. No two tokens have the same string."""

    strings: Strings  # shape (target vocabulary, MAX_STRING), padded with NO_TOKEN; all padding: no string
    # Shape (tokens with a string,): sorted by their rows, so that tokens whose strings begin alike are an interval, the
    # shortest string first
    order: npt.NDArray[np.int64]
    num_draft_tokens: int  # the first tokens of the drafter's vocabulary, which it can guess

    @classmethod
    def build(
        cls,
        target_pieces: Sequence[bytes],
        target_special: frozenset[int],
        draft_pieces: Sequence[bytes],
        encode_many: EncodeMany,
        num_outputs: int | None = None,
    ) -> VocabularyMap:
        """`encode_many` is the drafter's tokenizer: tokens that spell the bytes exactly, or None where it has none.
        `draft_pieces` are empty for special tokens. Of them, the first `num_outputs` can be guessed, by default all.

        A token's string is the tokenizer's encoding of its bytes, or, where the target joins line breaks to the text
        before them, of its bytes before a letter (see `_before_letter`). Where that is unusable, it is the draft token
        of the same bytes, if any. Special tokens, tokens without bytes, and tokens whose string would be longer than
        MAX_STRING or hold a token that cannot be guessed have no string.

        Of target tokens with the same bytes, the last has the string: such twins exist where a vocabulary has byte
        tokens (`<0x41>`) and normal ones; SentencePiece puts the byte tokens first, but writes text in normal ones.
        """
        limit = len(draft_pieces) if num_outputs is None else num_outputs
        tokens = [token for token, piece in enumerate(target_pieces) if piece and token not in target_special]
        direct = {piece: token for token, piece in enumerate(draft_pieces) if piece}
        strings = np.full((len(target_pieces), MAX_STRING), NO_TOKEN, dtype=np.int32)
        encoded = encode_many([target_pieces[token] for token in tokens])
        encoded_before_letter = _before_letter(tokens, target_pieces, draft_pieces, encode_many)
        for token, alone in zip(tokens, encoded, strict=True):
            spelling = encoded_before_letter.get(token, alone)
            if spelling and len(spelling) <= MAX_STRING:
                string = spelling
            elif (image := direct.get(target_pieces[token])) is not None:
                string = [image]
            else:
                continue
            if max(string) < limit:
                strings[token, : len(string)] = string
        return cls._of(strings, limit)

    def save(self, path: Path, target_fingerprint: str, drafter_fingerprint: str) -> None:
        """Raises OSError. A file of this name is always complete: it gets its name when it is finished."""
        private_folder(path.parent)
        with whole_file(path) as file:
            np.savez(
                file,
                strings=self.strings,
                num_draft_tokens=np.int64(self.num_draft_tokens),
                made_of=_made_of(target_fingerprint, drafter_fingerprint),
            )

    @classmethod
    def load(cls, path: Path, target_fingerprint: str, drafter_fingerprint: str) -> VocabularyMap | None:
        """None where the file is missing, damaged, or made for other vocabularies."""
        try:
            with plain_file(path) as file, np.load(file, allow_pickle=False) as members:
                if str(members["made_of"]) != str(_made_of(target_fingerprint, drafter_fingerprint)):
                    return None
                strings, num_draft_tokens = members["strings"], int(members["num_draft_tokens"])
        except _DAMAGED as error:
            _logger.info("there is no vocabulary map: %s", error)
            return None
        if strings.dtype != np.int32 or strings.ndim != 2 or strings.shape[1] != MAX_STRING:
            return None
        if not len(strings) or strings.min() < NO_TOKEN or strings.max() >= num_draft_tokens:
            return None
        return cls._of(strings, num_draft_tokens)

    @classmethod
    def _of(cls, strings: Strings, num_draft_tokens: int) -> VocabularyMap:
        """A map that owns the matrix, in which all but the last of equal rows are emptied."""
        order = np.flatnonzero(strings[:, 0] != NO_TOKEN)
        rows = strings[order]
        places = np.lexsort(rows.T[::-1])  # stable: equal rows stay in the order of their ids
        order, rows = order[places], rows[places]
        repeated = np.zeros(len(order), dtype=bool)
        repeated[:-1] = (rows[1:] == rows[:-1]).all(axis=1)
        strings[order[repeated]] = NO_TOKEN
        order = order[~repeated].astype(np.int64)
        strings.flags.writeable = order.flags.writeable = False
        return cls(strings, order, num_draft_tokens)

    def only_direct(self) -> VocabularyMap:
        """The map without the strings of more than one token, for drafting without merging."""
        strings = self.strings.copy()
        strings[strings[:, 1] != NO_TOKEN] = NO_TOKEN
        return self._of(strings, self.num_draft_tokens)


def fingerprint(pieces: Sequence[bytes], special: frozenset[int]) -> str:
    """A hexadecimal digest of a vocabulary's bytes, so that two quantizations of one family share what is learned."""
    digest = hashlib.sha256()
    digest.update(np.fromiter(map(len, pieces), dtype="<i8", count=len(pieces)).tobytes())
    digest.update(b"".join(pieces))
    digest.update(np.array(sorted(special), dtype="<i8").tobytes())
    return digest.hexdigest()


def open_map(
    folder: Path, target_fingerprint: str, drafter_fingerprint: str, build: Callable[[], VocabularyMap]
) -> VocabularyMap:
    """The map saved in `folder`, or a new one from `build`, which is saved for the next time if the disk allows it."""
    name = hashlib.sha256(f"{target_fingerprint} {drafter_fingerprint}".encode()).hexdigest()[:32]
    path = folder / f"{name}.npz"
    found = VocabularyMap.load(path, target_fingerprint, drafter_fingerprint)
    if found is not None:
        return found
    made = build()
    try:
        made.save(path, target_fingerprint, drafter_fingerprint)
    except OSError as error:
        _logger.info("the vocabulary map is not kept: %s", error)
    return made


def _before_letter(
    tokens: Sequence[int], target_pieces: Sequence[bytes], draft_pieces: Sequence[bytes], encode_many: EncodeMany
) -> dict[int, list[int]]:
    """The strings of tokens that end a line when a letter follows, where the letter stays a token of its own.

    Tokenizers like GPT-2's split line breaks differently before a letter than at the end of a text: "\\n\\n" is one
    token there and two before a letter. Newer ones (Llama 3, Qwen) do not, and have tokens like ".\\n\\n"; the letter
    is right only for targets with such tokens. A target of the older kind splits as such a drafter does.
    """
    if not _JOINED & {target_pieces[token] for token in tokens}:
        return {}
    line_ends = [token for token in tokens if target_pieces[token].endswith((b"\n", b"\r"))]
    encoded = encode_many([target_pieces[token] + _LETTER for token in line_ends])
    return {
        token: spelling[:-1]
        for token, spelling in zip(line_ends, encoded, strict=True)
        if spelling and draft_pieces[spelling[-1]] == _LETTER
    }


def _made_of(target_fingerprint: str, drafter_fingerprint: str) -> npt.NDArray[np.str_]:
    return np.array(f"{_FORMAT} {target_fingerprint} {drafter_fingerprint}")
