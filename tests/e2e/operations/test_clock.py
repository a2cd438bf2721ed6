#!/usr/bin/python3 -B
"""A server with `clock stepped`: time stands still until CLOCK moves it, and everything that is due on the way happens
in order before the reply."""
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import BINARY, NOON, Daemon, encode, equal, folder, main, own, wait_for
from followers import await_caught_up, await_linked

HOUR = 3_600_000


def stepped(*options, **how):
    return Daemon("--clock", "stepped", "--enable-debug-command", "no", *options, **how)


def moved(raw, *words):
    reply = raw.call("CLOCK", *words)
    assert reply[:1] == b":", reply
    return int(reply[1:])


@own
def time_stands_still_until_it_is_told():
    with stepped() as daemon, daemon.raw() as raw:
        now = moved(raw, "GET")
        equal(moved(raw, "SET", NOON), NOON)
        assert now < NOON, "the clock begins at the real time"
        raw.call("SET", "k", "v", "PX", 1000)
        equal(raw.call("PTTL", "k"), b":1000\r\n")
        equal(moved(raw, "ADVANCE", 1000), NOON + 1000)
        equal(raw.call("EXISTS", "k"), b":1\r\n")
        equal(raw.call("TIME"), b"*2\r\n$10\r\n%d\r\n$1\r\n0\r\n" % (NOON // 1000 + 1))
        equal(moved(raw, "ADVANCE", 1), NOON + 1001)
        equal(raw.call("DBSIZE"), b":0\r\n")
        equal(moved(raw, "ADVANCE", 0), NOON + 1001)
        equal(moved(raw, "SET", 5), 5)
        assert b"\r\nclock:stepped\r\n" in raw.call("INFO", "server")
        assert "clock is stepped" in daemon.log()


@own
def events_come_in_order_and_before_the_reply():
    with stepped("--notify-keyspace-events", "KEA") as daemon, daemon.raw() as raw, daemon.raw() as listener:
        moved(raw, "SET", NOON)
        raw.call("REDE.MPUSH", "d", 1500, "p", "a", 2500, "p", "b")
        raw.call("SADDEX", "s", "PX", 500, "MEMBERS", 1, "m")
        raw.call("XADD", "x", NOON, "f", "v")
        raw.call("POLICY", "SET", "x", "RETAIN", "2100ms")
        for key in range(100):
            raw.call("SET", key, "v", "PX", 10 + 37 * (key * 31 % 100))
        listener.call("PSUBSCRIBE", "__keyevent@0__:*")
        moved(raw, "ADVANCE", HOUR)
        found = []
        while listener.has_more():
            fields = listener.reply().split(b"\r\n")
            found.append((fields[6].partition(b":")[2].decode(), fields[8].decode()))
        keys = [int(key) for event, key in found if event == "expired"]
        equal(keys, sorted(range(100), key=lambda key: key * 31 % 100))
        order = [place for place, (event, _) in enumerate(found) if event != "expired"]
        equal([found[place] for place in order],
              [("sexpired", "s"), ("del", "s"), ("rede.due", "d"), ("xtrim", "x"), ("rede.due", "d")])
        before = [sum(10 + 37 * rank < at for rank in range(100)) for at in (501, 501, 1500, 2101, 2500)]
        equal([place - rank for rank, place in enumerate(order)], before)


@own
def blocked_clients_are_served_at_their_instant():
    with stepped() as daemon, daemon.raw() as raw:
        moved(raw, "SET", NOON)
        raw.call("REDE.PUSH", "d", 1000, "p", "id")
        waiting = daemon.raws(3)
        waiting[0].send(encode("REDE.CLAIM", "d", 500, "BLOCK", 0))
        wait_for(lambda: b"blocked_clients:1\r" in raw.call("INFO", "clients"))
        waiting[1].send(encode("REDE.BPOLL", "d", 0, "WITHIDS"))
        wait_for(lambda: b"blocked_clients:2\r" in raw.call("INFO", "clients"))
        waiting[2].send(encode("BLPOP", "list", 3))
        wait_for(lambda: b"blocked_clients:3\r" in raw.call("INFO", "clients"))
        moved(raw, "ADVANCE", 1499)
        assert b"blocked_clients:2\r" in raw.call("INFO", "clients")
        assert b"id" in waiting[0].reply()
        moved(raw, "ADVANCE", HOUR)
        assert b"id" in waiting[1].reply(), "the lease has ended on the way"
        equal(waiting[2].reply(), b"*-1\r\n")


@own
def leases_end_and_pass_on_at_their_instant():
    with stepped() as daemon, daemon.raw() as raw, daemon.raw() as waiting:
        moved(raw, "SET", NOON)
        raw.call("LEASE.TAKE", "lock", "ann", 1000)
        waiting.send(encode("LEASE.TAKE", "lock", "bob", 5000, "WAIT", 0))
        assert wait_for(lambda: b"blocked_clients:1\r" in raw.call("INFO", "clients"))
        moved(raw, "ADVANCE", 3000)
        end = int(waiting.reply().split(b":")[2])
        assert NOON + 6000 <= end <= NOON + 6001, end


@own
def many_clients_that_wait_get_elements_in_their_order():
    with stepped() as daemon, daemon.raw() as raw:
        moved(raw, "SET", NOON)
        waiting = daemon.raws(200)
        for place, client in enumerate(waiting):
            client.send(encode("REDE.BPOLL", "d", 0, "COUNT", 1))
            wait_for(lambda place=place: b"blocked_clients:%d\r" % (place + 1) in raw.call("INFO", "clients"))
        for place in range(200):
            raw.call("REDE.PUSH", "d", 100 * (place + 1), place, place)
        moved(raw, "ADVANCE", HOUR)
        for place, client in enumerate(waiting):
            assert b"\r\n%d\r\n" % place in client.reply()


@own
def requests_behind_advance_see_the_new_time():
    with stepped() as daemon, daemon.raw() as raw:
        moved(raw, "SET", NOON)
        raw.call("SET", "k", "v", "PX", 10)
        raw.send(encode("CLOCK", "ADVANCE", 11))
        raw.send(encode("GET", "k"))
        equal(raw.reply(), b":%d\r\n" % (NOON + 11))
        equal(raw.reply(), b"$-1\r\n")


@own
def the_clock_runs_and_freezes():
    with stepped() as daemon, daemon.raw() as raw:
        moved(raw, "SET", NOON)
        raw.call("SET", "k", "v", "PX", 20)
        at = moved(raw, "RUN")
        assert NOON <= at < NOON + HOUR
        wait_for(lambda: raw.call("DBSIZE") == b":0\r\n")
        waiting = daemon.raw()
        waiting.send(encode("BLPOP", "list", "0.02"))
        equal(waiting.reply(), b"*-1\r\n")
        at = moved(raw, "FREEZE")
        assert NOON + 20 < at < NOON + HOUR
        equal(moved(raw, "GET"), at)
        equal(moved(raw, "ADVANCE", 5), at + 5)
        moved(raw, "RUN")
        equal(moved(raw, "SET", NOON), NOON)
        equal(moved(raw, "GET"), NOON)


@own
def a_clock_that_is_set_back_leaves_timeouts_their_length():
    with stepped() as daemon, daemon.raw() as raw:
        moved(raw, "SET", NOON)
        waiting = daemon.raw()
        waiting.send(encode("BLPOP", "list", 1))
        wait_for(lambda: b"blocked_clients:1\r" in raw.call("INFO", "clients"))
        moved(raw, "SET", NOON - HOUR)
        moved(raw, "ADVANCE", 999)
        assert b"blocked_clients:1\r" in raw.call("INFO", "clients")
        moved(raw, "ADVANCE", 1)
        equal(waiting.reply(), b"*-1\r\n")


@own
def a_timeout_keeps_its_length_after_the_latest_time():
    with stepped() as daemon, daemon.raw() as raw:
        for _ in range(3):
            moved(raw, "SET", 2**63 - 3)
            moved(raw, "SET", NOON)
            waiting = daemon.raw()
            waiting.send(encode("BLPOP", "list", 1))
            wait_for(lambda: b"blocked_clients:1\r" in raw.call("INFO", "clients"))
            moved(raw, "ADVANCE", 999)
            assert b"blocked_clients:1\r" in raw.call("INFO", "clients")
            moved(raw, "ADVANCE", 1)
            equal(waiting.reply(), b"*-1\r\n")
            waiting.close()


@own
def a_pause_ends_on_the_way():
    with stepped() as daemon, daemon.raw() as raw:
        moved(raw, "SET", NOON)
        raw.call("SET", "k", "v", "PX", 100)
        raw.call("CLIENT", "PAUSE", 1000, "WRITE")
        with daemon.raw() as writer:
            writer.send(encode("SET", "late", "v"))
            wait_for(lambda: b"blocked_clients:1\r" in raw.call("INFO", "clients"))
            moved(raw, "ADVANCE", 1000)
            assert b"blocked_clients:1\r" in raw.call("INFO", "clients")
            moved(raw, "ADVANCE", 1)
            equal(writer.reply(), b"+OK\r\n")
        equal(raw.call("KEYS", "*"), b"*1\r\n$4\r\nlate\r\n")


@own
def replicas_follow_the_stepped_clock_of_their_master():
    with stepped(tcp=True) as master, stepped("--replicaof", f"127.0.0.1 {master.port}", tcp=True) as replica:
        await_linked(replica)
        with master.raw() as raw, replica.raw() as behind:
            moved(raw, "SET", NOON)
            moved(behind, "SET", NOON)
            raw.call("SET", "k", "v", "PX", 100)
            raw.call("SET", "later", "v", "PX", HOUR)
            moved(raw, "ADVANCE", 101)
            await_caught_up(master, replica)
            equal(behind.call("KEYS", "*"), b"*1\r\n$5\r\nlater\r\n")
            moved(behind, "ADVANCE", 2 * HOUR)
            equal(behind.call("EXISTS", "later"), b":0\r\n")


@own
def bad_calls_are_errors():
    with Daemon() as daemon, daemon.raw() as raw:
        real = b"-ERR the clock is real: only a server that was started with the option clock stepped can move it\r\n"
        for words in (("SET", 1), ("ADVANCE", 1), ("RUN",), ("FREEZE",)):
            equal(raw.call("CLOCK", *words), real, words)
        assert moved(raw, "GET") < NOON
        assert b"\r\nclock:real\r\n" in raw.call("INFO", "server")
        equal(raw.call("CONFIG", "SET", "clock", "stepped")[:5], b"-ERR ")
    with stepped() as daemon, daemon.raw() as raw:
        moved(raw, "SET", NOON)
        for words, error in ((("ADVANCE", -1), b"the clock can't advance by a negative span, or past the latest time"),
                             (("ADVANCE", 2**63 - 1), b"the clock can't advance by a negative span, or past the latest time"),
                             (("ADVANCE", "x"), b"value is not an integer or out of range"),
                             (("SET", -1), b"value is out of range"), (("SET", 2**63 - 1), b"value is out of range")):
            equal(raw.call("CLOCK", *words), b"-ERR %s\r\n" % error, words)
        raw.call("MULTI")
        equal(raw.call("CLOCK", "ADVANCE", 1), b"-ERR Command not allowed inside a transaction\r\n")
        raw.call("DISCARD")
        equal(raw.call("EVAL", "return redis.call('CLOCK', 'ADVANCE', 1)", 0)[:5], b"-ERR ")
        equal(moved(raw, "GET"), NOON)


@own
def a_service_refuses_a_stepped_clock():
    with folder() as place:
        for words in (("--supervised", "systemd"), ("--check-config", "--supervised", "systemd")):
            words = [*words[:-2], "--clock", "stepped", *words[-2:], "--port", "0", "--dir", place]
            done = subprocess.run([BINARY, *words], capture_output=True, text=True, check=False)
            assert done.returncode == 1 and "clock stepped is for tests" in done.stdout + done.stderr, done


main(60)
