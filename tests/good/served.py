"""
Good providers that run the server of their store themselves, each in another way.

The server keeps a `Journal` and is this module as a program. No way of running it makes it a
backend; `Relayed` and `Beside` have one all the same, and are for the tests of that.
"""

import contextlib
import json
import os
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from memproto.errors import ProviderError, Unavailable
from tests.good.journal import Journal

_PATIENCE_S = 4.0
_HOST = "127.0.0.1"

Address = tuple[str, int] | str


# -- the server ------------------------------------------------------------------------------------


def _carried_out(asked: dict[str, Any]) -> dict[str, Any]:
    """Do what was asked in a journal that is read anew."""
    journal = Journal()
    journal.initialize("", asked["config"])
    return {"gives": getattr(journal, asked["hook"])(*asked["with"])}


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        line = self.rfile.readline()
        if line:
            upstream: Address | None = getattr(self.server, "upstream", None)
            answer = _carried_out(json.loads(line)) if upstream is None else _sent(upstream, line)
            self.wfile.write(json.dumps(answer).encode() + b"\n")


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64
    upstream: Address | None = None


class _Server6(_Server):
    address_family = socket.AF_INET6


class _ServerOfFile(_Server):
    address_family = socket.AF_UNIX


def _server(address: Address) -> _Server:
    if isinstance(address, str):
        Path(address).unlink(missing_ok=True)
        return _ServerOfFile(address, _Handler)  # type: ignore[arg-type]
    return (_Server6 if ":" in address[0] else _Server)(address, _Handler)


def _sent(address: Address, line: bytes) -> dict[str, Any]:
    """The answer of a server to one line; raises OSError where there is none in time."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    if isinstance(address, tuple) and ":" in address[0]:
        family = socket.AF_INET6
    with socket.socket(family) as connection:
        connection.settimeout(_PATIENCE_S)
        connection.connect(address)
        connection.sendall(line)
        with connection.makefile("rb") as answered:
            found: dict[str, Any] = json.loads(answered.readline())
            return found


def _of_lines() -> None:
    """Answer line by line on the standard streams until the input ends."""
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(json.dumps(_carried_out(json.loads(line))).encode() + b"\n")
        sys.stdout.buffer.flush()


def _disown() -> None:
    """Let go of the process that started this one, as a daemon does."""
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")


def _main(how: str, address: Address, upstream: Address | None) -> None:
    if how == "lines":
        _of_lines()
        return
    with _server(address) as server:
        server.upstream = upstream
        if how == "disowned":
            _disown()
        sys.stdout.write(json.dumps(server.server_address) + "\n")
        sys.stdout.flush()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.buffer.read()


@contextlib.contextmanager
def running() -> Iterator[dict[str, Any]]:
    """A server that somebody else runs, for the setting `service`."""
    with _server((_HOST, 0)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"config": {"upstream": list(server.server_address)}}
        server.shutdown()


# -- providers -------------------------------------------------------------------------------------


class InThread(Journal):
    """Runs the server in a thread of its process, from initialize to shutdown."""

    name = "served"
    at: Address = (_HOST, 0)
    _server: _Server | None = None
    _address: Address | None = None

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._stop()
        self._config = config
        self._start()

    def _start(self) -> None:
        self._server = _server(self._place())
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self._address = self._server.server_address  # type: ignore[assignment]

    def _place(self) -> Address:
        return self.at

    def _stop(self) -> None:
        """End the server, if it runs; also when it is asked to twice, and at once."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def _asked(self, line: bytes) -> dict[str, Any]:
        if self._address is None:
            raise ConnectionError("no session has begun")
        return _sent(self._address, line)

    def _ask(self, hook: str, *given: Any) -> Any:
        asked = {"hook": hook, "with": given, "config": self._config}
        try:
            return self._asked(json.dumps(asked, default=str).encode() + b"\n")["gives"]
        except (OSError, ValueError, KeyError) as error:
            raise Unavailable(f"the server of the store does not answer: {error}") from error

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        with contextlib.suppress(ProviderError):
            found: str | None = self._ask("enrich_turn", user_message, [])
            return found
        return None

    def on_memory_write(self, *given: Any) -> None:
        self._ask("on_memory_write", *given)

    def on_turn_complete(self, *given: Any) -> None:
        self._ask("on_turn_complete", *given)

    def shutdown(self) -> None:
        self._stop()


