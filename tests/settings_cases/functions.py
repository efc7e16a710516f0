"""Functions that settings may name, and what is wrong with each."""

import os
import time

NOT_CALLABLE = 3


def good():
    """As `warm` and `settle` may be."""


def counts(provider, text):
    return 0


def removes(configs):
    """As `cleanup` is to be."""


def raises(*arguments):
    raise OSError("no licence")


def raises_at_exit(*arguments):
    raise SystemExit(3)


def ends_the_process(*arguments):
    os._exit(3)


def says_some(provider, text):
    return "some"


def takes_two(one, two):
    """Nothing is called so but `read_back`."""


def blocks(*arguments):
    time.sleep(3600)
