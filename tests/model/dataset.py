"""dataset: keys and members with deadlines in plain Python; expired data is absent.

Computes how data changes with time and by mutations, which events are sent, and what policies add. Does not
depend on commands. Data expires one millisecond after its deadline.
"""
import math

NEVER = math.inf
BANDS = ((b"1s", 1000), (b"10s", 10_000), (b"1m", 60_000), (b"10m", 600_000), (b"1h", 3_600_000),
         (b"1d", 86_400_000), (b"later", 2**63), (b"never", NEVER))  # of EXPIRY FORECAST
DATABASES = 3
COLLECTIONS = ("set", "hash", "zset")
LETTER = {"set": b"s", "hash": b"h", "zset": b"z"}
REMOVED = {"set": b"srem", "hash": b"hdel", "zset": b"zrem"}

# What a put does to a member's deadline; "set" and "set new" have a deadline as an argument.
ADD, KEEP, CLEAR, SET, SET_NEW = "add", "keep", "clear", "set", "set new"

# Reasons to apply a policy to a key.
CREATED, WRITTEN, DEADLINE_SET, GROWN, HEAD, TAIL, READ = \
    "created", "written", "deadline set", "grown", "head", "tail", "read"


def band_of(left):
    return next(name for name, most in BANDS if left <= most)


class Refused(Exception):
    """An error reply."""


class Key:
    """The value is bytes, a list of bytes, or {member: [payload, deadline]} where the payload is
    None, a hash's value, or a score."""

    def __init__(self, db, name, kind, value):
        self.db, self.name, self.kind, self.value, self.at = db, name, kind, value, NEVER

    def size(self):
        return len(self.value)

    def is_emptied(self):
        return self.kind != "string" and not self.value


class Record:
    """An event; `names` are the members that it is about."""

    def __init__(self, key, event, any_order=False):
        self.db, self.key, self.event, self.names = key.db, key.name, event, []
        self.any_order = any_order  # members may be listed in any order
        self.by_read = False  # does not affect WATCH

    def messages(self, flags):
        """[(channel, message)] as published; messages of the S, T, I and V channels list the members."""
        on = lambda kind, topic: b"__%s@%d__:%s" % (kind, self.db, topic)
        messages = []
        if b"K" in flags:
            messages += [(on(b"keyspace", self.key), self.event),
                         (on(b"keyevent", self.event), self.key)]
        if b"S" not in flags or not self.names:
            return messages
        names = self.names
        messages += [(on(b"subkeyspace", self.key), self.event + b"|" + listed(names)),
                     (on(b"subkeyevent", self.event), listed([self.key]) + b"|" + listed(names))]
        messages += [(on(b"subkeyspaceitem", self.key + b"\n" + name), self.event) for name in names]
        messages.append((on(b"subkeyspaceevent", self.event + b"|" + self.key), listed(names)))
        return messages


def listed(names):
    return b",".join([b"%d:%s" % (len(name), name) for name in names])


class Policy:
    def __init__(self, ttl=0, max_ttl=0, refresh="NEVER", member_ttl=0, max_len=0, keep_low=False):
        self.ttl, self.max_ttl, self.refresh = ttl, max_ttl, refresh
        self.member_ttl, self.max_len, self.keep_low = member_ttl, max_len, keep_low

    def options(self):
        """The words of POLICY SET for what is not at its default."""
        figures = ((b"TTL", self.ttl), (b"MAXTTL", self.max_ttl), (b"MEMBERTTL", self.member_ttl),
                   (b"MAXLEN", self.max_len))
        words = {option: b"%d" % figure for option, figure in figures if figure}
        if self.refresh != "NEVER":
            words[b"REFRESH"] = self.refresh.encode()
        if self.keep_low:
            words[b"KEEP"] = b"LOW"
        return words

    def changes_keys(self, old):
        """Does it change existing keys when it replaces the policy `old`?"""
        return any(new and new != before for new, before in (
            (self.ttl, old.ttl), (self.max_ttl, old.max_ttl),
            (self.member_ttl, old.member_ttl), (self.max_len, old.max_len)))


