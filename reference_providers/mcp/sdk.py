"""The official SDK, imported late, and what of it differs between its releases."""

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import IO, Any

from .settings import Settings

_GUARD = Path(__file__).with_name("guard.py")

#: Below the home: what the server wrote to stderr since it was started last.
LOG = "mcp-server.log"


def is_installed() -> bool:
    """True if the SDK can be imported; does not import it."""
    return importlib.util.find_spec("mcp") is not None


def warm() -> None:
    """Import what a session needs, which takes a second."""
    for name in ("mcp", "mcp.client.stdio", "mcp.client.streamable_http"):
        importlib.import_module(name)


@contextlib.asynccontextmanager
async def session(chosen: Settings) -> AsyncIterator[Any]:
    """
    A `ClientSession` with the server that the settings name, not initialized yet.

    Ends the server on leaving, where it started one.
    """
    sdk = importlib.import_module("mcp")
    way = _http(chosen) if chosen.url else _stdio(chosen)
    async with way as streams, sdk.ClientSession(streams[0], streams[1]) as opened:
        yield opened


@contextlib.asynccontextmanager
async def _http(chosen: Settings) -> AsyncIterator[Any]:
    client = importlib.import_module("mcp.client.streamable_http")
    async with (
        _client(chosen) as http,
        client.streamable_http_client(chosen.url, http_client=http) as streams,
    ):
        yield streams


def _client(chosen: Settings) -> Any:
    """The SDK's HTTP client: that of its release, of which there are two."""
    utils = importlib.import_module("mcp.shared._httpx_utils")
    if chosen.url.startswith("https:"):
        return utils.create_mcp_http_client(headers=dict(chosen.headers))
    library = getattr(utils, "httpx2", None) or utils.httpx
    # Reading the certificates takes half a second, which plain HTTP has no use for.
    times = library.Timeout(30.0, read=300.0)
    return library.AsyncClient(headers=dict(chosen.headers), timeout=times, verify=False)


@contextlib.asynccontextmanager
async def _stdio(chosen: Settings) -> AsyncIterator[Any]:
    stdio = importlib.import_module("mcp.client.stdio")
    with _log(chosen.home / LOG) as log:
        parameters = stdio.StdioServerParameters(
            command=sys.executable,
            args=["-I", "-S", str(_GUARD), str(os.getpid()), *chosen.command],
            env={**stdio.get_default_environment(), **chosen.env},
            cwd=chosen.home,
        )
        async with stdio.stdio_client(parameters, errlog=log) as streams:
            yield streams


@contextlib.contextmanager
def _log(path: Path) -> Iterator[IO[str]]:
    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, 0o600)

    with open(path, "w", encoding="utf-8", opener=opener) as log:
        yield log


class EndlessListError(Exception):
    """The server lists more than anybody can use, or lists without an end."""


#: A server with more is not one that a model can use; one that repeats itself would never end.
_MOST_TOOLS, _MOST_PAGES = 1_000, 100


async def tools(opened: Any) -> list[dict[str, Any]]:
    """
    Every tool of the server, all pages, as on the wire.

    Raises:
        EndlessListError: There are more tools or pages than are read, or a page leads to itself.

    """
    found: list[dict[str, Any]] = []
    asked: set[str] = set()
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = as_sent(await _page(opened, cursor))
        found += page.get("tools", [])
        cursor = page.get("nextCursor")
        if len(found) > _MOST_TOOLS:
            raise EndlessListError(f"lists more than {_MOST_TOOLS:,} tools")
        if not cursor:
            return found
        if cursor in asked:
            raise EndlessListError("lists its tools in pages that lead to themselves")
        asked.add(cursor)
    raise EndlessListError(f"lists its tools on more than {_MOST_PAGES} pages")


async def _page(opened: Any, cursor: str | None) -> Any:
    if cursor is None:
        return await opened.list_tools()
    types = importlib.import_module("mcp.types")
    return await opened.list_tools(params=types.PaginatedRequestParams(cursor=cursor))


def as_sent(result: Any) -> dict[str, Any]:
    """A result of the SDK as on the wire: its classes name their fields as Python does or not."""
    sent: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return sent
