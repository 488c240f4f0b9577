"""What can go wrong with a server, each as a sentence. What was sent before it is known from the class."""

from __future__ import annotations

from engine.values.errors import PromptTooLong, RemoteFailed
from engine.values.sentences import Sentence, say, shortened

_LONGEST_REASON = 200  # characters of a server's own words


class Unsent(RemoteFailed):
    """Nothing was sent."""


class NotReached(Unsent):
    """Nothing answers: it is safe to try again."""


class Busy(RemoteFailed):
    """The server has refused before it began: it is safe to try again, after `wait_s`."""

    def __init__(self, sentence: Sentence, wait_s: float | None) -> None:
        super().__init__(sentence)
        self.wait_s = wait_s  # None: it does not say how long


class Lost(RemoteFailed):
    """The connection broke, or the server fell silent, when it had begun to answer, or may have."""


class TooLong(PromptTooLong):
    """The turns do not fit into the context of the server's model. Nothing was written."""

    def __init__(self, sentence: Sentence, share: float) -> None:
        super().__init__(sentence)
        self.share = share  # of the prompt that fits, as far as the server tells; else a guess


class Stopped(Exception):
    """The stop signal was set."""


def reason_of(words: object) -> str:
    """A server's own words, short and in one line."""
    text = "".join(letter if letter.isprintable() else " " for letter in str(words)[: 10 * _LONGEST_REASON])
    text = " ".join(text.split())
    return shortened(text, _LONGEST_REASON)


def unreadable(host: str) -> RemoteFailed:
    return RemoteFailed(
        "{host} answers like no server with OpenAI's interface does; check the address and its path.",
        host=host,
    )


def too_much(host: str) -> RemoteFailed:
    return RemoteFailed("{host} sends more than a reply can be; the rest is not read.", host=host)


def silent(host: str) -> Lost:
    return Lost(say("{host} stopped answering; try again, or check the server.", host=host))


def lost(host: str) -> Lost:
    return Lost(
        say(
            "The connection to {host} was lost. What arrived is kept; continue the reply when the server is back.",
            host=host,
        )
    )


def halved(host: str) -> Lost:
    return Lost(
        say("{host} stopped in the middle of the reply. What arrived is kept; continue the reply to go on.", host=host)
    )


def not_reached(host: str) -> NotReached:
    return NotReached(
        say(
            "{host} cannot be reached: nothing answers at that address. Check that the server is running, and try "
            "again.",
            host=host,
        )
    )


def refused(host: str, status: int, reason: str, wait_s: float | None, model: str = "") -> RemoteFailed:
    """`reason`: the server's own words, as `reason_of` makes them."""
    if status in (401, 403):
        return RemoteFailed("{host} does not accept the key, or requires one; check the key of this server.", host=host)
    if status == 404 and model:
        return RemoteFailed(
            "{host} no longer has the model {model}, or has no chats at this address; look at the server again.",
            host=host,
            model=model,
        )
    if status == 413:
        return RemoteFailed("{host} does not accept that much at once; send less, or fewer pictures.", host=host)
    if status in (429, 503):
        return Busy(say("{host} is busy and accepts no more requests; try again in a while.", host=host), wait_s)
    if 300 <= status < 400:
        return RemoteFailed(
            "{host} redirects to another address, and Slipstream contacts none that you did not choose; set up the "
            "server with its own address.",
            host=host,
        )
    if status >= 500:
        return RemoteFailed("{host} failed ({status}); try again, or check the server.", host=host, status=status)
    if reason:
        return RemoteFailed("{host} refuses this: “{reason}”", host=host, reason=reason)
    return RemoteFailed("{host} refuses this ({status}); check the address and the model.", host=host, status=status)
