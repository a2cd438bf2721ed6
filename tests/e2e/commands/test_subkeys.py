#!/usr/bin/python3 -B
"""The four kinds of subkey notifications, which name members of sets, hashes and sorted sets."""
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import REPLY_SECONDS, Daemon, equal, main, own


class Heard:
    """A client, and a subscriber to a pattern; `messages_of` runs a command and returns the messages that it
    caused: [(channel, message)]."""

    def __init__(self, daemon, pattern="__*"):
        self.daemon, self.client = daemon, daemon.redis()
        self.listener = self.client.pubsub(ignore_subscribe_messages=True)
        self.listener.psubscribe(pattern)
        self.listener.subscribe("mark")
        self.until_mark()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.client.close()

    def run(self, command):
        return self.client.execute_command(*(command.split() if isinstance(command, str)
                                             else command))

    def message(self):
        while True:
            got = self.listener.get_message(timeout=REPLY_SECONDS)
            if got is not None:  # the type of a subscription's confirmation
                return got["channel"], got["data"]

    def until_mark(self):
        self.client.publish("mark", "here")
        heard = []
        while (got := self.message()) != (b"mark", b"here"):
            heard.append(got)
        return heard

    def messages_of(self, command):
        self.run(command)
        return self.until_mark()

    def later(self, count):
        """Receives `count` messages that no command caused, and no more."""
        return [self.message() for _ in range(count)] + self.until_mark()


def listening(flags, *options):
    return Daemon("--notify-keyspace-events", flags, *options)


def on_key(*messages, key="k"):
    return [(b"__subkeyspace@0__:" + key.encode(), message.encode()) for message in messages]


def all_four(key, event, *members):
    """The messages of the classes S, T, I and V for an event of these members."""
    names = ",".join(f"{len(member)}:{member}" for member in members)
    return [(channel.encode(), message.encode()) for channel, message in [
        (f"__subkeyspace@0__:{key}", f"{event}|{names}"),
        (f"__subkeyevent@0__:{event}", f"{len(key)}:{key}|{names}"),
        *[(f"__subkeyspaceitem@0__:{key}\n{member}", event) for member in members],
        (f"__subkeyspaceevent@0__:{event}|{key}", names)]]


def each_sends(heard, steps):
    """Each command and the messages that it causes on the channel of key k."""
    for command, *messages in steps:
        equal(heard.messages_of(command), on_key(*messages), command)


@own
def all_four_channels_carry_the_members_of_all_three_types():
    with listening("STIVshz") as daemon, Heard(daemon) as heard:
        equal(heard.messages_of("HSET h field1 v1 field2 v2"), all_four("h", "hset", "field1", "field2"))
        equal(heard.messages_of("SADD set a bcd"), all_four("set", "sadd", "a", "bcd"))
        equal(heard.messages_of("ZADD zs 1 a 2 bcd"), all_four("zs", "zadd", "a", "bcd"))
        equal(heard.messages_of("HDEL h field2 missing"), all_four("h", "hdel", "field2"))


@own
def clients_hear_one_key_one_event_or_one_member():
    with listening("STIVA") as daemon, Heard(daemon, pattern="none") as heard:
        heard.listener.subscribe("__subkeyspace@0__:k", "__subkeyevent@0__:srem",
                                 "__subkeyspaceitem@0__:k\nm", "__subkeyspaceevent@0__:sadd|k")
        heard.until_mark()
        heard.run("SADD other m")
        heard.run("SADD k m n")
        equal(heard.messages_of("SREM other m"), [
            (b"__subkeyspace@0__:k", b"sadd|1:m,1:n"),
            (b"__subkeyspaceitem@0__:k\nm", b"sadd"),
            (b"__subkeyspaceevent@0__:sadd|k", b"1:m,1:n"),
            (b"__subkeyevent@0__:srem", b"5:other|1:m")])


