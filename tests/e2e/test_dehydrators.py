#!/usr/bin/python3 -B
"""The dehydrators' commands, through redis-py and as bytes: replies and errors to the letter."""
import redis

from daemon import Daemon, encode, equal, main, own

WRONGTYPE = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
BAD_TTL = b"-ERR ttl is not an integer or out of range\r\n"
DEHYDRATING = b"-ERROR: Element already dehydrating.\r\n"


class Dehydrators:
    """A daemon whose clock stands still, a client, and a raw connection."""

    def __init__(self, *options):
        self.daemon = Daemon(*options)

    def __enter__(self):
        self.daemon.__enter__()
        self.daemon.hold()
        self.client, self.raw = self.daemon.redis(), self.daemon.raw()
        return self

    def __exit__(self, *exception):
        self.client.close()
        self.raw.close()
        return self.daemon.__exit__(*exception)

    def run(self, *arguments):
        return self.client.execute_command(*arguments)

    def step(self, msec):
        self.daemon.step(msec)

    def says(self, wanted, *arguments):
        equal(self.raw.call(*arguments), wanted, " ".join(map(str, arguments)))


@own
def an_element_is_due_at_its_deadline_and_not_a_millisecond_earlier():
    with Dehydrators() as de:
        equal(de.run("REDE.PUSH", "d", 1000, "payload", "id"), b"OK")
        de.step(999)
        equal(de.run("REDE.TTN", "d"), 1)
        equal(de.run("REDE.XPOLL", "d"), [])
        equal(de.run("REDE.POLL", "d"), [])
        equal(de.run("REDE.XACK", "d", "id"), [None])
        de.step(1)
        equal(de.run("REDE.TTN", "d"), 0)
        equal(de.run("REDE.XPOLL", "d"), [b"id"])
        equal(de.run("REDE.POLL", "d"), [b"payload"])
        equal(de.run("EXISTS", "d"), 0)


@own
def an_overdue_element_waits_until_somebody_takes_it():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 10, "p", "id")
        de.step(1_000_000)
        equal(de.run("REDE.TTN", "d"), 0)
        equal(de.run("REDE.LOOK", "d", "id"), b"p")
        de.says(DEHYDRATING, "REDE.PUSH", "d", 10, "p", "id")
        equal(de.run("REDE.POLL", "d"), [b"p"])
        equal(de.run("REDE.PUSH", "d", 10, "p", "id"), b"OK")


@own
def push_refuses_an_id_that_is_there_and_a_bad_ttl():
    with Dehydrators() as de:
        de.says(b"+OK\r\n", "REDE.PUSH", "d", 10, "p", "id")
        de.says(DEHYDRATING, "REDE.PUSH", "d", 99, "q", "id")
        equal(de.run("REDE.LOOK", "d", "id"), b"p")
        equal(de.run("REDE.TTN", "d"), 10)
        for ttl in ("x", "", "1.5", " 1", "1 ", "9223372036854775808", "-9223372036854775809",
                    "9223372036854775807", "1e3", "nan"):
            de.says(BAD_TTL, "REDE.PUSH", "new", ttl, "p", "id")
            de.says(BAD_TTL, "REDE.GIDPUSH", "new", ttl, "p")
        equal(de.run("EXISTS", "new"), 0)


@own
def a_ttl_of_zero_or_less_is_due_at_once():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 0, "zero", "a")
        de.run("REDE.PUSH", "d", -5, "minus", "b")
        de.run("REDE.PUSH", "d", "-9223372036854775808", "least", "c")
        equal(de.run("REDE.TTN", "d"), 0)
        equal(de.run("REDE.XPOLL", "d"), [b"a", b"b", b"c"], "by arrival")
        equal(de.run("REDE.POLL", "d"), [b"zero", b"minus", b"least"])


@own
def a_ttl_can_be_longer_than_32_bits():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 2**40, "p", "id")
        equal(de.run("REDE.TTN", "d"), 2**40)
        de.step(2**40 - 1)
        equal(de.run("REDE.POLL", "d"), [])
        de.step(1)
        equal(de.run("REDE.POLL", "d"), [b"p"])


