#!/usr/bin/python3 -B
"""REDE.FAIRCLAIM: the dehydrators whose names begin with a prefix are served in turn, one element of each. The clock is
stepped."""
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import encode, equal, main, own, random_seed
from dehydrators import Dehydrators, wait
from replicas import group

NOTHING = b"*0\r\n"
NEEDS_STAR = b"-ERR the prefix must end with '*', and have no other\r\n"


def push(de, key, *names, ttl=0):
    for name in names:
        de.run("REDE.PUSH", key, ttl, "p" + name, name)


def claim(de, *words, prefix="q:*", lease=1000):
    """Pairs of key and id, as "key id"."""
    return [f"{one[0].decode()} {one[1].decode()}" for one in de.run("REDE.FAIRCLAIM", prefix, lease, *words)]


def claimed(key, name, deliveries=1):
    """The bytes of a reply with one element."""
    return b"*1\r\n*4\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n$%d\r\np%s\r\n:%d\r\n" % (
        len(key), key, len(name), name, len(name) + 1, name, deliveries)


def is_waiting(de, *others):
    de.run("PING")
    return [not other.has_more() for other in others]


@own
def keys_are_served_in_turn():
    with Dehydrators() as de:
        push(de, "q:a", "1", "2", "3")
        push(de, "q:b", "1", "2")
        push(de, "q:c", "1")
        push(de, "other", "1")
        equal([claim(de) for _ in range(7)],
              [["q:a 1"], ["q:b 1"], ["q:c 1"], ["q:a 2"], ["q:b 2"], ["q:a 3"], []])
        de.run("REDE.XACK", "q:a", "1")


@own
def count_goes_through_the_rounds():
    with Dehydrators() as de:
        push(de, "q:a", "1", "2", "3")
        push(de, "q:b", "1", "2")
        equal(claim(de, "COUNT", 4), ["q:a 1", "q:b 1", "q:a 2", "q:b 2"])
        equal(claim(de, "COUNT", 4), ["q:a 3"])


@own
def the_reply_has_key_id_payload_deliveries_and_token():
    with Dehydrators() as de:
        push(de, "q:a", "1")
        equal(de.raw.call("REDE.FAIRCLAIM", "q:*", 1000), claimed(b"q:a", b"1"))
        de.step(1000)
        [[key, name, payload, deliveries, token]] = de.run("REDE.FAIRCLAIM", "q:*", 1000, "TOKENS")
        equal([key, name, payload, deliveries], [b"q:a", b"1", b"p1", 2])
        equal(de.run("REDE.ACK", key, name, token), 1)


@own
def a_key_that_becomes_due_joins_at_the_end_of_the_round():
    with Dehydrators() as de:
        push(de, "q:a", "1", "2", "3")
        push(de, "q:b", "1", "2", "3")
        push(de, "q:late", "1", "2", ttl=10)
        equal(claim(de), ["q:a 1"])
        de.step(10)
        equal(claim(de), ["q:b 1"])
        equal(claim(de, "COUNT", 4), ["q:a 2", "q:late 1", "q:b 2", "q:a 3"])
        push(de, "q:new", "1")
        equal(claim(de, "COUNT", 9), ["q:late 2", "q:b 3", "q:new 1"])


@own
def a_noisy_key_does_not_keep_others_waiting():
    with Dehydrators() as de:
        push(de, "q:noisy", *map(str, range(500)))
        equal(len(claim(de, "COUNT", 100)), 100)
        push(de, "q:quiet", "1")
        got = claim(de, "COUNT", 2)
        assert "q:quiet 1" in got, got


@own
def a_push_does_not_move_a_key_in_the_round():
    with Dehydrators() as de:
        push(de, "q:a", "1")
        push(de, "q:b", "1")
        equal(claim(de, "COUNT", 1, prefix="q:*"), ["q:a 1"])
        push(de, "q:c", "1")
        push(de, "q:b", "2")
        push(de, "q:a", "2")
        equal(claim(de, "COUNT", 9), ["q:b 1", "q:c 1", "q:a 2", "q:b 2"])


