#!/usr/bin/python3 -B
"""EXPIRY WHY: who set a deadline, and what ended a key or member."""
import socket
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, Daemon, equal, main, plain, read_reply, stepped, wait_for

FIELDS = ["what", "at", "deadline", "before", "late-ms", "by", "policy", "option", "command", "script",
          "client-id", "client-name", "user", "memory", "to-db", "to-hash"]


def said(reply):
    return plain(read_reply(reply)[0], "utf-8")


def pairs(flat):
    return dict(zip(flat[::2], flat[1::2]))


class Scene:
    """A daemon whose clock is held at NOON, and connections."""

    def __init__(self, *options):
        self.daemon = Daemon(*options)

    def __enter__(self):
        self.daemon.__enter__()
        self.daemon.hold()
        self.raw = self.daemon.raw()
        return self

    def __exit__(self, *exception):
        self.raw.close()
        return self.daemon.__exit__(*exception)

    def run(self, *arguments):
        return said(self.raw.call(*arguments))

    def why(self, *arguments):
        answer = pairs(self.run("EXPIRY", "WHY", *arguments))
        for record in answer["records"]:
            equal(record[::2], FIELDS)
        answer["records"] = [pairs(record) for record in answer["records"]]
        return answer

    def records(self, *arguments):
        """(what, by, command) of each record, newest first"""
        return [(record["what"], record["by"], record["command"]) for record in self.why(*arguments)["records"]]


@stepped
def live_key_names_who_set_its_deadline():
    with Scene() as scene:
        scene.run("CLIENT", "SETNAME", "shop")
        scene.run("SET", "k", "v", "EX", "10")
        answer = scene.why("k")
        equal((answer["state"], answer["deadline"], answer["db"]), ("live", NOON + 10_000, 0))
        record = answer["records"][0]
        equal([record[name] for name in ("what", "at", "deadline", "by", "command", "script", "client-name", "user")],
              ["deadline-set", NOON, NOON + 10_000, "command", "set", 0, "shop", "default"])
        equal(record["client-id"], scene.run("CLIENT", "ID"))
        equal(len(answer["records"]), 1)


@stepped
def moved_deadline_names_the_one_before():
    with Scene() as scene:
        scene.run("SET", "k", "v", "EX", "100")
        scene.run("EXPIRE", "k", "50")
        scene.run("EXPIRE", "k", "20")
        equal([(record["command"], record["deadline"], record["before"]) for record in scene.why("k")["records"]],
              [("expire", NOON + 20_000, NOON + 50_000), ("set", NOON + 100_000, None)])


@stepped
def expired_key_says_deadline_and_delay():
    with Scene() as scene:
        scene.run("SET", "k", "v", "PX", "100")
        scene.daemon.step(250)
        answer = scene.why("k")
        ended, was_set = answer["records"]
        equal((answer["state"], answer["deadline"]), ("missing", None))
        equal((ended["what"], ended["by"], ended["at"], ended["deadline"], ended["late-ms"], ended["command"]),
              ("expired", "expiry", NOON + 250, NOON + 100, 150, None))
        equal((was_set["what"], was_set["command"]), ("deadline-set", "set"))


@stepped
def deleted_key_says_by_whom():
    with Scene() as scene:
        scene.run("SET", "k", "v")
        with scene.daemon.raw() as other:
            other.call("CLIENT", "SETNAME", "deploy")
            other.call("DEL", "k")
        record, = scene.why("k")["records"]
        equal((record["what"], record["command"], record["client-name"], record["deadline"]),
              ("deleted", "del", "deploy", None))


@stepped
def overwriting_a_value_ends_its_deadline():
    with Scene() as scene:
        scene.run("SET", "k", "v", "EX", "10")
        scene.run("SET", "k", "w")
        answer = scene.why("k")
        equal((answer["state"], answer["deadline"]), ("live", None))
        equal(scene.records("k"), [("overwritten", "command", "set"), ("deadline-set", "command", "set")])


@stepped
def next_life_of_a_key_has_no_deadline_before():
    with Scene() as scene:
        scene.run("SET", "k", "v", "EX", "10")
        scene.run("DEL", "k")
        scene.run("SET", "k", "v", "EX", "20")
        equal([(record["what"], record["before"]) for record in scene.why("k")["records"]],
              [("deadline-set", None), ("deleted", None), ("deadline-set", None)])


