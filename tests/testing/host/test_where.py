"""The line of a step is the author's: that of a class of theirs if the step is inherited."""

import inspect
from types import SimpleNamespace

from memproto.testing.driver import HostDriver
from memproto.testing.host.run import HostRun


class Inherits(HostDriver):
    def register(self, provider):
        raise TypeError


class Deeper(Inherits):
    """It has no step of its own."""


def where(kind, operation):
    run = object.__new__(HostRun)
    run.loaded = SimpleNamespace(is_driver=True, fence={})
    run._hosts = [SimpleNamespace(driver=kind())]
    return run.where(operation)


def line_of(source):
    return inspect.getsourcelines(source)[1]


def test_a_step_of_the_author_is_its_own_line():
    line = line_of(Inherits.register)
    assert where(Inherits, "name").endswith(f"test_where.py:{line} in Inherits.register")
    assert where(Deeper, "name").endswith(f"test_where.py:{line} in Deeper.register")


def test_a_step_of_the_kits_class_is_the_line_of_the_authors_class():
    said = where(Deeper, "record")
    assert said.endswith(f"test_where.py:{line_of(Deeper)} in Deeper.record")
    assert "driver.py" not in said


def test_a_class_of_the_kit_is_its_own_line():
    assert "driver.py" in where(HostDriver, "record")
