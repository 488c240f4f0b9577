"""What depends on a window manager: it frames windows, and says how only once they are shown. A real X server without
a screen, a real window manager and real clicks, where they are installed."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

_NEEDED = ("xvfb-run", "openbox", "xdotool")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or any(shutil.which(each) is None for each in _NEEDED), reason=f"needs {_NEEDED}"
)
_PATIENCE_S = 120
_WITH_MANAGER = 'openbox >/dev/null 2>&1 & manager=$!; "$@"; result=$?; kill $manager; exit $result'
_BEGINNING = """
import subprocess
from time import monotonic
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication
from app.text.translation import install_translations
from app.theme import apply_theme
from tests.unit.app.top_levels import TOP_LEVELS, main_window

app = QApplication(["slipstream", "-platform", "xcb"])
install_translations(app)
keeper = apply_theme(app)

def until(is_so):
    end = monotonic() + 30
    while not is_so():
        assert monotonic() < end, is_so
        app.processEvents()

def is_framed(window):
    return window.frameGeometry().top() < window.geometry().top()

def point(widget, x, y, *click):
    place = widget.mapToGlobal(QPoint(x, y))
    subprocess.run(["xdotool", "mousemove", "--sync", str(place.x()), str(place.y()), *click], check=True)

window = main_window(keeper)
window.resize(700, 450)
window.show()
until(lambda: is_framed(window) and window.isActiveWindow())
"""
_DIALOGS = """
for x, y in ((0, 0), (60, 0), (320, 300)):
    window.move(x, y)
    for name in ("speed", "settings, chat", "library", "user guide"):
        dialog = TOP_LEVELS[name](keeper)
        dialog.setParent(window, dialog.windowFlags())
        dialog.show()
        until(lambda: is_framed(dialog) and dialog.isActiveWindow())
        room = dialog.screen().availableGeometry()
        until(lambda: room.contains(dialog.frameGeometry()))
        dialog.close()
        dialog.deleteLater()
"""
_MENU = """
from PySide6.QtCore import QTimer
button = window.target_bar.menu_button
menu, seen = button.menu(), []

def close_it_elsewhere():
    if menu.isVisible() and not seen:
        area = window.geometry()
        seen.append(area.left() <= menu.x() and menu.geometry().right() <= area.right())
        point(window.transcript, 60, 200, "click", "1")

timer = QTimer(interval=100)  # the menu has an event loop of its own
timer.timeout.connect(close_it_elsewhere)
timer.start()
point(button, 10, 10, "click", "1")
until(lambda: seen and not menu.isVisible())
assert seen == [True], "it hangs outside the window"
assert not button.underMouse() and not button.isDown(), "the button is highlighted"
"""


def run(script: str, screen: str = "1024x768") -> None:
    command = ["xvfb-run", "-a", "-s", f"-screen 0 {screen}x24", "bash", "-c", _WITH_MANAGER, "_"]
    done = subprocess.run(
        [*command, sys.executable, "-c", _BEGINNING + script],
        capture_output=True, text=True, timeout=_PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("screen", ["1024x768", "1366x768"])
def test_the_title_of_a_dialog_is_on_the_screen_wherever_its_window_is(screen: str) -> None:
    run(_DIALOGS, screen)


def test_the_menu_is_within_the_window_and_leaves_its_button_as_it_was() -> None:
    run(_MENU)
