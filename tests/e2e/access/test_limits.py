#!/usr/bin/python3 -B
"""Memory of clients: maxmemory and maxmemory-clients, CLIENT NO-EVICT, what CLIENT LIST shows, and
output limits of clients that do nothing."""
import re
import sys
import time

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, encode, equal, main, own, test, wait_for

MEGABYTE = 1 << 20


def fields(line):
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


def client_named(raw, name):
    """The fields of CLIENT LIST of the client with this name; None: there is none."""
    for line in raw.call("CLIENT", "LIST").decode().splitlines():
        if f" name={name} " in line:
            return fields(line)
    return None


def number_in_info(raw, section, name):
    found = re.search(rb"\b" + name.encode() + rb":(\d+)", raw.call("INFO", section))
    return int(found.group(1))


def named(daemon, name):
    raw = daemon.raw()
    equal(raw.call("CLIENT", "SETNAME", name), b"+OK\r\n")
    return raw


def leave_unread(raw, key, times=1):
    """Asks for a value, and reads nothing."""
    raw.send(encode("GET", key) * times)


def memory_of(watcher, name):
    found = client_named(watcher, name)
    return int(found["tot-mem"]) if found else 0


# ---- maxmemory-clients -----------------------------------------------------------------------------

@test
def the_largest_clients_are_closed_first():
    with Daemon("--maxmemory-clients", "6mb") as daemon, daemon.raw() as watcher:
        watcher.call("CLIENT", "NO-EVICT", "ON")
        watcher.call("SET", "small", "x" * MEGABYTE)
        watcher.call("SET", "large", "x" * 4 * MEGABYTE)
        crowd = [named(daemon, f"small{i}") for i in range(2)] + [named(daemon, "large")]
        for raw in crowd[:2]:
            leave_unread(raw, "small")
        wait_for(lambda: all(memory_of(watcher, f"small{i}") > MEGABYTE // 2 for i in range(2)))
        leave_unread(crowd[2], "large", 2)
        assert wait_for(lambda: client_named(watcher, "large") is None)
        assert client_named(watcher, "small0") and client_named(watcher, "small1")
        equal(number_in_info(watcher, "stats", "evicted_clients"), 1)
        for raw in crowd:
            raw.close()


@own
def the_log_has_the_reason_why_a_client_was_closed():
    with Daemon("--maxmemory-clients", "2mb") as daemon, daemon.raw() as watcher:
        watcher.call("CLIENT", "NO-EVICT", "ON")
        watcher.call("SET", "k", "x" * 4 * MEGABYTE)
        greedy = named(daemon, "greedy")
        leave_unread(greedy, "k")
        assert wait_for(lambda: client_named(watcher, "greedy") is None)
        assert re.search(r"Client id=\d+ addr=\S+ name=greedy closed: it uses \d+ bytes, .* more "
                         r"than maxmemory-clients", daemon.log()), daemon.log()
        greedy.close()


@test
def a_protected_client_is_not_closed_but_others_are():
    with Daemon("--maxmemory-clients", "3mb") as daemon, daemon.raw() as watcher:
        watcher.call("CLIENT", "NO-EVICT", "ON")
        watcher.call("SET", "large", "x" * 8 * MEGABYTE)
        safe, victim = named(daemon, "safe"), named(daemon, "victim")
        equal(safe.call("CLIENT", "NO-EVICT", "ON"), b"+OK\r\n")
        leave_unread(safe, "large")
        assert wait_for(lambda: client_named(watcher, "victim") is None)
        equal(client_named(watcher, "safe")["flags"], "Ue")
        # Without protection it is closed with its next request.
        safe.send(encode("CLIENT", "NO-EVICT", "OFF"))
        assert wait_for(lambda: client_named(watcher, "safe") is None)
        safe.close()
        victim.close()


@test
def a_limit_that_is_set_later_applies_to_idle_clients():
    with Daemon() as daemon, daemon.raw() as watcher:
        watcher.call("CLIENT", "NO-EVICT", "ON")
        watcher.call("SET", "k", "x" * 4 * MEGABYTE)
        idle = named(daemon, "idle")
        leave_unread(idle, "k")
        assert wait_for(lambda: memory_of(watcher, "idle") > 3 * MEGABYTE)
        equal(watcher.call("CONFIG", "SET", "maxmemory", "100mb", "maxmemory-clients", "50%"),
              b"+OK\r\n")
        assert client_named(watcher, "idle")
        watcher.call("CONFIG", "SET", "maxmemory-clients", "2%")
        assert wait_for(lambda: client_named(watcher, "idle") is None)
        equal(watcher.call("CONFIG", "SET", "maxmemory-clients", "0"), b"+OK\r\n")
        idle.close()


@test
def every_kind_of_memory_of_a_client_counts():
    def subscribe(raw):
        raw.send(b"".join(encode("SUBSCRIBE", f"{i}{'x' * 1000}") for i in range(2000)))

    def queue(raw):
        raw.send(encode("MULTI") + encode("SET", "k", "x" * 100_000) * 20)

    def half_send(raw):
        raw.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3000000\r\n" + b"x" * 2_900_000)

    def watch(raw):
        raw.send(b"".join(encode("WATCH", f"{i}{'x' * 1000}") for i in range(2000)))

    for act in (subscribe, queue, half_send, watch):
        with Daemon("--maxmemory-clients", "1500kb") as daemon, daemon.raw() as watcher:
            greedy = named(daemon, "greedy")
            try:
                act(greedy)
            except ConnectionError:
                pass
            assert wait_for(lambda: client_named(watcher, "greedy") is None), act.__name__
            equal(watcher.call("PING"), b"+PONG\r\n")
            greedy.close()


# ---- maxmemory -------------------------------------------------------------------------------------

@test
def clients_that_do_not_read_push_out_keys():
    """Larger replies share the memory of their value."""
    with Daemon("--maxmemory-policy", "allkeys-lru") as daemon, daemon.raw() as watcher:
        watcher.call("SET", "large", "x" * (MEGABYTE // 2))
        watcher.calls([("SET", f"k{i}", "x" * 1000) for i in range(3000)])
        used = number_in_info(watcher, "memory", "used_memory")
        watcher.call("CONFIG", "SET", "maxmemory", str(used + 2 * MEGABYTE))
        lazy = named(daemon, "lazy")
        leave_unread(lazy, "large", 16)
        assert wait_for(lambda: memory_of(watcher, "lazy") > 4 * MEGABYTE)
        equal(watcher.call("SET", "one", "more"), b"+OK\r\n")
        assert number_in_info(watcher, "stats", "evicted_keys") > 0
        lazy.close()


# ---- CLIENT LIST -----------------------------------------------------------------------------------

@own
def client_list_shows_the_sizes_of_buffers():
    with Daemon() as daemon, daemon.raw() as watcher:
        watcher.call("SET", "k", "x" * 500_000)
        busy = named(daemon, "busy")
        idle = client_named(watcher, "busy")
        equal([idle[name] for name in ("qbuf", "multi-mem", "rbs", "obl", "oll", "omem", "events")],
              ["0", "0", "0", "0", "0", "0", "r"])
        busy.send(encode("MULTI") + encode("SET", "a", "x" * 10_000))
        assert wait_for(lambda: int(client_named(watcher, "busy")["multi-mem"]) > 10_000)
        busy.send(encode("DISCARD") + encode("GET", "k") * 20)
        assert wait_for(lambda: client_named(watcher, "busy")["events"] == "rw")
        shown = client_named(watcher, "busy")
        unsent = int(shown["obl"])
        assert unsent > 0 and int(shown["oll"]) >= 1, shown
        assert int(shown["omem"]) > unsent and int(shown["rbs"]) >= unsent, shown
        assert int(shown["rbp"]) >= unsent and int(shown["tot-mem"]) > int(shown["omem"]), shown
        busy.send(b"*2\r\n$3\r\nGET\r\n$100000\r\n" + b"x" * 50_000)
        busy.close()
        half = named(daemon, "half")
        half.send(b"*2\r\n$3\r\nGET\r\n$100000\r\n" + b"x" * 50_000)
        assert wait_for(lambda: int(client_named(watcher, "half")["qbuf"]) > 50_000)
        assert memory_of(watcher, "half") > 50_000
        equal(client_named(named(daemon, "me"), "me")["argv-mem"], "10")  # "CLIENT" and "LIST"
        half.close()


# ---- silent clients --------------------------------------------------------------------------------

@own
def a_silent_client_over_the_soft_limit_is_closed_by_a_timer():
    """Nobody sends anything while the limit runs out."""
    with Daemon("--client-output-buffer-limit", "normal", "0", "1mb", "1") as daemon:
        with daemon.raw() as writer:
            writer.call("SET", "k", "x" * 4 * MEGABYTE)
        silent = named(daemon, "silent")
        began = time.monotonic()
        leave_unread(silent, "k")
        assert wait_for(lambda: "name=silent closed" in daemon.log())
        assert time.monotonic() - began >= 0.99
        assert "the soft limit" in daemon.log()
        silent.close()


@own
def many_silent_clients_are_closed_at_their_own_times():
    with Daemon("--client-output-buffer-limit", "normal", "0", "1mb", "1") as daemon, \
            daemon.raw() as watcher:
        watcher.call("SET", "k", "x" * 2 * MEGABYTE)
        crowd = [named(daemon, f"silent{i}") for i in range(30)]
        for raw in crowd:
            leave_unread(raw, "k")
        assert wait_for(lambda: b"silent" not in watcher.call("CLIENT", "LIST"))
        equal(number_in_info(watcher, "stats", "client_output_buffer_limit_disconnections"), 30)
        for raw in crowd:
            raw.close()


@own
def half_open_clients_cost_little():
    """Connections that send nothing, before and after authentication."""
    for options in ((), ("--requirepass", "secret")):
        with Daemon(*options) as daemon, daemon.raw() as watcher:
            if options:
                equal(watcher.call("AUTH", "secret"), b"+OK\r\n")
            before = number_in_info(watcher, "memory", "used_memory")
            crowd = [daemon.raw() for _ in range(500)]
            assert wait_for(
                lambda: number_in_info(watcher, "clients", "connected_clients") > len(crowd))
            each = (number_in_info(watcher, "memory", "used_memory") - before) / len(crowd)
            assert each < 2500, each
            for raw in crowd:
                raw.close()


def total_memory(raw):
    return int(re.search(rb"tot-mem=(\d+)", raw.call("CLIENT", "INFO"))[1])


@own
def an_idle_connection_keeps_no_large_request():
    with Daemon() as daemon, daemon.raw() as raw:
        before = total_memory(raw)
        raw.call("DEL", *range(1000))
        raw.send(b'SET k "' + b"x" * 60_000 + b'"\r\n')
        equal(raw.reply(), b"+OK\r\n")
        assert total_memory(raw) < before + 2000, (before, total_memory(raw))
        words = [word for number in range(2000) for word in ("PREFIX", f"prefix:{number}:")]
        equal(raw.call("CLIENT", "TRACKING", "ON", "BCAST", *words), b"+OK\r\n")
        assert total_memory(raw) > before + 2000 * 50, (before, total_memory(raw))
        equal(raw.call("CLIENT", "TRACKING", "OFF"), b"+OK\r\n")
        assert total_memory(raw) < before + 2000, (before, total_memory(raw))


if __name__ == "__main__":
    main()
