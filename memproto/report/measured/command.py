"""The command `memproto measure`: targets beside baselines, and measurements beside each other."""

import argparse
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memproto.errors import InvalidSettings, KitUsageError, MissingPackage
from memproto.report.console import tell, written

if TYPE_CHECKING:
    from memproto.measure.corpus import Corpus
    from memproto.measure.plan import Found, Plan

#: Exit codes: as it should be, and a comparison that found something worse.
_GOOD, _FOUND = 0, 1

#: The most repeats, turns and people that mean anything here.
_MOST_REPEATS, _MOST_TURNS = 50, 1_000_000

_KIT = ("jsonschema", "psutil", "yaml")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        "Measure how much of what was said comes back, how fast, and how that grows, beside "
        "baselines. No model judges, and nothing of it enters a verdict."
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="as of memproto judge")
    parser.add_argument("--seed", default="0", help="of the corpora (default: 0)")
    parser.add_argument(
        "--repeats",
        default="3",
        metavar="N",
        help="corpora, each of a seed of its own (default: 3)",
    )
    parser.add_argument(
        "--sizes",
        metavar="N,N",
        help="turns at which speed is measured (default: 100,1000,10000); 0 for none",
    )
    parser.add_argument(
        "--no-recall", action="store_true", help="measure speed and growth alone, and no recall"
    )
    parser.add_argument(
        "--budget-s",
        default="600",
        metavar="SECONDS",
        help="the most that recall, and then speed, of each target may take (default: 600)",
    )
    parser.add_argument("--settings", metavar="FILE.toml", help="as of memproto judge")
    parser.add_argument("--trust-package", action="store_true", help="as --memproto-trust-package")
    parser.add_argument("--report", type=Path, metavar="FILE.json", help="write the measurement")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page of it")
    parser.add_argument(
        "--export",
        type=Path,
        metavar="DIR",
        help="write the first repeat in the shape of LongMemEval's harness, for a model to judge",
    )
    parser.add_argument(
        "--longmemeval",
        type=Path,
        metavar="FILE",
        help="ask the questions of this file of LongMemEval-S, in place of the invented corpora",
    )
    parser.add_argument(
        "--sha256", default="", help="the checksum of that file, if it is not known"
    )
    parser.add_argument("--questions", metavar="N", help="so many of its questions, by the seed")
    parser.add_argument(
        "--compare",
        nargs=2,
        type=Path,
        metavar=("OLD.json", "NEW.json"),
        help="say what changed by more than chance; exit code 1 if something is worse",
    )
    parser.add_argument("--markdown", action="store_true", help="with --compare: as Markdown")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    _check_installed()
    if options.compare:
        return _compare(options)
    if not options.targets:
        fix = "name one, as in memproto measure builtin, or compare two files by --compare"
        raise KitUsageError("memproto measure", "has no target", fix)
    return _measure(options)


def _check_installed() -> None:
    from importlib.util import find_spec

    missing = [name for name in _KIT if find_spec(name) is None]
    if missing:
        fault = f"needs {', '.join(missing)}, which the runtime alone does not bring"
        raise MissingPackage("memproto measure", fault, "pip install 'memproto[kit]'")


def _compare(options: argparse.Namespace) -> int:
    from memproto.report.formats import markdown
    from memproto.report.measured import comparing, reading

    if options.targets:
        fix = "leave the targets out: the files name theirs"
        raise KitUsageError("--compare", "measures nothing", fix)
    old, new = map(reading.read, options.compare)
    found = comparing.compare(old, new)
    said = (
        comparing.as_markdown(found, markdown.text)
        if options.markdown
        else comparing.as_text(found)
    )
    tell(said)
    return _FOUND if found.is_worse else _GOOD


# -- measured --------------------------------------------------------------------------------------


def _measure(options: argparse.Namespace) -> int:
    from memproto.measure import document, exporting
    from memproto.report import pages
    from memproto.report.document import write
    from memproto.report.measured import page, tables

    if options.html:
        pages.check_installed("memproto measure --html")
    plan = _plan(options)
    for place in (options.report, options.html):
        if place is not None and not place.absolute().parent.is_dir():
            fix = "make the directory first, or name another place"
            raise KitUsageError(str(place), "lies in no directory that is there", fix)
    found = _all_found(options, plan)
    measurement = document.build(plan.corpora, plan.seed, [one.row for one in found])
    report, html, export = options.report, options.html, options.export
    if report is not None:
        written(report, lambda: write(report, measurement), "--report")
    if html is not None:
        text = page.render(measurement, is_own=True)
        written(html, lambda: html.write_bytes(pages.encoded(text)), "--html")
    if export is not None:
        answers = {one.row["target"]: one.answers for one in found if one.answers}
        written(export, lambda: exporting.write(export, plan.corpora[0], answers), "--export")
    tell(tables.as_text(measurement))
    return _GOOD


