"""
The pytest plugin. Until `--memproto` is seen it imports the standard library and pytest, no more.

It is loaded into every pytest run of everyone who has the package installed. A run of the kit is
not that run: it is started from here as a process of its own, with the kit's settings alone.
"""

import os
from collections.abc import Generator

import pytest

#: Set in the environment of the clean inner run.
INNER = "MEMPROTO_INNER_RUN"

#: Set there in a job of GitHub Actions: the descriptor that takes commands for the runner.
COMMANDS = "MEMPROTO_COMMANDS"

PROFILES = ("quick", "ci", "deep")

#: As in the catalogue, which a run without the kit does not read.
CLASSES = ("core", "durable", "shared")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the kit's options."""
    group = parser.getgroup("memproto", "conformance of agent-memory providers and hosts")
    add = group.addoption
    add(
        "--memproto",
        action="append",
        default=[],
        metavar="TARGET",
        help="judge this provider: a directory or checkout, hermes:NAME, module:attribute, an "
        "entry-point name, or a module; repeatable",
    )
    add(
        "--memproto-host",
        action="append",
        default=[],
        metavar="TARGET",
        help="judge this host: module:attribute of a registry or a driver, or hermes; repeatable",
    )
    add(
        "--memproto-clause",
        action="append",
        default=[],
        metavar="ID",
        help="run only this requirement, an area (MP-RECALL), or the beginning of a number "
        "(MP-TOOL-01); repeatable",
    )
    add(
        "--memproto-profile",
        default="quick",
        metavar="PROFILE",
        help=f"how many examples are drawn: {', '.join(PROFILES)} (default: quick)",
    )
    add("--memproto-seed", default="0", metavar="N", help="seed of everything drawn (default: 0)")
    add(
        "--memproto-spec",
        default="1.0",
        metavar="RELEASE",
        help="the release of the specification to score by (default: 1.0)",
    )
    add(
        "--memproto-class",
        default=CLASSES[-1],
        metavar="CLASS",
        help="the class of providers that the exit code asks for: "
        f"{', '.join(CLASSES)} (default: {CLASSES[-1]}); violations of all are shown",
    )
    add(
        "--memproto-hermes",
        metavar="RELEASE",
        help="the release of Hermes Agent whose calls are made: 0.13, 0.19 or 0.21 (default: the "
        "installed one; where hermes-agent is not installed, the newest, with stand-ins)",
    )
    add(
        "--memproto-catalog",
        metavar="FILE.yaml",
        help="judge the plugin of this entry of a catalog, and check the entry; --memproto=DIR is "
        "the checkout of its repository (default: the working directory)",
    )
    add("--memproto-report", metavar="FILE.json", help="write the report as JSON to this file")
    add("--memproto-html", metavar="FILE", help="write the report as one HTML page to this file")
    add(
        "--memproto-sarif",
        metavar="FILE.sarif",
        help="write what failed as SARIF 2.1.0 to this file, for code hosts and editors",
    )
    add(
        "--memproto-replay",
        metavar="DIR",
        help="write a script for each failure that calls alone show, which needs no pytest",
    )
    add("--memproto-strict", action="store_true", help="a SHOULD that does not hold is red as well")
    add(
        "--memproto-settings",
        metavar="FILE.toml",
        help="read the settings from this file, and from none of the working directory or above",
    )
    add(
        "--memproto-trust-package",
        action="store_true",
        help="take all settings of a provider package's own memproto.toml: its service, variables "
        "of yours, waivers, caches, bounds and functions of other packages",
    )
    add("--memproto-allow-incomplete", action="store_true", help="exit 0 for INCOMPLETE")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """Hand over to the clean inner run, before any of the project's own code is imported."""
    options = early_config.known_args_namespace
    names = ("memproto", "memproto_host", "memproto_catalog")
    asked = any(getattr(options, name, None) for name in names)
    if asked and INNER not in os.environ:
        from memproto.pytest_plugin import outer

        raise SystemExit(outer.run(early_config))
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Take over collection and reporting, inside the inner run only."""
    if INNER in os.environ and (config.option.memproto or config.option.memproto_host):
        from memproto.pytest_plugin import inner

        inner.configure(config)
