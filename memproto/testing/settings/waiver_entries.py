"""The entries of waivers in TOML: where each stands, and what is wrong with it, line by line."""

import dataclasses
import datetime as dt
import re
from pathlib import Path
from typing import Any

from memproto import spec
from memproto.near import nearest
from memproto.testing.context import EXAMPLES
from memproto.testing.settings import files
from memproto.testing.settings.files import line_of

#: The keys of an entry, all of them needed, and what a corrected line says.
KEYS = {
    "reason": '"why it fails, and why that is borne"',
    "issue": '"https://... where the work on it is followed"',
    "owner": '"who answers for it"',
    "expires": "",
}

#: A key that may be left out: the least profile under which the requirement fails.
PROFILE = "profile"

#: A key that may be left out: true in an entry of a baseline, which is told and not red if the rule
#: holds, since only new faults are to turn such a run red.
BASELINE = "baseline"

#: Those that there are, the one that draws the fewest examples first.
PROFILES = tuple(EXAMPLES)

#: The keys that may be left out.
OPTIONAL = (PROFILE, BASELINE)

#: A shorter reason is none.
MIN_REASON = 10

#: Time for which a line that the kit proposes holds.
RENEWED_DAYS = 60

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclasses.dataclass(frozen=True)
class Entry:
    """
    One entry as it was read.

    Attributes:
        id: Its key, whatever it is; "" where the file itself is broken.
        value: The value under it; the BrokenFile if the file itself is broken.
        file: The file's name as a message shows it.
        text: The whole text of the file.
        above: The keys above the entry.

    """

    id: str
    value: Any
    file: str
    text: str
    above: tuple[str, ...] = ()

    def place(self, *below: str) -> str:
        """`file:line` of the entry, or of one of its keys."""
        line = line_of(self.text, (*self.above, self.id, *below))
        return self.file if line is None else f"{self.file}:{line}"

    def line(self, *below: str) -> str:
        """The text of that line; "" where it is not known."""
        number = line_of(self.text, (*self.above, self.id, *below))
        return "" if number is None else self.text.splitlines()[number - 1].strip()


@dataclasses.dataclass(frozen=True)
class Waiver:
    """
    A valid waiver.

    Attributes:
        profile: The least profile under which the requirement fails; it may hold under a lesser.
        is_baseline: True if it was written for a report as a whole: it is never stale.

    """

    id: str
    reason: str
    issue: str
    owner: str
    expires: dt.date
    place: str
    line: str = ""
    profile: str = PROFILES[0]
    is_baseline: bool = False

    def is_judged(self, profile: str) -> bool:
        """True if a run under `profile` can tell that it is stale."""
        return PROFILES.index(profile) >= PROFILES.index(self.profile)


@dataclasses.dataclass(frozen=True)
class Fault:
    """
    A fault of a waiver; it is red.

    Attributes:
        id: The entry's key, or "".
        kind: unknown, malformed, incomplete, expired or stale.
        text: Place and fault.
        fix: The remedy, with the corrected line.

    """

    id: str
    kind: str
    text: str
    fix: str


def from_file(path: Path, shown: str) -> dict[str, Entry]:
    """
    The entries of a file of waivers; one that is broken gives one entry that says so.

    Raises:
        OSError: It cannot be read.

    """
    data = path.read_bytes()
    try:
        text = files.decoded(data)
        table = files.tables(text)
    except files.BrokenFile as broken:
        return {f"file {shown}": Entry("", broken, f"{shown}:{broken.line}", "")}
    return from_table(table, shown, text)


def from_table(
    table: dict[str, Any], shown: str, text: str, above: tuple[str, ...] = ()
) -> dict[str, Entry]:
    """The entries of a table."""
    return {key: Entry(key, value, shown, text, above) for key, value in table.items()}


def judged(entry: Entry, today: dt.date) -> tuple[Waiver | None, list[Fault]]:
    """The waiver that the entry is, or all that is wrong with it."""
    if not entry.id:
        broken: files.BrokenFile = entry.value
        return None, [Fault("", "malformed", f"{entry.file}: {broken.fault}", broken.fix)]
    known = spec.requirements()
    if entry.id not in known:
        return None, [_unknown(entry)]
    if not isinstance(entry.value, dict):
        fix = f"[{entry.id}] and below it {', '.join(KEYS)}"
        return None, [_fault(entry, "malformed", "is no table", fix)]
    faults = _faults(entry, today)
    return (None, faults) if faults else (_waiver(entry), [])