@own
def sets_tell_their_members():
    with listening("SA") as daemon, Heard(daemon) as heard:
        each_sends(heard, [
            ("SADD k a b a c", "sadd|1:a,1:b,1:c"),
            ("SADD k a",),
            ("SADD k a d", "sadd|1:d"),
            ("SREM k a nosuch b", "srem|1:a,1:b"),
            ("SREM k nosuch",),
            ("SREM k c", "srem|1:c"),
            ("SPOP k", "spop|1:d"),
            ("SPOP k",)])
        heard.messages_of("SADD k a b c")
        [(channel, message)] = heard.messages_of("SPOP k 2")
        equal(channel, b"__subkeyspace@0__:k")
        assert message in [b"spop|1:%s,1:%s" % (one, other) for one in (b"a", b"b", b"c")
                           for other in (b"a", b"b", b"c") if one != other], message
        heard.messages_of("SADD k a b c")
        [(_, message)] = heard.messages_of("SPOP k 5")
        equal(sorted(message[len(b"spop|"):].split(b",")), [b"1:a", b"1:b", b"1:c"])
        heard.messages_of("SADD k m")
        equal(heard.messages_of("SMOVE k to m"), on_key("srem|1:m") + on_key("sadd|1:m", key="to"))
        each_sends(heard, [("SUNIONSTORE k to",), ("DEL k",)])


@own
def hashes_tell_their_fields():
    with listening("SA") as daemon, Heard(daemon) as heard:
        each_sends(heard, [
            ("HSET k f 1 g 2", "hset|1:f,1:g"),
            ("HSET k f 1", "hset|1:f"),
            ("HMSET k g 1 h 2", "hset|1:g,1:h"),
            ("HSETNX k f 1",),
            ("HSETNX k new 1", "hset|3:new"),
            ("HINCRBY k n 5", "hincrby|1:n"),
            ("HINCRBYFLOAT k n 1.5", "hincrbyfloat|1:n"),
            ("HDEL k f g nosuch", "hdel|1:f,1:g"),
            ("HDEL k nosuch",),
            ("HDEL k h new n", "hdel|1:h,3:new,1:n")])
        equal(heard.run("EXISTS k"), 0)


@own
def sorted_sets_tell_their_members():
    with listening("SA") as daemon, Heard(daemon) as heard:
        fill = "ZADD k 1 a 2 b 3 c 4 d"
        filled = "zadd|1:a,1:b,1:c,1:d"
        each_sends(heard, [
            (fill, filled),
            (fill,),
            ("ZADD k 1 a 3 b", "zadd|1:b"),
            ("ZADD k XX 9 nosuch",),
            ("ZADD k INCR 1 a", "zincr|1:a"),
            ("ZINCRBY k 1 new", "zincr|3:new"),
            ("ZREM k new nosuch a", "zrem|3:new,1:a"),
            ("DEL k",), (fill, filled),
            ("ZREMRANGEBYRANK k 0 1", "zremrangebyrank|1:a,1:b"),
            ("ZREMRANGEBYRANK k 5 9",),
            ("ZREMRANGEBYSCORE k 3 3", "zremrangebyscore|1:c"),
            ("ZREMRANGEBYLEX k - +", "zremrangebylex|1:d"),
            (fill, filled),
            ("ZPOPMIN k 2", "zpopmin|1:a,1:b"),
            ("ZPOPMAX k", "zpopmax|1:d"),
            ("ZMPOP 1 k MIN COUNT 9", "zpopmin|1:c"),
            ("GEOADD k 1 1 here", "zadd|4:here"),
            ("ZRANGESTORE k k 0 -1",)])


@own
def each_call_of_a_transaction_sends_its_own_message():
    with listening("SA") as daemon, Heard(daemon) as heard:
        with heard.client.pipeline(transaction=True) as pipe:
            pipe.sadd("k", "a")
            pipe.sadd("k", "b", "c")
            pipe.sadd("other", "b")
            pipe.execute()
        equal(heard.until_mark(), on_key("sadd|1:a", "sadd|1:b,1:c") +
              on_key("sadd|1:b", key="other"))


