"""Asks the hub about the models that the app suggests: `python packaging/suggestions.py [--renew]`.

Ends with 1 if one is gone or has another size. `--renew` writes what the hub says into `resources/suggestions.json`:
sizes, where they were seen, and when; what is gone stays, to be replaced by hand. Needs a network.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path

from engine.backend.hub.asking import endpoint
from engine.backend.hub.search import find_file
from engine.backend.library.suggestions import read_suggestions
from engine.values.errors import FetchFailed

_LIST = Path(__file__).parents[1] / "resources" / "suggestions.json"


def main(arguments: list[str] | None = None, path: Path = _LIST) -> int:
    parser = argparse.ArgumentParser(description="Asks the hub about the models that the app suggests.")
    parser.add_argument("--renew", action="store_true", help="write what the hub says into the list")
    renews = parser.parse_args(arguments).renew
    text = path.read_text("utf-8")
    content, num_stale = json.loads(text), 0
    for suggestion, entry in zip(read_suggestions(text), content["models"], strict=True):
        file = suggestion.file
        found = find_file(file)
        is_stale = found != file
        num_stale += is_stale
        state = "gone" if found is None else f"{found.size_bytes:,} bytes" + (" by now" if is_stale else "")
        print(f"{suggestion.name}: {file.repository}/{file.name}: {state}")
        if found is not None:
            entry["size_bytes"] = found.size_bytes
            entry["seen_on"] = datetime.now(UTC).date().isoformat()
            entry["seen_in"] = [f"{endpoint()}/{file.repository}/blob/main/{file.name}"]
    if renews:
        path.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    return int(num_stale > 0)


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except FetchFailed as error:
        raise SystemExit(str(error)) from None
