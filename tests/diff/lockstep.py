"""lockstep: runs a program on the daemon and on the oracle, and raises their first difference.

Compares each reply, each keyspace notification, and at the end all data that can be read. Commands of
one connection are sent together; before another connection's turn all replies are read. A connection
that may get replies late (blocking commands, subscriptions) is "loose": its replies are not counted.
After each command both servers answer two PINGs, by when they have written all replies; then what
has come is compared.
"""
import itertools
import math
import re
import traceback

import events
import resp
import scripts
from choices import check_random, choose, compare_scans, members_to_choose_from
from difference import Difference
from generate import CONNECTIONS, ID_OF, NOON
from normal import by_pattern, same, same_lines, without_ids
from servers import Daemon, Gone, Oracle

LEX_NAMES = (b"ZLEXCOUNT", b"ZRANGEBYLEX", b"ZREVRANGEBYLEX", b"ZREMRANGEBYLEX")
# Commands that need a round trip of their own: their rule sends further commands.
ALONE = {"random", "choice", "scan", "dies", "jumbled"}
UNMATCHED = {"kind", "random", "rules", "acllog"}  # rules whose replies are not equal to the byte
USERS = ([b"ACL", b"SETUSER", b"u1", b"reset", b"on", b"nopass"],
         [b"ACL", b"SETUSER", b"u2", b"reset", b"on", b"nopass"], [b"ACL", b"LOG", b"RESET"])
READ = {b"string": [b"GET"], b"list": [b"LRANGE", b"0", b"-1"], b"set": [b"SMEMBERS"],
        b"hash": [b"HGETALL"], b"zset": [b"ZRANGE", b"0", b"-1", b"WITHSCORES"]}


BLOCKING = {b"BLPOP", b"BRPOP", b"BLMOVE", b"BRPOPLPUSH", b"BLMPOP", b"BZPOPMIN", b"BZPOPMAX",
            b"BZMPOP"}
COUNTED = {b"ZDIFF", b"ZDIFFSTORE", b"ZINTER", b"ZINTERCARD", b"ZINTERSTORE", b"ZUNION",
           b"ZUNIONSTORE", b"SINTERCARD", b"LMPOP", b"BLMPOP", b"ZMPOP", b"BZMPOP", b"EVAL",
           b"EVAL_RO", b"EVALSHA", b"EVALSHA_RO", b"FCALL", b"FCALL_RO"}
LOOSE = re.compile(rb"\s*\+?\d")
WHOLE = re.compile(rb"0|-?[1-9][0-9]*")
STREAM_READS = (b"XREAD", b"XREADGROUP")
RANKS = (b"ZRANK", b"ZREVRANK")
REMOVES_ENTRIES = {b"XDEL", b"XTRIM", b"MAXLEN", b"MINID", b"XSETID"}  # or sets the last ID to one without an entry
REPLACES_KEYS = {b"RENAME", b"RENAMENX", b"COPY", b"MOVE", b"SWAPDB"}
# Filters of CLIENT LIST and KILL in Redis 7.4 and Valkey 9, and those that 7.0 has for KILL alone.
LATER_FILTERS = {b"IP", b"NAME", b"LIB-NAME", b"LIB-VER", b"FLAGS", b"CAPA", b"DB", b"MAXAGE", b"IDLE"}
KILL_FILTERS = {b"ADDR", b"LADDR", b"USER", b"SKIPME"}


def is_overwriting(name):
    return name.endswith(b"STORE") or name.startswith((b"GEORADIUS", b"RENAME")) or \
        name in (b"BITOP", b"SORT", b"COPY", b"PFMERGE")


def upper(arguments):
    return [arg.upper() for arg in arguments]


def has_later_filter(words):
    later = LATER_FILTERS | (KILL_FILTERS if words[1] == b"LIST" else set())
    return any(word in later or word[:4] == b"NOT-" for word in words[2:])


