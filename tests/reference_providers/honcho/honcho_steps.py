"""A walk through the API by plain HTTP: each step names what it is to be answered with."""

import dataclasses
import http.client
import json
from typing import Any

_W = "/v3/workspaces"


@dataclasses.dataclass(frozen=True)
class Step:
    """
    A request: `on` names the server, `status` is what it is to answer.

    In a path `~` stands for the workspace, and `{id}` for the id of the last thing made by `keep`.
    """

    method: str
    path: str
    body: Any = None
    status: int = 200
    on: str = "plain"
    keep: str = ""
    key: str = ""

    @property
    def name(self):
        return f"{self.method}-{self.path.partition('?')[0]}-{self.status}-{self.on}"


def send(url, step, ids):
    """Send a step; gives status, type of content and text, and keeps ids."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    path = step.path.replace("~", f"{_W}/w").format(**ids)
    headers = {"Content-Type": "application/json"}
    headers |= {"Authorization": f"Bearer {step.key}"} if step.key else {}
    body = step.body
    if isinstance(body, bytes):
        headers["Content-Type"] = "multipart/form-data; boundary=edge"
    elif body is not None:
        body = json.dumps(body)
    connection.request(step.method, path, body, headers)
    answer = connection.getresponse()
    kind, text = answer.headers.get("Content-Type", ""), answer.read().decode()
    connection.close()
    if step.keep:
        made = json.loads(text)
        ids[step.keep] = (made[0] if isinstance(made, list) else made)["id"]
    return answer.status, kind, text


def _said(content, speaker="ada", **more):
    return {"messages": [{"content": content, "peer_id": speaker, **more}]}


def _made(content, observed="ada", **more):
    pair = {"observer_id": "hermes", "observed_id": observed}
    return {"conclusions": [{**pair, "content": content, **more}]}


_FILE = (
    b'--edge\r\nContent-Disposition: form-data; name="peer_id"\r\n\r\nada\r\n'
    b'--edge\r\nContent-Disposition: form-data; name="file"; filename="n.txt"\r\n'
    b"Content-Type: text/plain\r\n\r\nThe boat is in Ostrava.\r\n--edge--\r\n"
)
_WATCHES, _IS_WATCHED = ({"observe_me": True, "observe_others": others} for others in (True, False))
_MANY = {f"p{number}": {"observe_others": True} for number in range(11)}

STEPS = [
    # Things: made, then there.
    Step("POST", _W, {"id": "w"}, 201),
    Step("POST", _W, {"id": "w"}),
    Step("POST", _W, {"id": "no blank"}, 422),
    Step("PUT", "~", {"metadata": {"k": 1}}),
    Step("POST", f"{_W}/list?page=1&size=50"),
    Step("POST", "~/peers", {"id": "ada"}, 201),
    Step("POST", "~/peers", {"id": "ada", "configuration": {"observe_me": True}}),
    Step("POST", "~/peers", {"id": "hermes"}, 201),
    Step("POST", "~/peers", {"id": "ada@example.org"}, 422),
    Step("POST", "~/peers/list?page=1&size=50"),
    Step("PUT", "~/peers/ada", {"metadata": {"k": 1}}),
    Step("POST", "~/sessions", {"id": "s", "peers": {"ada": _IS_WATCHED}}, 201),
    Step("POST", "~/sessions", {"id": "s", "metadata": {"cwd": "/w"}}),
    Step("POST", "~/sessions", {"id": "my.project"}, 422),
    Step("POST", "~/sessions", {"id": "a" * 513}, 422),
    Step("POST", "~/sessions", {"id": "many", "peers": _MANY}, 400),
    Step("POST", "~/sessions/list?page=1&size=50"),
    Step("PUT", "~/sessions/s", {"configuration": {"reasoning": {"enabled": False}}}),
    Step("PUT", "~/sessions/s/peers", {"ada": _IS_WATCHED, "bea": {}}),
    Step("DELETE", "~/sessions/s/peers", ["bea"]),
    Step("POST", "~/sessions/s/peers", {"hermes": _WATCHES}),
    Step("GET", "~/sessions/s/peers"),
    Step("GET", "~/sessions/s/peers/ada/config"),
    Step("PUT", "~/sessions/s/peers/ada/config", _IS_WATCHED, 204),
    Step("POST", "~/peers/ada/sessions?page=1&size=50"),
    # Messages.
    Step(
        "POST",
        "~/sessions/s/messages",
        _said("I like tea", metadata={"turn_id": "t"}),
        201,
        keep="m",
    ),
    Step("POST", "~/sessions/s/messages", _said("", "stranger"), 201),
    Step("POST", "~/sessions/new/messages", _said("hello"), 201),
    Step("POST", "~/sessions/s/messages", _said("x" * 25_001), 422),
    Step("POST", "~/sessions/s/messages", {"messages": []}, 422),
    Step(
        "POST",
        "~/sessions/s/messages",
        {"messages": [{"content": "m", "peer_id": "ada"}] * 101},
        422,
    ),
    Step("POST", "~/sessions/s/messages", _said("a <|endoftext|> b"), 422),
    Step("POST", "~/sessions/s/messages", _said("hi", "tg:1"), 422),
    Step("POST", "~/sessions/s/messages/upload", _FILE, 201),
    Step("POST", "~/sessions/s/messages/list?page=1&size=2"),
    Step(
        "POST",
        "~/sessions/s/messages/list?page=1&size=50&reverse=true",
        {"filters": {"metadata": {"turn_id": "t"}}},
    ),
    Step("POST", "~/sessions/s/messages/list?page=1&size=101", None, 422),
    Step("POST", "~/sessions/s/messages/list?page=1&size=50", {"filters": {"bogus": 1}}, 422),
    Step("GET", "~/sessions/s/messages/{m}"),
    Step("GET", "~/sessions/s/messages/nope", None, 404),
    Step("PUT", "~/sessions/s/messages/{m}", {"metadata": {"seen": True}}),
    # Conclusions.
    Step("POST", "~/conclusions", _made("Ada likes tea", session_id="s"), 201, keep="c"),
    Step("POST", "~/conclusions", _made("Ada has a boat"), 201),
    Step("POST", "~/conclusions", _made(""), 422),
    Step("POST", "~/conclusions", _made("w " * 8_193), 422),
    Step("POST", "~/conclusions", _made("x", "ghost"), 404),
    Step("POST", "~/conclusions", _made("x", session_id="ghost"), 404),
    Step(
        "POST",
        "~/conclusions/list?page=1&size=50",
        {"filters": {"observer_id": "hermes", "observed_id": "ada"}},
    ),
    Step(
        "POST",
        "~/conclusions/query",
        {"query": "tea", "top_k": 3, "filters": {"observer_id": "hermes", "observed_id": "ada"}},
    ),
    Step("POST", "~/conclusions/query", {"query": "q " * 8_193}, 422),
    Step("PUT", "~/peers/hermes/card?target=ada", {"peer_card": ["Likes tea"]}),
    Step("GET", "~/peers/hermes/card?target=ada"),
    Step("GET", "~/peers/hermes/card?target=ghost"),
    Step("GET", "~/peers/ghost/card", None, 404),
    Step("GET", "~/peers/hermes/context?target=ada&search_query=tea"),
    Step("GET", "~/peers/ghost/context", None, 404),
    Step("POST", "~/peers/hermes/representation", {"target": "ada"}),
    Step("POST", "~/peers/ghost/representation", {}),
    Step("GET", "~/sessions/s/context?summary=true&limit_to_session=false"),
    Step("GET", "~/sessions/s/context?tokens=500&peer_target=ada&peer_perspective=hermes"),
    Step("GET", "~/sessions/never/context"),
    Step("GET", "~/sessions/s/context?peer_target=ghost", None, 404),
    Step("GET", "~/sessions/s/context?tokens=1000000", None, 422),
    Step(
        "POST",
        "~/peers/hermes/chat",
        {"query": "What does Ada drink?", "stream": False, "target": "ada"},
    ),
    Step(
        "POST",
        "~/peers/hermes/chat",
        {"query": "What does Ada drink?", "stream": True, "target": "ada"},
    ),
    Step("POST", "~/peers/hermes/chat", {"query": "q", "target": "ghost"}, 404),
    Step("POST", "~/peers/hermes/chat", {"query": "q" * 10_001}, 422),
    Step("POST", "~/search", {"query": "tea", "filters": {"peer_perspective": "ada"}, "limit": 5}),
    Step("POST", "~/search", {"query": "q " * 8_193}, 422),
    Step("POST", "~/sessions/s/search", {"query": "tea", "limit": 5}),
    Step("POST", "~/peers/ada/search", {"query": "tea", "limit": 5}),
    Step("GET", "~/queue/status"),
    Step("GET", "~/queue/status?session_id=s"),
    Step("GET", "~/sessions/s/summaries"),
    # The end.
    Step("DELETE", "~/conclusions/{c}", None, 204),
    Step("DELETE", "~/conclusions/{c}", None, 404),
    Step("DELETE", "~/sessions/new", None, 202),
    Step("POST", "~/sessions", {"id": "new"}, 404),
    Step("GET", "~/sessions/new/context"),
    Step("DELETE", "~/sessions/ghost", None, 404),
    Step("DELETE", "~", None, 409),
    # Other servers.
    Step("POST", _W, {"id": "w"}, 401, on="locked"),
    Step("POST", _W, {"id": "w"}, 401, on="locked", key="made up"),
    Step("POST", _W, {"id": "w"}, 401, on="locked", key="other"),
    Step("POST", _W, {"id": "w"}, 201, on="locked", key="right"),
    Step("POST", "~/peers/ada/chat", {"query": "q"}, 500, on="bare"),
    Step(
        "POST",
        "~/sessions/long/messages",
        {"messages": _said("A turn.")["messages"] * 22},
        201,
        on="thinking",
    ),
    Step("GET", "~/sessions/long/summaries", on="thinking"),
    Step("GET", "~/sessions/long/context?tokens=2000&peer_target=ada", on="thinking"),
]

#: Abilities of the servers of the steps.
SERVERS = {
    "plain": {"derives": False},
    "locked": {"keys": {"right": "w", "other": "x"}},
    "bare": {"has_model": False},
    "thinking": {},
}
