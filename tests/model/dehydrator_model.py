"""dehydrator_model: a model of dehydrators, and of sorted sets of times.

Holds two databases of keys and the blocked clients; the time is an argument. Plain dictionaries that
are sorted on demand. Must not depend on sockets or on how replies are encoded.
"""
import functools
import math
import re
from collections import Counter
from dataclasses import dataclass, replace

from dataset import BANDS, band_of

NOON = 1_900_000_000_000  # where its time begins
LATEST = 2**63 - 3
WAITS = object()  # instead of a reply
MOST_CLAIMED = {b"d1": 3, b"d2": 1}  # policies
PREFIX = b"d*"  # the one for which there is an index
NO_ARRAY = object()
WRONGTYPE = b"WRONGTYPE "
OPTIONS = ("KEEP", "REPLACE", "POSTPONE", "REMEMBER", "EVERY", "CRON")


def anything(_):
    return True


class Refused(Exception):
    """The text that an error begins with."""


class Status(bytes):
    pass


class Token(int):
    """A fencing token, counted from the first one that the daemon granted."""


@dataclass
class Options:
    """Of a push, which its element keeps: the instant of the first push, two spans, the first multiple, and
    instead of a span a schedule."""
    first: int = 0
    remember: int = 0
    every: int = 0
    phase: int = 0
    cron: str = ""


@dataclass
class Successor:
    """What follows a claimed element when that is acknowledged."""
    payload: bytes
    at: int
    options: Options


# Schedules, which mean the same in each zone, and the span between their instants, multiples of it.
SCHEDULES = {"* * * * * *": 1000, "*/5 * * * * *": 5000, "*/30 * * * * *": 30_000, "* * * * *": 60_000}


