#!/usr/bin/python3 -B
"""Dehydrators of expired.so in a host: replies as the daemon's, waiting clients, files,
replicas. The time is real, so deadlines are far from now, or short with generous bounds."""
import contextlib
import random
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import REPLY_SECONDS, Daemon, encode, equal, main, random_seed, test, wait_for
from engines import SYNCED, Engine, check_restart, engine
from process import STRETCH

SOON = int(300 * STRETCH)   # ms
PAST, FAR = 1000, 4 * 10**12  # instants, in Unix ms

# Each command is run by the module and by the daemon.
PROGRAM = """
REDE.PUSH d x p id
REDE.PUSH d 9223372036854775807 p id
REDE.PUSH d
REDE.PUSH d 0 p zero
REDE.PUSH d 0 p zero
REDE.PUSHAT d 1000 one a
REDE.PUSHAT d 1001 two b
REDE.PUSHAT d 4000000000000 far f
REDE.PUSHAT d -1 p bad
REDE.MPUSH d 10000000 m1 m1 20000000 m2 m2
REDE.MPUSH d 10000000 m1 m1
REDE.MPUSH d 10000000 m1
REDE.LOOK d a
REDE.LOOK d none
REDE.LOOK none none
REDE.UPDATE d a uno
REDE.UPDATE d none x
REDE.UPDATE none none x
REDE.LEN d
REDE.LEN d DUE
REDE.LEN d CLAIMED
REDE.LEN d FOO
REDE.TTN d
REDE.TTN none
REDE.RANGE d - 2000
REDE.RANGE d 3000000000000 +
REDE.RANGE d x +
REDE.COUNT d - 2000
REDE.COUNT d 3000000000000 +
REDE.COUNT d x +
REDE.XPOLL d COUNT 2
REDE.XPOLL d COUNT -1
REDE.CLAIM d 0
REDE.CLAIM d 100000 COUNT 1
REDE.LEN d CLAIMED
REDE.NACK d 0 a
REDE.NACK d 0 none
REDE.CLAIM d 100000 COUNT 2 BLOCK 1
REDE.XACK d a b none f
REDE.XACK none a
REDE.PULL d m1
REDE.PULL d none
REDE.RESCHEDULE d 0 m2 none
REDE.POLL d COUNT 1 WITHIDS
REDE.POLL d FOO
REDE.SCAN d 0 MATCH f
REDE.SCAN d x
REDE.POLL d
REDE.BPOLL d -1
REDE.BPOLL d x
REDE.BPOLL d 0.001
REDE.CLAIM d 1000 BLOCK 0.001
REDE.INFO none
SET s v
REDE.PUSH s 0 p id
REDE.PUSH s x p id
REDE.POLL s
REDE.BPOLL s 1
REDE.LEN s
REDE.INFO s
MULTI
REDE.BPOLL none 1
REDE.CLAIM none 10 BLOCK 1
REDE.POLL none
EXEC
REDE.PULL d f
EXISTS d
REDE.LEN d
REDE.PUSHAT o 4000000000000 p a KEEP
REDE.PUSHAT o 4000000000000 q a KEEP
REDE.PUSHAT o 4000000000001 r a REPLACE
REDE.LOOK o a
REDE.PUSHAT o 4000000000002 s a POSTPONE ATMOST 100000000000
REDE.PUSHAT o 1000 t t EVERY 100000000000 REMEMBER 1000000000
REDE.PUSHAT o 1000 t t
REDE.PUSHAT o 1000 t t EVERY 0
REDE.PUSHAT o 1000 t t BOGUS
REDE.CLAIM o 100000
REDE.PUSHAT o 2000 u t REPLACE
REDE.LOOK o t
REDE.XACK o t
REDE.LOOK o t
REDE.PULL o t
REDE.PUSH o 0 v t KEEP
REDE.PUSH o 0 v t
REDE.PULL o t FORGOT
REDE.PULL o t FORGET
REDE.PUSH o 0 v t REMEMBER 1000000000
REDE.PULL o t FORGET
REDE.PUSH o 0 v t KEEP
REDE.PAUSE o
REDE.PUSH o 0 w w
REDE.CLAIM o 1000
REDE.POLL o
REDE.PAUSE o UNTIL 5
REDE.PAUSE o UNTIL x
REDE.RESUME o
REDE.POLL o
REDE.RESUME none
REDE.PAUSE s
""".strip().split("\n")


