"""What a plain test may do."""

from __future__ import annotations

import pytest

from tests.plain import PlainTests


def test_a_file_that_imports_a_slow_library_is_left_out_and_a_test_that_does_so_fails() -> None:
    plain = PlainTests()
    plain.find_spec("json")
    with pytest.raises(pytest.skip.Exception, match=r"imports torch\.nn"):
        plain.find_spec("torch.nn")
    plain.pytest_collection_finish()
    plain.find_spec("torchless")
    with pytest.raises(pytest.fail.Exception, match=r"imports PySide6\.QtCore"):
        plain.find_spec("PySide6.QtCore")
