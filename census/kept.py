"""
The folder in which a census keeps what it found, one file of each kind for each target.

`reports/` holds the documents of the kit, which `memproto` reads; `records/` says how each run
ended; `output/` is all that it printed. Folders of several machines are laid over one another.
"""

import json
from pathlib import Path

from census.judging import Record


class Kept:
    """
    The folder, which is made when something is kept.

    Each target has files of its own, so that several threads may keep at the same time.
    """

    def __init__(self, folder: Path) -> None:
        """Take the folder, which need not be there."""
        self._folder = folder

    def report(self, name: str) -> Path:
        """The place of a target's report; its folder is there."""
        return self._place("reports") / f"{name}.json"

    def keep(self, record: Record, printed: str) -> None:
        """Write the record at once or not at all, and all that the run printed."""
        (self._place("output") / f"{record.name}.txt").write_text(printed, "utf-8")
        place = self._place("records") / f"{record.name}.json"
        draft = place.with_suffix(".new")
        draft.write_text(json.dumps(record.as_dict(), indent=1, ensure_ascii=False) + "\n", "utf-8")
        draft.replace(place)

    def forget(self, name: str) -> None:
        """Drop the record of a target, so that it is judged again."""
        (self._folder / "records" / f"{name}.json").unlink(missing_ok=True)

    def records(self) -> dict[str, Record]:
        """Name to record; a file that is none is passed over, since the run can be made again."""
        found = (self._read(path) for path in sorted(self._folder.glob("records/*.json")))
        return {record.name: record for record in found if record is not None}

    @staticmethod
    def _read(path: Path) -> Record | None:
        try:
            return Record(**json.loads(path.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def _place(self, name: str) -> Path:
        place = self._folder / name
        place.mkdir(parents=True, exist_ok=True)
        return place