def fill(client, key="d"):
    """A dehydrator of five elements; two are due, one was claimed."""
    run = client.execute_command
    run("REDE.PUSHAT", key, PAST, "one", "a")
    run("REDE.PUSHAT", key, PAST + 1, "two", "b")
    run("REDE.PUSHAT", key, FAR, "far", "f")
    run("REDE.PUSHAT", key, FAR, "next", "g")
    run("REDE.PUSHAT", key, FAR - 5, "soon\x00\r\n", "")
    run("REDE.CLAIM", key, 10**11, "COUNT", 1)


def content(client, key="d"):
    """What a dehydrator has: order, deadlines, payloads, claims."""
    run = client.execute_command
    order = run("REDE.RANGE", key, "-", "+")
    return [(name, at, run("REDE.LOOK", key, name)) for name, at in order] + \
        [run("REDE.LEN", key, "CLAIMED"), run("REDE.LEN", key, "DUE")]


@test
def replies_are_those_of_the_daemon():
    for version in ("2", "3"):
        with Engine() as server, Daemon() as daemon, server.raw() as ours, daemon.raw() as theirs:
            ours.call("HELLO", version)
            theirs.call("HELLO", version)
            for line in PROGRAM:
                arguments = line.split(" ")
                equal(ours.call(*arguments), theirs.call(*arguments), f"RESP{version} {line}")


@test
def a_waiting_client_gets_an_element_when_it_falls_due():
    with engine() as (server, client):
        with server.raw() as waiting, server.raw() as second:
            waiting.send(encode("REDE.BPOLL", "d", "0", "WITHIDS", "COUNT", "1"))
            wait_for(lambda: client.info("clients")["blocked_clients"] == 1)
            second.send(encode("REDE.CLAIM", "d", "100000", "BLOCK", "0"))
            wait_for(lambda: client.info("clients")["blocked_clients"] == 2)
            client.execute_command("REDE.PUSH", "d", 2 * SOON, "two", "b")
            client.execute_command("REDE.PUSH", "d", SOON, "one", "a")
            equal(client.info("clients")["blocked_clients"], 2, "not due yet")
            equal(waiting.reply(), b"*1\r\n*2\r\n$1\r\na\r\n$3\r\none\r\n")
            equal(second.reply(), b"*1\r\n*3\r\n$1\r\nb\r\n$3\r\ntwo\r\n:1\r\n")
            equal(client.execute_command("REDE.LEN", "d", "CLAIMED"), 1)


@test
def a_lease_that_ends_wakes_a_waiting_client():
    with engine() as (server, client), server.raw() as waiting:
        client.execute_command("REDE.PUSH", "d", 0, "p", "a")
        client.execute_command("REDE.CLAIM", "d", SOON)
        waiting.send(encode("REDE.CLAIM", "d", "1000", "BLOCK", "0"))
        equal(waiting.reply(), b"*1\r\n*3\r\n$1\r\na\r\n$1\r\np\r\n:2\r\n")


@test
def a_renamed_or_copied_dehydrator_wakes_clients_too():
    with engine() as (server, client), server.raw() as one, server.raw() as two:
        one.send(encode("REDE.BPOLL", "renamed", "0"))
        two.send(encode("REDE.BPOLL", "copied", "0"))
        wait_for(lambda: client.info("clients")["blocked_clients"] == 2)
        client.execute_command("REDE.PUSH", "d", 2 * SOON, "p", "a")
        client.copy("d", "copied")
        client.rename("d", "renamed")
        equal(one.reply(), b"*1\r\n$1\r\np\r\n")
        equal(two.reply(), b"*1\r\n$1\r\np\r\n")
        equal(client.dbsize(), 0)


