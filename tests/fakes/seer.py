"""A working target that sees: what it says depends on the pictures it holds."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from engine.speculation.model.interface import Interrupted, PictureRun, SeenPicture, TargetFeature
from engine.values.pictures import Picture
from engine.values.stop_signal import StopSignal
from tests.fakes.target import END, PIECES, FakeTarget

_SEEN = 1000  # and the letter of a picture: what its places hold, beyond all tokens
MARK = tuple(b"<pic>")  # before each picture


def picture(letter: str) -> Picture:
    """With a PNG file's first bytes. Its width is its letter."""
    data = b"\x89PNG\r\n\x1a\n" + letter.encode()
    return Picture(sha256(data).hexdigest(), data, ord(letter), 2)


class Seer(FakeTarget):
    """Implements `model.interface.SeeingTarget`. A picture is two runs, of three places and of one, with a line
    break between. It says the letters of the pictures that it holds, and how often it has replied."""

    def __init__(self, num_more_cells: int = 0, context_size: int = 512, can_roll_back: bool = True) -> None:
        """`num_more_cells`: than places, of each run."""
        super().__init__(_what_it_sees, context_size, can_roll_back)
        self.features |= {TargetFeature.PICTURES}
        self.digests: list[str] = []  # of pictures that it was shown
        self.looked_at: list[str] = []  # the letters of pictures, for each of their runs
        self._num_more_cells = num_more_cells

    def see(self, picture: Picture, stop: StopSignal) -> SeenPicture:
        if stop.is_set():
            raise Interrupted
        self.digests.append(picture.digest)
        first, second = (
            PictureRun(picture, number, num, num + self._num_more_cells) for number, num in ((0, 3), (1, 1))
        )
        return SeenPicture((MARK, first, tuple(b"\n"), second))

    def evaluate_picture(self, run: PictureRun, stop: StopSignal) -> None:
        self.on_evaluate()
        if stop.is_set():
            if TargetFeature.ROLLBACK not in self.features:
                self.held.clear()
            raise Interrupted
        self.looked_at.append(chr(run.picture.width))
        self.held += [_SEEN + run.picture.width] * run.num_places


def _what_it_sees(held: Sequence[int]) -> int:
    places = [token - _SEEN for token in held if token >= _SEEN]
    text = b"".join(PIECES[token] if token < _SEEN else b"" for token in held)
    *before, spoken = text.split(b"assistant\n")
    answer = bytes(places[::4]) + b"%d" % len(before)
    return answer[len(spoken)] if len(spoken) < len(answer) else END
