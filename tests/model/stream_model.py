"""stream_model: streams, consumer groups and their policies as a model, in which an expired entry is
absent. One group reads each stream. Times are arguments; knows neither connections nor replies' bytes.

Streams: {key: Stream}. A stream keeps its key when it is empty. The policies of the model's streams are
RETAIN, MAXLEN and MAXDELIVERIES; keys that begin with k: are logged in `log` when they expire.
"""
MOST = 2**63 - 1  # deliveries after XNACK FATAL
GROUP = "g"
WAITS = object()  # instead of a reply: the client is blocked
LOG, DEAD = "log", "dead"


class Pending:
    def __init__(self, consumer, at, deliveries):
        self.consumer, self.at, self.deliveries = consumer, at, deliveries

    def is_due(self, now, idle):
        return self.at <= now if self.consumer is None else self.at + idle <= now

    def idle(self, now):
        return -1 if self.consumer is None else now - self.at


class Stream:
    def __init__(self):
        self.entries, self.last, self.added = {}, (0, 0), 0
        self.pending, self.delivered = {}, (0, 0)
        self.seconds, self.texts = 100, 100  # XCFGSET
        self.sent = {}  # producer: {text: ID}, the last ones
        self.has_group = False


class Policy:
    def __init__(self, retain=None, maxlen=None, deliveries=None):
        self.retain, self.maxlen, self.deliveries = retain, maxlen, deliveries

    def is_empty(self):
        return {self.retain, self.maxlen, self.deliveries} == {None}

    def words(self):
        """Every option, so that the policy has no other ones."""
        found = []
        for word, value in (("RETAIN", self.retain), ("MAXLEN", self.maxlen),
                            ("MAXDELIVERIES", self.deliveries)):
            found += [word, "NONE" if value is None else value]
        return found + (["TO", DEAD] if self.deliveries is not None else [])


class Waiter:
    def __init__(self, client, words, until):
        self.client, self.words, self.until = client, words, until


def option(words, name, otherwise=None):
    return words[words.index(name) + 1] if name in words else otherwise


def text(ident):
    return b"%d-%d" % ident


def size_of(item):
    """The bytes of a reply."""
    if isinstance(item, bytes):
        return len(b"$%d\r\n%s\r\n" % (len(item), item))
    if isinstance(item, list):
        return len(b"*%d\r\n" % len(item)) + sum(map(size_of, item))
    raise ValueError(item)


class Budget:
    """MAXCOUNT and MAXSIZE of a call. Figures of CLAIM do not count as bytes."""

    def __init__(self, words):
        self.entries, self.bytes = option(words, "MAXCOUNT", 10**9), option(words, "MAXSIZE", 10**9)
        self.bytes -= size_of(words[-2].encode())
        self.is_used = False

    def takes(self, ident, fields):
        size = size_of([text(ident), fields])
        if self.entries == 0 or (self.is_used and size > self.bytes):
            self.entries = 0
            return False
        self.entries, self.bytes, self.is_used = self.entries - 1, max(0, self.bytes - size), True
        return True


def ident_of(data):
    return tuple(map(int, data.split(b"-")))


