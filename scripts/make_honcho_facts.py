"""
Writes tests/reference_providers/honcho/honcho_facts.toml: what a real Honcho server answers, as far
as shapes go.

    python -m scripts.make_honcho_facts exchanges.jsonl

The file holds recorded exchanges, one a line, with `method`, `route`, `query`, `request`, `status`,
`response_headers` and `response`. No value of it goes into the table: only routes, statuses, names
of keys and types.
"""

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from tests.reference_providers.honcho.honcho_shapes import lines

TARGET = (
    Path(__file__).parents[1] / "tests" / "reference_providers" / "honcho" / "honcho_facts.toml"
)

_HEAD = """\
# Answers of a Honcho server (3.0.12): written by scripts/make_honcho_facts.py, not by hand.
# A response is one line for each path: its types; `?` marks what some answers lack.
"""

Exchange = dict[str, Any]


def main() -> None:
    """Write the table from the file that the command line names."""
    recorded = Path(sys.argv[1]).read_text("utf-8").splitlines()
    exchanges = [exchange for line in recorded if (exchange := json.loads(line))["route"]]
    groups: dict[tuple[Any, ...], list[Exchange]] = {}
    for exchange in exchanges:
        groups.setdefault(_key(exchange), []).append(exchange)
    tables = [_table(*key, group) for key, group in sorted(groups.items())]
    TARGET.write_text("\n".join([_HEAD, *tables]), "utf-8")


def _key(exchange: Exchange) -> tuple[str, str, int, str]:
    kind = exchange["response_headers"].get("content-type", "")
    shown = "events" if kind.startswith("text/event-stream") else "json"
    return exchange["route"], exchange["method"], exchange["status"], shown


def _table(route: str, method: str, status: int, kind: str, group: list[Exchange]) -> str:
    shape = [] if kind == "events" else lines([each["response"] for each in group])
    bodies = [each["request"] for each in group if isinstance(each["request"], dict)]
    asked = sorted({key for body in bodies for key in body if not _is_name(route, body)})
    told = sorted({key for each in group for key, _ in parse_qsl(each["query"] or "")})
    rows = {"route": route, "method": method, "status": status, "kind": kind}
    rows |= {"query": told, "request": asked, "response": shape}
    return "[[fact]]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in rows.items())


def _is_name(route: str, body: Exchange) -> bool:
    """True if the keys of a body are names of peers."""
    return route.endswith("/peers") and all(isinstance(part, dict) for part in body.values())


def _toml(value: Any) -> str:
    if not isinstance(value, list) or len(value) < 2:
        return json.dumps(value)
    return "[\n" + "".join(f"    {json.dumps(part)},\n" for part in value) + "]"


if __name__ == "__main__":
    main()
