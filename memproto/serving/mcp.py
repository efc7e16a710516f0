"""
The tools of a provider for an MCP client, over the standard streams, and nothing else of it.

Both eras of MCP are served: with the handshake `initialize`, and without it, where each request
carries its version. To record a turn is the host's affair alone, and so no tool.
"""

import contextlib
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memproto import _version
from memproto.adapters.tool_results import is_refusal
from memproto.bindings import Binding
from memproto.serving.streams import Output, TooLong, lines
from memproto.types import SPEC_VERSION
from memproto.wire.codec import Malformed, Unsendable, decode, encode

#: The revisions with a handshake, the newest first, and the one without.
_SHAKING = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_MODERN = "2026-07-28"

_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"

#: Codes of JSON-RPC, and of MCP for a revision that is not spoken.
_PARSE, _INVALID, _NO_METHOD, _PARAMS, _INTERNAL = -32700, -32600, -32601, -32602, -32603
_OTHER_VERSION = -32022

#: Seconds that the last answers may take to be read.
_FLUSH_S = 1.0


class _Refused(Exception):
    """
    A request is answered with an error.

    Attributes:
        code: Its code.
        data: Its data, or {}.

    """

    def __init__(self, code: int, text: str, **data: Any) -> None:
        super().__init__(text)
        self.code = code
        self.data = data


class Server:
    """
    An MCP server over one session of a provider.

    Assumes:
        `run` is called on the main thread, once. Calls are made there, one after another.
    """

    def __init__(self, provider: Any, binding: Binding, home: Path, session: str) -> None:
        self._provider = provider
        self._binding = binding
        self._home = home
        self._session = session
        self._is_open = False
        self._offered: list[dict[str, Any]] = []
        self._methods: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "ping": lambda _: {},
            "tools/list": self._list,
            "tools/call": self._call,
        }

    def run(self, given: int, taken: int) -> None:
        """Serve until the input ends; blocks."""
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        output = Output(taken)
        with contextlib.suppress(KeyboardInterrupt):
            for line in lines(given):
                answer = self._answer(line)
                if answer is not None:
                    output.send(encode(answer))
        output.flush(_FLUSH_S)
        if self._is_open:
            self._provider.shutdown()

    def _answer(self, line: bytes | TooLong) -> dict[str, Any] | None:
        if isinstance(line, TooLong):
            return _error(line.number, _INVALID, str(line))
        if not line.strip():
            return None
        try:
            message = decode(line)
        except Malformed as error:
            return _error(None, _PARSE if error.name == "ParseError" else _INVALID, str(error))
        number, method = message.get("id"), message.get("method")
        params = message.get("params", {})
        if "id" not in message:
            return None
        if not isinstance(method, str) or not isinstance(params, dict):
            return _error(number, _INVALID, "it is no request")
        try:
            result = self._result(method, params)
            encode({"result": result})
        except _Refused as refused:
            return _error(number, refused.code, str(refused), **refused.data)
        except Unsendable as error:
            return _error(number, _INTERNAL, f"the result: {error}")
        except Exception as error:  # whatever the provider raised
            return _error(number, _INTERNAL, f"{type(error).__name__}: {error}")
        return {"jsonrpc": "2.0", "id": number, "result": result}

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        meta = params.get("_meta")
        version = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
        if version not in (None, _MODERN):
            raise _Refused(
                _OTHER_VERSION,
                f"this server does not speak {version}",
                supported=[_MODERN],
                requested=version,
            )
        serve = self._methods.get(method)
        if serve is None:
            raise _Refused(_NO_METHOD, f"there is no method {method[:100]!r}")
        result = serve(params)
        if version is None:
            return result
        kept = {"ttlMs": 0, "cacheScope": "private"} if method != "tools/call" else {}
        return {"resultType": "complete", **result, **kept}

    # -- methods -----------------------------------------------------------------------------------

    def _about(self) -> dict[str, Any]:
        return {"name": str(self._provider.name), "version": _version.__version__}

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        asked = params.get("protocolVersion")
        version = asked if asked in _SHAKING else _SHAKING[0]
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": self._about(),
        }

    def _discover(self, _: dict[str, Any]) -> dict[str, Any]:
        return {
            "supportedVersions": [_MODERN],
            "capabilities": {"tools": {}},
            "serverInfo": self._about(),
        }

    def _list(self, _: dict[str, Any]) -> dict[str, Any]:
        self._open()
        tools = [
            {
                "name": schema.get("name"),
                "description": schema.get("description", ""),
                "inputSchema": schema.get("parameters", {"type": "object"}),
            }
            for schema in self._offered
        ]
        return {"tools": tools}

    def _call(self, params: dict[str, Any]) -> dict[str, Any]:
        self._open()
        name, given = params.get("name"), params.get("arguments", {})
        if name not in [schema.get("name") for schema in self._offered]:
            raise _Refused(_PARAMS, f"there is no tool {str(name)[:100]!r}")
        if not isinstance(given, dict):
            raise _Refused(_PARAMS, "arguments are no object")
        text = self._provider.handle_tool_call(name, given, session_id=self._session)
        return {"content": [{"type": "text", "text": str(text)}], "isError": _is_error(text)}

    def _open(self) -> None:
        """Open the session at the first question about tools, so that a client may only look."""
        if self._is_open:
            return
        if not self._provider.is_available():
            raise _Refused(_INTERNAL, "the provider is not available")
        self._home.mkdir(parents=True, exist_ok=True)
        self._provider.initialize(self._session, self._config())
        self._is_open = True
        declared = self._provider.capabilities()
        if not callable(getattr(self._provider, "get_tool_schemas", None)):
            return
        named = declared.get("tool_names", []) if self._binding.can_declare else None
        found = [_unwrapped(schema) for schema in self._provider.get_tool_schemas()]
        self._offered = [one for one in found if named is None or one.get("name") in named]

    def _config(self) -> dict[str, Any]:
        return {
            "home": str(self._home),
            "protocol": {
                "version": SPEC_VERSION,
                "host": "memproto-mcp",
                "hooks": ["handle_tool_call", "get_tool_schemas"],
                "contexts": ["primary"],
            },
            "deadlines": {"enrich_s": 5.0, "compress_s": 120.0, "shutdown_s": 15.0},
            "limits": {},
            "platform": "mcp",
        }


def _unwrapped(schema: Any) -> dict[str, Any]:
    """A bare schema, out of the wrapping that some frameworks write."""
    found = schema.get("function", schema) if isinstance(schema, dict) else {}
    return found if isinstance(found, dict) else {}


def _is_error(text: Any) -> bool:
    """True if a tool's answer is no document, or one that says that the call failed."""
    try:
        return is_refusal(json.loads(text))
    except (TypeError, ValueError):
        return True


def _error(number: Any, code: int, text: str, **data: Any) -> dict[str, Any]:
    told = {"code": code, "message": text[:2000], **({"data": data} if data else {})}
    return {"jsonrpc": "2.0", "id": number, "error": told}
