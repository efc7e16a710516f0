"""
The inner run: first contact, one item for each requirement of each target, the verdict.

Items are clients of a `Crew` of judges; under pytest-xdist each worker has judges of its own, which
start from the first contact that the controller made, and check one after the other.
"""

import contextlib
import datetime as dt
import gc
import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from memproto import spec
from memproto.bindings import hermes_agent
from memproto.errors import KitUsageError
from memproto.pytest_plugin import (
    files,
    guard,
    jobs,
    junit,
    progress,
    summary,
    telling,
    terminal,
)
from memproto.pytest_plugin.items import (
    HELD,
    PROPERTY,
    USAGE,
    ClauseItem,
    Held,
    SuiteDirectory,
    Target,
    rows,
)
from memproto.pytest_plugin.options import check_options, narrowed, selected
from memproto.report import document, findings
from memproto.testing import installation, noise, patience, untrusted_text
from memproto.testing.credential_forms import Hiding
from memproto.testing.evidence import KitFault
from memproto.testing.judging import attribution, events, redaction
from memproto.testing.judging.crew import Crew
from memproto.testing.judging.judge import SCORED_AT_CONTACT
from memproto.testing.noise import Noise
from memproto.testing.outcomes import ExitCode, Outcome, Result
from memproto.testing.processes import confinement, roots, vitals
from memproto.testing.settings import credentials, settings, waivers
from memproto.testing.settings.order import Contact, Order


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
        hide = redaction.without_credentials if suite is None else suite.hide
        raise pytest.UsageError(untrusted_text.told(error, hide)) from None
    config.pluginmanager.register(suite, "memproto-suite")
    if not suite.is_worker:
        config.pluginmanager.register(job, "memproto-job")
    # The objects of now stay to the end of the run: no collection has to look at them.
    gc.freeze()
    gc.enable()


