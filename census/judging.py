"""
One target brought to a verdict: an environment, a run of the kit under a time limit, a record.

The run gets an environment of variables of its own, so that no credential of the caller reaches
it, and an empty home. The kit confines the processes that hold the target (memproto's
`processes/confinement.py`); the installation before it runs code of packages and is not confined.
"""

import contextlib
import dataclasses
import datetime as dt
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Literal

import psutil

from census import environments
from census.entries import Entry
from census.environments import Environment, NotInstalled
from census.kit import Kit
from memproto import spec
from memproto.testing.outcomes import Outcome

#: Seconds that one run of the kit may take.
RUN_S = 1800

#: Seconds between the request to end and the end by force, and those that this may take.
_GRACE_S, _FORCED_S = 15, 5

#: Seconds between two looks at a run that goes on.
_LOOK_S = 0.2

#: The variable by which a caller says how slow the machine is.
_SCALE = "MEMPROTO_TIME_SCALE"

#: Exit codes of the kit with which a run has a verdict, and those with which it has none.
_VERDICT = (0, 1, 6)
_KIT_ERROR, _USAGE = 3, 4

#: Characters of a run's last output that a reason holds.
_MOST_CHARS = 1500

State = Literal["judged", "undecided", "kit_error", "hung", "crashed", "refused", "not_installed"]


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """
    The conditions of a run.

    Attributes:
        profile: The profile of the kit.
        run_s: Seconds that the kit may take.
        clauses: The only requirements or areas that are judged; none for all.

    """

    profile: str = "quick"
    run_s: float = RUN_S
    clauses: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """
    The fate of one target.

    Attributes:
        name: The entry.
        inputs: The digest of all that was judged, and by which kit.
        kit: The digest of the kit's wheel.
        state: `judged` if the kit came to a verdict. `undecided`: the machine was too busy for
            first contact. `kit_error`: the kit failed. `hung`: the run
            was ended. `crashed`: it left no report. `refused`: the kit found no such target.
            `not_installed`: there is no environment.
        exit_code: The exit code of the kit; None without a run.
        reason: Why there is no verdict, or "".
        took_s: Seconds of the run, without the installation.
        date: The day, as `YYYY-MM-DD`.
        distribution: The digest of the installed files of the package; "" if it is the kit's own.

    """

    name: str
    inputs: str
    kit: str
    state: State
    exit_code: int | None
    reason: str
    took_s: float
    date: str
    distribution: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dataclasses.asdict(self)


class Ended(Exception):
    """The census was told to end before a run was over; nothing is known of its target."""


def inputs_of(entry: Entry, kit: Kit, limits: Limits) -> str:
    """The digest that a kept record must have to be taken for this run's."""
    return entry.digest(kit.digest, limits.profile, *limits.clauses)


