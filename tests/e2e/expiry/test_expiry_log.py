#!/usr/bin/python3 -B
"""POLICY SET ... EXPIRED TO: what expires is in the log, whoever removes it, with its value."""
import re
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, encode, equal, main, own, wait_for
from policies import Policies


def fields(entry):
    """The entry's fields as a dict, without the ID."""
    values = entry[1]
    if isinstance(values, dict):
        return values
    return dict(zip(values[::2], values[1::2]))


def entries(po, key="log"):
    return [fields(entry) for entry in po.run("XRANGE", key, "-", "+")]


@own
def each_way_to_find_a_key_expired_logs_it_once():
    ways = (["GET", "s:1"], ["EXISTS", "s:1"], ["TTL", "s:1"], ["DEL", "s:1"], ["SET", "s:1", "new"],
            ["RENAME", "other", "s:1"], ["SETNX", "s:1", "new"], ["TYPE", "s:1"], ["PING"],
            ["EVAL", "return redis.call('GET', KEYS[1])", 1, "s:1"], ["DBSIZE"], ["SCAN", 0],
            ["MGET", "s:1", "s:1"], ["TOUCH", "s:1"], ["OBJECT", "ENCODING", "log"])
    with Policies() as po:
        po.rule("s:*", "EXPIRED", "TO", "log", "VALUE")
        for way in ways:
            po.run("SET", "other", "o")
            po.run("SET", "s:1", "v", "PX", 10)
            at = po.now + 10
            po.step(11)
            try:
                po.run(*way)
            except Exception:  # pylint: disable=broad-except
                pass
            assert wait_for(lambda: po.run("XLEN", "log") == 1), way
            equal(entries(po), [{b"key": b"s:1", b"at": str(at).encode(), b"type": b"string",
                                 b"value": b"v"}], way)
            po.run("DEL", "s:1", "log")


@own
def payload_in_the_log_restores_the_value():
    with Policies() as po:
        po.rule("s:*", "EXPIRED", "TO", "log", "VALUE")
        makers = {b"list": ["RPUSH", "s:1", "a", "b"], b"set": ["SADD", "s:1", "m", "1"],
                  b"zset": ["ZADD", "s:1", "1.5", "m"], b"stream": ["XADD", "s:1", "1-1", "f", "v"],
                  b"dehydrator": ["REDE.PUSH", "s:1", 1000, "payload", "id"],
                  b"lease": ["LEASE.TAKE", "s:1", "owner", 1000]}
        for kind, words in makers.items():
            po.run(*words)
            before = po.run("DUMP", "s:1")
            po.run("PEXPIRE", "s:1", 5)
            po.step(6)
            entry = entries(po)[0]
            equal((entry[b"type"], entry[b"dump"]), (kind, before))
            equal(po.run("RESTORE", "copy", 0, entry[b"dump"]), b"OK")
            equal(po.run("TYPE", "copy"), kind)
            po.run("DEL", "copy", "log")


@own
def too_long_values_leave_their_size():
    with Policies() as po:
        po.rule("s:*", "EXPIRED", "TO", "log", "VALUE", "MAX", 10)
        po.run("SET", "s:1", "x" * 11, "PX", 1)
        po.run("SET", "s:2", "x" * 10, "PX", 2)
        po.run("HSET", "s:3", "name", "x" * 20)
        po.run("PEXPIRE", "s:3", 3)
        po.step(10)
        first, second, third = entries(po)
        equal((first[b"size"], b"value" in first), (b"11", False))
        equal(second[b"value"], b"x" * 10)
        assert int(third[b"size"]) > 20 and b"field:name" not in third, third


@own
def hashes_and_members_are_logged_with_their_names():
    with Policies() as po:
        po.rule("*", "EXPIRED", "TO", "log", "VALUE")
        po.run("HSET", "h", "f", "1", "g", "")
        po.run("PEXPIRE", "h", 1)
        po.run("HSETEX", "i", "PX", 2, "FIELDS", 1, "f", "v")
        po.run("ZADDEX", "z", "PX", 3, "2.5", "m")
        po.run("SADDEX", "s", "PX", 4, "MEMBERS", 1, "m")
        po.step(10)
        whole, field, scored, member = entries(po)
        equal((whole[b"field:f"], whole[b"field:g"]), (b"1", b""))
        equal((field[b"key"], field[b"member"], field[b"value"]), (b"i", b"f", b"v"))
        equal((scored[b"type"], scored[b"member"], scored[b"score"]), (b"zset", b"m", b"2.5"))
        equal((member[b"type"], member[b"member"], len(member)), (b"set", b"m", 4))