@own
def gidpush_makes_ids_of_31_characters_that_differ():
    with Dehydrators() as de:
        ids = [de.run("REDE.GIDPUSH", "d", 100, f"p{i}") for i in range(200)]
        equal(len(set(ids)), 200)
        alphabet = set(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        for made in ids:
            equal(len(made), 31)
            assert set(made) <= alphabet, made
        equal(set(b"".join(ids)), alphabet)
        equal(de.run("REDE.PULL", "d", ids[7]), b"p7")
        de.step(100)
        equal(de.run("REDE.POLL", "d", "COUNT", 3, "WITHIDS"),
              [[ids[0], b"p0"], [ids[1], b"p1"], [ids[2], b"p2"]])


@own
def pull_removes_an_element_due_or_not():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 100, "p", "a")
        de.run("REDE.PUSH", "d", 0, "q", "b")
        equal(de.run("REDE.PULL", "d", "a"), b"p")
        equal(de.run("REDE.PULL", "d", "a"), None)
        equal(de.run("REDE.PULL", "d", "b"), b"q")
        equal(de.run("EXISTS", "d"), 0)
        equal(de.run("REDE.PULL", "d", "b"), None)


@own
def poll_answers_by_deadline_then_arrival():
    with Dehydrators() as de:
        for ttl, name in ((30, "c1"), (10, "a1"), (20, "b1"), (10, "a2"), (30, "c2"), (20, "b2")):
            de.run("REDE.PUSH", "d", ttl, "p" + name, name)
        de.step(5)
        de.run("REDE.PUSH", "d", 5, "pa3", "a3")   # the deadline of a1, by another ttl
        de.run("REDE.PUSH", "d", 25, "pc3", "c3")
        de.step(15)
        equal(de.run("REDE.XPOLL", "d"), [b"a1", b"a2", b"a3", b"b1", b"b2"])
        equal(de.run("REDE.XPOLL", "d", "COUNT", 2), [b"a1", b"a2"])
        equal(de.run("REDE.POLL", "d", "COUNT", 2), [b"pa1", b"pa2"])
        equal(de.run("REDE.POLL", "d", "WITHIDS", "COUNT", 2),
              [[b"a3", b"pa3"], [b"b1", b"pb1"]])
        equal(de.run("REDE.POLL", "d", "COUNT", 100), [b"pb2"])
        equal(de.run("REDE.POLL", "d"), [])
        equal(de.run("REDE.TTN", "d"), 10)
        de.step(10)
        equal(de.run("REDE.POLL", "d", "withids"),
              [[b"c1", b"pc1"], [b"c2", b"pc2"], [b"c3", b"pc3"]])


@own
def many_elements_of_many_ttls_come_back_in_order():
    with Dehydrators() as de:
        pipe, ttls = de.client.pipeline(transaction=False), [i * 7919 % 997 for i in range(3000)]
        for i, ttl in enumerate(ttls):
            pipe.execute_command("REDE.PUSH", "d", ttl, i, f"id{i}")
        pipe.execute()
        got, now = [], 0
        while len(got) < len(ttls):
            due = [int(payload) for payload in de.run("REDE.POLL", "d", "COUNT", 500)]
            assert all(ttls[i] <= now for i in due), now
            got += due
            if len(due) < 500:
                de.step(100)
                now += 100
        equal(got, sorted(range(len(ttls)), key=lambda i: (ttls[i], i)))


@own
def poll_refuses_options_that_make_no_sense():
    with Dehydrators() as de:
        syntax = b"-ERR syntax error\r\n"
        positive = b"-ERR value is out of range, must be positive\r\n"
        de.run("REDE.PUSH", "d", 0, "p", "id")
        for command in ("REDE.POLL", "REDE.XPOLL"):
            de.says(syntax, command, "d", "FOO")
            de.says(syntax, command, "d", "COUNT")
            de.says(positive, command, "d", "COUNT", -1)
            de.says(positive, command, "d", "COUNT", "x")
            de.says(b"*0\r\n", command, "d", "COUNT", 0)
        de.says(syntax, "REDE.XPOLL", "d", "WITHIDS")
        de.says(b"*0\r\n", "REDE.POLL", "nosuch")
        de.says(b"*0\r\n", "REDE.XPOLL", "nosuch", "COUNT", 5)
        de.says(b"*1\r\n$1\r\np\r\n", "REDE.POLL", "d")


@own
def xack_takes_what_is_due_and_answers_each_id():
    with Dehydrators() as de:
        de.says(b"*0\r\n", "REDE.XACK", "nosuch", "a", "b")
        de.run("REDE.PUSH", "d", 0, "pa", "a")
        de.run("REDE.PUSH", "d", 10, "pb", "b")
        de.run("REDE.PUSH", "d", 0, "pc", "c")
        equal(de.run("REDE.XACK", "d", "b", "a", "nosuch", "c", "a"),
              [None, b"pa", None, b"pc", None])
        equal(de.run("REDE.XPOLL", "d"), [])
        equal(de.run("REDE.LOOK", "d", "b"), b"pb")
        de.step(10)
        equal(de.run("REDE.XACK", "d", "b", "b"), [b"pb", None])
        equal(de.run("EXISTS", "d"), 0)


