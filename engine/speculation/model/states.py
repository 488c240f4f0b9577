"""The running states of models that keep one instead of a context: their size, and how many copies are worth it."""

from __future__ import annotations

from collections.abc import Callable

_NUMBER_BYTES = 4
_MOST_SHARE = 0.25  # of the weights' size, for all copies


def state_bytes(number: Callable[[str], int]) -> int:
    """The bytes of one state: an upper bound, as if every layer had one, from the numbers of a model's header (0: not
    there) by their keys without the architecture. 0 if there is no state, or one of an unknown kind."""
    width, kernel = number("embedding_length"), number("ssm.conv_kernel")
    inner, state = number("ssm.inner_size"), number("ssm.state_size")
    numbers = max(kernel - 1, 0) * (inner + 2 * number("ssm.group_count") * state) + inner * state
    if head := number("wkv.head_size"):
        numbers += width * (head + 2)
    if head := number("kda.head_dim"):
        numbers += number("attention.head_count") * head * (head + 3 * max(kernel - 1, 0))
    if length := number("shortconv.l_cache"):
        numbers += width * (length - 1)
    return number("block_count") * numbers * _NUMBER_BYTES


def num_copies(one_bytes: int, weights_bytes: int, most: int) -> int:
    """How many copies of its state a model keeps in addition to the present one, for rolling back."""
    return min(most, int(_MOST_SHARE * weights_bytes) // one_bytes) if one_bytes else most
