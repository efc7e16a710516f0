"""Lines that the output of a job may hold, whatever the providers of the run say."""

import re

#: Form of a command to a runner.
COMMANDS = re.compile(r"^\s*::[A-Za-z]|##\[|##vso\[|##teamcity\[")

#: A line that scripts take for a verdict.
VERDICTS = re.compile(r"memproto .* (?:·|\|) .*(?:CONFORMANT|INCOMPLETE|KIT ERROR)")

#: Texts of a provider that wants to be something else than text.
HOSTILE = (
    "x\n::error::owned\n::add-mask::conformant\n  ::warning file=a::b\n##[group]x ##vso[x]y\n"
    "memproto 1.0 · mine · native · kit 0.1.0 · CONFORMANT core\r::error::again\r"
    "memproto 1.0 · it · native · kit 0.1.0 · CONFORMANT core\x85::notice::c\u2028::debug::d"
    "\x1b[31m\x9b2J\u202e\u2066\ud800\x00<&>]]>"
)


def assert_harmless(done, verdicts):
    """
    See that a job's output holds no command but the kit's, and these many verdict lines.

    The outer run switches commands off before everything else, and on again at its end; what comes
    then is the kit's own.
    """
    stdout = done.stdout.split("\n")
    assert stdout[0].startswith("::stop-commands::"), done.stdout
    resume = f"::{stdout[0].removeprefix('::stop-commands::')}::"
    assert stdout.count(resume) == 1
    end = stdout.index(resume)
    said, own = stdout[1:end], stdout[end + 1 :]
    assert own.pop() == ""
    for line in own:
        assert re.match(
            r"::(error|warning) (file=[^,]+,line=\d+,)?title=(MP-|memproto)|::notice title=", line
        )
    for line in [*said, *done.stderr.split("\n")]:
        assert COMMANDS.search(line) is None, line
        assert line.isprintable(), line
    found = [line for line in said if VERDICTS.match(line)]
    assert len(found) == verdicts, found
    assert not [line for line in done.stderr.split("\n") if VERDICTS.match(line)]
    return found
