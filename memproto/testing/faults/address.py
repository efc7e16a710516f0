"""The place from which a provider reads its backend's address, and the value put there instead."""

import contextlib
import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from memproto.testing.faults import wires

_PORTS = {"https": 443, "wss": 443}

#: The servers speak no TLS, so that a scheme which asks for it gives way to its plain one.
_PLAIN = {"https": "http", "wss": "ws", "": "http"}


class Place:
    """
    The place that the setting `backend` names.

    Its present value is the address of the real backend, and the pattern for another one:
    a whole URL keeps its path, and `host:port` stays that.
    """

    def __init__(self, backend: Sequence[str], config: Mapping[str, Any]) -> None:
        self._kind, self._name = backend
        self._config = config

    @property
    def today(self) -> str:
        """The present value, or ""."""
        if self._kind == "env":
            return os.environ.get(self._name, "")
        value: Any = self._config
        for key in self._name.split("."):
            value = value.get(key, "") if isinstance(value, Mapping) else ""
        return value if isinstance(value, str) else ""

    @property
    def upstream(self) -> tuple[str, int] | None:
        """Host and port of the real backend; None where there is none on this machine."""
        parts = urlsplit(self.today if "://" in self.today else f"//{self.today}")
        with contextlib.suppress(ValueError):
            port = parts.port or _PORTS.get(parts.scheme, 80)
            if parts.hostname in ("localhost", wires.LOOPBACK):
                return wires.LOOPBACK, port
        return None

    def address(self, port: int, scheme: str = "") -> str:
        """The address of a server on loopback, in the form of the one that stands there today."""
        netloc = f"{wires.LOOPBACK}:{port}"
        if "://" not in self.today:
            is_bare = bool(self.today) and not scheme
            return netloc if is_bare else f"{scheme or 'http'}://{netloc}"
        parts = urlsplit(self.today)
        plain = _PLAIN.get(parts.scheme, parts.scheme)
        return parts._replace(scheme=scheme or plain, netloc=netloc).geturl()

    @contextlib.contextmanager
    def holding(self, address: str) -> Iterator[dict[str, Any]]:
        """Have `address` stand there in the body, which is given the config that says so."""
        if self._kind == "config":
            yield self._with(address)
            return
        before = os.environ.get(self._name)
        os.environ[self._name] = address
        try:
            yield dict(self._config)
        finally:
            os.environ.pop(self._name, None)
            if before is not None:
                os.environ[self._name] = before

    def _with(self, address: str) -> dict[str, Any]:
        config = copy.deepcopy(dict(self._config))
        *above, last = self._name.split(".")
        table = config
        for key in above:
            inner = table.get(key)
            table[key] = inner if isinstance(inner, dict) else {}
            table = table[key]
        table[last] = address
        return config
