"""Starts the process that works on grammars, so that llguidance is imported there alone."""

from __future__ import annotations

from multiprocessing.connection import Connection


def serve(pipe: Connection) -> None:
    """Runs in the child."""
    from engine.speculation.model.chat import grammar_apart

    grammar_apart.serve(pipe)
