"""Nothing is left out of CI by accident."""

import configparser
import re

from tests.kit_runs import ROOT

#: Not run by CI: environments of their own, which CONTRIBUTING.md names.
BY_HAND = {"tests/wild", "tests/hostile", "tests/honcho", "tests/mentisdb", "tests/mcp"}


def listed(section, key):
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", "utf-8")
    return tox[section][key]


def commands(section):
    return listed(section, "commands")


def environments():
    """Of `tox` without arguments; each that begins with "py" is a Python of its own."""
    return [name for name in listed("tox", "env_list").split(", ") if not name.startswith("py3")]


def left_out():
    """The paths that the tests of each Python leave out; a single test as its file."""
    return set(re.findall(r"--(?:ignore|deselect)=([\w/.]+)", commands("testenv")))


def test_what_each_python_leaves_out_runs_in_an_environment_of_ci():
    run = "".join(commands(f"testenv:{name}") for name in environments())
    assert left_out() - BY_HAND <= set(re.findall(r"tests/[\w/.]+", run))


def test_what_is_left_out_exists():
    files, tests = left_out(), re.findall(r"--deselect=(\S+)::(\w+)", commands("testenv"))
    assert [name for name in files if not (ROOT / name).exists()] == []
    assert tests
    for file, name in tests:
        assert f"def {name}(" in (ROOT / file).read_text("utf-8")


def test_what_ci_does_not_run_is_named_to_who_closes_an_issue():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for name in (
        "mutants",
        "matrix",
        "hostile",
        "reference",
        "providers",
        "servers",
        "honcho22",
        "wild",
    ):
        assert f"`tox run -e {name}`" in text