@own
def leases_end_and_elements_come_back():
    with Dehydrators() as de:
        push(de, "q:a", "1")
        push(de, "q:b", "1")
        equal(claim(de, "COUNT", 2, lease=100), ["q:a 1", "q:b 1"])
        de.step(99)
        equal(claim(de), [])
        de.step(1)
        equal(claim(de, "COUNT", 2), ["q:a 1", "q:b 1"])


@own
def limits_of_a_key_hold():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "q:a", "CLAIMED", 2)
        de.run("POLICY", "SET", "q:b", "RATE", 1, "PER", "1s")
        push(de, "q:a", *"123")
        push(de, "q:b", *"123")
        push(de, "q:c", *"1")
        de.run("REDE.PAUSE", "q:c", "UNTIL", int(de.run("CLOCK", "GET")) + 2000)
        equal(claim(de, "COUNT", 9, lease=100_000), ["q:a 1", "q:b 1", "q:a 2"])
        de.run("REDE.XACK", "q:a", "1")
        equal(claim(de, "COUNT", 9, lease=100_000), ["q:a 3"])
        de.step(999)
        equal(claim(de, "COUNT", 9), [])
        de.step(1)
        equal(claim(de, "COUNT", 9, lease=100_000), ["q:b 2"])
        de.step(999)
        equal(claim(de, "COUNT", 9), [])
        push(de, "q:b", "4")
        de.step(1)
        equal(sorted(claim(de, "COUNT", 9, lease=100_000)), ["q:b 3", "q:c 1"])
        de.run("POLICY", "DEL", "q:b")
        equal(claim(de, "COUNT", 9, lease=100_000), ["q:b 4"])


@own
def elements_delivered_too_often_are_moved():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "q:*", "MAXDELIVERIES", 1, "TO", "dead")
        for key in range(10):
            push(de, f"q:{key}", "1")
        equal(len(claim(de, "COUNT", 10, lease=100)), 10)
        de.step(100)
        push(de, "q:3", "2")
        equal(claim(de, "COUNT", 10), ["q:3 2"])
        equal(de.run("REDE.LEN", "dead"), 1, "the same id, so each one replaces the last")
        equal(sorted(de.run("KEYS", "*")), [b"dead", b"q:3"])


@own
def keys_of_other_types_are_skipped_and_counted():
    with Dehydrators() as de:
        push(de, "q:a", "1", "2")
        de.run("SET", "q:s", "x")
        de.run("RPUSH", "q:l", "x")
        equal(claim(de), ["q:a 1"])
        info = figures(de)
        equal([info[b"keys"], info[b"other-types"]], [1, 2])
        de.run("SET", "q:a", "now a string")
        equal(claim(de), [])


@own
def changes_of_keys_are_seen():
    with Dehydrators() as de:
        equal(claim(de), [])
        push(de, "q:a", "1", "2")
        de.run("RENAME", "q:a", "q:b")
        equal(claim(de), ["q:b 1"])
        de.run("COPY", "q:b", "q:c")
        equal(claim(de, "COUNT", 9), ["q:b 2", "q:c 2"])
        push(de, "elsewhere", "1")
        de.run("RENAME", "elsewhere", "q:d")
        equal(claim(de), ["q:d 1"])
        push(de, "q:e", "1")
        payload = de.run("DUMP", "q:e")
        de.run("DEL", "q:e")
        equal(claim(de), [])
        de.run("RESTORE", "q:e", 0, payload)
        equal(claim(de), ["q:e 1"])
        push(de, "q:f", "1")
        de.run("FLUSHALL")
        equal(claim(de), [])
        push(de, "q:g", "1")
        equal(claim(de), ["q:g 1"])
        de.run("SELECT", 1)
        push(de, "q:h", "1")
        de.run("SWAPDB", 0, 1)
        equal(claim(de), [])
        de.run("SELECT", 0)
        equal(claim(de), ["q:h 1"])
        push(de, "q:i", "1")
        de.run("MOVE", "q:i", 1)
        equal(claim(de), [])
        de.run("SELECT", 1)
        equal(claim(de), ["q:i 1"])
        push(de, "q:j", "1")
        de.run("PEXPIRE", "q:j", 10)
        de.step(11)
        equal(claim(de), [])


