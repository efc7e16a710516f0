"""Options of the command line and the environment, refused if they mean nothing."""

import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from memproto import pytest_plugin, spec
from memproto.adapters.hermes_releases import RELEASES
from memproto.errors import InvalidSettings, KitUsageError, NoSuchRequirement
from memproto.near import nearest
from memproto.pytest_plugin import files


def narrowed(option: Any) -> bool:
    """True if an option may have left requirements out."""
    names = ("memproto_clause", "keyword", "markexpr", "maxfail", "lf", "deselect", "stepwise")
    return any(getattr(option, name, None) for name in names)


def check_options(option: Any) -> None:
    """
    Refuse values that mean nothing, with the ones that do.

    Raises:
        KitUsageError: A value that the kit does not know, or a report that cannot be written.

    """
    if option.memproto_profile not in pytest_plugin.PROFILES:
        near = nearest(option.memproto_profile, pytest_plugin.PROFILES)
        known = f"use one of {', '.join(pytest_plugin.PROFILES)}"
        raise KitUsageError(
            f"--memproto-profile={option.memproto_profile}",
            "is no profile",
            f"did you mean {near!r}? --memproto-profile={near}" if near else known,
        )
    _check_class(option)
    if not option.memproto_seed.isdecimal():
        raise KitUsageError(
            f"--memproto-seed={option.memproto_seed}",
            "is no whole number from 0 on",
            f"give a number such as {random.randrange(1000)}",
        )
    if option.memproto_spec not in spec.releases():
        raise KitUsageError(
            f"--memproto-spec={option.memproto_spec}",
            "is no release of the specification that this kit knows",
            f"use {' or '.join(spec.releases())}",
        )
    _check_hermes(option.memproto_hermes)
    _check_workers(option)
    files.check(option)
    _check_directory(option.memproto_replay)


def selected(option: Any, side: spec.Side) -> list[spec.Requirement]:
    """
    The requirements of `side` that the run was narrowed to; all if it was not.

    Raises:
        NoSuchRequirement: A value matches none; the message gives the option to type.

    """
    try:
        return spec.select(option.memproto_clause, side)
    except NoSuchRequirement as error:
        typed = error.what.strip("'")
        near = spec.near(typed)
        fix = f"did you mean {near!r}? --memproto-clause={near}" if near else error.fix
        what = f"--memproto-clause={typed}"
        raise NoSuchRequirement(what, error.fault, fix) from None


def _check_class(option: Any) -> None:
    what, name = f"--memproto-class={option.memproto_class}", option.memproto_class
    if name not in spec.CLASSES:
        near = nearest(name, spec.CLASSES)
        known = f"use one of {', '.join(spec.CLASSES)}"
        fix = f"did you mean {near!r}? --memproto-class={near}" if near else known
        raise KitUsageError(what, "is no conformance class", fix)
    if name != spec.CLASSES[-1] and not option.memproto:
        fix = "leave it out: hosts have no classes"
        raise KitUsageError(what, "is of providers alone, and none is judged", fix)


def _check_hermes(name: str | None) -> None:
    if name is not None and name not in RELEASES:
        raise KitUsageError(
            f"--memproto-hermes={name}",
            "is no release of Hermes Agent whose calls this kit makes",
            f"use one of {', '.join(RELEASES)}",
        )


def _check_workers(option: Any) -> None:
    """Refuse what pytest-xdist fails at: it hands its workers paths as UTF-8."""
    if not getattr(option, "dist", "no") or getattr(option, "dist", "no") == "no":
        return
    for path in (str(Path.cwd()), tempfile.gettempdir(), *sys.path, *map(str, option.memproto)):
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            raise KitUsageError(
                f"-n {getattr(option, 'numprocesses', '')}",
                f"takes paths that are UTF-8 in this locale only, and {path!r} is not",
                "leave -n out, or set PYTHONUTF8=1",
            ) from None


def _check_directory(name: str | None) -> None:
    """Find out before the run that scripts can be written."""
    if name is None:
        return
    try:
        with files.made(Path(name)):
            fault = "" if os.access(name, os.W_OK) else "cannot be written to"
    except OSError as error:
        fault = f"cannot be made ({error.strerror})"
    if fault:
        what, fix = f"--memproto-replay={name}", "name a directory of your own"
        raise InvalidSettings(what, fault, fix)
