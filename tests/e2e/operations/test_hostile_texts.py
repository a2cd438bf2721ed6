#!/usr/bin/python3 -B
"""Texts that clients choose, in everything that other people and their tools read: random bytes with
line ends, quotes, control bytes and bad UTF-8, in each name and argument that the server shows,
by each way in. INFO, CLIENT LIST, ACL LOG, MONITOR, SLOWLOG, LATENCY, the log, /metrics and
/state.json keep their grammar. TEST_SEED chooses the texts."""
import json
import random
import re
import socket
import sys
from contextlib import suppress

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import encode, equal, main, own, random_seed, wait_for
from http_port import Port
from resp import plain, value_of

SEED = random_seed()
ROUNDS, CALLS = 8, 120
PIECES = [b"\r\n", b"\n", b"\r", b"\0", b"\x7f", b"\x01", b"\x1b[2J", b"\t", b" ", b'"', b"'", b"\\", b"#",
          b"# Server", b":", b"=", b",", b"|", b"{", b"}", b"[", b"<b>", b"%s", b"\\n", b"\xff", b"\xc3",
          b"\xed\xa0\x80", "Ä".encode(), "\u2028".encode(), "\U0001f600".encode(), b"role:slave",
          b"db0:keys=1", b"user=x", b"x", b"a", b"WRONG ", b"-", b"+", b"$5\r\nhello\r\n", b"x" * 60]
PRINTABLE = rb"[^\x00-\x20\x7f]"
NAME = rb"[^#:=,\x00-\x20\x7f-\xff]+"
INFO_LINE = re.compile(rb"|# [\w-]+|slave\d+:ip=[^,\s]+,port=\d+,state=\w+,offset=\d+,lag=\d+|"
                       rb"errorstat_" + NAME + rb":count=\d+|(?!slave\d|errorstat)" + NAME + rb":[^\x00-\x1f\x7f]*")
ADDED = re.compile(rb"(?:errorstat_" + NAME + rb"|(?:cmdstat|latency_percentiles_usec)_[\w.|-]+|slave\d+|master_\w+|"
                   rb"slave_\w+|replica_announced|db\d+):")
FIELD = re.compile(rb"([a-z-]+)=(" + PRINTABLE + rb"*)")
WORD = rb'"(?:[^"\\\x00-\x1f\x7f-\xff]|\\["\\nrtab]|\\x[0-9a-f]{2})*"'
MONITOR_LINE = re.compile(rb"\+\d+\.\d{6} \[\d+ \S+\](?: " + WORD + rb")+\r\n")
LOG_LINE = re.compile(rb"\d+:[A-Z] \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d\.\d{3} [.*#-] [^\x00-\x1f\x7f]*")
CALLED = b"return redis.call(unpack(ARGV))"
LIBRARY = b"redis.register_function('f', function() end)"


def text_of(rng):
    some = bytes(rng.randrange(256) for _ in range(rng.randrange(4)))
    return b"".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 6))) + some