@own
def a_string_over_a_dehydrator_is_seen_without_a_journal():
    with Dehydrators("--appendonly", "no", "--save", "") as de:
        push(de, "q:a", "1", "2")
        equal(claim(de), ["q:a 1"])
        de.run("SET", "q:a", "text")
        equal(de.run("DEBUG", "CHECK"), b"OK")
        equal(claim(de), [])


@own
def a_policy_fair_changes_no_reply():
    with Dehydrators() as de:
        push(de, "q:a", "1", "2")
        de.run("POLICY", "SET", "q:*", "FAIR")
        equal(de.run("POLICY", "GET", "q:*"), [b"FAIR", 1])
        push(de, "q:b", "1")
        equal(claim(de, "COUNT", 9), ["q:a 1", "q:b 1", "q:a 2"])
        de.run("POLICY", "SET", "q:*", "FAIR", "NONE", "CLAIMED", 1)
        push(de, "q:c", "1", "2")
        equal(claim(de, "COUNT", 9), ["q:c 1"])


@own
def other_prefixes_have_rounds_of_their_own():
    with Dehydrators() as de:
        push(de, "q:a:1", "1", "2")
        push(de, "q:b:1", "1", "2")
        equal(claim(de), ["q:a:1 1"])
        equal(claim(de, prefix="q:a:*"), ["q:a:1 2"])
        equal(claim(de, "COUNT", 9, prefix="*"), ["q:b:1 1", "q:b:1 2"])


@own
def wrong_arguments_are_refused():
    with Dehydrators() as de:
        push(de, "q:a", "1")
        for prefix in ("q:a", "", "q:*:x*", "q:*a"):
            de.says(NEEDS_STAR, "REDE.FAIRCLAIM", prefix, 10)
            de.says(NEEDS_STAR, "REDE.FAIRINFO", prefix)
        de.says(b"-ERR lease is not an integer or out of range\r\n", "REDE.FAIRCLAIM", "q:*", 0)
        de.says(b"-ERR COUNT must be positive\r\n" if False else de.raw.call("REDE.CLAIM", "q:a", 10, "COUNT", 0),
                "REDE.FAIRCLAIM", "q:*", 10, "COUNT", 0)
        de.says(de.raw.call("REDE.CLAIM", "q:a", 10, "WHAT"), "REDE.FAIRCLAIM", "q:*", 10, "WHAT")
        equal(claim(de), ["q:a 1"])


@own
def clients_wait_and_are_served_in_order():
    with Dehydrators() as de:
        others = [wait(de, "REDE.FAIRCLAIM", "q:*", 1000, "BLOCK", 0) for _ in range(3)]
        push(de, "q:a", "1")
        equal(others[0].reply(), claimed(b"q:a", b"1"))
        push(de, "q:b", "1", ttl=10)
        equal(is_waiting(de, *others[1:]), [True, True])
        de.step(9)
        equal(is_waiting(de, *others[1:]), [True, True])
        de.step(1)
        equal(others[1].reply(), claimed(b"q:b", b"1"))
        equal(is_waiting(de, others[2]), [True])
        de.run("REDE.NACK", "q:a", 0, "1")
        equal(others[2].reply(), claimed(b"q:a", b"1", 2))
        for other in others:
            other.close()


