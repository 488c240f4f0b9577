"""A screen and a size of text to try the pages with."""

from __future__ import annotations

from dataclasses import dataclass

LEAST_LOGICAL = (640, 380)  # px: what a screen must offer for each 100 % of the size of text


@dataclass(frozen=True, slots=True)
class Place:
    screen: tuple[int, int]  # px
    scale: int  # % of the usual size of text
    factor: float = 1.0  # QT_SCALE_FACTOR

    @property
    def is_large_enough(self) -> bool:
        share = self.scale / 100 * self.factor
        return all(px / share >= least for px, least in zip(self.screen, LEAST_LOGICAL, strict=True))

    def __str__(self) -> str:
        return f"{self.screen[0]}×{self.screen[1]} at {self.scale} %"
