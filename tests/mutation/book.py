"""The book of one subject: cosmic-ray's work database, by which a run goes on where one stopped."""

import hashlib
import json
import time
from collections.abc import Iterable
from pathlib import Path

from cosmic_ray.work_db import WorkDB
from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkResult

from tests.mutation.changes import Change
from tests.mutation.judges import Verdict
from tests.mutation.subjects import ROOT, Subject


class Book:
    """
    Verdicts by change.

    Guarantees:
        A verdict that `note` returned from is in the file, whatever ends the process afterwards.
    Assumes:
        One thread at a time.
    """

    def __init__(self, folder: Path, subject: Subject, root: Path = ROOT) -> None:
        """The file is that of this text of the subject: results of another text do not count."""
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / f"{subject.name}-{_digest(subject, root)}.sqlite"
        self._control = self.file.with_suffix(".control.json")
        self._db = WorkDB(str(self.file), WorkDB.Mode.create)

    def plan(self, found: Iterable[Change]) -> None:
        """Write down changes that are to be judged; those that are known stay as they are."""
        known = {item.job_id for item in self._db.work_items}
        self._db.add_work_items([change.item for change in found if change.key.digest not in known])

    def kills(self) -> list[tuple[str, str]]:
        """The requirements that killed, each with `FILE:Class.function` of the change."""
        verdicts, found = self.verdicts(), []
        for item in self._db.work_items:
            verdict, change = verdicts.get(item.job_id), item.mutations[0]
            if verdict is not None and verdict.is_killed:
                name = change.definition_name or ""
                found.append((verdict.by, f"{change.module_path.as_posix()}:{name}"))
        return found

    @property
    def control(self) -> Verdict | None:
        """The verdict on the subject as it is, or None before there is one."""
        if not self._control.exists():
            return None
        return Verdict(**json.loads(self._control.read_text("utf-8")))

    @control.setter
    def control(self, verdict: Verdict) -> None:
        self._control.write_text(json.dumps(verdict.__dict__), "utf-8")

    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts that are known, by the digest of the change."""
        # The last answer of the database is read before the next question is put to it.
        results = dict(self._db.results)
        return {name: Verdict(**json.loads(result.output)) for name, result in results.items()}

    def note(self, change: Change, verdict: Verdict) -> None:
        """Write one verdict down, in the place of an earlier one."""
        outcome = TestOutcome.KILLED if verdict.is_killed else TestOutcome.SURVIVED
        result = WorkResult(
            worker_outcome=WorkerOutcome.NORMAL,
            output=json.dumps(verdict.__dict__),
            test_outcome=outcome,
            diff=f"- {change.key.was}\n+ {change.key.now}",
        )
        self._db.set_result(change.key.digest, result)

    def take(self, folder: Path) -> None:
        """Take the verdicts of the books of the same text that lie below a folder."""
        for file in sorted(folder.rglob(self.file.name)):
            other = WorkDB(str(file), WorkDB.Mode.open)
            try:
                known = {item.job_id for item in self._db.work_items}
                new = [item for item in other.work_items if item.job_id not in known]
                self._db.add_work_items(new)
                for name, result in dict(other.results).items():
                    self._db.set_result(name, result)
            finally:
                other.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _digest(subject: Subject, root: Path) -> str:
    text = b"".join((root / source).read_bytes() for source in subject.sources(root))
    return hashlib.sha256(text).hexdigest()[:12]


class Clock:
    """The seconds that are left of a run that may take only so many; 0 for any number."""

    def __init__(self, most_s: float) -> None:
        self._end_s = time.monotonic() + most_s if most_s else float("inf")

    @property
    def is_over(self) -> bool:
        """True if no further change is to be begun."""
        return time.monotonic() > self._end_s
