"""Shows in the transcript what has become known of the reply that is being written."""

from __future__ import annotations

from collections.abc import Sequence

from app.widgets.transcript.transcript import Transcript
from engine.values.growing_reply import Piece, ReplySoFar, TextPiece


def show_progress(transcript: Transcript, before: ReplySoFar, so_far: ReplySoFar) -> None:
    """Shows what is new since `before`."""
    if so_far.waits_for != before.waits_for:
        transcript.show_waiting(so_far.waits_for)
    if so_far.num_read != before.num_read:
        transcript.show_prompt_progress(so_far.num_read, so_far.num_to_read)
    _show_pieces(transcript, so_far.since(before.num_pieces))
    if so_far.is_calling and not before.is_calling:
        transcript.show_calling()


def show_all(transcript: Transcript, so_far: ReplySoFar) -> None:
    """Shows the whole reply in a transcript that has begun it."""
    _show_pieces(transcript, so_far.since(0))
    transcript.show_pending()
    if so_far.is_calling:
        transcript.show_calling()
    if so_far.waits_for:
        transcript.show_waiting(so_far.waits_for)


def _show_pieces(transcript: Transcript, pieces: Sequence[Piece]) -> None:
    for piece in pieces:
        if isinstance(piece, TextPiece):
            transcript.append_reply_text(piece.text, piece.origins)
        else:
            transcript.append_thought(piece)
