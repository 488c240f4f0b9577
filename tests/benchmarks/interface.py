"""How fast the window shows a long conversation, and how smooth it stays while a reply streams.

    python -m tests.benchmarks.interface

Opens 2,000 messages in the real window, scrolls through them by the wheel and by dragging the bar, slowly and from one
end to the other, puts 5,000 chats in order, then streams a reply of 3,000 tokens at 500 pieces per second while a
precise timer beats every millisecond; the longest pause between two beats, less the millisecond, is how long the
interface was blocked. A frame of scrolling is the time from a new position to its pixels. Each time by the clock is
followed by what the interface thread computed itself, which other programs on the machine change little.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from time import perf_counter, thread_time

from PySide6.QtCore import QEvent, QEventLoop, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication

from app.main_window import MainWindow
from app.theme import apply_theme
from engine.values.conversations import Message, Role
from engine.values.replies import ReplyStatistics, StopReason
from engine.values.speed import LiveFigures
from tests.benchmarks.heartbeat import Heartbeat
from tests.benchmarks.many_chats import NUM_CHATS, NUM_FOLDERS, ORDER_BAR_MS, order_ms

NUM_MESSAGES = 2_000
NUM_TOKENS = 3_000
PIECES_PER_S = 500
LATE_COLOURS_MS = 300  # code coloured after the last piece is part of the reply
OPEN_BAR_MS = 500.0
BLOCK_BAR_MS = 50.0
FRAME_BAR_MS = 1000 / 60
BEHIND_BAR_MS = 100.0
NUM_FRAMES = 600
WHEEL_PX = 120
SLOW_PX = 60  # of a dragged bar, in a frame

PROSE = (
    "A rainbow appears when **sunlight** meets raindrops. Each drop bends the light, spreads it into its colours and "
    "sends it *back* towards you; see `Snell's distribution` or [a book](https://example.org/optics).\n\n"
)
TABLE = "| Way | Speed | Safe |\n|:--|--:|:-:|\n" + "".join(
    f"| `way{n}` | {n * 37} MB/s | {'yes' if n % 2 else 'no'} |\n" for n in range(12)
)
CODE_LINES = (
    "def distance(first: Point, second: Point) -> float:",
    '    """The length of the straight line between two points."""',
    "    across = first.x - second.x  # metres",
    "    return math.sqrt(across * across + (first.y - second.y) ** 2)",
    "",
)
CODE = "```python\n" + "".join(f"{CODE_LINES[n % len(CODE_LINES)]}\n" for n in range(150)) + "```\n\n"
LIST = "".join(f"{n}. Point **{n}** of the list, with a few words and `code`\n" for n in range(1, 61)) + "\n"


def conversation(num_messages: int = NUM_MESSAGES) -> tuple[Message, ...]:
    """Prompts and replies in turn; the replies are prose, tables, lists and code."""
    now = datetime.now(UTC)
    replies = (PROSE * 3, PROSE + TABLE, CODE + PROSE, PROSE * 2 + LIST)
    statistics = ReplyStatistics(400, 40, 214, 0.3, 6.9, StopReason.END, 1204, 8192)
    return tuple(
        Message(n, 1, None, Role.ASSISTANT, replies[n // 2 % len(replies)], now, "SmolLM2-135M-Instruct", statistics)
        if n % 2
        else Message(n, 1, None, Role.USER, f"Question {n}: " + "what about this? " * (n % 9 + 1), now)
        for n in range(num_messages)
    )


def reply_pieces(num_tokens: int = NUM_TOKENS) -> list[str]:
    text = PROSE * 2 + TABLE + "\n" + CODE + LIST + PROSE * 2
    size = max(1, round(len(text) / num_tokens))
    return [text[begin : begin + size] for begin in range(0, len(text), size)]


class Writer(QObject):
    """Streams a reply into the window as the engine's bridge does: piece by piece, by the clock.

    Signals:
        finished(): the reply is complete and shown.
    """

    finished = Signal()

    def __init__(self, window: MainWindow, pieces: list[str]) -> None:
        super().__init__()
        self._window = window
        self._pieces = pieces
        self._num_written = 0
        self._started = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(1000 // PIECES_PER_S)
        self.behind_ms = 0.0  # at most, by which a piece came later than its time
        self._timer.timeout.connect(self._write)

    def start(self) -> None:
        self._window.set_busy(True)
        self._window.transcript.begin_reply()
        self._started = perf_counter()
        self._timer.start()

    @Slot()
    def _write(self) -> None:
        elapsed_s = perf_counter() - self._started
        due = min(len(self._pieces), int(elapsed_s * PIECES_PER_S) + 1)
        self.behind_ms = max(self.behind_ms, 1000 * (elapsed_s - self._num_written / PIECES_PER_S))
        for number in range(self._num_written, due):
            self._window.transcript.append_reply_text(self._pieces[number])
            figures = LiveFigures(number + 1, PIECES_PER_S, PIECES_PER_S, context_used=1000 + number)
            self._window.meter.show_live(figures, 8192, ())
        self._num_written = due
        if due == len(self._pieces):
            self._timer.stop()
            statistics = ReplyStatistics(400, 40, due, 0.3, due / PIECES_PER_S, StopReason.END, 1000 + due, 8192)
            text = "".join(self._pieces)
            message = Message(9_999, 1, None, Role.ASSISTANT, text, datetime.now(UTC), "SmolLM2", statistics)
            self._window.transcript.finish_reply(message)
            self._window.set_busy(False)
            QTimer.singleShot(LATE_COLOURS_MS, self._on_late_colours)

    @Slot()
    def _on_late_colours(self) -> None:
        self.finished.emit()


def open_ms(window: MainWindow, messages: tuple[Message, ...]) -> tuple[float, float]:
    """Times from values to pixels: by the clock, and of the thread's own work."""
    started, own = perf_counter(), thread_time()
    window.transcript.show_messages(messages)
    window.repaint()
    QApplication.processEvents()
    return (perf_counter() - started) * 1000, (thread_time() - own) * 1000


