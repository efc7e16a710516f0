"""Ends of a check, and their joint meaning for a run: outcomes, verdicts, exit codes."""

import dataclasses
import enum
from collections import Counter
from collections.abc import Iterable
from typing import Any

from memproto import spec
from memproto.testing import evidence as kinds
from memproto.testing import needs, wording
from memproto.testing.evidence import Evidence
from memproto.testing.needs import Need


class Outcome(enum.StrEnum):
    """Outcome of one requirement in one run."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    WARN = "warn"
    NOT_APPLICABLE = "not_applicable"
    UNTESTABLE = "untestable"
    INCONCLUSIVE = "inconclusive"
    NOT_RUN = "not_run"
    NOT_SCORED = "not_scored"
    WAIVED = "waived"
    KIT_ERROR = "kit_error"


class Verdict(enum.StrEnum):
    """The joint meaning of the outcomes of one target."""

    CONFORMANT = "CONFORMANT"
    NON_CONFORMANT = "NON-CONFORMANT"
    INCOMPLETE = "INCOMPLETE"


class ExitCode(enum.IntEnum):
    """The exit codes of a run of the kit."""

    CONFORMANT = 0
    NON_CONFORMANT = 1
    KIT_ERROR = 3
    USAGE = 4
    INCOMPLETE = 6


#: In place of the path of a replay script.
NO_SCRIPT = "-"

#: Outcomes that leave the question open; whether they leave the verdict open says `keeps_open`.
OPEN = frozenset({Outcome.UNTESTABLE, Outcome.INCONCLUSIVE, Outcome.NOT_RUN, Outcome.WAIVED})

#: When one requirement is reported twice, the outcome further left stands.
_SEVERITY = (
    Outcome.KIT_ERROR,
    Outcome.FAIL,
    Outcome.WARN,
    Outcome.INCONCLUSIVE,
    Outcome.UNTESTABLE,
    Outcome.PASS,
    Outcome.NOT_APPLICABLE,
    Outcome.WAIVED,
    Outcome.NOT_SCORED,
    Outcome.NOT_RUN,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """
    The outcome of one requirement, with what a reader needs to act on it.

    Attributes:
        id: The requirement.
        outcome: See `Outcome`.
        evidence: The thing seen, and the thing asked for; None if nothing was found.
        where: File and line of the hook, and the hook's name in the author's binding.
        reason: Why the requirement was not decided, for the open outcomes.
        needs: The things that would let it be decided, for the open outcomes.
        rests_on: The rules by which a text that is missed should have come back, for a violation.
        follows: The violated rule of which a violation is a consequence; "" for none.
        log: The last lines that the provider logged before it was seen, of any level.
        swallowed: An exception that the provider caught and went on: as it is shown, the line that
            raised it, and the line that logged it, or caught it; () for none.
        silenced: True if no line of the log tells of it.
        seen_in: The requirement whose check met this, where it is another one.
        after: The requirements whose checks have to run before that one for it to be met again.
        duration_s: Seconds that the check took.
        stack: The provider's frames when a hook was late.
        replay: The script that shows it again; NO_SCRIPT where calls alone do not; "" if not asked.
        hooks: For each operation [calls, longest in seconds, all together in seconds].
        times: For each operation how many calls took how long, as in `spread`.

    """

    id: str
    outcome: Outcome
    evidence: Evidence | None = None
    where: str = ""
    reason: str = ""
    needs: tuple[Need, ...] = ()
    rests_on: tuple[str, ...] = ()
    follows: str = ""
    log: tuple[str, ...] = ()
    swallowed: tuple[str, ...] = ()
    silenced: bool = False
    seen_in: str = ""
    after: tuple[str, ...] = ()
    duration_s: float = 0.0
    stack: str = ""
    replay: str = ""
    hooks: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    times: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)

    @property
    def expected(self) -> str:
        """The thing that the check asked for, in the author's terms."""
        return wording.expected(self.evidence)

    @property
    def observed(self) -> str:
        """The thing that was there instead."""
        return wording.observed(self.evidence)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values, for the wire between processes."""
        seen = None if self.evidence is None else kinds.as_dict(self.evidence)
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        wanted = [need.as_dict() for need in self.needs]
        return {**plain, "outcome": str(self.outcome), "evidence": seen, "needs": wanted}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Result":
        """The value that `as_dict` gave."""
        seen = data.get("evidence")
        plain = {
            **data,
            "outcome": Outcome(data["outcome"]),
            **{
                name: tuple(data.get(name, ()))
                for name in ("after", "rests_on", "log", "swallowed")
            },
            "evidence": None if seen is None else kinds.from_dict(seen),
            "needs": tuple(map(needs.from_dict, data.get("needs", ()))),
        }
        return cls(**plain)


def worse(first: Result, second: Result) -> Result:
    """Of two results for one requirement, the one that counts; of two alike, its own check's."""
    return min(first, second, key=lambda item: (_SEVERITY.index(item.outcome), bool(item.seen_in)))