@own
def look_and_update_leave_the_element_where_it_is():
    with Dehydrators() as de:
        de.says(b"$-1\r\n", "REDE.LOOK", "d", "a")
        de.says(b"-ERROR: No Such dehydrator.\r\n", "REDE.UPDATE", "d", "a", "new")
        de.run("REDE.PUSH", "d", 50, "first", "a")
        de.run("REDE.PUSH", "d", 50, "other", "b")
        de.says(b"$-1\r\n", "REDE.LOOK", "d", "z")
        de.says(b"-ERROR: No Such Element.\r\n", "REDE.UPDATE", "d", "z", "new")
        de.step(20)
        equal(de.run("REDE.UPDATE", "d", "a", "a longer payload than before"), b"first")
        equal(de.run("REDE.LOOK", "d", "a"), b"a longer payload than before")
        equal(de.run("REDE.TTN", "d"), 30)
        de.step(30)
        equal(de.run("REDE.POLL", "d", "WITHIDS"),
              [[b"a", b"a longer payload than before"], [b"b", b"other"]])


@own
def ttn_counts_down_to_the_next_element():
    with Dehydrators() as de:
        equal(de.run("REDE.TTN", "d"), None)
        de.run("REDE.PUSH", "d", 500, "p", "late")
        de.run("REDE.PUSH", "d", 100, "p", "early")
        equal(de.run("REDE.TTN", "d"), 100)
        de.step(40)
        equal(de.run("REDE.TTN", "d"), 60)
        de.run("REDE.PULL", "d", "early")
        equal(de.run("REDE.TTN", "d"), 460)
        de.step(460)
        equal(de.run("REDE.TTN", "d"), 0)
        de.step(5)
        equal(de.run("REDE.TTN", "d"), 0)


@own
def ids_and_payloads_are_any_bytes():
    with Dehydrators() as de:
        every = bytes(range(256))
        names = [b"", b"\0", b"\0\0", b"a\0b", b"a\0c", b"\r\n", b"\xff\xfe", every]
        for i, name in enumerate(names):
            equal(de.run("REDE.PUSH", b"d\0\r\n", 0, b"p" + name + every, name), b"OK", repr(name))
            equal(de.run("REDE.LOOK", b"d\0\r\n", name), b"p" + name + every)
            equal(len(de.run("REDE.XPOLL", b"d\0\r\n")), i + 1)
        equal(de.run("REDE.POLL", b"d\0\r\n", "WITHIDS"),
              [[name, b"p" + name + every] for name in names])
        big = b"\0" * 3_000_000
        de.run("REDE.PUSH", "big", 0, big, "id")
        equal(de.run("REDE.POLL", "big"), [big])


@own
def a_key_of_another_type_is_a_wrong_type_and_one_reply():
    calls = [("REDE.PUSH", "k", 10, "p", "id"), ("REDE.GIDPUSH", "k", 10, "p"),
             ("REDE.PULL", "k", "id"), ("REDE.POLL", "k"), ("REDE.XPOLL", "k"),
             ("REDE.XACK", "k", "id"), ("REDE.LOOK", "k", "id"), ("REDE.TTN", "k"),
             ("REDE.UPDATE", "k", "id", "p"), ("REDE.PUSHAT", "k", 1, "p", "id"),
             ("REDE.MPUSH", "k", 1, "p", "id"), ("REDE.BPOLL", "k", 1), ("REDE.CLAIM", "k", 1),
             ("REDE.CLAIM", "k", 1, "BLOCK", 1), ("REDE.NACK", "k", 1, "id"),
             ("REDE.RESCHEDULE", "k", 1, "id"), ("REDE.LEN", "k"), ("REDE.RANGE", "k", "-", "+"),
             ("REDE.SCAN", "k", 0), ("REDE.INFO", "k")]
    with Dehydrators() as de:
        for make in (("SET", "k", "v"), ("LPUSH", "k", "v"), ("SADD", "k", "v"),
                     ("HSET", "k", "f", "v"), ("ZADD", "k", 1, "m")):
            de.run("DEL", "k")
            de.run(*make)
            for call in calls:
                de.says(WRONGTYPE, *call)
                de.says(b"+PONG\r\n", "PING")
        de.run("REDE.PUSH", "d", 10, "p", "id")
        for call in (("GET", "d"), ("LPUSH", "d", "x"), ("SADD", "d", "x"), ("HGET", "d", "f"),
                     ("ZADD", "d", 1, "m"), ("INCR", "d")):
            de.says(WRONGTYPE, *call)


