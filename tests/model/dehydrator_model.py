"""dehydrator_model: a model of dehydrators, and of sorted sets of times.

Holds two databases of keys and the blocked clients; the time is an argument. Plain dictionaries that
are sorted on demand. Must not depend on sockets or on how replies are encoded.
"""
import functools
import math
import re

NOON = 1_900_000_000_000  # where its time begins
LATEST = 2**63 - 3
WAITS = object()  # instead of a reply
NO_ARRAY = object()
WRONGTYPE = b"WRONGTYPE "


class Refused(Exception):
    """The text that an error begins with."""


class Status(bytes):
    pass


class Token(int):
    """A fencing token, counted from the first one that the daemon granted."""


class Element:
    def __init__(self, payload, at=0, arrival=0, deliveries=0, claimed=False, token=None):
        self.payload, self.at, self.arrival = payload, at, arrival
        self.deliveries, self.claimed, self.token = deliveries, claimed, token
        self.is_new_here = False  # stored by the current step

    def copy(self):
        return Element(self.payload, self.at, self.arrival, self.deliveries, self.claimed,
                       self.token)


class Key:
    """kind: a dehydrator {id: Element}, a zset {member: score}, a list."""

    def __init__(self, kind):
        self.kind, self.expires = kind, None
        self.value = [] if kind == "list" else {}

    def copy(self):
        other = Key(self.kind)
        other.expires = self.expires
        other.value = ({i: e.copy() for i, e in self.value.items()}
                       if self.kind == "dehydrator" else self.value.copy())
        return other


class Waiter:
    def __init__(self, client, db, words, until):
        self.client, self.db, self.words, self.until = client, db, words, until
        self.kind = "dehydrator" if words[0].startswith("REDE") else "zset"