def has_loose_count(words):
    """Is a word near a command with numkeys a number for atoi() but no integer, as "1x" is?"""
    at = next((i for i, word in enumerate(words[:4]) if word in COUNTED), len(words))
    return any(LOOSE.match(word) and not WHOLE.fullmatch(word) for word in words[at + 1:at + 4])


def removes_its_own(words):
    """Is it an XADD that may remove the entry that it adds?"""
    return words[0] == b"XADD" and (b"MINID" in words or b"MAXLEN" in words and b"0" in words)


def is_lexical(words):
    return len(words) > 2 and (words[0] in LEX_NAMES or
                               b"BYLEX" in words and words[0][:6] == b"ZRANGE")


class State:
    """What the runner knows of one connection of the running program."""

    def __init__(self):
        self.multi = False     # as the commands that were sent leave it
        self.watching = False
        self.queued = []       # steps that were answered QUEUED
        self.loose = False
        self.dies = False      # queued: a command that may leave a key with a past deadline
        self.unmatched = False  # since MULTI: a command with a rule of UNMATCHED
        self.silent = None     # SKIP or OFF, as CLIENT REPLY left it
        self.waiting = []      # steps on a loose connection that have no reply yet
        self.restricted = False  # it may have a user other than the default one
        self.closed = False    # by both servers


