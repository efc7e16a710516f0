"""The console script, and `python -m memproto`; `serve` and `hook` start without the others."""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["serve"]:
        from memproto.serving import command

        return command.main(words[1:])
    if words[:1] == ["hook"]:
        from memproto.serving import hook

        return hook.main(words[1:])
    from memproto import cli

    return cli.main(words)


if __name__ == "__main__":
    sys.exit(main())
