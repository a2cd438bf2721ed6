#!/usr/bin/python3 -B
"""CL.THROTTLE, CL.THROTTLEMS and CL.WINDOW of expired.so in a host: replies of the daemon, on strings of the
host, which replicas and files get as SET, and which expire on time. The time is real."""
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, encode, equal, happens, main, random_seed, test, wait_for
from engines import check_restart, engine

ERRORS = ["CL.THROTTLE k 1 0 1", "CL.THROTTLE k 1 1 0", "CL.THROTTLEMS k 1 1000001 1", "CL.THROTTLE k -1 1 1",
          "CL.THROTTLE k 1 1 1 -1", "CL.THROTTLE k x 1 1", "CL.THROTTLE k 1 x 1", "CL.THROTTLE k 1 1 10000000000",
          "CL.THROTTLE k 1 1 1 1 1", "CL.THROTTLE k 1", "CL.WINDOW k 1", "CL.WINDOW k 1 1 1 1", "CL.WINDOW k 0 1",
          "CL.WINDOW k x 1", "CL.WINDOW k 1 0", "CL.WINDOW k 1 1 0", "CL.WINDOW k 1 1 2", "CL.WINDOW list 1 1000",
          "CL.THROTTLE list 1 1 1", "CL.WINDOW text 1 1000", "CL.THROTTLE text 1 1 1"]


def content(client):
    return sorted((key, client.get(key), client.execute_command("PEXPIRETIME", key)) for key in client.keys())


@test
def replies_are_those_of_the_daemon():
    """Spans of hours: the two servers are asked within milliseconds, so times may differ by some."""
    seed = random_seed()
    chance = random.Random(seed)
    with engine() as (_, client), Daemon() as daemon, daemon.redis() as own:
        for server in (client, own):
            server.rpush("list", "a")
            server.set("text", "a")
        for _ in range(300):
            name, unit = chance.choice((("CL.THROTTLE", 3600), ("CL.THROTTLEMS", 3_600_000), ("CL.WINDOW", 3_600_000)))
            words = (chance.randrange(5), chance.choice((1, 5)), unit) if name != "CL.WINDOW" else (5, unit)
            call = (name, f"{name} {chance.randrange(9)}", *words, chance.choice((0, 1, 1, 2)) if len(words) > 2 else 1)
            found, wanted = client.execute_command(*call), own.execute_command(*call)
            equal(found[:3], wanted[:3], (seed, call))
            for here, there in zip(found[3:], wanted[3:]):
                assert (here == -1) == (there == -1) and abs(here - there) < 10_000, (seed, call, found, wanted)


@test
def errors_are_those_of_the_daemon_and_change_nothing():
    with engine() as (server, client), Daemon() as daemon, server.raw() as raw, daemon.raw() as own:
        for each in (raw, own):
            each.call("RPUSH", "list", "a")
            each.call("SET", "text", "a")
        for call in ERRORS:
            found = raw.call(*call.split())
            equal((found[:1], found), (b"-", own.call(*call.split())), call)
        equal((client.dbsize(), client.get("text"), client.lrange("list", 0, -1)), (2, b"a", [b"a"]))


@test
def the_key_of_a_limit_expires_on_time_with_its_events():
    with engine() as (server, client), server.raw() as listener:
        client.config_set("notify-keyspace-events", "E$gx")
        listener.call("PSUBSCRIBE", "__keyevent@0__:*")
        equal(client.execute_command("CL.THROTTLEMS", "cell", 4, 1, 100, 3), [0, 5, 2, -1, 300])
        equal(client.execute_command("CL.WINDOW", "window", 5, 300), [0, 5, 4, -1, 300])
        assert wait_for(lambda: client.dbsize() == 0)
        heard = [message.split(b"\r\n")[6].partition(b":")[2] for message in listener.replies(6)]
        equal(heard, [b"set", b"expire", b"set", b"expire", b"expired", b"expired"])


@test
def a_client_that_waits_retry_after_is_admitted():
    with engine() as (_, client):
        for call in (("CL.THROTTLEMS", "cell", 0, 20, 1000), ("CL.WINDOW", "window", 1, 50)):
            for _ in range(5):
                found = client.execute_command(*call)
                while found[0]:  # it is real time, so nothing is certain but the end
                    assert 0 < found[3] <= 50, found
                    happens(lambda: False, found[3] / 1000)
                    found = client.execute_command(*call)


@test
def replicas_and_files_have_them():
    with engine("--appendonly", "yes", tcp=True) as (one, client):
        with engine("--replicaof", f"127.0.0.1 {one.port}", tcp=True) as (_, replica):
            assert wait_for(lambda: replica.info("replication")["master_link_status"] == "up")
            for i in range(40):
                client.execute_command("CL.THROTTLE", f"cell {i % 7}", 100, 1, 1000)
                client.execute_command("CL.WINDOW", f"window {i % 7}", 50, 10**7, 1 + i % 2)
            client.eval("return redis.call('CL.WINDOW', KEYS[1], 5, 100000)", 1, "by a script")
            client.pipeline().execute_command("CL.THROTTLE", "in MULTI", 5, 1, 100).execute()
            equal(len(client.keys()), 16)
            assert wait_for(lambda: content(replica) == content(client)), (content(replica), content(client))
        check_restart(one, content)


@test
def the_engine_knows_their_keys():
    with engine() as (server, client), server.raw() as raw:
        for call in ("CL.THROTTLE k 1 1 1", "CL.WINDOW k 1 1"):
            equal(raw.call("COMMAND", "GETKEYS", *call.split()), b"*1\r\n$1\r\nk\r\n")
        client.acl_setuser("ann", enabled=True, nopass=True, commands=["+cl.throttle"], keys=["mine:*"])
        with server.raw() as ann:
            ann.call("AUTH", "ann", "x")
            equal(ann.call("CL.THROTTLE", "mine:1", 1, 1, 1)[:1], b"*")
            equal(ann.call("CL.THROTTLE", "k", 1, 1, 1)[:7], b"-NOPERM")
            ann.send(encode("CL.WINDOW", "mine:1", 1, 1))
            equal(ann.reply()[:7], b"-NOPERM")


if __name__ == "__main__":
    main(60)