def call_of(rng):
    """A call that gives the server a text, or two, to keep or to show."""
    def text():
        return text_of(rng)

    return rng.choice([
        lambda: ["SET", text(), text()], lambda: ["LPUSH", text(), text()], lambda: [text()],
        lambda: [text(), text()], lambda: ["CLIENT", text()], lambda: ["ACL", text(), text()],
        lambda: ["REDE.PUSH", text(), 0, text(), text()],
        lambda: ["XGROUP", "CREATE", "stream", text(), 0, "MKSTREAM"],
        lambda: ["XGROUP", "CREATE", text(), text(), 0, "MKSTREAM"],
        lambda: ["XADD", "stream", "*", text(), text()],
        lambda: ["XREADGROUP", "GROUP", text(), text(), "STREAMS", "stream", ">"],
        lambda: ["POLICY", "SET", text(), "TTL", text()],
        lambda: ["POLICY", "SET", text(), "EXPIRED", "TO", text()],
        lambda: ["PUBLISH", text(), text()],
        lambda: ["CLIENT", "SETNAME", text()], lambda: ["CLIENT", "SETINFO", "lib-name", text()],
        lambda: ["CLIENT", "SETINFO", "lib-ver", text()], lambda: ["HELLO", 2, "SETNAME", text()],
        lambda: ["HELLO", text()], lambda: ["HELLO", 3, "AUTH", text(), text()],
        lambda: ["AUTH", text(), text()], lambda: ["AUTH", text()], lambda: ["CLIENT", "KILL", text()],
        lambda: ["ACL", "SETUSER", text(), "on", "nopass", "+@all"],
        lambda: ["ACL", "SETUSER", "limited", b"~" + text()], lambda: ["ACL", "SETUSER", "limited", text()],
        lambda: ["ACL", "DRYRUN", "limited", "SET", text(), text()], lambda: ["ACL", "DELUSER", text()],
        lambda: ["EVAL", text(), 0], lambda: ["EVAL", "return redis.error_reply(ARGV[1])", 0, text()],
        lambda: ["EVAL", "error(ARGV[1])", 0, text()], lambda: ["EVAL", "return {err=ARGV[1]}", 0, text()],
        lambda: ["EVAL", "return redis.status_reply(ARGV[1])", 0, text()],
        lambda: ["EVAL", "error({err=ARGV[1]})", 0, text()], lambda: ["EVALSHA", text(), 0],
        lambda: ["EVAL", "redis.log(redis.LOG_WARNING, ARGV[1])", 0, text()],
        lambda: ["EVAL", "redis.setresp(3) return {big_number=ARGV[1]}", 0, text()],
        lambda: ["FUNCTION", "LOAD", b"#!lua name=" + text() + b"\n" + LIBRARY],
        lambda: ["FUNCTION", "LOAD", b"#!" + text() + b"\n" + LIBRARY],
        lambda: ["FUNCTION", "LOAD", b"#!lua name=x\nredis.register_function([[" + text() + b"]], print)"],
        lambda: ["FCALL", text(), 0], lambda: ["FUNCTION", "LIST", "LIBRARYNAME", text()],
        lambda: ["CONFIG", "SET", text(), text()],
        lambda: ["CONFIG", "SET", "replica-announce-ip", text()],
        lambda: ["CONFIG", "SET", rng.choice(["maxmemory", "save", "dir", "loglevel", "policy"]), text()],
        lambda: ["LATENCY", "HISTORY", text()], lambda: ["LATENCY", "HISTOGRAM", text()],
        lambda: ["DEBUG", text()], lambda: ["COMMAND", "DOCS", text()], lambda: ["MIGRATE", text(), 1, "", 0, 1],
        lambda: ["FAILOVER", "TO", text(), 1], lambda: ["REPLCONF", "ip-address", text()],
        lambda: ["REPLCONF", text(), text()], lambda: ["REPLICAOF", text(), rng.choice([1, text()])],
        lambda: ["REPLICAOF", "NO", "ONE"],
    ])()


def through_a_door(rng, daemon, raw, call):
    door = rng.randrange(5)
    if door == 0:
        raw.calls([["MULTI"], call, ["EXEC"]])
    elif door == 1:
        raw.call("EVAL", CALLED, 0, *call)
    elif door == 2:  # its line ends cut it into several requests
        with daemon.raw() as inline:
            line = [part if isinstance(part, bytes) else str(part).encode() for part in call]
            with suppress(OSError):  # closed at a wrong quote
                inline.send(b" ".join(line) + b"\r\n")
                inline.socket.shutdown(socket.SHUT_WR)
                inline.rest()
    else:
        raw.call(*call)


def replicate(rng, admin, other, number):
    """The server gets a replica or a master with a text as its address."""
    equal(admin.call("REPLICAOF", "NO", "ONE"), b"+OK\r\n")
    if number % 2 == 0:
        admin.call("REPLICAOF", text_of(rng), 1)
        return
    other.calls([("REPLCONF", "ip-address", text_of(rng)), ("REPLCONF", "listening-port", 1)])
    other.send(encode("PSYNC", "?", "-1"))
    assert wait_for(lambda: b"connected_slaves:1\r" in admin.call("INFO", "replication"))


# ---- grammars ----

