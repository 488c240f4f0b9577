"""A conversation as the text that a drafter reads, up to where the reply begins."""

from __future__ import annotations

from collections.abc import Sequence

from engine.speculation.model.chat.chat_template import ChatTemplate
from engine.speculation.model.prompt_text import PromptText
from engine.values.conversations import ChatTurn, Role
from engine.values.errors import TemplateFailed

_SPEAKERS = {Role.SYSTEM: "System", Role.USER: "User", Role.ASSISTANT: "Assistant", Role.TOOL: "Tool"}


class PromptFormat:
    def __init__(self, template: str | None, begin: str, end: str) -> None:
        """The drafter's chat template, if it has one, and the texts of its first and last special token."""
        self._template = None if template is None else _read(template, begin, end)

    def render(self, turns: Sequence[ChatTurn]) -> tuple[PromptText, bool]:
        """The text, and whether the template wrote it.

        Without a chat template (or with a broken one), names and texts are on separate lines, so that the reply begins
        with its first letter and not with a space.
        """
        if self._template is not None:
            try:
                return self._template.render(turns), True
            except TemplateFailed:
                pass  # it costs only speed
        lines = [f"{_SPEAKERS[turn.role]}:\n{turn.text}\n\n" for turn in turns]
        return PromptText("".join(lines) + f"{_SPEAKERS[Role.ASSISTANT]}:\n"), False


def _read(template: str, begin: str, end: str) -> ChatTemplate | None:
    try:
        return ChatTemplate(template, begin, end)
    except TemplateFailed:
        return None
