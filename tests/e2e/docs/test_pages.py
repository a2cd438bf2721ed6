#!/usr/bin/python3 -B
"""Documentation: every link has a target and every named file exists, doc/README.md lists every page of doc/, and
doc/operations.md explains every warning of the log."""
import glob
import os
import re
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


def tree():
    """The names of all files of the sources."""
    found = set()
    for _, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in ("build", "data", "node_modules", ".git")]
        found.update(files)
    return found


def missing_files(path, known):
    """Words of a page that look like a file or folder of the sources and are none: with a folder that exists,
    here or at the root, or, outside of programs, the name of a source or a test."""
    with open(path, encoding="utf-8") as page:
        words = re.findall(r"(?<![\w./~$:@<>{}-])(?:\w+=)?(?:\./)?([\w.*-]+(?:/[\w.*-]+)*/?)", page.read())
    for name in sorted({word.rstrip(".") for word in words if "..." not in word}):
        first, slash, _ = name.partition("/")
        bases = [base for base in (ROOT, os.path.dirname(path)) if os.path.isdir(os.path.join(base, first))]
        if slash and first != "build" and re.search(r"\.\w{1,4}$|/$", name):
            if bases and not any(glob.glob(os.path.join(base, name)) for base in bases):
                yield name
    for name in re.findall(r"`(\w+\.[ch]|test_\w+\.(?:py|mjs))`", text_of(path)):
        if name not in known and "/guide/" not in path:  # there they are the reader's
            yield name


@test
def every_file_that_a_page_names_exists():
    known = tree()
    equal([f"{os.path.relpath(page, ROOT)}: {name}" for page in pages() for name in missing_files(page, known)], [])


@test
def a_name_of_no_file_is_found():
    with folder() as where:
        path = os.path.join(where, "page.md")
        text = ("Run `tests/run`, `TESTS=tests/lib/nosuch.py`, ./tools/deps, store/nosuch/ and `conf.c`; `nosuch.h`, "
                "/etc/nosuch.conf, build/nosuch.c, other/nosuch.py and `tests/e2e/*/test_nosuch*.py`.\n"
                "```\npython3 tests/lib/none.py nosuch.c\n```\n")
        with open(path, "w", encoding="utf-8") as page:
            page.write(text)
        equal(list(missing_files(path, {"conf.c"})),
              ["store/nosuch/", "tests/e2e/*/test_nosuch*.py", "tests/lib/none.py", "tests/lib/nosuch.py", "nosuch.h"])


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