@stepped
def persist_rename_and_move_are_recorded():
    with Scene() as scene:
        scene.run("SET", "k", "v", "EX", "10")
        scene.run("PERSIST", "k")
        equal(scene.records("k")[0], ("deadline-removed", "command", "persist"))
        scene.run("EXPIRE", "k", "10")
        scene.run("RENAME", "k", "n")
        renamed = scene.why("k")["records"][0]
        equal((renamed["what"], renamed["to-hash"]), ("renamed", scene.why("n")["hash"]))
        equal(scene.records("n"), [("deadline-set", "command", "rename")])
        scene.run("MOVE", "n", "3")
        moved = scene.why("n")["records"][0]
        equal((moved["what"], moved["to-db"]), ("moved", 3))
        scene.run("SELECT", "3")
        equal(scene.records("n"), [("deadline-set", "command", "move")])


@stepped
def flush_is_one_record():
    with Scene() as scene:
        for i in range(1000, 0, -1):
            scene.run("SET", f"k{i}", "v", "EX", "10")
        scene.daemon.step(5)
        scene.run("FLUSHALL")
        for name in ("k1", "k999", "other"):
            equal(scene.records(name)[0], ("flushed", "command", "flushall"))
        scene.daemon.step(5)
        scene.run("SET", "k1", "v", "EX", "10")
        equal([(record["what"], record["before"]) for record in scene.why("k1")["records"]],
              [("deadline-set", None), ("flushed", None), ("deadline-set", None)])


@stepped
def full_copy_is_one_record_by_the_master():
    with Daemon(tcp=True) as master, Scene() as scene:
        scene.run("SET", "k", "v", "EX", "10")
        scene.daemon.step(5)
        scene.run("REPLICAOF", "127.0.0.1", str(master.port))
        assert wait_for(lambda: "master_link_status:up" in scene.run("INFO", "replication"))
        equal(scene.records("k"), [("replaced", "master", None), ("deadline-set", "command", "set")])


@stepped
def policy_is_named_with_its_option():
    with Scene() as scene:
        scene.run("POLICY", "SET", "s:*", "TTL", "1m", "MAXTTL", "2m")
        scene.run("SET", "s:1", "v")
        record = scene.why("s:1")["records"][0]
        equal([record[name] for name in ("what", "by", "policy", "option", "deadline")],
              ["deadline-set", "policy", "s:*", "TTL", NOON + 60_000])
        scene.run("EXPIRE", "s:1", "600")
        cut, asked = scene.why("s:1")["records"][:2]
        equal((cut["by"], cut["option"], cut["deadline"]), ("policy", "MAXTTL", NOON + 120_000))
        equal((asked["by"], asked["command"], asked["deadline"]), ("command", "expire", NOON + 600_000))


def author(record):
    """Who made it: a policy and its option, or a command."""
    return (record["policy"], record["option"]) if record["by"] == "policy" else record["command"]


@stepped
def new_policy_is_named_at_existing_keys_and_members():
    with Scene() as scene:
        scene.run("SET", "p:s", "v")
        scene.run("SADD", "p:set", "m")
        scene.run("HSET", "p:hash", "m", "v")
        scene.run("ZADD", "p:zset", "1", "m", "2", "n")
        scene.run("EXPIREMEMBER", "p:zset", "n", "5")
        scene.run("POLICY", "SET", "p:*", "TTL", "1m", "MEMBERTTL", "10s")
        assert wait_for(lambda: "policies_pending:0" in scene.run("INFO", "expiry"))
        equal(author(scene.why("p:s")["records"][0]), ("p:*", "TTL"))
        for key in ("p:set", "p:hash", "p:zset"):
            record, = scene.why(key, "MEMBER", "m")["records"]
            equal((record["what"], record["deadline"], author(record)),
                  ("deadline-set", NOON + 10_000, ("p:*", "MEMBERTTL")), key)
        equal(author(scene.why("p:zset", "MEMBER", "n")["records"][0]), "expiremember")


