"""Goes on with a reply on a server that may begin it anew instead."""

from __future__ import annotations

from engine.errors import NotPossible

_FEWEST = 16  # characters that are the same by chance hardly ever


class Continuation:
    """Holds back what is written while it may be the beginning over again, which is then left out."""

    def __init__(self, begun: str, host: str) -> None:
        self._begun = begun.strip() if len(begun.strip()) >= _FEWEST else ""
        self._host = host
        self._waiting = ""
        self._is_over = not self._begun

    def feed(self, text: str) -> str:
        """What is new. Raises NotPossible where the server begins anew, in other words."""
        if self._is_over:
            return text
        self._waiting += text
        told = self._waiting.lstrip()
        if self._begun.startswith(told):
            return self._released("") if told == self._begun else ""
        if told.startswith(self._begun):
            return self._released(told[len(self._begun) :])
        self._check(told)
        return self._released(self._waiting)

    def finish(self) -> str:
        """What still waits. Raises NotPossible, too."""
        if not self._waiting or self._is_over:
            return ""
        self._check(self._waiting.lstrip())
        return self._released(self._waiting)

    def _released(self, text: str) -> str:
        self._is_over, self._waiting = True, ""
        return text

    def _check(self, told: str) -> None:
        if told[:_FEWEST] == self._begun[:_FEWEST]:
            raise NotPossible(
                "{host} cannot continue a reply; it starts over. Ask for more in a message, or regenerate the reply.",
                host=self._host,
            )