@own
def clients_that_claim_from_a_key_and_from_a_prefix_are_one_queue():
    for ttl in (0, 10):
        with Dehydrators() as de:
            words = (("REDE.FAIRCLAIM", "q:*", 1000), ("REDE.CLAIM", "q:a", 1000), ("REDE.FAIRCLAIM", "q:a*", 1000),
                     ("REDE.CLAIM", "q:a", 1000), ("REDE.FAIRCLAIM", "q:*", 1000), ("REDE.BPOLL", "q:a"))
            others = [wait(de, *words[n % 6], *(() if n % 6 == 5 else ("COUNT", 1, "BLOCK")), 0,
                           *(("COUNT", 1) if n % 6 == 5 else ())) for n in range(18)]
            for n, other in enumerate(others):
                push(de, "q:a", str(n), ttl=ttl)
                de.step(ttl)
                name = b"%d" % n
                is_waiting(de)
                assert other.has_more(), (ttl, n)
                reply = other.reply()
                assert b"p" + name + b"\r\n" in reply, (n, reply)
                equal(is_waiting(de, *others[n + 1:]), [True] * (17 - n))
            for other in others:
                other.close()


@own
def two_keys_and_their_prefix_become_ready_together():
    """Nothing may be claimed from either key, so each client is tried and waits on."""
    for event in (("POLICY", "SET", "x", "CLAIMED", 1), ("SWAPDB", 0, 0)):
        with Dehydrators() as de:
            push(de, "q:1", "1", ttl=1000)
            push(de, "q:2", "1", ttl=1000)
            others = [wait(de, *words, 0) for words in (
                ("REDE.CLAIM", "q:1", 1000, "BLOCK"), ("REDE.CLAIM", "q:2", 1000, "BLOCK"),
                ("REDE.FAIRCLAIM", "q:*", 1000, "BLOCK"), ("REDE.BPOLL", "q:1"), ("REDE.BPOLL", "q:2"))]
            de.run(*event)
            equal(is_waiting(de, *others), [True] * 5)
            de.step(1000)
            equal(is_waiting(de, *others), [False, False, True, True, True])
            for other in others:
                other.close()


@own
def keys_that_fall_due_at_once_go_to_those_that_blocked_first():
    """The instant of q:1 comes first, and its clients would let the one of * take the element of r:1."""
    with Dehydrators() as de:
        push(de, "q:1", "1", ttl=5)
        others = [wait(de, *words, 0) for words in (
            ("REDE.FAIRCLAIM", "r:*", 1000, "BLOCK"), ("REDE.BPOLL", "q:1"),
            ("REDE.FAIRCLAIM", "*", 1000, "BLOCK"), ("REDE.CLAIM", "q:1", 1000, "BLOCK"))]
        push(de, "r:1", "1", ttl=5)
        de.step(5)
        equal(is_waiting(de, *others), [False, False, True, True])
        equal(others[0].reply(), claimed(b"r:1", b"1"))
        for other in others:
            other.close()


@own
def the_timeout_and_unblock_end_the_wait():
    with Dehydrators() as de:
        other = wait(de, "REDE.FAIRCLAIM", "q:*", 1000, "BLOCK", 1)
        de.step(999)
        equal(is_waiting(de, other), [True])
        de.step(1)
        equal(other.reply(), NOTHING)
        other.close()


@own
def waiting_clients_outlive_flushes_swaps_and_renames():
    with Dehydrators() as de:
        push(de, "q:a", "1", ttl=1000)
        others = [wait(de, "REDE.FAIRCLAIM", "q:*", 1000, "BLOCK", 0) for _ in range(6)]
        de.run("FLUSHALL")
        push(de, "q:b", "1")
        equal(others[0].reply(), claimed(b"q:b", b"1"))
        push(de, "x", "1")
        de.run("RENAME", "x", "q:x")
        equal(others[1].reply(), claimed(b"q:x", b"1"))
        de.run("SELECT", 1)
        push(de, "q:y", "1")
        de.run("SWAPDB", 0, 1)
        equal(others[2].reply(), claimed(b"q:y", b"1"))
        push(de, "q:z", "1")
        de.run("MOVE", "q:z", 0)
        equal(others[3].reply(), claimed(b"q:z", b"1"))
        de.run("SELECT", 0)
        de.run("POLICY", "SET", "q:*", "CLAIMED", 1)
        push(de, "q:z", "2")
        equal(is_waiting(de, *others[4:]), [True, True])
        de.run("POLICY", "DEL", "q:*")
        equal(others[4].reply(), claimed(b"q:z", b"2"))
        de.run("SET", "q:w", "x")
        equal(is_waiting(de, others[5]), [True])
        de.run("DEL", "q:w")
        push(de, "q:w", "3", ttl=5)
        de.run("DEBUG", "RELOAD")
        de.step(5)
        equal(others[5].reply(), claimed(b"q:w", b"3"))
        for other in others:
            other.close()


