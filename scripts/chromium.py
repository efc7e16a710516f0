"""
Installs Debian's Chromium where no browser is found: `python scripts/chromium.py`, as root.

In CI a browser is needed. For a contributor who has none and cannot install one here, the tests in
a browser are left out: they say so themselves.
"""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")

FIX = "install Chromium, as in: sudo apt-get install -y chromium"


def main() -> int:
    """Nothing to do where one is found; in CI 1 where none can be installed, with what to do."""
    if any(map(shutil.which, NAMES)):
        return 0
    apt_get = shutil.which("apt-get")
    if not apt_get or os.geteuid() != 0:
        sys.stderr.write(f"no Chromium is found, and this cannot install one; {FIX}\n")
        return 1 if os.environ.get("MEMPROTO_CI") else 0
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in ("update -qq", "install -y -qq --no-install-recommends chromium"):
        command = [apt_get, *words.split()]
        done = subprocess.run(command, env=quietly, check=False)
        if done.returncode:
            sys.stderr.write(f"apt-get {words} ended with {done.returncode}; {FIX}\n")
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