class Dataset:
    def __init__(self, now):
        self.now = now
        self.dbs = [{} for _ in range(DATABASES)]
        self.db = 0             # of the connection
        self.policies = {}      # name: Policy
        self.records = []       # events since they were last taken
        self.begin_call()

    # --- time ---

    def step(self, to):
        """Time passes: [(instant, db, key, [Record])], in the order of removal, and how many expired."""
        removals = []
        for db in self.dbs:
            for key in db.values():
                if key.at < to:
                    removals.append((key.at, key, None))
                if key.kind in COLLECTIONS:
                    for name, (_, at) in key.value.items():
                        if at < to and at < key.at:
                            removals.append((at, key, name))
        removals.sort(key=lambda removal: removal[0])
        self.now = to
        groups = {}
        for at, key, name in removals:
            if not self.lives(key):
                continue  # removed with its last member, which expired earlier
            records = groups.setdefault((at, key.db, key.name), [])
            if name is None:
                records.append(Record(key, b"expired"))
                self.drop(key)
                continue
            if not records:
                records.append(Record(key, LETTER[key.kind] + b"expired", any_order=True))
            records[0].names.append(name)
            del key.value[name]
            if not key.value:
                records.append(Record(key, b"del"))
                self.drop(key)
        return [(at, db, name, records) for (at, db, name), records in groups.items()], len(removals)

    def next_deadline(self):
        """The earliest of all databases, or NEVER."""
        return min((at for db in self.dbs for key in db.values() for at in self.deadlines(key)),
                   default=NEVER)

    @staticmethod
    def deadlines(key):
        yield key.at
        if key.kind in COLLECTIONS:
            for _, at in key.value.values():
                yield at

    # --- a call ---

    def begin_call(self):
        self.event_key, self.call_events = None, {}
        self.notes = {}    # id of a key: (key, [causes])
        self.emptied = []

    def end_call(self):
        notes, self.notes = self.notes, {}
        for key, causes in notes.values():
            if self.lives(key) and not key.is_emptied():
                self.apply_policy(key, causes)
        while self.emptied:
            key = self.emptied.pop()
            if self.lives(key) and key.is_emptied():
                self.drop_with_event(key, b"del")
        self.begin_call()

    def take_records(self):
        records, self.records = self.records, []
        return records

    # --- events ---

    def notify(self, key, event, name=None, any_order=False):
        """Adds an event; a call's further events of the same key and name only add their members to it."""
        if self.event_key is not key:
            self.event_key, self.call_events = key, {}
        record = self.call_events.get(event)
        if record is None:
            record = self.call_events[event] = self.notify_each(key, event)
        record.any_order = record.any_order or any_order
        if name is not None:
            record.names.append(name)

    def notify_each(self, key, event):
        self.records.append(Record(key, event))
        return self.records[-1]

    def write(self, key, event, name=None, any_order=False):
        self.note(key, WRITTEN)
        self.notify(key, event, name, any_order)

    # --- keys ---

    def lives(self, key):
        return self.dbs[key.db].get(key.name) is key

    def find(self, name, db=None):
        return self.dbs[self.db if db is None else db].get(name)

    def read(self, name):
        """Finds a key and notes the read, for policies with REFRESH ACCESS."""
        key = self.find(name)
        if key is not None:
            self.note(key, READ)
        return key

    def create(self, name, kind, value=None, db=None):
        if value is None:
            value = [] if kind == "list" else {}
        key = Key(self.db if db is None else db, name, kind, value)
        self.dbs[key.db][name] = key
        self.note(key, CREATED)
        return key

    def drop(self, key):
        del self.dbs[key.db][key.name]
        self.notes.pop(id(key), None)
        if self.event_key is key:
            self.event_key = None

    def drop_with_event(self, key, event):
        self.notify_each(key, event)
        self.drop(key)

    def expire(self, key, at):
        if at <= self.now:
            self.drop_with_event(key, b"del")
            return
        key.at = at
        self.note(key, DEADLINE_SET)
        self.notify_each(key, b"expire")

    def persist(self, key):
        if key.at == NEVER:
            return False
        key.at = NEVER
        self.note(key, DEADLINE_SET)
        self.notify_each(key, b"persist")
        return True

    def vacate(self, name, db):
        old = self.find(name, db)
        if old is not None:
            self.drop(old)

    def copy(self, key, db, name):
        value = key.value
        if key.kind in COLLECTIONS:
            value = {member: list(held) for member, held in value.items()}
        elif key.kind == "list":
            value = list(value)
        self.vacate(name, db)
        made = self.create(name, key.kind, value, db)
        made.at = key.at
        self.notify_each(made, b"copy_to")

    def rename(self, key, name):
        self.vacate(name, key.db)
        moved = self.create(name, key.kind, key.value)
        moved.at = key.at
        self.notify_each(key, b"rename_from")
        self.notify_each(moved, b"rename_to")
        self.drop(key)

    def move(self, key, db):
        if self.find(key.name, db) is not None:
            return False
        moved = self.create(key.name, key.kind, key.value, db)
        moved.at = key.at
        self.notify_each(key, b"move_from")
        self.notify_each(moved, b"move_to")
        self.drop(key)
        return True

    def swap(self, one, other):
        self.dbs[one], self.dbs[other] = self.dbs[other], self.dbs[one]
        for db in (one, other):
            for key in self.dbs[db].values():
                key.db = db

    def store(self, name, kind, value, event):
        """Stores the result of a ...STORE command at name."""
        key = self.find(name)
        if not value:
            if key is not None:
                self.drop_with_event(key, b"del")
            return
        policy = self.policy_of(name)
        if kind in COLLECTIONS and policy and policy.member_ttl:
            value = {member: [held[0], self.now + policy.member_ttl]
                     for member, held in value.items()}
        if key is None:
            key = self.create(name, kind, value)
        key.kind, key.value, key.at = kind, value, NEVER
        self.note(key, CREATED)
        self.notify_each(key, event)

    # --- members ---

    def life_at(self, key, rule, at, present, old):
        if rule == SET:
            return at
        if rule == SET_NEW:
            return old if present else at
        if rule == KEEP and present:
            return old
        policy = self.policy_of(key.name)
        if policy and policy.member_ttl:
            return self.now + policy.member_ttl
        return old if present and rule == ADD else NEVER

    def put(self, key, name, payload, event, rule, at=NEVER, same=False):
        """Returns whether the member is new. `same`: the payload does not change, so it has no event."""
        held = key.value.get(name)
        old = NEVER if held is None else held[1]
        at = self.life_at(key, rule, at, held is not None, old)
        letter = LETTER[key.kind]
        if not same:
            self.write(key, event, name)
            key.value[name] = [payload, at]
            if at not in (old, NEVER):
                self.notify(key, letter + b"expire", name)
        elif at != old:
            self.write(key, letter + (b"persist" if at == NEVER else b"expire"), name)
            held[1] = at
        return held is None

    def remove(self, key, name, event=None, any_order=False):
        self.write(key, event or REMOVED[key.kind], name, any_order)
        del key.value[name]
        self.left(key)

    def left(self, key):
        if key.size() == 0:
            self.emptied.append(key)

    def expire_member(self, key, name, at):
        """False: the deadline has passed, so the member was removed."""
        if at <= self.now:
            self.remove(key, name)
            return False
        self.write(key, LETTER[key.kind] + b"expire", name)
        key.value[name][1] = at
        return True

    def persist_member(self, key, name):
        if key.value[name][1] == NEVER:
            return False
        self.write(key, LETTER[key.kind] + b"persist", name)
        key.value[name][1] = NEVER
        return True

    # --- policies ---

    def policy_of(self, name):
        if name in self.policies:
            return self.policies[name]
        for length in range(len(name), -1, -1):
            if name[:length] + b"*" in self.policies:
                return self.policies[name[:length] + b"*"]
        return None

    def note(self, key, cause):
        """Policies are applied to keys in the order of the first cause to which the key's policy reacts."""
        if id(key) in self.notes or self.reacts_to(self.policy_of(key.name), cause):
            self.notes.setdefault(id(key), (key, []))[1].append(cause)

    @staticmethod
    def reacts_to(policy, cause):
        if policy is None:
            return False
        if cause == CREATED:
            return bool(policy.ttl or policy.max_ttl or policy.max_len)
        if cause == WRITTEN:
            return bool(policy.max_ttl or (policy.ttl and policy.refresh != "NEVER"))
        if cause == DEADLINE_SET:
            return bool(policy.ttl or policy.max_ttl)
        if cause == READ:
            return bool(policy.ttl and policy.refresh == "ACCESS")
        return bool(policy.max_len)

    def apply_policy(self, key, causes):
        """Applies the key's policy after a call that had these causes."""
        policy = self.policy_of(key.name)
        if policy is None:
            return
        self.cut(key, causes, policy)
        at = key.at
        anew = self.renews_ttl(key, causes, policy)
        only_read = all(cause == READ for cause in causes)
        if anew:
            at = self.now + policy.ttl
        if policy.max_ttl and (anew or not only_read):
            at = min(at, self.now + policy.max_ttl)
        if at != key.at:
            key.at = at
            self.notify_each(key, b"expire").by_read = only_read

    def renews_ttl(self, key, causes, policy):
        if not policy.ttl or DEADLINE_SET in causes:
            return False
        if CREATED in causes:
            return key.at == NEVER
        if key.at >= self.now + policy.ttl:  # no earlier deadline, and none for a key without one
            return False
        if all(cause == READ for cause in causes):
            return policy.refresh == "ACCESS"
        return policy.refresh != "NEVER"

    def set_policy(self, name, policy):
        """Sets a policy and applies it to existing keys."""
        old = self.policies.get(name, Policy())
        self.policies[name] = policy
        if policy.changes_keys(old):
            for db in self.dbs:
                for key in db.values():
                    if self.policy_of(key.name) is policy:
                        self.apply_to_existing(key, policy)

    def apply_to_existing(self, key, policy):
        at = self.now + policy.ttl if key.at == NEVER and policy.ttl else key.at
        if policy.max_ttl:
            at = min(at, self.now + policy.max_ttl)
        if at != key.at:
            key.at = at
            self.notify_each(key, b"expire")
        if key.kind == "zset" and policy.max_len:
            for name in beyond(key, policy):
                self.notify(key, b"zremrangebyrank", name)
                del key.value[name]
        if key.kind in COLLECTIONS and policy.member_ttl:
            for name, held in key.value.items():
                if held[1] == NEVER:
                    self.notify(key, LETTER[key.kind] + b"expire", name)
                    held[1] = self.now + policy.member_ttl

    def cut(self, key, causes, policy):
        most = policy.max_len
        grew = [cause for cause in causes if cause in (CREATED, GROWN, HEAD, TAIL)]
        if not most or not grew or key.kind not in ("list", "zset") or key.size() <= most:
            return
        if key.kind == "list":
            pushed = [cause for cause in grew if cause in (HEAD, TAIL)]
            key.value = key.value[:most] if pushed and pushed[-1] == HEAD else key.value[-most:]
            self.write(key, b"ltrim")
            return
        for name in beyond(key, policy):
            self.write(key, b"zremrangebyrank", name)
            del key.value[name]


def beyond(key, policy):
    """Members of a sorted set beyond its policy's MAXLEN."""
    names = ranked(key)
    return names[policy.max_len:] if policy.keep_low else names[:-policy.max_len]


def ranked(key):
    """Members of a sorted set in order."""
    return sorted(key.value, key=lambda name: (key.value[name][0], name))