def _plan(options: argparse.Namespace) -> "Plan":
    from memproto.measure.plan import Plan

    seed = _number("--seed", options.seed, 0, 2**31)
    if options.no_recall and (options.export or options.longmemeval):
        raise KitUsageError("--no-recall", "leaves nothing to ask", "leave it out")
    return Plan(
        _corpora(options, seed),
        _sizes(options.sizes),
        seed,
        float(_number("--budget-s", options.budget_s, 1, 10**6)),
        not options.no_recall,
    )


def _corpora(options: argparse.Namespace, seed: int) -> list["Corpus"]:
    from memproto.measure import invented, longmemeval

    repeats = _number("--repeats", options.repeats, 1, _MOST_REPEATS)
    if options.longmemeval is None:
        for name, value in (("--sha256", options.sha256), ("--questions", options.questions)):
            if value:
                raise KitUsageError(name, "is of --longmemeval alone", "leave it out")
        # Far apart, so that runs of neighbouring seeds have no corpus in common.
        return [invented.corpus(seed * 1_000 + number) for number in range(repeats)]
    most = None
    if options.questions:
        most = _number("--questions", options.questions, 1, 10**6)
    found = longmemeval.load(options.longmemeval, checksum=options.sha256, most=most, seed=seed)
    return [found.shuffled(seed * 1_000 + number) for number in range(repeats)]


def _sizes(text: str | None) -> tuple[int, ...]:
    from memproto.measure.growth import SIZES

    if text is None:
        return SIZES
    if text == "0":
        return ()
    return tuple(sorted({_number("--sizes", part, 1, _MOST_TURNS) for part in text.split(",")}))


def _number(name: str, text: str, least: int, most: int) -> int:
    if text.strip().isdecimal() and least <= int(text) <= most:
        return int(text)
    fault = f"is no whole number from {least:,} to {most:,}"
    raise KitUsageError(f"{name} {text}", fault, f"give a number such as {max(least, 3)}")


def _all_found(options: argparse.Namespace, plan: "Plan") -> list["Found"]:
    """The baselines and the targets, in a directory of the run's own that goes with it."""
    from memproto.measure import plan as measuring
    from memproto.testing import installation, noise
    from memproto.testing.processes import confinement, roots, vitals
    from memproto.testing.settings import credentials

    if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    confinement.conceal()
    installation.assert_published()
    orders = _orders(options, plan.seed, noise.measure().slowdown)
    credentials.take()
    found = list(measuring.of_baselines(plan))
    root = roots.new_root()
    try:
        for order in orders:
            name = order.target

            def say(text: str, name: str = name) -> None:
                _progress(f"{name}: {text}")

            found.append(measuring.of_target(plan, order, root, say))
    finally:
        vitals.end_strays(root)
        roots.remove(root)
    return found


def _orders(options: argparse.Namespace, seed: int, slowdown: float) -> list[Any]:
    from memproto.testing import patience
    from memproto.testing.settings import settings
    from memproto.testing.settings.order import Order

    here, scale = Path.cwd(), patience.time_scale()
    orders = []
    for target in dict.fromkeys(options.targets):
        given = settings.read(
            target, here, trusts_package=options.trust_package, named=options.settings or ""
        )
        if given.max_hook_calls is not None:
            fault = "allows too few calls for a measurement, which makes thousands"
            raise InvalidSettings(given.place("max_hook_calls"), fault, "measure without it")
        orders.append(
            Order(target, settings=given, seed=seed, directory=here, scale=scale, slowdown=slowdown)
        )
    return orders


def _progress(text: str) -> None:
    """Say at a terminal what is under way; a log has no use for it."""
    if sys.stderr is not None and sys.stderr.isatty():
        from memproto.testing import untrusted_text

        sys.stderr.write(f"memproto measure: {untrusted_text.one_line(text)}\n")