def stale(waiver: Waiver, profile: str) -> Fault:
    """The fault of a waiver whose rule holds under `profile`."""
    said = f"{waiver.place}: {waiver.id} holds, and its waiver is stale"
    line = f"{waiver.line} and the keys below it" if waiver.line.startswith("[") else waiver.line
    fix = f"remove {line or 'the entry'}; one for another target belongs in that target's table"
    greater = PROFILES[PROFILES.index(profile) + 1 :]
    if greater:
        names = " or ".join(f'{PROFILE} = "{name}"' for name in greater)
        fix += f"; where it fails only under a greater profile, write {names}"
    return Fault(waiver.id, "stale", said, fix)


def _waiver(entry: Entry) -> Waiver:
    value = entry.value
    texts = {key: value[key] for key in ("reason", "issue", "owner")}
    expires = as_date(value["expires"])
    assert expires is not None
    profile = value.get(PROFILE, PROFILES[0])
    return Waiver(
        entry.id,
        **texts,
        expires=expires,
        place=entry.place(),
        line=entry.line(),
        profile=profile,
        is_baseline=value.get(BASELINE, False),
    )


def _unknown(entry: Entry) -> Fault:
    near = nearest(entry.id.upper(), spec.requirements())
    line = entry.line() or f"[{entry.id}]"
    fix = f"write {line.replace(entry.id, near)}" if near else "memproto list shows all ids"
    if entry.id in ("waivers", "tool"):
        fix = "in a file of waivers nothing stands before an id: write [MP-TURN-002]"
    return _fault(entry, "unknown", "is no requirement", fix)


def _faults(entry: Entry, today: dt.date) -> list[Fault]:
    strange = [_strange(entry, key) for key in entry.value if key not in (*KEYS, *OPTIONAL)]
    texts = [_text(entry, key, today) for key in ("reason", "issue", "owner")]
    others = (_end(entry, today), _profile(entry), _baseline(entry))
    return [*strange, *filter(None, [*texts, *others])]


def _strange(entry: Entry, key: str) -> Fault:
    near = nearest(key, (*KEYS, *OPTIONAL))
    line = entry.line(key)
    fix = f"write {line.replace(key, near, 1)}" if near and line else "leave it out"
    return _fault(entry, "malformed", f"{key!r} is no key of a waiver", fix, key)


def _text(entry: Entry, key: str, today: dt.date) -> Fault | None:
    value = entry.value.get(key)
    fix = _corrected(key, today)
    if value is None or (isinstance(value, str) and not value.strip()):
        return _fault(entry, "incomplete", f"has no {key}", fix)
    if not isinstance(value, str):
        return _fault(entry, "malformed", f"{key} must be text, not {value!r}", fix, key)
    if key == "reason" and len(value.strip()) < MIN_REASON:
        return _fault(entry, "incomplete", f"the reason {value!r} tells nothing", fix, key)
    return None


def _end(entry: Entry, today: dt.date) -> Fault | None:
    given = entry.value.get("expires")
    fix = _corrected("expires", today)
    if given is None:
        return _fault(entry, "incomplete", "never expires", fix)
    date = as_date(given)
    if date is None:
        return _fault(entry, "malformed", f"expires {given} is no date", fix, "expires")
    if date < today:
        said = f"expired on {date}; today is {today} in UTC"
        return _fault(entry, "expired", said, f"mend the fault, or renew it: {fix}", "expires")
    return None


def _profile(entry: Entry) -> Fault | None:
    given = entry.value.get(PROFILE, PROFILES[0])
    if given in PROFILES:
        return None
    near = nearest(str(given).lower(), PROFILES) or PROFILES[-1]
    fix = f'write {PROFILE} = "{near}"'
    return _fault(
        entry, "malformed", f"{PROFILE} {given!r} is none of {', '.join(PROFILES)}", fix, PROFILE
    )


def _baseline(entry: Entry) -> Fault | None:
    given = entry.value.get(BASELINE, False)
    if isinstance(given, bool):
        return None
    fix = f"write {BASELINE} = true, or leave it out"
    return _fault(entry, "malformed", f"{BASELINE} is {given!r}, and no true", fix, BASELINE)


def as_date(value: Any) -> dt.date | None:
    """A date of TOML, or its text; a moment is none."""
    if isinstance(value, str):
        try:
            return dt.date.fromisoformat(value) if _DATE.fullmatch(value) else None
        except ValueError:
            return None
    is_date = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    return value if is_date else None


def _corrected(key: str, today: dt.date) -> str:
    value = KEYS[key] or str(today + dt.timedelta(days=RENEWED_DAYS))
    return f"write {key} = {value}"


def _fault(entry: Entry, kind: str, said: str, fix: str, *below: str) -> Fault:
    return Fault(entry.id, kind, f"{entry.place(*below)}: {entry.id}: {said}", fix)