@test
def events_report_changes_and_due_elements():
    with engine() as (_, client):
        client.config_set("notify-keyspace-events", "EAd")
        listener = client.pubsub(ignore_subscribe_messages=True)
        listener.psubscribe("__keyevent@0__:*")
        wait_for(lambda: client.pubsub_numpat() > 0)
        client.execute_command("REDE.PUSH", "d", SOON, "p", "a")
        heard = []
        while "rede.due" not in heard:
            message = wait_for(lambda: listener.get_message(timeout=0.2))
            heard.append(message["channel"].decode().split("__:")[1])
        client.execute_command("REDE.POLL", "d")
        while "del" not in heard:
            message = wait_for(lambda: listener.get_message(timeout=0.2))
            heard.append(message["channel"].decode().split("__:")[1])
        equal([event for event in heard if event != "new"],
              ["rede.push", "rede.due", "rede.poll", "del"])


@test
def a_dehydrator_survives_dump_copy_and_reload():
    with engine() as (_, client):
        fill(client)
        wanted = content(client)
        digest = client.execute_command("DEBUG", "DIGEST-VALUE", "d")
        client.restore("restored", 0, client.dump("d"))
        client.copy("d", "copied")
        client.execute_command("DEBUG", "RELOAD")
        for key in ("d", "restored", "copied"):
            equal(content(client, key), wanted, key)
            equal(client.execute_command("DEBUG", "DIGEST-VALUE", key), digest, key)
        assert client.memory_usage("d") > 100
        equal(client.type("d"), b"dehy-type")


@test
def a_damaged_payload_is_refused_or_whole():
    with engine() as (_, client):
        fill(client)
        payload, loaded = client.dump("d"), 0
        for checks in ("0", "1"):
            client.execute_command("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", checks)
            for i in range(len(payload)):
                damaged = payload[:i] + bytes([payload[i] ^ 0x55]) + payload[i + 1:]
                with contextlib.suppress(redis.ResponseError):
                    client.restore("bad", 0, damaged, replace=True)
                    loaded += 1
                    equal(client.execute_command("REDE.LEN", "bad"), 5)
            assert (loaded > 0) == (checks == "1"), loaded  # changed ids, payloads, instants
        client.flushall()
        equal(client.ping(), True)