def _end_as_interrupted() -> None:
    """Have a run that is cancelled, or whose terminal goes, clean up as one that is interrupted."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # A run that was started with `nohup` is not to hear of it.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt_once)


def _interrupt_once(number: int, _: FrameType | None) -> None:
    # A signal to a whole group of processes is heard twice: from its sender and from the outer run.
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
        self._session: pytest.Session | None = None
        self._by_node_id: dict[str, tuple[Target, spec.Requirement]] = {}
        self.targets: list[Target] = []
        self.today = self._today()
        self.root = self._root()
        self.noise = self._noise()
        self.targets = self._targets()

    @property
    def is_worker(self) -> bool:
        """True if this process is a worker of pytest-xdist."""
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
        # Every process that loads the target makes the calls of one release.
        hermes_agent.choose(option.memproto_hermes or "")
        found: list[Target] = []
        for side, names in sides:
            found += [self._target(name, side) for name in dict.fromkeys(names)]
        return found

    def _target(self, name: str, side: spec.Side) -> Target:
        directory = Path(self.config.invocation_params.dir)
        trusts = self.config.option.memproto_trust_package
        named = self.config.option.memproto_settings or ""
        given = settings.read(name, directory, trusts_package=trusts, named=named)
        strict = self.config.option.memproto_strict
        profile = self.config.option.memproto_profile
        order = Order(
            name,
            side,
            given,
            profile,
            int(self.config.option.memproto_seed),
            directory,
            patience.time_scale(),
            self.noise.slowdown,
            1 if self.worker_input is None else int(self.worker_input["workercount"]),
            self.config.option.memproto_replay or "",
            waivers.book(given.waivers, self.today, side=side, strict=strict, profile=profile),
            self.config.option.memproto_spec,
            self.config.option.memproto_hermes or "",
        )
        wanted = selected(self.config.option, side)
        contact = None
        if self.worker_input is not None:
            contact = Contact.from_dict(self.worker_input["memproto_contacts"][f"{side} {name}"])
        return Target(order, Crew(order, self.root, contact), wanted)

    def meet_all(self) -> None:
        """Make first contact with every target before anything else runs."""
        self.installed = installation.stamps()
        for target in self.targets:
            self._say_at_once(f"meeting {target.label} ...")
            target.judge.meet(target.wanted)
            # Faults that were met before the checks count as well, whatever is selected afterwards.
            found = target.judge.contact.results
            target.results += [item for item in found if item.outcome in SCORED_AT_CONTACT]

    def _say_at_once(self, text: str) -> None:
        """Say a line before pytest has begun: first contact may take long, and prints nothing."""
        if self.config.option.verbose >= 0:
            line = terminal.writable(untrusted_text.one_line(self.hide(text)))
            with contextlib.suppress(OSError):
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()

    def hide(self, text: str) -> str:
        """A text without the credentials of any target of the run."""
        if self._hiding is not None:
            return self._hiding(text)
        given = [(target.order.settings, target.judge.contact) for target in self.targets]
        return redaction.without_credentials(text, *given)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """From now on all credentials are known, and all that is written passes the guard."""
        self._session = session
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and not self.is_worker:
            self.config.pluginmanager.register(progress.Progress(reporter), "memproto-progress")
        found: dict[str, str] = {}
        for target in self.targets:
            found |= redaction.secrets(target.order.settings, target.judge.contact)
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
        # The processes of a worker that was lost included.
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
        self._take(json.loads(output.get("memproto_late", "[]")))
        for target in self.targets:
            found = output.get("memproto_outward", {}).get(
                f"{target.order.side} {target.order.target}"
            )
            target.judge.contact.outward.update(found or {})

    # -- collection -------------------------------------------------------------------------------

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> SuiteDirectory:
        """Collect the requirements in place of the suite's files."""
        return SuiteDirectory.from_parent(parent, path=path, targets=self.targets)

    def pytest_report_collectionfinish(self, items: list[pytest.Item]) -> list[str]:
        """Plan the checks that are left, in the order of the items; say how long they will take."""
        if self.is_worker or self.config.pluginmanager.has_plugin("dsession"):
            return []
        if not self.config.option.collectonly:
            for target in self.targets:
                mine = [it for it in items if isinstance(it, ClauseItem) and it.target is target]
                target.judge.prepare(it.requirement for it in mine)
        return terminal.plans(self.targets)

    def pytest_report_header(self) -> list[str]:
        """Say what is judged."""
        return terminal.header(self.targets, self.noise)

    # -- results ----------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Any:
        """Run an item whose report waits, and take what it found in silence."""
        if not (isinstance(item, ClauseItem) and item.waits):
            return None
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        if item.result is None:
            # The settings do not work, or the kit itself failed: nothing that comes later is worse.
            self._tell(reports, item.location)
            return True
        held = next(report for report in reports if report.when == "call")
        held.when = HELD  # type: ignore[assignment]
        item.ihook.pytest_runtest_logreport(report=held)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Have the report of an item that does not wait say what its check found."""
        report: pytest.TestReport = yield
        if call.when == "call" and isinstance(item, ClauseItem) and not item.waits and item.result:
            strict = self.config.option.memproto_strict
            telling.ShownResult(item.result, item.target.order, strict).put(report)
            # The file of --junitxml takes them from the report of the last phase.
            item.user_properties = list(report.user_properties)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the results that an item left in its report."""
        report.longrepr = self._harmless(junit.placed(report.longrepr))
        report.sections = [(name, self._told(text)) for name, text in report.sections]
        named = list(report.user_properties)
        faults = [str(value) for name, value in named if name == USAGE]
        self.usage = self.usage or "".join(faults[:1])
        found = [value for name, value in named if name == PROPERTY]
        if isinstance(report.longrepr, str):
            report.longrepr = terminal.fit(report.longrepr, is_shown=self._is_shown)
        if found and report.when in ("call", HELD):
            self._take(json.loads(str(found[0])))
            self._note(report)
            self._stop_where_enough_failed()
        elif report.failed and not any(name == telling.PROPERTY for name, _ in named):
            self._lost(report)
        if report.when == "teardown":
            # The file of --junitxml takes what is left then.
            report.user_properties = junit.readable(report.user_properties)

    def _harmless(self, longrepr: Any) -> Any:
        """The text that pytest and its file of JUnit have for an item, harmless to a reader."""
        if longrepr is None:
            return None
        if isinstance(longrepr, tuple):
            path, line, reason = longrepr
            return (path, line, untrusted_text.one_line(self.hide(reason)))
        return self._told(str(longrepr))

    def _told(self, text: str) -> str:
        return untrusted_text.lines(self.hide(text))

    @property
    def _is_shown(self) -> bool:
        """True if somebody looks at a terminal, rather than at what was written to a file."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        return bool(getattr(reporter, "isatty", False))

    def _lost(self, report: pytest.TestReport) -> None:
        """Book an item that failed without results: its worker died, or the kit itself raised."""
        target, requirement = self._find(report)
        if target is not None and requirement is not None:
            said = self.hide(report.longreprtext)[-1500:]
            target.results.append(Result(requirement.id, Outcome.KIT_ERROR, KitFault(text=said)))
            target.told.add(requirement.id)

    def _find(self, report: pytest.TestReport) -> tuple[Target | None, spec.Requirement | None]:
        """The target and the requirement that a report is about."""
        if not self._by_node_id:
            for target in self.targets:
                # One that was not asked for is told too, if the check of another finds it violated.
                for requirement in spec.select([], target.order.side):
                    node_id = target.node_id(requirement)
                    self._by_node_id.setdefault(node_id, (target, requirement))
        if report.nodeid in self._by_node_id:
            return self._by_node_id[report.nodeid]
        for target in self.targets:
            for requirement in target.wanted:
                # Under --dist=loadgroup the name of the group comes behind it.
                if report.nodeid.startswith(target.node_id(requirement)):
                    return target, requirement
        return None, None

    def _note(self, report: pytest.TestReport) -> None:
        target, requirement = self._find(report)
        assert target is not None
        assert requirement is not None
        if report.when == HELD:
            target.held[requirement.id] = Held(report, report.duration)
            # Its time is told with it, once.
            report.duration = 0.0
        else:
            target.told.add(requirement.id)

    def _take(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            for target in self.targets:
                if target.order.target == row["target"] and target.order.side == row["side"]:
                    target.results.append(Result.from_dict(row["result"]))

    def _stop_where_enough_failed(self) -> None:
        """End the run early for -x and its like: pytest does not count a report that waits."""
        option = self.config.option
        most = 1 if getattr(option, "stepwise", False) else option.maxfail
        if self.is_worker or not most:
            return
        strict = option.memproto_strict
        count = sum(len(target.red(strict=strict)) for target in self.targets)
        if count < most:
            return
        said = f"stopping after {count} failures"
        crew = self.config.pluginmanager.get_plugin("dsession")
        if crew is not None:
            crew.shouldstop = crew.shouldstop or said
        elif self._session is not None:
            self._session.shouldfail = said

    # -- what waited ------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Any:
        """Once no check runs any more, take in what comes late, and tell what waited."""
        try:
            done = yield
        except BaseException as error:
            # An option that stops a run early raises a KeyboardInterrupt of its own kind.
            self._is_interrupted = type(error) is KeyboardInterrupt
            self._is_interrupted |= isinstance(error, pytest.exit.Exception)
            self._end_of_loop()
            raise
        self._end_of_loop()
        return done

    def _end_of_loop(self) -> None:
        if self.is_worker or self.config.option.collectonly:
            return
        try:
            if not (self._is_interrupted or self.usage):
                self._finish_all()
        finally:
            if not self.usage:
                for target in self.targets:
                    self._tell_rest(target)

    def _tell_rest(self, target: Target) -> None:
        """Tell what waited, and what was found violated while its own item did not run."""
        strict = self.config.option.memproto_strict
        found = {item.id for item in target.results if item.outcome in SCORED_AT_CONTACT}
        for requirement in spec.select([], target.order.side):
            waited = target.held.get(requirement.id)
            if requirement.id in target.told or not (waited or requirement.id in found):
                continue
            target.told.add(requirement.id)
            if waited is None and self._session is not None:
                # It was not collected, and is shown.
                self._session.testscollected += 1
            call, end = (self._report(target, requirement, when) for when in ("call", "teardown"))
            target.telling(requirement, strict=strict).put(call)
            end.user_properties = call.user_properties
            self._tell([call, end], call.location)

    def _report(
        self, target: Target, requirement: spec.Requirement, when: Any
    ) -> pytest.TestReport:
        """An empty report of pytest, in the place of the one that waited, or of none."""
        waited = target.held.get(requirement.id)
        if waited is None:
            node_id = target.node_id(requirement)
            place = (node_id.partition("::")[0], None, f"{target.label} {requirement.id}")
            return pytest.TestReport(node_id, place, {}, "passed", None, when)
        former = waited.report
        report = pytest.TestReport(
            former.nodeid, former.location, former.keywords, "passed", None, when
        )
        report.duration = waited.took_s if when == "call" else 0.0
        if hasattr(former, "node"):
            # By the worker and the id the file of --junitxml knows its test cases.
            report.node = former.node  # type: ignore[attr-defined]
        return report

    def _tell(self, reports: list[pytest.TestReport], location: Any) -> None:
        hook = self.config.hook
        hook.pytest_runtest_logstart(nodeid=reports[0].nodeid, location=location)
        for report in reports:
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=reports[0].nodeid, location=location)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> terminal.Status | None:
        """Show each outcome by its own word and letter."""
        if report.when == HELD:
            return "", "", ""
        if report.when != "call":
            return None
        for name, value in report.user_properties:
            if name == telling.PROPERTY:
                outcome, is_red = json.loads(str(value))
                return terminal.status(Outcome(outcome), is_red=is_red)
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
            if self.is_worker and not (self._is_interrupted or self.usage):
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
            self.usage = self.usage or untrusted_text.told(error, self.hide)
            if self.is_worker:
                self.config.workeroutput["memproto_usage"] = self.usage  # type: ignore[attr-defined]

    def _see_installation(self) -> None:
        """Book a change of the kit's own files on the target that made it, if that is known."""
        changed = installation.changed(self.installed)
        if not changed:
            return
        for target in self.targets:
            rewritten = events.FilesRewritten(
                check="",
                side=target.order.side,
                names=tuple(changed),
                is_alone=len(self.targets) == 1,
            )
            target.results += attribution.attribute(rewritten)

    def _finish_each(self) -> None:
        for target in self.targets:
            late = rows(target.order, target.judge.finish())
            if not self.is_worker:
                self._take(late)
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
            conformance_class=option.memproto_class,
        )
        self.document = document.build([_judged(target) for target in self.targets], facts)
        self._arrange()
        ended_early = self._is_interrupted or exitstatus == pytest.ExitCode.INTERNAL_ERROR
        session.exitstatus = int(exitstatus) if ended_early else self.document["exit_code"]
        for fault in files.write(option, self.document):
            terminal.complain(self.config, fault)
            session.exitstatus = ExitCode.KIT_ERROR

    def _arrange(self) -> None:
        """Have pytest show roots first and what follows from them below, by the whole run."""
        reporter: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or self.document is None:
            return
        places: dict[tuple[str, str], int] = {}
        for judged, written in zip(self.targets, self.document["reports"], strict=True):
            for row in findings.in_order(written["results"]):
                places[judged.label, row["id"]] = len(places)
        ranked = []
        for report in reporter.stats.get("failed", []):
            target, requirement = self._find(report)
            place = len(places)
            if target is not None and requirement is not None:
                place = places.get((target.label, requirement.id), place)
                self._retell(report, target, requirement)
            ranked.append((place, report))
        if ranked:
            reporter.stats["failed"] = [one for _, one in sorted(ranked, key=lambda item: item[0])]

    def _retell(self, report: pytest.TestReport, target: Target, wanted: spec.Requirement) -> None:
        """Say of a red item what is known of it now that all of the others are."""
        rows = self.document["reports"][self.targets.index(target)] if self.document else {}
        row = next((row for row in rows.get("results", ()) if row["id"] == wanted.id), None)
        if row is None or not any(name == telling.PROPERTY for name, _ in report.user_properties):
            return
        strict = self.config.option.memproto_strict
        told = target.telling(wanted, strict=strict, follows=row["follows"] or "")
        is_brief = self.config.option.verbose <= 0
        text, line = told.text(is_brief=is_brief), self._harmless((*_NOWHERE, told.line()))[2]
        text = terminal.fit(self._told(text), is_shown=self._is_shown)
        report.longrepr = telling.Finding(  # type: ignore[assignment]
            text, f"{wanted.id}: {line}", terminal.writable(line)
        )

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the verdict of each target."""
        if self.usage:
            terminal.complain(self.config, f"ERROR: {self.usage}")
        if self.document is not None:
            summary.summary(terminalreporter, self.document)


#: The place of a text that is told at no line of a file.
_NOWHERE = ("", 0)


def _judged(target: Target) -> document.Judged:
    return document.Judged(target.order, target.judge.contact, target.results)
