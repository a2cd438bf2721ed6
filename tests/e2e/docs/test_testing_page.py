#!/usr/bin/python3 -B
"""doc/guide/testing.md: its tests pass with pytest and with Node's test runner, and fail where they should."""
import os
import re
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import BINARY, ROOT, Daemon, die_with_parent, equal, folder, main, own

PAGE = os.path.join(ROOT, "doc", "guide", "testing.md")
MODULES = os.path.join(ROOT, "tests", "e2e", "clients", "node_modules")
RUN = {"python": ("test_time.py", [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]),
       "js": ("time.test.mjs", ["node", "--test"])}


def program(language):
    with open(PAGE, encoding="utf-8") as page:
        found = re.findall(rf"^```{language}\n(.*?)^```$", page.read(), re.M | re.S)
    equal(len(found), 1, language)
    return found[0]


def run(language, text):
    """(exit status, output)"""
    name, words = RUN[language]
    with folder() as place:
        os.symlink(MODULES, os.path.join(place, "node_modules"))
        with open(os.path.join(place, name), "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([*words, name], cwd=place, env={**os.environ, "EXPIRED": BINARY}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              preexec_fn=die_with_parent)
    return done.returncode, done.stdout


@own
def the_tests_of_the_page_pass():
    for language, passed in (("python", "3 passed"), ("js", "# pass 3")):
        status, printed = run(language, program(language))
        assert status == 0 and passed in printed, printed


@own
def the_tests_of_the_page_find_a_session_that_lives_too_long():
    for language, failed in (("python", "1 failed, 2 passed"), ("js", "# fail 1")):
        status, printed = run(language, program(language).replace("30 * MINUTE)", "31 * MINUTE)", 2))
        assert status != 0 and failed in printed, printed


@own
def a_flush_keeps_policies_as_the_page_says():
    assert "but keeps policies" in open(PAGE, encoding="utf-8").read()
    with Daemon() as daemon, daemon.redis() as client:
        client.execute_command("POLICY SET", "k", "TTL", 100)
        client.set("k", "v")
        client.flushall()
        equal((client.dbsize(), client.execute_command("POLICY OF", "k")), (0, b"k"))
        client.execute_command("POLICY DEL", "k")
        equal(client.execute_command("POLICY OF", "k"), None)


main(150)
