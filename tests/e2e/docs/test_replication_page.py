#!/usr/bin/python3 -B
"""doc/replication.md: the files that it shows make a group of three machines; its commands and its
program find the master. The machines are three ports of this one."""
import contextlib
import os
import re
import subprocess
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import BINARY, REPLY_SECONDS, ROOT, Server, die_with_parent, equal, free_port, main, own, wait_for
from redis_cli import ENVIRONMENT
from sentinels import sentinel_binary

with open(os.path.join(ROOT, "doc", "replication.md"), encoding="utf-8") as page:
    SETUP = page.read().partition("## Three machines with Sentinel\n")[2].partition("\n## ")[0]
SERVER, SENTINEL, COMMANDS, PROGRAM = re.findall(r"^```\w*\n(.*?)^```$", SETUP, re.M | re.S)[:4]
PASSWORD = re.search(r"requirepass (.*)", SERVER)[1]
ADDRESS = "127.0.0.2"  # in place of the three of the page, beside 127.0.0.1
REPLICAOF = re.compile(r"^replicaof .*\n", re.M)


class Machine(Server):
    """A server or a sentinel with one of the files of the page."""

    def __init__(self, binary, text):
        self.binary, self.text, self.port = binary, text, free_port()

    def arguments(self):
        return [self.binary, os.path.join(self.dir, "file"), "--port", str(self.port),
                "--unixsocket", self.path, "--dir", self.dir]

    def start(self):
        with open(os.path.join(self.dir, "file"), "w", encoding="utf-8") as to:
            to.write(self.text)
        super().start()

    def redis(self, **options):
        return redis.Redis(unix_socket_path=self.path, socket_timeout=REPLY_SECONDS, decode_responses=True,
                           **options)


def local(text, master=None):
    """The text of the page for this machine."""
    text = re.sub(r"10\.0\.0\.\d 6379", f"{ADDRESS} {master}", text)
    return re.sub(r"10\.0\.0\.\d", ADDRESS, text)


def ask(command, sentinel):
    """What redis-cli prints for a line of the page, in one line."""
    words = command.partition("#")[0].replace("26379", str(sentinel.port)).split()
    done = subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT,
                          check=True, preexec_fn=die_with_parent)
    return " ".join(done.stdout.split())


def run_program(sentinels):
    ports = iter([one.port for one in sentinels])
    program = re.sub(r'"10\.0\.0\.\d", 26379', lambda _: f'"{ADDRESS}", {next(ports)}', PROGRAM)
    program += 'print(master.set("k", "v"), master.wait(1, 10_000) > 0, replica.ping())\n'
    done = subprocess.run([sys.executable, "-"], input=program, capture_output=True, text=True,
                          check=False, preexec_fn=die_with_parent)
    equal((done.stdout, done.stderr), ("True True True\n", ""))


@own
def the_files_of_the_page_make_a_group():
    with contextlib.ExitStack() as stack:
        master = stack.enter_context(Machine(BINARY, REPLICAOF.sub("", local(SERVER))))
        for _ in range(2):
            stack.enter_context(Machine(BINARY, local(SERVER, master.port)))
        def replicas():
            return master.redis(password=PASSWORD).info("replication")["connected_slaves"]
        assert wait_for(lambda: replicas() == 2), master.log()
        sentinels = [stack.enter_context(Machine(sentinel_binary(), local(SENTINEL, master.port)))
                     for _ in range(3)]
        show, details, fail_over = COMMANDS.splitlines()
        for line in (show, details):
            parts = line.partition("#")[2].strip().split(", ")
            for one in sentinels:
                assert wait_for(lambda: all(part in ask(line, one) for part in parts), nap=0.1), \
                    (parts, ask(line, one))
        run_program(sentinels)
        equal(ask(fail_over, sentinels[0]), "OK")
        def has_moved():
            return sentinels[0].redis().sentinel_master("shop")["port"] != master.port
        assert wait_for(has_moved, nap=0.1), sentinels[0].log()


main()