@stepped
def policy_is_named_at_members_to_which_it_gave_deadlines():
    with Scene() as scene:
        scene.run("POLICY", "SET", "p:*", "MEMBERTTL", "10s")
        scene.run("SADD", "other", "m")
        for call in (["SADD", "p:1", "m"], ["SADDEX", "p:2", "KEEPTTL", "MEMBERS", "1", "m"], ["HSET", "p:3", "m", "v"],
                     ["HSETEX", "p:4", "FIELDS", "1", "m", "v"], ["HINCRBY", "p:5", "m", "1"], ["ZADD", "p:6", "1", "m"],
                     ["ZINCRBY", "p:7", "1", "m"], ["GEOADD", "p:8", "1", "2", "m"], ["SMOVE", "other", "p:9", "m"]):
            key = call[2] if call[0] == "SMOVE" else call[1]
            scene.run(*call)
            record, = scene.why(key, "MEMBER", "m")["records"]
            equal((record["what"], record["deadline"], author(record)),
                  ("deadline-set", NOON + 10_000, ("p:*", "MEMBERTTL")), call)


@stepped
def command_is_named_at_members_to_which_it_gave_deadlines():
    with Scene() as scene:
        scene.run("POLICY", "SET", "p:*", "MEMBERTTL", "10s")
        scene.run("SADDEX", "p:s", "EX", "5", "MEMBERS", "1", "m")
        scene.run("HSETEX", "p:h", "EX", "10", "FIELDS", "1", "m", "v") # the instant that the policy would choose
        scene.run("ZADDEX", "p:z", "EX", "5", "1", "m")
        scene.run("SADDEX", "other", "EX", "5", "MEMBERS", "1", "m")
        scene.run("SMOVE", "other", "p:moved", "m")
        for key, command in (("p:s", "saddex"), ("p:h", "hsetex"), ("p:z", "zaddex"), ("p:moved", "smove")):
            equal([author(record) for record in scene.why(key, "MEMBER", "m")["records"]], [command], key)


@stepped
def policy_and_commands_take_turns_at_a_member():
    with Scene() as scene:
        scene.run("POLICY", "SET", "p:*", "MEMBERTTL", "10s")
        for call in (["HSET", "p:h", "m", "v"], ["HSET", "p:h", "m", "w"], ["HEXPIRE", "p:h", "5", "FIELDS", "1", "m"],
                     ["HSET", "p:h", "m", "x"], ["HPERSIST", "p:h", "FIELDS", "1", "m"]):
            scene.run(*call)
            scene.daemon.step(1)
        equal([(record["what"], record["at"] - NOON, author(record))
               for record in scene.why("p:h", "MEMBER", "m")["records"]],
              [("deadline-removed", 4, "hpersist"), ("deadline-set", 3, ("p:*", "MEMBERTTL")),
               ("deadline-set", 2, "hexpire"), ("deadline-set", 1, ("p:*", "MEMBERTTL"))])


@stepped
def element_that_died_names_the_policy():
    with Scene() as scene:
        scene.run("POLICY", "SET", "q:*", "MAXDELIVERIES", "1", "TO", "dead")
        scene.run("REDE.PUSH", "q:1", "0", "payload", "id")
        scene.run("REDE.CLAIM", "q:1", "10")
        scene.daemon.step(20)
        scene.run("REDE.CLAIM", "q:1", "10")
        ended = scene.why("q:1", "MEMBER", "id")["records"][0]
        equal((ended["what"], author(ended)), ("dead", ("q:*", "MAXDELIVERIES")))


@stepped
def script_and_transaction_are_named():
    with Scene() as scene:
        scene.run("EVAL", "return redis.call('SET', KEYS[1], 'v', 'EX', 10)", "1", "k")
        record = scene.why("k")["records"][0]
        equal((record["command"], record["script"]), ("set", 1))
        scene.run("MULTI")
        scene.run("DEL", "k")
        scene.run("EXEC")
        equal((scene.why("k")["records"][0]["command"], scene.why("k")["records"][0]["script"]), ("del", 0))


@stepped
def evicted_key_says_memory_then():
    with Scene("--maxmemory-policy", "allkeys-random") as scene:
        scene.run("SET", "k", "v" * 100_000)
        scene.run("CONFIG", "SET", "maxmemory", "1")
        scene.run("PING")
        scene.daemon.step(1)
        record = scene.why("k")["records"][0]
        equal((record["what"], record["by"], record["memory"] > 100_000), ("evicted", "eviction", True))


