"""Makes a prompt that fits out of the turns of a conversation, reusing the tokens that the target holds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, takewhile

from engine.speculation.decoding.session import Runs, num_cells
from engine.speculation.model.chat.chat_template import ChatTemplate, num_told_of, usual_template
from engine.speculation.model.chat.families import TEXT
from engine.speculation.model.chat.template_apart import Patience
from engine.speculation.model.chat.thinking import ThinkingTags
from engine.speculation.model.chat.tool_format import DESCRIBED, ToolFormat
from engine.speculation.model.interface import PictureRun, PromptReader, SeenPicture, Vocabulary
from engine.speculation.model.prompt_text import PromptText, around_pictures, joined, part
from engine.speculation.numerics.draft import common_prefix_length
from engine.speculation.replies.long_texts import LongTexts
from engine.values.asked import Names
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import PromptTooLong, TargetUnusable, TemplateExhausted, TemplateFailed
from engine.values.pictures import Picture
from engine.values.replies import Thought
from engine.values.stop_signal import StopSignal
from engine.values.tools import Tool

# A prompt must leave this much of the context for its reply: an eighth, or 256 tokens if that is less. Otherwise the
# oldest turns are left out, and then the prompt fills at most half of the context, so that not every following turn
# evaluates it again. The last turn alone must leave room for a sentence.
_REPLY_PARTS = 8
_REPLY_TOKENS = 256
_ROOMY_SHARE = 0.5
_SENTENCE_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Prompt:
    tokens: tuple[int, ...]
    num_left_out: int  # of the oldest turns; the system prompt is never left out
    num_begun: int = 0  # of the tokens, at their end: those of the reply to continue
    is_open: bool = False  # whether the reply begins, or goes on, in the middle of a thought
    runs: Runs = field(default_factory=dict)  # of its pictures

    @property
    def num_cells(self) -> int:
        return num_cells(self.tokens, self.runs)


class PromptBuilder:
    def __init__(
        self, target: PromptReader, see: Callable[[Picture], SeenPicture] | None = None, template: str = ""
    ) -> None:
        """`see`: how the target reads a picture; None: it sees none. `template`: in place of the target's own. Raises
        TemplateFailed when that cannot render a simple conversation."""
        vocabulary = target.vocabulary
        self._see = see
        self._filler = _filler(vocabulary)
        self._target = target
        self._words = LongTexts(target)
        self._template = ChatTemplate(
            template or target.description.chat_template or usual_template(vocabulary, target.description.names),
            begin=vocabulary.text_of(vocabulary.begin),
            end=vocabulary.text_of(vocabulary.end),
        )
        self._thinking = self._template.thinking(vocabulary.pieces)
        self._template.render(
            [ChatTurn(Role.USER, "Hello."), ChatTurn(Role.ASSISTANT, "Hi."), ChatTurn(Role.USER, "Bye.")]
        )

    @property
    def template(self) -> str:
        """The source of the chat template in use."""
        return self._template.source

    @property
    def tags(self) -> ThinkingTags | None:
        """The tags around the target's thoughts; None: it has none."""
        return self._thinking.tags

    @property
    def thinks_unless_told(self) -> bool | None:
        """True if the target thinks before it answers by default; None: it has no switch for that."""
        return self._thinking.by_default if self._thinking.switch else None

    @property
    def knows_tools(self) -> bool:
        """True if the target's template has a place for tools."""
        return self._template.tool_format is not None

    @property
    def tool_format(self) -> ToolFormat | None:
        """How the target calls tools; None: it only goes on with a text."""
        return self._template.tool_format or (DESCRIBED if self._template.source != TEXT else None)

    @property
    def ending(self) -> tuple[int, ...]:
        """Tokens that end a thought; none if the tokenizer cannot spell them in the middle of a text."""
        pieces, tags = self._target.vocabulary.pieces, self.tags
        for text in () if tags is None else (tags.ending, tags.close):
            tokens = self._target.tokenize(text)
            if tokens and b"".join(pieces[token] for token in tokens) == text.encode():
                return tuple(tokens)
        return ()

    def build(
        self,
        turns: Sequence[ChatTurn],
        held: Sequence[int],
        num_left_out: int = 0,
        num_extra: int = 0,
        begun: str = "",
        thoughts: tuple[Thought, ...] = (),
        thinks: bool | None = None,
        tools: Sequence[Tool] = (),
        keeps_all: bool = False,
        opens: str = "",
        more: Names = (),
        stop: StopSignal | None = None,
    ) -> Prompt:
        """The prompt of as many turns as fit.

        `held` are the target's tokens; `num_left_out` turns were left out before, and stay out, so that the held tokens
        stay useful; `num_extra` tokens follow the prompt at once; `begun` is the reply to continue, with its
        `thoughts`; `thinks`: as the user wants it; None: as the template has it; `tools`: that it may call;
        `keeps_all`: no turn is left out; `opens`: how the template begins a call, which the reply goes on
        with; `more`: what the template is told besides.

        A prompt that takes the template too much counts as too long. Raises PromptTooLong or TemplateFailed if the last
        turn alone is too long, TargetUnusable if the vocabulary has no tokens for it, or a picture cannot be seen, and
        Interrupted when `stop` gets set.
        """
        system = [*takewhile(_is_system, turns)]
        others = [*turns[len(system) :]]
        starts = self._possible_starts(others, tools, keeps_all)

        patience = Patience(stop)

        @cache
        def prompt_from(start: int) -> Prompt | TemplateExhausted:
            told = [*system, *filter(_is_system, others[:start]), *others[start:]]
            try:
                text = self._template.render(told, patience, self._thinking, thinks, tools, dict(more))
            except TemplateExhausted as error:
                return error
            if opens:
                text = PromptText(text + opens, text.said + bytes(len(opens)))
            is_open = self._thinking.is_open(text)
            seen = [self._seen(picture) for turn in told for picture in turn.pictures]
            if not begun and not thoughts:
                tokens, runs = self._tokens(text, held, seen, stop)
                return Prompt(tokens, start, 0, is_open, runs)
            is_thinking = self.tags is not None and bool(thoughts) and not thoughts[-1].is_whole
            spelled = self._spelled(begun, thoughts, is_open)
            tokens, runs, num_begun = self._with_begun(text, held, spelled, seen, stop)
            return Prompt(tokens, start, num_begun, is_thinking, runs)

        def is_within(start: int, limit: float) -> bool:
            prompt = prompt_from(start)
            return isinstance(prompt, Prompt) and prompt.num_cells <= limit

        def first_within(limit: float) -> int:
            """Place in `starts` of the longest prompt of at most `limit` tokens; beyond the end if there is none."""
            return bisect_left(starts, True, key=lambda start: is_within(start, limit))

        size = self._target.limits.context_size
        room = size - num_extra
        usual_limit = room - min(_REPLY_TOKENS, size // _REPLY_PARTS)
        start = max(start for start in starts if start <= max(num_left_out, starts[0]))
        if not is_within(start, usual_limit):
            starts = starts[starts.index(start) :]
            place = first_within(_ROOMY_SHARE * size - num_extra)
            if place == len(starts):
                place = first_within(usual_limit)
            start = starts[min(place, len(starts) - 1)]
        prompt = prompt_from(start)
        if isinstance(prompt, TemplateExhausted):
            raise prompt
        if prompt.num_cells > room - min(_SENTENCE_TOKENS, size // _REPLY_PARTS):
            if begun:
                raise PromptTooLong(
                    "This reply fills the context of {size:,} tokens; to continue it, choose a larger context size.",
                    size=size,
                )
            if tools or turns[-1].role is Role.TOOL:
                raise PromptTooLong(
                    "This message, the tools and their results take {tokens:,} tokens, but {name} can read at most "
                    "{size:,} at once; use fewer tools, or choose a larger context size.",
                    tokens=prompt.num_cells,
                    name=self._target.description.name,
                    size=size,
                )
            raise PromptTooLong(
                "This message takes {tokens:,} tokens, but {name} can read at most {size:,} at once; shorten it, or "
                "choose a larger context size.",
                tokens=prompt.num_cells,
                name=self._target.description.name,
                size=size,
            )
        if not prompt.tokens:
            name = self._target.description.name
            raise TargetUnusable("{name} has no tokens for this message; choose another model.", name=name)
        return prompt

    def build_bare(self, text: str | Sequence[int], held: Sequence[int], stop: StopSignal | None = None) -> Prompt:
        """A prompt that needs no template, as a text, in which special tokens are recognised, or as tokens. Raises
        PromptTooLong, TargetUnusable for unknown tokens or none at all, and Interrupted when `stop` gets set."""
        name, size = self._target.description.name, self._target.limits.context_size
        if isinstance(text, str):
            if len(text) > self._target.limits.max_bytes:
                raise PromptTooLong(
                    "This prompt is longer than {name} can read at once ({size:,} tokens); shorten it.",
                    name=name,
                    size=size,
                )
            words = PromptText(text, bytes(len(text)))
            tokens = _continued(
                self._target, words, held, self._target.vocabulary.with_begin(self._words.tokenize(words, stop))
            )
        else:
            tokens = [*text]
            if not all(0 <= token < len(self._target.vocabulary) for token in tokens):
                raise TargetUnusable(
                    "This prompt contains numbers that are not tokens of {name}; send it as text.", name=name
                )
        if len(tokens) > size - min(_SENTENCE_TOKENS, size // _REPLY_PARTS):
            raise PromptTooLong(
                "This prompt takes {tokens:,} tokens, but {name} can read at most {size:,} at once; shorten it, or "
                "choose a larger context size.",
                tokens=len(tokens),
                name=name,
                size=size,
            )
        if not tokens:
            raise TargetUnusable("This prompt is empty for {name}; send a text with at least one word.", name=name)
        return Prompt(tuple(tokens), 0)

    def _possible_starts(self, turns: Sequence[ChatTurn], tools: Sequence[Tool], keeps_all: bool) -> list[int]:
        """The numbers of oldest turns that can be left out: a turn of the user comes first, and the text is not too
        long to tokenize. Raises PromptTooLong if there is no such number."""
        limit = self._target.limits.max_bytes
        # Encoding a text of many million characters would keep other threads waiting.
        texts = map(self._thinking.said, turns)
        sizes = [len(text if len(text) > limit else text.encode("utf-8", "replace")) for text in texts]
        sizes = [
            size + sum(len(each.arguments) for each in turn.calls) for size, turn in zip(sizes, turns, strict=True)
        ]
        sizes[-1:] = [size + num_told_of(tools) for size in sizes[-1:]]
        size_from = list(accumulate(reversed(sizes)))[::-1]  # of each turn and all after it
        within = [i for i, size in enumerate(size_from) if size <= limit]
        starts = within[:1] if keeps_all else [i for i in within if turns[i].role is Role.USER]
        starts = [] if keeps_all and 0 not in within else starts
        if not starts:
            raise PromptTooLong(
                "This message has {length:,} characters, more than {name} can read at once ({context:,} tokens); "
                "shorten it.",
                length=len(turns[-1].text),
                name=self._target.description.name,
                context=self._target.limits.context_size,
            )
        return starts

    def _seen(self, picture: Picture) -> SeenPicture:
        if self._see is None:
            name = self._target.description.name
            raise TargetUnusable("{name} cannot see pictures; choose a model that can, or send none.", name=name)
        return self._see(picture)

    def _tokens(
        self, text: PromptText, held: Sequence[int], seen: Sequence[SeenPicture], stop: StopSignal | None
    ) -> tuple[tuple[int, ...], dict[int, PictureRun]]:
        """The tokens, and the runs of the pictures that were seen, if the text has them. Raises TemplateFailed if it
        ends with one."""
        tokens: list[int] = []
        runs: dict[int, PictureRun] = {}
        for number, words in enumerate(around_pictures(text)):
            for part_of_picture in seen[number - 1].parts if number else ():
                if isinstance(part_of_picture, PictureRun):
                    runs[len(tokens)] = part_of_picture
                    tokens += [self._filler] * part_of_picture.num_places
                else:
                    tokens += part_of_picture
            follows = held[len(tokens) :] if list(held[: len(tokens)]) == tokens else ()
            spelled = self._words.tokenize(words, stop)
            tokens += _continued(
                self._target, words, follows, spelled if number else self._target.vocabulary.with_begin(spelled)
            )
        if runs and max(start + run.num_places for start, run in runs.items()) == len(tokens):
            raise TemplateFailed("The chat template inside this model ends with a picture; choose another model.")
        return tuple(tokens), runs

    def _with_begun(
        self,
        text: PromptText,
        held: Sequence[int],
        begun: PromptText,
        seen: Sequence[SeenPicture],
        stop: StopSignal | None,
    ) -> tuple[tuple[int, ...], dict[int, PictureRun], int]:
        """The tokens and runs, and how many tokens, at the end, spell `begun`."""
        tokens, runs = self._tokens(text, held, seen, stop)
        follows = held[len(tokens) :] if tuple(held[: len(tokens)]) == tokens else ()
        written = _written(self._target, begun, follows)
        if written is not None:
            return (*tokens, *written), runs, len(written)
        whole = joined((text, begun))
        assert isinstance(whole, PromptText)
        tokens, runs = self._tokens(whole, (), seen, stop)
        return tokens, runs, _num_spelling(self._target.vocabulary, tokens, len(begun.encode("utf-8", "replace")))

    def _spelled(self, begun: str, thoughts: tuple[Thought, ...], is_open: bool) -> PromptText:
        """A reply as the target wrote it, with its thoughts. `is_open`: its prompt begins the first of these."""
        tags = self.tags
        if tags is None:
            return PromptText(begun)
        starts_thinking = bool(thoughts) and thoughts[0].place == 0
        parts = [tags.ending] if is_open and not starts_thinking else []
        place = 0
        for number, thought in enumerate(thoughts):
            parts.append(PromptText(begun[place : thought.place]))
            place = thought.place
            parts += [] if is_open and starts_thinking and number == 0 else [f"{tags.open}\n"]
            parts += [PromptText(thought.text), tags.ending if thought.is_whole else ""]
        spelled = joined([*parts, PromptText(begun[place:])])
        return spelled if isinstance(spelled, PromptText) else PromptText(spelled)


def _is_system(turn: ChatTurn) -> bool:
    return turn.role is Role.SYSTEM


def _continued(target: PromptReader, text: PromptText, held: Sequence[int], tokens: list[int]) -> list[int]:
    """`tokens` of `text`, or other tokens of the same text that share more with `held`.

    A reply is not always written in the tokens into which its text is tokenized. As far as the held tokens spell the
    text, up to a special token (no tokenizer merges across one), they are reused.
    """
    shared = common_prefix_length(held, tokens)
    if shared == len(held) or shared == len(tokens):
        return tokens
    data = text.encode("utf-8", "replace")
    special = _written_special(target.vocabulary, text)
    for num_reused, num_bytes in _borders(target.vocabulary, held, data, special):
        if num_reused <= shared:
            break
        num_characters = len(data[:num_bytes].decode("utf-8", "ignore"))
        rest = target.tokenize(part(text, slice(num_characters, None)))
        # A tokenizer that puts a space before every text, SentencePiece's, must not do so in the middle of one.
        if b"".join(target.vocabulary.pieces[token] for token in rest) == data[num_bytes:] or num_reused < len(held):
            return [*held[:num_reused], *rest]
    return tokens


def _written(target: PromptReader, text: PromptText, held: Sequence[int]) -> list[int] | None:
    """Tokens of a text that follows others: those held, as far as they spell it up to the end of a character. None if
    the tokenizer puts a space before the rest, as SentencePiece's does."""
    pieces = target.vocabulary.pieces
    data = text.encode("utf-8", "replace")
    special = _written_special(target.vocabulary, text)
    num_reused = num_bytes = place = 0
    for index, token in enumerate(held):
        is_special = token in target.vocabulary.special
        if not pieces[token] or (is_special and special.get(place) != pieces[token]):
            break
        if not data.startswith(pieces[token], place):
            break
        place += len(pieces[token])
        if data[place : place + 1] < b"\x80" or data[place : place + 1] >= b"\xc0":
            num_reused, num_bytes = index + 1, place
    num_characters = len(data[:num_bytes].decode("utf-8", "ignore"))
    rest = target.tokenize(part(text, slice(num_characters, None))) if num_bytes < len(data) else []
    if b"".join(pieces[token] for token in rest) != data[num_bytes:]:
        return None
    return [*held[:num_reused], *rest]


def _num_spelling(vocabulary: Vocabulary, tokens: Sequence[int], num_bytes: int) -> int:
    """The number of tokens at the end that spell that many bytes."""
    sizes = accumulate(len(vocabulary.pieces[token]) for token in reversed(tokens))
    return next((index + 1 for index, size in enumerate(sizes) if size >= num_bytes), len(tokens))


def _written_special(vocabulary: Vocabulary, text: PromptText) -> dict[int, bytes]:
    """The special tokens that the template wrote, by the byte where each begins."""
    written: dict[int, bytes] = {}
    place = num_bytes = 0
    for begin, end, is_said in vocabulary.special_tokens.find(text):
        if not is_said:
            num_bytes += len(text[place:begin].encode("utf-8", "replace"))
            place = begin
            written[num_bytes] = text[begin:end].encode()
    return written


def _borders(
    vocabulary: Vocabulary, held: Sequence[int], data: bytes, written: dict[int, bytes]
) -> Iterator[tuple[int, int]]:
    """Where newly tokenized text may replace the held tokens, as numbers of tokens and of bytes, best first: at their
    end if they spell the text so far, and after the last special token before they stop to. A special token spells one
    of the `written` ones only, by the byte where it begins, and other tokens spell none of them."""
    place = 0
    starts = iter((*written, len(data) + 1))
    next_special = next(starts)
    after_special = (0, 0)
    at_start = True  # of the text, or right after a special token: there SentencePiece puts a space into the token
    for index, token in enumerate(held):
        piece = vocabulary.pieces[token]
        if index == 0 and token == vocabulary.begin and not data.startswith(piece):
            continue
        if at_start and piece[:1] == b" " and not data.startswith(piece, place):
            piece = piece[1:]
        at_start = token in vocabulary.special
        is_right = (
            written.get(place) == piece if token in vocabulary.special_tokens else place + len(piece) <= next_special
        )
        if not is_right or not data.startswith(piece, place):
            break
        place += len(piece)
        while next_special < place:
            next_special = next(starts)
        if at_start:
            after_special = (index + 1, place)
    else:
        yield len(held), place
    yield after_special


def _filler(vocabulary: Vocabulary) -> int:
    """A token that no reply has, for the places of pictures."""
    if vocabulary.begin is not None:
        return vocabulary.begin
    return min(vocabulary.special - vocabulary.end_of_generation, default=0)
