from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QComboBox, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.features.settings.settings_dialog import SettingsDialog
from app.settings.app_settings import AppSettings
from app.settings.declaration import shown_settings
from app.theme import ThemeKeeper
from app.widgets.number_field import NumberField, number_box, show_number
from engine.values.config import OWN_PARAMETERS


def test_fields_of_a_page_stand_below_each_other_whether_they_have_a_unit_or_not(
    qtbot: QtBot, keeper: ThemeKeeper
) -> None:
    dialog = SettingsDialog(keeper, shown_settings(AppSettings))
    qtbot.addWidget(dialog)
    with qtbot.waitExposed(dialog):
        dialog.show()
    for group in {row.group for row in dialog.rows.values()}:
        dialog.show_page(group)
        controls = [row.control for row in dialog.rows.values() if row.group is group]
        edges = {_edges(each, dialog) for each in controls if isinstance(each, NumberField | QComboBox)}
        assert len(edges) <= 1, group


def test_a_unit_stands_behind_a_number_only(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    assert keeper  # the style is applied
    (setting,) = (each for each in shown_settings(AppSettings) if each.name == "context_size")
    field = NumberField(setting, "Automatic")
    qtbot.addWidget(field)
    field.set_unit("tokens")
    field.resize(150, 26)
    with qtbot.waitExposed(field):
        field.show()
    unit = field.findChild(QLabel)
    assert unit is not None
    assert not unit.isVisible()
    field.set_value(4096)
    assert unit.isVisible()
    assert field.textMargins().right() > unit.width()
    assert unit.geometry().right() < field.width()
    field.set_value(None)
    assert not unit.isVisible()
    assert field.textMargins().right() == 0


def _edges(control: QWidget, dialog: QWidget) -> tuple[int, int]:
    left = control.mapTo(dialog, QPoint(0, 0)).x()
    return left, left + control.width()


def test_a_number_is_written_alike_in_all_fields(qtbot: QtBot, keeper: ThemeKeeper) -> None:
    assert keeper
    window = QWidget()
    qtbot.addWidget(window)
    (setting,) = (each for each in shown_settings(AppSettings) if each.name == "temperature")
    (parameter,) = (each for each in OWN_PARAMETERS if each.name == "temperature")
    box = number_box(parameter, 80, window)
    for value in (0.8, 1, 0.05, 1.25):
        show_number(box, value)
        assert box.text() == setting.written(float(value)) == f"{value:g}"
        assert box.value() == value