@stepped
def member_says_who_set_and_what_ended_it():
    with Scene() as scene:
        scene.run("HSET", "h", "f", "v", "g", "w")
        scene.run("HPEXPIRE", "h", "100", "FIELDS", "1", "f")
        answer = scene.why("h", "MEMBER", "f")
        equal((answer["state"], answer["deadline"]), ("live", NOON + 100))
        equal(scene.records("h", "MEMBER", "f"), [("deadline-set", "command", "hpexpire")])
        scene.run("HSET", "h", "f", "w")
        equal(scene.records("h", "MEMBER", "f")[0], ("deadline-removed", "command", "hset"))
        scene.run("HPEXPIRE", "h", "100", "FIELDS", "1", "f")
        scene.daemon.step(101)
        ended = scene.why("h", "MEMBER", "f")["records"][0]
        equal((ended["what"], ended["by"], ended["deadline"], ended["late-ms"]),
              ("expired", "expiry", NOON + 100, 1))
        scene.daemon.step(1)
        scene.run("DEL", "h")
        equal(scene.records("h", "MEMBER", "f")[0], ("deleted", "command", "del"))


@stepped
def members_removed_by_rank_are_deleted():
    with Scene() as scene:
        for command in (["ZPOPMIN", "z"], ["ZREMRANGEBYRANK", "z", "0", "0"], ["ZREMRANGEBYSCORE", "z", "1", "1"],
                        ["ZREMRANGEBYLEX", "z", "[a", "[a"], ["ZMPOP", "1", "z", "MIN"]):
            scene.run("ZADD", "z", "1", "a", "1", "b")
            scene.run("EXPIREMEMBER", "z", "a", "100")
            scene.daemon.step(1)
            scene.run(*command)
            scene.daemon.step(1)
            ended = scene.why("z", "MEMBER", "a")["records"][0]
            equal((ended["what"], ended["command"], ended["deadline"] is None),
                  ("deleted", command[0].lower(), False))


@stepped
def members_cut_by_a_policy_name_the_policy():
    with Scene() as scene:
        scene.run("ZADD", "z:1", "1", "a", "2", "b")
        scene.run("EXPIREMEMBER", "z:1", "a", "100")
        scene.run("POLICY", "SET", "z:*", "MAXLEN", "2")
        scene.daemon.step(1)
        scene.run("ZADD", "z:1", "3", "c")
        ended = scene.why("z:1", "MEMBER", "a")["records"][0]
        equal((ended["what"], ended["by"], ended["policy"], ended["option"]), ("deleted", "policy", "z:*", "MAXLEN"))


@stepped
def overwritten_collection_ends_its_members():
    with Scene() as scene:
        for command in (["SET", "h", "x"], ["SET", "h", "x", "EX", "5"], ["SET", "h", "x", "KEEPTTL"],
                        ["SUNIONSTORE", "h", "other"]):
            scene.run("DEL", "h")
            scene.run("SADD", "other", "m")
            scene.run("HSETEX", "h", "EX", "100", "FIELDS", "1", "f", "v")
            scene.daemon.step(1)
            scene.run(*command)
            answer = scene.why("h", "MEMBER", "f")
            equal((answer["state"], answer["records"][0]["what"], answer["records"][0]["command"]),
                  ("missing", "overwritten", command[0].lower()), command)
            scene.daemon.step(1)


@stepped
def deadline_kept_by_a_new_value_is_known():
    with Scene() as scene:
        scene.run("HSETEX", "h", "EX", "100", "FIELDS", "1", "f", "v")
        scene.run("EXPIRE", "h", "50")
        scene.run("SET", "h", "x", "KEEPTTL")
        answer = scene.why("h")
        equal((answer["deadline"], answer["records"][0]["what"], answer["records"][0]["deadline"]),
              (NOON + 50_000, "deadline-set", NOON + 50_000))


@stepped
def end_within_the_same_millisecond_is_the_newest():
    with Scene() as scene:
        scene.run("SET", "k", "v", "EX", "10")
        scene.run("FLUSHALL")
        equal([record[0] for record in scene.records("k")], ["flushed", "deadline-set"])
        scene.daemon.step(1)
        scene.run("HSETEX", "h", "EX", "100", "FIELDS", "1", "f", "v")
        scene.run("DEL", "h")
        equal([record[0] for record in scene.records("h", "MEMBER", "f")[:2]], ["deleted", "deadline-set"])


