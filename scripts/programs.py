"""
Installs programs that tests need, from Debian: `python scripts/programs.py PROGRAM ...`, as root.

In CI they are needed. For a contributor who lacks one and cannot install it here, the tests that
need it are left out: they say so themselves.
"""

import os
import shutil
import subprocess
import sys

#: Program to the names that it may have on PATH, and the package of Debian that brings it.
KNOWN = {
    "chromium": (("chromium", "chromium-browser", "google-chrome"), "chromium"),
    "node": (("node",), "nodejs"),
    "npm": (("npm",), "npm"),
    "cargo": (("cargo",), "cargo"),
}


def main(wanted: list[str]) -> int:
    """Nothing to do if all are found; in CI 1 if one cannot be installed, with what to do."""
    missing = [one for one in wanted if not any(map(shutil.which, KNOWN[one][0]))]
    if not missing:
        return 0
    named, packages = ", ".join(missing), " ".join(KNOWN[one][1] for one in missing)
    fix = f"install {named}, as in: sudo apt-get install -y {packages}"
    apt_get = shutil.which("apt-get")
    if not apt_get or os.geteuid() != 0:
        sys.stderr.write(f"{named} is not found, and this cannot install it; {fix}\n")
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
    raise SystemExit(main(sys.argv[1:]))