@own
def scripts_and_transactions_do_not_wait():
    with Dehydrators() as de:
        push(de, "q:a", "1", "2")
        script = "return redis.call('REDE.FAIRCLAIM', 'q:*', 1000, 'BLOCK', 0)"
        equal(de.run("EVAL", script, 0), [[b"q:a", b"1", b"p1", 1]])
        with de.client.pipeline(transaction=True) as pipe:
            for _ in range(2):
                pipe.execute_command("REDE.FAIRCLAIM", "q:*", 1000, "BLOCK", 0)
            pipe.execute_command("REDE.PUSH", "q:b", 0, "p", "1")
            pipe.execute_command("REDE.FAIRCLAIM", "q:*", 1000)
            equal(pipe.execute(), [[[b"q:a", b"2", b"p2", 1]], [], b"OK", [[b"q:b", b"1", b"p", 1]]])


@own
def users_need_a_pattern_for_the_whole_prefix():
    with Dehydrators() as de:
        push(de, "q:a:1", "1")
        raw = de.daemon.raw()
        for rules, prefix, may in (("~q:*", "q:*", True), ("~q:*", "q:a:*", True), ("~q:a:*", "q:*", False),
                                   ("~*", "*", True), ("%R~q:*", "q:*", False), ("%RW~q:*", "q:*", True),
                                   ("~q:a:1", "q:a:1*", False), ("~q:?:*", "q:a:*", False), ("", "q:*", False),
                                   ("%R~q:a:*", "q:*", False), ("~q*", "*", False)):
            de.run("ACL", "SETUSER", "u", "reset", "on", "nopass", "+@all", *rules.split())
            raw.call("AUTH", "u", "x")
            equal(raw.call("REDE.FAIRCLAIM", prefix, 1).startswith(b"*"), may, (rules, prefix))
            equal(raw.call("REDE.FAIRINFO", prefix)[:1] in b"*%", may or rules.startswith("%R~q:*"), (rules, prefix))
        raw.close()


@own
def a_strict_cluster_needs_a_hash_tag():
    with Dehydrators("--cluster-enabled", "emulated-strict") as de:
        push(de, "{q}:a", "1")
        for prefix in ("q:*", "{}*", "{q*", "*"):
            de.says(b"-CROSSSLOT The prefix needs a hash tag, as in {tag}:*\r\n", "REDE.FAIRCLAIM", prefix, 10)
        equal(claim(de, prefix="{q}:*"), ["{q}:a 1"])


@own
def replicas_refuse_it():
    with group(2) as (master, replica):
        master.call("REDE.PUSH", "q:a", 0, "p", "1")
        master.call("WAIT", 1, 0)
        equal(replica.call("REDE.FAIRCLAIM", "q:*", 10), replica.call("REDE.CLAIM", "q:a", 10))
        replica.follow(None)
        equal(replica.call("REDE.FAIRCLAIM", "q:*", 10), b"*1\r\n*4\r\n$3\r\nq:a\r\n$1\r\n1\r\n$1\r\np\r\n:1\r\n")


@own
def thousands_of_prefixes_cost_what_their_keys_cost():
    """A slice continues the indexes that have work, and does not look at all others again."""
    count = 3000
    with Dehydrators() as de:
        de.raw.calls([("REDE.PUSH", f"k{number}:q", 0, "x", "id") for number in range(count)])
        before = de.daemon.cpu_seconds()
        equal(set(de.raw.calls([("POLICY", "SET", f"k{number}:*", "FAIR") for number in range(count)])), {b"+OK\r\n"})
        made = de.daemon.cpu_seconds()
        equal(len(claim(de, prefix="k29*")), 1)
        took = de.daemon.cpu_seconds() - made
        assert took < 10 * (made - before), (made - before, took)  # it was 60 times as much