@own
def wrong_arity_is_named():
    with Dehydrators() as de:
        for name, least in (("push", 4), ("gidpush", 3), ("pull", 2), ("poll", 1), ("xpoll", 1),
                            ("xack", 2), ("look", 2), ("ttn", 1), ("update", 3), ("pushat", 4),
                            ("mpush", 4), ("bpoll", 2), ("claim", 2), ("nack", 3),
                            ("reschedule", 3), ("len", 1), ("range", 3), ("scan", 2), ("info", 1)):
            wrong = b"-ERR wrong number of arguments for 'rede.%s' command\r\n" % name.encode()
            de.says(wrong, f"REDE.{name}", *["1"] * (least - 1))
            if name in ("push", "pushat", "gidpush", "mpush", "pull", "look", "ttn", "update",
                        "info"):
                de.says(wrong, f"rede.{name.upper()}", *["1"] * (least + 1))


@own
def nulls_are_those_of_the_connection_s_protocol():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 10, "p", "id")
        for null, hello in ((b"$-1\r\n", None), (b"_\r\n", 3), (b"$-1\r\n", 2)):
            if hello:
                de.raw.call("HELLO", hello)
            de.says(null, "REDE.PULL", "d", "nosuch")
            de.says(null, "REDE.LOOK", "d", "nosuch")
            de.says(null, "REDE.TTN", "nosuch")
            de.says(b"*2\r\n" + null * 2, "REDE.XACK", "d", "id", "nosuch")


@own
def a_dehydrator_is_a_key_like_others():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 100, "p", "id")
        equal(de.run("TYPE", "d"), b"dehydrator")
        equal(de.run("EXISTS", "d"), 1)
        equal(de.run("KEYS", "*"), [b"d"])
        equal(de.run("SCAN", 0, "TYPE", "dehydrator"), (0, [b"d"]))
        equal(de.run("SCAN", 0, "TYPE", "zset"), (0, []))
        assert de.run("MEMORY", "USAGE", "d") > 0
        assert de.client.object("ENCODING", "d")
        equal(de.run("RENAME", "d", "e"), True)
        equal(de.run("REDE.LOOK", "e", "id"), b"p")
        equal(de.run("PEXPIRE", "e", 50), True)
        de.step(50)
        equal(de.run("REDE.TTN", "e"), 50)
        de.step(1)
        equal(de.run("REDE.TTN", "e"), None)
        equal(de.run("DBSIZE"), 0)
        de.run("REDE.PUSH", "d", 100, "p", "id")
        equal(de.run("DEL", "d"), 1)
        de.run("REDE.PUSH", "d", 100, "p", "id")
        de.run("SET", "d", "v")
        equal(de.run("TYPE", "d"), b"string")


@own
def a_dehydrator_in_a_transaction_stands_at_one_moment():
    with Dehydrators() as de:
        pipe = de.client.pipeline(transaction=True)
        pipe.execute_command("REDE.PUSH", "d", 0, "p", "id")
        pipe.execute_command("REDE.XPOLL", "d")
        pipe.execute_command("REDE.POLL", "d", "WITHIDS")
        pipe.execute_command("EXISTS", "d")
        equal(pipe.execute(), [b"OK", [b"id"], [[b"id", b"p"]], 0])


@own
def a_watched_dehydrator_that_changes_stops_a_transaction():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 0, "p", "id")
        for change in (("REDE.UPDATE", "d", "id", "q"), ("REDE.PUSH", "d", 5, "p", "id2"),
                       ("REDE.POLL", "d"), ("REDE.PULL", "d", "id2")):
            with de.client.pipeline() as pipe:
                pipe.watch("d")
                de.run(*change)
                pipe.multi()
                pipe.ping()
                try:
                    pipe.execute()
                    raise AssertionError(f"{change[0]} did not touch the key")
                except redis.WatchError:
                    pass


def events_of(de, *calls):
    """The events that the calls give: [event, key]. That something is due comes when it comes."""
    listener = de.daemon.raw()
    listener.call("PSUBSCRIBE", "__keyevent@0__:*")
    for call in calls:
        de.raw.call(*call)
    de.raw.call("PUBLISH", "__keyevent@0__:end", "")
    events = []
    while not events or events[-1][0] != "end":
        parts = listener.reply().split(b"\r\n")
        event = parts[6].decode().split(":", 1)[1]
        if event != "rede.due":
            events.append([event, parts[8].decode()])
    listener.close()
    return events[:-1]