def check_info(raw, usual):
    """Returns (section, field) of each line; those that follow from calls and connections are left out."""
    section, found = b"", []
    for line in plain(value_of(raw.call("INFO", "everything"))[0]).split(b"\r\n"):
        assert INFO_LINE.fullmatch(line), line
        if line.startswith(b"# "):
            section = line
        elif line and not ADDED.match(line):
            found.append((section, line.partition(b":")[0]))
    twice = [one for one in found if found.count(one) > 1]
    assert not twice and (usual is None or set(found) <= usual), (twice, set(found) - usual)
    return set(found)


def fields_of(line):
    """Those of a line of CLIENT LIST."""
    found = [FIELD.fullmatch(word) for word in line.split(b" ")]
    assert all(found), line
    return [one[1] for one in found]


def check_clients(raw, names):
    lines = plain(value_of(raw.call("CLIENT", "LIST"))[0]).split(b"\n")
    equal(lines.pop(), b"")
    for line in lines:
        equal(fields_of(line), names)


def check_logs(raw, names):
    for entry in plain(value_of(raw.call("ACL", "LOG", 1000))[0]):
        fields = dict(zip(entry[::2], entry[1::2]))
        equal(fields_of(fields[b"client-info"]), names)
        assert fields[b"reason"] in (b"auth", b"command", b"key", b"channel"), fields
    for entry in plain(value_of(raw.call("SLOWLOG", "GET", -1))[0]):
        assert len(entry) == 6 and isinstance(entry[3], list), entry
    for event in plain(value_of(raw.call("LATENCY", "LATEST"))[0]):
        assert re.fullmatch(rb"[a-z-]+", event[0]), event
    histogram = plain(value_of(raw.call("LATENCY", "HISTOGRAM"))[0])
    commands = {name.lower() for name in plain(value_of(raw.call("COMMAND", "LIST"))[0])}
    assert {name.partition(b"|")[0] for name in histogram[::2]} <= commands, histogram[::2]
    doctor = plain(value_of(raw.call("LATENCY", "DOCTOR"))[0])
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", doctor), doctor


def check_pages(daemon, keys):
    daemon.metrics()
    state = json.loads(daemon.ask("/state.json").body.decode("utf-8", "strict"))
    equal(sorted(state), keys)


def check_monitor(monitor):
    lines = monitor.heard_replies()
    assert lines, "MONITOR shows nothing"
    for line in lines:
        assert MONITOR_LINE.fullmatch(line), line


def check_log(daemon):
    with open(daemon.log_path, "rb") as file:
        for line in file.read().split(b"\n")[:-1]:
            assert LOG_LINE.fullmatch(line), line


@own
def texts_of_clients_keep_to_the_grammar_of_what_shows_them():
    rng = random.Random(SEED)
    with Port("--slowlog-log-slower-than", "0", "--slowlog-max-len", "400", "--latency-monitor-threshold", "1",
              "--acllog-max-len", "400", "--loglevel", "debug", "--repl-diskless-sync-delay", "0") as daemon, \
            daemon.raw() as admin, daemon.raw() as monitor:
        usual = check_info(admin, None)
        names = fields_of(plain(value_of(admin.call("CLIENT", "LIST"))[0]).split(b"\n")[0])
        keys = sorted(json.loads(daemon.ask("/state.json").body))
        admin.call("ACL", "SETUSER", "limited", "on", "nopass", "+@all", "-@dangerous", "~a*")
        monitor.call("MONITOR")
        for number in range(ROUNDS):
            with daemon.raw() as raw, daemon.raw() as listener, daemon.raw() as other:
                if number % 4 == 3:
                    raw.call("AUTH", "limited", "x")
                listener.call("SUBSCRIBE", text_of(rng))
                other.call("CLIENT", "SETNAME", text_of(rng).translate(None, b"\n\r \t"))
                for _ in range(CALLS):
                    through_a_door(rng, daemon, raw, call_of(rng))
                replicate(rng, admin, other, number)
                check_info(admin, usual)
                check_clients(admin, names)
                check_logs(admin, names)
                check_pages(daemon, keys)
                check_monitor(monitor)
        check_log(daemon)


main(seconds=120)
