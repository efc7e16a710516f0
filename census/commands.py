"""
The commands of the census, and their exit codes.

0; 1 for a target without a verdict; 4 for a word that names nothing; 143 after SIGTERM.
"""

import argparse
import contextlib
import functools
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from census import crew, entries, judging, letters, outcomes, readings, shards, stability, table
from census import kit as kits
from census.entries import Unusable
from census.judging import Limits, Record
from census.kept import Kept
from census.kit import Kit
from memproto.report import stability as report_stability

_GOOD, _WITHOUT, _USAGE = 0, 1, 4
#: As a shell tells that SIGTERM ended a command.
_SIGTERM = 128 + signal.SIGTERM


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit code."""
    options = _parser().parse_args(words)
    try:
        return int(options.run(options))
    except Unusable as error:
        sys.stderr.write(f"census: {error}\n")
        return _USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m census", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    judge = commands.add_parser("judge", help="judge these targets, whatever is kept of them")
    judge.add_argument("names", nargs="+", metavar="NAME")
    judge.add_argument(
        "--clause", action="append", default=[], help="only this requirement or area; not collected"
    )
    judge.set_defaults(run=_judge)
    every = commands.add_parser("all", help="judge each target whose verdict is not kept")
    every.add_argument("--shard", metavar="K/N", help="this part only")
    every.set_defaults(run=_all, clause=[])
    for command in (judge, every):
        _add_run(command)
    shard = commands.add_parser("shards", help="print the matrix of so many parts for CI")
    shard.add_argument("count", type=_positive, metavar="N")
    shard.set_defaults(run=_shards)
    collect = commands.add_parser("collect", help="write outcomes.json from the kept reports")
    collect.add_argument("--output", type=Path, default=_OUTPUT, metavar="DIR")
    collect.set_defaults(run=_collect)
    commands.add_parser("table", help="print the tables").set_defaults(run=_table)
    commands.add_parser(
        "requirements", help="print how many targets hold each requirement"
    ).set_defaults(run=_requirements)
    changes = commands.add_parser("changes", help="print what changed since other outcomes")
    changes.add_argument("before", type=Path, metavar="OUTCOMES.json")
    changes.set_defaults(run=_changes)
    stable = commands.add_parser("stable", help="print the drafts that may become stable")
    stable.add_argument("--mark", action="store_true", help="and make them so in the catalogue")
    stable.set_defaults(run=_stable)
    commands.add_parser("list", help="print the targets").set_defaults(run=_list)
    return parser


#: Targets at the same time: a run waits for four fifths of its time.
_WORKERS = 2 * (os.cpu_count() or 1)

#: The folder in which a census is kept.
_OUTPUT = Path("build/census")


def _add_run(command: argparse.ArgumentParser) -> None:
    command.add_argument("--output", type=Path, default=_OUTPUT, metavar="DIR")
    command.add_argument("--kit", type=Path, metavar="WHEEL", help="built here unless it is given")
    command.add_argument("--profile", default="quick", help="the profile of the kit")
    command.add_argument(
        "--run-s", type=float, default=judging.RUN_S, help="seconds that one run may take"
    )
    command.add_argument(
        "--workers", type=_positive, default=_WORKERS, help="targets at the same time"
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 on")
    return int(text)


@contextlib.contextmanager
def _kit(options: argparse.Namespace) -> Iterator[Kit]:
    """The wheel that was named, or one that is built for this command."""
    if options.kit is not None:
        if not options.kit.is_file():
            raise Unusable(f"--kit {options.kit} is no file")
        yield kits.of(options.kit.resolve())
        return
    with tempfile.TemporaryDirectory(prefix="census-kit-") as folder:
        yield kits.built(Path(folder))


def _judge(options: argparse.Namespace) -> int:
    chosen = entries.chosen(entries.read_all(), options.names)
    return _run(options, chosen, is_anew=True)


def _all(options: argparse.Namespace) -> int:
    chosen = list(entries.read_all().values())
    if options.shard:
        chosen = shards.part(chosen, options.shard)
    return _run(options, chosen, is_anew=False)


def _run(options: argparse.Namespace, chosen: list[entries.Entry], *, is_anew: bool) -> int:
    kept = Kept(options.output)
    limits = Limits(options.profile, options.run_s, tuple(options.clause))
    if is_anew:
        for entry in chosen:
            kept.forget(entry.name)
    ending = threading.Event()
    judge = functools.partial(judging.judge, ending=ending)
    with _kit(options) as kit, _set_by_sigterm(ending):
        records = crew.judge_all(chosen, kit, kept, limits, workers=options.workers, judge=judge)
        # Closed at once after Ctrl+C, while the targets that wait can still be called off.
        with contextlib.closing(records):
            try:
                for record in records:
                    _tell(record)
            except judging.Ended:
                return _SIGTERM
    ended = kept.records()
    return _GOOD if all(ended[one.name].state == "judged" for one in chosen) else _WITHOUT


@contextlib.contextmanager
def _set_by_sigterm(ending: threading.Event) -> Iterator[None]:
    """
    Have SIGTERM set `ending`: no run outlives the command.

    An exception out of the handler could leave a pool that has started a thread and not noted it.
    """
    former = signal.signal(signal.SIGTERM, lambda *_: ending.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def _tell(record: Record) -> None:
    said = f": {record.reason}" if record.reason else ""
    sys.stdout.write(f"{record.name}: {record.state} in {record.took_s:g} s{said[:300]}\n")
    sys.stdout.flush()


def _shards(options: argparse.Namespace) -> int:
    sys.stdout.write(f"{json.dumps(shards.matrix(options.count))}\n")
    return _GOOD


def _collect(options: argparse.Namespace) -> int:
    known = entries.read_all()
    before = {name: one for name, one in outcomes.read().items() if name in known}
    new = outcomes.found_in(Kept(options.output), known)
    outcomes.write({**before, **new})
    sys.stdout.write(f"{outcomes.FILE.name}: {len(new)} of {len(known)} targets\n")
    return _GOOD


def _table(_: argparse.Namespace) -> int:
    sys.stdout.write(f"{tables()}\n")
    return _GOOD


def tables() -> str:
    """All tables of docs/census.md, as they are between its marks."""
    known, found, read = entries.read_all(), outcomes.read(), readings.read()
    parts = (
        ("The numbers", table.numbers(known, found, read)),
        ("Without first contact, or without a verdict", table.without(known, found)),
        ("The rules that are broken most often", table.rules(known, found)),
        ("Stable requirements", stability.table(standings())),
        ("The targets", table.targets(known, found)),
    )
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in parts)


def _requirements(_: argparse.Namespace) -> int:
    sys.stdout.write(f"{table.requirements(entries.read_all(), outcomes.read())}\n")
    return _GOOD


def _changes(options: argparse.Namespace) -> int:
    if not options.before.is_file():
        raise Unusable(f"{options.before} is no file")
    sys.stdout.write(f"{table.changes(outcomes.read(options.before), outcomes.read())}\n")
    return _GOOD


def _stable(options: argparse.Namespace) -> int:
    found = standings()
    sys.stdout.write(f"{report_stability.as_text(found)}\n")
    if options.mark:
        text = stability.mark(stability.CATALOGUE.read_text("utf-8"), stability.ready(found))
        stability.CATALOGUE.write_text(text, "utf-8")
    return _GOOD


def standings() -> list[report_stability.Standing]:
    """Each requirement on its road to stable, by the kept outcomes and readings."""
    ledger = report_stability.read_ledger(stability.LEDGER)
    return stability.standings(entries.read_all(), outcomes.read(), readings.read(), ledger)


def written_letters() -> dict[str, str]:
    """Target to letter, by the kept outcomes and readings."""
    return letters.written(entries.read_all(), outcomes.read(), readings.read())


def _list(_: argparse.Namespace) -> int:
    for entry in entries.read_all().values():
        sys.stdout.write(f"{entry.name}  {entry.pin}  {entry.target}\n")
    return _GOOD
