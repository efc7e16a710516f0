"""All targets side by side; the end of one, however bad, is the end of that one."""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed

from census import judging
from census.entries import Entry
from census.judging import Limits, Record
from census.kept import Kept
from census.kit import Kit

#: Judges one target, as `judging.judge` does.
Judge = Callable[..., tuple[Record, str]]


def is_current(entry: Entry, known: Record | None, kept: Kept, kit: Kit, limits: Limits) -> bool:
    """True if what is kept of a target is of these very inputs, and is a verdict."""
    return (
        known is not None
        and known.inputs == judging.inputs_of(entry, kit, limits)
        and known.state == "judged"
        and kept.report(entry.name).exists()
    )


def judge_all(
    entries: Iterable[Entry],
    kit: Kit,
    kept: Kept,
    limits: Limits,
    *,
    workers: int,
    judge: Judge = judging.judge,
) -> Generator[Record]:
    """
    Judge each target whose verdict is not kept, so many at a time; each record as it comes.

    A record is kept before it is given. An exception of a judge becomes the record of its target.
    """
    known = kept.records()
    due = [
        entry
        for entry in entries
        if not is_current(entry, known.get(entry.name), kept, kit, limits)
    ]

    def work(entry: Entry) -> Record:
        report = kept.report(entry.name)
        try:
            record, printed = judge(entry, kit, report, limits)
        except judging.Ended:
            raise
        except Exception as error:
            report.unlink(missing_ok=True)
            record = judging.failed(entry, kit, limits, error)
            printed = record.reason
        kept.keep(record, printed)
        return record

    pool = ThreadPoolExecutor(workers)
    try:
        for done in as_completed([pool.submit(work, entry) for entry in due]):
            yield done.result()
    finally:
        # After Ctrl+C no other one begins; those that have begun come to their end, and are kept,
        # unless their judge is told to end them.
        pool.shutdown(cancel_futures=True)