@own
def events_name_what_happened_to_a_dehydrator():
    with Dehydrators("--notify-keyspace-events", "Ed") as de:
        equal(events_of(de, ("REDE.PUSH", "d", 0, "p", "a"), ("REDE.PUSH", "d", 0, "p", "a")),
              [["rede.push", "d"]])
        equal(events_of(de, ("REDE.GIDPUSH", "d", 0, "p")), [["rede.push", "d"]])
        equal(events_of(de, ("REDE.XPOLL", "d"), ("REDE.LOOK", "d", "a"), ("REDE.TTN", "d")), [])
        equal(events_of(de, ("REDE.PULL", "d", "a"), ("REDE.PULL", "d", "a")), [["rede.pull", "d"]])
        equal(events_of(de, ("REDE.POLL", "d"), ("REDE.POLL", "d")), [["rede.poll", "d"]])
        de.run("REDE.PUSH", "d", 0, "p", "a")
        equal(events_of(de, ("REDE.XACK", "d", "nosuch"), ("REDE.XACK", "d", "a")),
              [["rede.ack", "d"]])
        for i in range(3):
            de.run("REDE.PUSH", "d", 0, "p", f"id{i}")
        equal(events_of(de, ("REDE.POLL", "d")), [["rede.poll", "d"]], "one for a whole poll")


@own
def the_key_s_end_is_told_after_the_event_that_emptied_it():
    with Dehydrators("--notify-keyspace-events", "EAd") as de:
        de.run("REDE.PUSH", "d", 0, "p", "a")
        equal(events_of(de, ("REDE.POLL", "d")), [["rede.poll", "d"], ["del", "d"]])
        de.run("REDE.PUSH", "d", 0, "p", "a")
        equal(events_of(de, ("REDE.PULL", "d", "a")), [["rede.pull", "d"], ["del", "d"]])
        de.run("REDE.PUSH", "d", 0, "p", "a")
        equal(events_of(de, ("REDE.XACK", "d", "a")), [["rede.ack", "d"], ["del", "d"]])


@own
def commands_are_listed_with_their_keys():
    with Dehydrators() as de:
        for name in ("push", "gidpush", "pull", "poll", "xpoll", "xack", "look", "ttn", "update",
                     "pushat", "mpush", "bpoll", "claim", "nack", "reschedule", "len", "range",
                     "scan", "info"):
            info = de.run("COMMAND", "INFO", f"rede.{name}")
            equal(list(info), [f"rede.{name}"])
            row = info[f"rede.{name}"]
            equal((row["first_key_pos"], row["last_key_pos"], row["step_count"]), (1, 1, 1))
            equal("write" in row["flags"],
                  name not in ("xpoll", "look", "ttn", "len", "range", "scan", "info"), name)
            equal("blocking" in row["flags"], name in ("bpoll", "claim"), name)
        de.says(b"*1\r\n$1\r\nk\r\n", "COMMAND", "GETKEYS", "REDE.PUSH", "k", 1, "p", "id")


@own
def requests_in_pieces_are_the_same_requests():
    with Dehydrators() as de:
        data = encode("REDE.PUSH", "d", 0, b"\0p", b"\0i") + encode("REDE.POLL", "d", "WITHIDS")
        for at in range(len(data)):
            de.raw.send(data[at:at + 1])
        equal(de.raw.reply(), b"+OK\r\n")
        equal(de.raw.reply(), b"*1\r\n*2\r\n$2\r\n\0i\r\n$2\r\n\0p\r\n")


@own
def each_new_event_is_told_once_for_a_command():
    with Dehydrators("--notify-keyspace-events", "Ed") as de:
        equal(events_of(de, ("REDE.MPUSH", "d", 0, "p", "a", 0, "p", "b")), [["rede.push", "d"]])
        equal(events_of(de, ("REDE.CLAIM", "d", 10), ("REDE.CLAIM", "d", 10)), [["rede.claim", "d"]])
        equal(events_of(de, ("REDE.NACK", "d", 0, "a", "b"), ("REDE.NACK", "d", 0, "a", "b")),
              [["rede.nack", "d"]])
        equal(events_of(de, ("REDE.RESCHEDULE", "d", 9, "a", "b", "none")),
              [["rede.reschedule", "d"]])


@own
def what_falls_due_is_told_of_at_its_deadline():
    with Dehydrators("--notify-keyspace-events", "Ed") as de, de.daemon.raw() as listener:
        listener.call("SUBSCRIBE", "__keyevent@0__:rede.due", "end")
        listener.reply()
        due = b"*3\r\n$7\r\nmessage\r\n$23\r\n__keyevent@0__:rede.due\r\n$1\r\nd\r\n"
        end = b"*3\r\n$7\r\nmessage\r\n$3\r\nend\r\n$0\r\n\r\n"
        de.run("REDE.MPUSH", "d", 10, "p", "a", 10, "p", "b", 20, "p", "c")
        de.step(9)
        de.run("PUBLISH", "end", "")
        equal(listener.reply(), end, "nothing is due yet")
        de.step(1)
        equal(listener.reply(), due)
        de.run("PUBLISH", "end", "")
        equal(listener.reply(), end, "told once")
        de.run("REDE.CLAIM", "d", 5, "COUNT", 1)
        de.step(5)
        equal(listener.reply(), due, "a lease that has ended")
        de.step(5)
        equal(listener.reply(), due)