@own
def members_stand_behind_their_event_and_ahead_of_the_next():
    with listening("KESA") as daemon, Heard(daemon) as heard:
        equal(heard.messages_of("ZADD k 1 a 2 b"), [
            (b"__keyspace@0__:k", b"zadd"), (b"__keyevent@0__:zadd", b"k"),
            *on_key("zadd|1:a,1:b")])
        equal(heard.messages_of("ZREMRANGEBYRANK k 0 -1"), [
            (b"__keyspace@0__:k", b"zremrangebyrank"), (b"__keyevent@0__:zremrangebyrank", b"k"),
            *on_key("zremrangebyrank|1:a,1:b"),
            (b"__keyspace@0__:k", b"del"), (b"__keyevent@0__:del", b"k")])


@own
def channels_and_classes_are_chosen_one_by_one():
    with listening("") as daemon, Heard(daemon) as heard:
        four = all_four("k", "sadd", "a")
        for flags, wanted in (("S", []), ("KEA", 2), ("Sh", []), ("Ss", four[:1]),
                              ("TA", four[1:2]), ("Is", four[2:3]), ("Vs", four[3:]),
                              ("STIVA", four), ("", [])):
            heard.client.config_set("notify-keyspace-events", flags)
            heard.run("DEL k")
            heard.until_mark()
            got = heard.messages_of("SADD k a")
            equal(len(got) if isinstance(wanted, int) else got, wanted, flags)


@own
def the_flags_are_shown_in_redis_order():
    with Daemon() as daemon, daemon.redis() as client:
        for given, shown in (("VITSA", "ASTIV"), ("STIVEKA", "AKESTIV"), ("mThs", "shmT")):
            client.config_set("notify-keyspace-events", given)
            equal(client.config_get("notify-keyspace-events"), {"notify-keyspace-events": shown})
        try:
            client.config_set("notify-keyspace-events", "STIVq")
            raise AssertionError("q was accepted")
        except redis.ResponseError as error:
            assert "Invalid event class character" in str(error), error
        equal(client.config_get("notify-keyspace-events"), {"notify-keyspace-events": "shmT"})


@own
def names_of_any_bytes_are_measured():
    with listening("STIVA") as daemon, Heard(daemon) as heard:
        equal(heard.messages_of(["HSET", b"k|\xff", b"a|b,\n\x00", "v", "", "w"]), [
            (b"__subkeyspace@0__:k|\xff", b"hset|6:a|b,\n\x00,0:"),
            (b"__subkeyevent@0__:hset", b"3:k|\xff|6:a|b,\n\x00,0:"),
            (b"__subkeyspaceitem@0__:k|\xff\na|b,\n\x00", b"hset"),
            (b"__subkeyspaceitem@0__:k|\xff\n", b"hset"),
            (b"__subkeyspaceevent@0__:hset|k|\xff", b"6:a|b,\n\x00,0:")])
        channels = [channel for channel, _ in heard.messages_of(["SADD", "two\nlines", "a"])]
        equal(channels, [b"__subkeyspace@0__:two\nlines", b"__subkeyevent@0__:sadd",
                         b"__subkeyspaceevent@0__:sadd|two\nlines"])
        heard.client.execute_command("SELECT", "3")
        equal(heard.messages_of("SADD k a")[0], (b"__subkeyspace@3__:k", b"sadd|1:a"))


@own
def many_members_are_listed_a_thousand_at_a_time():
    with listening("VIA") as daemon, Heard(daemon, pattern="__subkeyspaceevent@*") as heard:
        heard.run(["ZADD", "k"] + [word for i in range(2500) for word in (i, f"m{i}")])
        heard.until_mark()
        lists = [message.split(b",") for _, message in heard.messages_of("ZREMRANGEBYRANK k 0 -1")]
        equal([len(names) for names in lists], [1000, 1000, 500])
        equal([name.split(b":")[1] for names in lists for name in names],
              [b"m%d" % i for i in range(2500)])


