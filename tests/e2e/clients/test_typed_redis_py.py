#!/usr/bin/python3 -B
"""tools/clients/python: redis-py and redis.asyncio with the methods that are made from the command table."""
import asyncio
import inspect
import os
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, ROOT, Daemon, equal, main, own, test

sys.path.insert(1, os.path.join(ROOT, "tools/clients/python"))
import expired
import expired.asyncio
from expired.async_commands import AsyncCommands
from expired.replies import SHAPES

METHODS = sorted(name for name in vars(expired.Commands) if not name.startswith("_"))
NOT_WRITTEN = ("wrong number of arguments", "unknown command", "unknown subcommand", "Unknown subcommand")


def client_of(daemon, **options):
    return expired.Redis(unix_socket_path=daemon.path, **{"decode_responses": True, **options})


def with_client(run, **options):
    """Runs the function with a daemon whose clock is held, and a client."""
    with Daemon() as daemon, client_of(daemon, **options) as client:
        daemon.hold()
        run(daemon, client)


def with_async_client(run):
    async def within(daemon):
        async with expired.asyncio.Redis(unix_socket_path=daemon.path, decode_responses=True) as client:
            await run(daemon, client)
            await client.connection_pool.disconnect()
    with Daemon() as daemon:
        daemon.hold()
        asyncio.run(within(daemon))


def raises(function, *arguments, **options):
    try:
        function(*arguments, **options)
    except redis.ResponseError as error:
        return str(error)
    raise AssertionError(f"{function} did not raise")


# --- replies -----------------------------------------------------------------------------------

@own
def dehydrators_have_methods_and_typed_replies():
    def run(daemon, client):
        equal(client.rede_push("d", 50, "pa", "a"), True)
        equal(client.rede_mpush("d", (10, "pb", "b"), (20, "pc", "c")), 2)
        equal(client.rede_ttn("d"), 10)
        equal(client.rede_poll("d"), [])
        daemon.step(20)
        equal(client.rede_poll("d", count=1), ["pb"])
        equal(client.rede_poll("d", withids=True), [("c", "pc")])
        equal(client.rede_range("d", 0, 2 * NOON), [("a", NOON + 50)])
        equal(client.rede_scan("d", 0), ("0", [("a", "pa")]))
        info = client.rede_info("d")
        equal((info["length"], info["due"], info["next-deadline"]), (1, 0, NOON + 50))
        equal(client.rede_info("none")["next-deadline"], None)
        daemon.step(30)
        equal(client.rede_claim("d", 1000, count=5, block=0.01), [("a", "pa", 1)])
        equal(client.rede_len("d", claimed=True), 1)
        equal(client.rede_xack("d", "a", "x"), ["pa", None])
        equal([client.rede_look("d", "a"), client.rede_ttn("d")], [None, None])
        client.rede_push("d", 0, "pd", "d")
        equal(client.rede_bpoll("d", 0, withids=True), [("d", "pd")])
    with_client(run)


@own
def deadlines_of_members_have_methods():
    def run(daemon, client):
        client.sadd("s", "a", "b")
        client.hset("h", mapping={"a": 1, "b": 2})
        equal(client.sexpire("s", 10, "a", "x"), [1, -2])
        equal(client.sexpire("s", 20, "a", nx=True), [0])
        equal(client.sttl("s", "a", "b"), [10, -1])
        equal(client.saddex("s", "c", "d", ex=5), 2)
        equal(client.zaddex("z", (1.5, "m"), (2, "n"), px=7000, nx=True), 2)
        equal(client.zpttl("z", "m"), [7000])
        equal(client.hexpire("h", 3, "a"), [1])
        equal(client.hgetex("h", "a", "x", ex=9), ["1", None])
        equal(client.hsetex("h", ("c", 3), ("d", 4), ex=4), 1)
        equal(client.httl("h", "a", "c"), [9, 4])
        equal(client.hgetdel("h", "c"), ["3"])
    with_client(run)