class Pair:
    def __init__(self, rows):
        self.rows = {}
        for row in rows:
            self.rows.setdefault(tuple(row.words), row)
        self.ours, self.theirs = Daemon(), Oracle()
        self.both = (self.ours, self.theirs)
        self.seen = {}  # (command, option, class of reply): count

    def start(self):
        for server in self.both:
            server.open()
            events.listen(server)

    def stop(self):
        for server in self.both:
            server.clean()

    def restart(self):
        self.stop()
        self.start()

    def commands(self):
        """Names of all commands and subcommands, of both."""
        found = []
        for server in self.both:
            rows = resp.value_of(server.connection("control").call(b"COMMAND"))[0][1]
            rows += [child for _, row in rows for child in row[9][1]]
            found.append({row[0][1].decode().upper() for _, row in rows})
        return found

    # --- a program ---

    def run(self, program, version):
        """Raises Difference."""
        self.program, self.version, self.at = program, version, None
        try:
            self.begin()
            self.steps()
            self.end()
        except Gone as gone:
            said = str(gone)
            if not self.ours.is_running():
                said = "the daemon ended: " + self.ours.log()
            self.restart()
            raise Difference("no answer", self.at, said.encode(), b"") from None
        except Difference:
            self.drop_connections(CONNECTIONS)
            raise
        except Exception:  # pylint: disable=broad-except
            self.restart()  # the runner did not expect this reply; report the program
            raise Difference("the runner failed", self.at, traceback.format_exc().encode(),
                             b"") from None

    def drop_connections(self, names):
        for server in self.both:
            for name in names:
                server.forget(name)

    def begin(self):
        sent = [word for step in self.program if step[0] != "clock" for word in step[1]]
        self.has_blocks = scripts.FILL in sent
        self.deletes_entries = b"XDEL" in upper(sent)
        # Redis tells clients that block on a stream of entries that are gone again.
        self.may_wait_in_vain = b"BLOCK" in upper(sent) and bool(REMOVES_ENTRIES & set(upper(sent)))
        self.tracks = set()    # words of every CLIENT TRACKING of this program
        self.now, self.timeouts = NOON, set()
        self.states = {name: State() for name in CONNECTIONS}
        self.used = [name for name in CONNECTIONS if any(
            step[0] == name or step[0] != "clock" and ID_OF % name.encode() in step[1]
            for step in self.program)]
        hello = [b"HELLO", b"%d" % self.version]
        for server in self.both:
            server.set_clock(NOON)
            for name in self.used:
                server.connection(name).calls([[b"RESET"], hello])
            for command in (*USERS, [b"FLUSHALL"], [b"SCRIPT", b"FLUSH"], [b"FUNCTION", b"FLUSH"]):
                server.connection("control").call(*command)
            events.until_mark(server)

    def steps(self):
        batch, where = [], None
        for step in self.program:
            if step[0] == "clock":
                self.send(where, batch)
                batch = []
                self.at = step
                self.move_clock(step[1])
                continue
            if step[0] == "carry":
                self.send(where, batch)
                batch = []
                self.at = step
                if not self.may_wait_in_vain:
                    self.carry(*step[1])
                continue
            if self.states[step[0]].closed:
                continue
            words = self.words(step)
            commands = scripts.commands_of(step[1])
            if batch and any(is_lexical(upper(command)) for command in commands or [step[1]]):
                self.send(where, batch)
                batch = []
            if self.is_left_out(step[0], words, step[1]) or \
                    commands and self.is_script_left_out(step, commands):
                continue
            rules = self.rules(words) | self.rules_inside(commands)
            if self.may_kill(step[0], words, rules):
                rules |= {"dies"}
            alone = ALONE & rules or self.is_loose() or "async" in rules
            if batch and (alone or step[0] != where):
                self.send(where, batch)
                batch = []
            where = step[0]
            batch.append(step)
            self.follow(where, words)
            if alone:
                self.send_alone(where, step, words, rules)
                batch = []
        self.send(where, batch)

    def carry(self, key, to):
        """Restores each server's payload of a key on the other one."""
        payloads = [server.connection("control").calls([[b"SELECT", b"0"], [b"DUMP", key]])[1]
                    for server in self.both]
        if payloads[0][:1] != payloads[1][:1]:
            raise Difference("DUMP", self.at, *payloads)
        found = [resp.value_of(payload)[0][1] for payload in payloads]
        if None in found:
            return
        replies = [server.connection("control").call(b"RESTORE", to, b"0", payload, b"REPLACE")
                   for server, payload in zip(self.both, reversed(found))]
        if replies != [b"+OK\r\n"] * 2:
            raise Difference("carry", self.at, *replies)
        if self.is_loose():
            self.settle()

    @staticmethod
    def words(step):
        return upper(step[1])

    def row(self, words):
        return self.rows.get(tuple(words[:2])) or self.rows.get(tuple(words[:1]))

    def rules(self, words):
        row = self.row(words)
        found = row.rules if row else frozenset()
        if "blocks" in found:
            found = found | {"async"} if b"BLOCK" in words else found - {"async"}
        return found

    def is_loose(self):
        return any(state.loose for state in self.states.values())

    def may_kill(self, where, words, rules):
        """Whether the EXEC runs a command whose rule needs a sweep."""
        state = self.states[where]
        if state.multi:
            state.dies = state.dies or bool(rules & {"dies", "jumbled"})
            return state.dies and words[0] == b"EXEC"
        state.dies = False
        return False

    def follow(self, where, words):
        """What the command does to its connection, if it is well-formed."""
        if words[:2] == [b"CLIENT", b"TRACKING"]:
            self.tracks.update(words[2:])
        state = self.states[where]
        name = words[0]
        state.unmatched = state.unmatched or bool(self.rules(words) & UNMATCHED)
        if name in (b"AUTH", b"HELLO"):
            state.restricted = True
        elif name == b"RESET" and len(words) == 1:
            state.restricted = False
        if name == b"EXEC" or name in (b"DISCARD", b"RESET") and len(words) == 1:
            state.watching = state.watching and not state.multi and name != b"RESET"
            state.multi = False
        elif name == b"MULTI" and len(words) == 1:
            state.multi, state.unmatched = True, False
        elif name == b"WATCH":
            state.watching = True
        elif name == b"UNWATCH" and not state.multi:
            state.watching = False

    def rules_inside(self, commands):
        """Rules of a script's commands. These never block, and nothing is asked about random ones."""
        rules = set().union(*(self.rules(upper(command)) for command in commands or ()))
        return rules & {"dies", "jumbled"}

    def is_script_left_out(self, step, commands):
        """Whether one of the commands is left out, behind those that run before it."""
        if self.tracks:  # Redis forgets what scripts read
            return True
        if self.may_wait_in_vain and any((REMOVES_ENTRIES | {b"DESTROY"}) & set(upper(command))
                                         for command in commands):
            return True
        died = False
        for command in commands:
            words = upper(command)
            rules = self.rules(words)
            name = scripts.name_of(step[1])
            is_open = rules - {"blocks"} or words[0] == b"OBJECT"
            has_figures = name == "resp3" and "figures" in rules  # in any order
            if "choice" in rules or has_figures or name in scripts.SHOWN and is_open or \
                    is_lexical(words) and len(commands) > 1 or \
                    self.is_left_out(step[0], words, command, died):
                return True
            died = died or "dies" in rules
        return False

    def is_left_out(self, where, words, arguments, died=False):
        """Commands that are not sent: their outcome is left open, or differs on purpose. died: in the
        same transaction a key may have expired before."""
        state = self.states[where]
        died = died or state.multi and state.dies
        cannot_ask = state.multi or state.loose or state.restricted
        if state.waiting and self.rules(words) & {"dies", "jumbled"}:
            return True  # it runs once the blocked command ends: when its key expires is left open
        asked = words[2:] if words[:1] == [b"COMMAND"] else words  # COMMAND GETKEYS of it
        if asked[:1] and asked[0] in (b"TTL", b"PTTL", b"PERSIST") and len(asked) == 3:
            return True  # of a member, as KeyDB takes it
        if asked[:1] and asked[0] in RANKS and len(asked) > 3:
            return True  # perhaps WITHSCORE
        if words[0] in (b"COMMAND", b"ACL") or state.restricted:
            if has_loose_count(words):
                return True  # Redis takes the keys in another order and without flags
        if died and words[0] == b"DBSIZE":
            return True  # Redis counts keys that have expired in the transaction
        if died and is_overwriting(words[0]):
            return True  # Redis overwrites an expired key without expiring it first
        if words[:3] == [b"CLIENT", b"LIST", b"TYPE"] and len(words) > 4:
            return True  # several filters, as in Valkey
        if words[:2] in ([b"CLIENT", b"LIST"], [b"CLIENT", b"KILL"]) and has_later_filter(words):
            return True
        if words[:2] == [b"CLIENT", b"TRACKING"] and b"REDIRECT" in words:
            target = arguments[words.index(b"REDIRECT") + 1:][:1]
            if target and target[0].isdigit():
                return True  # an id that only one of the two may have given
        if state.waiting and any(other.waiting for name, other in self.states.items()
                                 if name != where):
            return True  # either of two blocked connections may continue first
        if words[0] == b"AUTH" or words[0] == b"HELLO" and b"AUTH" in words:
            if (self.is_loose() or state.multi) and not (len(words) == 3 and words[1] in (b"U1", b"U2")):
                return True  # a failed login is answered later here
        if words[:2] == [b"ACL", b"SETUSER"] and self.is_setuser_left_out(state, words):
            return True
        if words[:2] == [b"ACL", b"DRYRUN"] and (any(b"\0" in word for word in arguments) or
                                                 words[3:4] in ([b"TTL"], [b"PTTL"], [b"PERSIST"]) or
                                                 words[3:4] and words[3] in RANKS):
            return True  # Redis cuts the name in the reply there
        if words[:2] == [b"CLIENT", b"TRACKING"] and state.restricted and b"BCAST" in words:
            return True
        if words[0] == b"PFMERGE" and len(words) == 2 and state.restricted:
            return True  # needs permission for its destination here
        if words[0] == b"SPOP" and cannot_ask:
            return len(words) == 2 or len(words) == 3 and len(words[2]) < 5
        if words[0] == b"PSUBSCRIBE":  # events of a client's own changes come at another place in the stream
            return any(pattern[:1] in (b"*", b"?", b"_", b"[", b"\\") for pattern in arguments[1:])
        # EXEC may have more replies than commands, so they can't be matched.
        if state.multi and self.rules(words) & UNMATCHED and state.loose:
            return True
        if state.multi and words[0].endswith(b"SUBSCRIBE") and state.unmatched:
            return True
        if words[:2] == [b"CLIENT", b"REPLY"]:  # Redis would begin EXEC's reply, and not end it
            return state.multi
        if words[0] == b"SORT" and b"ALPHA" in words and b"STORE" in words:
            return by_pattern(words)  # what has no weight stays where it was, in any order
        if words[:2] == [b"CLIENT", b"TRACKING"]:  # Redis would answer twice
            own = [after for word, after in zip(words, words[1:]) if word == b"PREFIX"]
            return any(one.startswith(other) for one, other in itertools.permutations(own, 2))
        if words[0] in (b"SWAPDB", b"PFDEBUG"):
            return bool(self.tracks) or any(other.watching for other in self.states.values())
        if words[0] in (b"FLUSHALL", b"FLUSHDB"):
            return b"REDIRECT" in self.tracks
        if words[0] in STREAM_READS and self.tracks and b"STREAMS" in words:
            return (len(words) - words.index(b"STREAMS")) % 2 == 0
        if words[0] in BLOCKING:
            return b"NOLOOP" in self.tracks
        if self.may_wait_in_vain and (state.multi and REMOVES_ENTRIES & set(words) or
                                      words[0] in REPLACES_KEYS or removes_its_own(words) or
                                      words[:2] == [b"XGROUP", b"DESTROY"]):
            return True  # Redis replies with an empty list to a client that blocks
        if words[0] in (b"XTRIM", b"XADD") and b"~" in words:
            return self.has_blocks or b"MINID" in words and self.deletes_entries
        if words[0] == b"WAIT":
            return len(words) > 1 and not words[1].lstrip(b"0").startswith(b"-") \
                and words[1].strip(b"0").isdigit()
        if is_lexical(words):
            key = arguments[2 if words[0] == b"ZRANGESTORE" else 1]
            return cannot_ask or not self.has_one_score(where, key)
        return False

    def is_setuser_left_out(self, state, words):
        """The default user is the runner's. A blocked client is checked again here. Redis crashes where
        a subscriber takes its own channels away."""
        return words[2:3] not in ([b"U1"], [b"U2"]) or state.restricted and state.loose or \
            any(other.waiting and other.restricted for other in self.states.values())

    def has_one_score(self, where, key):
        for server in self.both:
            reply = server.connection(where).call(b"ZRANGE", key, b"0", b"-1", b"WITHSCORES")
        value = resp.value_of(reply)[0]
        if not isinstance(value[1], list) or not value[1]:
            return True
        if isinstance(value[1][0][1], list):
            return len({item[1][1][1] for item in value[1]}) < 2
        return len({item[1] for item in value[1][1::2]}) < 2

    # --- sending, and comparing replies ---

    def request(self, server, step):
        arguments = step[1]
        for name in CONNECTIONS:
            if ID_OF % name.encode() in arguments:
                own = server.connection(name).id
                arguments = [own if arg == ID_OF % name.encode() else arg for arg in arguments]
        return resp.encode(*arguments)

    def send_to_both(self, where, steps):
        for server in self.both:
            data = b"".join([self.request(server, step) for step in steps])
            server.connection(where).send(data)

    def send(self, where, batch):
        if not batch:
            return
        self.at = batch[-1]
        self.send_to_both(where, batch)
        ours, theirs = [server.connection(where).replies(len(batch)) for server in self.both]
        for step, our, their in zip(batch, ours, theirs):
            self.compare(where, step, our, their)

    def send_alone(self, where, step, words, rules):
        self.at = step
        state = self.states[where]
        dies = rules & {"dies", "jumbled"} and not state.multi
        if dies:
            self.mark()
        if "async" in rules:
            # A user without permission for MULTI is not in one.
            if not (state.multi and words[0] in (*BLOCKING, *STREAM_READS)) or state.restricted:
                state.loose = True
                self.note_timeout(words)
            for name in CONNECTIONS:  # CLIENT TRACKING ... REDIRECT
                if (ID_OF % name.encode()).upper() in words:
                    self.states[name].loose = True
        members = None
        if "choice" in rules and not (state.multi or state.loose or state.restricted):
            members = members_to_choose_from(self, where, step)
        if members:
            choose(self, where, step, members)
        elif self.is_loose():
            if self.will_be_answered(state, step, words):
                state.waiting.append(step)
            self.send_to_both(where, [step])
            self.settle()
        else:
            self.send(where, [step])
        if dies:
            self.sweep()

    def will_be_answered(self, state, step, words):
        """Follows CLIENT REPLY."""
        if words == [b"RESET"] and state.silent == b"SKIP":
            state.silent = None
            return False
        if words == [b"RESET"] or words == [b"CLIENT", b"REPLY", b"ON"]:
            state.silent = None
        elif words in ([b"CLIENT", b"REPLY", b"OFF"], [b"CLIENT", b"REPLY", b"SKIP"]):
            state.silent = state.silent if state.silent == b"OFF" else words[2]
            self.count(step, words, b"(silence)")
            return False
        elif state.silent:
            state.silent = state.silent if state.silent == b"OFF" else None
            return False
        return True

    def note_timeout(self, words):
        """Redis waits one millisecond longer (doc/differs.md): the clock passes by a timeout."""
        if words[0] in STREAM_READS:
            at, unit = words.index(b"BLOCK") + 1 if b"BLOCK" in words else 0, 1
            timeouts = words[at:at + 1]
        else:
            timeouts, unit = (words[1], words[-1]) if len(words) > 1 else (), 1000
        for word in timeouts:
            try:
                self.timeouts.add(self.now + math.ceil(float(word) * unit))
            except (ValueError, OverflowError):
                pass

    def compare(self, where, step, ours, theirs):
        state = self.states[where]
        words = self.words(step)
        self.count(step, words, theirs)
        if words[0] == b"EXEC":
            self.compare_exec(where, step, ours, theirs)
        elif ours != theirs:
            self.compare_unequal(where, step, words, ours, theirs)
        if theirs == b"+QUEUED\r\n":
            state.queued.append(step)
        elif words[0] in (b"EXEC", b"DISCARD") or words[0] == b"MULTI" and theirs == b"+OK\r\n":
            state.queued = []

    def compare_exec(self, where, step, ours, theirs):
        queued = self.states[where].queued
        our_items, their_items = resp.children_of(ours), resp.children_of(theirs)
        if any(self.words(child)[0].endswith(b"SUBSCRIBE") for child in queued) and \
                self.is_same_anyhow(ours, theirs):
            return  # there are as many replies as channels
        if their_items is None or our_items is None or \
                not len(queued) == len(our_items) == len(their_items):
            if not self.is_same_anyhow(ours, theirs):
                raise Difference("EXEC", step, ours, theirs)
            return
        for child, our, their in zip(queued, our_items, their_items):
            words = self.words(child)
            self.count(child, words, their)
            if our != their and not self.is_same_step(child, our, their):
                raise Difference(words[0].decode("latin-1"), child, our, their)

    def is_same_step(self, step, ours, theirs):
        """As is_same; of a script, whether the replies of the commands that it ran are the same."""
        commands = scripts.commands_of(step[1])
        if commands is None:
            return self.is_same(self.words(step), ours, theirs)
        parts = [scripts.parts_of(step[1], commands, reply) for reply in (ours, theirs)]
        if None in parts:
            return self.is_same(self.words(step), ours, theirs)
        return all(our == their or self.is_same(upper(command), our, their) or
                   scripts.same_in_any_order(step[1], our, their)
                   for (command, our), (_, their) in zip(*parts))

    def is_same(self, words, ours, theirs):
        rules = self.rules(words)
        if "ids" in rules or any(word[:4] == b"<ID-" for word in words):
            ours, theirs = self.without_ids(ours, theirs)
        return ours == theirs or same(words, rules, ours, theirs)

    def is_same_anyhow(self, ours, theirs):
        """Compares replies that can't be matched to commands."""
        return ours == theirs or same_lines(*self.without_ids(ours, theirs))

    def without_ids(self, *replies):
        return [without_ids(reply, [server.connection(name).id for name in CONNECTIONS])
                for server, reply in zip(self.both, replies)]

    def compare_unequal(self, where, step, words, ours, theirs):
        if self.is_same_step(step, ours, theirs):
            state = self.states[where]
            if state.multi or state.loose or state.restricted:
                return
            if "scan" in self.rules(words):
                compare_scans(self, where, step, ours, theirs)
            elif "random" in self.rules(words):
                check_random(self, where, step, words, ours)
            return
        raise Difference(words[0].decode("latin-1"), step, ours, theirs)

    def count(self, step, words, reply):
        row = self.row(words)
        if row is None:
            return
        kind = resp.class_of(reply)
        for option in (*step[2], ""):
            key = row.name, option, kind
            self.seen[key] = self.seen.get(key, 0) + 1

    @staticmethod
    def let_speak(server):
        """Two turns of its loop: the first runs what was sent, the second has written the replies."""
        control = server.connection("control")
        control.call(b"PING")
        control.call(b"PING")

    def settle(self):
        """Waits until both servers have written all; then compares what loose connections got."""
        for server in self.both:
            self.let_speak(server)
        for name, state in self.states.items():
            if not state.loose and not state.waiting:
                continue
            ours, theirs = [server.connection(name).heard_replies() for server in self.both]
            self.compare_loose(state, name, ours, theirs)
            for step in state.waiting:
                self.note_timeout(self.words(step))

    def compare_loose(self, state, name, ours, theirs):
        """Replies of the commands that wait, in their order, and messages in between."""
        state.closed = state.closed or b"(closed)" in ours and b"(closed)" in theirs
        first = self.words(state.waiting[0])[0] if state.waiting else b""
        if theirs == [b"+QUEUED\r\n"]:
            first = b""
        if first.endswith(b"UNSUBSCRIBE") and self.is_same_farewell(ours, theirs):
            ours = theirs
        if ours != theirs:
            ours, theirs = self.compare_pushes(state, ours, theirs)
        if len(ours) == len(theirs) <= len(state.waiting) and not first.endswith(b"SUBSCRIBE"):
            pairs = list(zip(state.waiting, ours, theirs))
            state.waiting = state.waiting[len(pairs):]
            for step, our, their in pairs:
                self.compare(name, step, our, their)
            return
        if ours or theirs:
            if state.waiting:
                self.count(state.waiting[0], [first], theirs[0] if theirs else b"(silence)")
            state.waiting = state.waiting[len(theirs):]
        if not self.is_same_anyhow(b"".join(ours), b"".join(theirs)):
            self.part(ours, theirs)

    def part(self, ours, theirs):
        what = "clock" if self.at[0] == "clock" else self.words(self.at)[0].decode("latin-1")
        raise Difference(what, self.at, b"".join(ours) or b"(nothing)",
                         b"".join(theirs) or b"(nothing)")

    @staticmethod
    def is_same_farewell(ours, theirs):
        """UNSUBSCRIBE from everything: the channels come in any order, the counts do not."""
        frames = [[resp.children_of(frame) or [frame] * 3 for frame in frames]
                  for frames in (ours, theirs)]
        return all(sorted(frame[item] for frame in frames[0]) ==
                   sorted(frame[item] for frame in frames[1]) for item in (0, 1)) and \
            [frame[2] for frame in frames[0]] == [frame[2] for frame in frames[1]]

    def compare_pushes(self, state, ours, theirs):
        """Compares RESP3 push messages, whose place may differ; returns the remaining replies."""
        pushes = [[frame for frame in frames if frame[:1] == b">"] for frames in (ours, theirs)]
        if not self.is_same_anyhow(*map(b"".join, pushes)):
            return ours, theirs
        if pushes[0] and len(state.waiting) > 1:
            state.waiting = [step for step in state.waiting
                             if not self.words(step)[0].endswith(b"SUBSCRIBE")]
        return [[frame for frame in frames if frame[:1] != b">"] for frames in (ours, theirs)]

    # --- time, and notifications ---

    def move_clock(self, by):
        """Stops at each timeout on the way if a request waits behind a blocked one: it runs then, before
        what expires later."""
        self.mark()
        to = self.now + by
        if any(len(state.waiting) > 1 for state in self.states.values()):
            for timeout in sorted(at for at in self.timeouts if self.now <= at < to - 1):
                self.set_clock(timeout + 1)
        self.set_clock(to)

    def set_clock(self, to):
        self.now = max(self.now, to)
        while self.now in self.timeouts:
            self.now += 1
        for server in self.both:
            server.set_clock(self.now)
        self.sweep()

    def sweep(self):
        """Expires overdue data on both sides; the order of those events may differ."""
        loose = self.is_loose()
        for server in self.both:
            if loose:
                self.let_speak(server)
            server.sweep()
        if loose:
            self.settle()
        self.mark(ordered=False)

    def mark(self, ordered=True, renamed=None):
        """Compares the notifications since the last mark."""
        ours, theirs = [events.until_mark(server) for server in self.both]
        found = ours != theirs and events.difference_of(ours, theirs, ordered, renamed)
        if found:
            raise Difference("events", self.at, *found)

    # --- the end ---

    def end(self):
        loose = [name for name, state in self.states.items() if state.loose]
        if loose:
            self.settle()
        self.mark()
        for name in set(self.used) - set(loose):
            ours, theirs = [b"".join(server.connection(name).heard_replies()) for server in self.both]
            if ours or theirs:
                raise Difference("unasked", self.at, ours, theirs)
        self.drop_connections(loose)
        self.compare_state()

    def ask_both(self, commands):
        for server in self.both:
            server.connection("control").send(b"".join([resp.encode(*c) for c in commands]))
        return [server.connection("control").replies(len(commands)) for server in self.both]

    def compare_all(self, commands):
        """The oracle's replies; Difference where the daemon's are not the same."""
        ours, theirs = self.ask_both(commands)
        if ours != theirs:
            where = b""
            for command, our, their in zip(commands, ours, theirs):
                if command[0] == b"SELECT":
                    where = command[1]
                if our != their and not self.is_same(command, our, their):
                    raise Difference("state: " + command[0].decode(),
                                     ("state", [b"db", where, *command], ()), our, their)
        return theirs

    def compare_state(self):
        dbs = [b"0", b"1", b"2"]
        commands = [command for db in dbs for command in ([b"SELECT", db], [b"KEYS", b"*"],
                                                          [b"DBSIZE"])]
        keys = [[resp.value_of(key)[0][1] for key in resp.children_of(reply)]
                for reply in self.compare_all(commands)[1::3]]
        commands = []
        for db, names in zip(dbs, keys):
            commands.append([b"SELECT", db])
            for key in sorted(names):
                commands += [[b"TYPE", key], [b"PEXPIRETIME", key], [b"OBJECT", b"ENCODING", key]]
        if len(commands) == len(dbs):
            return
        replies = self.compare_all(commands)
        contents = []
        for command, reply in zip(commands, replies):
            if command[0] == b"SELECT":
                contents.append(command)
            elif reply == b"+stream\r\n":
                contents += [[b"XINFO", b"STREAM", command[1], b"FULL", b"COUNT", b"0"],
                             [b"XINFO", b"STREAM", command[1]], [b"XINFO", b"GROUPS", command[1]]]
            elif command[0] == b"TYPE":
                read = READ.get(reply[1:-2])
                if read:
                    contents.append([read[0], command[1], *read[1:]])
        self.compare_all(contents)
        reply = self.ours.connection("control").call(b"DEBUG", b"CHECK")
        if reply != b"+OK\r\n":
            raise Difference("DEBUG CHECK", None, reply, b"+OK\r\n")
