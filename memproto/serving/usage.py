"""Bad usage of the commands that start without the others, `memproto serve` and `memproto hook`."""

import argparse
import sys
from typing import NoReturn

#: Exit code if what was asked for cannot be done as it stands. Claude Code shows the standard error
#: of a hook and goes on; only 2 would stop the user's prompt.
USAGE = 4


class Parser(argparse.ArgumentParser):
    """Ends with the project's exit code for bad usage."""

    def error(self, message: str) -> NoReturn:
        """Show the usage and the message on the standard error, and end the process."""
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def refused(command: str, text: str) -> int:
    """Say on the standard error why a command does nothing; gives the exit code."""
    sys.stderr.write(f"memproto {command}: {text}\n")
    return USAGE