@own
def calls_wait_while_an_index_is_made():
    keys = 20_000
    with Dehydrators() as de:
        def fill():
            de.run("EVAL", "for i = 1, ARGV[1] do redis.call('REDE.PUSH', 'q:' .. i, 0, 'p', 'id') end", 0, keys)

        calls = (["REDE.FAIRCLAIM", "q:*", 10], ["REDE.FAIRINFO", "q:*"], ["REDE.FAIRCLAIM", "q:*", 10, "BLOCK", 0],
                 ["REDE.FAIRCLAIM", "q:*", 10, "COUNT", 3], ["REDE.FAIRINFO", "q:*"])
        raws = [de.daemon.raw() for _ in calls]
        fill()
        for raw, call in zip(raws, calls):
            raw.send(encode(*call))
        replies = [raw.reply() for raw in raws]
        equal([reply.count(b"id") for reply in (replies[0], replies[2], replies[3])], [1, 1, 3])
        for info in (replies[1], replies[4]):
            assert b"$4\r\nkeys\r\n:%d\r\n" % keys in info, info
        other = de.daemon.raw()
        for disturbance in (["FLUSHALL"], ["SWAPDB", 0, 1], ["DEBUG", "RELOAD"]):
            de.run("FLUSHALL")
            for raw, call in zip(raws, calls):  # other prefixes, whose indexes are not there
                other_prefix = {"FLUSHALL": "q*", "SWAPDB": "*", "DEBUG": "q:1*"}[disturbance[0]]
                if raw is raws[0]:
                    fill()
                raw.send(encode(call[0], other_prefix, *call[2:]))
            other.call(*disturbance)
            for number in range(10):  # one of the calls needs an element
                push(de, f"q:1{number}", "new")
            for raw in raws:
                assert raw.reply()[:1] in b"*%", disturbance
        equal(de.raw.call("DEBUG", "CHECK"), b"+OK\r\n")
        for raw in (*raws, other):
            raw.close()


def figures(de, prefix="q:*"):
    words = de.run("REDE.FAIRINFO", prefix)
    return dict(zip(words[::2], words[1::2]))


@own
def figures_are_counted_again_if_the_data_is_replaced_meanwhile():
    keys = 20_000
    with Dehydrators() as de:
        raw = de.daemon.raw()
        for disturbance, left in ((["DEBUG", "RELOAD"], keys), (["SWAPDB", 0, 1], 0), (["SWAPDB", 0, 1], keys),
                                  (["FLUSHALL"], 0)):
            if left == keys:
                de.run("FLUSHALL")
                de.run("EVAL", "for i = 1, ARGV[1] do redis.call('REDE.PUSH', 'q:' .. i, 0, 'p', 'id') end", 0, keys)
                if disturbance[0] == "SWAPDB":
                    de.run("SWAPDB", 0, 1)
            raw.send(encode("REDE.FAIRINFO", "q:*"))
            de.run(*disturbance)
            reply = raw.reply()
            counts = {0: b"$-1\r\n", keys: b":0\r\n"}  # before or after the change; and how long the oldest waits
            assert any(b"$4\r\nkeys\r\n:%d\r\n" % count in reply and reply.endswith(oldest)
                       for count, oldest in counts.items()), (disturbance, left, reply)
        raw.close()