@stepped
def member_set_again_after_its_key_ended_had_no_deadline():
    with Scene() as scene:
        scene.run("HSETEX", "h", "EX", "100", "FIELDS", "1", "f", "v")
        scene.daemon.step(1)
        scene.run("DEL", "h")
        scene.daemon.step(1)
        scene.run("HSETEX", "h", "EX", "50", "FIELDS", "1", "f", "v")
        equal(scene.why("h", "MEMBER", "f")["records"][0]["before"], None)
        scene.daemon.step(1)
        scene.run("HPEXPIRE", "h", "1000", "FIELDS", "1", "f")
        equal(scene.why("h", "MEMBER", "f")["records"][0]["before"], NOON + 50_002)


def authors_of(scene, keys):
    """The clients that set the deadlines of these keys; another key may have taken the place of a record."""
    records = [scene.why(key)["records"][:1] for key in keys]
    return {record["client-name"] for found in records for record in found}


@stepped
def client_that_names_itself_again_is_the_same_author():
    with Scene("--why-memory", "64kb") as scene:
        with scene.daemon.raw() as other:
            other.call("CLIENT", "SETNAME", "deploy")
            for key in "abc":
                other.call("SET", key, "v", "EX", "1000")
        for _ in range(60):
            scene.run("CLIENT", "SETNAME", "web")
            scene.run("SET", "s", "v", "EX", "10")
        equal(authors_of(scene, "abc"), {"deploy"})


@stepped
def last_member_ends_its_key():
    with Scene() as scene:
        scene.run("SADD", "s", "a")
        scene.run("SPOP", "s")
        equal(scene.records("s"), [("emptied", "command", "spop")])
        scene.run("SADDEX", "s", "1", "a")
        scene.daemon.step(2000)
        equal(scene.records("s")[0], ("emptied", "expiry", None))


@stepped
def element_that_was_taken_says_by_whom():
    with Scene() as scene:
        scene.run("REDE.PUSH", "d", "100", "payload", "id")
        equal(scene.why("d", "MEMBER", "id")["deadline"], NOON + 100)
        scene.daemon.step(100)
        scene.run("REDE.POLL", "d")
        equal(scene.records("d", "MEMBER", "id")[0], ("taken", "command", "rede.poll"))
        equal(scene.records("d")[0], ("emptied", "command", "rede.poll"))


@stepped
def holder_of_a_lease_says_who_took_it_and_what_ended_it():
    with Scene() as scene:
        token = scene.run("LEASE.TAKE", "lock", "ann", "1000")[0]
        answer = scene.why("lock", "MEMBER", "ann")
        equal((answer["state"], answer["deadline"]), ("live", NOON + 1000))
        scene.daemon.step(1)
        equal(scene.run("LEASE.EXTEND", "lock", token, "5000"), NOON + 5001)
        equal([(record["what"], record["command"], record["before"]) for record in
               scene.why("lock", "MEMBER", "ann")["records"]],
              [("deadline-set", "lease.extend", NOON + 1000), ("deadline-set", "lease.take", None)])
        scene.daemon.step(1)
        equal(scene.run("LEASE.DROP", "lock", token), 1)
        answer = scene.why("lock", "MEMBER", "ann")
        equal((answer["state"], [(record["what"], record["command"]) for record in answer["records"][:2]]),
              ("missing", [("deleted", "lease.drop"), ("emptied", "lease.drop")]))
        scene.daemon.step(1)
        for owner, ttl in (("bob", "100"), ("eve", "900")):
            scene.run("LEASE.TAKE", "two", owner, ttl, "PERMITS", "2")
        scene.daemon.step(101)
        ended = scene.why("two", "MEMBER", "bob")["records"][0]
        equal((ended["what"], ended["by"], ended["late-ms"]), ("expired", "expiry", 1))
        equal(scene.why("two", "MEMBER", "eve")["state"], "live")


