"""The routes of a daemon, and what its answers mean."""

import contextlib
import importlib
import json
import ssl
from collections.abc import Iterable, Mapping
from typing import Any

from memproto.errors import Misconfigured, Rejected, TooLarge, Unavailable

from .calls import BoundedRequest, Late
from .settings import URL, Settings


def _imported() -> Any:
    with contextlib.suppress(ImportError):
        return importlib.import_module("httpx")
    return None


#: The package, or None; `is_available` and `unavailable_reason` tell which.
httpx = _imported()

MISSING = "httpx is not installed: pip install 'memproto[mentisdb]'"

#: An answer of more bytes is none of a daemon's.
_LONGEST_ANSWER = 8_000_000

#: Seconds for which a daemon may ask to be left alone.
_LONGEST_WAIT_S = 30.0

Thought = dict[str, Any]


class Unanswered(Unavailable):
    """The daemon may have carried the request out, and did not say so."""


class NoRoute(Unavailable):
    """There is no such route: an older daemon, or another port of it."""


class Daemon:
    """
    One chain of a daemon.

    Every method blocks for at most its budget, on any thread, and opens a connection of its own;
    a connection that was kept might have died, and nobody would know what became of a write.

    Raises:
        Misconfigured: httpx is missing, or the certificate cannot be read.

    """

    def __init__(self, settings: Settings) -> None:
        if httpx is None:
            raise Misconfigured(MISSING)
        self.chain = settings.chain
        self._url = settings.url
        headers = {"Connection": "close"}
        if settings.token:
            headers["Authorization"] = f"Bearer {settings.token}"
        self._client = httpx.Client(
            headers=headers,
            verify=_trust(settings),
            limits=httpx.Limits(max_keepalive_connections=0),
            trust_env=False,
        )

    def close(self) -> None:
        """Let go of what the client holds."""
        self._client.close()

    # -- routes ------------------------------------------------------------------------------------

    def append(self, thought: Thought, budget_s: float) -> None:
        """
        Store one thought; returns when the daemon has said that it did.

        Raises:
            Unanswered: It may be stored.
            Rejected: The daemon refuses it, now and later. `TooLarge` where it is too long.
            Unavailable: It is not stored, and may be later.

        """
        answer = self._post("/v1/thoughts", thought, budget_s)
        if not isinstance(answer.get("thought"), dict):
            raise Unanswered("the daemon's answer does not show the thought that it stored")

    def ranked(self, text: str, limit: int, budget_s: float) -> list[Thought]:
        """Fitting thoughts, the best first. Raises `Unavailable`; `NoRoute` of an older daemon."""
        answer = self._post("/v1/ranked-search", {"text": text, "limit": limit}, budget_s)
        hits = answer.get("results")
        found = [hit.get("thought") for hit in _listed(hits) if isinstance(hit, dict)]
        return _thoughts(found)

    def containing(
        self, text: str, limit: int, budget_s: float, *, question: str = "", tag: str = ""
    ) -> list[Thought]:
        """
        Thoughts that hold a text as it stands, and a tag. Raises `Unavailable`.

        `question` is for a daemon that ranks by it under this route.
        """
        asked: dict[str, Any] = {"text": text, "query": question or text, "limit": limit}
        if tag:
            asked["tags_any"] = [tag]
        found = _thoughts(self._post("/v1/search", asked, budget_s).get("thoughts"))
        return [thought for thought in found if not tag or tag in tags(thought)]

    def tagged(self, names: Iterable[str], budget_s: float, chain: str = "") -> list[Thought]:
        """Thoughts of a chain that have one of these tags. Raises `Unavailable`."""
        wanted = sorted(set(names))
        asked = {
            "tags_any": wanted,
            "limit": 8 * len(wanted),
            "chain_key": chain or self.chain,
        }
        found = _thoughts(self._post("/v1/search", asked, budget_s).get("thoughts"))
        # A daemon that does not know the filter gives what it likes.
        return [thought for thought in found if not set(wanted).isdisjoint(tags(thought))]

    def health(self, budget_s: float) -> Mapping[str, Any]:
        """The daemon's words about itself. Raises `Unavailable`."""
        return self._ask("GET", "/health", None, budget_s)

    # -- requests ----------------------------------------------------------------------------------

    def _post(self, path: str, body: Mapping[str, Any], budget_s: float) -> dict[str, Any]:
        # A thought that waited may be of another user of this home, and names its own chain.
        return self._ask("POST", path, {"chain_key": self.chain, **body}, budget_s)

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None, budget_s: float
    ) -> dict[str, Any]:
        content = None if body is None else _encoded(body)
        call = BoundedRequest()
        try:
            status, headers, data = call.within(
                budget_s, lambda: self._send(call, method, path, content, budget_s)
            )
        except Late as late:
            kind = Unanswered if late.is_sent else Unavailable
            raise kind(f"{self._url} did not answer within {budget_s:.1f} s") from None
        except (httpx.ConnectError, httpx.ConnectTimeout):
            # Its message may show more of the request than belongs into a log.
            raise Unavailable(f"{self._url} cannot be reached; is the daemon running?") from None
        except RuntimeError:
            raise Unavailable("the session has ended") from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as error:
            raise Unanswered(f"{self._url} broke off ({type(error).__name__})") from None
        return self._answer(path, status, headers, data)

    def _send(
        self, call: BoundedRequest, method: str, path: str, content: bytes | None, budget_s: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        data = bytearray()
        with self._client.stream(
            method,
            f"{self._url}{path}",
            content=content,
            headers={"Content-Type": "application/json"},
            timeout=budget_s,
            extensions={"trace": call.trace},
        ) as response:
            for piece in response.iter_bytes():
                data += piece
                if len(data) > _LONGEST_ANSWER:
                    raise ValueError("the answer does not end")
        return response.status_code, response.headers, bytes(data)

    def _answer(
        self, path: str, status: int, headers: Mapping[str, str], data: bytes
    ) -> dict[str, Any]:
        if status in (400, 422):
            raise Rejected(f"the daemon refuses the request to {path} with {status}")
        if status == 413:
            raise TooLarge("the text is longer than the daemon takes")
        if not 200 <= status < 300:
            raise self._away(path, status, headers)
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise Unanswered(f"{self._url} answers {path} with something else than a JSON object")
        return found

    def _away(self, path: str, status: int, headers: Mapping[str, str]) -> Unavailable:
        if status in (401, 403):
            return Unavailable(f"{self._url} refuses the token ({status}): set MENTISDB_TOKEN")
        if status in (404, 405):
            hint = f"the REST port is usually 9472; set {URL}, or update the daemon"
            return NoRoute(f"{self._url} has no route {path} ({status}): {hint}")
        return Unavailable(f"{self._url} answers {status}", retry_after_s=_wait_s(headers))


def _encoded(body: Mapping[str, Any]) -> bytes:
    """The body as UTF-8, which is shorter than escapes and the same to a daemon."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _trust(settings: Settings) -> ssl.SSLContext | bool:
    if not settings.url.startswith("https"):
        return False
    try:
        return ssl.create_default_context(cafile=settings.ca_file or None)
    except (OSError, ssl.SSLError) as error:
        raise Misconfigured(f"ca_file is no certificate: {type(error).__name__}") from error


def _wait_s(headers: Mapping[str, str]) -> float | None:
    """Seconds of a Retry-After; None for a date, and for what is no time to wait."""
    text = headers.get("retry-after", "")
    if text.isascii() and text.isdigit() and len(text) < 8:
        return min(float(text), _LONGEST_WAIT_S)
    return None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _thoughts(value: Any) -> list[Thought]:
    """Those that have a text; what a later daemon adds is passed over."""
    found = [one for one in _listed(value) if isinstance(one, dict)]
    return [one for one in found if isinstance(one.get("content"), str) and one["content"]]


def tags(thought: Thought) -> list[str]:
    """The tags of a thought that are texts."""
    return [tag for tag in _listed(thought.get("tags")) if isinstance(tag, str)]
