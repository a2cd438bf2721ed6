#!/usr/bin/python3 -B
"""doc/celery.md: its program runs with the worker of the page and prints what the page shows, and its table has the
transport's options."""
import os
import re
import subprocess
import sys

sys.path.insert(1, sys.path[0])
from brokers import CLIENTS, COMPILED_BY_DEBIAN, ROOT, Broker
from daemon import die_with_parent, equal, main, own, test
from expired.kombu import OPTIONS, URL_OPTIONS

with open(os.path.join(ROOT, "doc/celery.md"), encoding="utf-8") as page:
    PAGE = page.read()


def block(kind):
    found = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.M | re.S)
    equal(len(found), 1, f"blocks of {kind}")
    return found[0]


@own
def program_prints_what_the_page_shows():
    commands = [line[2:].split("#")[0].split() for line in block("console").splitlines()]
    worker, program = ([sys.executable, *rest] for rest in (
        ["-m", *next(words for words in commands if words[0] == "celery")],
        next(words for words in commands if words[0] == "python3")[1:]))
    with Broker() as broker:
        with open(os.path.join(broker.dir, "shop.py"), "w", encoding="utf-8") as file:
            file.write(block("python"))
        where = {"cwd": broker.dir, "preexec_fn": die_with_parent, "env": {
            **os.environ, "REDIS_URL": broker.url.rsplit("/", 1)[0], "PYTHONPATH": CLIENTS,
            **COMPILED_BY_DEBIAN, "C_FORCE_ROOT": "1", "TMPDIR": broker.dir}}
        with subprocess.Popen(worker, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **where) as running:
            try:
                done = subprocess.run(program, capture_output=True, text=True, check=False, **where)
            finally:
                running.terminate()
        equal((done.returncode, done.stdout), (0, block("text")), done.stderr)


@test
def table_has_every_option():
    table = PAGE[PAGE.index("## Options"):PAGE.index("## Errors")]
    named = [name for row in re.findall(r"^\| (`.*?`) \|", table, re.M) for name in re.findall("`(.*?)`", row)]
    equal(sorted(named), sorted(OPTIONS))
    equal(tuple(named[:2]), URL_OPTIONS)


if __name__ == "__main__":
    main()
