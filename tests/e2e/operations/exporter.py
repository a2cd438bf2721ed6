"""exporter: what tests of metrics share: Debian's exporter as a process, what it makes of a server
in use, and Prometheus' text format."""
import os
import re
import urllib.request

from daemon import Daemon, encode, equal, free_port, wait_for
from oracle import missing
from server import Server

EXPORTER = os.environ.get("EXPORTER") or "/usr/bin/prometheus-redis-exporter"
SCRAPE_SECONDS = 20


def exporter():
    """The path of the exporter; AssertionError or Skipped where it is missing, as the oracle's."""
    if os.access(EXPORTER, os.X_OK):
        return EXPORTER
    raise missing(f"there is no {EXPORTER} (package prometheus-redis-exporter)")


class Exporter(Server):
    """The exporter, connected to a daemon with a TCP port."""

    def __init__(self, daemon, *options):
        self.daemon, self.options, self.port = daemon, options, 0

    def arguments(self):
        return [exporter(), "-redis.addr", f"redis://127.0.0.1:{self.daemon.port}",
                "-web.listen-address", f"127.0.0.1:{self.port}", "-debug", *self.options]

    def start(self):
        self.port = free_port()
        super().start()

    def answers(self):
        try:
            return self.get("/health") is not None
        except OSError:
            return False

    def get(self, path):
        address = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(address, timeout=SCRAPE_SECONDS) as reply:
            return reply.read().decode()

    def complaints(self):
        """Lines of its log about what it could not read."""
        return [line for line in self.log().splitlines()
                if re.search(r'level=(warn|error|fatal)|msg="(?!info: )[^"]*(couldn\'t|can\'t|invalid'
                             r"|unable|unexpected|nope)", line) and "result: " not in line]


# --- a server in use -----------------------------------------------------------------------------

OPTIONS = ("-export-client-list", "-include-system-metrics", "-check-keys", "s*,l*,h", "-count-keys",
           "s*", "-check-key-groups", "^(.)", "-include-config-metrics", "-set-client-name",
           "-ping-on-connect")
SERVER = ("--appendonly", "yes", "--slowlog-log-slower-than", "0", "--latency-monitor-threshold", "20",
          "--maxmemory", "1gb")


def use(daemon):
    """Data of each type, clients, scripts, errors, and an entry of the slow log and of LATENCY."""
    raw, waiter, listener = daemon.raw(), daemon.raw(), daemon.raw()
    for line in ("CLIENT SETNAME worker", "SET s1 v EX 1000", "SET s2 5", "RPUSH l a b", "SADD t a b",
                 "HSET h f v", "ZADD z 1 a", "PFADD p a", "SELECT 3", "SET other v", "SELECT 0",
                 "GET s1", "GET none", "INCR l", "NOSUCH", "SCRIPT LOAD return", "DEBUG SLEEP 0.05",
                 "BGSAVE"):
        raw.call(*line.split())
    raw.call("EVAL", "return redis.call('GET', KEYS[1])", "1", "s1")
    raw.call("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() end)")
    listener.send(encode("SUBSCRIBE", "news"))
    listener.reply()
    waiter.send(encode("BLPOP", "empty", "0"))
    assert wait_for(lambda: b"blocked_clients:1\r\n" in raw.call("INFO", "clients"))
    assert wait_for(lambda: b"rdb_bgsave_in_progress:0\r\n" in raw.call("INFO", "persistence"))
    return raw, waiter, listener


def scrape_replica():
    """What the exporter makes of a replica, whose master need not be there."""
    with Daemon("--replicaof", f"127.0.0.1 {free_port()}", tcp=True) as daemon:
        with Exporter(daemon, *OPTIONS) as exporter:
            return exporter.get("/metrics")


def scrape(binary=None):
    """What the exporter makes of a server that is in use; it must not complain."""
    chosen = {} if binary is None else {"binary": binary}
    with Daemon(*SERVER, tcp=True, **chosen) as daemon:
        clients = use(daemon)
        with Exporter(daemon, *OPTIONS) as exporter:
            exporter.get("/metrics")  # so that the second one sees a command of the first
            text = exporter.get("/metrics")
            equal(exporter.complaints(), [], "the exporter's log")
        for client in clients:
            client.close()
    return text


# --- the text format -----------------------------------------------------------------------------

SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([^ ]+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:\\.|[^"\\])*)"')
SERIES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}


def samples(text):
    """[(name, {label: value}, value)]; AssertionError for a line that is none."""
    found = []
    for line in text.splitlines():
        if line == "" or line.startswith("#"):
            continue
        match = SAMPLE.match(line)
        assert match, f"not a sample: {line}"
        found.append((match[1], dict(LABEL.findall(match[2] or "")), float(match[3])))
    return found


def series(text):
    """{name: the labels that it may have}, also of metrics without samples."""
    found = {}
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M):
        for suffix in SERIES.get(kind, ("",)):
            found[name + suffix] = set()
    for name, labels, _ in samples(text):
        found.setdefault(name, set()).update(labels)
    return found
