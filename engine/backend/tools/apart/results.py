"""What servers offer and answer, as plain texts within bounds."""

from __future__ import annotations

import json
import re
from typing import Any

import mcp_types as types

from engine.speculation.model.chat.tool_format import is_deeper

MOST_TOOLS = 256  # of one server
MOST_PAGES = 32
MOST_TEXT = 200_000  # characters of an answer
_LONGEST_DESCRIPTION = 4_000
_LONGEST_SCHEMA = 32_000
_DEEPEST_SCHEMA = 24
_NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}")


def tool_of(found: types.Tool) -> dict[str, str] | None:
    """None for a tool that cannot be described to a model."""
    schema = found.input_schema or {}
    if not _NAME.fullmatch(found.name) or is_deeper(schema, _DEEPEST_SCHEMA):
        return None
    try:
        text = json.dumps(schema, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    if len(text) > _LONGEST_SCHEMA:
        return None
    title = found.title or (found.annotations.title if found.annotations is not None else "") or ""
    description = (found.description or "")[:_LONGEST_DESCRIPTION]
    return {"name": found.name, "description": description, "schema": text, "title": title[:200]}


def answer_of(result: types.CallToolResult) -> dict[str, Any]:
    texts = [_text(each) for each in result.content]
    if not texts and result.structured_content is not None:
        texts = [json.dumps(result.structured_content, ensure_ascii=False)]
    text = "\n".join(filter(None, texts))
    cut = text[:MOST_TEXT].encode("utf-8", "replace").decode()
    return {"text": cut, "num_left_out": len(text) - len(cut), "is_error": bool(result.is_error)}


def _text(block: Any) -> str:
    """What is no text is only named."""
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.ImageContent | types.AudioContent):
        kind = "picture" if isinstance(block, types.ImageContent) else "sound"
        return f"[{kind}: {block.mime_type}, {len(block.data) * 3 // 4:,} bytes]"
    if isinstance(block, types.ResourceLink):
        return f"[{block.name}]({block.uri})"
    if isinstance(block, types.EmbeddedResource):
        resource = block.resource
        if isinstance(resource, types.TextResourceContents):
            return f"{resource.uri}\n{resource.text}"
        return f"[{resource.uri}: {resource.mime_type or 'data'}]"
    return f"[{getattr(block, 'type', 'something else')}]"
