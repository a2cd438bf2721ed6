"""world: nodes of the real daemon, clients and a clock, in simulated time, from one seed.

A world runs tasks: generators that yield what they wait for, a Future or a number of seconds. While all
tasks wait, the world moves to the next event; nothing else takes time. Same seed, same run.

    with World(seed) as world:
        node = world.node(1, "--appendfsync", "always")
        node.start()
        def task():
            client = Client(node)
            reply = yield client.call("SET", "k", "v")
            yield 2.5
        world.run(task())

A client's call that gets no reply, because the connection or the node is lost, answers Lost.
"""
import ctypes
import heapq
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

from program_check import refuse_readers  # noqa: E402
from resp import encode, plain, read_reply  # noqa: E402

BUILD = pathlib.Path(os.environ.get("BUILD") or HERE.parents[1] / "build")
RUNNER = os.environ.get("SIM_RUNNER", "").split()  # a command in front of the daemon's, such as an emulator
PORT = 6379
SECOND, MSEC = 1_000_000_000, 1_000_000
ARRIVED, ENDED = 1, 2  # flags of sim_run
NOON = 1_700_000_000_000  # a wall clock, in milliseconds


def library():
    """The preloaded kernel, for this process and for the nodes."""
    path = BUILD / "tests" / "sim" / "kernel.so"
    found = ctypes.CDLL(str(path))
    found.path = str(path)
    wide, unsigned = ctypes.c_int64, ctypes.c_uint64
    for name in ("wall", "send", "receive", "get"):
        getattr(found, f"sim_{name}").restype = wide
    for name in ("events", "trace"):
        getattr(found, f"sim_{name}").restype = unsigned
    found.sim_clock.restype = ctypes.POINTER(wide)
    found.sim_begin.argtypes = [unsigned, wide]
    found.sim_run.argtypes = [wide]
    found.sim_send.argtypes = [ctypes.c_int, ctypes.c_char_p, unsigned]
    found.sim_receive.argtypes = [ctypes.c_int, ctypes.c_char_p, unsigned]
    found.sim_set.argtypes = [ctypes.c_int, ctypes.c_char_p, wide]
    found.sim_get.argtypes = [ctypes.c_int, ctypes.c_char_p]
    found.sim_set_clock.argtypes = [ctypes.c_int, wide]
    found.sim_set_latency.argtypes = [wide, wide]
    found.sim_kill_in.argtypes = [ctypes.c_int, unsigned]
    found.sim_note.argtypes = [ctypes.c_char_p, wide]
    return found


def end_starter():
    """The next start begins another one, whose programs have other addresses. Counts the CPU time of all that this one
    has started as that of a child."""
    library().sim_end_starter()


def words(texts):
    """An array of strings for C, with a NULL at its end."""
    return (ctypes.c_char_p * (len(texts) + 1))(*[text.encode() for text in texts], None)


class Lost(Exception):
    """No reply came: whether the call was executed is unknown."""


class Error(Exception):
    """An error that the server replied."""


class Broken(AssertionError):
    """A promise was broken."""


LOST = Lost()


class Future:
    """A value that comes later. A task that yields it gets the value."""

    def __init__(self):
        self.done, self.value, self.waiting = False, None, []

    def set(self, value):
        if self.done:
            return
        self.done, self.value = True, value
        waiting, self.waiting = self.waiting, []
        for resume in waiting:
            resume(value)