# --- members with deadlines --------------------------------------------------------------------


@own
def events_of_members_deadlines_name_the_members():
    with listening("SA") as daemon, Heard(daemon) as heard:
        each_sends(heard, [
            ("SADD k a b c", "sadd|1:a,1:b,1:c"),
            ("SEXPIRE k 100 MEMBERS 3 a nosuch b", "sexpire|1:a,1:b"),
            ("SPERSIST k MEMBERS 2 a c", "spersist|1:a"),
            ("SEXPIRE k 0 MEMBERS 2 a b", "srem|1:a,1:b"),
            ("SADDEX k EX 100 MEMBERS 2 d e", "sadd|1:d,1:e", "sexpire|1:d,1:e"),
            ("DEL k",),
            ("HSET k f 1 g 2 h 3", "hset|1:f,1:g,1:h"),
            ("HEXPIRE k 100 FIELDS 3 f nosuch g", "hexpire|1:f,1:g"),
            ("HPERSIST k FIELDS 2 f h", "hpersist|1:f"),
            ("HEXPIRE k 0 FIELDS 2 f g", "hdel|1:f,1:g"),
            ("HSETEX k EX 100 FIELDS 2 i 1 j 2", "hset|1:i,1:j", "hexpire|1:i,1:j"),
            ("HGETEX k PERSIST FIELDS 2 i h", "hpersist|1:i"),
            ("HGETEX k EX 100 FIELDS 2 i h", "hexpire|1:i,1:h"),
            ("HGETDEL k FIELDS 3 i nosuch j", "hdel|1:i,1:j"),
            ("DEL k",),
            ("ZADD k 1 a 2 b 3 c", "zadd|1:a,1:b,1:c"),
            ("ZEXPIRE k 100 MEMBERS 3 a nosuch b", "zexpire|1:a,1:b"),
            ("ZPERSIST k MEMBERS 2 a c", "zpersist|1:a"),
            ("ZEXPIRE k 0 MEMBERS 2 a b", "zrem|1:a,1:b"),
            ("ZADDEX k EX 100 1 d 2 e", "zadd|1:d,1:e", "zexpire|1:d,1:e")])


@own
def expired_members_are_notified_by_name_before_the_key():
    for fill, expire, event, left in (
            ("SADD k a b", "SPEXPIRE k 1000 MEMBERS 2 a b", "sexpired", "SCARD k"),
            ("HSET k a 1 b 2", "HPEXPIRE k 1000 FIELDS 2 a b", "hexpired", "HLEN k"),
            ("ZADD k 1 a 2 b", "ZPEXPIRE k 1000 MEMBERS 2 a b", "zexpired", "ZCARD k")):
        with listening("EASTIV") as daemon, Heard(daemon) as heard:
            daemon.hold()
            heard.run(fill)
            heard.run(expire)
            heard.until_mark()
            daemon.step(1000)
            equal(heard.run(left), 2, "at the deadline")
            equal(heard.until_mark(), [])
            daemon.step(1)
            equal(heard.later(7), [(b"__keyevent@0__:" + event.encode(), b"k")] +
                  all_four("k", event, "a", "b") + [(b"__keyevent@0__:del", b"k")])
            equal(heard.run("EXISTS k"), 0)


@own
def expired_members_are_listed_in_the_order_of_their_deadlines():
    with listening("IA") as daemon, Heard(daemon) as heard:
        daemon.hold()
        ttls = [(i * 37) % 100 + 1 for i in range(100)]
        heard.run(["SADD", "k"] + [str(i) for i in range(100)])
        for i, ttl in enumerate(ttls):
            heard.run(f"SPEXPIRE k {ttl} MEMBERS 1 {i}")
        heard.until_mark()
        daemon.step(200)
        got = [(int(channel.split(b"\n")[1]), event) for channel, event in heard.later(100)]
        equal({event for _, event in got}, {b"sexpired"})
        equal([ttls[i] for i, _ in got], sorted(ttls))


main()
