from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest
import torch  # noqa: F401, no plain tests

import engine


def test_mypy_reads_the_modules_that_public_names_come_from() -> None:
    tree = ast.parse(Path(engine.__file__).read_text("utf-8"))
    read = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]
    assert {*read} == {*(f"engine.{home}" for home in engine._PUBLIC)}


@pytest.mark.parametrize("home", engine._PUBLIC)
def test_public_names_are_where_they_are_said_to_be(home: str) -> None:
    module = import_module(f"engine.{home}")
    for name in engine._PUBLIC[home].split():
        assert getattr(engine, name) is getattr(module, name)


def test_nothing_else_is_public() -> None:
    with pytest.raises(AttributeError, match="Upkeep"):
        engine.Upkeep  # type: ignore[attr-defined] # noqa: B018