class Node:
    """A host, and the daemon on it."""

    def __init__(self, world, number, options):
        self.world, self.number, self.options = world, number, list(options)
        self.dir = world.dir / f"node{number}"
        self.log_path = world.dir / f"node{number}.log"
        self.wanted = False  # should it run? If it ends by itself, that is a fault
        self.may_end = False
        self.lacks_memory = False  # then it may end with its line in the log
        self.lacked_memory = False  # ever
        self.usual_clock = 0  # milliseconds from the world's
        self.address = f"10.0.0.{number}"
        world.lib.sim_node(number, str(self.dir).encode())

    def start(self, *more):
        self.wanted = True
        arguments = ["--dir", str(self.dir), "--port", str(PORT), "--bind", self.address, "--protected-mode", "no",
                     "--enable-debug-command", "yes", *self.options, *more]
        error = self.world.lib.sim_start(self.number, self.world.lib.path.encode(), str(self.log_path).encode(),
                                         words([*RUNNER, self.world.program]), words(arguments))
        if error:
            raise OSError(error, os.strerror(error))
        if not RUNNER:  # an emulator has threads of its own
            self.world.later(SECOND // 2, self.refuse_strangers)

    def refuse_strangers(self):
        """A thread that the world does not know would make each run another one."""
        strangers = self.world.lib.sim_strangers(self.number)
        if strangers:
            raise Broken(f"node {self.number}: {strangers} threads run outside the world")

    @property
    def is_up(self):
        return bool(self.world.lib.sim_up(self.number))

    def kill(self):
        self.wanted = False
        self.world.lib.sim_kill(self.number)

    def lose_power(self, chance=0.5):
        """Undoes each unsynced change with this chance. Its clients are not notified; they time out later."""
        self.wanted = False
        self.world.lib.sim_lose_power(self.number, int(chance * 65536))
        for client in self.world.clients_of(self):
            self.world.later(self.world.rng.uniform(0.2, 3) * SECOND, client.loser())

    def kill_in(self, calls):
        """Ends it at this many calls on files from now."""
        self.may_end = True
        self.world.lib.sim_kill_in(self.number, calls)

    def stop(self):
        self.wanted = False
        self.world.lib.sim_signal(self.number, signal.SIGTERM)

    def set(self, **settings):
        for name, value in settings.items():
            self.world.lib.sim_set(self.number, name.encode(), int(value))

    def get(self, name):
        return self.world.lib.sim_get(self.number, name.encode())

    def set_clock(self, msec):
        """The wall clock's distance from the world's."""
        self.world.lib.sim_set_clock(self.number, int(msec) * MSEC)

    @property
    def wall(self):
        """Its wall clock, in milliseconds, with a fraction."""
        return self.world.lib.sim_wall(self.number) / MSEC

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""


class Client:
    """A connection, made at the first call and made anew after a loss."""

    def __init__(self, node, name="", hello=None, on_push=None):
        self.node, self.world, self.name = node, node.world, name
        self.hello, self.on_push = hello, on_push
        self.socket, self.data, self.unsent = -1, b"", b""
        self.calls = []  # Futures, in the order of the calls
        self.connections = 0
        self.follows = False  # to another master

    def connect(self):
        if self.follows:
            self.node = self.world.state.master
        self.socket = self.world.lib.sim_connect(self.node.number, PORT)
        if self.socket < 0:
            return False
        self.connections += 1
        self.world.clients[self.socket] = self
        self.data = self.unsent = b""
        if self.hello:
            self.put(Future(), "HELLO", self.hello)
        return True

    def put(self, future, *arguments):
        self.calls.append(future)
        self.unsent += encode(*arguments)
        self.flush()

    def flush(self):
        while self.unsent and self.socket >= 0:
            sent = self.world.lib.sim_send(self.socket, self.unsent, len(self.unsent))
            if sent <= 0:  # the buffer is full
                connection = self.connections
                self.world.later(MSEC, lambda: self.flush() if self.connections == connection else None)
                break
            self.unsent = self.unsent[sent:]

    def put_push(self, *arguments):
        """A request whose only answer is a push, in RESP3."""
        self.unsent += encode(*arguments)
        self.flush()

    def call(self, *arguments):
        """A Future of the reply: a plain value, an Error, or LOST."""
        future = Future()
        if self.socket < 0 and not self.connect():
            self.world.later(MSEC, lambda: future.set(LOST))
            return future
        self.put(future, *arguments)
        return future

    def pipeline(self, *calls):
        """A Future of the list of replies, sent at once."""
        futures = [self.call(*arguments) for arguments in calls]
        return self.world.all_of(futures)

    def hear(self):
        room = self.world.room
        while self.socket >= 0:
            got = self.world.lib.sim_receive(self.socket, room, len(room))
            if got == -1:
                break
            if got <= 0:
                self.lose()
                return
            self.data += room[:got]
        at = 0
        while at < len(self.data):
            try:
                found = read_reply(self.data, at)
            except (AssertionError, ValueError) as error:
                raise Broken(f"{self.name}: {error}") from error
            if found is None:
                break
            value, at = found
            self.take(value)
        self.data = self.data[at:]
        self.flush()

    def take(self, value):
        kind, payload = value
        if kind == b">":
            if self.on_push:
                self.on_push(plain(value))
            return
        if not self.calls:
            raise Broken(f"{self.name}: a reply without a request: {value}")
        future = self.calls.pop(0)
        if kind not in (b"-", b"!"):
            future.set(plain(value))
            return
        future.set(Error(payload.decode(errors="replace")))
        if payload.startswith(b"READONLY") and self.follows:
            self.lose()  # and find the master

    def lose(self, silently=False):
        """Silently: the server is left with a half-open connection."""
        if self.socket >= 0:
            self.world.clients.pop(self.socket)
            (self.world.lib.sim_vanish if silently else self.world.lib.sim_drop)(self.socket)
        self.socket, self.unsent, self.data = -1, b"", b""
        calls, self.calls = self.calls, []
        for future in calls:
            future.set(LOST)

    close = lose

    def loser(self):
        """What loses the present connection, if it is still the same by then."""
        connection = self.connections
        return lambda: self.lose() if self.connections == connection else None

    def reset(self):
        """Cuts the connection, as if a router had forgotten it."""
        if self.socket >= 0:
            self.world.lib.sim_reset(self.socket)


class World:
    def __init__(self, seed, wall=NOON):
        self.seed, self.rng = seed, random.Random(f"world {seed}")
        self.lib = library()
        self.program = str(os.environ.get("EXPIRED") or BUILD / "expired")
        refuse_readers(self.program, bool(self.lib.sim_traps_counter()))
        where = os.environ.get("TMPDIR") or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="sim", dir=where))
        self.room = (ctypes.c_char * (1 << 16))()
        self.nodes, self.clients, self.tasks = {}, {}, {}
        self.timers, self.order = [], 0
        self.history = []
        self.state = None  # of the scenario
        self.began = None
        error = self.lib.sim_begin(seed & (2 ** 64 - 1), wall)
        if error:
            raise OSError(error, os.strerror(error))
        self.clock = self.lib.sim_clock().contents
        self.began = self.now

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.lib.sim_end()
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---- time and tasks

    @property
    def now(self):
        """Nanoseconds."""
        return self.clock.value

    @property
    def seconds(self):
        """Simulated seconds since the world began."""
        return (self.now - self.began) / SECOND

    def later(self, nanoseconds, action):
        self.order += 1
        heapq.heappush(self.timers, (self.now + int(nanoseconds), self.order, action))

    def sleep(self, seconds):
        future = Future()
        self.later(seconds * SECOND, lambda: future.set(None))
        return future

    def all_of(self, futures):
        result, left = Future(), len(futures)
        if not futures:
            result.set([])

        def one(_):
            nonlocal left
            left -= 1
            if left == 0:
                result.set([future.value for future in futures])
        for future in futures:
            if future.done:
                one(None)
            else:
                future.waiting.append(one)
        return result

    def spawn(self, generator, name=""):
        """Runs a task; a Future of what it returns."""
        result = Future()
        self.tasks[result] = name or getattr(generator, "__name__", "task")

        def resume(value):
            while True:
                try:
                    wanted = generator.send(value)
                except StopIteration as end:
                    self.tasks.pop(result, None)
                    result.set(end.value)
                    return
                if isinstance(wanted, (int, float)):
                    wanted = self.sleep(wanted)
                if not wanted.done:
                    wanted.waiting.append(resume)
                    return
                value = wanted.value
        self.later(0, lambda: resume(None))
        return result

    def turn(self, limit):
        """Moves to the next event, at most to the limit."""
        first = min(limit, self.timers[0][0]) if self.timers else limit
        news = self.lib.sim_run(max(first, self.now))
        if news & ENDED:
            self.look_at_nodes()
        while news & ARRIVED:
            socket = self.lib.sim_ready_socket()
            if socket < 0:
                break
            self.clients[socket].hear()
        while self.timers and self.timers[0][0] <= self.now:
            heapq.heappop(self.timers)[2]()

    def look_at_nodes(self):
        status = ctypes.c_int(0)
        for node in self.nodes.values():
            while self.lib.sim_status(node.number, ctypes.byref(status)):
                if node.lacks_memory and "The server exits now" in node.log():
                    continue
                if node.wanted and not node.may_end or status.value == -1:
                    raise Broken(f"node {node.number} ended, status {status.value}:\n{node.log()[-3000:]}")

    def run(self, *generators, limit=3600):
        """Runs these tasks, and all that they spawn, to their ends."""
        futures = [self.spawn(generator) for generator in generators]
        end = self.now + int(limit * SECOND)
        while not all(future.done for future in futures):
            if self.now >= end:
                raise Broken(f"waits for ever: {sorted(self.tasks.values())}")
            self.turn(end)
        return [future.value for future in futures]

    def pass_time(self, seconds):
        self.run(one for one in (seconds,))

    # ---- the parts

    def node(self, number, *options):
        self.nodes[number] = Node(self, number, options)
        return self.nodes[number]

    def clients_of(self, node):
        return [self.clients[socket] for socket in sorted(self.clients)
                if self.clients[socket].node is node]

    def cut(self, one, other, apart=True):
        self.lib.sim_cut(one if isinstance(one, int) else one.number,
                         other if isinstance(other, int) else other.number, int(apart))

    def latency(self, least, most):
        """In seconds."""
        self.lib.sim_set_latency(int(least * SECOND), int(most * SECOND))

    def yield_often(self, chance):
        """The chance that another thread or process runs after a system call."""
        self.lib.sim_set_spurious(int(chance * 65536))

    def note(self, what, number):
        """Adds an event to the trace and to the history that a failure prints."""
        self.lib.sim_note(what.encode(), number)
        self.history.append((self.seconds, what, number))

    @property
    def trace(self):
        return self.lib.sim_trace()

    @property
    def events(self):
        return self.lib.sim_events()