def frames_ms(window: MainWindow, places: list[int], dragging: bool = False) -> tuple[list[float], list[float]]:
    """Times of scrolling to one place after the other: by the clock, and of the thread's own work; each sorted.
    `dragging`: with the bar held by the mouse."""
    bar = window.transcript.column.verticalScrollBar()
    bar.setSliderDown(dragging)
    times, own_times = [], []
    for place in places:
        began, own = perf_counter(), thread_time()
        bar.setValue(place)
        window.repaint()
        QApplication.processEvents()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # else only an event loop's turn does that
        times.append((perf_counter() - began) * 1000)
        own_times.append((thread_time() - own) * 1000)
    return sorted(times), sorted(own_times)


def settled_ms(window: MainWindow) -> float:
    """Time from releasing the bar until every visible row is there, of the thread's own work."""
    own = thread_time()
    window.transcript.column.verticalScrollBar().setSliderDown(False)
    window.repaint()
    return (thread_time() - own) * 1000


def stream(window: MainWindow, pieces: list[str]) -> tuple[Heartbeat, float]:
    """The heartbeat of the interface thread meanwhile, and by how many milliseconds a piece was late at most."""
    heartbeat = Heartbeat()
    writer = Writer(window, pieces)
    loop = QEventLoop()
    writer.finished.connect(loop.quit)
    heartbeat.start()
    writer.start()
    loop.exec()
    heartbeat.stop()
    return heartbeat, writer.behind_ms


def main() -> int:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    started = perf_counter()
    application = QApplication(sys.argv[:1])
    window = MainWindow(apply_theme(application))
    window.show()
    QApplication.processEvents()
    print(f"window until painted:          {(perf_counter() - started) * 1000:7.1f} ms")
    opened_ms, own_ms = open_ms(window, conversation())
    print(
        f"{NUM_MESSAGES:,} messages until painted:  {opened_ms:7.1f} ms  (bar {OPEN_BAR_MS:.0f} ms; own {own_ms:.1f})"
    )
    again_ms, own_ms = open_ms(window, conversation())
    print(f"the same again, warm:          {again_ms:7.1f} ms  (own {own_ms:.1f})")
    end = window.transcript.column.verticalScrollBar().maximum()
    wheel = frames_ms(window, [max(0, end - number * WHEEL_PX) for number in range(NUM_FRAMES)])
    slowly = frames_ms(window, [end // 3 + SLOW_PX * number for number in range(NUM_FRAMES)], dragging=True)
    slowly_settled_ms = settled_ms(window)
    flying = frames_ms(window, [end * number // NUM_FRAMES for number in range(NUM_FRAMES)], dragging=True)
    flying_settled_ms = settled_ms(window)
    ways = (("by the wheel:  ", wheel), ("dragged slowly:", slowly), ("flying:        ", flying))
    for name, (times, own_times) in ways:
        print(f"a frame {name}        {_frames_words(times)}")
        print(f"    of which own work:         {_frames_words(own_times)}")
    print(f"let go, own work until all is there: {slowly_settled_ms:.1f} ms slowly, {flying_settled_ms:.1f} ms flying")
    in_order = order_ms(window)
    print(f"{NUM_CHATS:,} chats in {NUM_FOLDERS} folders, own work (bar {ORDER_BAR_MS:.0f} ms each):")
    for name, (by_clock_ms, own_ms) in in_order.items():
        print(f"    {name:26} {own_ms:7.1f} ms  ({by_clock_ms:.1f} by the clock)")
    heartbeat, behind_ms = stream(window, reply_pieces())
    longest_ms, rare_ms = heartbeat.longest_ms(), heartbeat.percentile_ms(0.99)
    print(
        f"longest block while streaming: {longest_ms:7.1f} ms  "
        f"(bar {BLOCK_BAR_MS:.0f} ms; own {heartbeat.longest_own_ms():.1f})"
    )
    print(
        f"99th percentile:               {rare_ms:7.1f} ms  "
        f"of {heartbeat.num_beats:,} beats (own {heartbeat.percentile_own_ms(0.99):.1f})"
    )
    print(f"{PIECES_PER_S} pieces a second, behind: {behind_ms:7.1f} ms  at most (bar {BEHIND_BAR_MS:.0f} ms)")
    window.close()
    is_in_order = all(own_ms < ORDER_BAR_MS for _, own_ms in in_order.values())
    is_smooth = opened_ms < OPEN_BAR_MS and longest_ms < BLOCK_BAR_MS and behind_ms < BEHIND_BAR_MS
    return 0 if is_in_order and is_smooth else 1


def _frames_words(times: list[float]) -> str:
    in_time = sum(time <= FRAME_BAR_MS for time in times) / len(times)
    median, often, rare = (times[int(share * len(times))] for share in (0.5, 0.9, 0.99))
    return f"{median:7.1f} ms  (90th percentile {often:.1f}, 99th {rare:.1f}; {in_time:.1%} in time for 60 Hz)"


if __name__ == "__main__":
    raise SystemExit(main())
