"""runner: runs a program on the daemon and on the model, and raises their first difference.

The daemon's clock is held and stepped. Compares each reply, each event, and at the end the digest of
the daemon's data with that of a second daemon, which is filled with the model's final data. After a step of
the clock the daemon removes all expired data before the next command is read.

Commands that begin with @ are for the runner. @FLAGS sets notify-keyspace-events. @DUE n steps the clock to n
ms after the next deadline, @END to after the last one. @LATE ms (or due0, due1) seed n steps the clock and
sends n questions and the following commands in the same packet, so that they run before the timer. @READ seed
n asks n questions. Two questions are not commands of the daemon: @SCAN letter count [key], @MEMORY key.
"""
import random
import traceback

import answer
import event_diff
import keys
import resp
from answer import Error, OK, QUEUED, matches
from dataset import COLLECTIONS, DATABASES, NEVER, Dataset, Refused
from questions import Questions
from random_programs import Difference
from servers import Gone

NOON = 1_900_000_000_000
MARK = b"__mark"
PACKED = 64      # members of a small collection, at most
IN_TABLES = 200  # further bytes of a member that is not packed
LEX = (b"ZREMRANGEBYLEX", b"ZLEXCOUNT")
SPREADS = (b"FLUSHALL", b"FLUSHDB", b"SWAPDB")  # these need not send events of expired keys


