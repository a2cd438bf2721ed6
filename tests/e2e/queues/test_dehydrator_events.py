#!/usr/bin/python3 -B
"""Dehydrators as keys: transactions, WATCH, key events, COMMAND, requests in pieces."""
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import encode, equal, main, own
from dehydrators import Dehydrators, events_of


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
def a_transaction_sees_a_dehydrator_at_one_instant():
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

@own
def events_name_the_change_of_a_dehydrator():
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
def the_del_event_follows_the_event_that_emptied_the_key():
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
def each_new_event_is_sent_once_for_a_command():
    with Dehydrators("--notify-keyspace-events", "Ed") as de:
        equal(events_of(de, ("REDE.MPUSH", "d", 0, "p", "a", 0, "p", "b")), [["rede.push", "d"]])
        equal(events_of(de, ("REDE.CLAIM", "d", 10), ("REDE.CLAIM", "d", 10)), [["rede.claim", "d"]])
        equal(events_of(de, ("REDE.NACK", "d", 0, "a", "b"), ("REDE.NACK", "d", 0, "a", "b")),
              [["rede.nack", "d"]])
        equal(events_of(de, ("REDE.RESCHEDULE", "d", 9, "a", "b", "none")),
              [["rede.reschedule", "d"]])


@own
def event_is_repeated_when_a_command_returns_to_a_key():
    with Dehydrators("--notify-keyspace-events", "Ed") as de:
        de.run("REDE.MPUSH", "t:a", 0, "p", "1", 0, "p", "2")
        de.run("REDE.MPUSH", "t:b", 0, "p", "1", 0, "p", "2")
        equal(events_of(de, ("REDE.FAIRCLAIM", "t:*", 10, "COUNT", 4)),
              2 * [["rede.claim", "t:a"], ["rede.claim", "t:b"]])
        de.run("POLICY", "SET", "t:*", "MAXDELIVERIES", 1, "TO", "dead")
        de.step(11)
        equal(events_of(de, ("REDE.CLAIM", "t:a", 10, "COUNT", 2)), 2 * [["rede.push", "dead"], ["rede.dead", "t:a"]])


@own
def a_due_event_comes_at_the_deadline():
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
        equal(listener.reply(), end, "sent once")
        de.run("REDE.CLAIM", "d", 5, "COUNT", 1)
        de.step(5)
        equal(listener.reply(), due, "a lease that has ended")
        de.step(5)
        equal(listener.reply(), due)


main()