@own
def a_pause_of_writes_does_not_delay_figures():
    with Dehydrators() as de:
        de.run("EVAL", "for i = 1, 20000 do redis.call('REDE.PUSH', 'q:' .. i, 5, 'p', 'id') end", 0)
        claimer, reader = wait(de, "REDE.FAIRCLAIM", "q:*", 1000, "BLOCK", 0), de.daemon.raw()
        de.run("CLIENT", "PAUSE", 1000, "WRITE")
        de.step(5)
        reader.send(encode("REDE.FAIRINFO", "q:*"))
        assert b"$4\r\nkeys\r\n:20000\r\n" in reader.reply()
        assert not claimer.has_more()
        de.run("CLIENT", "UNPAUSE")
        assert b"id" in claimer.reply()
        for raw in (claimer, reader):
            raw.close()


@own
def a_call_that_waits_gets_what_it_moved_itself():
    with Dehydrators() as de:
        de.run("POLICY", "SET", "q:*", "MAXDELIVERIES", 1, "TO", "q:dead")
        push(de, "q:a", "1")
        equal(claim(de, lease=1), ["q:a 1"])
        de.step(1)
        raw = de.daemon.raw()
        equal(raw.call("REDE.FAIRCLAIM", "q:*", 1, "BLOCK", 0), claimed(b"q:dead", b"1"))
        raw.close()


@own
def a_policy_that_allows_more_counts_at_once():
    with Dehydrators() as de:
        for name in ("q:*", "*", "q:1"):
            de.run("FLUSHALL")
            de.run("POLICY", "SET", name, "CLAIMED", 1)
            push(de, "q:1", "1", "2")
            equal(claim(de, "COUNT", 2), ["q:1 1"])
            with de.client.pipeline(transaction=False) as pipe:
                pipe.execute_command("POLICY", "DEL", name)
                pipe.execute_command("REDE.FAIRCLAIM", "q:*", 1000)
                equal(pipe.execute(), [1, [[b"q:1", b"2", b"p2", 1]]])
        equal(de.run("EVAL", """
            redis.call('POLICY', 'SET', 'q:*', 'CLAIMED', 1)
            for i = 1, 3 do redis.call('REDE.PUSH', 'q:2', 0, 'p', tostring(i)) end
            redis.call('REDE.FAIRCLAIM', 'q:*', 1000, 'COUNT', 9)
            redis.call('POLICY', 'DEL', 'q:*')
            return redis.call('REDE.FAIRCLAIM', 'q:*', 1000)""", 0), [[b"q:2", b"2", b"p", 1]])


@own
def a_call_without_block_is_answered_while_policies_are_set():
    """In each turn another client sets policies, and only a part of the keys can be checked."""
    keys, most, burst = 100_000, 400, 500
    with Dehydrators() as de:
        de.run("EVAL", "for i = 1, ARGV[1] do redis.call('REDE.PUSH', 'q:' .. i, 60000, 'p', 'id') end", 0, keys)
        for has_index in (False, True):
            if has_index:
                equal(claim(de), [])
            raw, setter = de.daemon.raw(), de.daemon.raw()
            policies = b"".join(encode("POLICY", "SET", "q:*", "CLAIMED", n + 1) for n in range(burst))
            setter.send(policies)
            raw.send(encode("REDE.FAIRCLAIM", "q:*", 1000))
            bursts = 0
            while bursts < most and not raw.has_more():
                bursts += 1
                setter.send(policies)
                for _ in range(burst):
                    setter.reply()
            assert bursts < most, has_index
            equal(raw.reply(), NOTHING)
            raw.close()
            setter.close()


@own
def many_keys_that_deliver_nothing_hide_no_other():
    keys = 2500
    for words in ((), ("BLOCK", 0)):
        with Dehydrators() as de:
            for name in ("1", "2"):
                de.run("EVAL", "for i = 1, ARGV[1] do redis.call('REDE.PUSH', 'q:' .. i, 0, 'p', ARGV[2]) end", 0, keys,
                       name)
            equal(len(claim(de, "COUNT", keys)), keys)
            push(de, "q:new", "1")
            de.run("POLICY", "SET", "q:*", "CLAIMED", 1)
            equal(claim(de, *words), ["q:new 1"])
            equal(claim(de), [])