class Runner:
    """Uses two daemons (tests/diff/servers.py): one is tested, one is filled with the model's data."""

    def __init__(self, tested, rebuilt):
        self.tested, self.rebuilt = tested, rebuilt
        self.connection = tested.connection
        self.connection("events").call(b"SUBSCRIBE", MARK)
        self.connection("events").call(b"PSUBSCRIBE", b"__*__:*")

    def ask(self, *words):
        return answer.read(resp.value_of(self.connection("control").call(*words))[0])

    # --- a program ---

    def run(self, program):
        """Raises Difference if the daemon and the model differ."""
        self.at = None
        try:
            self.begin()
            for step in program:
                self.step(step)
            self.flush()
            self.end()
        except Difference as difference:
            self.again()
            raise Difference(difference.signature, f"{difference} (at {self.at})") from None
        except Gone:
            raise
        except Exception as error:  # pylint: disable=broad-except
            self.again()  # shrinking made an invalid program
            raise Difference(("the runner failed", str(error)), traceback.format_exc()) from None

    def again(self):
        """Opens new connections."""
        for server in (self.tested, self.rebuilt):
            for name in list(server.connections):
                server.forget(name)
        self.__init__(self.tested, self.rebuilt)

    def begin(self):
        self.data = Dataset(NOON)
        self.batch, self.groups, self.late = [], [], False
        self.queue = None  # in MULTI
        self.unwatch()
        self.flags = b"KEA"
        control = self.connection("control")
        for policy in self.ask(b"POLICY", b"LIST")[::2]:
            control.call(b"POLICY", b"DEL", policy)
        for words in ([b"FLUSHALL"], [b"DEBUG", b"CLOCK", b"HOLD", b"%d" % NOON],
                      [b"CONFIG", b"SET", b"notify-keyspace-events", self.flags]):
            control.call(*words)
        self.connection("a").call(b"RESET")
        self.until_mark()

    def step(self, step):
        self.at = step
        if step[0] == "clock":
            self.flush()
            self.move_clock(self.data.now + step[1])
            return
        words = step[1]
        if words[0] == b"@FLAGS":
            self.flush()
            self.flags = words[1]
            self.ask(b"CONFIG", b"SET", b"notify-keyspace-events", self.flags)
        elif words[0] == b"HELLO":
            self.flush()
            self.connection("a").call(*words)
        elif words[0] == b"@DUE":
            self.flush()
            if self.data.next_deadline() != NEVER:
                self.move_clock(max(self.data.now, self.data.next_deadline() + int(words[1])))
        elif words[0] == b"@LATE":
            self.flush()
            self.step_late(*words[1:])
        elif words[0] == b"@END":
            self.flush()
            last = [at for db in self.data.dbs for key in db.values()
                    for at in self.data.deadlines(key) if at != NEVER]
            self.move_clock(max(last, default=self.data.now) + 1)
        elif words[0] == b"@READ":
            self.flush()
            self.read(random.Random(int(words[1])), int(words[2]))
        else:
            self.add(words)

    def add(self, words):
        """Adds a command to those that are sent together."""
        if words[0] in LEX:
            self.flush()
            key = self.data.find(words[1])
            if key is not None and key.kind == "zset" and \
                    len({score for score, _ in key.value.values()}) > 1:
                return  # the result is unspecified
        if words[:2] == [b"POLICY", b"SET"]:
            self.set_policy(words)
            return
        self.batch.append([self.word(word) for word in words])

    def set_policy(self, words):
        """Sets a policy and waits until it is applied to existing keys."""
        self.flush()
        reply = answer.read(resp.value_of(self.connection("a").call(*words))[0])
        self.compare(words, reply)
        while b"policies_pending:0" not in self.connection("control").call(b"INFO", b"expiry"):
            pass
        wrong = event_diff.of_policy(self.until_mark(), self.data.take_records(), self.flags)
        if wrong:
            raise Difference(("events", *words[:2]), wrong)

    def word(self, word):
        if word[:2] == b"@p":
            return b"%d" % (self.data.now + int(word[2:]))
        if word[:2] == b"@s":
            return b"%d" % (self.data.now // 1000 + int(word[2:]))
        return word

    # --- time ---

    def step_command(self, to):
        return [b"DEBUG", b"CLOCK", b"HOLD", b"%d" % to]

    def move_clock(self, to):
        self.ask(b"DEBUG", b"CLOCK", b"STEP", b"%d" % (to - self.data.now))
        groups, count = self.step_model(to)
        wrong = event_diff.of_time(self.until_mark(), groups, count, self.flags)
        if wrong:
            raise Difference(("events", "clock"), wrong)

    def step_model(self, to):
        groups, count = self.data.step(to)
        self.touch(*[(db, name) for _, db, name, _ in groups])
        return groups, count

    def touch(self, *places):
        self.touched = self.touched or not self.watched.isdisjoint(places)

    def step_late(self, how, seed, count):
        if how[:3] == b"due":
            due = self.data.next_deadline()
            to = max(self.data.now, due + int(how[3:])) if due != NEVER else self.data.now
        else:
            to = self.data.now + int(how)
        self.batch = [self.step_command(to)]
        self.groups, _ = self.step_model(to)
        self.late = True
        questions = Questions(self.data, random.Random(int(seed)))
        self.batch += [questions.plain() for _ in range(int(count))]

    # --- commands ---

    def flush(self):
        batch, self.batch = self.batch, []
        if not batch:
            return
        connection = self.connection("a")
        connection.send(b"".join(resp.encode(*words) for words in batch))
        replies = connection.replies(len(batch))
        names = {words[0] for words in batch}
        for words, reply in zip(batch, replies):
            self.at = words
            self.compare(words, answer.read(resp.value_of(reply)[0]))
        self.compare_events(names)

    def compare_events(self, names):
        records = self.data.take_records()
        if not self.late:
            wrong = event_diff.of_commands(self.until_mark(), records, self.flags)
        else:
            self.ask(b"DEBUG", b"CLOCK", b"STEP", b"0")
            wrong = event_diff.of_both(self.until_mark(), self.groups, records, self.flags,
                                     not names.intersection(SPREADS))
        self.late, self.groups = False, []
        if wrong:
            raise Difference(("events", *sorted(names)) if len(names) == 1 else ("events",), wrong)

    def compare(self, words, reply):
        if words[0] == b"EXEC" and isinstance(reply, list) and self.queue is not None:
            reply = [answer.flat(queued[0], item) for queued, item in zip(self.queue, reply)] + \
                reply[len(self.queue):]
        reply = answer.flat(words[0], reply)
        wanted = self.answer(words, reply)
        if not matches(reply, wanted):
            raise Difference(("reply", words[0]), f"{words}: got {reply}, wanted {wanted}")

    def answer(self, words, reply):
        name = words[0]
        if name == b"DEBUG":
            return self.data.now
        if name == b"MULTI":
            self.queue = []
            return OK
        if name == b"DISCARD":
            self.queue = None
            self.unwatch()
            return OK
        if name == b"WATCH":
            self.watched.add((self.data.db, words[1]))
            return OK
        if name == b"EXEC" and self.queue is None:
            return Error(b"ERR EXEC without MULTI")
        if name == b"EXEC":
            queue, self.queue = self.queue, None
            touched = self.touched
            self.unwatch()
            if touched:
                return None
            if not isinstance(reply, list) or len(reply) != len(queue):
                raise Difference(("reply", name), f"EXEC of {len(queue)}: got {reply}")
            return [self.run_command(*pair) for pair in zip(queue, reply)]
        if self.queue is not None:
            self.queue.append(words)
            return QUEUED
        return self.run_command(words, reply)

    def unwatch(self):
        self.watched, self.touched = set(), False

    def run_command(self, words, reply):
        before = len(self.data.records)
        try:
            wanted = keys.run(self.data, words, reply)
            self.touch(*[(record.db, record.key) for record in self.data.records[before:]
                         if not record.by_read])
            return wanted
        except Refused as error:
            return Error(error.args[0])
        except Exception:  # pylint: disable=broad-except
            raise Difference(("the model failed", words[0]),
                             f"{words}: {reply}\n{traceback.format_exc()}") from None

    def call(self, *words):
        """Sends one command and compares its reply and events."""
        self.add(list(words))
        self.flush()

    def until_mark(self):
        """The [(channel, message)] received so far."""
        self.connection("control").call(b"PUBLISH", MARK, b"")
        connection, heard = self.connection("events"), []
        while True:
            for reply in connection.replies(1):
                words = [word[1] for word in resp.value_of(reply)[0][1]]
            if words[0] == b"message":
                return heard
            if words[0] == b"pmessage":
                heard.append((words[2], words[3]))

    # --- questions ---

    def read(self, rng, count):
        questions = Questions(self.data, rng)
        for _ in range(count):
            words = questions.one()
            self.at = words
            if words[0][:1] != b"@":
                self.call(*words)
            else:
                getattr(self, "ask_" + words[0][1:].decode().lower())(*words[1:])

    def differ(self, what, got, wanted):
        raise Difference(("question", what), f"{what}: got {got}, wanted {wanted}")

    def ask_scan(self, letter, size, *key):
        """A complete scan returns each member at least once, and nothing else."""
        held = self.data.dbs[self.data.db]
        if key:
            held = self.data.find(key[0])
            if held is not None and held.kind != {b"S": "set", b"H": "hash", b"Z": "zset"}[letter]:
                return
            held = held.value if held else {}
        a = self.connection("a")
        cursor, found = b"0", []
        while True:
            reply = answer.read(resp.value_of(
                a.call(letter + b"SCAN", *key, cursor, b"COUNT", size))[0])
            if isinstance(reply, Error):
                self.differ("scan", reply, "no error")
            self.scanned(*key)
            cursor, items = reply
            found += answer.pairs_of(items) if letter in (b"H", b"Z") else items
            if cursor == b"0":
                break
        self.compare_events({letter + b"SCAN"})
        wanted = set(held)
        if letter == b"H":
            wanted = {(name, pair[0]) for name, pair in held.items()}
        elif letter == b"Z":
            wanted = {(name, answer.number(pair[0])) for name, pair in held.items()}
        if set(found) != wanted:
            self.differ("scan", sorted(found), sorted(wanted))

    def scanned(self, *key):
        """Notes the read in the model, for policies with REFRESH ACCESS."""
        self.data.begin_call()
        if key:
            self.data.read(key[0])
        self.data.end_call()

    def ask_memory(self, name):
        """A collection uses not much more memory than a copy of it, which never held expired members.
        Tables shrink in steps. The copy of a small collection is packed, while one that was large
        before stays a table."""
        key = self.data.find(name)
        if self.data.policies or key is None or key.kind not in COLLECTIONS:
            return
        self.call(b"COPY", name, b"~copy", b"REPLACE")
        sizes = [resp.value_of(self.connection("a").call(b"MEMORY", b"USAGE", one))[0][1]
                 for one in (name, b"~copy")]
        self.call(b"DEL", b"~copy")
        size, most = int(sizes[0]), 5 * int(sizes[1]) // 2 + 512
        if key.size() <= PACKED:
            most += IN_TABLES * key.size()
        if size > most:
            self.differ("memory", size, f"at most {most}")

    # --- the end ---

    def end(self):
        self.at = "the end"
        self.ask(b"DEBUG", b"CHECK")
        got = self.ask(b"POLICY", b"LIST")[::2]
        if got != sorted(self.data.policies):
            self.differ("policies", got, sorted(self.data.policies))
        for name in got:
            self.ask(b"POLICY", b"DEL", name)
        got = self.ask(b"DEBUG", b"DIGEST")
        wanted = self.digest_of_rebuilt()
        if got != wanted:
            self.differ("digest", got, wanted)

    def digest_of_rebuilt(self):
        # One millisecond earlier, so that deadlines equal to the current time can be set.
        calls = [[b"FLUSHALL"], self.step_command(self.data.now - 1)]
        for db in range(DATABASES):
            calls.append([b"SELECT", b"%d" % db])
            for key in self.data.dbs[db].values():
                calls += list(self.made(key))
        connection = self.rebuilt.connection("a")
        connection.calls(calls + [self.step_command(self.data.now)])
        return answer.read(resp.value_of(connection.call(b"DEBUG", b"DIGEST"))[0])

    @staticmethod
    def made(key):
        """The commands that create this key."""
        name, value = key.name, key.value
        if key.kind == "string":
            yield [b"SET", name, value]
        elif key.kind == "list":
            yield [b"RPUSH", name, *value]
        elif key.kind == "set":
            yield [b"SADD", name, *value]
        elif key.kind == "hash":
            yield [b"HSET", name, *[word for field, pair in value.items() for word in (field, pair[0])]]
        else:
            yield [b"ZADD", name, *[word for member, pair in value.items()
                                    for word in (answer.number(pair[0]), member)]]
        if key.kind in COLLECTIONS:
            letter, word = {"set": (b"S", b"MEMBERS"), "hash": (b"H", b"FIELDS"),
                            "zset": (b"Z", b"MEMBERS")}[key.kind]
            by_deadline = {}
            for member, (_, at) in value.items():
                if at != NEVER:
                    by_deadline.setdefault(at, []).append(member)
            for at, members in by_deadline.items():
                yield [letter + b"PEXPIREAT", name, b"%d" % at, word, b"%d" % len(members), *members]
        if key.at != NEVER:
            yield [b"PEXPIREAT", name, b"%d" % key.at]