@own
def strings_streams_and_scores_have_methods():
    def run(daemon, client):
        equal(client.msetex(("a", 1), ("b", 2), ex=5, nx=True), 1)
        equal(client.msetex(("a", 1), nx=True), 0)
        equal([client.delifeq("a", 2), client.delifeq("a", 1)], [0, 1])
        client.zadd("z", {"m": NOON // 1000, "n": NOON})
        equal(client.bztspop("z", 5, 1), [("m", NOON // 1000)])
        first = client.xadd("x", {"f": 1})
        client.xgroup_create("x", "g", id=0)
        client.xreadgroup("g", "c", {"x": ">"})
        equal(client.xnack("x", "g", "FAIL", first, delay=10), 1)
        equal(client.xdelex("x", first, "1-1", delref=True), [1, -1])
        equal(client.waitaof(0, 0, 0), (0, 0))
    with_client(run)


@own
def policies_and_forecasts_have_methods():
    def run(daemon, client):
        equal(client.policy_set("s:*", ttl="5m", refresh="WRITE", maxlen=3, keep="HIGH"), True)
        equal(client.policy_set("q", maxdeliveries=3, maxdeliveries_to="failed"), True)
        equal(client.policy_set("e:*", expired_to="log", expired_value=True, expired_value_max="1kb"), True)
        equal(client.policy_get("s:*")["TTL"], 300000)
        equal(client.policy_get("none"), None)
        equal(sorted(client.policy_list()), ["e:*", "q", "s:*"])
        equal(client.policy_list()["s:*"], client.policy_get("s:*"))
        equal([client.policy_of("s:1"), client.policy_of("x")], ["s:*", None])
        client.set("s:1", "v")
        equal(client.expiry_next(count=5), [("s:1", NOON + 300000, "key")])
        equal(client.expiry_forecast()[0], ("1s", 0, 0, 0))
        equal(client.expiry_lag()["count"], 0)
        equal(client.policy_del("q"), 1)
    with_client(run)


@own
def replies_are_bytes_without_decode_responses():
    def run(daemon, client):
        client.rede_push(b"\xff", 0, b"\x00\xff", b"\xfe")
        equal(client.rede_poll(b"\xff", withids=True), [(b"\xfe", b"\x00\xff")])
        equal(sorted(client.rede_info("d"))[0], "acked")
        client.policy_set("s:*", ttl=1)
        equal(client.policy_get("s:*"), {b"TTL": 1})
    with_client(run, decode_responses=False)


@test
def replies_of_resp3_are_read_alike():
    """Later versions of redis-py speak it: maps are dicts there, doubles floats."""
    for name, resp2, resp3, wanted in (
            ("BZTSPOP", [b"m", b"1.5", b"n", b"2"], [[b"m", 1.5], [b"n", 2.0]], [(b"m", 1.5), (b"n", 2.0)]),
            ("BZTSPOP", None, None, None),
            ("EXPIRY LAG", [b"p50", 1, b"max", 3], {b"p50": 1, b"max": 3}, {"p50": 1, "max": 3}),
            ("POLICY LIST", [b"a", [b"TTL", 5]], {b"a": {b"TTL": 5}}, {b"a": {b"TTL": 5}}),
            ("POLICY GET", [b"KEEP", b"LOW"], {b"KEEP": b"LOW"}, {b"KEEP": b"LOW"}),
            ("INCREX", [b"1.5", b"0.5"], [1.5, 0.5], (1.5, 0.5)),
            ("REDE.SCAN", [b"0", [b"i", b"p"]], [b"0", [b"i", b"p"]], (b"0", [(b"i", b"p")])),
            ("REDE.POLL", [b"a", b"b"], [b"a", b"b"], [b"a", b"b"])):
        equal([SHAPES[name].read(resp2), SHAPES[name].read(resp3)], [wanted, wanted], name)


# --- pipelines, errors, other clients ------------------------------------------------------------

@own
def pipelines_and_transactions_read_replies_alike():
    def run(daemon, client):
        for transaction in (False, True):
            with client.pipeline(transaction=transaction) as pipe:
                pipe.rede_push("d", 0, "p", "i").rede_claim("d", 5)
                pipe.rede_xack("d", "i").policy_get("x").rede_info("d")
                ok, claims, acked, policy, info = pipe.execute()
            equal((ok, claims, acked, policy, info["length"]), (True, [("i", "p", 1)], ["p"], None, 0))
    with_client(run)


@own
def errors_are_redis_py_s():
    def run(daemon, client):
        client.rede_push("d", 0, "p", "i")
        assert "already dehydrating" in raises(client.rede_push, "d", 0, "p", "i")
        client.set("s", "v")
        assert raises(client.rede_len, "s").startswith("WRONGTYPE")
        assert "wrong number" in raises(client.zaddex, "z", (1, "m"))  # without a deadline
    with_client(run)


@own
def an_incomplete_option_names_what_it_needs():
    def run(daemon, client):
        for options, message in (
                ({"maxdeliveries": 3}, "maxdeliveries needs maxdeliveries_to"),
                ({"maxdeliveries_to": "failed"}, "maxdeliveries_to needs maxdeliveries"),
                ({"backoff_jitter": 5}, "backoff_jitter needs backoff and backoff_max_delay"),
                ({"expired_value_max": "1kb"}, "expired_value_max needs expired_to"),
                ({"rate": 5, "ttl": 5}, "rate needs rate_per")):
            try:
                client.policy_set("q", **options)
            except redis.DataError as error:
                equal(str(error), message)
            else:
                raise AssertionError(f"sent {options}")
        equal(client.policy_get("q"), None)
    with_client(run)


@own
def asyncio_has_the_same_methods():
    async def run(daemon, client):
        equal(await client.rede_push("d", 0, "p", "i"), True)
        equal(await client.rede_bpoll("d", 1, withids=True), [("i", "p")])
        equal((await client.rede_info("d"))["length"], 0)
        await client.sadd("s", "a")
        equal(await client.sexpire("s", 10, "a"), [1])
        equal(await client.policy_set("p:*", ttl=5), True)
        async with client.pipeline() as pipe:
            pipe.rede_push("d", 0, "p", "j").rede_claim("d", 5).policy_get("p:*")
            equal(await pipe.execute(), [True, [("j", "p", 1)], {"TTL": 5}])
    with_async_client(run)


@own
def asyncio_waits_without_blocking_others():
    async def run(daemon, client):
        waiting = asyncio.ensure_future(client.rede_bpoll("d", 0))
        while (await client.info("clients"))["blocked_clients"] != 1:
            pass
        await client.rede_push("d", 0, "p", "i")
        equal(await waiting, ["p"])
    with_async_client(run)


@own
def clusters_have_the_same_methods():
    async def with_asyncio(port):
        async with expired.asyncio.RedisCluster(host="127.0.0.1", port=port, decode_responses=True) as client:
            equal(await client.rede_claim("{d}", 60_000), [("i", "p", 1)])
            equal((await client.rede_info("{d}"))["claimed"], 1)

    with Daemon("--cluster-enabled", "emulated", tcp=True) as daemon:
        with expired.RedisCluster(host="127.0.0.1", port=daemon.port, decode_responses=True) as client:
            equal(client.rede_push("{d}", 0, "p", "i"), True)
            equal(client.rede_range("{d}", 0, 2 * NOON)[0][0], "i")
            pipe = client.pipeline()
            pipe.execute_command("REDE.INFO", "{d}")
            equal(pipe.execute()[0]["length"], 1)
        asyncio.run(with_asyncio(daemon.port))


# --- all methods ---------------------------------------------------------------------------------

def value_for(annotation, name):
    if annotation.startswith("Literal["):
        return annotation.split("'")[1]
    if annotation.startswith("tuple["):
        return tuple(value_for(part.strip(), name) for part in annotation[6:-1].split(","))
    return {"KeyT": "key", "int": 5, "float": 0.01, "bool": True}.get(annotation, {"unit": "s"}.get(name, "7"))


def calls_of(method):
    """Arguments for a call without options, and for one with each option."""
    must, options = [], []
    for one in list(inspect.signature(method).parameters.values())[1:]:
        value = value_for(one.annotation.split(" | ")[0], one.name)
        if one.kind == one.KEYWORD_ONLY:
            options.append({one.name: value})
        else:
            must.append([value] if one.annotation.startswith("Sequence") else value)
    return must, [{}, *options]


def error_of(client, name, must, option):
    """Of those that show a call that is not written as it should be."""
    client.flushall()
    try:
        getattr(client, name)(*must, **option)
    except redis.ResponseError as error:
        return str(error) if any(text in str(error) for text in NOT_WRITTEN) else ""
    except redis.DataError as error:
        return "" if len(option) == 1 else str(error)  # an option that needs another
    return ""


@own
def the_server_knows_each_call_and_option():
    with Daemon() as daemon, client_of(daemon) as client:
        for name in METHODS:
            must, options = calls_of(getattr(expired.Commands, name))
            errors = [error_of(client, name, must, option) for option in options]
            # Some calls need one of several options, so they fail in the same way without it.
            assert "" in errors and set(errors) <= {"", errors[0]}, (name, errors)


@test
def the_classes_have_equal_methods_and_each_reply_a_shape():
    equal(METHODS, sorted(name for name in vars(AsyncCommands) if not name.startswith("_")))
    assert len(METHODS) >= 60, METHODS
    equal(sorted(name.lower().replace(".", "_").replace(" ", "_") for name in SHAPES), METHODS)
    for name in METHODS:
        method = getattr(expired.Commands, name)
        parameters = inspect.signature(method).parameters
        equal(parameters, inspect.signature(getattr(AsyncCommands, name)).parameters)
        assert method.__doc__ and len(method.__doc__.splitlines()) >= 4, name


@own
def a_method_of_redis_py_stays_its_own():
    class Older(redis.Redis):
        def httl(self, key, *fields):
            return "its own"

    class Client(Older, expired.Commands):
        pass

    with Daemon() as daemon, Client(unix_socket_path=daemon.path) as client:
        client.set_response_callback("HPTTL", lambda reply, **_: "its own")
        expired.add_replies(client)
        equal([client.httl("h", "f"), client.hpttl("h", "f"), client.hexpiretime("h", "f")],
              ["its own", "its own", [-2]])


main()
