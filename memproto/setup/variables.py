"""Names of variables: which are names at all, and which decide what an interpreter runs."""

import re

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

#: Variables that decide what code an interpreter, a loader or a shell runs.
_INTERPRETERS = re.compile(
    r"PYTHON.*|LD_.*|DYLD_.*|PATH|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|VIRTUAL_ENV|CONDA_.*"
    r"|BASH_ENV|ENV|IFS|SHELL|SHELLOPTS|PERL5.*|PERLLIB|RUBYOPT|RUBYLIB|NODE_OPTIONS|NODE_PATH"
    r"|_?JAVA_.*|JDK_.*|CLASSPATH|GIT_.*|EDITOR|PAGER|LESSOPEN",
    re.IGNORECASE,
)


def is_name(text: str) -> bool:
    """True if a text can be the name of a variable in every shell and in a file of them."""
    return _NAME.fullmatch(text) is not None


def is_interpreters(name: str) -> bool:
    """True if a variable is one by which whoever sets it has other code run."""
    return _INTERPRETERS.fullmatch(name) is not None


def unfit(name: str) -> str:
    """Why a provider cannot keep an answer in that variable, in words; "" where it can."""
    if not is_name(name):
        return f"{name!r} is no name of a variable"
    if is_interpreters(name):
        return f"the variable {name} decides what code a program runs, and holds no answer"
    return ""
