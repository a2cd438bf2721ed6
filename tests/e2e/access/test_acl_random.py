#!/usr/bin/python3 -B
"""Random users and random calls: ACL SETUSER, ACL DRYRUN and the refused calls themselves, in
lock-step with redis-server 7.0.15. The calls are those of tests/diff."""
import os
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, ROOT, beside_redis, equal, main, oracle, own, random_seed

sys.path.insert(0, os.path.join(ROOT, "tests", "diff"))

import table  # noqa: E402
from generate import ALL_KEYS, CHANNELS, NOON, Generator  # noqa: E402
from lockstep import has_loose_count  # noqa: E402

USERS = [b"anna", b"bert", b"default2"]
CATEGORIES = ("keyspace read write set sortedset list hash string bitmap hyperloglog geo pubsub admin fast slow "
              "blocking dangerous connection transaction scripting all").split()
PATTERNS = [b"*", b"?1", b"[a-l]*", b"s*", b"*2", b"nothing", b"l1", b"", b"[^s]*", b"h\\1"]
CHANNEL_RULES = [*CHANNELS, b"c*", b"*", b"c?", b"nothing", b"*1"]
OTHER_ARITY = ("TTL", "PTTL", "PERSIST")  # doc/differs.md: they also take a member
STEPS = int(os.environ.get("STEPS", "1500"))


class Rules:
    def __init__(self, rng, names):
        self.rng, self.names = rng, names

    def selector_word(self):
        rng, chance = self.rng, self.rng.random()
        sign = rng.choice((b"+", b"+", b"-"))
        if chance < 0.3:
            return sign + b"@" + rng.choice(CATEGORIES).encode()
        if chance < 0.5:
            return sign + rng.choice(self.names)
        if chance < 0.55:
            return b"+" + rng.choice(self.names).split(b"|")[0] + b"|" + rng.choice((b"0", b"a", b"get", b"s1"))
        if chance < 0.6:  # rules about one command
            return rng.choice((b"+get|a", b"+get|s1", b"+get|0", b"+get", b"-get", b"+config|get", b"-config",
                               b"+config"))
        if chance < 0.85:
            pattern = rng.choice(PATTERNS)
            marks = (b"~", b"%R~") if pattern == b"*" else (b"~", b"~", b"%R~", b"%W~", b"%RW~", b"%w~")
            return rng.choice(marks) + pattern  # doc/differs.md: %RW~* is shown otherwise
        if chance < 0.95:
            return b"&" + rng.choice(CHANNEL_RULES)
        return rng.choice((b"allkeys", b"resetkeys", b"allchannels", b"resetchannels", b"allcommands",
                           b"nocommands", b"%X~a", b"+nosuch", b"-@nosuch", b"&a b", b"+get|"))

    def words(self):
        rng, found = self.rng, []
        if rng.random() < 0.5:
            found.append(b"reset")
        for _ in range(rng.choice((1, 2, 4, 6, 40))):
            chance = rng.random()
            if chance < 0.1:
                inner = [self.selector_word() for _ in range(rng.choice((0, 1, 3, 4)))]
                found.extend((b"(" + b" ".join(inner) + b")").split(b" "))
            elif chance < 0.2:
                found.append(rng.choice((b"on", b"off", b"nopass", b">p", b"<p", b"resetpass",
                                         b"clearselectors", b"#x", b"skip-sanitize-payload")))
            else:
                found.append(self.selector_word())
        return [word for word in found if word != b""]


def both(sides, *arguments):
    ours, theirs = (side.call(*arguments) for side in sides)
    equal(ours, theirs, repr(arguments))
    return ours


def shared_names(admins):
    """Commands and subcommands that both servers have."""
    def names_of(raw):
        raw.call("HELLO", 3)
        names = raw.call("COMMAND", "LIST").split(b"\r\n")[2::2]
        raw.call("HELLO", 2)
        return set(names)
    return sorted(names_of(admins[0]) & names_of(admins[1]))


def parts_of(reply):
    """Flags, passwords, keys, channels of a GETUSER: all but the texts of commands, which differ on
    purpose."""
    lines = reply.split(b"\r\n")
    return [line for before, line in zip([b""] * 2 + lines, lines)
            if before != b"commands" and not line.startswith(b"$")]