@stepped
def expired_member_that_may_not_be_removed_is_overdue():
    with Scene() as scene:
        scene.run("HSETEX", "h", "PX", "100", "FIELDS", "1", "f", "v")
        scene.run("HSET", "h", "g", "v")
        scene.run("SADDEX", "s", "1", "a")
        scene.run("CLIENT", "PAUSE", "100000", "WRITE")
        scene.daemon.step(1200)
        for key, member, state in (("h", "f", "overdue"), ("h", "g", "live"), ("h", "x", "missing"),
                                   ("s", "a", "overdue"), ("s", "b", "missing")):
            equal(scene.why(key, "MEMBER", member)["state"], state, f"{key} {member}")
        equal([scene.why(key)["state"] for key in "hs"], ["live", "overdue"])
        scene.run("CLIENT", "UNPAUSE")
        equal(scene.why("h", "MEMBER", "f")["state"], "missing")


@stepped
def unknown_name_says_since_when_it_would_be_known():
    with Scene() as scene:
        answer = scene.why("never")
        equal((answer["state"], answer["records"], answer["shared"]), ("missing", [], 0))
        equal(answer["since"] <= NOON, True)


@stepped
def option_changes_at_run_time():
    with Scene() as scene:
        scene.run("SET", "k", "v", "EX", "10")
        scene.run("CONFIG", "SET", "why-memory", "4mb")
        equal(scene.records("k"), [])
        scene.run("MULTI")
        scene.run("EXPIRE", "k", "10")
        scene.run("CONFIG", "SET", "why-memory", "0")
        scene.run("EXPIRE", "k", "20")
        scene.run("EXEC")
        equal(scene.run("EXPIRY", "WHY", "k"), "ERR nothing is recorded: why-memory is 0, or was refused at the start")
        scene.run("CONFIG", "SET", "why-memory", "64kb")
        scene.run("EXPIRE", "k", "30")
        equal(scene.records("k"), [("deadline-set", "command", "expire")])


@stepped
def refused_change_of_options_keeps_the_records():
    with Scene() as scene, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        scene.run("SET", "k", "v", "EX", "10")
        refused = scene.run("CONFIG", "SET", "why-memory", "3mb", "port", str(taken.getsockname()[1]))
        equal(refused[:3], "ERR")
        equal(scene.records("k"), [("deadline-set", "command", "set")])


@stepped
def bad_arguments_are_refused():
    wrong = "ERR expected MEMBER and a member after the key"
    with Scene() as scene:
        equal(scene.run("EXPIRY", "WHY", "k", "MEMBER"), wrong)
        equal(scene.run("EXPIRY", "WHY", "k", "FIELD", "f"), wrong)
        equal(scene.run("EXPIRY", "WHY", "k", "MEMBER", "f", "g"), wrong)
        equal(scene.run("EXPIRY", "WHY").startswith("ERR"), True)


@stepped
def user_sees_only_keys_that_it_may_read():
    with Scene() as scene:
        scene.run("SET", "a:1", "v", "EX", "10")
        scene.run("SET", "b:1", "v", "EX", "10")
        scene.run("ACL", "SETUSER", "ann", "on", "nopass", "%R~a:*", "+@all")
        with scene.daemon.raw() as other:
            other.call("AUTH", "ann", "x")
            equal(other.call("EXPIRY", "WHY", "b:1")[:7], b"-NOPERM")
            equal(other.call("EXPIRY", "WHY", "a:1")[:1], b"*")
        scene.run("ACL", "SETUSER", "bob", "on", "nopass", "%W~a:*", "+@all")
        with scene.daemon.raw() as other:
            other.call("AUTH", "bob", "x")
            equal(other.call("EXPIRY", "WHY", "a:1")[:7], b"-NOPERM")


@stepped
def names_that_change_make_another_author():
    with Scene() as scene:
        scene.run("ACL", "SETUSER", "ann", "on", "nopass", "~*", "+@all")
        scene.run("SET", "k", "v", "EX", "10")
        scene.run("CLIENT", "SETNAME", "web")
        scene.run("SET", "k", "v", "EX", "20")
        scene.run("AUTH", "ann", "x")
        scene.run("SET", "k", "v", "EX", "30")
        equal([(record["client-name"], record["user"]) for record in scene.why("k")["records"]],
              [("web", "ann"), ("web", "default"), ("", "default")])


main(120)
