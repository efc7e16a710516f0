"""Replay scripts: written for what calls alone show, made short, and kept where they show it."""

import dataclasses
import itertools
import re
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from memproto.testing import clauses, credential_forms, evidence
from memproto.testing.credential_forms import Hiding
from memproto.testing.judging import redaction, replay_script, replay_story
from memproto.testing.judging.replay_story import Call, Sight, Story
from memproto.testing.outcomes import NO_SCRIPT, Outcome, Result
from memproto.testing.processes import sandbox
from memproto.testing.processes.answer import Answer
from memproto.testing.settings.order import Contact, Order

#: Runs a script as `python -P` does, on a loopback of its own.
_CONFINED = "memproto.testing.processes.confined"

#: Seconds for which a script is made shorter.
_SHORTEN_S = 10.0

#: Seconds that one run of a script may take, beyond the budget of a hook that it waits for.
_RUN_S = 20.0

_RED = (Outcome.FAIL, Outcome.WARN)

#: Held while scripts are written: checks that run side by side may find one rule violated.
_writing = threading.Lock()


class Scripts:
    """
    Writes a script for each red result of a target that can be seen again by calls alone.

    Guarantees:
        A script that is kept was run in a process of its own, and showed the violation there.
        It holds no value of the environment that is long enough to be nobody else's, and tells of
        what was expected and observed no more than a report does.
    """

    def __init__(
        self, order: Order, contact: Contact, root: Path, readable: Callable[[str], str]
    ) -> None:
        """`readable` makes of a text about a result what anybody may read."""
        self._order, self._contact, self._root = order, contact, root
        self._readable = readable
        self._tries = 0

    def attached(self, results: list[Result], answer: Answer) -> list[Result]:
        """The results, the red ones of a provider with their scripts, where they are asked for."""
        if not self._order.replay or self._order.side == "host":
            return results
        with _writing:
            return [self._with_script(item, answer) for item in results]

    def _with_script(self, result: Result, answer: Answer) -> Result:
        if result.outcome not in _RED:
            return result
        path = self._written(result, answer)
        return dataclasses.replace(result, replay=NO_SCRIPT if path is None else self._shown(path))

    def _shown(self, path: Path) -> str:
        directory = self._order.directory.resolve()
        # A directory that was typed as an absolute one is the user's own word.
        if Path(self._order.replay).is_absolute() or not path.is_relative_to(directory):
            return str(Path(self._order.replay) / path.parent.name / path.name)
        return str(path.relative_to(directory))

    def _written(self, result: Result, answer: Answer) -> Path | None:
        path = replay_script.folder(self._order) / f"{result.id}.py"
        path.unlink(missing_ok=True)
        heard = replay_story.told(answer.told)
        seen = self._sight(heard, result, answer)
        if seen is None:
            return None
        path.parent.mkdir(parents=True, exist_ok=True)
        calls = _Shortening(self, heard, result, seen, path).shortest()
        if calls is None:
            path.unlink(missing_ok=True)
            return None
        self.write(path, result, heard, calls, seen)
        return path

    def _sight(self, heard: Story, result: Result, answer: Answer) -> Sight | None:
        settings, binding = self._order.settings, self._contact.binding
        has_more = settings.service or settings.backend or settings.settle
        if has_more or binding is None:
            return None
        isolates = self._contact.capabilities.get("isolates") or ()
        seen = replay_story.sight(heard, result, answer, binding, isolates)
        is_recalled = seen is not None and seen.kind not in ("raises", "late")
        return None if is_recalled and _is_beside(result) else seen

    def write(
        self, path: Path, result: Result, heard: Story, calls: list[Call], seen: Sight
    ) -> None:
        """
        Write the script that makes `calls`.

        Raises:
            ValueError: One cannot be written down, or would tell a value of the environment.

        """
        if result.evidence is not None:
            readable = evidence.mapped(result.evidence, self._readable)
            result = dataclasses.replace(result, evidence=readable)
        text = replay_script.script(
            result, self._order, heard, calls, seen, secrets=self._secrets()
        )
        if self._tells_credentials(text):
            raise ValueError("a value of the environment, or a credential")
        path.write_text(text, encoding="utf-8")

    def _secrets(self) -> dict[str, str]:
        """Credentials of the config, and the variable from which a script reads each."""
        settings = self._order.settings
        also = {*settings.from_env, *self._contact.secrets}
        found: dict[str, str] = {}
        for value, name in credential_forms.of_config(settings.config, also).items():
            if credential_forms.is_hideable(value):
                wanted = f"CONFIG_{re.sub(r'[^A-Z0-9]+', '_', name.upper()).strip('_')}"
                taken = {*found.values(), *settings.env}
                names = itertools.chain(
                    [wanted], (f"{wanted}_{number}" for number in itertools.count(2))
                )
                found[value] = next(one for one in names if one not in taken)
        return found

    def _tells_credentials(self, text: str) -> bool:
        """True if a script holds a value of the environment, or a credential of the config."""
        settings = self._order.settings
        given = {value: name for name, value in settings.env.items()}
        return Hiding(given | redaction.secrets(settings, self._contact)).finds(text)

    def shows(self, path: Path, seen: Sight) -> bool:
        """True if a script shows the violation, in a process of its own."""
        self._tries += 1
        places = self._root / f"replay-{self._tries}"
        secrets = {name: value for value, name in self._secrets().items()}
        environment = sandbox.environment(places, {**self._order.settings.env, **secrets})
        wait_s = float(seen.value) if seen.kind == "late" else 0.0
        try:
            done = subprocess.run(
                [sandbox.interpreter(), "-P", "-m", _CONFINED, str(path)],
                cwd=self._order.directory,
                env={**environment, "PYTHONIOENCODING": "utf-8"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_RUN_S + wait_s,
                start_new_session=True,
                check=False,
            )
        except (subprocess.TimeoutExpired, OSError):
            return False
        return done.returncode == 1 and b"it is seen again" in done.stdout


def _is_beside(result: Result) -> bool:
    """True if a check does more between two calls than to wait, so that calls alone prove less."""
    known = clauses.checks("provider")
    met_by = (known.get(name) for name in (result.id, result.seen_in))
    return any(check is not None and not check.calls_alone for check in met_by)


class _Shortening:
    """Leaves out of a story what its violation does not need."""

    def __init__(
        self, scripts: Scripts, heard: Story, result: Result, seen: Sight, path: Path
    ) -> None:
        self._scripts, self._heard, self._result = scripts, heard, result
        self._seen, self._path = seen, path
        self._until = monotonic() + _SHORTEN_S

    def shortest(self) -> list[Call] | None:
        """The shortest calls that show it; None where none do."""
        calls = replay_story.begins_with(self._heard, self._seen)
        for candidate in replay_story.slices(calls, self._seen):
            if self._holds(candidate):
                return self._shorter(candidate)
        return None

    def _shorter(self, calls: list[Call]) -> list[Call]:
        # If each try waits for a hook that hangs, the first that shows it is short enough.
        if self._seen.kind == "late":
            return calls
        for part in replay_story.parts(calls, self._seen):
            numbers = {call.number for call in part}
            rest = [call for call in calls if call.number not in numbers]
            if len(rest) < len(calls) and monotonic() < self._until and self._holds(rest):
                calls = rest
        return calls

    def _holds(self, calls: list[Call]) -> bool:
        try:
            self._scripts.write(self._path, self._result, self._heard, calls, self._seen)
        except ValueError:
            return False
        return self._scripts.shows(self._path, self._seen)