# --- pushing many, and for an instant ---


@own
def pushat_takes_a_unix_time():
    with Dehydrators() as de:
        now = int(de.daemon.clock())
        equal(de.run("REDE.PUSHAT", "d", now + 100, "p", "a"), b"OK")
        equal(de.run("REDE.PUSHAT", "d", 0, "past", "b"), b"OK")
        de.says(DEHYDRATING, "REDE.PUSHAT", "d", now, "p", "a")
        for wrong in ("-1", "x", "9223372036854775806", "1.5", ""):
            de.says(b"-ERR unix-ms is not an integer or out of range\r\n",
                    "REDE.PUSHAT", "new", wrong, "p", "id")
        equal(de.run("EXISTS", "new"), 0)
        equal(de.run("REDE.RANGE", "d", "-", "+"), [[b"b", 0], [b"a", now + 100]])
        equal(de.run("REDE.POLL", "d"), [b"past"])
        equal(de.run("REDE.TTN", "d"), 100)


@own
def mpush_is_all_or_nothing():
    with Dehydrators() as de:
        equal(de.run("REDE.MPUSH", "d", 20, "pa", "a", 10, "pb", "b", "-5", "pc", "c"), 3)
        equal(de.run("REDE.XPOLL", "d"), [b"c"])
        de.says(DEHYDRATING, "REDE.MPUSH", "d", 1, "p", "new", 1, "p", "a")
        de.says(DEHYDRATING, "REDE.MPUSH", "e", 1, "p", "new", 1, "p", "x", 1, "p", "new")
        de.says(BAD_TTL, "REDE.MPUSH", "e", 1, "p", "new", "x", "p", "y")
        equal(de.run("REDE.LEN", "d"), 3)
        equal(de.run("EXISTS", "e"), 0)
        many = [part for i in range(5000) for part in (i % 7, f"p{i}", f"id{i}")]
        equal(de.run("REDE.MPUSH", "m", *many), 5000)
        de.step(7)
        equal(de.run("REDE.POLL", "m"),
              [b"p%d" % i for i in sorted(range(5000), key=lambda i: (i % 7, i))])


# --- claims ---


@own
def a_claimed_element_comes_back_when_its_lease_ends():
    with Dehydrators() as de:
        de.run("REDE.MPUSH", "d", 0, "pa", "a", 0, "pb", "b")
        equal(de.run("REDE.CLAIM", "d", 100, "COUNT", 1), [[b"a", b"pa", 1]])
        equal(de.run("REDE.CLAIM", "d", 200), [[b"b", b"pb", 1]])
        equal(de.run("REDE.CLAIM", "d", 100), [])
        equal(de.run("REDE.POLL", "d"), [])
        equal([de.run("REDE.LEN", "d", *which) for which in ((), ("DUE",), ("claimed",))],
              [2, 0, 2])
        equal(de.run("REDE.XACK", "d", "b"), [b"pb"])
        de.step(99)
        equal(de.run("REDE.CLAIM", "d", 100), [])
        de.step(1)
        equal(de.run("REDE.CLAIM", "d", 100), [[b"a", b"pa", 2]])
        equal(de.run("REDE.NACK", "d", 30, "a", "none"), 1)
        equal(de.run("REDE.TTN", "d"), 30)
        de.step(30)
        equal(de.run("REDE.CLAIM", "d", 100), [[b"a", b"pa", 3]])
        equal(de.run("REDE.XACK", "d", "a", "a"), [b"pa", None])
        equal(de.run("EXISTS", "d"), 0)


@own
def a_worker_that_goes_away_loses_nothing():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 0, "p", "a")
        for deliveries in range(1, 5):
            with de.daemon.raw() as worker:
                reply = b"*1\r\n*3\r\n$1\r\na\r\n$1\r\np\r\n:%d\r\n" % deliveries
                equal(worker.call("REDE.CLAIM", "d", 50, "BLOCK", 0), reply)
            de.step(49)
            equal(de.run("REDE.CLAIM", "d", 50), [])
            de.step(1)
        equal(de.run("REDE.POLL", "d"), [b"p"])


