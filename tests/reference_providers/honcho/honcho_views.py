"""The content of a workspace of a Honcho server, read by plain HTTP."""

import json
import urllib.parse
import urllib.request


class View:
    """One workspace of a server."""

    def __init__(self, url, workspace, key=""):
        self.url = url.rstrip("/")
        self.workspace = workspace
        self.key = key

    def texts(self, session):
        """The texts of a session in order."""
        return [message["content"] for message in self.messages(session)]

    def messages(self, session):
        """The messages of a session in order."""
        path = f"/sessions/{session}/messages/list"
        return self._all(path)

    def said(self):
        """The texts of all sessions."""
        return [text for session in self.sessions() for text in self.texts(session)]

    def sessions(self):
        """The names of all sessions."""
        return sorted(session["id"] for session in self._all("/sessions/list"))

    def peers(self):
        """The names of all peers."""
        return sorted(peer["id"] for peer in self._all("/peers/list"))

    def flags(self, session, peer):
        """The role of a peer in a session: whether it is observed, whether it observes."""
        told = self.ask("GET", f"/sessions/{session}/peers/{peer}/config")
        return told["observe_me"], told["observe_others"]

    def conclusions(self):
        """Observer, observed and text of each conclusion."""
        rows = self._all("/conclusions/list")
        return [(row["observer_id"], row["observed_id"], row["content"]) for row in rows]

    def card(self, observer, observed):
        """The card of a peer."""
        return self.ask("GET", f"/peers/{observer}/card?target={observed}")["peer_card"]

    def ask(self, method, path, body=None):
        """One request below the workspace."""
        headers = {"Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {self.key}"} if self.key else {}
        data = None if body is None else json.dumps(body).encode()
        address = f"{self.url}/v3/workspaces/{self.workspace}{path}"
        request = urllib.request.Request(address, data, headers, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=10.0) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def _all(self, path):
        rows, page = [], {"page": 0, "pages": 1}
        while page["page"] < page["pages"]:
            page = self.ask("POST", f"{path}?page={page['page'] + 1}&size=100", {})
            rows += page["items"]
        return rows


def idle(provider):
    """Wait until a provider has sent what it accepted, and fetched what it was asked to."""
    live = provider._live
    assert live.sender.flush(10.0)
    for worker in (live.recall._reader, live.recall._thinker):
        with worker._state:
            # A real server without a language model says so after 14 s.
            done = worker._state.wait_for(lambda: worker._done >= worker._asked, 40.0)  # noqa: B023
        assert done