@test
def dehydrators_survive_a_restart():
    for options in (("--save", "3600 1"), ("--appendonly", "yes", *SYNCED),
                    ("--appendonly", "yes", *SYNCED, "--aof-use-rdb-preamble", "no")):
        with engine(*options) as (server, client):
            fill(client)
            client.execute_command("REDE.PUSHAT", "d", FAR, "pulled", "x")
            client.execute_command("REDE.UPDATE", "d", "g", "changed")
            if options[0] == "--save":
                client.save()
            elif "--aof-use-rdb-preamble" in options:
                client.bgrewriteaof()
                wait_for(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
                fill(client, "second")
            client.execute_command("REDE.PULL", "d", "x") if options[0] != "--save" else None
            wanted = content(client)
            server.kill()
            server.start()
            with server.redis() as again:
                equal(content(again), wanted, options)
                with server.raw() as waiting:  # claims of another engine end here too
                    waiting.send(encode("REDE.BPOLL", "d", "0", "COUNT", "1"))
                    equal(waiting.reply(), b"*1\r\n$3\r\ntwo\r\n")


@test
def a_replica_has_the_same_and_takes_over():
    with engine("--repl-diskless-sync-delay", "0", tcp=True) as (master, one), \
            engine("--appendonly", "yes", *SYNCED, tcp=True) as (replica, two):
        fill(one, "before")
        two.replicaof("127.0.0.1", master.port)
        assert wait_for(lambda: two.info("replication")["master_link_status"] == "up")
        fill(one)
        one.execute_command("REDE.GIDPUSH", "d", 10**9, "made")
        one.execute_command("REDE.NACK", "d", 10**9, "a")
        one.execute_command("REDE.POLL", "before")
        one.execute_command("REDE.PUSH", "d", 4 * SOON, "soon", "soon")
        with master.raw() as waiting:
            waiting.send(encode("REDE.BPOLL", "d", "0", "COUNT", "1"))
            equal(waiting.reply(), b"*1\r\n$3\r\ntwo\r\n")
        assert wait_for(lambda: one.info("replication")["master_repl_offset"] ==
                        two.info("replication")["slave_repl_offset"])
        for key in ("d", "before"):
            equal(content(two, key), content(one, key), key)
        master.kill()
        two.replicaof("NO", "ONE")
        with replica.raw() as waiting:
            waiting.send(encode("REDE.BPOLL", "d", "0"))
            equal(waiting.reply(), b"*1\r\n$4\r\nsoon\r\n")
        check_restart(replica, content)


@test
def a_replica_does_not_announce_due_elements():
    """Neither when it is read nor when its master's client takes the element."""
    with engine("--repl-diskless-sync-delay", "0", tcp=True) as (master, one), \
            engine("--notify-keyspace-events", "KA", tcp=True) as (_, two):
        two.replicaof("127.0.0.1", master.port)
        assert wait_for(lambda: two.info("replication")["master_link_status"] == "up")
        with two.pubsub() as listener:
            listener.subscribe("__keyspace@0__:d")
            one.execute_command("REDE.PUSH", "d", 0, "payload", "a")
            one.execute_command("REDE.PUSH", "d", 10**9, "payload", "b")
            wait_for(lambda: two.execute_command("REDE.LEN", "d", "DUE") == 1)
            equal(one.execute_command("REDE.PULL", "d", "a"), b"payload")
            one.delete("d")
            heard = []
            while "del" not in heard:
                message = listener.get_message(ignore_subscribe_messages=True, timeout=REPLY_SECONDS)
                heard += [message["data"].decode()] if message else []
        assert "rede.due" not in heard, heard


@test
def flushing_in_a_thread_of_the_engine_frees_everything():
    with engine() as (server, client):
        for k in range(20):
            client.execute_command("REDE.MPUSH", f"d{k}",
                                   *(word for i in range(500) for word in (10**9, "p" * 50, i)))
        client.flushall(asynchronous=True)
        wait_for(lambda: client.info("memory")["used_memory"] < 3_000_000)
        fill(client)
        client.unlink("d")
        client.execute_command("REDE.PUSH", "d", 0, "p", "a")
        equal(client.execute_command("REDE.POLL", "d"), [b"p"])
        equal(server.is_running(), True)


@test
def clients_cannot_send_commands_that_only_masters_send():
    with engine() as (server, client), server.raw() as raw:
        assert raw.call("X.REDE.PUSHAT", "d", "1", "p", "a").startswith(b"-ERR only a master")
        equal(client.exists("d"), 0)


@test
def tokens_are_refused():
    with engine() as (server, client), server.raw() as raw:
        client.execute_command("REDE.PUSH", "d", 0, "p", "a")
        equal(raw.call("REDE.CLAIM", "d", 50, "TOKENS"), b"-ERR no fencing tokens are left\r\n")
        assert raw.call("REDE.ACK", "d", "a", 1).startswith(b"-ERR unknown command")
        equal(client.execute_command("REDE.LEN", "d", "DUE"), 1)


# --- options of pushes, pauses, rates --------------------------------------------------------------


def fill_with_options(client):
    """Elements with options, a successor, remembered ids, and a pause; nothing that depends on the time."""
    run = client.execute_command
    run("REDE.PUSHAT", "d", PAST, "tick", "every", "EVERY", 10**9)
    run("REDE.PUSHAT", "d", 4 * 10**12, "happy", "new year", "CRON", "0 0 1 1 *", "ZONE", "Europe/Berlin")
    run("REDE.PUSH", "d", 10**9, "late", "post", "POSTPONE", "ATMOST", 10**9)
    run("REDE.PUSH", "d", 0, "once", "once", "REMEMBER", 10**9)
    run("REDE.PULL", "d", "once")
    run("REDE.PUSH", "d", 0, "back", "back", "REMEMBER", 10**9)
    run("REDE.PULL", "d", "back")
    run("REDE.PUSH", "d", 0, "first", "busy")
    run("REDE.CLAIM", "d", 10**9)  # `every`, which is due longest
    run("REDE.CLAIM", "d", 10**9)
    run("REDE.PUSH", "d", 10**9, "second", "busy", "REPLACE")
    run("REDE.PAUSE", "d")


def tried(client):
    """What the options do: read without changing anything that a later look would see."""
    run = client.execute_command
    info = run("REDE.INFO", "d")
    return [run("REDE.RANGE", "d", "-", "+"), run("REDE.CLAIM", "d", 10**9), run("REDE.LOOK", "d", "busy"),
            run("REDE.PUSH", "d", 0, "again", "once", "KEEP"), run("REDE.PUSH", "d", 0, "again", "post", "KEEP"),
            info[info.index(b"paused-until") + 1]]


def forget(client):
    """One of the remembered ids."""
    equal(client.execute_command("REDE.PUSH", "d", 0, "again", "back", "KEEP"), None)
    equal(client.execute_command("REDE.PULL", "d", "back", "FORGET"), None)


def finished(client):
    """The successor of a claimed element, the next multiple and the instant of a schedule take their places, and a
    forgotten id is free."""
    run = client.execute_command
    run("REDE.PUSH", "d", 10**9, "again", "back")
    run("REDE.RESUME", "d")
    run("REDE.RESCHEDULE", "d", 0, "new year")
    run("REDE.XACK", "d", "busy", "every", "new year")
    ranges = dict(run("REDE.RANGE", "d", "-", "+"))
    equal(ranges[b"new year"], 4007833200000, "2097-01-01 in Berlin")
    return [run("REDE.LOOK", "d", "busy"), (ranges[b"every"] - PAST) % 10**9, run("REDE.LEN", "d", "CLAIMED")]


WANTED = [None, [], b"first", None, None, -1]


@test
def options_of_pushes_and_pauses_survive_files():
    for options in (("--save", "3600 1"), ("--appendonly", "yes", *SYNCED),
                    ("--appendonly", "yes", "--aof-use-rdb-preamble", "no", *SYNCED)):
        with engine(*options) as (server, client):
            fill_with_options(client)
            wanted = [client.execute_command("REDE.RANGE", "d", "-", "+"), *WANTED[1:]]
            equal(tried(client), wanted, options)
            if options[0] == "--save":
                forget(client)
                client.save()
            else:
                client.bgrewriteaof()
                assert wait_for(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
                forget(client)
            server.kill()
            server.start()
            with server.redis() as again:
                assert wait_for(lambda: not again.info("persistence")["loading"])
                equal(tried(again), wanted, options)
                equal(finished(again), [b"second", 0, 0], options)


@test
def a_replica_has_options_and_pauses():
    with engine("--repl-diskless-sync-delay", "0", tcp=True) as (master, one), engine(tcp=True) as (replica, two):
        for before in (True, False):
            one.flushall()
            if before:
                fill_with_options(one)
                two.replicaof("127.0.0.1", master.port)
            assert wait_for(lambda: two.info("replication")["master_link_status"] == "up")
            if not before:
                fill_with_options(one)
            forget(one)
            assert wait_for(lambda: one.info("replication")["master_repl_offset"] ==
                            two.info("replication")["slave_repl_offset"])
            equal(two.execute_command("DEBUG", "DIGEST-VALUE", "d"), one.execute_command("DEBUG", "DIGEST-VALUE", "d"))
        wanted = [one.execute_command("REDE.RANGE", "d", "-", "+"), *WANTED[1:]]
        two.replicaof("NO", "ONE")
        equal(tried(two), wanted)
        equal(finished(two), [b"second", 0, 0])


@test
def payloads_and_copies_have_options():
    with engine() as (_, client):
        fill_with_options(client)
        forget(client)
        wanted = [client.execute_command("REDE.RANGE", "d", "-", "+"), *WANTED[1:]]
        payload = client.dump("d")
        client.copy("d", "copy")
        for how in ("copy", "payload"):
            client.delete("d")
            if how == "copy":
                client.rename("copy", "d")
            else:
                client.restore("d", 0, payload)
            equal(tried(client), wanted, how)
            equal(finished(client), [b"second", 0, 0], how)


@test
def a_damaged_payload_with_options_is_refused_or_works():
    rng, loaded = random.Random(random_seed()), 0
    with engine() as (_, client):
        fill_with_options(client)
        payload = client.dump("d")
        client.execute_command("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", "1")
        for _ in range(3000):
            damaged = bytearray(payload)
            for _ in range(rng.choice((1, 1, 2, 8))):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            with contextlib.suppress(redis.ResponseError):
                client.restore("d", 0, bytes(damaged), replace=True)
                loaded += 1
                if client.type("d") == b"dehy-type":
                    tried(client)
                    client.execute_command("REDE.RESUME", "d")
                    client.execute_command("REDE.XACK", "d", "busy", "every")
                    client.execute_command("REDE.POLL", "d")
                    client.copy("d", "copy", replace=True)
        assert loaded > 100, loaded
        client.flushall()
        equal(client.ping(), True)


@test
def payloads_of_the_first_encoding_are_read():
    payload = ("078175e872fadca97801020202810000028aee1f2ed90201020105016105036f6e650281000003a352944000020002000501620500"
               "000a00572605cdda4ee3b1")
    with engine() as (_, client):
        client.restore("d", 0, bytes.fromhex(payload))
        equal(client.execute_command("REDE.RANGE", "d", "-", "+"), [[b"a", 2795723763417], [b"b", 4000000000000]])
        equal([client.execute_command("REDE.LEN", "d", "CLAIMED"), client.execute_command("REDE.LOOK", "d", "a"),
               client.execute_command("REDE.LOOK", "d", "b")], [1, b"one", b""])


@test
def waiting_clients_are_served_when_a_pause_ends():
    with engine() as (server, client), server.raw() as waiting, server.raw() as other:
        client.execute_command("REDE.PUSH", "d", 0, "p", "a")
        client.execute_command("REDE.PAUSE", "d")
        waiting.send(encode("REDE.BPOLL", "d", "0"))
        assert wait_for(lambda: client.info("clients")["blocked_clients"] == 1)
        client.execute_command("REDE.RESUME", "d")
        equal(waiting.reply(), b"*1\r\n$1\r\np\r\n")
        now = int(float(client.time()[0]) * 1000 + client.time()[1] / 1000)
        client.execute_command("REDE.PUSH", "d", 0, "q", "b")
        client.execute_command("REDE.PAUSE", "d", "UNTIL", now + SOON)
        other.send(encode("REDE.BPOLL", "d", "0"))
        equal(other.reply(), b"*1\r\n$1\r\nq\r\n")
        assert sum(part * unit for part, unit in zip(client.time(), (1000, 0.001))) >= now + SOON
        equal(client.exists("d"), 0)


@test
def policies_with_rate_backoff_and_maxlen_apply():
    with engine() as (_, client):
        run = client.execute_command
        run("EXPIRED.POLICY", "SET", "rated", "RATE", 2, "PER", 10**8)
        run("EXPIRED.POLICY", "SET", "slow", "BACKOFF", 10**8, 10**9)
        run("EXPIRED.POLICY", "SET", "short", "MAXLEN", 2)
        run("REDE.MPUSH", "rated", 0, "p", "a", 0, "p", "b")
        equal(run("REDE.POLL", "rated"), [b"p"])
        equal(run("REDE.POLL", "rated"), [])
        equal(run("REDE.LEN", "rated", "DUE"), 1)
        run("REDE.PUSH", "slow", 0, "p", "a")
        run("REDE.CLAIM", "slow", 1)
        assert run("REDE.TTN", "slow") > 10**8 - 60_000
        run("REDE.MPUSH", "short", 0, "p", "a", 0, "p", "b")
        try:
            run("REDE.PUSH", "short", 0, "p", "c")
            raise AssertionError("MAXLEN does nothing")
        except redis.ResponseError as error:
            equal(str(error), "the dehydrator is full")
        equal(run("REDE.LEN", "short"), 2)

main()
