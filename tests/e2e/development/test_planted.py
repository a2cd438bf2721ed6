#!/usr/bin/python3 -B
"""tests/planted: each planted fault fits the sources of today, and names what is to find it. The pages list and count
all of them."""
import pathlib
import re
import sys

sys.path[1:1] = [sys.path[0] + "/../../" + name for name in ("lib", "planted", "sim")]
import programs
import worlds
from daemon import equal, main, test

ROOT = pathlib.Path(__file__).resolve().parents[3]
PLANTS = {**worlds.PLANTS, **programs.PLANTS}


@test
def each_fault_changes_a_text_that_the_sources_have_once():
    equal([f"{name}: {path}" for name, (_, *edits) in PLANTS.items() for path, old, _ in edits
           if (ROOT / path).read_text().count(old) != 1], [])


@test
def each_fault_has_a_name_of_its_own():
    equal(len(PLANTS), len(worlds.PLANTS) + len(programs.PLANTS))


@test
def each_fault_of_a_program_names_one_that_is_there_and_some_of_its_tests():
    for needs, *_ in programs.PLANTS.values():
        path, *names = needs.split()
        text = (ROOT / path).read_text()
        for name in names:
            assert any(line.startswith("def ") and name in line for line in text.splitlines()), needs


@test
def page_has_a_row_for_each_fault_in_their_order():
    text = (ROOT / "tests/planted/README.md").read_text()
    equal(re.findall(r"^\| (.+?) \| .+ \| [0-9.]+ \|$", text, re.M), list(PLANTS))


@test
def pages_count_the_faults():
    promises = (ROOT / "doc/promises.md").read_text()
    equal(sum(map(int, re.findall(r"\| (\d+) \|$", promises, re.M))), len(PLANTS))
    for page in ("doc/promises.md", "tests/planted/README.md", "tests/README.md"):
        assert re.search(rf"\b{len(PLANTS)} (in all|faults)\b", (ROOT / page).read_text()), page


sys.exit(main())
