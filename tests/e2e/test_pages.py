#!/usr/bin/python3 -B
"""Documentation: every link has a target, and doc/README.md lists every page of doc/."""
import glob
import os
import re

from daemon import ROOT, equal, main, test

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


@test
def the_map_lists_every_page():
    """Is the page listed, directly or in the README of its folder?"""
    known = {file for file, _ in links(MAP)}
    for file in [page for page in pages() if page in known and page.endswith("/README.md")]:
        known |= {page for page, _ in links(file)}
    lost = [os.path.relpath(page, ROOT) for page in pages() if page not in known | {MAP}]
    equal(lost, [])


main()
