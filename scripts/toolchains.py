"""
Installs Debian's Node, npm and Cargo where one is missing: `python scripts/toolchains.py`, as root.

In CI they are needed. For a contributor who lacks one and cannot install it here, the tests of
other languages are left out: they say so themselves.
"""

import os
import shutil
import subprocess
import sys

#: Program to the package of Debian that brings it.
PACKAGES = {"node": "nodejs", "npm": "npm", "cargo": "cargo"}


def missing() -> list[str]:
    """The programs that are not on PATH."""
    return [program for program in PACKAGES if not shutil.which(program)]


def main() -> int:
    """Nothing to do if all are found; in CI 1 if one cannot be installed, with what to do."""
    lacking = missing()
    if not lacking:
        return 0
    packages = " ".join(PACKAGES[program] for program in lacking)
    fix = f"install {', '.join(lacking)}, as in: sudo apt-get install -y {packages}"
    apt_get = shutil.which("apt-get")
    if not apt_get or os.geteuid() != 0:
        sys.stderr.write(f"{', '.join(lacking)} not found, and this cannot install it; {fix}\n")
        return 1 if os.environ.get("MEMPROTO_CI") else 0
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in ("update -qq", f"install -y -qq --no-install-recommends {packages}"):
        command = [apt_get, *words.split()]
        done = subprocess.run(command, env=quietly, check=False)
        if done.returncode:
            sys.stderr.write(f"apt-get {words} ended with {done.returncode}; {fix}\n")
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