def scored(result: Result, release: str) -> Result:
    """The result as the release scores it: what came later is not scored, whatever became of it."""
    requirement = spec.requirements().get(result.id)
    if requirement is None or requirement.is_in(release):
        return result
    reason = f"came after release {release}, which the run scores by"
    return Result(result.id, Outcome.NOT_SCORED, reason=reason)


def merge(results: Iterable[Result], ids: Iterable[str]) -> dict[str, Result]:
    """
    One result for each id, in their order; an id without any is `not_run`.

    The denominator is closed: what did not run counts against the target.
    """
    found: dict[str, Result] = {}
    for result in results:
        known = found.get(result.id)
        found[result.id] = worse(known, result) if known else result
    missing = "the run ended before it"
    return {item: found.get(item) or Result(item, Outcome.NOT_RUN, reason=missing) for item in ids}


def counts(results: Iterable[Result]) -> dict[str, int]:
    """Number of requirements that ended in each outcome; every outcome has a key."""
    found = Counter(str(result.outcome) for result in results)
    return {str(outcome): found[outcome] for outcome in Outcome}


def keeps_open(result: Result, *, strict: bool = False) -> bool:
    """
    True if the result leaves the verdict open.

    An open result counts if the worst answer would change the verdict. A SHOULD that does not hold
    changes that of a strict run only, and one that is defensive changes none. A check not run
    always counts, since the denominator is closed, and so does what failed and is waived.
    """
    if result.outcome not in OPEN:
        return False
    requirement = spec.requirements().get(result.id)
    if requirement is None or result.outcome in (Outcome.NOT_RUN, Outcome.WAIVED):
        return True
    return requirement.is_demanded or (strict and not requirement.defensive)


def verdict(results: Iterable[Result], *, strict: bool = False) -> Verdict | None:
    """
    The verdict over all results of a target; None when the kit itself failed.

    An empty run, or one in which nothing passed, proves nothing and is INCOMPLETE.
    """
    found = list(results)
    seen = {result.outcome for result in found}
    if Outcome.KIT_ERROR in seen:
        return None
    if Outcome.FAIL in seen or (strict and Outcome.WARN in seen):
        return Verdict.NON_CONFORMANT
    is_open = any(keeps_open(result, strict=strict) for result in found)
    return Verdict.INCOMPLETE if is_open or Outcome.PASS not in seen else Verdict.CONFORMANT


def exit_code(
    verdicts: Iterable[Verdict | None], *, selected: bool = False, allow_incomplete: bool = False
) -> ExitCode:
    """
    The exit code of a run over several targets: the first of 3, 1, 6, 0 that applies.

    A run that was narrowed on purpose exits 0 when what ran passed.
    """
    seen = list(verdicts)
    if None in seen or not seen:
        return ExitCode.KIT_ERROR
    if Verdict.NON_CONFORMANT in seen:
        return ExitCode.NON_CONFORMANT
    if Verdict.INCOMPLETE in seen and not (selected or allow_incomplete):
        return ExitCode.INCOMPLETE
    return ExitCode.CONFORMANT
