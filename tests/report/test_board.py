"""The board: a site whose cells lead to evidence and whose columns lead to rules."""

import json
from html.parser import HTMLParser
from pathlib import PurePosixPath

import pytest

from memproto import cli
from memproto.errors import KitUsageError, UnreadableReport
from memproto.measure import document as measured_document
from memproto.measure import invented
from memproto.measure import plan as measuring
from memproto.measure.plan import Plan
from memproto.report import board, matrix
from memproto.testing.settings.order import Contact
from tests import reports


class Links(HTMLParser):
    """The places of a page, where it leads, and its text by line."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.hrefs, self.texts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]
        self.hrefs += [value for name, value in attrs if name == "href"]

    def handle_data(self, data):
        self.texts.append(data.strip())


@pytest.fixture
def site(tmp_path):
    """A function that writes reports and gives the site of them: file name to its text."""

    def write(documents, **options):
        paths = []
        for name, document in documents.items():
            paths.append(tmp_path / f"{name}.json")
            paths[-1].write_text(json.dumps(document), "utf-8")
        board.write(paths, tmp_path / "site", **options)
        return written(tmp_path / "site")

    return write


def written(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in files}


def one(target, *rows, **changed):
    return reports.whole(reports.report(*(rows or [reports.failed()]), target=target, **changed))


def three():
    host = {"side": "host", "binding": None}
    return {
        "b": one("Zebra"),
        "a": one("adder", reports.row(), reports.row("MP-TURN-001", chapter="50-turns")),
        "c": one("a:Host", reports.row("MP-HOST-RECALL-001", chapter="80-hosts"), **host),
    }


def test_every_link_of_the_site_leads_to_a_place_that_is_there(site):
    pages = {name: Links(text) for name, text in site(three()).items()}
    assert set(pages) == {
        *("index.html", "rules.html"),
        *("targets/adder.html", "targets/zebra.html", "targets/a-host.html"),
    }
    for name, page in pages.items():
        for href in page.hrefs:
            path, _, place = href.partition("#")
            if path.startswith("data:"):
                continue
            other = "/".join(PurePosixPath(name).parent.joinpath(path).parts) if path else name
            found = pages[other.replace("targets/../", "")]
            assert not place or place in found.ids, (name, href)


def test_each_cell_leads_to_its_evidence_and_each_column_to_its_rule(site):
    links = Links(site(three())["index.html"]).hrefs
    assert {
        "targets/zebra.html#mp-recall-002",
        "targets/adder.html#mp-turn-001",
        "targets/a-host.html#mp-host-recall-001",
        *("rules.html#mp-recall-002", "rules.html#mp-turn-001", "rules.html#mp-host-recall-001"),
    } <= set(links)


def test_targets_stand_in_alphabetical_order_whatever_their_verdicts(site):
    links = Links(site(three())["index.html"]).hrefs
    pages = [href for href in links if href.startswith("targets/") and "#" not in href]
    assert pages == ["targets/adder.html", "targets/zebra.html", "targets/a-host.html"]


def test_the_same_reports_give_the_same_bytes_in_any_order(tmp_path, site):
    first = site(three())
    paths = sorted(tmp_path.glob("*.json"), reverse=True)
    board.write([*paths, *paths], tmp_path / "again")
    assert written(tmp_path / "again") == first


def test_a_reply_beside_a_report_is_shown_as_plain_text(tmp_path, site):
    (tmp_path / "b.reply.md").write_text("# Ours\n<script>alert(1)</script> \u202e\n", "utf-8")
    found = site(three())
    page = found["targets/zebra.html"]
    assert "# Ours\n&lt;script&gt;alert(1)&lt;/script&gt; \\u202e" in page
    assert "targets/zebra.html#reply" in Links(found["index.html"]).hrefs
    assert "reply" not in Links(found["targets/adder.html"]).ids


def test_a_reply_that_is_no_text_is_named(tmp_path, site):
    (tmp_path / "b.reply.md").write_bytes(b"one\n\xff")
    with pytest.raises(UnreadableReport, match=r"b\.reply\.md:2: is no UTF-8"):
        site(three())


def test_a_target_that_is_there_twice_is_told_apart_by_its_reports(site):
    found = site({"old": one("mine"), "new": one("mine", reports.row())})
    texts = Links(found["index.html"]).texts
    assert {"new (mine)", "old (mine)"} <= set(texts)
    assert {"targets/new-mine.html", "targets/old-mine.html"} <= set(found)


def test_reports_of_one_name_keep_their_own_rows_in_any_order(tmp_path):
    shown = [one("mine"), one("mine", reports.row()), one("mine", reports.row(outcome="warn"))]
    paths = [tmp_path / f"{at}" / "report.json" for at in range(2)]
    both = reports.whole(*(item["reports"][0] for item in shown[:2]))
    for path, document in zip(paths, (both, shown[2]), strict=True):
        path.parent.mkdir()
        path.write_text(json.dumps(document), "utf-8")
    entries = board.read(paths)
    assert [item.label for item in entries] == [
        *("report (mine)", "report (mine, 2)", "report (mine, 3)")
    ]
    [chapter] = matrix.side("provider", entries)["chapters"]
    cells = [row["cells"][0]["outcome"] for row in chapter["rows"]]
    assert cells == [item.report["results"][0]["outcome"] for item in entries]
    assert board.render(board.read(paths[::-1])) == board.render(entries)


def test_targets_are_called_as_their_files_are_where_that_is_wanted(tmp_path, site):
    documents = {"zoo": one("judged:provider"), "acme": one("judged:provider"), "b": one("c")}
    found = Links(site(documents, by_file=True)["index.html"])
    pages = [href for href in found.hrefs if href.startswith("targets/") and "#" not in href]
    assert pages == ["targets/acme.html", "targets/b.html", "targets/zoo.html"]
    shown = tmp_path / "shown"
    paths = [str(tmp_path / f"{name}.json") for name in documents]
    assert cli.main(["board", *paths, "--by-file", "-o", str(shown)]) == 0
    assert written(shown) == site(documents, by_file=True)


def test_the_day_of_a_judgement_stands_beside_the_verdict(site):
    document = one("mine")
    document["reports"][0]["waivers"] = {"date": "2026-11-29", "faults": [], "notes": []}
    assert "2026-11-29" in Links(site({"r": document})["index.html"]).texts


def test_a_long_board_counts_for_each_rule_who_holds_it(site):
    outcomes = ["pass"] * 20 + ["fail"] * 2 + ["warn", "untestable", "not_run", "not_applicable"]
    documents = {
        f"r{at}": one(f"t{at}", reports.row("MP-TURN-001", outcome=outcome))
        for at, outcome in enumerate(outcomes)
    }
    found = site(documents)
    rules = " ".join(" ".join(Links(found["rules.html"]).texts).split())
    assert "20 hold, 3 break, 2 cannot show of 26 targets" in rules
    assert found["index.html"].count('class="folded"') == 1
    short = site(dict(list(documents.items())[: matrix.MANY - 1]))
    assert 'class="folded"' not in short["index.html"]
    assert "cannot show" not in short["rules.html"]


def test_names_that_are_no_file_names_stay_below_the_site(tmp_path, site):
    names = ("../../out", "..", "/etc/x", "con", "\ud800", "***", *reports.HOSTILE)
    found = site({f"r{at}": one(name) for at, name in enumerate(names)})
    pages = [name for name in found if name.startswith("targets/")]
    assert len(pages) == len(names)
    assert all(len(PurePosixPath(name).name) < 80 for name in pages)
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".json"] == ["site"]


def test_hostile_texts_stay_texts_on_the_board_as_well(site):
    index = site({"r": reports.whole(reports.hostile())})
    for page in (index["index.html"], index["rules.html"]):
        assert page.count("<script>") == page.count("</style>") == 1
        assert "<img" not in page
        assert "\u202e" not in page


def test_a_rule_that_this_release_does_not_know_stands_after_the_known_ones(site):
    odd = reports.failed("MP-RECALL-999")
    found = Links(site({"r": one("mine", odd, reports.row())})["rules.html"])
    assert found.ids.index("mp-recall-002") < found.ids.index("mp-recall-999")
    assert "The rule of MP-RECALL-999 MUST hold." in found.texts


def test_rules_lead_to_the_specification_where_it_is_said_where_that_is(site):
    links = Links(site({"r": one("mine")}, spec_url="https://x.example/v1/")["rules.html"]).hrefs
    assert "https://x.example/v1/40-recall.md#mp-recall-002" in links


@pytest.mark.parametrize("address", ["javascript:alert(1)", "x", "data:text/html,x"])
def test_an_address_that_is_none_is_refused(site, address):
    with pytest.raises(KitUsageError, match=r"is no address of a page\n  fix: give one"):
        site({"r": one("mine")}, spec_url=address)


def test_reports_without_a_target_make_no_board(site):
    with pytest.raises(KitUsageError, match="no report holds a target"):
        site({"r": reports.whole()})


def test_a_newer_report_ends_the_command_with_one_message_and_no_site(tmp_path, capsys):
    path, place = tmp_path / "r.json", tmp_path / "site"
    path.write_text(json.dumps({**one("mine"), "format": 2}, indent=2), "utf-8")
    assert cli.main(["board", str(path), "-o", str(place)]) == 4
    said = f"memproto board: {path}:2: has format 2; this kit reads format 1\n  fix: pip install"
    assert capsys.readouterr().err.startswith(said)
    assert not place.exists()


def test_the_command_says_what_it_wrote(tmp_path, capsys):
    path = tmp_path / "r.json"
    path.write_text(json.dumps(one("mine", retention="derived")), "utf-8")
    assert cli.main(["board", str(path), "-o", str(tmp_path / "site")]) == 0
    line, last = capsys.readouterr().out.splitlines()
    verdict = "NON-CONFORMANT · core: 1 violated"
    said = f"memproto 1.0 · mine · native · retention=derived · kit 0.1.0 · {verdict}"
    assert (line, last) == (said, f"{tmp_path}/site/index.html: 1 target")


def test_the_verdict_line_of_each_target_is_on_the_board_and_on_its_page(site):
    found = site({"a": one("a<b>", isolates=["user"]), "c": one("c")})
    texts = {name: Links(text).texts for name, text in found.items()}
    lines = [
        f"memproto 1.0 · {said} · kit 0.1.0 · NON-CONFORMANT · core: 1 violated"
        for said in ("a<b> · native · isolates=user", "c · native")
    ]
    assert set(lines) <= set(texts["index.html"])
    assert lines[0] in texts["targets/a-b.html"]
    assert lines[1] in texts["targets/c.html"]


def test_a_site_that_cannot_be_written_is_named_with_the_way_out(tmp_path, capsys):
    path = tmp_path / "r.json"
    path.write_text(json.dumps(one("mine")), "utf-8")
    assert cli.main(["board", str(path), "-o", str(path)]) == 4
    assert "cannot be written" in capsys.readouterr().err


# -- measured beside the verdict -------------------------------------------------------------------


def test_measurements_stand_below_the_verdicts_and_rank_nobody(site):
    plain = site({"a": one("zebra"), "b": one("adder")})
    pages = site({"a": one("zebra"), "m": measurement("zebra", "adder"), "b": one("adder")})
    index = pages["index.html"]
    before, _, after = index.partition("Measured beside the verdict")
    assert after
    assert before.index("adder") < before.index("zebra")
    assert after.index("adder") < after.index("zebra")
    assert "measured-1.html" in Links(index).hrefs
    assert "index.html" in Links(pages["measured-1.html"]).hrefs
    # The verdicts are the ones that they are without it.
    names = {name for name in plain if name != "index.html"}
    assert {name: pages[name] for name in names} == {name: plain[name] for name in names}


def test_measurements_give_the_same_bytes_in_any_order(site):
    documents = {"m": measurement("one"), "n": measurement("two"), "r": one("zebra")}
    first = site(documents)
    assert site(dict(reversed(documents.items()))) == first


def test_hostile_names_of_a_measurement_stay_text(site):
    pages = site({"m": measurement(*reports.HOSTILE), "r": one("zebra")})
    for name in ("index.html", "measured-1.html"):
        assert "<script>window" not in pages[name]
        assert "javascript:window" not in "".join(Links(pages[name]).hrefs)
        assert "\u202e" not in pages[name]


def measurement(*targets):
    """A measurement of the baselines, and of targets of which nothing could be measured."""
    plan = Plan([invented.corpus(0, people=2)], sizes=())
    rows = [found.row for found in measuring.of_baselines(plan)]
    for target in targets:
        left_out = {"all": f"because {target}"}
        row = measured_document.row_of_target(target, Contact(), None, None, left_out)
        rows.append({**row, "recall": rows[-1]["recall"], "route": "turns"})
    return measured_document.build(plan.corpora, 0, rows)
