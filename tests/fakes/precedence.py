"""The precedence where nobody else wants the target."""

from __future__ import annotations

from engine.backend.precedence import Precedence

NOBODY = Precedence(dict, lambda _stop: None)
