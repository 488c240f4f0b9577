"""Records to keep."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.values.learned import VerifiedReply


def reply_of(tokens: Any, law_tokens: Any, law_logs: Any) -> VerifiedReply:
    logs = np.asarray(law_logs)
    return VerifiedReply(
        np.asarray(tokens), np.asarray(law_tokens), logs.astype(np.float16) if logs.dtype.kind == "f" else logs
    )
