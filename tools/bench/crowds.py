"""crowds: how much other clients delay a client: ten thousand connections of which half send one byte
a second, a value of 512 MB that is written and read, a hundred thousand subscriptions, and a burst of
expiry whose subscriber reads slowly. Of this subscriber it also measures how many events it gets.

Each scenario measures the round trips of a client that sends one GET at a time, first without
the crowd and then with it. The longest ones include delays of the machine: compare them with those
without the crowd.
"""
import contextlib
import multiprocessing
import os
import resource
import selectors
import socket
import time

from servers import Failed, Link, encode

SPARE_FILES = 200
SLOW_REQUEST = encode("SET", "slow", "x" * 1000)
CHANNELS_EACH = 100
PUBLISH_BATCH = 20
PATIENCE = 120
EVENTS = "__keyevent@0__:expired"
EVENTS_PER_SECOND = 50_000  # that the subscriber of a burst reads
SETS_BATCH = 1000
SHARES = {"p50_us": 0.5, "p99_us": 0.99}


# ---- the client that measures ----------------------------------------------------------------------

def probe(port, core, pipe):
    """Sends GETs until the pipe has data; sends back how long each took, in seconds."""
    os.sched_setaffinity(0, {core})
    with contextlib.suppress(PermissionError):  # else the crowd may keep this process from running
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    link = Link(("127.0.0.1", port))
    pipe.send(None)
    took = []
    while not pipe.poll():
        begin = time.monotonic()
        link.call("GET", "probe")
        took.append(time.monotonic() - begin)
        time.sleep(0.0003)
    pipe.send(took)


def figures(took):
    took = sorted(took)
    if not took:
        raise Failed("the measuring client got no reply")
    found = {name: 1e6 * took[int(share * (len(took) - 1))] for name, share in SHARES.items()}
    return {**found, "max_us": 1e6 * took[-1]}


