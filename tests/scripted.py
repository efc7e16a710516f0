"""Children that answer as a test says, for the tests of the judge."""

from typing import ClassVar

import pytest

from memproto.bindings import NATIVE
from memproto.testing.judging import children, watchdog
from memproto.testing.judging.judge import Judge
from memproto.testing.messages import Judged, Loaded
from memproto.testing.processes.answer import Answer
from memproto.testing.processes.commands import Check, Load
from memproto.testing.settings.order import Contact, Order

LOADED = Loaded(NATIVE.as_dict(), "here", forks=False, unconfined="")


class Scripted:
    """A child that answers as a test says: commands to answers, by the id of the check."""

    started: ClassVar[list["Scripted"]] = []
    answers: ClassVar[dict[str, list[Answer | Exception | None]]] = {}

    def __init__(self, root, environment, *, side, scale, **told):
        self.alive = True
        self.frozen_s = told["frozen_s"]
        self.root = root
        self.checks = []
        type(self).started.append(self)

    def meets(self, key):
        """Called with each check before it is answered."""

    def interrupt(self):
        """End it, from another thread."""
        self.alive = False

    def ask(self, command, budget_s):
        if isinstance(command, Load):
            return self._said("load", LOADED)
        if isinstance(command, Check):
            self.checks.append(command)
        key = command.id if isinstance(command, Check) else command.DO
        self.meets(key)
        return self._said(key, Judged(({"id": key, "outcome": "pass"},)))

    def _said(self, key, default):
        script = type(self).answers.get(key)
        answer = script.pop(0) if script else None
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            answer = Answer("answered", default)
        self.alive = answer.fate == "answered"
        return answer

    def kill(self):
        self.alive = False


@pytest.fixture
def scripted(monkeypatch):
    """A function that takes the script of every child to come."""

    class Mine(Scripted):
        started: ClassVar[list[Scripted]] = []

    monkeypatch.setattr(children, "ChildProcess", Mine)
    monkeypatch.setattr(watchdog, "LINGER_S", 0.0)

    def take(**answers):
        Mine.answers = {key.replace("_", "-"): list(value) for key, value in answers.items()}
        return Mine.started

    take.kind = Mine
    return take


def judging(tmp_path, **contact):
    return Judge(Order("mine", directory=tmp_path), tmp_path, Contact(**contact))


def outcomes(results):
    return [(result.id, result.outcome) for result in results]
