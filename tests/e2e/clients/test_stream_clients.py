#!/usr/bin/python3 -B
"""The stream helpers of redis-py, whose parsers expect Redis' replies, even if nothing is found."""
import sys
import threading

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, equal, main, test


def with_client(function):
    def run():
        with Daemon() as daemon, daemon.redis(decode_responses=True) as client:
            function(daemon, client)
    run.__name__ = function.__name__
    return test(run)


def fill(client, count=5):
    return [client.xadd("s", {"n": number}, id=f"{number + 1}-0") for number in range(count)]


@with_client
def entries_are_added_read_and_trimmed(_daemon, client):
    ids = fill(client)
    equal(client.xlen("s"), 5)
    equal(client.xrange("s", min="2", max="3"), [("2-0", {"n": "1"}), ("3-0", {"n": "2"})])
    equal(client.xrevrange("s", count=1), [("5-0", {"n": "4"})])
    equal(client.xrange("none"), [])
    equal(client.xread({"s": "3-0", "none": "0"}), [["s", [("4-0", {"n": "3"}), ("5-0", {"n": "4"})]]])
    equal(client.xread({"s": "$"}), [])
    equal(client.xread({"s": "$"}, block=1), [])
    equal(client.xdel("s", ids[0], "9-9"), 1)
    equal(client.xtrim("s", maxlen=2, approximate=False), 2)
    equal(client.xtrim("s", minid="5", approximate=False), 1)
    equal(client.xadd("none", {"a": 1}, nomkstream=True), None)
    assert client.xadd("s", {"a": 1}, maxlen=10, approximate=True).endswith("-0")


@with_client
def groups_deliver_claim_and_acknowledge(_daemon, client):
    fill(client)
    equal(client.xgroup_create("s", "g", id="0"), True)
    try:
        client.xgroup_create("s", "g")
        raise AssertionError("a group was made twice")
    except redis.ResponseError as error:
        equal(str(error), "BUSYGROUP Consumer Group name already exists")
    equal(client.xreadgroup("g", "ann", {"s": ">"}, count=2),
          [["s", [("1-0", {"n": "0"}), ("2-0", {"n": "1"})]]])
    equal(client.xreadgroup("g", "bob", {"s": ">"}, count=1, noack=True), [["s", [("3-0", {"n": "2"})]]])
    equal(client.xreadgroup("g", "ann", {"s": "0"}),
          [["s", [("1-0", {"n": "0"}), ("2-0", {"n": "1"})]]])
    equal(client.xpending("s", "g"), {"pending": 2, "min": "1-0", "max": "2-0",
                                      "consumers": [{"name": "ann", "pending": 2}]})
    found = client.xpending_range("s", "g", min="-", max="+", count=10)
    equal([(one["message_id"], one["consumer"], one["times_delivered"]) for one in found],
          [("1-0", "ann", 2), ("2-0", "ann", 2)])
    equal(client.xclaim("s", "g", "bob", 0, ["1-0"]), [("1-0", {"n": "0"})])
    equal(client.xclaim("s", "g", "bob", 0, ["1-0"], justid=True), ["1-0"])
    equal(client.xautoclaim("s", "g", "cy", 0, count=1, justid=True), ["1-0"])
    equal(client.xack("s", "g", "1-0", "2-0", "3-0"), 2)
    equal(client.xpending("s", "g"), {"pending": 0, "min": None, "max": None, "consumers": []})
    equal(client.xgroup_createconsumer("s", "g", "dan"), 1)
    equal(client.xgroup_delconsumer("s", "g", "dan"), 0)
    equal(client.xgroup_setid("s", "g", "0"), True)
    equal(client.xgroup_destroy("s", "g"), True)


@with_client
def streams_and_groups_describe_themselves(_daemon, client):
    fill(client, 3)
    client.xgroup_create("s", "g", id="0")
    client.xreadgroup("g", "ann", {"s": ">"}, count=1)
    stream = client.xinfo_stream("s")
    equal((stream["length"], stream["groups"], stream["last-generated-id"]), (3, 1, "3-0"))
    equal((stream["first-entry"], stream["last-entry"]), (("1-0", {"n": "0"}), ("3-0", {"n": "2"})))
    full = client.xinfo_stream("s", full=True)
    equal((len(full["entries"]), full["length"]), (3, 3))
    group = client.xinfo_groups("s")[0]
    equal((group["name"], group["consumers"], group["pending"], group["lag"]), ("g", 1, 1, 2))
    consumer = client.xinfo_consumers("s", "g")[0]
    equal((consumer["name"], consumer["pending"]), ("ann", 1))


@with_client
def readers_that_wait_get_each_entry(daemon, client):
    client.xgroup_create("s", "g", mkstream=True)
    heard, ready = {}, threading.Barrier(4)

    def read(name):
        with daemon.redis(decode_responses=True) as own:
            own.ping()
            ready.wait()
            heard[name] = []
            while not heard[name] or heard[name][-1] != "end":
                found = own.xreadgroup("g", name, {"s": ">"}, count=1, block=5000)
                heard[name] += [fields["n"] for _, fields in found[0][1]]
                own.xack("s", "g", *[ident for ident, _ in found[0][1]])
    threads = [threading.Thread(target=read, args=(f"reader-{number}",)) for number in range(3)]
    for thread in threads:
        thread.start()
    ready.wait()
    for number in range(30):
        client.xadd("s", {"n": number})
    for _ in range(3):
        client.xadd("s", {"n": "end"})
    for thread in threads:
        thread.join()
    numbers = sorted(int(n) for found in heard.values() for n in found if n != "end")
    equal(numbers, list(range(30)))
    equal(client.xpending("s", "g")["pending"], 0)


@with_client
def a_pipeline_and_a_transaction_return_parsed_replies(_daemon, client):
    for transaction in (False, True):
        with client.pipeline(transaction=transaction) as pipe:
            pipe.delete("s").xadd("s", {"a": 1}, id="1-1").xrange("s").xread({"s": "0"}).xlen("s")
            equal(pipe.execute()[1:], ["1-1", [("1-1", {"a": "1"})], [["s", [("1-1", {"a": "1"})]]], 1])


main()
