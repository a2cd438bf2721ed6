"""servers: starts the servers that are measured on one core, and the tools on another. Depends on
tests/lib. A server runs in its own session and folder, and is killed when this process ends.
"""
import contextlib
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

# pylint: disable=wrong-import-position,unused-import
from process import cpu_seconds, die_with_parent, free_port  # noqa: E402,F401
from resp import encode, plain, read_reply  # noqa: E402
from server import Raw, Server  # noqa: E402

BUILD = os.path.abspath(os.environ.get("BUILD") or os.path.join(ROOT, "build"))
OURS = os.path.abspath(os.environ.get("EXPIRED") or os.path.join(BUILD, "expired"))
REDIS = "/usr/bin/redis-server"
TOOLS = os.path.join(BUILD, "tools", "bench")
REPLY_SECONDS = 120
TOOL_SECONDS = 300
TRIES = 3
# Options for servers whose command contains neither {port} nor {socket}.
OPTIONS = ["--port", "{port}", "--unixsocket", "{socket}", "--dir", "{dir}",
           "--save", "", "--appendonly", "no"]
DISTURBED = 0.03  # of the server's core, by others


class Failed(Exception):
    """A server did not start, or a tool failed."""


# ---- cores ------------------------------------------------------------------------------------

def siblings(core):
    path = f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"
    try:
        with open(path, encoding="ascii") as file:
            return {int(part.split("-")[0]) for part in file.read().split(",")}
    except OSError:
        return {core}


def choose_cores():
    """(server's core, tools' core): the last one, and the first that is no hyperthread of it."""
    allowed = sorted(os.sched_getaffinity(0))
    server = allowed[-1]
    others = [core for core in allowed if core not in siblings(server) and core != server]
    others = others or [core for core in allowed if core != server]
    return server, (others[0] if others else server)


def busy_seconds(core):
    """The CPU time of a core, and the time that the hypervisor has taken from it."""
    with open("/proc/stat", encoding="ascii") as file:
        for line in file:
            if line.startswith(f"cpu{core} "):
                user, nice, system, _idle, _wait, irq, soft, steal = map(int, line.split()[1:9])
                tick = os.sysconf("SC_CLK_TCK")
                return (user + nice + system + irq + soft) / tick, steal / tick
    return 0.0, 0.0


# ---- servers ----------------------------------------------------------------------------------

def on_core(core):
    """For preexec_fn."""
    def prepare():
        die_with_parent()
        os.sched_setaffinity(0, {core})
    return prepare


class Link(Raw):
    """One connection; replies are bytes, int, None or a list, errors are raised."""

    def __init__(self, address):
        super().__init__(address, REPLY_SECONDS)

    def send(self, *words):
        super().send(encode(*words))

    def call(self, *words):
        self.send(*words)
        return self.reply()

    def spin(self, *words):
        """As call, but polls instead of sleeping; for replies of one line."""
        self.send(*words)
        line = b""
        while not line.endswith(b"\n"):
            with contextlib.suppress(BlockingIOError):
                line += os.read(self.socket.fileno(), 64)  # not blocking: it has a timeout

    def reply(self):
        value, _ = read_reply(super().reply())
        if value[0] == b"-":
            raise Failed(value[1].decode())
        return plain(value)


class Measured(Server):
    """A server on the servers' core, in its own session."""

    START_SECONDS = 60

    def __init__(self, name, command, bench):
        self.name, self.bench = name, bench
        self.command = command if any("{port}" in word or "{socket}" in word for word in command) \
            else command + OPTIONS
        self.link = None

    def __enter__(self):
        super().__enter__()
        self.bench.running.append(self)
        return self

    def __exit__(self, *_):
        self.bench.running.remove(self)
        self.clean()

    def arguments(self):
        return [word.format(port=self.port, socket=self.path, dir=self.dir)
                for word in self.command]

    def prepare(self):
        os.setsid()
        on_core(self.bench.server_core)()

    def start(self):
        """Returns when it has loaded its data."""
        self.port = free_port()
        has_port = any("{port}" in word for word in self.command)
        has_socket = any("{socket}" in word for word in self.command)
        self.where = ["-s", self.path] if has_socket and (self.bench.unix or not has_port) \
            else ["-p", str(self.port)]
        self.launch()
        if not self.is_ready():
            raise Failed(f"{self.name} did not start:\n{self.log()}")

    def answers(self):
        try:
            self.link = self.link or self.connect()
            return self.link.call("PING") == b"PONG"
        except OSError:
            return False
        except Failed as said:
            if not str(said).startswith("LOADING"):
                raise
            return False

    def kill(self):
        if self.link is not None:
            self.link.close()
            self.link = None
        super().kill()

    def connect(self):
        return Link(self.path if self.where[0] == "-s" else ("127.0.0.1", self.port))

    def call(self, *words):
        return self.link.call(*words)

    def info(self, field):
        for line in self.call("INFO").decode().splitlines():
            if line.startswith(field + ":"):
                return line[len(field) + 1:]
        return None

    def version(self):
        for field in ("expired_version", "valkey_version", "redis_version"):
            found = self.info(field)
            if found:
                return found
        return ""

    def has(self, command):
        return self.call("COMMAND", "INFO", command)[0] is not None

    def rss(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        return 0


class Bench:
    """The cores for servers and tools, and the work of others on these cores."""

    def __init__(self, unix=False, server_core=None, load_core=None):
        chosen = choose_cores()
        self.server_core = chosen[0] if server_core is None else server_core
        self.load_core = chosen[1] if load_core is None else load_core
        self.unix = unix
        self.running, self.runs, self.disturbed, self.stolen = [], 0, 0, 0.0

    def server(self, name, command):
        return Measured(name, command, self)

    def tool(self, server, name, *arguments):
        """Runs a tool on the tools' core; returns the JSON of its last line."""
        command = [os.path.join(TOOLS, name), *server.where, "-j", *map(str, arguments)]
        before = self.work()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, preexec_fn=on_core(self.load_core))
        try:
            out, err = process.communicate(timeout=TOOL_SECONDS)
        except BaseException as stop:
            process.kill()
            process.wait()
            if isinstance(stop, subprocess.TimeoutExpired):
                raise Failed(f"{server.name}: {' '.join(command)} came to no end") from None
            raise
        if process.returncode != 0:
            raise Failed(f"{server.name}: {' '.join(command)}\n{err}")
        self.note_disturbance(before)
        return json.loads(out.splitlines()[-1])

    @contextlib.contextmanager
    def load_meanwhile(self, server, *arguments):
        """Runs load on the tools' core, beside the tool that measures."""
        command = [os.path.join(TOOLS, "load"), *server.where, "-j", "-i", server.process.pid, *arguments]
        process = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, preexec_fn=on_core(self.load_core))
        try:
            yield
        finally:
            process.kill()
            process.wait()

    def load(self, server, *arguments):
        """Runs load; tries again if the machine stood still and no request was answered."""
        for _ in range(TRIES):
            result = self.tool(server, "load", "-i", server.process.pid, *arguments)
            if result["requests"] > 0:
                return result
        raise Failed(f"{server.name} answered nothing: load {' '.join(map(str, arguments))}")

    def work(self):
        busy, steal = busy_seconds(self.server_core)
        return time.monotonic(), busy - sum(s.cpu_seconds() for s in self.running), steal

    def note_disturbance(self, before):
        seconds, foreign, stolen = (b - a for a, b in zip(before, self.work()))
        self.runs += 1
        self.stolen += stolen
        self.disturbed += foreign + stolen > DISTURBED * seconds + 0.02