@own
def a_claim_goes_along_with_its_key():
    with Dehydrators() as de:
        de.run("REDE.MPUSH", "d", 0, "p", "a", 500, "q", "b")
        de.run("REDE.CLAIM", "d", 100)
        equal(de.run("COPY", "d", "e"), 1)
        equal(de.run("RENAME", "d", "f"), True)
        for key in "ef":
            equal(de.run("REDE.LEN", key, "CLAIMED"), 1)
            equal(de.run("REDE.NACK", key, 0, "a", "b"), 1)
            equal(de.run("REDE.CLAIM", key, 100), [[b"a", b"p", 2]])
            equal(de.run("REDE.TTN", key), 100)


@own
def a_lease_is_a_positive_number_of_milliseconds():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 0, "p", "a")
        for wrong in ("0", "-1", "x", "", "1.5", "9223372036854775807"):
            de.says(b"-ERR lease is not an integer or out of range\r\n", "REDE.CLAIM", "d", wrong)
        de.says(b"-ERR count should be greater than 0\r\n", "REDE.CLAIM", "d", 5, "COUNT", 0)
        de.says(b"-ERR delay is not an integer or out of range\r\n", "REDE.NACK", "d", "x", "a")
        equal(de.run("REDE.LEN", "d", "DUE"), 1)


@own
def reschedule_moves_a_deadline_or_the_end_of_a_lease():
    with Dehydrators() as de:
        de.run("REDE.MPUSH", "d", 10, "p", "a", 0, "q", "b")
        de.run("REDE.CLAIM", "d", 50)
        equal(de.run("REDE.RESCHEDULE", "d", 100, "a", "b", "none"), 2)
        equal(de.run("REDE.LEN", "d", "CLAIMED"), 1)
        equal(de.run("REDE.TTN", "d"), 100)
        de.step(100)
        equal(de.run("REDE.CLAIM", "d", 50), [[b"a", b"p", 1], [b"b", b"q", 2]])
        equal(de.run("REDE.RESCHEDULE", "d", -1, "b"), 1)
        equal(de.run("REDE.POLL", "d"), [b"q"])


# --- looking ---


@own
def a_range_is_what_is_coming():
    with Dehydrators() as de:
        now = de.daemon.clock()
        equal(de.run("REDE.RANGE", "d", "-", "+"), [])
        for ttl, name in ((30, "c"), (10, "a"), (20, "b")):
            de.run("REDE.PUSH", "d", ttl, "p", name)
        equal(de.run("REDE.RANGE", "d", now + 10, now + 20), [[b"a", now + 10], [b"b", now + 20]])
        equal(de.run("REDE.RANGE", "d", now + 11, "+", "COUNT", 1), [[b"b", now + 20]])
        equal(de.run("REDE.RANGE", "d", "+", "-"), [])
        de.says(b"-ERR min or max is not an integer or out of range\r\n",
                "REDE.RANGE", "d", "(1", 5)
        de.says(b"*1\r\n*2\r\n$1\r\na\r\n:%d\r\n" % (now + 10), "REDE.RANGE", "d", "-", now + 19)


@own
def a_scan_meets_every_element():
    with Dehydrators() as de:
        wanted = {b"id%d" % i: b"p%d" % i for i in range(1000)}
        de.run("REDE.MPUSH", "d", *[part for name, payload in wanted.items()
                                    for part in (5, payload, name)])
        got, cursor = {}, "0"
        while True:
            cursor, found = de.run("REDE.SCAN", "d", cursor, "COUNT", 50)
            got.update(zip(found[::2], found[1::2]))
            if cursor == b"0":
                break
        equal(got, wanted)
        found = de.run("REDE.SCAN", "d", 0, "MATCH", "id99?", "COUNT", 10000)[1]
        equal(sorted(found[::2]), [b"id99%d" % i for i in range(10)])
        equal(de.run("REDE.SCAN", "none", 0), [b"0", []])


@own
def info_is_a_map_in_resp3():
    with Dehydrators() as de:
        equal(de.run("REDE.INFO", "d"), [b"length", 0, b"due", 0, b"claimed", 0, b"next-deadline",
                                         None, b"distinct-ttls", 0, b"bytes", 0])
        now = de.daemon.clock()
        de.run("REDE.MPUSH", "d", 0, "p", "a", 0, "p", "b", 10, "p", "c")
        de.run("REDE.CLAIM", "d", 10, "COUNT", 1)
        flat = de.run("REDE.INFO", "d")
        info = dict(zip(flat[::2], flat[1::2]))
        assert info.pop(b"bytes") > 0
        equal(info, {b"length": 3, b"due": 1, b"claimed": 1, b"next-deadline": now,
                     b"distinct-ttls": 2})
        de.raw.call("HELLO", 3)
        equal(de.raw.call("REDE.INFO", "d")[:4], b"%6\r\n")


