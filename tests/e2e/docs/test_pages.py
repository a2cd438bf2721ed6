#!/usr/bin/python3 -B
"""Documentation: every link has a target, every file named in a page or a comment exists, doc/README.md lists every
page of doc/, and doc/operations.md explains every warning of the log."""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ROOT, equal, folder, main, test

WARNING = re.compile(r'log_line\([^"()]*LOG_WARNING,\s*((?:"(?:[^"\\]|\\.)*"|\s|PRI\w+)+)')
MAP = os.path.join(ROOT, "doc", "README.md")
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)


def pages():
    found = glob.glob(os.path.join(ROOT, "*.md")) + [os.path.join(ROOT, "tests", "README.md")]
    return found + glob.glob(os.path.join(ROOT, "doc", "**", "*.md"), recursive=True)


def text_of(path):
    with open(path, encoding="utf-8") as page:
        return FENCE.sub("", page.read())


def links(path):
    """[(file, anchor or '')] of the links to files"""
    found = re.findall(r"\]\(([^)\s]+)\)", text_of(path))
    parts = [link.partition("#") for link in found if "://" not in link]
    return [(os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path, anchor)
            for name, _, anchor in parts]


def anchors(path):
    """The anchors of its headings, in GitHub's form."""
    headings = re.findall(r"^#+ (.*)$", text_of(path), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@test
def every_link_has_a_file_and_a_heading():
    broken = [f"{os.path.relpath(page, ROOT)}: {os.path.relpath(file, ROOT)}#{anchor}"
              for page in pages() for file, anchor in links(page)
              if not os.path.exists(file) or anchor and anchor not in anchors(file)]
    equal(broken, [])


def lint_paths(*files):
    """What the check of `make lint` finds in these files, or in the whole tree."""
    done = subprocess.run([os.path.join(ROOT, "tools", "lint", "paths.py"), *files], capture_output=True, text=True)
    found = re.findall(r":(\d+): there is no file (.*)", done.stderr)
    equal((done.returncode, len(done.stderr.splitlines())), (1 if found else 0, len(found)), done.stderr)
    return [(int(line), name) for line, name in found]


@test
def every_file_that_a_page_or_a_comment_names_exists():
    equal(lint_paths(), [])


@test
def a_name_of_no_file_in_a_page_is_found():
    with folder() as where:
        path = os.path.join(where, "page.md")
        text = ("Run `tests/run`, `TESTS=tests/lib/nosuch.py`, ./tools/deps, store/nosuch/ and `conf.c`; `nosuch.h`,\n"
                "/etc/nosuch.conf, build/nosuch.c, other/nosuch.py and `tests/e2e/*/test_nosuch*.py`.\n"
                "```\npython3 tests/lib/none.py nosuch.c\n```\n")
        with open(path, "w", encoding="utf-8") as page:
            page.write(text)
        equal(lint_paths(path), [(1, "nosuch.h"), (1, "store/nosuch/"), (1, "tests/lib/nosuch.py"),
                                 (2, "other/nosuch.py"), (2, "tests/e2e/*/test_nosuch*.py"),
                                 (4, "tests/lib/none.py")])


@test
def a_name_of_no_file_in_a_comment_is_found():
    with folder() as where:
        path = os.path.join(where, "source.c")
        with open(path, "w", encoding="utf-8") as source:
            source.write('/* See conf.c, dict_test.c, engine/unblock.c, engine/nosuch.c,\n'
                         ' * server/nosuch, store/txn/txn_<type>.c and Redis\' rdb.h. */\n'
                         'const char *name = "nosuch.c"; // nosuch.c\n')
        equal(lint_paths(path), [(1, "engine/nosuch.c"), (2, "server/nosuch"), (3, "nosuch.c")])


@test
def the_map_lists_every_page():
    """Is the page listed, directly or in the README of its folder?"""
    known = {file for file, _ in links(MAP)}
    for file in [page for page in pages() if page in known and page.endswith("/README.md")]:
        known |= {page for page, _ in links(file)}
    lost = [os.path.relpath(page, ROOT) for page in pages() if page not in known | {MAP}]
    equal(lost, [])


@test
def the_map_itself_lists_the_pages_of_the_guide():
    known = {file for file, _ in links(MAP)}
    guide = glob.glob(os.path.join(ROOT, "doc", "guide", "*.md"))
    assert len(guide) > 5, guide
    equal([os.path.basename(page) for page in guide if page not in known], [])


@test
def the_changelog_begins_with_the_version_of_the_daemon():
    with open(os.path.join(ROOT, "server", "base", "version.h"), encoding="utf-8") as header:
        version = re.search(r'EXPIRED_VERSION\s+"(.*)"', header.read()).group(1)
    with open(os.path.join(ROOT, "CHANGELOG.md"), encoding="utf-8") as page:
        heading = re.search(r"^## (.*)$", page.read(), re.M).group(1)
    assert re.fullmatch(rf"{re.escape(version)} \((unreleased|\d{{4}}-\d\d-\d\d)\)", heading), heading


def warnings():
    """[(file, text)] of the sources; a text has X for each value. Left out: texts made elsewhere."""
    found = []
    for file in glob.glob(os.path.join(ROOT, "server", "**", "*.c"), recursive=True):
        with open(file, encoding="utf-8") as source:
            calls = WARNING.findall(source.read())
        for call in calls:
            text = re.sub(r'"\s*(?:PRI\w+)?\s*"', "", call.strip()[1:-1])
            text = re.sub(r"%[-.*0-9]*(?:ll|z)?[a-z]?", "X", text)
            if re.search("[a-z]", text):
                found.append((os.path.relpath(file, ROOT), text))
    return found


@test
def the_table_of_warnings_has_all_of_them():
    with open(os.path.join(ROOT, "doc", "operations.md"), encoding="utf-8") as page:
        table = page.read().partition("### What each warning means")[2].partition("\n## ")[0]
    shown = [text for cell in re.findall(r"^\| (`.*?`.*?) \|", table, re.M)
             for text in re.findall(r"`([^`]+)`", cell)]
    patterns = [".*".join(re.escape(part) for part in text.split("...")) for text in shown]
    found = warnings()
    assert len(found) > 40, found
    equal([f"{file}: {text}" for file, text in found
           if not any(re.search(pattern, text) for pattern in patterns)], [])


main()
