#!/usr/bin/python3 -B
"""RESP3: programs of this suite whose connections speak it, and where it differs from RESP2 while somebody waits.

PROGRAMS test what Redis does not have, so nothing else runs them in both protocols: test_compare.py and tests/diff do so
for the commands of Redis. RESP=3 (lib/server.py) makes their connections speak RESP3 and writes each reply as RESP2
would, so a reply with other contents than RESP2's fails the test that reads it.
"""
import os
import re
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import REPLY_SECONDS, ROOT, Daemon, Raw, die_with_parent, encode, equal, main, oracle, own, test, wait_for

PROGRAMS = """
    commands/test_blocking commands/test_order commands/test_served commands/test_subkeys
    commands/test_xread_limits expiry/test_expiry_log expiry/test_instants expiry/test_members
    expiry/test_policy_streams freshness/test_fresh leases/test_lease_recovery leases/test_lease_waiting
    leases/test_leases queues/test_cron_elements queues/test_dehydrator_claimed queues/test_dehydrator_claims
    queues/test_dehydrator_events queues/test_dehydrator_pause queues/test_dehydrators queues/test_waiting
""".split()


def passes_in_resp3(program):
    def run():
        done = subprocess.run(
            ["/usr/bin/python3", "-B", os.path.join(ROOT, "tests/e2e", program + ".py")], capture_output=True, text=True,
            env={**os.environ, "RESP": "3", "PROGRAMS": "10"}, preexec_fn=die_with_parent, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-1000:]
    run.__name__ = program.replace("/test_", "_") + "_passes_in_resp3"
    return run


for one in PROGRAMS:
    own(passes_in_resp3(one))


@own
def the_switch_speaks_resp3_and_writes_resp2():
    source = ("from daemon import *\nwith Daemon() as d, d.raw() as r:\n"
              " print(r.call('HSET', 'h', 'f', 1), r.call('HGETALL', 'h'), r.call('GET', 'x') == b'*-1\\r\\n',"
              " b'resp=3' in r.call('CLIENT', 'INFO'))")
    done = subprocess.run(["/usr/bin/python3", "-B", "-c", source], capture_output=True, text=True, check=True,
                          env={**os.environ, "RESP": "3", "PYTHONPATH": os.path.join(ROOT, "tests/lib")})
    equal(done.stdout, r"b':1\r\n' b'*2\r\n$1\r\nf\r\n$1\r\n1\r\n' True True" + "\n")


# --- beside redis-server -----------------------------------------------------------------------------------------

def on_both(run):
    """What the function returns is equal on both servers."""
    found = []
    for binary in (oracle(), None):
        with Daemon(**({"binary": binary} if binary else {})) as daemon:
            found.append(run(daemon))
    equal(found[1], found[0])
    return found[1]


def speaker(daemon, *words):
    raw = Raw(daemon.path)
    raw.says_hello = False
    raw.send(encode("HELLO", 3, *words))
    raw.socket.settimeout(REPLY_SECONDS)
    return raw, re.sub(rb"\$2\r\nid\r\n:\d+", b"id", raw.reply()).split(b"proto")[1]


def waited(daemon, *words):
    """The bytes that a blocked reader gets when an entry comes."""
    with daemon.raw() as by:
        by.call("DEL", "s")
        by.call("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
        reader, _ = speaker(daemon)
        reader.send(encode(*words))
        assert wait_for(lambda: b"blocked_clients:1\r\n" in by.call("INFO", "clients"))
        by.call("XADD", "s", "1-1", "f", "v")
        return reader.reply()


@test
def a_reader_that_waited_gets_a_map():
    for words in (("XREAD", "BLOCK", 0, "STREAMS", "none", "s", "$", "$"),
                  ("XREADGROUP", "GROUP", "g", "c", "BLOCK", 0, "STREAMS", "s", ">")):
        reply = on_both(lambda daemon, words=words: waited(daemon, *words))
        equal(reply, b"%1\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n")


@test
def pushes_stand_between_replies():
    def run(daemon):
        with daemon.raw() as by:
            reader, _ = speaker(daemon)
            reader.calls([("SUBSCRIBE", "c"), ("CLIENT", "TRACKING", "ON"), ("GET", "k")])
            reader.send(encode("PING") + encode("BLPOP", "l", 0) + encode("PING", "after"))
            assert wait_for(lambda: b"blocked_clients:1\r\n" in by.call("INFO", "clients"))
            by.calls([("PUBLISH", "c", "m"), ("SET", "k", "v"), ("RPUSH", "l", "a")])
            return reader.replies(5)
    found = on_both(run)
    equal([found[0], found[-1]], [b"+PONG\r\n", b"$5\r\nafter\r\n"])
    equal(sorted(reply[:1] for reply in found[1:4]), [b"*", b">", b">"])


@test
def hello_authenticates_and_names_at_once():
    def run(daemon):
        replies = []
        with daemon.raw() as by:
            by.call("ACL", "SETUSER", "ann", "on", ">secret", "+@all", "~*")
            by.call("CONFIG", "SET", "requirepass", "other")
            for words in (("AUTH", "ann", "secret", "SETNAME", "one"), ("SETNAME", "two", "AUTH", "ann", "secret"),
                          ("SETNAME", "three"), ("AUTH", "ann", "wrong", "SETNAME", "four")):
                raw = Raw(daemon.path)
                raw.says_hello = False
                raw.send(encode("HELLO", 3, *words) + encode("CLIENT", "GETNAME") + encode("ACL", "WHOAMI"))
                hello, *rest = raw.replies(3)
                replies.append((hello[:1], b"proto\r\n:3\r\n" in hello, hello if hello[:1] == b"-" else b"", rest))
        return replies
    found = on_both(run)
    equal([(kind, is_resp3, rest) for kind, is_resp3, _, rest in found[:2]],
          [(b"%", True, [b"$3\r\none\r\n", b"$3\r\nann\r\n"]), (b"%", True, [b"$3\r\ntwo\r\n", b"$3\r\nann\r\n"])])


@test
def maintenance_notifications_are_an_unknown_subcommand():
    """Clients of 2026 ask for them when they connect, and go on without. Redis 8.0.6 and Valkey 9.1.2 reply the same."""
    def run(daemon):
        raw, _ = speaker(daemon)
        return [raw.call("CLIENT", "MAINT_NOTIFICATIONS", *words)
                for words in (("ON", "moving-endpoint-type", "internal-ip"), ("OFF",))]
    equal(on_both(run), [b"-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.\r\n"] * 2)


main()