@own
def a_scan_by_type_knows_the_name_of_redes_type_too():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 10, "p", "a")
        de.run("SET", "k", "v")
        for name in ("dehydrator", "dehy-type", "DEHY-TYPE"):
            equal(de.run("SCAN", 0, "TYPE", name), (0, [b"d"]))
        equal(de.run("SCAN", 0, "TYPE", "dehy-typ"), (0, []))
        equal(de.run("TYPE", "d"), b"dehydrator")


# --- waiting ---


def wait(de, *arguments):
    """A connection that waits."""
    raw, before = de.daemon.raw(), de.client.info("clients")["blocked_clients"]
    raw.send(encode(*arguments))
    while de.client.info("clients")["blocked_clients"] == before:
        pass
    return raw


@own
def a_poll_that_waits_has_the_element_at_its_deadline():
    with Dehydrators() as de:
        waiting = wait(de, "REDE.BPOLL", "d", 0, "WITHIDS", "COUNT", 5)
        de.run("REDE.PUSH", "d", 1000, "late", "b")
        de.run("REDE.PUSH", "d", 100, "early", "a")
        de.step(100)
        equal(waiting.reply(), b"*1\r\n*2\r\n$1\r\na\r\n$5\r\nearly\r\n")
        waiting.close()
        waiting = wait(de, "REDE.CLAIM", "d", 20, "BLOCK", 0)
        de.run("REDE.RESCHEDULE", "d", 0, "b")
        equal(waiting.reply(), b"*1\r\n*3\r\n$1\r\nb\r\n$4\r\nlate\r\n:1\r\n")
        waiting.close()
        waiting = wait(de, "REDE.BPOLL", "d", 0)
        de.step(20)
        equal(waiting.reply(), b"*1\r\n$4\r\nlate\r\n")
        waiting.close()


@own
def each_of_a_hundred_that_wait_has_one_element_in_turn():
    with Dehydrators() as de:
        waiting = [wait(de, "REDE.BPOLL", "d", 0, "COUNT", 1) for _ in range(100)]
        de.run("REDE.MPUSH", "d", *[part for i in range(100) for part in (i // 10, i, f"id{i}")])
        de.step(10)
        equal([raw.reply() for raw in waiting],
              [b"*1\r\n$%d\r\n%d\r\n" % (len(str(i)), i) for i in range(100)])
        for raw in waiting:
            raw.close()
        equal(de.run("EXISTS", "d"), 0)


@own
def a_wait_ends_at_its_timeout_or_when_unblocked_with_null_or_without_claims():
    with Dehydrators() as de:
        de.run("REDE.PUSH", "d", 10_000, "p", "a")
        for call, nothing in ((("REDE.BPOLL", "d", "0.5"), b"*-1\r\n"),
                              (("REDE.CLAIM", "d", 10, "BLOCK", "0.5"), b"*0\r\n")):
            waiting = wait(de, *call)
            de.step(500)
            equal(waiting.reply(), nothing)
            waiting.send(encode("CLIENT", "ID"))
            number = int(waiting.reply()[1:])
            waiting.send(encode(*call[:-1], 0))
            while de.run("CLIENT", "UNBLOCK", number) == 0:
                pass
            equal(waiting.reply(), nothing)
            waiting.close()
        equal(de.run("REDE.LEN", "d"), 1)


@own
def in_a_transaction_nothing_waits():
    with Dehydrators() as de:
        with de.client.pipeline(transaction=True) as pipe:
            pipe.execute_command("REDE.BPOLL", "d", 0)
            pipe.execute_command("REDE.CLAIM", "d", 10, "BLOCK", 0)
            pipe.execute_command("REDE.CLAIM", "d", 10)
            equal(pipe.execute(), [None, [], []])


@own
def every_command_takes_any_bytes():
    with Dehydrators() as de:
        every = bytes(range(256))
        de.run("REDE.PUSHAT", "d", 0, every, every)
        de.run("REDE.MPUSH", "d", 0, b"\0p", b"\0", 0, b"", b"")
        equal(de.run("REDE.CLAIM", "d", 5), [[every, every, 1], [b"\0", b"\0p", 1], [b"", b"", 1]])
        equal(de.run("REDE.NACK", "d", 0, every, b"\0", b""), 3)
        equal(de.run("REDE.RESCHEDULE", "d", 7, every, b"\0"), 2)
        equal([name for name, _ in de.run("REDE.RANGE", "d", "-", "+")], [b"", every, b"\0"])
        equal(sorted(de.run("REDE.SCAN", "d", 0)[1][::2]), [b"", b"\0", every])
        equal(de.run("REDE.XACK", "d", b""), [b""])


main()
