"""future: jobs that are due over two years, in one dehydrator and in a thousand: what they cost, and how long the server
takes for what it does to all of them. Filling is measured in batches of 16 pushes over one connection."""
import os
import random
import time

from durability import restart
from growth import stall_of
from replication import FAST, Replica, in_step, is_up, wait_until
from servers import Failed

YEARS_MSEC = 2 * 365 * 86_400_000
SCATTER = 0x9E3779B97F4A7C15  # odd, so that multiples of it spread over any span
BATCH = 16
NOISE = random.Random(1).randbytes(1 << 20)  # payloads, which no file compresses
PUSH = b"*5\r\n$9\r\nREDE.PUSH\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n$64\r\n%b\r\n$12\r\njob:%08x\r\n"
SPREADS = ("one", "a thousand")
PATIENCE = 900  # seconds for a SAVE, and for a start
NAP = 0.0005  # seconds between two PINGs


def keys_of(spread):
    return [b"jobs"] if spread == "one" else [b"jobs:%03d" % i for i in range(1000)]


def push_of(number, keys):
    """The bytes of a push; deadlines and keys are in no order."""
    key = keys[number % len(keys)]
    ttl = b"%d" % (number * SCATTER % YEARS_MSEC)
    at = number * SCATTER % (len(NOISE) - 64)
    return PUSH % (len(key), key, len(ttl), ttl, NOISE[at:at + 64], number)


def fill(server, jobs, keys):
    """The longest CPU time of the server for one batch, in us."""
    longest, link = 0, server.link
    for first in range(0, jobs, BATCH):
        batch = b"".join([push_of(number, keys) for number in range(first, min(first + BATCH, jobs))])
        before = server.cpu_seconds()
        link.socket.sendall(batch)
        left = min(BATCH, jobs - first) * 5  # bytes of +OK
        while left > 0:
            left -= len(link.socket.recv(4096))
        longest = max(longest, server.cpu_seconds() - before)
    return longest * 1e6


def stall_until(server, is_over):
    """(seconds until the condition, the longest stall of a PING meanwhile in us)."""
    begin, longest = time.monotonic(), 0
    while True:
        for _ in range(20):
            stall, alone = stall_of(server, "PING")
            longest = max(longest, stall if alone else 0)
            time.sleep(NAP)  # the replica loads on this core
        if is_over():
            return time.monotonic() - begin, longest


def copy_to_replica(bench, settings, server):
    with Replica("replica", settings.servers["expired"], bench, server) as replica:
        found = stall_until(server, lambda: is_up(replica) and in_step(server, replica))
        wait_until(lambda: replica.call("DBSIZE") == server.call("DBSIZE"), "the full copy")
    return found


def rewrite(server):
    server.call("BGREWRITEAOF")
    return stall_until(server, lambda: server.info("aof_rewrite_in_progress") == "0")


def measure_spread(bench, settings, spread):
    jobs, keys = settings.far_jobs, keys_of(spread)
    with bench.server("expired", [*settings.servers["expired"], *FAST]) as server:
        server.START_SECONDS = PATIENCE
        server.link.socket.settimeout(PATIENCE)
        empty, rss = int(server.info("used_memory")), server.rss()
        began = server.cpu_seconds()
        found = {"jobs": jobs, "fill_stall_us": fill(server, jobs, keys)}
        found["push_us"] = (server.cpu_seconds() - began) / jobs * 1e6
        found["bytes"] = (int(server.info("used_memory")) - empty) / jobs
        found["rss"] = (server.rss() - rss) / jobs
        begin = time.monotonic()
        server.call("SAVE")
        found["save_s"], found["fork_us"] = time.monotonic() - begin, None
        found["file"] = max(os.path.getsize(os.path.join(server.dir, name)) for name in os.listdir(server.dir)) / jobs
        found["start_s"], _ = restart(server)
        if sum(server.call("REDE.LEN", key) for key in keys) != jobs:
            raise Failed(f"{server.name} has not loaded {jobs} jobs")
        found["copy_s"], found["copy_stall_us"] = copy_to_replica(bench, settings, server)
        server.call("CONFIG", "SET", "appendonly", "yes")
        wait_until(lambda: server.info("aof_rewrite_in_progress") == "0", "the first rewrite")
        found["rewrite_s"], found["rewrite_stall_us"] = rewrite(server)
        found["fork_us"] = int(server.info("latest_fork_usec") or 0)
    return found


def measure(bench, settings, say):
    """{spread: figures}"""
    result = {}
    for spread in SPREADS:
        its = result[spread] = measure_spread(bench, settings, spread)
        say(f"many: {its['jobs']} jobs of 76 bytes over two years in {spread}: {its['bytes']:.1f} bytes each, "
            f"{its['rss']:.1f} in RSS, {its['file']:.1f} on disk; push {its['push_us']:.2f} us, "
            f"longest stall {its['fill_stall_us']:.0f} us; SAVE {its['save_s']:.1f} s, start {its['start_s']:.1f} s; "
            f"full copy {its['copy_s']:.1f} s, stall {its['copy_stall_us']:.0f} us; rewrite {its['rewrite_s']:.1f} s, "
            f"stall {its['rewrite_stall_us']:.0f} us; last fork {its['fork_us']} us")
    return result
