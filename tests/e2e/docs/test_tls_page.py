#!/usr/bin/python3 -B
"""doc/tls.md: its commands make certificates with which its programs connect."""
import os
import re
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import BINARY, ROOT, Daemon, equal, folder, free_port, main, own, die_with_parent
from redis_cli import ENVIRONMENT

PAGE = os.path.join(ROOT, "doc", "tls.md")
MODULES = os.path.join(ROOT, "tests", "e2e", "clients", "node_modules")


def blocks(language, port):
    with open(PAGE, encoding="utf-8") as page:
        found = re.findall(rf"^```{language}\n(.*?)^```$", page.read(), re.M | re.S)
    return [block.replace("6380", str(port)) for block in found]


def run(words, place, given=None):
    done = subprocess.run(words, cwd=place, input=given, capture_output=True, text=True,
                          env=ENVIRONMENT, check=False, preexec_fn=die_with_parent)
    equal(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


@own
def the_programs_of_the_page_connect():
    port = free_port()
    make, start, ask = blocks("sh", port)
    with folder() as place:
        run(["sh", "-e"], place, make)
        words = run(["sh", "-e"], place, start.replace("expired", f"printf '%s\n'", 1))
        options = words.split("\n")[2:-1]  # without --port 0, which Daemon gives too
        equal(options[0], "--tls-port", BINARY)
        os.symlink(MODULES, os.path.join(place, "node_modules"))
        with Daemon(*options):
            equal(run(["sh", "-e"], place, ask), "PONG\n")
            for program in blocks("python", port):
                equal(run([sys.executable, "-"], place, program), "True\n")
            programs = blocks("js", port)
            equal(len(programs), 2)
            for program in programs:
                equal(run(["node", "--input-type=module", "-"], place, program), "PONG\n")


@own
def the_page_names_every_option():
    with Daemon() as daemon, daemon.redis() as client, open(PAGE, encoding="utf-8") as page:
        text = page.read()
        for option in client.config_get("tls-*"):
            assert f"`{option}`" in text, option


if __name__ == "__main__":
    main()
