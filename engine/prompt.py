"""From the turns of a conversation to the tokens of a prompt that fits, reusing what the target already holds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from engine.chat_template import ChatTemplate
from engine.errors import PromptTooLong
from engine.records import ChatTurn, Role
from engine.target.interface import Target

# A prompt must leave this much of the context for its reply, or the oldest turns leave.
_REPLY_SHARE = 8
_REPLY_TOKENS = 256
# After turns had to leave, the prompt fills at most this share, so that not every following turn evaluates all of it
# anew.
_ROOMY_SHARE = 0.5
# Without older turns a prompt may fill all but this; it must leave room for a sentence.
_MIN_REPLY_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Prompt:
    tokens: tuple[int, ...]
    num_left_out: int  # of the oldest turns, the system prompt never among them


class PromptBuilder:
    def __init__(self, target: Target) -> None:
        """Raises TemplateFailed when the target's own template cannot render a simple conversation."""
        vocabulary = target.vocabulary
        self._target = target
        self._begin = vocabulary.begin
        self._template = ChatTemplate(
            target.description.chat_template,
            begin=_piece(target, vocabulary.begin),
            end=_piece(target, vocabulary.end),
        )
        self._template.render(
            [ChatTurn(Role.USER, "Hello."), ChatTurn(Role.ASSISTANT, "Hi."), ChatTurn(Role.USER, "Bye.")]
        )

    def build(
        self, turns: Sequence[ChatTurn], held: Sequence[int], num_left_out: int = 0, num_extra: int = 0
    ) -> Prompt:
        """The prompt of as many turns as fit, oldest out first.

        `held` is what the target holds, `num_left_out` how many turns had to leave before (they stay out, so that the
        held tokens stay useful), `num_extra` how many tokens will follow the prompt at once. Raises PromptTooLong
        when the last turn alone is too long.
        """
        starts = _possible_starts(turns)
        lengths: dict[int, tuple[int, ...]] = {}

        def tokens_from(start: int) -> tuple[int, ...]:
            if start not in lengths:
                lengths[start] = self._tokens(turns, start, held)
            return lengths[start]

        def first_within(limit: float) -> int:
            """Place in `starts` of the longest prompt of at most `limit` tokens; beyond the end when there is none."""
            return bisect_left(starts, True, key=lambda start: len(tokens_from(start)) <= limit)

        size = self._target.limits.context_size
        room = size - num_extra
        usual_limit = room - min(_REPLY_TOKENS, size // _REPLY_SHARE)
        start = max(start for start in starts if start <= max(num_left_out, starts[0]))
        if len(tokens_from(start)) > usual_limit:
            starts = starts[starts.index(start) :]
            place = first_within(_ROOMY_SHARE * size - num_extra)
            if place == len(starts):
                place = first_within(usual_limit)
            start = starts[min(place, len(starts) - 1)]
        tokens = tokens_from(start)
        if len(tokens) > room - min(_MIN_REPLY_TOKENS, size // _REPLY_SHARE):
            raise PromptTooLong(
                f"This message takes {len(tokens):,} tokens, but {self._target.description.name} reads at most "
                f"{size:,} at once; shorten it, or choose a bigger context size."
            )
        return Prompt(tokens, start)

    def _tokens(self, turns: Sequence[ChatTurn], num_left_out: int, held: Sequence[int]) -> tuple[int, ...]:
        system = [turn for turn in turns if turn.role is Role.SYSTEM]
        others = [turn for turn in turns if turn.role is not Role.SYSTEM]
        text = self._template.render([*system, *others[num_left_out:]])
        tokens = self._with_begin(self._target.tokenize(text))
        return tuple(_continued(self._target, text, held, tokens))

    def _with_begin(self, tokens: list[int]) -> list[int]:
        """Some templates write the first token themselves, some leave it to the tokenizer."""
        return tokens if self._begin is None or tokens[:1] == [self._begin] else [self._begin, *tokens]


def common_prefix_length(first: Sequence[int], second: Sequence[int]) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


def _continued(target: Target, text: str, held: Sequence[int], tokens: list[int]) -> list[int]:
    """`tokens` of `text`, or other tokens of the same text that share more with `held`.

    A reply is not always written in the tokens its text would be tokenized into. As far as the held tokens spell the
    text, up to a special token (a border that no tokenizer merges across), they are kept as they are.
    """
    shared = common_prefix_length(held, tokens)
    if shared == len(held) or shared == len(tokens):
        return tokens
    vocabulary = target.vocabulary
    data = text.encode("utf-8", "replace")
    place = 0
    border = (0, 0)  # tokens, bytes
    for index, token in enumerate(held):
        piece = vocabulary.pieces[token]
        if index == 0 and token == vocabulary.begin and not data.startswith(piece):
            continue
        if not data.startswith(piece, place):
            break
        place += len(piece)
        if token in vocabulary.special:
            border = (index + 1, place)
    else:
        if any(
            data.startswith(vocabulary.pieces[token], place) for token in vocabulary.special if vocabulary.pieces[token]
        ):
            border = (len(held), place)  # the special token that ended the last reply was drawn, but never evaluated
    num_kept, num_bytes = border
    if num_kept <= shared:
        return tokens
    return [*held[:num_kept], *target.tokenize(data[num_bytes:].decode("utf-8", "replace"))]


def _possible_starts(turns: Sequence[ChatTurn]) -> list[int]:
    """How many of the oldest turns can be left out so that a prompt of the user comes first."""
    others = [turn for turn in turns if turn.role is not Role.SYSTEM]
    return [index for index, turn in enumerate(others) if turn.role is Role.USER]


def _piece(target: Target, token: int | None) -> str:
    return "" if token is None else target.vocabulary.pieces[token].decode("utf-8", "replace")
