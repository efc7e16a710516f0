"""The command `memproto serve TARGET`: load a provider, and serve it on the standard streams."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memproto import loading
from memproto.errors import KitUsageError
from memproto.loading import Loaded
from memproto.serving import streams
from memproto.serving.usage import Parser, refused

ABOUT = (
    "Serve a provider to a host in any language, over the standard input and output of this "
    "process, by the protocol of 85-wire.md; or with --mcp its tools, and only those, to an MCP "
    "client. The standard error gets all that the provider prints."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of the command."""
    parser.description = ABOUT
    parser.add_argument("target", metavar="TARGET", help="as for `pytest --memproto=TARGET`")
    parser.add_argument("--factory", default="", metavar="MODULE:FUNCTION", help="builds it")
    parser.add_argument(
        "--fence",
        action="store_true",
        help="recall brings the block of the fence, for a host without one",
    )
    parser.add_argument("--mcp", action="store_true", help="offer its tools to an MCP client")
    parser.add_argument("--home", metavar="DIR", help="with --mcp: the provider's home")
    parser.add_argument("--session", default="mcp", metavar="KEY", help="with --mcp: the session")


def main(words: Sequence[str]) -> int:
    """Serve until the standard input ends; gives the exit code, 4 for bad usage."""
    parser = Parser(prog="memproto serve")
    add_arguments(parser)
    return run(parser.parse_args(words))


def run(options: argparse.Namespace) -> int:
    """As `main`, with parsed arguments. Takes the standard streams of the process over."""
    if options.mcp and not options.home:
        return refused("serve", "--mcp needs --home DIR, the directory that is the provider's own")
    if not options.mcp and options.home:
        return refused("serve", "--home is for --mcp; a host of the wire names the home in `open`")
    if options.mcp and options.fence:
        return refused("serve", "--fence is about recall, and --mcp offers the tools alone")
    given, taken = streams.take()
    try:
        loaded, provider = _built(options)
    except KitUsageError as error:
        return refused("serve", str(error).replace("--memproto=", ""))
    except (Exception, SystemExit) as error:
        return refused("serve", f"{options.target}: raised {type(error).__name__}: {error}")
    if options.mcp:
        from memproto.serving.mcp import Server as ToolServer

        home = Path(options.home).absolute()
        ToolServer(provider, loaded.binding, home, options.session).run(given, taken)
    else:
        from memproto.serving.server import Server

        if options.fence:
            # The kit starts a server hundreds of times, and the fence is a tenth of each start.
            from memproto.serving.fenced import Fenced

            provider = Fenced(provider)
        Server(provider, loaded.binding, given, taken).run()
    return 0


def _built(options: argparse.Namespace) -> tuple[Loaded, Any]:
    here = Path.cwd()
    sys.path[:0] = [str(here), str(here / "src")]
    if options.home:
        os.environ["HERMES_HOME"] = str(Path(options.home).absolute())
    loading.import_ahead(options.target)
    loaded = loading.load(options.target, options.factory)
    return loaded, loaded.build()
