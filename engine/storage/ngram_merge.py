"""Joins the n-grams of a profile with those of the store."""

from __future__ import annotations

from collections.abc import Sequence

from engine.messages.learned import NgramRecord


def changes_by(imported: Sequence[NgramRecord], own: Sequence[NgramRecord]) -> list[NgramRecord]:
    """What is to be written, so that `own` knows what `imported` knows; nothing when they are joined a second time.

    Of one token, the larger count stands: two profiles that met before have counted the same chats, and adding up
    would count these again with every exchange. Where they disagree whose token a string is, the one that was seen
    more often has it, as in the cache; the store's own on a draw.

    Each cache has a time of its own. The latest use of both counts as now, so that neither's n-grams are the first to
    be evicted.
    """
    by_string = {ngram.string: ngram for ngram in own}
    later = max((ngram.last_use for ngram in own), default=0) - max((ngram.last_use for ngram in imported), default=0)
    if not own:
        later = 0
    changed = []
    for ngram in imported:
        known = by_string.get(ngram.string)
        joined = _joined(ngram, max(0, ngram.last_use + later), known)
        if joined != known:
            changed.append(joined)
    return changed


def _joined(ngram: NgramRecord, last_use: int, known: NgramRecord | None) -> NgramRecord:
    if known is None:
        return NgramRecord(ngram.string, ngram.token, ngram.count, ngram.doubts, last_use)
    if ngram.token != known.token and ngram.count <= known.count:
        return known
    if ngram.token != known.token:
        return NgramRecord(ngram.string, ngram.token, ngram.count, ngram.doubts, max(last_use, known.last_use))
    return NgramRecord(
        ngram.string,
        ngram.token,
        max(ngram.count, known.count),
        max(ngram.doubts, known.doubts),
        max(last_use, known.last_use),
    )