def after(cron, instant):
    """The next instant of a schedule after this one."""
    return (instant // SCHEDULES[cron] + 1) * SCHEDULES[cron]


class Push:
    """The options of a push: its mode is None, KEEP, REPLACE or POSTPONE."""

    def __init__(self, words):
        words = list(words)
        self.mode, self.at_most, self.remember, self.every, self.cron, self.zone = None, 0, 0, 0, "", ""
        while words:
            word = words.pop(0)
            if word in ("KEEP", "REPLACE", "POSTPONE"):
                self.mode = word
            else:
                setattr(self, {"ATMOST": "at_most"}.get(word, word.lower()), words.pop(0))

    def place(self, now, at, first=0):
        """The deadline, and what the element keeps."""
        kept = Options(0, self.remember, self.every, 0, self.cron)
        if self.mode == "POSTPONE":
            kept.first = first or now
            if self.at_most:
                at = min(at, kept.first + self.at_most)
        if self.cron:
            at = after(self.cron, max(at, now))
        kept.phase = at
        return at, kept


class Element:
    def __init__(self, payload, at=0, arrival=0, deliveries=0, claimed=False, token=None):
        self.payload, self.at, self.arrival = payload, at, arrival
        self.deliveries, self.claimed, self.token = deliveries, claimed, token
        self.options = Options()
        self.is_new_here = False  # stored by the current step

    def copy(self):
        other = Element(self.payload, self.at, self.arrival, self.deliveries, self.claimed, self.token)
        other.options = self.options
        return other

    def give_back(self):
        """As if it had never been claimed, apart from the count of deliveries."""
        self.claimed, self.token = False, None


class Key:
    """kind: a dehydrator {id: Element}, a zset {member: score}, a list."""

    def __init__(self, kind):
        self.kind, self.expires = kind, None
        self.value = [] if kind == "list" else {}
        self.paused, self.remembered, self.successors = 0, {}, {}  # of a dehydrator

    def copy(self):
        other = Key(self.kind)
        other.expires = self.expires
        other.value = ({i: e.copy() for i, e in self.value.items()}
                       if self.kind == "dehydrator" else self.value.copy())
        other.paused, other.remembered = self.paused, self.remembered.copy()
        other.successors = self.successors.copy()
        return other


class Turns:
    """Whose turn it is among the dehydrators with PREFIX of a database: those in the ring, in order, and when the others
    join it, with a number that grows."""

    def __init__(self):
        self.ring, self.later, self.moves = [], {}, 0


class Waiter:
    def __init__(self, client, db, words, until):
        self.client, self.db, self.words, self.until = client, db, words, until
        self.kind = "dehydrator" if words[0].startswith("REDE") else "zset"


def was_over(key, now):
    """Was there nothing left in a dehydrator by then, neither elements nor a pause nor a remembered id?"""
    return key.kind == "dehydrator" and not key.value and max(key.paused, *key.remembered.values(), 0) <= now


class Model:
    """Two databases, what the clients have received, and each key's events."""

    def __init__(self):
        self.now, self.arrivals = NOON, 0
        self.granted, self.first_token = 0, None
        self.dbs, self.turns = [{}, {}], [Turns(), Turns()]
        self.touched, self.turn = [], None  # keys that changed; the one whose turn it is
        self.waiting, self.heard = [], {}
        self.ready, self.wakes, self.armings = [], {}, 0  # keys: in order; (instant, arming) by key
        self.tried = {}  # waiters who found nothing since the ready key became ready
        self.events, self.notified, self.allowed, self.demanded = {}, set(), set(), set()

    # -- what the programs do --

    def do(self, client, db, commands, in_multi):
        """Runs a command; returns its reply, or None if it blocks."""
        self.begin()
        replies = [self.reply(client, db, words, in_multi) for words in commands]
        self.serve()
        self.demanded.update(where for where, key in self.dehydrators()
                             if any(key.value[ident].is_new_here for ident in self.due(key)))
        return replies

    def step(self, now):
        """Sets the time, which may be earlier than before: then expired keys stay removed, and due
        elements wait again."""
        old, self.now = self.now, now
        self.begin()
        for number, db in enumerate(self.dbs):
            for name, key in list(db.items()):
                died = key.expires is not None and now > key.expires
                fell = [e for e in key.value.values() if old < e.at <= now
                        and not (died and e.at > key.expires)] if key.kind == "dehydrator" else []
                if fell:
                    (self.allowed if died else self.demanded).add((number, name))
                if died:
                    self.tell(number, name, "del" if was_over(key, key.expires) else "expired")
                    del db[name]
                elif key.kind == "dehydrator":
                    self.end_spans(number, name, key)
        self.settle_turns()
        if now < old:
            self.check_turns()
        self.note_due()
        self.wake()
        for waiter in [w for w in self.waiting if w.until and w.until <= now]:
            self.stop(waiter)
            self.say(waiter.client, nothing_came(waiter.words))

    def end_spans(self, db, name, key):
        if key.paused and key.paused <= self.now:
            key.paused = 0
            self.make_ready(db, name, "dehydrator")
        key.remembered = {ident: until for ident, until in key.remembered.items() if until > self.now}
        self.drop_empty(db, name)

    def begin(self):
        self.events, self.notified, self.allowed, self.demanded = {}, set(), set(), set()
        self.note_due()
        self.forget_new()

    def forget_new(self):
        """At the end of a step: notes that due events of new elements have been sent, which may be under
        another key."""
        for _, key in self.dehydrators():
            for element in key.value.values():
                element.is_new_here = False

    def dehydrators(self):
        return [((number, name), key) for number, db in enumerate(self.dbs)
                for name, key in db.items() if key.kind == "dehydrator"]

    def note_due(self):
        self.allowed.update(where for where, key in self.dehydrators() if self.due(key))

    def say(self, client, reply):
        self.heard.setdefault(client, []).append(reply)

    def reply(self, client, db, words, in_multi):
        try:
            reply = self.run(db, words)
        except Refused as refused:
            reply = refused
        self.note_due()
        if reply is not WAITS:
            return reply
        if in_multi:
            return nothing_came(words)
        timeout = words[{"REDE.BPOLL": 2, "BZTSPOP": 3, "BZTSMOVE": 4}.get(words[0]) or
                        words.index("BLOCK") + 1]
        until = self.now + math.ceil(float(timeout) * 1000) if float(timeout) else None
        self.waiting.append(Waiter(client, db, words, until))
        self.arm(db, words)
        return WAITS

    # -- serving: key by key, in the order in which keys became ready; the clients of a key in the
    # order of arrival --

    def stop(self, waiter):
        self.waiting.remove(waiter)
        where = waiter.db, waiter.words[1]
        if all((w.db, w.words[1]) != where for w in self.waiting):
            self.wakes.pop(where, None)
            self.ready = [other for other in self.ready if other != where]

    def make_ready(self, db, name, kind=None):
        """kind: there is no effect unless some client waits for it."""
        if kind == "dehydrator":
            self.touch(db, name)
        is_wanted = any((w.db, w.words[1]) == (db, name) for w in self.waiting)
        if is_wanted and (kind is None or any(w.kind == kind for w in self.waiting)):
            self.tried.pop((db, name), None)
            if (db, name) not in self.ready:
                self.ready.append((db, name))

    def arm(self, db, words):
        """Makes the key ready when its next element falls due, or may be claimed, or earlier."""
        name = words[1]
        if name == PREFIX:
            turns = self.turns[db]
            self.wake_at(db, name, self.now if turns.ring else min((at for at, _ in turns.later.values()), default=None))
            return
        key = self.dbs[db].get(name)
        if key is None or not key.value:
            return
        at = (min(e.at for e in key.value.values()) if key.kind == "dehydrator"
              else math.ceil(min(key.value.values()) * 1000))
        at = max(at, key.paused)
        if words[0] == "REDE.CLAIM" and self.claims_left(db, name) == 0:
            at = max(at, min(e.at for e in key.value.values() if self.is_claimed(e)))
        self.wake_at(db, name, at)

    def wake_at(self, db, name, at):
        if at is not None and ((db, name) not in self.wakes or self.wakes[db, name][0] > at):
            self.armings += 1
            self.wakes[db, name] = at, self.armings

    # -- turns --

    def claimable_at(self, db, name):
        """When an element of the key may be claimed, as things are; None without elements."""
        key = self.dbs[db].get(name)
        if key is None or key.kind != "dehydrator" or not key.value:
            return None
        at = max(min(e.at for e in key.value.values()), key.paused)
        if self.claims_left(db, name) == 0:
            at = max(at, min(e.at for e in key.value.values() if self.is_claimed(e)))
        return at

    def touch(self, db, name):
        """Notes a change of a key under the prefix."""
        where = db, name
        if name != PREFIX and name.startswith(PREFIX[:-1]) and where != self.turn and where not in self.touched:
            self.touched.append(where)

    def settle_turns(self):
        """At the end of a command."""
        while self.touched:
            db, name = self.touched.pop(0)
            self.catch_up(db)
            self.put_in_turn(db, name)

    def catch_up(self, db):
        later = self.turns[db].later
        while due := [name for name, (at, _) in later.items() if at <= self.now]:
            self.put_in_turn(db, min(due, key=later.get))

    def check_turns(self):
        """After the clock was set back, one of the keys that wait may be claimable earlier than before."""
        for db, turns in enumerate(self.turns):
            for name in sorted(turns.later, key=turns.later.get):
                self.put_in_turn(db, name)

    def put_in_turn(self, db, name, behind=False):
        turns, at = self.turns[db], self.claimable_at(db, name)
        was_in_ring, is_due = name in turns.ring, at is not None and at <= self.now
        if was_in_ring and is_due and not behind:
            return
        if not is_due and at is not None and turns.later.get(name, [0])[0] == at:
            return
        if was_in_ring:
            turns.ring.remove(name)
        if is_due:
            turns.later.pop(name, None)
            turns.ring.append(name)
            if not was_in_ring:
                self.make_ready(db, name)
                self.make_ready(db, PREFIX)
        elif at is None:
            turns.later.pop(name, None)
        else:
            turns.moves += 1
            turns.later[name] = at, turns.moves
            if any((w.db, w.words[1]) == (db, PREFIX) for w in self.waiting):
                self.wake_at(db, PREFIX, at)

    def wake(self):
        self.serve()
        while due := [where for where, (at, _) in self.wakes.items() if at <= self.now]:
            first = min(due, key=self.wakes.get)
            del self.wakes[first]
            self.make_ready(*first)
            self.serve()

    def serve(self):
        while self.ready:
            self.serve_key(*self.ready.pop(0))
        self.note_due()

    def serve_key(self, db, name):
        """The clients of a key, or of the prefix. Before one of a key under the prefix, those of the prefix that began
        to wait earlier are tried, until one of them finds nothing."""
        tried_before = self.tried.pop((db, name), ())
        queue = [w for w in self.waiting if (w.db, w.words[1]) == (db, name) and w not in tried_before]
        nothing = set()  # commands that found nothing
        while queue:
            waiter, earlier = queue[0], None
            if waiter.words[0] in nothing:
                queue.pop(0)
                continue
            if name != PREFIX and name.startswith(PREFIX[:-1]) and "REDE.FAIRCLAIM" not in nothing:
                earlier = next((w for w in self.waiting[:self.waiting.index(waiter)]
                                if (w.db, w.words[1]) == (db, PREFIX)), None)
            if earlier is None:
                queue.pop(0)
            tried = earlier or waiter
            if tried.words[1] == PREFIX:
                self.catch_up(db)
                if self.defers(tried):
                    if earlier and (db, name) not in self.ready:
                        self.make_ready(db, name)
                        self.tried[db, name] = self.waiting[:self.waiting.index(waiter)]
                    self.make_ready(db, PREFIX)
                    return
            elif name not in self.dbs[db]:
                return
            if self.serve_one(tried) is WAITS:
                nothing.add(tried.words[0])

    def defers(self, waiter):
        """Does an earlier client that was not tried wait for a key under the prefix that is ready?"""
        return any(where[0] == waiter.db and where in self.ready and where[1].startswith(PREFIX[:-1]) and
                   where[1] != PREFIX and other.kind == "dehydrator" and other not in self.tried.get(where, ())
                   for other in self.waiting[:self.waiting.index(waiter)] for where in [(other.db, other.words[1])])

    def serve_one(self, waiter):
        key = self.dbs[waiter.db].get(waiter.words[1])
        if waiter.words[1] != PREFIX and (key is None or key.kind != waiter.kind):
            return None
        try:
            reply = self.run(waiter.db, waiter.words)
        except Refused as refused:
            reply = refused
        if reply is WAITS:
            self.arm(waiter.db, waiter.words)
        else:
            self.stop(waiter)
            self.say(waiter.client, reply)
        return reply

    def has_unordered_waiters(self):
        """May the outcome of SWAPDB depend on which of two keys is served first?"""
        waited_for = {w.words[1] for w in self.waiting}
        return any(w.words[0] == "BZTSMOVE" and w.words[2] in waited_for for w in self.waiting)

    def instants(self):
        """All instants at which something happens without a command."""
        found = {w.until for w in self.waiting if w.until}
        for db in self.dbs:
            for key in db.values():
                if key.kind == "dehydrator":
                    found.update(e.at for e in key.value.values())
                    found.update((key.paused, *key.remembered.values()))
                elif key.kind == "zset":
                    found.update(math.ceil(s * 1000) for s in key.value.values())
                if key.expires is not None:
                    found.add(key.expires + 1)
        return sorted(at for at in found if self.now < at < LATEST)

    def has_timeouts(self):
        return any(w.until for w in self.waiting)

    # -- parts of commands --

    def run(self, db, words):
        name, *arguments = words
        self.notified = set()
        try:
            return getattr(self, name.lower().replace(".", "_"))(db, *arguments)
        finally:
            self.settle_turns()

    def tell(self, db, name, event):
        """Records one event of a command and key, for any number of elements."""
        if event != "rede.update":
            self.touch(db, name)
        if (db, name, event) not in self.notified:
            self.notified.add((db, name, event))
            self.events.setdefault((db, name), []).append(event)

    def find(self, db, name, kind="dehydrator"):
        key = self.dbs[db].get(name)
        if key is not None and key.kind != kind:
            raise Refused(WRONGTYPE)
        return key

    def find_or_new(self, db, name, kind="dehydrator"):
        return self.find(db, name, kind) or self.dbs[db].setdefault(name, Key(kind))

    def elements(self, db, name):
        key = self.find(db, name)
        return key.value if key else {}

    def instant(self, ttl, what="ttl"):
        if not isinstance(ttl, int) or self.now + max(ttl, 0) > LATEST or abs(ttl) >= 2**63:
            raise Refused(f"ERR {what} is not an integer or out of range".encode())
        return self.now + max(ttl, 0)

    def place(self, element, at):
        self.arrivals += 1
        element.at, element.arrival, element.is_new_here = at, self.arrivals, True
        return element

    def due(self, key, count=None):
        """Ids of due elements, in order."""
        return [i for i in in_order(key.value) if key.value[i].at <= self.now][:count]

    def deliverable(self, db, name, count=None):
        """How many of the due elements a command gets."""
        key = self.find(db, name)
        return 0 if key is None or key.paused else len(self.due(key, count))

    def finish(self, db, name, ident, event):
        """Ends a delivery: what follows takes the element's place, or it goes. Returns the payload."""
        key = self.dbs[db][name]
        element = key.value[ident]
        payload, every, cron = element.payload, element.options.every, element.options.cron
        follows = key.successors.pop(ident, None)
        if follows is None and not every and not cron:
            return self.take(db, name, ident, event)
        if follows is not None:
            self.remember(key, ident, element)
            element.payload, element.options, at = follows.payload, follows.options, follows.at
        elif cron:
            at = element.options.phase
            if at <= self.now:
                at = after(cron, self.now)
        else:
            missed = (self.now - element.options.phase) // every
            at = element.options.phase + max(0, missed + 1) * every
        element.give_back()
        element.deliveries = 0
        if follows is None:
            element.options = replace(element.options, first=0)
        self.place(element, at)
        self.tell(db, name, event)
        self.make_ready(db, name, "dehydrator")
        return payload

    def take(self, db, name, ident, event):
        key = self.dbs[db][name]
        element = key.value.pop(ident)
        key.successors.pop(ident, None)
        self.remember(key, ident, element)
        self.tell(db, name, event)
        self.make_ready(db, name)  # a claim may have ended
        self.drop_empty(db, name)
        return element.payload

    def remember(self, key, ident, element):
        until = self.now + element.options.remember
        if element.options.remember:
            key.remembered[ident] = max(until, key.remembered.get(ident, until))

    def drop_empty(self, db, name):
        key = self.dbs[db][name]
        if not key.value and not key.paused and not key.remembered:
            del self.dbs[db][name]
            self.tell(db, name, "del")

    def is_claimed(self, element):
        return element.claimed and element.at > self.now

    def claims_left(self, db, name):
        """How many more elements may be claimed; None: any number."""
        most, key = MOST_CLAIMED.get(name), self.dbs[db][name]
        return None if most is None else max(0, most - sum(map(self.is_claimed, key.value.values())))

    # -- pushing --

    def push(self, db, name, triples, push):
        """How many were pushed."""
        key = self.find(db, name) or Key("dehydrator")
        ids = [ident for _, _, ident in triples]
        if push.mode is None and (len(set(ids)) < len(ids) or
                                  any(i in key.value or i in key.remembered for i in ids)):
            raise Refused(b"ERROR: Element already dehydrating.")
        return sum(self.push_one(db, name, *triple, push) for triple in triples)

    def push_one(self, db, name, at, payload, ident, push):
        key = self.find_or_new(db, name)
        element, follows = key.value.get(ident), key.successors.get(ident)
        if element is None and ident in key.remembered or element is not None and push.mode == "KEEP":
            return False
        first = follows.options.first if follows else 0
        if element is not None and element.claimed:
            at, options = push.place(self.now, at, first)
            key.successors[ident] = Successor(payload, at, options)
        else:
            key.successors.pop(ident, None)
            element = element or key.value.setdefault(ident, Element(payload))
            first = first or (0 if element.deliveries else element.options.first)
            element.payload, element.deliveries = payload, 0
            at, element.options = push.place(self.now, at, first)
            self.place(element, at)
            self.make_ready(db, name, "dehydrator")
        self.tell(db, name, "rede.push")
        return True

    def rede_pushat(self, db, name, at, payload, ident, *options):
        return Status(b"OK") if self.push(db, name, [(at, payload, ident)], Push(options)) else None

    def rede_push(self, db, name, ttl, payload, ident, *options):
        return self.rede_pushat(db, name, self.instant(ttl), payload, ident, *options)

    def rede_mpush(self, db, name, *words):
        end = next((i for i in range(3, len(words), 3) if words[i] in OPTIONS), len(words))
        triples = [(self.instant(words[i]), *words[i + 1:i + 3]) for i in range(0, end, 3)]
        return self.push(db, name, triples, Push(words[end:]))

    def rede_gidpush(self, db, name, ttl, payload, *options):
        made = Made()
        self.push(db, name, [(self.instant(ttl), payload, made)], Push(options))
        return made

    # -- pauses --

    def rede_pause(self, db, name, *until):
        until = until[1] if until else LATEST
        if until <= self.now:
            raise Refused(b"ERR unix-ms is in the past")
        self.find_or_new(db, name).paused = until
        self.make_ready(db, name, "dehydrator")
        return Status(b"OK")

    def rede_resume(self, db, name):
        key = self.find(db, name)
        if key is not None and key.paused:
            key.paused = 0
            self.make_ready(db, name, "dehydrator")
            self.drop_empty(db, name)
        return Status(b"OK")

    def learn(self):
        """Takes the ids that the daemon generated from its replies."""
        for _, key in self.dehydrators():
            for made in [i for i in key.value if isinstance(i, Made) and i.text is not None]:
                key.value[made.text] = key.value.pop(made)

    # -- one by its id --

    def rede_pull(self, db, name, ident, forget=None):
        key = self.find(db, name)
        if key is None:
            return None
        element, was_remembered = key.value.get(ident), ident in key.remembered
        if forget:
            key.remembered.pop(ident, None)
        if element is None:
            if forget and was_remembered:
                self.drop_empty(db, name)
            return None
        if forget:
            element.options = Options()
        return self.take(db, name, ident, "rede.pull")

    def rede_look(self, db, name, ident):
        there = self.elements(db, name)
        return there[ident].payload if ident in there else None

    def rede_update(self, db, name, ident, payload):
        if self.find(db, name) is None:
            raise Refused(b"ERROR: No Such dehydrator.")
        element = self.elements(db, name).get(ident)
        if element is None:
            raise Refused(b"ERROR: No Such Element.")
        old, element.payload = element.payload, payload
        return old

    def grant(self):
        self.granted += 1
        return Token(self.granted)

    def is_token(self, token, text):
        """Is this the number of a token? The first one is learned."""
        if self.first_token is None:
            self.first_token = int(text) - token
        return int(text) == self.first_token + token

    def held(self, db, name, pairs):
        """The ids and elements whose claims have the tokens given."""
        there = self.elements(db, name)
        for ident, token in zip(pairs[::2], pairs[1::2]):
            element = there.get(ident)
            if element is not None and element.token == token:
                yield ident, element

    def rede_ack(self, db, name, *pairs):
        return len([self.finish(db, name, ident, "rede.ack")
                    for ident, _ in self.held(db, name, pairs)])

    def rede_extend(self, db, name, lease, *pairs):
        end = self.instant(lease if isinstance(lease, int) and lease > 0 else None, "lease")
        return self.move_all(db, name, [i for i, _ in self.held(db, name, pairs)],
                             "rede.reschedule", lambda e: not self.has_lost_claim(db, name, e), end)

    def has_lost_claim(self, db, name, element):
        """Has its lease ended, and are as many others claimed as may be?"""
        return element.claimed and element.at <= self.now and self.claims_left(db, name) == 0

    def rede_retry(self, db, name, delay, *words):
        if delay == "FIRST":
            first = min((e.at for e in self.elements(db, name).values()), default=self.now)
            at = self.now if first > self.now else max(first - 1, 0)
        else:
            at = self.instant(delay, "delay")
        given_back = 0
        for _, element in self.held(db, name, words[len(words) % 2:]):
            element.give_back()
            element.deliveries -= len(words) % 2
            self.place(element, at)
            self.tell(db, name, "rede.nack")
            self.make_ready(db, name, "dehydrator")
            given_back += 1
        return given_back

    def move_all(self, db, name, ids, event, movable, at):
        moved = 0
        there = self.elements(db, name)
        for element in (there.get(ident) for ident in ids):
            if element is not None and movable(element):
                if event != "rede.reschedule" or self.has_lost_claim(db, name, element):
                    element.give_back()
                self.place(element, at)
                self.tell(db, name, event)
                self.make_ready(db, name, "dehydrator")
                moved += 1
        return moved

    def rede_nack(self, db, name, delay, *ids):
        at = self.instant(delay, "delay")
        return self.move_all(db, name, ids, "rede.nack", self.is_claimed, at)

    def rede_reschedule(self, db, name, ttl, *ids):
        at = self.instant(ttl)
        return self.move_all(db, name, ids, "rede.reschedule", lambda _: True, at)

    def rede_xack(self, db, name, *ids):
        if self.find(db, name) is None:
            return []
        return [self.finish(db, name, ident, "rede.ack")
                if (e := self.elements(db, name).get(ident)) and (e.claimed or e.at <= self.now)
                else None for ident in ids]

    # -- due elements --

    def rede_poll(self, db, name, *options):
        taken, most = [], option(options, "COUNT")
        while self.deliverable(db, name) and (most is None or len(taken) < most):
            ident = self.due(self.dbs[db][name])[0]
            taken.append((ident, self.finish(db, name, ident, "rede.poll")))
        return [list(pair) if "WITHIDS" in options else pair[1] for pair in taken]

    def rede_bpoll(self, db, name, _timeout, *options):
        return self.rede_poll(db, name, *options) or WAITS

    def rede_xpoll(self, db, name, *options):
        key = self.find(db, name)
        return self.due(key, option(options, "COUNT")) if key and not key.paused else []

    def rede_claim(self, db, name, lease, *options):
        end = self.instant(lease if isinstance(lease, int) and lease > 0 else None, "lease")
        key = self.find(db, name)
        due = self.due(key, option(options, "COUNT")) if key and not key.paused else []
        claims = [self.claim(db, name, ident, end, options)
                  for ident in due[:self.claims_left(db, name) if due else 0]]
        return claims or (WAITS if "BLOCK" in options else [])

    def claim(self, db, name, ident, end, options):
        element = self.dbs[db][name].value[ident]
        self.place(element, end)
        element.claimed = True
        element.deliveries += 1
        element.token = self.grant() if "TOKENS" in options else None
        self.tell(db, name, "rede.claim")
        self.make_ready(db, name, "dehydrator")
        token = [] if element.token is None else [functools.partial(self.is_token, element.token)]
        return [ident, element.payload, element.deliveries, *token]

    def rede_fairclaim(self, db, _prefix, lease, *options):
        end = self.instant(lease if isinstance(lease, int) and lease > 0 else None, "lease")
        count, ring, claims = option(options, "COUNT") or 1, self.turns[db].ring, []
        while len(claims) < count:
            self.catch_up(db)
            if not ring:
                break
            name = ring[0]
            self.turn = db, name
            at = self.claimable_at(db, name)
            if at is not None and at <= self.now:
                if claims and claims[-1][0] != name:
                    self.notified.discard((db, name, "rede.claim"))  # one event for each turn
                claims.append([name, *self.claim(db, name, self.due(self.dbs[db][name])[0], end, options)])
            self.turn = None
            self.put_in_turn(db, name, behind=True)
        return claims or (WAITS if "BLOCK" in options else [])

    # -- reading --

    def rede_ttn(self, db, name):
        there = self.elements(db, name)
        return max(0, min(e.at for e in there.values()) - self.now) if there else None

    def rede_len(self, db, name, which=None):
        there = self.elements(db, name).values()
        return len([e for e in there if which is None or
                    (e.at <= self.now if which == "DUE" else self.is_claimed(e))])

    def rede_count(self, db, name, low, high):
        return len(self.rede_range(db, name, low, high))

    def expiry(self, db, _):
        """EXPIRY FORECAST; another model compares keys and members."""
        found = Counter(band_of(e.at - self.now) for key in self.dbs[db].values() if key.kind == "dehydrator"
                        for e in key.value.values() if e.at > self.now)
        return [[name, anything, anything, found[name]] for name, _ in BANDS]

    def rede_range(self, db, name, low, high, *options):
        there = self.elements(db, name)
        return [[ident, there[ident].at] for ident in in_order(there)
                if low <= there[ident].at <= high][:option(options, "COUNT")]

    def rede_info(self, db, name):
        there = self.elements(db, name)
        least = 8 * len(there)  # now: there may be more when the reply is compared
        first = min((e.at for e in there.values()), default=None)
        return {b"length": len(there), b"due": self.rede_len(db, name, "DUE"),
                b"claimed": self.rede_len(db, name, "CLAIMED"),
                b"redelivered": sum(e.deliveries > 1 for e in there.values()),
                b"next-deadline": first,
                b"distinct-ttls": len({e.at for e in there.values()}),
                b"bytes": lambda text: int(text or 0) >= least,
                b"paused-until": self.paused_until(db, name),
                b"oldest-due-ms": self.now - first if first is not None and first <= self.now else None,
                # Statistics begin anew at a restart.
                **dict.fromkeys((b"pushed", b"delivered", b"acked", b"retried", b"dead", b"lateness-p50",
                                 b"lateness-p99"), lambda text: int(text or 0) >= 0)}

    def paused_until(self, db, name):
        key = self.find(db, name)
        return None if not key or not key.paused else -1 if key.paused == LATEST else key.paused

    # -- sorted sets of times, and the destinations of their members --

    def zadd(self, db, name, score, member):
        key = self.find_or_new(db, name, "zset")
        is_new = member not in key.value
        if key.value.get(member) != score:
            self.make_ready(db, name, "zset")
        key.value[member] = score
        return int(is_new)

    def zrem(self, db, name, member):
        key = self.find(db, name, "zset")
        if key is None or member not in key.value:
            return 0
        del key.value[member]
        self.drop_empty(db, name)
        return 1

    def bztspop(self, db, name, count, _timeout, to=None):
        key = self.find(db, name, "zset")
        past = sorted((s, m) for m, s in key.value.items() if s <= self.now / 1000) if key else []
        if past and to is not None:
            self.find_or_new(db, to, "list").value.extend(m for _, m in past[:count])
        for _, member in past[:count]:
            del key.value[member]
        if past:
            self.drop_empty(db, name)
        return Scores((m, s) for s, m in past[:count]) or WAITS

    def bztsmove(self, db, name, to, count, timeout):
        moved = self.bztspop(db, name, count, timeout, to)
        return moved if moved is WAITS else [member for member, _ in moved]

    def lrange(self, db, name, *_):
        key = self.find(db, name, "list")
        return list(key.value) if key else []

    # -- keys --

    def type(self, db, name):
        key = self.dbs[db].get(name)
        return Status(key.kind.encode() if key else b"none")

    def pttl(self, db, name):
        key = self.dbs[db].get(name)
        return -2 if key is None else -1 if key.expires is None else key.expires - self.now

    def pexpire(self, db, name, ttl):
        if name not in self.dbs[db]:
            return 0
        if ttl > 0:
            self.dbs[db][name].expires = self.now + ttl
            return 1
        return self.delete(db, name)

    def persist(self, db, name):
        key = self.dbs[db].get(name)
        had = key is not None and key.expires is not None
        if had:
            key.expires = None
        return int(had)

    def delete(self, db, name):
        if self.dbs[db].pop(name, None) is None:
            return 0
        self.tell(db, name, "del")
        return 1

    def copy(self, db, name, to, replace=None):
        if name not in self.dbs[db] or (to in self.dbs[db] and not replace):
            return 0
        self.dbs[db][to] = self.dbs[db][name].copy()
        self.touch(db, to)
        self.make_ready(db, to)
        return 1

    def rename(self, db, name, to):
        if name not in self.dbs[db]:
            raise Refused(b"ERR no such key")
        self.forget_new()
        self.dbs[db][to] = self.dbs[db].pop(name)
        self.touch(db, name)
        self.touch(db, to)
        self.make_ready(db, to)
        return Status(b"OK")

    def move(self, db, name):
        """Moves a key to the other database."""
        to = 1 - db
        if name not in self.dbs[db] or name in self.dbs[to]:
            return 0
        self.forget_new()
        self.dbs[to][name] = self.dbs[db].pop(name)
        self.touch(db, name)
        self.touch(to, name)
        self.make_ready(to, name)
        return 1

    def swapdb(self, _db, _first, _second):
        self.forget_new()
        self.dbs.reverse()
        self.turns.reverse()
        for waiter in self.waiting:
            self.make_ready(waiter.db, waiter.words[1])
        return Status(b"OK")

    def unblock(self, _db, client, how):
        for waiter in [w for w in self.waiting if w.client == client]:
            self.stop(waiter)
            self.say(client, nothing_came(waiter.words) if how == "TIMEOUT" else Refused(b"UNBLOCKED client "))
            return 1
        return 0


def nothing_came(words):
    """The reply at a timeout."""
    return [] if words[0] in ("REDE.CLAIM", "REDE.FAIRCLAIM") else NO_ARRAY


class Made:
    """An id that the daemon generates; the first reply that contains it sets it."""
    text = None

    def __call__(self, text):
        self.text = self.text or text
        return self.text == text and re.fullmatch(rb"[0-9A-Z]{31}", text) is not None


class Scores(list):
    """Pairs of a member and its score: flat in RESP2."""


def in_order(elements):
    return sorted(elements, key=lambda i: (elements[i].at, elements[i].arrival))


def option(options, word):
    return options[options.index(word) + 1] if word in options else None
