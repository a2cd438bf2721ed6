#!/usr/bin/python3 -B
"""COMMAND INFO and GETKEYSANDFLAGS, equal to redis-server 7.0.15's; COMMAND DOCS as clients read it; HELP; and
redis-cli's hints for every command."""
import os
import random
import re
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from redis_cli import Terminal
from daemon import (BINARY, Daemon, beside_redis, encode, equal, main, oracle, own, plain,
                    random_seed, read_reply)


def ask(daemon, *arguments):
    with daemon.raw() as raw:
        raw.call("HELLO", "3")
        return plain(read_reply(raw.call(*arguments))[0], "latin-1")


def rows_of(daemon):
    """{name: row}, subcommands too."""
    found = {}
    for row in ask(daemon, "COMMAND"):
        found[row[0]] = row
        found.update((child[0], child) for child in row[9])
    return found


class Both:
    """The daemon, Redis, and their rows."""

    def __enter__(self):
        self.daemon, self.reference = Daemon(binary=BINARY), Daemon(binary=oracle())
        self.daemon.__enter__()
        self.reference.__enter__()
        self.ours, self.theirs = rows_of(self.daemon), rows_of(self.reference)
        self.shared = sorted(self.ours.keys() & self.theirs.keys())
        assert len(self.shared) > 150, self.shared
        return self

    def __exit__(self, *exception):
        self.daemon.__exit__(*exception)
        self.reference.__exit__(*exception)


# --- rows --------------------------------------------------------------------------------------

# A second argument of TTL is a member, as in KeyDB; ZRANK has WITHSCORE.
LONGER = ("ttl", "pttl", "persist", "zrank", "zrevrank")

FIELDS = ("name", "arity", "flags", "first key", "last key", "step", "ACL categories", "tips")


@beside_redis
def rows_are_equal_field_by_field():
    with Both() as both:
        found = []
        for name in both.shared:
            ours, theirs = both.ours[name], both.theirs[name]
            for index, field in enumerate(FIELDS):
                got, wanted = ours[index], theirs[index]
                if field == "arity" and name in LONGER:
                    continue
                if field in ("flags", "ACL categories"):
                    got, wanted = sorted(got), sorted(wanted)
                if got != wanted:
                    found.append(f"{name}: {field}: redis {wanted}, here {got}")
        assert not found, "\n".join(found)


@beside_redis
def key_specs_are_equal():
    with Both() as both:
        found = []
        for name in both.shared:
            got, wanted = both.ours[name][8], both.theirs[name][8]
            for spec in wanted:
                spec.pop("notes", None)  # texts, which differ
            if got != wanted:
                found.append(f"{name}:\n    redis {wanted}\n    here  {got}")
        assert not found, "\n".join(found)


WORDS = ("a", "b", "1", "2", "3", "0", "-1", "x1", "GET", "SET", "u8", "INCRBY", "OVERFLOW", "FAIL",
         "STORE", "STOREDIST", "BY", "LIMIT", "DB", "REPLACE", "KEEPTTL", "WEIGHTS", "m", "count",
         "store", "get", "LEFT", "MIN", "")


def has_other_keys(name, tail):
    """doc/differs.md: here the keys are those that the command uses."""
    tail = [word.upper() for word in tail]
    if name in ("georadius", "georadiusbymember"):
        return sum(word in ("STORE", "STOREDIST") for word in tail) > 1
    if name == "pfmerge":
        return len(tail) == 1
    return name == "sort" and any(one == "STORE" and two in ("GET", "BY", "LIMIT", "STORE")
                                  for one, two in zip(tail, tail[1:]))


@beside_redis
def keys_and_flags_of_any_call_are_equal():
    rng = random.Random(random_seed())
    with Both() as both, both.daemon.raw() as ours, both.reference.raw() as theirs:
        for name in both.shared:
            if name in LONGER:
                continue
            words = name.split("|")
            least = abs(both.ours[name][1]) - len(words)
            for _ in range(30):
                tail = [rng.choice(WORDS) for _ in range(max(0, least + rng.randrange(-1, 7)))]
                if has_other_keys(name, tail):
                    continue
                for about in ("GETKEYS", "GETKEYSANDFLAGS"):
                    call = ["COMMAND", about, *words, *tail]
                    equal(ours.call(*call), theirs.call(*call), call)


@beside_redis
def replies_are_shaped_alike_in_resp2():
    with Both() as both, both.daemon.raw() as ours, both.reference.raw() as theirs:
        for name in ("set", "zunionstore", "georadius", "config|set", "sinterstore", "keys", "ping"):
            call = ("COMMAND", "INFO", name)
            got, wanted = (re.sub(rb"\*8\r\n\$5\r\nnotes\r\n\$\d+\r\n[^\r]*\r\n", b"*6\r\n", reply)
                           for reply in (ours.call(*call), theirs.call(*call)))
            equal(got, wanted, name)


@beside_redis
def errors_are_equal():
    with Both() as both, both.daemon.raw() as ours, both.reference.raw() as theirs:
        for line in ("GETKEYS", "GETKEYS PING", "GETKEYS PING x", "GETKEYS NOSUCH x", "GETKEYS GET a b",
                     "GETKEYS CONFIG NOSUCH", "GETKEYSANDFLAGS SSUBSCRIBE a", "INFO nosuch",
                     "INFO config|nosuch", "INFO get|x", "DOCS nosuch", "LIST x", "LIST FILTERBY",
                     "LIST FILTERBY NOSUCH x", "LIST FILTERBY MODULE x", "COUNT x", "NOSUCH",
                     "LIST FILTERBY ACLCAT nosuch", "LIST FILTERBY PATTERN nosuch*"):
            call = ["COMMAND", *line.split()]
            equal(ours.call(*call), theirs.call(*call), line)


