"""Stand-in of `tools.registry`: the answers of tools."""

import json
from typing import Any


def tool_error(message: object, **extra: Any) -> str:
    """A JSON object that tells an error."""
    return json.dumps({"error": str(message), **extra}, ensure_ascii=False)


def tool_result(data: Any = None, **kwargs: Any) -> str:
    """`data`, or the keywords, as JSON."""
    return json.dumps(kwargs if data is None else data, ensure_ascii=False)
