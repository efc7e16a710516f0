"""
The inner run: first contact, one item for each requirement of each target, the verdict.

Items are clients of a `Judge`; under pytest-xdist each worker has judges of its own, which start
from the first contact that the controller made.
"""

import datetime as dt
import json
import os
import signal
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from memproto import spec
from memproto.errors import KitUsageError
from memproto.pytest_plugin import files, guard, jobs, junit, summary, terminal
from memproto.pytest_plugin.items import PROPERTY, USAGE, ClauseItem, SuiteDirectory, Target, rows
from memproto.pytest_plugin.options import check_options, narrowed, time_scale
from memproto.report import document
from memproto.testing import (
    confinement,
    credentials,
    findings,
    foreign,
    installation,
    noise,
    roots,
    settings,
    vitals,
    waivers,
    withheld,
)
from memproto.testing.contact import Contact, Order
from memproto.testing.hiding import Hiding
from memproto.testing.judge import SCORED_AT_CONTACT, Judge
from memproto.testing.noise import Noise
from memproto.testing.outcomes import ExitCode, Outcome, Result


def configure(config: pytest.Config) -> None:
    """
    Set the run up: options, settings, first contact with every target.

    Raises:
        pytest.UsageError: Something that was asked for cannot be; exit code 4.

    """
    _end_as_interrupted()
    confinement.conceal()
    credentials.receive()
    suite = None
    try:
        suite = Suite(config)
        credentials.take()
        guard.put(config, guard.Guard(suite.hide))
        if not suite.is_worker:
            job = jobs.Job(config, suite)
        if not (suite.is_worker or config.option.collectonly):
            installation.assert_published()
            suite.meet_all()
    except KitUsageError as error:
        hide = withheld.without_credentials if suite is None else suite.hide
        raise pytest.UsageError(foreign.told(error, hide)) from None
    config.pluginmanager.register(suite, "memproto-suite")
    if not suite.is_worker:
        config.pluginmanager.register(job, "memproto-job")


