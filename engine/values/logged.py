"""Texts that may appear in the log.

The log (`app/crash/discretion.py`) leaves out every text that is filled into a message: it may be what
a user wrote. Numbers, types and kinds are shown, an error by its type, place and template.
"""

from __future__ import annotations


class Loggable(str):
    """Made by our own code, of its own words and of numbers: never of words, names or paths of a user, a file or a
    server."""

    __slots__ = ()
