"""What was asked for at the command line and in the environment, refused where it means nothing."""

import os
import random
from pathlib import Path
from typing import Any

from memproto import pytest_plugin
from memproto.errors import InvalidSettings, KitUsageError


def narrowed(option: Any) -> bool:
    """Whether an option may have left requirements out."""
    names = ("memproto_clause", "keyword", "markexpr", "maxfail", "lf", "deselect", "stepwise")
    return any(getattr(option, name, None) for name in names)


def check_options(option: Any) -> None:
    """
    Refuse values that mean nothing, with the ones that do.

    Raises:
        KitUsageError: A value that the kit does not know, or a report that cannot be written.

    """
    if option.memproto_profile not in pytest_plugin.PROFILES:
        raise KitUsageError(
            f"--memproto-profile={option.memproto_profile}",
            "is no profile",
            f"use one of {', '.join(pytest_plugin.PROFILES)}",
        )
    if not option.memproto_seed.isdecimal():
        raise KitUsageError(
            f"--memproto-seed={option.memproto_seed}",
            "is no whole number from 0 on",
            f"give a number such as {random.randrange(1000)}",
        )
    if option.memproto_spec != "1.0":
        raise KitUsageError(
            f"--memproto-spec={option.memproto_spec}",
            "is no release of the specification that this kit knows",
            "use 1.0",
        )
    _check_report(option.memproto_report)


def _check_report(name: str | None) -> None:
    """Find out before the run, not after it, that the report cannot be written."""
    if name is None:
        return
    try:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).open("ab").close()
    except OSError as error:
        what, fault = f"--memproto-report={name}", f"cannot be written ({error.strerror})"
        raise InvalidSettings(what, fault, "name a file in a directory of your own") from None


def time_scale() -> float:
    """
    The factor on all budgets, from MEMPROTO_TIME_SCALE.

    Raises:
        InvalidSettings: It is no number above 0.

    """
    text = os.environ.get("MEMPROTO_TIME_SCALE", "1")
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise InvalidSettings(
            f"MEMPROTO_TIME_SCALE={text}", "is no number above 0", "set a factor such as 2"
        )
    return value
