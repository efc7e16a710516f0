"""
The mutation score: good providers and hosts, changed place by place, and judged by the kit.

    tox run -e mutation -- complete --sample 200 --seed 7
    tox run -e mutation -- builtin sqlite --sample 200 --shard 2/8
    tox run -e mutation -- complete --changed main

A run goes on where an earlier one stopped. The exit code is 1 if a survivor has no row in
survivors.toml, 2 if a subject is not CONFORMANT as it is, and 3 after an error of the kit.
"""

import argparse
import datetime as dt
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    # Behind the installed package: `memproto` is not to come from the checkout.
    sys.path.append(str(ROOT))

from tests.mutation import figures, sampling, shards, survivors  # noqa: E402 - needs the path above
from tests.mutation.bench import Bench, NotGood  # noqa: E402
from tests.mutation.book import Book, Clock  # noqa: E402
from tests.mutation.changes import Change, changes  # noqa: E402
from tests.mutation.score import score  # noqa: E402
from tests.mutation.subjects import SUBJECTS, Subject  # noqa: E402


def _drawn(subject: Subject, asked: argparse.Namespace) -> list[Change]:
    only = None
    if asked.changed:
        only = sampling.of_changed_lines(changes(subject), asked.changed)
    found = sampling.sample(subject, asked.sample, asked.seed, only=only)
    return shards.shard(found, *asked.shard)


def _judged(subject: Subject, asked: argparse.Namespace, clock: Clock) -> int:
    """Judge a subject, print its survivors and its score; gives the exit code."""
    found = _drawn(subject, asked)
    book = Book(asked.work, subject)
    try:
        for other in asked.take:
            book.take(other)
        if not asked.report:
            Bench(subject, book, asked.lanes, _say).judge(found, clock, again=asked.again)
        verdicts = book.verdicts()
    finally:
        book.close()
    judged = [(one, verdicts[one.key.digest]) for one in found if one.key.digest in verdicts]
    rows = survivors.read()
    unread = 0
    for change, verdict in judged:
        if verdict.is_killed:
            continue
        row = survivors.row_of(change.key, rows)
        unread += row is None
        _say(f"\n{change.source}:{change.start[0]} {verdict.by}: {row.kind if row else 'not read'}")
        _say(row.reason if row else survivors.template(change.key))
    made = sum(1 for _ in changes(subject))
    counted = score(subject.name, made, judged, rows)
    _say(f"\n{counted}")
    if asked.keep:
        conditions = {"date": dt.datetime.now(dt.UTC).date().isoformat(), "seed": asked.seed}
        figures.keep(counted, conditions)
    if any(verdict.kit for _, verdict in judged):
        return 3
    return 1 if unread else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def parser() -> argparse.ArgumentParser:
    """The words of the command."""
    made = argparse.ArgumentParser(
        prog="mutation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("subjects", nargs="*", default=[], help=f"of: {', '.join(SUBJECTS)}")
    made.add_argument("--sample", type=int, default=0, help="most changes of a subject; 0 for all")
    made.add_argument("--seed", type=int, default=0, help="seed of the sample")
    made.add_argument(
        "--shard", type=shards.named, default=(1, 1), metavar="I/N", help="part of it"
    )
    made.add_argument("--changed", default="", metavar="REF", help="only lines that differ from it")
    made.add_argument("--again", action="store_true", help="judge survivors anew")
    made.add_argument("--report", action="store_true", help="judge nothing, print what is known")
    made.add_argument("--keep", action="store_true", help="write the scores to the kept file")
    made.add_argument(
        "--take", type=Path, nargs="*", default=[], metavar="DIR", help="books of other machines"
    )
    made.add_argument("--minutes", type=float, default=0, help="begin no change after so many")
    made.add_argument("-n", dest="lanes", type=int, default=4, help="changes at a time")
    made.add_argument("--work", type=Path, default=Path(".mutation"), help="folder of the books")
    return made


def main(words: list[str] | None = None) -> int:
    """Judge the subjects; see the description of the module for the exit code."""
    asked = parser().parse_args(words)
    if unknown := set(asked.subjects) - set(SUBJECTS):
        parser().error(f"{', '.join(sorted(unknown))}: the subjects are {', '.join(SUBJECTS)}")
    clock, codes = Clock(asked.minutes * 60), [0]
    for name in asked.subjects or SUBJECTS:
        try:
            codes.append(_judged(SUBJECTS[name], asked, clock))
        except NotGood as fault:
            _say(str(fault))
            codes.append(2)
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