@own
def many_dead_elements_of_a_key_are_moved_in_slices():
    with Dehydrators() as de:
        de.run("EVAL", "for i = 1, 5000 do redis.call('REDE.PUSH', 'q:a', 0, 'p', tostring(i)) end", 0)
        equal(len(de.run("REDE.CLAIM", "q:a", 1, "COUNT", 5000)), 5000)
        de.step(1)
        de.run("POLICY", "SET", "q:*", "MAXDELIVERIES", 1, "TO", "dead")
        push(de, "q:b", "1")
        equal(claim(de), ["q:b 1"])
        moved = de.run("REDE.LEN", "dead")
        assert moved <= 1000, moved
        equal(claim(de), [])
        equal(de.run("REDE.LEN", "dead"), 5000)


@own
def clients_of_overlapping_prefixes_are_served_in_order():
    with Dehydrators() as de:
        equal(claim(de, prefix="q:a*"), [])
        prefixes = ("q:*", "q:a*", "q:a*", "*", "q:*")
        others = [wait(de, "REDE.FAIRCLAIM", prefix, 1000, "BLOCK", 0) for prefix in prefixes]
        for n, other in enumerate(others):
            push(de, "q:a1", str(n))
            is_waiting(de)
            assert other.has_more(), n
            equal(other.reply(), claimed(b"q:a1", b"%d" % n))
            equal(is_waiting(de, *others[n + 1:]), [True] * (4 - n))
            other.close()


@own
def the_largest_count_takes_all():
    with Dehydrators() as de:
        push(de, "q:a", "1", "2")
        equal(claim(de, "COUNT", 2**63 - 1), ["q:a 1", "q:a 2"])


@own
def random_calls_are_fair():
    seed = random_seed()
    rng = random.Random(seed)
    with Dehydrators() as de:
        limits = {"q:1": 2, "q:2": 1}
        for key, most in limits.items():
            de.run("POLICY", "SET", key, "CLAIMED", most)
        waiting = {}  # key: rounds that it has waited with something claimable
        for serial in range(1500):
            key = f"q:{rng.randrange(6)}"
            what = rng.choice(("push", "push", "claim", "claim", "ack", "step", "nack", "pause", "resume", "del"))
            if what == "push":
                push(de, key, str(serial), ttl=rng.choice((0, 0, 1, 20)))
            elif what == "claim":
                due = {k.decode() for k in de.run("KEYS", "q:*")
                       if fair_due(de, k.decode(), limits)}
                got = claim(de, lease=rng.choice((1, 10, 100)))
                assert bool(got) == bool(due), (seed, serial, got, due)
                for one in got:
                    took = one.split()[0]
                    assert took in due, (seed, serial, got, due)
                    waiting = {k: waiting.get(k, 0) + 1 for k in due if k != took}
                assert all(rounds <= 6 for rounds in waiting.values()), (seed, serial, waiting)
            elif what in ("ack", "nack") and de.run("EXISTS", key):
                [*names] = [one[0] for one in de.run("REDE.RANGE", key, "-", "+")]
                if names:
                    name = rng.choice(names)
                    de.run(*(("REDE.XACK", key, name) if what == "ack" else ("REDE.NACK", key, 3, name)))
            elif what == "step":
                de.step(rng.choice((1, 1, 5, 30)))
            elif what == "pause":
                de.run("REDE.PAUSE", key, "UNTIL", int(de.run("CLOCK", "GET")) + 10)
            elif what == "resume":
                de.run("REDE.RESUME", key)
            elif what == "del" and rng.random() < 0.1:
                de.run("DEL", key)
            waiting = {k: n for k, n in waiting.items() if fair_due(de, k, limits)}
        equal(de.raw.call("DEBUG", "CHECK"), b"+OK\r\n")


def fair_due(de, key, limits):
    """May an element of the key be claimed?"""
    words = de.run("REDE.INFO", key)
    info = dict(zip(words[::2], words[1::2]))
    is_full = key in limits and info[b"claimed"] >= limits[key]
    return info[b"due"] > 0 and info[b"paused-until"] is None and not is_full


main()
