#!/usr/bin/python3 -B
"""CL.THROTTLE, CL.THROTTLEMS and CL.WINDOW: examples of redis-cell, random programs in lock-step with models while
the clock is stepped (also back), bad input, and what a restart, a replica and a copy keep."""
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, Daemon, equal, main, own, random_seed
from followers import await_caught_up, await_linked

PROGRAMS, CALLS = 60, 60
SECOND = 10**9  # nanoseconds
FOOTER = 36  # bytes of a window's value in addition to its requests


def numbers(raw, *arguments):
    reply = raw.call(*arguments)
    if reply[:1] == b"-":
        return reply
    fields = reply.split(b"\r\n")
    equal((fields[0], len(fields)), (b"*5", 7), arguments)
    return [int(field[1:]) for field in fields[1:-1]]


# --- models ------------------------------------------------------------------------------------


class Throttle:
    """The algorithm as published, with exact integers in place of floating-point numbers."""

    def __init__(self):
        self.arrival = 0  # theoretical, in nanoseconds

    def call(self, now_ms, unit, most, count, period, quantity):
        now, interval, limit = now_ms * 10**6, period * unit // count, most + 1
        if now_ms > -(-self.arrival // 10**6):
            self.arrival = 0  # the key has expired
        burst, increment = interval * limit, interval * quantity
        arrival = max(now, self.arrival)
        early = arrival + increment - burst - now  # by this much is the call too early
        if early > 0:
            retry = -(-early // unit) if increment <= burst else -1
        else:
            retry, arrival = -1, arrival + increment
            if quantity > 0:
                self.arrival = arrival
        left = arrival - now
        return [int(early > 0), limit, max(0, burst - left) // interval, retry, -(-left // unit)]


class Window:
    """A list of the admitted requests. A request is admitted at the latest instant seen, if the clock is behind that."""

    def __init__(self):
        self.requests = []

    def call(self, now, limit, span, quantity):
        if self.requests and now > self.requests[-1][0] + span:
            self.requests = []  # the key has expired
        last = self.requests[-1][0] if self.requests else now
        requests = [request for request in self.requests if request[0] > now - span]
        used = sum(amount for _, amount in requests)
        retry = -1
        if used + quantity > limit:
            left = used
            for at, amount in requests:
                left -= amount
                if left + quantity <= limit:
                    retry = at + span - now
                    break
        else:
            requests.append((max(now, last), quantity))
            self.requests = requests
            used += quantity
        reset = requests[-1][0] + span - now if requests else 0
        return [int(retry != -1), limit, max(0, limit - used), retry, reset]


# --- CL.THROTTLE -------------------------------------------------------------------------------


# Milliseconds since the first call, quantity, reply of `CL.THROTTLEMS key 4 1 1000`: the cases of redis-cell's tests.
CASES = [
    (0, 6, [1, 5, 5, -1, 0]), (0, 1, [0, 5, 4, -1, 1000]), (0, 1, [0, 5, 3, -1, 2000]), (0, 1, [0, 5, 2, -1, 3000]),
    (0, 1, [0, 5, 1, -1, 4000]), (0, 1, [0, 5, 0, -1, 5000]), (0, 1, [1, 5, 0, 1000, 5000]),
    (3000, 1, [0, 5, 2, -1, 3000]), (3100, 1, [0, 5, 1, -1, 3900]), (4000, 1, [0, 5, 1, -1, 4000]),
    (8000, 1, [0, 5, 4, -1, 1000]), (9500, 1, [0, 5, 4, -1, 1000]), (9500, 0, [0, 5, 4, -1, 1000]),
    (9500, 2, [0, 5, 2, -1, 3000]), (9500, 5, [1, 5, 2, 3000, 3000])]


@own
def replies_are_those_of_redis_cell():
    with Daemon() as daemon, daemon.raw() as raw:
        daemon.hold()
        equal(numbers(raw, "CL.THROTTLE", "user123", 15, 30, 60), [0, 16, 15, -1, 2])
        equal(numbers(raw, "CL.THROTTLE", "user123", 15, 30, 60, 1), [0, 16, 14, -1, 4])
        equal(raw.call("GET", "user123"), b"$19\r\n%d\r\n" % (NOON * 10**6 + 4 * SECOND))
        equal(numbers(raw, "CL.THROTTLE", "user", 5, 5, 3600), [0, 6, 5, -1, 720])
        at = 0
        for when, quantity, wanted in CASES:
            daemon.step(when - at)
            at = when
            equal(numbers(raw, "CL.THROTTLEMS", "cell", 4, 1, 1000, quantity), wanted, (when, quantity))
            in_seconds = [*wanted[:3], *(-(-value // 1000) if value > 0 else value for value in wanted[3:])]
            equal(numbers(raw, "CL.THROTTLE", "seconds", 4, 1, 1, quantity), in_seconds, (when, quantity))


@own
def throttle_equals_its_model():
    seed = random_seed()
    with Daemon() as daemon, daemon.raw() as raw:
        for program in range(PROGRAMS):
            chance = random.Random(f"{seed} {program}")
            model, now, key = Throttle(), daemon.hold(NOON), f"k{program}"
            name, unit = chance.choice([("CL.THROTTLE", SECOND), ("CL.THROTTLEMS", 10**6)])
            rate = [chance.choice((0, 1, 4, 100)), chance.choice((1, 3, 7, 1000)), chance.choice((1, 2, 60, 997))]
            if chance.random() < 0.2:
                rate = [10**6, 10**6, 1000]
            if rate[2] * unit < rate[1]:
                continue
            for _ in range(CALLS):
                if chance.random() < 0.05:
                    rate[0] = chance.choice((0, 2, 10))
                quantity = chance.choice((0, 1, 1, 1, 2, rate[0] + 1, rate[0] + 2))
                found = numbers(raw, name, key, *rate, quantity)
                wanted = model.call(now, unit, *rate, quantity)
                equal(found, wanted, f"seed {seed}, program {program}, at {now}: {name} {rate} {quantity}")
                wait = found[3] * unit // 10**6
                if found[0] and wait > 0 and chance.random() < 0.5:
                    now = daemon.step(wait)
                else:
                    now = daemon.step(chance.choice((0, 0, 1, 2, 333, 1000, 60_000, -500)))


@own
def a_client_that_waits_retry_after_is_admitted_and_no_earlier():
    with Daemon() as daemon, daemon.raw() as raw:
        daemon.hold()
        for key, call in (("cell", ("CL.THROTTLEMS", "cell", 2, 7, 1000)), ("window", ("CL.WINDOW", "window", 3, 1000))):
            for _ in range(20):
                while (found := numbers(raw, *call))[0] == 0:
                    daemon.step(7)
                daemon.step(found[3] - 1)
                equal(numbers(raw, *call)[0:4:3], [1, 1], key)
                daemon.step(1)
                equal(numbers(raw, *call)[0], 0, key)


def random_limit(chance):
    """A call with random parameters, without its key and quantity, and its largest quantity."""
    if chance.random() < 0.3:
        limit = chance.choice((1, 2, 10, 1000))
        return ("CL.WINDOW", limit, chance.choice((1, 2, 10, 1000, 60_000, 10**9))), limit
    most = chance.choice((0, 1, 5, chance.randrange(1000)))
    count = chance.choice((1, 3, 7, chance.randrange(1, 10**6)))
    return (chance.choice(("CL.THROTTLE", "CL.THROTTLEMS")), most, count, chance.randrange(1, 10**4)), most + 1


@own
def retry_after_is_exact_for_any_limit():
    """Also where the clock was set back meanwhile, or the data was loaded again."""
    seed = random_seed()
    chance = random.Random(seed)
    with Daemon("--clock", "stepped") as daemon, daemon.raw() as raw:
        for program in range(400):
            raw.call("CLOCK", "SET", NOON)
            (name, *rate), largest = random_limit(chance)
            unit = 1000 if name == "CL.THROTTLE" else 1
            for _ in range(6):
                call = (name, f"k{program}", *rate, chance.choice((1, largest, chance.randrange(1, largest + 1))))
                found = numbers(raw, *call)
                if isinstance(found, bytes) or not found[0]:
                    continue
                if chance.random() < 0.2:
                    now = int(raw.call("CLOCK", "GET")[1:])
                    raw.call("CLOCK", "SET", now - chance.choice((1, 1000, 10**6)))
                    found = numbers(raw, *call)
                if chance.random() < 0.2:
                    equal(raw.call("DEBUG", "RELOAD"), b"+OK\r\n")
                note = (seed, program, call, found)
                assert found[0] and found[3] > 0, note
                if unit == 1 and found[3] > 1:
                    raw.call("CLOCK", "ADVANCE", found[3] - 1)
                    equal(numbers(raw, *call)[0:4:3], [1, 1], note)
                    raw.call("CLOCK", "ADVANCE", 1)
                else:
                    raw.call("CLOCK", "ADVANCE", found[3] * unit)
                equal(numbers(raw, *call)[0], 0, note)


@own
def the_key_of_a_limit_expires_when_it_is_idle():
    with Daemon() as daemon, daemon.raw() as raw:
        daemon.hold()
        numbers(raw, "CL.THROTTLEMS", "cell", 5, 1, 1000, 0)
        equal(raw.call("EXISTS", "cell"), b":0\r\n")
        numbers(raw, "CL.THROTTLEMS", "cell", 5, 1, 1000, 3)
        numbers(raw, "CL.WINDOW", "window", 5, 3000)
        for key in ("cell", "window"):
            equal(raw.call("PTTL", key), b":3000\r\n")
            equal(raw.call("TYPE", key), b"+string\r\n")
        daemon.step(3001)
        equal(raw.call("DBSIZE"), b":0\r\n")


# --- CL.WINDOW ---------------------------------------------------------------------------------


def most_in_a_window(admitted, span):
    """Of requests with the time that has passed when they were admitted."""
    return max((sum(amount for at, amount in admitted if start <= at < start + span) for start, _ in admitted), default=0)


@own
def window_equals_its_model_and_never_admits_more_than_its_limit():
    seed = random_seed()
    with Daemon() as daemon, daemon.raw() as raw:
        for program in range(PROGRAMS):
            chance = random.Random(f"{seed} {program}")
            model, now, key, admitted, passed = Window(), daemon.hold(NOON), f"k{program}", [], 0
            limit, span = chance.choice((1, 2, 5, 30)), chance.choice((1, 2, 100, 60_000, 10**11))
            for _ in range(CALLS):
                quantity = chance.choice((1, 1, 1, 1, min(2, limit), limit))
                found = numbers(raw, "CL.WINDOW", key, limit, span, quantity)
                note = f"seed {seed}, program {program}, at {now}: {limit} {span} {quantity}"
                equal(found, model.call(now, limit, span, quantity), note)
                if not found[0]:
                    admitted.append((passed, quantity))
                    size = int(raw.call("STRLEN", key)[1:])
                    assert size <= FOOTER + 8 * len(model.requests), (note, size)
                waits = (0, 0, 1, span // 7, span // 3, -1, -span // 2)
                step = found[3] if found[0] and chance.random() < 0.5 else chance.choice(waits)
                passed += max(step, 0)  # a step back sets the clock, no time has passed
                now = daemon.step(step)
            assert most_in_a_window(admitted, span) <= limit, (seed, program)


@own
def window_needs_few_bytes_for_each_request():
    with Daemon() as daemon, daemon.raw() as raw:
        daemon.hold()
        for step, most in ((0, 1), (1, 1), (60, 1), (1000, 2)):
            for _ in range(1000):
                numbers(raw, "CL.WINDOW", f"every {step}", 1000, 10**7)
                daemon.step(step)
            assert int(raw.call("STRLEN", f"every {step}")[1:]) <= FOOTER + 1000 * most
            assert int(raw.call("MEMORY", "USAGE", f"every {step}")[1:]) <= 8 * 1000


@own
def window_takes_another_limit_at_once():
    with Daemon() as daemon, daemon.raw() as raw:
        daemon.hold()
        for _ in range(5):
            numbers(raw, "CL.WINDOW", "k", 5, 1000)
            daemon.step(10)
        equal(numbers(raw, "CL.WINDOW", "k", 2, 1000), [1, 2, 0, 980, 990])
        equal(numbers(raw, "CL.WINDOW", "k", 6, 1000), [0, 6, 0, -1, 1000])
        equal(numbers(raw, "CL.WINDOW", "k", 6, 20), [0, 6, 3, -1, 20])


# --- both --------------------------------------------------------------------------------------


BAD = [
    ("CL.THROTTLE k 1 0 1", "zero rates are not supported"), ("CL.THROTTLE k 1 1 0", "zero rates are not supported"),
    ("CL.THROTTLE k 1 -1 1", "zero rates are not supported"), ("CL.THROTTLEMS k 1 1000001 1", "zero rates are not supported"),
    ("CL.THROTTLE k -1 1 1", "value is out of range, must be positive"),
    ("CL.THROTTLE k 1 1 1 -1", "value is out of range, must be positive"),
    ("CL.THROTTLE k x 1 1", "value is out of range, must be positive"),
    ("CL.THROTTLE k 1 x 1", "value is not an integer or out of range"),
    ("CL.THROTTLE k 1 1 10000000000", "the burst would take more than 200 years to refill"),
    (f"CL.THROTTLE k {2**63 - 2} 1 1", "the burst would take more than 200 years to refill"),
    (f"CL.THROTTLEMS k {2**63 - 1} 1 1", "value is out of range, must be positive"),
    ("CL.THROTTLE k 1 1 1 1 1", "wrong number of arguments for 'cl.throttle' command"),
    ("CL.WINDOW k 1", "wrong number of arguments for 'cl.window' command"),
    ("CL.WINDOW k 1 1 1 1", "wrong number of arguments for 'cl.window' command"),
    ("CL.WINDOW k 0 1", "limit must be 1 or more"), ("CL.WINDOW k x 1", "value is not an integer or out of range"),
    ("CL.WINDOW k 1 0", "window is out of range, must be a positive span"),
    (f"CL.WINDOW k 1 {2**63 - 1}", "window is out of range, must be a positive span"),
    ("CL.WINDOW k 1 1 0", "quantity must be between 1 and the limit"),
    ("CL.WINDOW k 1 1 2", "quantity must be between 1 and the limit")]


@own
def bad_input_is_an_error_and_changes_nothing():
    with Daemon() as daemon, daemon.raw() as raw:
        for call, text in BAD:
            equal(raw.call(*call.split()), b"-ERR %s\r\n" % text.encode(), call)
        equal(raw.call("DBSIZE"), b":0\r\n")
        raw.call("RPUSH", "list", "a")
        raw.call("SET", "text", "a")
        raw.call("SET", "far", 2**63 - 1)
        equal(raw.call("CL.THROTTLE", "list", 1, 1, 1)[:10], b"-WRONGTYPE")
        equal(raw.call("CL.WINDOW", "list", 1, 1)[:10], b"-WRONGTYPE")
        equal(raw.call("CL.THROTTLE", "text", 1, 1, 1), b"-ERR value is not an integer or out of range\r\n")
        equal(raw.call("CL.WINDOW", "text", 1, 1), b"-ERR the key's value was not made by CL.WINDOW\r\n")
        equal(numbers(raw, "CL.THROTTLE", "far", 1, 1, 1)[:3], [1, 2, 0])
        equal(raw.call("GET", "text"), b"$1\r\na\r\n")


@own
def damaged_windows_do_no_harm():
    seed = random_seed()
    chance = random.Random(seed)
    with Daemon() as daemon, daemon.redis() as client, daemon.raw() as raw:
        daemon.hold()
        for _ in range(20):
            numbers(raw, "CL.WINDOW", "good", 1000, 10**6, chance.choice((1, 1, 200)))
            daemon.step(chance.choice((1, 1000)))
        good = client.get("good")
        for _ in range(1000):
            value = bytearray(good)
            for _ in range(chance.choice((1, 1, 3))):
                value[chance.randrange(len(value) - 4)] = chance.choice((0, 1, 0x7f, 0x80, 0xff))
            client.set("k", bytes(value[chance.choice((0, 0, 1, 30)):]))
            raw.call("CL.WINDOW", "k", 1000, chance.choice((1, 10**4, 10**6)), chance.choice((1, 1000)))
            raw.call("CL.WINDOW", "k", 1000, 10**6)
        equal(raw.call("PING"), b"+PONG\r\n")


@own
def restarts_replicas_and_copies_keep_limits():
    with Daemon("--appendonly", "yes", tcp=True) as daemon:
        with Daemon("--replicaof", f"127.0.0.1 {daemon.port}", tcp=True) as replica:
            await_linked(replica)
            with daemon.raw() as raw, daemon.redis() as client:
                now = daemon.hold(NOON)
                for i in range(300):
                    numbers(raw, "CL.THROTTLEMS", "cell", 100, 1, 1000)
                    numbers(raw, "CL.WINDOW", "window", 50, 10**7, 1 + i % 2)
                    now = daemon.step(10**6)
                client.copy("window", "copy")
                client.restore("restored", 0, client.dump("window"))
                client.set("now", now)
                wanted = {key: (client.get(key), client.pexpiretime(key)) for key in client.keys()}
                replies = [numbers(raw, "CL.WINDOW", key, 50, 10**7, 50)[1:] for key in ("window", "copy", "restored")]
                equal(replies, replies[:1] * 3)
            await_caught_up(daemon, replica)
            with replica.redis() as client:
                equal({key: (client.get(key), client.pexpiretime(key)) for key in client.keys()}, wanted)
        daemon.kill()
        daemon.start()
        with daemon.redis() as client:
            equal({key: (client.get(key), client.pexpiretime(key)) for key in client.keys()}, wanted)


@own
def events_are_those_of_the_string_and_its_deadline():
    with Daemon("--notify-keyspace-events", "KEA") as daemon, daemon.raw() as raw, daemon.raw() as listener:
        daemon.hold()
        listener.call("PSUBSCRIBE", "__keyevent@0__:*")
        numbers(raw, "CL.THROTTLE", "k", 0, 1, 1)
        numbers(raw, "CL.THROTTLE", "k", 0, 1, 1)  # refused
        for _ in range(3):
            numbers(raw, "CL.WINDOW", "w", 2, 1000)
        wanted = "new set expire new set expire setrange expire".split()
        wanted = [event for event in wanted if event != "new"]
        found = [listener.reply().split(b"\r\n")[6].partition(b":")[2].decode() for _ in wanted]
        equal(found, wanted)


main(60)