@own
def dehydrator_gives_each_key_as_one_element_that_is_due():
    with Policies() as po:
        po.run("REDE.PUSH", "deh", 100000, "old", "s:1")
        po.rule("s:*", "EXPIRED", "TO", "deh", "VALUE")
        po.run("SET", "s:1", "first", "PX", 1)
        po.run("SADDEX", "s:2", "PX", 2, "MEMBERS", 1, "m")
        po.step(10)
        equal(po.run("REDE.CLAIM", "deh", 1000, "COUNT", 10), [[b"s:1", b"first", 1], [b"s:2\0m", b"", 1]])
        po.run("SET", "s:1", "second", "PX", 1)
        po.step(10)
        equal(po.run("REDE.CLAIM", "deh", 1000), [[b"s:1", b"second", 1]])


@own
def waiting_readers_wake_when_a_key_expires():
    with Daemon() as daemon, daemon.redis() as client, daemon.raw() as waiting:
        client.execute_command("POLICY", "SET", "s:*", "EXPIRED", "TO", "deh")
        client.execute_command("POLICY", "SET", "t:*", "EXPIRED", "TO", "log")
        client.execute_command("REDE.PUSH", "deh", 10**9, "later", "id")
        client.set("s:1", "value", px=50)
        equal(waiting.call("REDE.BPOLL", "deh", 20), b"*1\r\n$5\r\nvalue\r\n")
        client.set("t:1", "value", px=50)
        assert b"t:1" in waiting.call("XREAD", "BLOCK", 20000, "STREAMS", "log", "0-0")


@own
def reader_whose_wait_ends_in_the_millisecond_of_an_entry_gets_it():
    with Policies() as po:
        po.rule("s:*", "EXPIRED", "TO", "log")
        for _ in range(5):
            po.run("SET", "s:1", "v", "PX", 10)  # it exists for all of the tenth millisecond
            with po.daemon.raw() as reader:
                reader.send(encode("XREAD", "BLOCK", 11, "STREAMS", "log", "$"))
                assert wait_for(lambda: po.client.info("clients")["blocked_clients"] == 1)
                po.step(11)
                assert b"s:1" in reader.reply()
            po.run("DEL", "log")


@own
def log_of_another_type_is_counted_and_named():
    with Daemon() as daemon, daemon.redis() as client:
        client.execute_command("POLICY", "SET", "s:*", "EXPIRED", "TO", "log")
        client.set("log", "text")
        for number in range(3):
            client.set(f"s:{number}", "v", px=1)
        assert wait_for(lambda: client.info("expiry")["expired_log_errors"] == 3)
        assert wait_for(lambda: "could not be logged" in daemon.log())
        text = daemon.log()
        assert re.search(r"Policy 's:\*' can't log expired keys: key 'log' in database 0 is a string",
                         text), text
        client.config_resetstat()
        equal(client.info("expiry")["expired_log_errors"], 0)
        equal(client.get("log"), b"text")


@own
def policy_of_the_log_keeps_it_short():
    with Policies() as po:
        po.rule("s:*", "EXPIRED", "TO", "log")
        po.rule("log", "MAXLEN", 3, "RETAIN", 100)
        for number in range(10):
            po.run("SET", f"s:{number}", "v", "PX", number + 1)
        po.step(20)
        equal([entry[b"key"] for entry in entries(po)], [b"s:7", b"s:8", b"s:9"])
        po.step(100)
        equal(po.run("XLEN", "log"), 3)
        po.step(1)
        equal(po.run("XLEN", "log"), 0)


@own
def a_full_dehydrator_loses_no_expiry():
    with Policies() as po:
        po.rule("s:*", "EXPIRED", "TO", "log")
        po.rule("log", "MAXLEN", 1)
        po.run("REDE.PUSH", "log", 1000, "p", "id")
        for number in range(3):
            po.run("SET", f"s:{number}", "v", "PX", number + 1)
        po.step(20)
        equal(po.run("REDE.POLL", "log", "WITHIDS"), [[b"s:%d" % number, b"v"] for number in range(3)])


@own
def the_log_has_ends_of_leases():
    with Policies() as po:
        po.rule("l*", "EXPIRED", "TO", "log", "VALUE")
        po.run("LEASE.TAKE", "l1", "ann", 10)
        po.run("LEASE.TAKE", "l2", "bob", 50)
        po.run("PEXPIRE", "l2", 20)
        po.step(100)
        first, second = entries(po)
        equal((first[b"key"], first[b"type"], first[b"member"]), (b"l1", b"lease", b"ann"))
        equal((second[b"key"], b"member" in second), (b"l2", False))
        equal(po.run("RESTORE", "again", 0, second[b"dump"]), b"OK")


main()
