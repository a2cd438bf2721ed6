"""servers: starts, watches and stops the measured servers on one core, runs the tools on another.

Each server has a process group and a directory of its own, and ends with this process.
"""
import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD") or os.path.join(ROOT, "build"))
OURS = os.path.abspath(os.environ.get("EXPIRED") or os.path.join(BUILD, "expired"))
REDIS = "/usr/bin/redis-server"
TOOLS = os.path.join(BUILD, "tools", "bench")
START_SECONDS = 60
REPLY_SECONDS = 120
TOOL_SECONDS = 300
TRIES = 3
# Options for servers whose command contains neither {port} nor {socket}.
OPTIONS = ["--port", "{port}", "--unixsocket", "{socket}", "--dir", "{dir}",
           "--save", "", "--appendonly", "no"]
DISTURBED = 0.03  # of the server's core, by others


class Failed(Exception):
    """A server did not start, or a tool did not end well."""


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
    """CPU time that a core has worked, and that the hypervisor has taken from it."""
    with open("/proc/stat", encoding="ascii") as file:
        for line in file:
            if line.startswith(f"cpu{core} "):
                user, nice, system, _idle, _wait, irq, soft, steal = map(int, line.split()[1:9])
                tick = os.sysconf("SC_CLK_TCK")
                return (user + nice + system + irq + soft) / tick, steal / tick
    return 0.0, 0.0


# ---- servers ----------------------------------------------------------------------------------

def child(core):
    parent = os.getpid()

    def prepare():
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)
        os.sched_setaffinity(0, {core})
    return prepare


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Link:
    """One connection; replies are bytes, int, None or a list, errors are raised."""

    def __init__(self, address, family):
        self.socket = socket.socket(family)
        self.socket.settimeout(REPLY_SECONDS)
        self.socket.connect(address)
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        words = [str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) +
                            b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words))

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
        line = self.file.readline()
        if not line:
            raise Failed("a server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise Failed(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        return rest

    def close(self):
        self.file.close()
        self.socket.close()


class Server:
    """Runs from `with` to its end."""

    def __init__(self, name, command, bench):
        self.name, self.bench = name, bench
        self.command = command if any("{port}" in word or "{socket}" in word for word in command) \
            else command + OPTIONS
        self.process, self.link, self.dir = None, None, None

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="expired-bench-")
        try:
            self.start()
        except BaseException:
            self.clean()
            raise
        self.bench.running.append(self)
        return self

    def __exit__(self, *_):
        self.bench.running.remove(self)
        self.clean()

    def start(self, nap=0.01):
        """Waits until it answers, with its data loaded."""
        self.port, self.socket = free_port(), os.path.join(self.dir, "socket")
        has_port = any("{port}" in word for word in self.command)
        has_socket = any("{socket}" in word for word in self.command)
        self.where = ["-s", self.socket] if has_socket and (self.bench.unix or not has_port) \
            else ["-p", str(self.port)]
        command = [word.format(port=self.port, socket=self.socket, dir=self.dir)
                   for word in self.command]
        with open(os.path.join(self.dir, "output"), "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.dir,
                start_new_session=True, preexec_fn=child(self.bench.server_core))
        limit = time.monotonic() + START_SECONDS
        while time.monotonic() < limit and self.process.poll() is None:
            try:
                self.link = self.link or self.connect()
                self.link.call("PING")
                return
            except OSError:
                time.sleep(nap)
            except Failed as said:
                if not str(said).startswith("LOADING"):
                    raise
                time.sleep(nap)
        with open(os.path.join(self.dir, "output"), encoding="utf-8", errors="replace") as log:
            raise Failed(f"{self.name} did not start:\n{log.read()}")

    def end(self):
        """Kills it with SIGKILL; its files stay."""
        try:
            if self.link is not None:
                self.link.close()
            if self.process is not None:
                self.process.kill()
                self.process.wait()
        finally:
            self.process = self.link = None

    def clean(self):
        try:
            self.end()
        finally:
            shutil.rmtree(self.dir, ignore_errors=True)

    def connect(self):
        if self.where[0] == "-s":
            return Link(self.socket, socket.AF_UNIX)
        return Link(("127.0.0.1", self.port), socket.AF_INET)

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

    def cpu_seconds(self):
        """Exact to the nanosecond: the kernel's clock of the process."""
        return time.clock_gettime((~self.process.pid << 3) | 2)


class Bench:
    """The cores that servers and tools run on, and what disturbs them."""

    def __init__(self, unix=False, server_core=None, load_core=None):
        chosen = choose_cores()
        self.server_core = chosen[0] if server_core is None else server_core
        self.load_core = chosen[1] if load_core is None else load_core
        self.unix = unix
        self.running, self.runs, self.disturbed, self.stolen = [], 0, 0, 0.0

    def server(self, name, command):
        return Server(name, command, self)

    def tool(self, server, name, *arguments):
        """Runs a tool on the tools' core; returns the JSON of its last line."""
        command = [os.path.join(TOOLS, name), *server.where, "-j", *map(str, arguments)]
        before = self.work()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, preexec_fn=child(self.load_core))
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

    def load(self, server, *arguments):
        """Runs load; tries again if the machine stood still and nothing was answered."""
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