class AtFirstCall(InThread):
    """Starts the server when the first hook needs it."""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._config = config

    def _asked(self, line: bytes) -> dict[str, Any]:
        with self._lock:
            if self._server is None:
                self._start()
        return super()._asked(line)


class OnSix(InThread):
    """Listens on IPv6."""

    at = ("::1", 0)


class OnFile(InThread):
    """Listens on a socket of the file system."""

    def _place(self) -> Address:
        # Such a name has room for a hundred characters.
        return f"/tmp/served-{os.getpid()}-{id(self)}"

    def _stop(self) -> None:
        super()._stop()
        Path(str(self._address)).unlink(missing_ok=True)


class Shared(InThread):
    """Runs one server for all instances of the process."""

    _one: ClassVar[list[_Server]] = []
    _gate = threading.Lock()
    _users: ClassVar[list[object]] = []

    def _start(self) -> None:
        with self._gate:
            self._users.append(self)
            if not self._one:
                super()._start()
                assert self._server is not None
                self._one.append(self._server)
            self._address = self._one[0].server_address  # type: ignore[assignment]

    def _stop(self) -> None:
        with self._gate:
            if self in self._users:
                self._users.remove(self)
            if not self._users and self._one:
                server = self._one.pop()
                server.shutdown()
                server.server_close()


class InProcess(InThread):
    """Runs the server in a process that it starts."""

    how = "own"
    _process: subprocess.Popen[bytes] | None = None

    def _start(self) -> None:
        words = [self.how, json.dumps(self._place()), json.dumps(self._upstream())]
        process = subprocess.Popen(
            [sys.executable, "-c", "from tests.good import served; served.main()", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**self._variables(), "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        self._process = process
        if self.how != "lines":
            assert process.stdout is not None
            self._address = _as_address(json.loads(process.stdout.readline()))

    def _upstream(self) -> Address | None:
        return None

    def _variables(self) -> dict[str, str]:
        return dict(os.environ)

    def _stop(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            # Its input ends with it; a daemon has the same.
            process.communicate(timeout=10)


class OnFixedPort(InProcess):
    """Listens where it always does."""

    at = (_HOST, 28_417)


class Disowned(InProcess):
    """Runs the server in a process that was handed to the system, as a daemon is."""

    how = "disowned"


class OverPipes(InProcess):
    """Talks to its process by the standard streams."""

    how = "lines"

    def _asked(self, line: bytes) -> dict[str, Any]:
        with self._lock:
            if self._process is None:
                raise ConnectionError("the process has ended")
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(line)
            self._process.stdin.flush()
            found: dict[str, Any] = json.loads(self._process.stdout.readline())
            return found


# -- with a backend --------------------------------------------------------------------------------


class Relayed(InProcess):
    """Runs a server that hands all on to another, which somebody else runs: that is the backend."""

    def _upstream(self) -> Address | None:
        return _as_address(self._config["upstream"])


class RelayedOnFile(Relayed):
    """As `Relayed`, and is no network to the kit itself."""

    def _place(self) -> Address:
        return f"/tmp/relayed-{os.getpid()}-{id(self)}"

    def _stop(self) -> None:
        super()._stop()
        Path(str(self._address)).unlink(missing_ok=True)


class RelayedInThread(InThread):
    """As `Relayed`, in its own process."""

    def _start(self) -> None:
        super()._start()
        assert self._server is not None
        self._server.upstream = _as_address(self._config["upstream"])


class Beside(InProcess):
    """Runs its own server, and asks another one beside it."""

    def on_turn_complete(self, *given: Any) -> None:
        super().on_turn_complete(*given)
        asked = {"hook": "capabilities", "with": [], "config": self._config}
        _sent(_as_address(self._config["upstream"]), json.dumps(asked).encode() + b"\n")


class Elsewhere(InThread):
    """Runs nothing: its server is another one's."""

    def _start(self) -> None:
        self._address = _as_address(self._config["upstream"])


def _as_address(said: Any) -> Address:
    return said if isinstance(said, str) else (said[0], said[1])


def main() -> None:
    """Serve as the command line says."""
    how, address, upstream = sys.argv[1:4]
    behind = json.loads(upstream)
    _main(how, _as_address(json.loads(address)), behind and _as_address(behind))