class Model:
    """Two databases, what the clients have received, and each key's events."""

    def __init__(self):
        self.now, self.arrivals = NOON, 0
        self.granted, self.first_token = 0, None
        self.dbs = [{}, {}]
        self.waiting, self.heard = [], {}
        self.ready, self.wakes, self.armings = [], {}, 0  # keys: in order; (instant, arming) by key
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
                    self.tell(number, name, "expired")
                    del db[name]
        self.note_due()
        self.wake()
        for waiter in [w for w in self.waiting if w.until and w.until <= now]:
            self.stop(waiter)
            self.say(waiter.client, nothing_came(waiter.words))

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
        self.arm(db, words[1])
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
        is_wanted = any((w.db, w.words[1]) == (db, name) for w in self.waiting)
        if is_wanted and (db, name) not in self.ready and (
                kind is None or any(w.kind == kind for w in self.waiting)):
            self.ready.append((db, name))

    def arm(self, db, name):
        """Makes the key ready when its next element falls due, or earlier."""
        key = self.dbs[db].get(name)
        if key is None or not key.value:
            return
        at = (min(e.at for e in key.value.values()) if key.kind == "dehydrator"
              else math.ceil(min(key.value.values()) * 1000))
        if (db, name) not in self.wakes or self.wakes[db, name][0] > at:
            self.armings += 1
            self.wakes[db, name] = at, self.armings

    def wake(self):
        self.serve()
        while due := [where for where, (at, _) in self.wakes.items() if at <= self.now]:
            first = min(due, key=self.wakes.get)
            del self.wakes[first]
            self.make_ready(*first)
            self.serve()

    def serve(self):
        while self.ready:
            where = self.ready.pop(0)
            for waiter in [w for w in self.waiting if (w.db, w.words[1]) == where]:
                self.serve_one(waiter)
        self.note_due()

    def serve_one(self, waiter):
        key = self.dbs[waiter.db].get(waiter.words[1])
        if key is None or key.kind != waiter.kind:
            return
        try:
            reply = self.run(waiter.db, waiter.words)
        except Refused as refused:
            reply = refused
        if reply is WAITS:
            self.arm(waiter.db, waiter.words[1])
        else:
            self.stop(waiter)
            self.say(waiter.client, reply)

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
                elif key.kind == "zset":
                    found.update(math.ceil(s * 1000) for s in key.value.values())
                if key.expires is not None:
                    found.add(key.expires + 1)
        return sorted(at for at in found if at > self.now)

    def has_timeouts(self):
        return any(w.until for w in self.waiting)

    # -- parts of commands --

    def run(self, db, words):
        name, *arguments = words
        self.notified = set()
        return getattr(self, name.lower().replace(".", "_"))(db, *arguments)

    def tell(self, db, name, event):
        """Records one event of a command and key, for any number of elements."""
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

    def take(self, db, name, ident, event):
        key = self.dbs[db][name]
        payload = key.value.pop(ident).payload
        self.tell(db, name, event)
        self.drop_empty(db, name)
        return payload

    def drop_empty(self, db, name):
        if not self.dbs[db][name].value:
            del self.dbs[db][name]
            self.tell(db, name, "del")

    def is_claimed(self, element):
        return element.claimed and element.at > self.now

    # -- pushing --

    def push(self, db, name, triples):
        there = self.elements(db, name)
        ids = [ident for _, _, ident in triples]
        if len(set(ids)) < len(ids) or any(ident in there for ident in ids):
            raise Refused(b"ERROR: Element already dehydrating.")
        key = self.find_or_new(db, name)
        for at, payload, ident in triples:
            key.value[ident] = self.place(Element(payload), at)
            self.tell(db, name, "rede.push")
        self.make_ready(db, name, "dehydrator")

    def rede_push(self, db, name, ttl, payload, ident):
        self.push(db, name, [(self.instant(ttl), payload, ident)])
        return Status(b"OK")

    def rede_pushat(self, db, name, at, payload, ident):
        self.push(db, name, [(at, payload, ident)])
        return Status(b"OK")

    def rede_mpush(self, db, name, *words):
        triples = [(self.instant(words[i]), *words[i + 1:i + 3]) for i in range(0, len(words), 3)]
        self.push(db, name, triples)
        return len(triples)

    def rede_gidpush(self, db, name, ttl, payload):
        at = self.instant(ttl)
        key = self.find_or_new(db, name)
        element = self.place(Element(payload), at)
        self.tell(db, name, "rede.push")
        self.make_ready(db, name, "dehydrator")
        made = Made()
        key.value[made] = element
        return made

    def learn(self):
        """Takes the ids that the daemon generated from its replies."""
        for _, key in self.dehydrators():
            for made in [i for i in key.value if isinstance(i, Made) and i.text is not None]:
                key.value[made.text] = key.value.pop(made)

    # -- one by its id --

    def rede_pull(self, db, name, ident):
        there = self.elements(db, name)
        return self.take(db, name, ident, "rede.pull") if ident in there else None

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
        return len([self.take(db, name, ident, "rede.ack")
                    for ident, _ in self.held(db, name, pairs)])

    def rede_extend(self, db, name, lease, *pairs):
        end = self.instant(lease if isinstance(lease, int) and lease > 0 else None, "lease")
        return self.move_all(db, name, [i for i, _ in self.held(db, name, pairs)],
                             "rede.reschedule", lambda _: True, end)

    def rede_retry(self, db, name, delay, *words):
        at = self.instant(delay, "delay")
        given_back = 0
        for _, element in self.held(db, name, words[len(words) % 2:]):
            element.claimed, element.token = False, None
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
                if event != "rede.reschedule":
                    element.claimed, element.token = False, None
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
        return [self.take(db, name, ident, "rede.ack")
                if (e := self.elements(db, name).get(ident)) and (e.claimed or e.at <= self.now)
                else None for ident in ids]

    # -- due elements --

    def rede_poll(self, db, name, *options):
        key = self.find(db, name)
        if key is None:
            return []
        taken = [(ident, self.take(db, name, ident, "rede.poll"))
                 for ident in self.due(key, option(options, "COUNT"))]
        return [list(pair) if "WITHIDS" in options else pair[1] for pair in taken]

    def rede_bpoll(self, db, name, _timeout, *options):
        return self.rede_poll(db, name, *options) or WAITS

    def rede_xpoll(self, db, name, *options):
        key = self.find(db, name)
        return self.due(key, option(options, "COUNT")) if key else []

    def rede_claim(self, db, name, lease, *options):
        end = self.instant(lease if isinstance(lease, int) and lease > 0 else None, "lease")
        key = self.find(db, name)
        claims = []
        for ident in self.due(key, option(options, "COUNT")) if key else []:
            element = key.value[ident]
            self.place(element, end)
            element.claimed = True
            element.deliveries += 1
            element.token = self.grant() if "TOKENS" in options else None
            claims.append([ident, element.payload, element.deliveries])
            if element.token is not None:
                claims[-1].append(functools.partial(self.is_token, element.token))
            self.tell(db, name, "rede.claim")
            self.make_ready(db, name, "dehydrator")
        return claims or (WAITS if "BLOCK" in options else [])

    # -- reading --

    def rede_ttn(self, db, name):
        there = self.elements(db, name)
        return max(0, min(e.at for e in there.values()) - self.now) if there else None

    def rede_len(self, db, name, which=None):
        there = self.elements(db, name).values()
        return len([e for e in there if which is None or
                    (e.at <= self.now if which == "DUE" else self.is_claimed(e))])

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
                b"bytes": lambda text: int(text or 0) >= least, b"paused-until": None,
                b"oldest-due-ms": self.now - first if first is not None and first <= self.now else None,
                # Statistics begin anew at a restart.
                **dict.fromkeys((b"pushed", b"delivered", b"acked", b"retried", b"dead", b"lateness-p50",
                                 b"lateness-p99"), lambda text: int(text or 0) >= 0)}

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
        self.make_ready(db, to)
        return 1

    def rename(self, db, name, to):
        if name not in self.dbs[db]:
            raise Refused(b"ERR no such key")
        self.forget_new()
        self.dbs[db][to] = self.dbs[db].pop(name)
        self.make_ready(db, to)
        return Status(b"OK")

    def move(self, db, name):
        """Moves a key to the other database."""
        to = 1 - db
        if name not in self.dbs[db] or name in self.dbs[to]:
            return 0
        self.forget_new()
        self.dbs[to][name] = self.dbs[db].pop(name)
        self.make_ready(to, name)
        return 1

    def swapdb(self, _db, _first, _second):
        self.forget_new()
        self.dbs.reverse()
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
    return [] if words[0] == "REDE.CLAIM" else NO_ARRAY


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
