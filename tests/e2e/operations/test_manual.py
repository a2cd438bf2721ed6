#!/usr/bin/python3 -B
"""Man pages, bash completions and --help: made from tables, so they name every option."""
import contextlib
import os
import re
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import BINARY, ROOT, Daemon, die_with_parent, equal, folder, main, own

TOOLS = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"), "tools")
PROGRAMS = {"expired": BINARY, "expired-check": os.path.join(TOOLS, "expired-check"),
            "expired-export": os.path.join(TOOLS, "expired-export")}
PAGES = ("expired.8", "expired.conf.5", "expired-check.1", "expired-export.1")


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, check=False,
                          preexec_fn=die_with_parent, **more)


@contextlib.contextmanager
def manual():
    """A folder with the pages and completions."""
    with folder() as where:
        done = run(os.path.join(TOOLS, "manual"), where, "2026-11-22")
        equal((done.returncode, done.stderr), (0, ""))
        yield where


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def plain(page):
    """A page without its escapes."""
    return page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")


def settings():
    """All options that CONFIG GET shows."""
    with Daemon() as daemon, daemon.redis() as client:
        return set(client.config_get("*"))


def without_effect():
    """The options of Redis that expired.conf.example only names."""
    rest = read(ROOT, "expired.conf.example").partition("# ---- options of Redis that are accepted")[2]
    names = " ".join(line.strip("# ") for line in rest.split("\n")[1:] if "----" not in line)
    assert "hz" in names.split(), names
    return set(names.split())


def options_of(program):
    """The options that --help describes, without values."""
    said = run(PROGRAMS[program], "--help")
    equal((said.returncode, said.stderr), (0, ""), program)
    return set(re.findall(r"^  (?:-., )?(--[a-z-]+)", said.stdout, re.M)), said.stdout


def complete(where, program, *words):
    """What bash offers for the last word."""
    quoted = " ".join(f"'{word}'" for word in (program, *words))
    script = (f"compopt() {{ :; }}; source '{where}/completions/{program}'; COMP_WORDS=({quoted}); "
              f"COMP_CWORD={len(words)}; _{program.replace('-', '_')}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = run("bash", "--norc", "-c", script)
    equal((done.returncode, done.stderr), (0, ""))
    return done.stdout.split()


# --- man pages ---------------------------------------------------------------------------------


@own
def page_of_the_configuration_describes_every_option():
    with manual() as where:
        page = plain(read(where, "expired.conf.5"))
    described = re.findall(r"^\.TP\n([a-z0-9_-]+) ", page, re.M)
    equal(len(described), len(set(described)))
    equal(settings() - without_effect() - set(described), set())
    named = set(re.findall(r"^([a-z0-9_-]+)[,.]$", page, re.M))
    equal(without_effect() - named, set())
    equal(named & set(described), set())
    assert "Default: 6379. Live.\n" in page and "noeviction" in page, page


@own
def pages_of_programs_describe_every_option_of_their_help():
    with manual() as where:
        for program in PROGRAMS:
            section = 8 if program == "expired" else 1
            page = plain(read(where, f"{program}.{section}"))
            options, _ = options_of(program)
            assert {"--help", "--version"} < options, options
            for option in options:
                assert re.search(rf"^(-., )?{option}\b", page, re.M), (program, option)
            for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES",
                            "EXIT STATUS", "SEE ALSO"):
                assert f"\n.SH {heading}\n" in page, (program, heading)


@own
def pages_bear_version_and_day():
    version = re.search(r'EXPIRED_VERSION\s+"(.*)"', read(ROOT, "server/base/version.h")).group(1)
    with manual() as where:
        for page in PAGES:
            name, _, section = page.rpartition(".")
            title = name.upper().replace("-", "\\-")
            assert f'\n.TH {title} {section} 2026-11-22 "expired {version}"' in read(where, page), page


@own
def no_line_of_a_page_begins_with_an_unknown_request():
    known = {"TH", "SH", "SS", "TP", "PP", "BR", "br", "\\\""}
    with manual() as where:
        for page in PAGES:
            for line in read(where, page).split("\n"):
                assert not line.startswith("'"), (page, line)
                if line.startswith("."):
                    assert line[1:].split(" ")[0] in known, (page, line)


# --- help --------------------------------------------------------------------------------------


@own
def help_fits_a_terminal_and_refers_to_all_options():
    for program in PROGRAMS:
        _, said = options_of(program)
        equal([line for line in said.split("\n") if len(line) > 79], [])
        assert said.startswith(f"Usage: {program} "), said
    assert "expired.conf(5)" in options_of("expired")[1]


@own
def every_program_prints_its_version():
    version = re.search(r'EXPIRED_VERSION\s+"(.*)"', read(ROOT, "server/base/version.h")).group(1)
    for program, path in PROGRAMS.items():
        for word in ("--version", "-v"):
            done = run(path, word)
            equal((done.returncode, done.stderr), (0, ""))
            assert version in done.stdout and done.stdout.startswith(program), done.stdout


@own
def the_page_about_tools_has_every_option_of_their_help():
    page = read(ROOT, "doc", "tools.md")
    for program in ("expired-check", "expired-export"):
        options, said = options_of(program)
        section = page.partition(f"\n## {program}\n")[2].partition("\n## ")[0]
        listed = set(re.findall(r"^\| `(--[a-z-]+)` \|", section, re.M))
        equal(listed, options - {"--help", "--version"}, program)
        form = re.search(r"^Usage: (.*)$", said, re.M).group(1)
        assert f"```\n{form}\n```" in section, form


@own
def a_wrong_option_of_a_tool_is_named():
    for program in ("expired-check", "expired-export"):
        done = run(PROGRAMS[program], "--nonsense")
        equal((done.returncode, done.stdout), (3, ""))
        assert "--nonsense" in done.stderr and "--help" in done.stderr, done.stderr


# --- completion --------------------------------------------------------------------------------


@own
def completion_offers_every_option_of_the_daemon():
    names = settings() - without_effect()
    with manual() as where:
        offered = complete(where, "expired", "--")
        equal(({f"--{name}" for name in names} | options_of("expired")[0]) - set(offered), set())
        equal(len(set(offered)), len(offered))
        equal(complete(where, "expired", "x.conf", "--appendf"), ["--appendfsync", "--appendfilename"])


@own
def completion_offers_values_of_an_option():
    with manual() as where:
        equal(sorted(complete(where, "expired", "--appendfsync", "")), ["always", "everysec", "no"])
        equal(complete(where, "expired", "--appendonly", "y"), ["yes"])
        os.mkdir(os.path.join(where, "one"))
        equal(complete(where, "expired", "--dir", os.path.join(where, "o")),
              [os.path.join(where, "one")])
        equal(complete(where, "expired", "--port", "6"), [])


@own
def completion_offers_every_option_of_the_tools():
    with manual() as where:
        for program in ("expired-check", "expired-export"):
            offered = complete(where, program, "--")
            equal(set(offered), options_of(program)[0])
            equal(complete(where, program, "dat"), [])


@own
def tools_page_names_every_option_of_the_tools():
    with open(os.path.join(ROOT, "doc", "tools.md"), encoding="utf-8") as file:
        page = file.read()
    for program in ("expired-check", "expired-export"):
        options = options_of(program)[0] - {"--help", "--version"}
        equal(sorted(one for one in options if f"| `{one}` |" not in page), [], program)


main()