@contextlib.contextmanager
def child(target, *arguments):
    """Runs target(*arguments, pipe) in another process; yields our end of the pipe."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=target, args=(*arguments, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        ours.recv()  # it is ready
        yield ours
    finally:
        process.kill()
        process.join()


def measure_while(bench, server, act):
    """The figures of the measuring client while act() runs."""
    with child(probe, server.port, bench.load_core) as pipe:
        act()
        pipe.send(None)
        return figures(pipe.recv())


# ---- the crowds: each runs in its own process, and reports when it is complete ---------------------

def connect_all(port, count, core):
    os.sched_setaffinity(0, {core})
    links = []
    for _ in range(count):
        link = socket.create_connection(("127.0.0.1", port))
        link.setblocking(False)
        links.append(link)
    return links


def slow_senders(port, core, connections, pipe):
    """Half of the connections send one byte a second, in turn; the others send nothing."""
    links = connect_all(port, connections, core)[:connections // 2]
    sent = [0] * len(links)
    pipe.send(None)
    begin, done = time.monotonic(), 0
    while True:
        due = int((time.monotonic() - begin) * len(links))
        for number in range(done, due):
            which = number % len(links)
            at = sent[which] % len(SLOW_REQUEST)
            links[which].send(SLOW_REQUEST[at:at + 1])
            sent[which] += 1
        done = due
        time.sleep(0.001)


def subscribers(port, core, subscriptions, pipe):
    """Connections that subscribe to CHANNELS_EACH channels, one of them common to all, and read."""
    links = connect_all(port, subscriptions // CHANNELS_EACH, core)
    selector = selectors.DefaultSelector()
    for number, link in enumerate(links):
        own = (f"channel:{number}:{i}" for i in range(CHANNELS_EACH - 1))
        link.setblocking(True)
        link.sendall(encode("SUBSCRIBE", "all", *own))
        link.setblocking(False)
        selector.register(link, selectors.EVENT_READ)
    ready = False
    while True:
        found = selector.select(0.2)
        for key, _ in found:
            key.fileobj.recv(1 << 16)
        if not found and not ready:
            ready = True
            pipe.send(None)


# ---- scenarios: `act` measures while its argument runs ---------------------------------------------

def crowd_of_connections(bench, server, settings, act):
    link = server.link
    link.call("CONFIG", "SET", "maxclients", settings.crowd + SPARE_FILES)
    with child(slow_senders, server.port, bench.load_core, settings.crowd):
        return act(lambda: time.sleep(settings.crowd_seconds))


def crowd_of_bytes(_bench, server, settings, act):
    value = b"x" * settings.large_value
    link = server.connect()
    link.socket.settimeout(PATIENCE)

    def write_and_read():
        link.call("SET", "large", value)
        link.send("GET", "large")
        left = len(value) + len(f"${len(value)}\r\n") + 2
        while left > 0:
            got = link.socket.recv(1 << 20)
            if not got:
                raise Failed(f"{server.name} closed the connection that reads a large value")
            left -= len(got)
    try:
        return act(write_and_read)
    finally:
        link.close()


def crowd_of_subscriptions(bench, server, settings, act):
    def publish():
        """Publishes to channels of one subscriber each, and sometimes to the common one."""
        end, number = time.monotonic() + settings.crowd_seconds, 0
        while time.monotonic() < end:
            batch = [encode("PUBLISH", f"channel:{(number + i) % 1000}:{i}", "x" * 50)
                     for i in range(PUBLISH_BATCH)]
            server.link.socket.sendall(b"".join(batch))
            for _ in batch:
                server.link.reply()
            number += PUBLISH_BATCH
            if number % (50 * PUBLISH_BATCH) == 0:
                server.call("PUBLISH", "all", "x" * 50)
            time.sleep(0.005)
    with child(subscribers, server.port, bench.load_core, settings.subscriptions):
        return act(publish)


def crowd_of_events(_bench, server, settings, act):
    """Keys that expire at one instant, and a subscriber that reads EVENTS_PER_SECOND."""
    def name(number):
        return f"session:{number:08}"

    def read():
        """Returns the number of whole events, and the seconds until the last of them."""
        event, got, begin = len(encode("message", EVENTS, name(0))), 0, time.monotonic()
        last = begin
        while got < count * event and time.monotonic() < begin + PATIENCE:
            allowed = int((time.monotonic() - begin) * EVENTS_PER_SECOND) * event - got
            if allowed <= 0:
                time.sleep(0.001)
                continue
            try:
                data = link.socket.recv(min(allowed, 1 << 16))
            except ConnectionError:
                break
            if not data:
                break
            got += len(data)
            last = time.monotonic()
        return got // event, last - begin

    count, events = settings.burst, []
    server.call("CONFIG", "SET", "notify-keyspace-events", "Ex")
    link = server.connect()
    link.socket.settimeout(PATIENCE)
    link.call("SUBSCRIBE", EVENTS)
    at = int(time.time() * 1000) + settings.lead_msec + count // 100
    for begin in range(0, count, SETS_BATCH):
        batch = [encode("SET", name(i), "x", "PXAT", at) for i in range(begin, min(begin + SETS_BATCH, count))]
        server.link.socket.sendall(b"".join(batch))
        for _ in batch:
            server.link.reply()
    time.sleep(max(0.0, at / 1000 - time.time()))
    try:
        found = act(lambda: events.extend(read()))
    finally:
        link.close()
    return {**found, "events": events[0], "of": count, "seconds": events[1]}


SCENARIOS = {"connections": crowd_of_connections, "bytes": crowd_of_bytes,
             "subscriptions": crowd_of_subscriptions, "events": crowd_of_events}


def titles(settings):
    return {
        "connections": f"{settings.crowd:,} connections, {settings.crowd // 2:,} of them send a "
                       "byte a second",
        "bytes": f"a value of {settings.large_value >> 20} MB is written and read",
        "subscriptions": f"{settings.subscriptions:,} subscriptions, 4,000 messages a second",
        "events": f"{settings.burst:,} keys expire at once, and a subscriber reads {EVENTS_PER_SECOND:,} "
                  "events a second",
    }


def allow_files(count):
    """For the processes that connect."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= count:
        return
    if hard != resource.RLIM_INFINITY and hard < count:
        raise Failed(f"crowds needs {count} open files, but ulimit -Hn is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def measure(bench, settings, say):
    """{"names": {scenario: title},
    "found": {scenario: {server: {"alone": figures, "beside": figures}}}}"""
    allow_files(settings.crowd + SPARE_FILES)
    result = {}
    for what, scenario in SCENARIOS.items():
        result[what] = {}
        for name in (name for name in settings.servers if name != "bare"):
            with bench.server(name, settings.servers[name]) as server:
                server.call("SET", "probe", "value")
                found = result[what][name] = {
                    "alone": measure_while(bench, server,
                                           lambda: time.sleep(settings.crowd_seconds)),
                    "beside": scenario(bench, server, settings,
                                       lambda act, its=server: measure_while(bench, its, act)),
                }
            alone, beside = found["alone"], found["beside"]
            say(f"crowds: {what}, {name}: p99 {alone['p99_us']:.0f} us alone, "
                f"{beside['p99_us']:.0f} us beside; longest {alone['max_us']:.0f} us, "
                f"{beside['max_us']:.0f} us" +
                (f"; {beside['events']:,} of {beside['of']:,} events in {beside['seconds']:.1f} s"
                 if "events" in beside else ""))
    return {"names": titles(settings), "found": result}