def judge(
    entry: Entry, kit: Kit, report: Path, limits: Limits, ending: threading.Event | None = None
) -> tuple[Record, str]:
    """
    Judge one target; gives the record and all that the run printed. Blocks for minutes.

    Raises Ended when another thread sets `ending`: within seconds, but an installation is
    finished. The run is ended before.

    The report is written to `report` if there is one. Everything else is below a temporary
    directory that is gone at the end. Its names are short: a socket in a provider's home below it
    has a path of at most 104 bytes on some systems.
    """
    ending = ending or threading.Event()
    if ending.is_set():
        raise Ended
    with tempfile.TemporaryDirectory(prefix="c-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            made = environments.make(folder / "venv", entry.python, kit.path, entry.installs)
            place = folder / "work"
            place.mkdir()
            if entry.is_of_npm:
                environments.npm_install(made, place, entry.npm_installs, entry.npm_unpacks)
        except NotInstalled as error:
            return _record(entry, kit, limits, "not_installed", reason=str(error)), str(error)
        if entry.is_of_npm:
            digest = environments.digest_of_npm(place, entry.package)
        else:
            digest = environments.digest_of(made, entry.package)
        record, printed = _run(entry, kit, made, folder, limits, ending=ending)
        if (folder / "report.json").exists():
            shutil.copyfile(folder / "report.json", report)
        else:
            report.unlink(missing_ok=True)
        return dataclasses.replace(record, distribution=digest), printed


def failed(entry: Entry, kit: Kit, limits: Limits, error: Exception) -> Record:
    """The record of a target whose run the census itself could not make."""
    return _record(entry, kit, limits, "crashed", reason=f"{type(error).__name__}: {error}")


def _record(
    entry: Entry,
    kit: Kit,
    limits: Limits,
    state: State,
    *,
    exit_code: int | None = None,
    reason: str = "",
    took_s: float = 0.0,
) -> Record:
    today = dt.datetime.now(dt.UTC).date()
    inputs = inputs_of(entry, kit, limits)
    took_s = round(took_s, 1)
    return Record(entry.name, inputs, kit.digest, state, exit_code, reason, took_s, str(today))


def _run(
    entry: Entry,
    kit: Kit,
    made: Environment,
    folder: Path,
    limits: Limits,
    *,
    ending: threading.Event,
) -> tuple[Record, str]:
    place, report, output = folder / "work", folder / "report.json", folder / "output.txt"
    for one in (folder / "h", folder / "t"):
        one.mkdir()
    for name, text in entry.files.items():
        (place / name).write_text(text, "utf-8")
    command = [str(made.python), "-P", "-m", "memproto.cli", "judge", entry.target]
    command += [f"--memproto-profile={limits.profile}", f"--memproto-report={report}"]
    command += [f"--memproto-clause={clause}" for clause in limits.clauses]
    begin = time.monotonic()
    variables = _variables(made, folder)
    code = _code(command, place, variables, output, limits.run_s, ending=ending)
    took_s = time.monotonic() - begin
    printed = output.read_text("utf-8", "replace")
    state, reason = _state(code, report, limits.run_s)
    if state not in {"judged", "undecided"}:
        reason = f"{reason}: {_last(printed, folder)}"
    record = _record(entry, kit, limits, state, exit_code=code, reason=reason, took_s=took_s)
    return record, printed


def _variables(made: Environment, folder: Path) -> dict[str, str]:
    """The variables of the run: none of the caller's but where programs are, and how slow it is."""
    kept = {key: os.environ[key] for key in (_SCALE,) if key in os.environ}
    path = os.pathsep.join([str(made.folder / "bin"), os.environ.get("PATH", os.defpath)])
    places = {"HOME": str(folder / "h"), "TMPDIR": str(folder / "t")}
    return {"PATH": path, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", **places, **kept}


def _code(
    command: list[str],
    place: Path,
    variables: dict[str, str],
    output: Path,
    run_s: float,
    *,
    ending: threading.Event,
) -> int | None:
    """The exit code of the run; None if it had to be ended."""
    with output.open("wb") as stream:
        run = subprocess.Popen(
            command,
            cwd=place,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        last_s = time.monotonic() + run_s
        try:
            while (code := run.poll()) is None and time.monotonic() < last_s:
                if ending.wait(_LOOK_S):
                    raise Ended
            return code
        finally:
            _end(run)


def _end(run: subprocess.Popen[bytes]) -> None:
    """End a run that has not ended, with all that it started."""
    if run.poll() is not None:
        return
    # Children of the kit have sessions of their own: who they are is known while it lives.
    below = psutil.Process(run.pid).children(recursive=True)
    run.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        run.wait(_GRACE_S)
    for process in below:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    run.kill()
    run.wait()
    psutil.wait_procs(below, timeout=_FORCED_S)


def _state(code: int | None, report: Path, run_s: float) -> tuple[State, str]:
    if code is None:
        return "hung", f"no end after {run_s:g} s"
    if code == _USAGE:
        return "refused", "the kit judged nothing"
    if code == _KIT_ERROR:
        return "kit_error", "the kit failed"
    rows = _rows(report) if code in _VERDICT else []
    if not rows:
        return "crashed", f"exit code {code} and no report"
    for row in rows:
        if row["outcome"] == Outcome.INCONCLUSIVE and spec.requirement(row["id"]).gate:
            return "undecided", f"{row['id']}: {row['reason']}"
    return "judged", ""


def _rows(path: Path) -> list[dict[str, Any]]:
    """The results in a report; none if there is no report."""
    try:
        (found,) = json.loads(path.read_text("utf-8"))["reports"]
    except (OSError, ValueError, KeyError):
        return []
    rows: list[dict[str, Any]] = found["results"]
    return rows


def _last(printed: str, folder: Path) -> str:
    """The end of an output in one line, without the place of the run."""
    plain = printed.replace(str(folder), "")
    return " ".join(plain.split())[-_MOST_CHARS:]