class Model:
    def __init__(self, now):
        self.now, self.streams, self.policies, self.keys = now, {}, {}, {}
        self.waiting, self.heard = [], {}

    # --- time ---

    def policy(self, key):
        return self.policies.get(key, Policy())

    def instants(self):
        """When something happens by itself, in order."""
        found = {at + 1 for at, _, _ in self.keys.values()}
        for key, stream in self.streams.items():
            retain = self.policy(key).retain
            if retain is not None and stream.entries:
                found.add(next(iter(stream.entries))[0] + retain + 1)
        for waiter in self.waiting:
            claim = option(waiter.words, "CLAIM")
            if waiter.until is not None:
                found.add(waiter.until)
            if claim is None:
                continue
            for pending in self.streams[waiter.words[-2]].pending.values():
                found.add(pending.at + (0 if pending.consumer is None else claim))
        return sorted(at for at in found if at > self.now)

    def step(self, now):
        """At most one instant may be passed."""
        self.now = now
        self.expire()
        self.serve()
        for waiter in [w for w in self.waiting if w.until is not None and w.until <= now]:
            self.waiting.remove(waiter)
            self.say(waiter.client, None)

    def expire(self):
        """Entries that RETAIN ends, and keys, in the order of their deadlines."""
        for key, stream in self.streams.items():
            retain = self.policy(key).retain
            if retain is None:
                continue
            for ident in [i for i in stream.entries if i[0] + retain < self.now]:
                del stream.entries[ident]
                stream.pending.pop(ident, None)
        gone = sorted((at, key) for key, (at, _, _) in self.keys.items() if at < self.now)
        for at, key in gone:
            _, kind, value = self.keys.pop(key)
            fields = [b"key", key.encode(), b"at", b"%d" % at, b"type", kind]
            fields += [b"value", value] if kind == b"string" else [b"field:f", value]
            self.append(LOG, None, fields)

    # --- entries ---

    def stream(self, key):
        return self.streams.setdefault(key, Stream())

    def append(self, key, ident, fields):
        """ident: None for *. Returns the ID, or None if it is too small."""
        stream = self.stream(key)
        if ident is None:
            last = stream.last
            ident = (self.now, 0) if self.now > last[0] else (last[0], last[1] + 1)
        if ident <= stream.last:
            return None
        stream.entries[ident], stream.last = fields, ident
        stream.added += 1
        self.cut(key)
        return ident

    def cut(self, key):
        maxlen = self.policy(key).maxlen
        if maxlen is not None:
            self.trim(self.streams[key], maxlen)

    @staticmethod
    def trim(stream, most):
        gone = list(stream.entries)[:max(0, len(stream.entries) - most)]
        for ident in gone:
            del stream.entries[ident]
        return len(gone)

    # --- delivery ---

    def redeliver(self, key, ident, consumer, budget=None):
        """Delivers a pending entry again, or moves it aside. Its fields, or None."""
        stream, pending = self.streams[key], self.streams[key].pending[ident]
        fields = stream.entries.get(ident)
        if fields is None:
            del stream.pending[ident]
            return None
        limit = self.policy(key).deliveries
        if limit is not None and pending.deliveries >= limit:
            more = [b"origin", key.encode(), b"group", GROUP.encode(), b"deliveries",
                    b"%d" % pending.deliveries]
            self.append(DEAD, None, fields + more)
            del stream.pending[ident]
            return None
        if budget and not budget.takes(ident, fields):
            return None
        stream.pending[ident] = Pending(consumer, self.now, min(pending.deliveries + 1, MOST))
        return fields

    def read(self, words, limit):
        """Entries for XREADGROUP."""
        key, consumer, claim = words[-2], words[3], option(words, "CLAIM")
        stream, found, budget = self.streams[key], [], Budget(words)
        for ident in sorted(stream.pending) if claim is not None else ():
            pending = stream.pending[ident]
            if len(found) == limit or budget.entries == 0:
                break
            if not pending.is_due(self.now, claim):
                continue
            before = [pending.idle(self.now), pending.deliveries]
            fields = self.redeliver(key, ident, consumer, budget)
            if fields is not None:
                found.append([text(ident), fields, *before])
        new = [i for i in stream.entries if i > stream.delivered][:max(0, limit - len(found))]
        for ident in new:
            if not budget.takes(ident, stream.entries[ident]):
                break
            if "NOACK" not in words:
                stream.pending[ident] = Pending(consumer, self.now, 1)
            found.append([text(ident), stream.entries[ident]] + [0, 0] * (claim is not None))
            stream.delivered = ident
        return [[key.encode(), found]] if found else None

    def serve(self):
        """Gives the blocked clients what there is, first come first served."""
        for waiter in list(self.waiting):
            found = self.read(waiter.words, option(waiter.words, "COUNT", 10**9))
            if found is not None:
                self.waiting.remove(waiter)
                self.say(waiter.client, found)

    def say(self, client, reply):
        self.heard.setdefault(client, []).append(reply)

    # --- commands ---

    def do(self, client, words):
        self.heard = {}
        reply = getattr(self, words[0].lower().replace("|", "_"))(client, words)
        if reply is not WAITS:
            self.say(client, reply)
        self.serve()

    def xadd(self, _client, words):
        if words[2] in ("IDMP", "IDMPAUTO"):
            return self.add_once(words)
        ident = self.append(words[1], None if words[2] == "*" else ident_of(words[2]), words[3:])
        return Exception if ident is None else text(ident)

    def add_once(self, words):
        at = words.index("*")
        said = words[4] if words[2] == "IDMP" else tuple(sorted(zip(words[at + 1::2], words[at + 2::2])))
        stream = self.stream(words[1])
        known = stream.sent.setdefault(words[3], {})
        if said in known and known[said][0] + stream.seconds * 1000 >= self.now:
            return text(known[said])
        ident = self.append(words[1], None, words[at + 1:])
        known.pop(said, None)
        known[said] = ident
        if len(known) > stream.texts:
            del known[next(iter(known))]
        return text(ident)

    def xcfgset(self, _client, words):
        stream = self.streams.get(words[1])
        if stream is None:
            return Exception
        limits = option(words, "IDMP-DURATION", stream.seconds), option(words, "IDMP-MAXSIZE", stream.texts)
        if limits != (stream.seconds, stream.texts):
            stream.seconds, stream.texts = limits
            stream.sent = {}
        return b"OK"

    def xlen(self, _client, words):
        return len(self.streams[words[1]].entries) if words[1] in self.streams else 0

    def xrange(self, _client, words):
        stream = self.streams.get(words[1])
        return [[text(i), fields] for i, fields in stream.entries.items()] if stream else []

    def xdel(self, _client, words):
        stream = self.stream(words[1])
        return sum(stream.entries.pop(i, None) is not None for i in set(map(ident_of, words[2:])))

    def xtrim(self, _client, words):
        return self.trim(self.stream(words[1]), words[-1])

    def xreadgroup(self, client, words):
        found = self.read(words, option(words, "COUNT", 10**9))
        if found is not None or "BLOCK" not in words:
            return found
        wait = option(words, "BLOCK")
        self.waiting.append(Waiter(client, words, self.now + wait if wait else None))
        return WAITS

    def xack(self, _client, words):
        pending = self.streams[words[1]].pending
        return sum(pending.pop(ident, None) is not None for ident in map(ident_of, words[3:]))

    def xnack(self, _client, words):
        pending = self.streams[words[1]].pending
        found = [pending[i] for i in set(map(ident_of, words[words.index("IDS") + 2:])) if i in pending]
        for one in found:
            one.consumer, one.at = None, self.now + option(words, "DELAY", 0)
            if words[3] == "FATAL":
                one.deliveries = MOST
            elif words[3] == "SILENT":
                one.deliveries = max(0, one.deliveries - 1)
        return len(found)

    def xclaim(self, _client, words):
        stream, found = self.streams[words[1]], []
        for ident in map(ident_of, words[5:]):
            if ident not in stream.pending:
                continue
            if ident not in stream.entries or stream.pending[ident].is_due(self.now, words[4]):
                fields = self.redeliver(words[1], ident, words[3])
                if fields is not None:
                    found.append([text(ident), fields])
        return found

    def xautoclaim(self, _client, words):
        """From 0 on, with a large COUNT."""
        stream, found, gone = self.streams[words[1]], [], []
        for ident in sorted(stream.pending):
            if ident not in stream.entries:
                gone.append(text(ident))
            elif not stream.pending[ident].is_due(self.now, words[4]):
                continue
            fields = self.redeliver(words[1], ident, words[3])
            if fields is not None:
                found.append([text(ident), fields])
        return [b"0-0", found, gone]

    def xpending(self, _client, words):
        pending = self.streams[words[1]].pending
        return [[text(i), (pending[i].consumer or "").encode(), pending[i].idle(self.now),
                 pending[i].deliveries] for i in sorted(pending)]

    def policy_set(self, _client, words):
        """words[2] is the Policy."""
        key = words[1]
        self.policies[key] = words[2]
        if key in self.streams:
            self.cut(key)
        self.expire()
        return b"OK"

    def policy_del(self, _client, words):
        return int(self.policies.pop(words[1], None) is not None)

    def set(self, _client, words):
        self.keys[words[1]] = (self.now + words[4], b"string", words[2])
        return b"OK"

    def hash(self, _client, words):
        """HSET and PEXPIRE, as one transaction."""
        self.keys[words[1]] = (self.now + words[3], b"hash", words[2])
        return b"OK"