def _end_as_interrupted() -> None:
    """Have a run that is cancelled, or whose terminal goes, clean up as one that is interrupted."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # What was started with `nohup` is not to hear of it.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt_once)


def _interrupt_once(number: int, _: FrameType | None) -> None:
    # Who ends a whole group of processes is heard twice: by itself, and from the outer run.
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


class Suite:
    """The plugin object of one inner run, in the controller or in a worker."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)
        os.environ.update((self.worker_input or {}).get("memproto_credentials", {}))
        self.document: dict[str, Any] | None = None
        self.usage = ""
        self.installed: dict[str, installation.Stamp] = {}
        self._is_interrupted = self._is_closed = False
        self._hiding: Hiding | None = None
        self.targets: list[Target] = []
        self.today = self._today()
        self.root = self._root()
        self.noise = self._noise()
        self.targets = self._targets()

    @property
    def is_worker(self) -> bool:
        """Whether this process is a worker of pytest-xdist."""
        return self.worker_input is not None

    def _root(self) -> Path:
        if self.worker_input is not None:
            return Path(self.worker_input["memproto_root"])
        root = roots.new_root()
        # However the run ends, pytest does this last; workers have gone by then.
        self.config.add_cleanup(self._sweep)
        return root

    def _today(self) -> dt.date:
        if self.worker_input is not None:
            return dt.date.fromisoformat(self.worker_input["memproto_today"])
        return waivers.today()

    def _noise(self) -> Noise:
        if self.worker_input is not None:
            return Noise(**self.worker_input["memproto_noise"])
        return noise.measure()

    def _targets(self) -> list[Target]:
        option = self.config.option
        sides: list[tuple[spec.Side, list[str]]] = [
            ("provider", option.memproto),
            ("host", option.memproto_host),
        ]
        check_options(option)
        found: list[Target] = []
        for side, names in sides:
            found += [self._target(name, side) for name in dict.fromkeys(names)]
        return found

    def _target(self, name: str, side: spec.Side) -> Target:
        directory = Path(self.config.invocation_params.dir)
        trusts = self.config.option.memproto_trust_package
        given = settings.read(name, directory, trusts_package=trusts)
        strict = self.config.option.memproto_strict
        profile = self.config.option.memproto_profile
        order = Order(
            name,
            side,
            given,
            profile,
            int(self.config.option.memproto_seed),
            directory,
            time_scale(),
            self.noise.slowdown,
            1 if self.worker_input is None else int(self.worker_input["workercount"]),
            self.config.option.memproto_replay or "",
            waivers.book(given.waivers, self.today, side=side, strict=strict, profile=profile),
            self.config.option.memproto_spec,
        )
        wanted = spec.select(self.config.option.memproto_clause, side)
        contact = None
        if self.worker_input is not None:
            contact = Contact.from_dict(self.worker_input["memproto_contacts"][f"{side} {name}"])
        return Target(order, Judge(order, self.root, contact), wanted)

    def meet_all(self) -> None:
        """Make first contact with every target before anything else runs."""
        self.installed = installation.stamps()
        for target in self.targets:
            target.judge.meet()
            # What was met before the checks counts as well, whatever is selected afterwards.
            gates = {item.id for item in target.wanted if item.gate}
            found = [item for item in target.judge.contact.results if item.id not in gates]
            target.met += [item for item in found if item.outcome in SCORED_AT_CONTACT]

    def hide(self, text: str) -> str:
        """A text without the credentials of any target of the run."""
        if self._hiding is not None:
            return self._hiding(text)
        given = [(target.order.settings, target.judge.contact) for target in self.targets]
        return withheld.without_credentials(text, *given)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """From now on all credentials are known, and all that is written passes the guard."""
        found: dict[str, str] = {}
        for target in self.targets:
            found |= withheld.secrets(target.order.settings, target.judge.contact)
        self._hiding = Hiding(found)
        guard.of(self.config).install(self.config)

    def _close(self) -> None:
        if not self._is_closed:
            # Each looks at every process of the machine.
            for target in self.targets:
                target.judge.close()
            self._is_closed = True

    def _sweep(self) -> None:
        """Leave nothing of the run behind; a second Ctrl+C does not keep it from that."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._close()
        # Those of a worker that was lost included.
        vitals.end_strays(self.root)
        roots.remove(self.root)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    # -- pytest-xdist -----------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give a worker what first contact found."""
        node.workerinput["memproto_credentials"] = credentials.lend()
        node.workerinput["memproto_root"] = str(self.root)
        node.workerinput["memproto_today"] = str(self.today)
        node.workerinput["memproto_noise"] = self.noise.as_dict()
        node.workerinput["memproto_contacts"] = {
            f"{target.order.side} {target.order.target}": target.judge.contact.as_dict()
            for target in self.targets
        }

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take what a worker found at its end."""
        output = getattr(node, "workeroutput", None) or {}
        self.usage = self.usage or output.get("memproto_usage", "")
        self._take(json.loads(output.get("memproto_late", "[]")), is_shown=False)
        for target in self.targets:
            found = output.get("memproto_outward", {}).get(
                f"{target.order.side} {target.order.target}"
            )
            target.judge.contact.outward.update(found or {})

    # -- collection -------------------------------------------------------------------------------

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> SuiteDirectory:
        """Collect the requirements in place of the suite's files."""
        return SuiteDirectory.from_parent(parent, path=path, targets=self.targets)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which rules have an item that will run; others are shown where they are met."""
        for item in session.items:
            if isinstance(item, ClauseItem):
                item.target.coming.add(item.requirement.id)

    def pytest_report_header(self) -> list[str]:
        """Say what is judged."""
        return terminal.header(self.targets, self.noise)

    # -- results ----------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the results that an item left in its report."""
        report.longrepr = self._harmless(junit.placed(report.longrepr))
        report.sections = [(name, self._told(text)) for name, text in report.sections]
        faults = [str(value) for name, value in report.user_properties if name == USAGE]
        self.usage = self.usage or "".join(faults[:1])
        found = [value for name, value in report.user_properties if name == PROPERTY]
        if found and isinstance(report.longrepr, str):
            report.longrepr = terminal.fit(report.longrepr, is_shown=self._is_shown)
        if found and report.when == "call":
            self._take(json.loads(str(found[0])))
        elif report.failed and not found:
            self._lost(report)
        if report.when == "teardown":
            # The file of --junitxml takes what is left then.
            report.user_properties = junit.readable(report.user_properties)

    def _harmless(self, longrepr: Any) -> Any:
        """What pytest and its file of JUnit say of an item, harmless to a reader."""
        if longrepr is None:
            return None
        if isinstance(longrepr, tuple):
            path, line, reason = longrepr
            return (path, line, foreign.one_line(self.hide(reason)))
        return self._told(str(longrepr))

    def _told(self, text: str) -> str:
        return foreign.lines(self.hide(text))

    @property
    def _is_shown(self) -> bool:
        """Whether somebody looks at a terminal, rather than at what was written to a file."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        return bool(getattr(reporter, "isatty", False))

    def _lost(self, report: pytest.TestReport) -> None:
        """Book an item that failed without results: its worker died, or the kit itself raised."""
        for target in self.targets:
            for requirement in target.wanted:
                if target.node_id(requirement) == report.nodeid:
                    said = self.hide(report.longreprtext)[-1500:]
                    lost = Result(requirement.id, Outcome.KIT_ERROR, observed=said)
                    target.results.append(lost)

    def _take(self, rows: list[dict[str, Any]], *, is_shown: bool = True) -> None:
        for row in rows:
            for target in self.targets:
                if target.order.target == row["target"] and target.order.side == row["side"]:
                    book = target.results if is_shown and row["shown"] else target.met
                    book.append(Result.from_dict(row["result"]))

    def pytest_report_teststatus(self, report: pytest.TestReport) -> terminal.Status | None:
        """Show each outcome by its own word and letter."""
        if report.when != "call":
            return None
        for name, value in report.user_properties:
            if name == PROPERTY:
                is_quiet = self.config.option.verbose < 0 and not report.failed
                rows = json.loads(str(value))
                return terminal.status(rows, is_red=report.failed, is_quiet=is_quiet)
            if name == USAGE:
                return "usage error", "E", "USAGE ERROR"
        return None

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Tell the user's interrupt from a stop that an option asked for (-x, --stepwise)."""
        self._is_interrupted = excinfo.type in (KeyboardInterrupt, pytest.exit.Exception)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Take in what is still running, decide, write the report, set the exit code."""
        try:
            if not (self._is_interrupted or self.usage or self.config.option.collectonly):
                self._finish_all()
            if self.usage:
                session.exitstatus = pytest.ExitCode.USAGE_ERROR
            elif not (self.is_worker or self.config.option.collectonly):
                self._decide(session, exitstatus)
        finally:
            self._close()

    def _finish_all(self) -> None:
        try:
            self._finish_each()
            if not self.is_worker:
                self._see_installation()
        except KitUsageError as error:
            self.usage = self.usage or foreign.told(error, self.hide)
            if self.is_worker:
                self.config.workeroutput["memproto_usage"] = self.usage  # type: ignore[attr-defined]

    def _see_installation(self) -> None:
        """Book a change of the kit's own files on the target that made it, if that is known."""
        changed = installation.changed(self.installed)
        if not changed:
            return
        for target in self.targets:
            found = findings.rewriting(changed, target.order.side, is_alone=len(self.targets) == 1)
            target.met.append(found)

    def _finish_each(self) -> None:
        for target in self.targets:
            late = rows(target.order, target.judge.finish())
            if not self.is_worker:
                self._take(late, is_shown=False)
            elif late:
                known = json.loads(self.config.workeroutput.get("memproto_late", "[]"))  # type: ignore[attr-defined]
                self.config.workeroutput["memproto_late"] = json.dumps(known + late)  # type: ignore[attr-defined]
        if self.is_worker:
            self.config.workeroutput["memproto_outward"] = {  # type: ignore[attr-defined]
                f"{target.order.side} {target.order.target}": target.judge.contact.outward
                for target in self.targets
            }

    def _decide(self, session: pytest.Session, exitstatus: int) -> None:
        option = self.config.option
        facts = document.RunFacts(
            strict=option.memproto_strict,
            allow_incomplete=option.memproto_allow_incomplete,
            narrowed=narrowed(option),
        )
        self.document = document.build([_judged(target) for target in self.targets], facts)
        ended_early = self._is_interrupted or exitstatus == pytest.ExitCode.INTERNAL_ERROR
        session.exitstatus = int(exitstatus) if ended_early else self.document["exit_code"]
        for fault in files.write(option, self.document):
            terminal.complain(self.config, fault)
            session.exitstatus = ExitCode.KIT_ERROR

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the verdict of each target."""
        if self.usage:
            terminal.complain(self.config, f"ERROR: {self.usage}")
        if self.document is not None:
            messages = [target.messages() for target in self.targets]
            summary.summary(terminalreporter, self.document, messages)


def _judged(target: Target) -> document.Judged:
    found = [*target.results, *target.met]
    return document.Judged(target.order, target.judge.contact, found)
