"""What is seen of a drafter at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.speculation.drafter.choice import check_drafter
from engine.values.errors import DrafterUnusable


def test_a_config_that_would_hold_up_other_threads_is_not_parsed(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "more": ["x" * 100] * 3_000}))
    with pytest.raises(DrafterUnusable, match=r"config\.json is damaged"):
        check_drafter(str(tmp_path), tmp_path)
