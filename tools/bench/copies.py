"""copies: the time in which a replica loads a full copy.

The copy is recorded from a master, and then sent from memory as fast as the replica takes it, so that the child that
writes it takes no core from the replica: a real master is another machine. Measured from the reply to PSYNC until the
replica acknowledges. The replica may use both cores, because it has a thread that reads ahead; the sender
spends little.
"""
import os
import socket
import time
from statistics import median

from servers import OPTIONS, Failed, Link, Measured
from sink import MARK, line

SECONDS = 300  # that a copy may take
# (title, mix, the setting that says how many)
COPIES = (("strings", "set", "keys"), ("strings with a TTL", "setex", "keys"),
          ("members of a sorted set", "zadd", "keys"))
LOADS = {"redis": ["--repl-diskless-load", "on-empty-db"]}  # otherwise it writes a file first
FAST = ["--repl-diskless-sync-delay", "0", "--repl-diskless-sync", "yes"]


class Record:
    """The replies of a master to a new replica: a line to each request of the handshake, and the copy."""

    def __init__(self, port, is_ours):
        link, self.lines = Link(("127.0.0.1", port)), []
        options = [("capa", "eof"), ("capa", "psync2")] + ([("capa", "expired")] if is_ours else [])
        for words in options:
            link.send("REPLCONF", *words)
            self.lines.append(line(link))
        link.send("PSYNC", "?", "-1")
        self.resync = line(link)
        head = line(link)
        while not head.startswith(b"$EOF:"):
            if head:
                raise Failed(f"PSYNC was answered with {head[:100]!r}")
            head = line(link)
        mark, pieces, last = head[-MARK:], [link.pending], link.pending[-MARK:]
        while mark not in last:
            link.pending = b""
            link.more()
            pieces.append(link.pending)
            last = last[-MARK:] + link.pending
        link.close()
        self.head, self.copy = head, b"".join(pieces)


class Sender:
    """A master that has only a recorded copy, for one replica."""

    def __init__(self, record):
        self.record = record
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def send(self, replica):
        """(seconds, CPU seconds of the replica, those of its first thread) from the reply to PSYNC until it has
        acknowledged the copy."""
        self.listener.settimeout(SECONDS)
        stream, _ = self.listener.accept()
        with stream:
            stream.settimeout(SECONDS)
            file = stream.makefile("rb")
            while True:
                words = request(file)
                if words[0] == b"PSYNC":
                    break
                stream.sendall(self.reply_to(words) + b"\r\n")
            begin, spent, alone = time.monotonic(), replica.cpu_seconds(), first_thread(replica.process.pid)
            stream.sendall(self.record.resync + b"\r\n" + self.record.head + b"\r\n" + self.record.copy)
            while request(file)[1:2] != [b"ACK"]:
                pass
            return (time.monotonic() - begin, replica.cpu_seconds() - spent,
                    first_thread(replica.process.pid) - alone)

    def reply_to(self, words):
        if words[0] == b"PING":
            return b"+PONG"
        ours = [said for said in self.record.lines if b"expired" in said]
        return ours[0] if ours and b"expired" in b" ".join(words) else b"+OK"


def first_thread(pid):
    """Its CPU seconds."""
    with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def request(file):
    """The next one that is not an empty line."""
    said = b"\n"
    while said == b"\n":
        said = file.readline()
    if not said.startswith(b"*"):
        raise Failed(f"a replica has sent {said[:100]!r}")
    return [file.read(int(file.readline()[1:]) + 2)[:-2] for _ in range(int(said[1:]))]


class Replica(Measured):
    """On both cores."""

    def prepare(self):
        os.setsid()
        os.sched_setaffinity(0, {self.bench.server_core, self.bench.load_core})


def copy_once(bench, settings, name, record):
    with Sender(record) as sender:
        command = [*settings.servers[name], *OPTIONS, *LOADS.get(name, []), "--replicaof",
                   f"127.0.0.1 {sender.port}"]
        with Replica(name, command, bench) as replica:
            return sender.send(replica)


def record_of(bench, settings, name, mix, count):
    with bench.server(name, [*settings.servers[name], *OPTIONS, *FAST]) as master:
        bench.load(master, "-n", count, "-c", 8, "-d", settings.value_size, mix, "fill")
        return Record(master.port, master.has("EXPIRY"))


def copies_of(bench, settings, ways, row):
    """{"<replica> from <master>": figures}"""
    _, mix, count = row
    masters = dict.fromkeys(master for _, master in ways)
    records = {name: record_of(bench, settings, name, mix, getattr(settings, count)) for name in masters}
    found = {way: [] for way in ways}
    for _ in range(settings.rounds):
        for replica, master in ways:
            found[replica, master].append(copy_once(bench, settings, replica, records[master]))
    return {f"{replica} from {master}": {"seconds": median(t[0] for t in times), "cpu": median(t[1] for t in times),
                                         "thread": median(t[2] for t in times), "bytes": len(records[master].copy)}
            for (replica, master), times in found.items()}


def measure(bench, settings, say):
    """[{what, items, "expired from expired": figures, ...}]"""
    result = []
    ways = [("expired", "expired")] + [("expired", "redis"), ("redis", "redis")] * ("redis" in settings.servers)
    for row in COPIES:
        found = copies_of(bench, settings, ways, row)
        items = getattr(settings, row[2])
        result.append({"what": row[0], "items": items, **found})
        say(f"replication: a full copy of {items} {row[0]}: " + ", ".join(
            f"{way} {its['seconds']:.2f} s, CPU {its['cpu']:.2f} s, first thread {its['thread']:.2f} s"
            for way, its in found.items()))
    return result