def try_calls(sides, admins, generator, rng, user):
    for _ in range(40):
        row = rng.choice(generator.rows)
        call = generator.command(row)[0]
        if any(b"\0" in word for word in call):
            continue  # Redis cuts the name in DRYRUN's reply there
        if call[0].upper() in (b"ZRANK", b"ZREVRANK") and len(call) == 4:
            continue  # doc/differs.md: the fourth word may be WITHSCORE of Redis 7.2
        if has_loose_count([word.upper() for word in call]):
            continue  # Redis finds the keys of "1x" as those of "1"; the call itself is an error
        if any(len(word) > 10 and word.lstrip(b"-").isdigit() for word in call):
            continue  # Redis cuts a number of keys to 32 bits to find them; the call itself is an error
        if call[0].upper() == b"PFMERGE" and len(call) == 2:
            continue  # doc/differs.md: Redis lets anybody create the key
        reply = both(admins, "ACL", "DRYRUN", user, *call)
        if reply.startswith((b"+OK", b"-")):
            continue
        refused = both(sides, *call)
        assert refused.startswith((b"-NOPERM", b"-EXECABORT")), (call, reply, refused)


def run(seed):
    rng = random.Random(seed)
    generator = Generator(table.rows(), seed)
    generator.now, generator.deadlines, generator.same_score = NOON, [], False
    generator.focus = list(generator.groups)[:2], list(generator.groups)[2:4]
    with Daemon() as daemon, Daemon(binary=oracle()) as redis:
        admins = [daemon.raw(), redis.raw()]
        names = shared_names(admins)
        generator.rows = [row for row in generator.rows
                          if row.name.lower().encode() in names and row.name not in OTHER_ARITY]
        rules = Rules(rng, names)
        for _ in range(max(STEPS // 40, 1)):
            user = rng.choice(USERS)
            # A call of rules is all or nothing on both.
            both(admins, "ACL", "SETUSER", user, *rules.words())
            both(admins, "ACL", "SETUSER", user, "on", "nopass")
            ours, theirs = (admin.call("ACL", "GETUSER", user) for admin in admins)
            equal(parts_of(ours), parts_of(theirs), user)
            sides = [daemon.raw(), redis.raw()]
            both(sides, "AUTH", user, "x")
            try_calls(sides, admins, generator, rng, user)
            for side in sides:
                side.close()
        for admin in admins:
            admin.close()


SHORT = b"?1"  # the keys that the user below may use
OTHERS = [key for key in ALL_KEYS if len(key) != 2 or key[1:] != b"1"]


OF_THE_CONNECTION = {b"MULTI", b"QUIT", b"RESET", b"AUTH", b"HELLO", b"SUBSCRIBE", b"PSUBSCRIBE",
                     b"SSUBSCRIBE", b"UNSUBSCRIBE", b"PUNSUBSCRIBE", b"SUNSUBSCRIBE", b"SELECT", b"CLIENT",
                     b"WATCH", b"DEBUG"}


def values(admin):
    return admin.calls([(name, key) for key in OTHERS for name in ("DUMP", "PTTL")])


def change_own_keys_only(seed):
    rng = random.Random(seed)
    generator = Generator(table.rows(), seed)
    generator.now, generator.deadlines, generator.same_score = NOON, [], False
    generator.focus = list(generator.groups)[:2], list(generator.groups)[2:4]
    changed = 0
    with Daemon() as daemon, daemon.raw() as admin, daemon.raw() as free, daemon.raw() as user:
        daemon.hold(NOON)
        admin.call("ACL", "SETUSER", "anna", "on", "nopass", "+@all", "-@dangerous", "-@blocking",
                   b"~" + SHORT, "&*")
        equal(user.call("AUTH", "anna", "x"), b"+OK\r\n")
        admin.call("ACL", "SETUSER", "bert", "on", "nopass", "+@all", "-@dangerous", "-@blocking",
                   "~*", "&*")
        equal(free.call("AUTH", "bert", "x"), b"+OK\r\n")
        several = [row for row in generator.rows if str(row.grammar).count("key") > 1]
        for _ in range(STEPS):
            call = generator.command(rng.choice(rng.choice((several, generator.rows))))[0]
            if call[0].upper() in OF_THE_CONNECTION:
                continue
            if rng.random() < 0.5:
                free.call(*call)
                continue
            call = call[:rng.choice((len(call), rng.randint(1, len(call))))]
            before = values(admin)
            reply = user.call(*call)
            equal(values(admin), before, (call, reply))
            changed += not reply.startswith(b"-")
    assert changed > STEPS // 20, changed


@own
def a_user_changes_no_key_outside_its_patterns():
    change_own_keys_only(random_seed())


@beside_redis
def random_users_have_the_same_rights():
    run(random_seed())


main()
