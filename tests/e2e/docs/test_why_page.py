#!/usr/bin/python3 -B
"""doc/guide/where-did-my-session-go.md: each mystery runs as the page shows it, and EXPIRY WHY answers as the
page says. Clocks are held, and stepped by `wait`."""
import os
import re
import shlex
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, ROOT, Daemon, equal, main, plain, read_reply, stepped, wait_for

PAGE = os.path.join(ROOT, "doc/guide/where-did-my-session-go.md")


def pairs(flat):
    return dict(zip(flat[::2], flat[1::2]))


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def shown(record):
    """A record as the page shows it."""
    if record["by"] == "policy":
        who = f"policy {record['policy']} {record['option']}"
    elif record["by"] == "command":
        who = record["command"] + (f" of {record['client-name']}" if record["client-name"] else "")
        who += " in a script" if record["script"] else ""
    else:
        who = record["by"]
    return f"{record['what']} by {who}"


class Mystery:
    def __init__(self):
        self.daemon, self.replica, self.clients = Daemon(tcp=True), None, {}

    def __enter__(self):
        self.daemon.__enter__()
        self.daemon.hold()
        return self

    def __exit__(self, *exception):
        for raw in self.clients.values():
            raw.close()
        if self.replica is not None:
            self.replica.__exit__(*exception)
        return self.daemon.__exit__(*exception)

    def call(self, name, *arguments):
        if name not in self.clients:
            self.clients[name] = self.daemon.raw()
            self.clients[name].call("CLIENT", "SETNAME", name)
        reply = read_reply(self.clients[name].call(*arguments))[0]
        equal(plain(reply)[:3] == b"ERR" if isinstance(plain(reply), bytes) else False, False, arguments)
        return plain(reply)

    def follow(self):
        """Starts a replica, whose clock is held at the same instant."""
        self.replica = Daemon("--replicaof", f"127.0.0.1 {self.daemon.port}")
        self.replica.__enter__()
        self.replica.hold()
        with self.replica.raw() as raw:
            wait_for(lambda: b"master_link_status:up" in raw.call("INFO", "replication"))

    def why(self, daemon, words):
        with daemon.raw() as raw:
            answer = pairs(plain(read_reply(raw.call("EXPIRY", "WHY", *words))[0]))
        answer = {text(name): value for name, value in answer.items()}
        records = [{text(k): text(v) for k, v in pairs(record).items()} for record in answer["records"]]
        return text(answer["state"]), [shown(record) for record in records]

    def check(self, daemon, words, wanted):
        state, records = wanted.split(": ")
        records = records.split("; ")
        found_state, found = self.why(daemon, words)
        equal((found_state, found[:len(records)]), (state, records))


def run(script):
    lines = iter(script.splitlines())
    with Mystery() as mystery:
        if "replica" in script:
            mystery.follow()
        for line in lines:
            if line.startswith("wait "):
                mystery.daemon.step(int(line[5:]))
            elif line.startswith("replica waits "):
                with mystery.daemon.raw() as raw:
                    raw.call("WAIT", "1", "0")
                mystery.replica.step(int(line[14:]))
            elif line.startswith("why "):
                mystery.check(mystery.daemon, line[4:].split(), next(lines))
            elif line.startswith("replica why "):
                mystery.check(mystery.replica, line[12:].split(), next(lines))
            else:
                name, command = line.split("> ", 1)
                words = shlex.split(command.replace("$(DUMP s:1)", "PAYLOAD"))
                words = [mystery.call("backup", "DUMP", "s:1") if word == "PAYLOAD" else word for word in words]
                mystery.call(name, *words)


with open(PAGE, encoding="utf-8") as page:
    MYSTERIES = re.findall(r"^### (.*?)$.*?^```mystery\n(.*?)^```$", page.read(), re.M | re.S)


def add(title, script):
    def mystery_is_answered():
        run(script)
    mystery_is_answered.__name__ = re.sub(r"\W+", "_", title.lower()).strip("_")
    stepped(mystery_is_answered)


@stepped
def page_has_twenty_mysteries():
    equal(len(MYSTERIES), 20)


for mystery_of_page in MYSTERIES:
    add(*mystery_of_page)

main(120)
