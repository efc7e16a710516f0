"""The figures of a subject, and the file of those that the documents show."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from tests.mutation.subjects import ROOT
from tests.mutation.survivors import CLASSES

#: The kept scores, from which the tables of the documents are made.
FILE = ROOT / "benchmarks/mutation.json"


@dataclasses.dataclass(frozen=True)
class Score:
    """
    The figures of one subject.

    Attributes:
        subject: Its name.
        made: All changes that can be made of it.
        judged: Those that were judged.
        killed: Those of which a requirement is red, or that did not end in time.
        late: Those of the killed that did not end in time.
        classes: Survivors by class; "" for those that nobody has read.

    """

    subject: str
    made: int
    judged: int
    killed: int
    late: int
    classes: dict[str, int]

    @property
    def counted(self) -> int:
        """The judged ones that are not equivalent."""
        return self.judged - self.classes.get("equivalent", 0)

    @property
    def percent(self) -> float:
        """The score: killed of not equivalent."""
        return 100 * self.killed / self.counted if self.counted else 100.0

    @property
    def promised_percent(self) -> float:
        """Killed of those that break a promise, or that nobody has read."""
        counted = self.counted - self.classes.get("no promise", 0)
        return 100 * self.killed / counted if counted else 100.0

    def __str__(self) -> str:
        if not self.judged:
            return f"{self.subject}: no score, since none of {self.made} changes was judged"
        kinds = [f"{self.classes[kind]} {kind}" for kind in CLASSES if self.classes.get(kind)]
        if self.classes.get(""):
            kinds.append(f"{self.classes['']} not read")
        survived = f"; {', '.join(kinds)}" if kinds else ""
        return (
            f"{self.subject}: {self.percent:.1f} % ({self.killed} of {self.counted} that are not "
            f"equivalent; {self.late} of them by the time limit); {self.promised_percent:.1f} % of "
            f"those that break a promise; {self.judged} of {self.made} changes judged{survived}"
        )


def keep(found: Score, conditions: dict[str, Any], file: Path = FILE) -> None:
    """Write the figures of a subject into the kept file, in place of earlier ones."""
    kept = json.loads(file.read_text("utf-8")) if file.exists() else {}
    kept[found.subject] = {**dataclasses.asdict(found), **conditions}
    file.write_text(json.dumps(kept, indent=2) + "\n", "utf-8")