# --- documentation -----------------------------------------------------------------------------

TYPES = {"string", "integer", "double", "key", "pattern", "unix-time", "pure-token", "oneof",
         "block"}
FLAGS = {"optional", "multiple", "multiple_token"}


def check_arguments(name, arguments, specs):
    assert arguments, name
    for argument in arguments:
        what = f"{name}: {argument}"
        kind, inner = argument["type"], argument.get("arguments")
        assert kind in TYPES and argument["name"] == argument["name"].lower(), what
        assert re.fullmatch(r"[a-z0-9_:/-]+", argument["name"]), what
        assert set(argument.get("flags", [])) <= FLAGS, what
        assert (inner is not None) == (kind in ("oneof", "block")), what
        assert kind != "pure-token" or argument["token"] == argument["token"].upper(), what
        assert "key_spec_index" not in argument or argument["key_spec_index"] < specs, what
        assert kind != "key" or not specs or "key_spec_index" in argument, what
        if inner is not None:
            check_arguments(name, inner, specs)


@own
def docs_of_every_command_are_whole():
    with Daemon() as daemon:
        rows, docs = rows_of(daemon), ask(daemon, "COMMAND", "DOCS")
        for about in list(docs.values()):
            docs.update(about.get("subcommands", {}))
        equal(sorted(docs), sorted(rows))
        for name, about in docs.items():
            for field in ("summary", "since", "group", "complexity"):
                assert about[field], f"{name}: {field}"
            if "arguments" in about:
                check_arguments(name, about["arguments"], len(rows[name][8]))
            elif "subcommands" not in about:
                assert rows[name][1] in (1, 2, -1, -2), f"{name}: arity without arguments"


@own
def docs_of_some_commands_are_those_alone():
    with Daemon() as daemon:
        equal(list(ask(daemon, "COMMAND", "DOCS", "get", "nosuch", "config|set")),
              ["get", "config|set"])


OWN_HELP = ("acl", "policy", "pubsub")  # texts of their own, some equal to Redis'


@own
def help_lists_every_subcommand_with_its_summary():
    with Daemon("--cluster-enabled", "emulated") as daemon:
        for name, about in ask(daemon, "COMMAND", "DOCS").items():
            subcommands = about.get("subcommands", {})
            if name in OWN_HELP or name + "|help" not in subcommands:
                continue
            lines = ask(daemon, name, "HELP")
            assert lines[0].startswith(name.upper() + " <subcommand> "), lines[0]
            listed = {line.split()[0]: below.strip() for line, below in zip(lines[1::2], lines[2::2])}
            alone = listed.pop("(no", None)
            assert alone in (None, about["summary"]), name
            equal(listed, {full.partition("|")[2].upper(): sub["summary"]
                           for full, sub in subcommands.items()})


# --- hints -------------------------------------------------------------------------------------

class Hints(Terminal):
    """redis-cli at an empty prompt."""

    def __init__(self, daemon):
        super().__init__(daemon)
        self.prompt += "> "
        self.wait(re.escape(self.prompt) + r"\Z")

    def read_until(self, typed):
        """The output until the cursor is behind these characters."""
        return self.wait(r"\r\x1b\[%dC\Z" % (len(self.prompt) + len(typed))).string

    def hint(self, typed):
        os.write(self.screen, typed.encode())
        shown = self.read_until(typed)
        os.write(self.screen, b"\x15")  # Ctrl-U
        self.read_until("")
        last = shown[shown.rindex("\x1b[0K"):]
        found = re.search("\x1b\\[0;90;49m(.*?)\x1b\\[0m", last)
        return found.group(1).strip() if found else ""


@own
def redis_cli_shows_a_hint_for_every_command():
    with Daemon() as daemon, Hints(daemon) as terminal:
        docs = ask(daemon, "COMMAND", "DOCS")
        for about in list(docs.values()):
            docs.update(about.get("subcommands", {}))
        for name, about in docs.items():
            hint = terminal.hint(name.replace("|", " ") + " ")
            equal(bool(hint), "arguments" in about, f"{name}: hint {hint!r}")


@own
def hints_follow_what_is_typed():
    with Daemon() as daemon, Hints(daemon) as terminal:
        for typed, wanted in (
                ("get ", "key"),
                ("REDE.UPDATE ", "key id element"),
                ("REDE.UPDATE k ", "id element"),
                ("rede.poll k ", "[COUNT count] [WITHIDS]"),
                ("set k v ", "[NX|XX|IFEQ comparison-value|IFNE comparison-value|IFDEQ comparison-digest|"
                             "IFDNE comparison-digest] [GET] [EX seconds|PX milliseconds|EXAT "
                             "unix-time-seconds|PXAT unix-time-milliseconds|KEEPTTL] [SOFT milliseconds]"),
                ("client tracking ", "ON|OFF [REDIRECT client-id] [PREFIX prefix [PREFIX prefix "
                                     "...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]"),
                ("client pause ", "timeout [WRITE|ALL]"),
                ("config set ", "parameter value [parameter value ...]"),
                ("zadd k ", "[NX|XX] [GT|LT] [CH] [INCR] score member [score member ...]")):
            equal(terminal.hint(typed), wanted, typed)


@own
def every_command_can_be_asked_for_by_name():
    with Daemon() as daemon, daemon.raw() as raw:
        for name, row in rows_of(daemon).items():
            equal(ask(daemon, "COMMAND", "INFO", name.upper()), [row], name)
            raw.send(encode("COMMAND", "DOCS", name))
            assert name.encode() in raw.reply()


main()
