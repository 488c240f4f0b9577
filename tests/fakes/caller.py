"""A working target whose chat template knows tools, and that calls them."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from tests.fakes.target import END, PIECES, FakeTarget

TAGS = (b"<tool_call>", b"</tool_call>")
CALL = '<tool_call>\n{"name": "forecast", "arguments": {"city": "Paris"}}\n</tool_call>'
ANSWER = "Take an umbrella."

# As Qwen2.5 has it, after Hermes.
HERMES = (
    "{%- if tools %}{{- '<|im_start|>system\n' }}"
    "{%- if messages[0]['role'] == 'system' %}{{- messages[0]['content'] + '\n\n' }}{%- endif %}"
    "{{- '# Tools\n\nYou may call functions.\n<tools>' }}"
    "{%- for tool in tools %}{{- '\n' }}{{- tool | tojson }}{%- endfor %}"
    '{{- \'\n</tools>\n\nWrite each call as\n<tool_call>\n{"name": NAME, "arguments": OBJECT}\n</tool_call>'
    "<|im_end|>\n' }}"
    "{%- elif messages[0]['role'] == 'system' %}"
    "{{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}{%- endif %}"
    "{%- for message in messages %}"
    "{%- if message.role == 'user' or (message.role == 'assistant' and not message.tool_calls) %}"
    "{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{%- elif message.role == 'assistant' %}{{- '<|im_start|>assistant' }}"
    "{%- if message.content %}{{- '\n' + message.content }}{%- endif %}"
    "{%- for tool_call in message.tool_calls %}"
    "{%- if tool_call.function is defined %}{%- set tool_call = tool_call.function %}{%- endif %}"
    '{{- \'\n<tool_call>\n{"name": "\' }}{{- tool_call.name }}{{- \'", "arguments": \' }}'
    "{{- tool_call.arguments | tojson }}{{- '}\n</tool_call>' }}{%- endfor %}{{- '<|im_end|>\n' }}"
    "{%- elif message.role == 'tool' %}"
    "{%- if loop.index0 == 0 or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}"
    "{{- '\n<tool_response>\n' }}{{- message.content }}{{- '\n</tool_response>' }}"
    "{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\n' }}{%- endif %}"
    "{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"
)


class Caller(FakeTarget):
    """Writes the first of these replies to a prompt, the second behind the first result, and so on; the last again and
    again. It waits for `go_on` in the middle of a reply, where that is wanted."""

    def __init__(
        self,
        *replies: str,
        chat_template: str = HERMES,
        tags: tuple[bytes, ...] = TAGS,
        result: bytes = b"<tool_response>",
        context_size: int = 8_192,
    ) -> None:
        """`result`: what the template writes before each; `tags`: tokens besides those of `FakeTarget`."""
        super().__init__(self._next, context_size, chat_template=chat_template, more_pieces=tags)
        self._replies = [each.encode() for each in replies or (CALL, ANSWER)]
        self._result = result
        self.waits_after: int | None = None  # bytes of a reply
        self.is_waiting, self.go_on = threading.Event(), threading.Event()

    def script(self, replies: Sequence[str]) -> None:
        """Writes these from now on."""
        self._replies = [each.encode() for each in replies]

    def _next(self, tokens: Sequence[int]) -> int:
        before, _, said = self._text_of(tokens).rpartition(b"assistant\n")
        asked = before.rfind(b"<|im_start|>user\n")
        while before[asked:].startswith(b"<|im_start|>user\n" + self._result):  # no prompt, but a result
            asked = before.rfind(b"<|im_start|>user\n", 0, asked)
        number = before.count(self._result, max(asked, 0))
        reply = self._replies[min(number, len(self._replies) - 1)]
        if len(said) == self.waits_after:
            self.is_waiting.set()
            self.go_on.wait(60)
        if len(said) >= len(reply):
            return END
        rest = reply[len(said) :]
        mark = next((place for place, each in enumerate(self._more()) if rest.startswith(each)), None)
        return rest[0] if mark is None else len(PIECES) + mark

    def _more(self) -> tuple[bytes, ...]:
        return self.vocabulary.pieces[len(PIECES) :]
