#!/usr/bin/python3 -B
"""expired.so in a real cluster of three masters and three replicas, under load from redis-py's cluster
client: slots move, one key after the other or at once, masters are killed, and all nodes start again from RDB and
append-only files. What
WAIT 1 has acknowledged exists, nothing is taken twice, and events come once, on time, from the owner
of the slot. The time is real, so bounds are generous."""
import threading
import time
from collections import defaultdict

import redis

from crash import Budget, equal, run, seeded, test, wait_for
from clusters import Cluster, require_migrations

WRITERS = 3
LATE_MSEC = 20_000   # an event, on a busy machine
TAKEN_MSEC = 1500    # after its deadline an element is taken, when its event has been sent
DRIFT_MSEC = 5000    # MIGRATE sends a key's TTL, not its deadline
LASTING = 3_600_000  # ms
WAIT_MSEC = 100
KEYS = 8             # dehydrators of a writer
EVENTS = ("expired", "sexpired", "rede.due")


def now_msec():
    return int(time.time() * 1000)


# --- load ----------------------------------------------------------------------------------------


class Writer(threading.Thread):
    """Sends writes, each with a WAIT behind it, until it is stopped; knows what was acknowledged, and
    of what it does not know whether it was done."""

    def __init__(self, cluster, rng, name):
        super().__init__(daemon=True)
        self.cluster, self.client, self.rng, self.name = cluster, cluster.client(), rng, name
        self.stopped, self.failure, self.number = False, None, 0
        self.lasting = {}   # name of a key: deadline
        self.elements = {}  # (dehydrator, id): deadline
        self.pulled, self.unsure = set(), set()
        self.fields = {}    # (hash, field): deadline
        self.soon = {}      # name of a key, or of a dehydrator with one element: (event, deadline)
        self.due, self.taken = {}, set()

    def run(self):
        try:
            while not self.stopped:
                self.rng.choice((self.set_lasting, self.set_soon, self.set_field, self.add_soon, self.push,
                                 self.push, self.push_soon, self.pull, self.take))()
        except BaseException as error:  # pylint: disable=broad-except
            self.failure = error

    def stop(self):
        self.stopped = True
        self.join()
        assert not self.is_alive() and self.failure is None, (self.name, self.failure)

    def write(self, command, key, *words):
        """(reply, True), or (None, False) if another server than the master may not have it."""
        try:
            reply = self.client.execute_command(command, key, *words)
            node = self.client.get_node_from_key(key)
            link = self.client.get_redis_connection(node)  # the one that has sent the command
            return reply, link.execute_command("WAIT", 1, WAIT_MSEC) >= 1
        except redis.ResponseError as error:
            # The client had no reply, sent it again, and it had been done.
            assert isinstance(error, redis.exceptions.ClusterDownError) or \
                "already dehydrating" in str(error), error
        except (redis.RedisError, redis.exceptions.RedisClusterException):
            self.connect_again()
        return None, False

    def connect_again(self):
        """Debian's redis-py 4.3.4 fails to learn of a new master: it copies an object with a lock."""
        def connected():
            try:
                self.client = self.cluster.client()
                return True
            except (redis.RedisError, redis.exceptions.RedisClusterException):
                return False
        assert wait_for(connected, nap=0.1)

    def next_name(self, kind):
        self.number += 1
        return f"{kind}:{self.name}:{self.number}"

    def at(self, least, most):
        return now_msec() + self.rng.randrange(least, most)

    def set_lasting(self):
        name, at = self.next_name("lasting"), self.at(LASTING, 2 * LASTING)
        if self.write("SET", name, at, "PXAT", at)[1]:
            self.lasting[name] = at

    def set_soon(self):
        name, at = self.next_name("soon"), self.at(50, 1000)
        if self.write("SET", name, at, "PXAT", at)[1]:
            self.expect(name, "expired", at)

    def set_field(self):
        key, name = f"h:{self.name}:{self.number % KEYS}", self.next_name("field")
        at = self.at(LASTING, 2 * LASTING)
        if self.write("E.HSETEX", key, "PXAT", at, "FIELDS", 1, name, at)[1]:
            self.fields[key, name] = at

    def add_soon(self):
        name, at = self.next_name("member"), self.at(50, 1000)
        if self.write("E.SADDEX", name, "PXAT", at, "MEMBERS", 1, "m")[1]:
            self.expect(name, "sexpired", at)

    def expect(self, name, event, at):
        """A write after its own deadline, as after a pause, may have no event."""
        if now_msec() < at:
            self.soon[name] = (event, at)

    def push(self):
        key, name = f"d:{self.name}:{self.number % KEYS}", self.next_name("id")
        at = self.at(LASTING, 2 * LASTING)
        if self.write("REDE.PUSHAT", key, at, at, name)[1]:
            self.elements[key, name] = at
        else:
            self.unsure.add((key, name))

    def push_soon(self):
        name, at = self.next_name("due"), self.at(50, 1000)
        if self.write("REDE.PUSHAT", name, at, at, "id")[1]:
            self.soon[name] = ("rede.due", at)
            self.due[name] = at

    def pull(self):
        if not self.elements:
            return
        one = self.rng.choice(list(self.elements)[:50])
        at = self.elements.pop(one)
        reply, sure = self.write("REDE.PULL", *one)
        if sure:
            equal(reply, b"%d" % at, one)
            self.pulled.add(one)
        else:
            self.unsure.add(one)

    def take(self):
        name = next(iter(self.due), None)
        if name is None or self.due[name] + TAKEN_MSEC > now_msec():
            return
        at = self.due.pop(name)
        reply, sure = self.write("REDE.POLL", name)
        if sure:
            equal(reply, [b"%d" % at], name)
            self.taken.add(name)


class Listener(threading.Thread):
    """Hears the events of one node until the node ends."""

    def __init__(self, node, heard):
        super().__init__(daemon=True)
        self.id, self.heard, self.ready = node.id, heard, threading.Event()
        # Without a timeout: a replica has nothing to say for long.
        self.client = redis.Redis(unix_socket_path=node.path)
        self.client.config_set("notify-keyspace-events", "Exds")
        self.start()
        assert self.ready.wait()

    def run(self):
        try:
            with self.client.pubsub() as listener:
                listener.subscribe(*(f"__keyevent@0__:{event}" for event in EVENTS))
                for message in listener.listen():
                    if message["type"] == "message":
                        event = message["channel"].decode().split("__:")[1]
                        self.heard[event, message["data"].decode()].append((self.id, now_msec()))
                    else:
                        self.ready.set()
        except (redis.RedisError, OSError, ValueError):
            pass


# --- what must be there --------------------------------------------------------------------------


class World:
    """A cluster, its writers and what was heard; the slots that have moved since the writers began, and
    those whose master was killed."""

    def __init__(self, cluster):
        self.cluster, self.client = cluster, cluster.client()
        self.heard, self.longest_outage = defaultdict(list), 0
        self.moved, self.orphaned = set(), set()
        self.writers = [Writer(cluster, seeded("writer", one), f"w{one}")
                        for one in range(WRITERS)]
        for node in cluster.nodes:
            Listener(node, self.heard)
        for writer in self.writers:
            writer.start()

    def rest(self):
        """Stops the writers."""
        for writer in self.writers:
            writer.stop()
        self.cluster.await_ready()
        self.cluster.await_copied()
        self.client = self.cluster.client()

    def busy(self, writes=100):
        """Returns when each writer has written this much more."""
        wanted = [writer.number + writes for writer in self.writers]
        assert wait_for(lambda: all(not writer.is_alive() or writer.number >= number for
                                    writer, number in zip(self.writers, wanted)))
        equal([writer.failure for writer in self.writers], [None] * WRITERS)

    def slots_of(self, node):
        with node.redis() as client:
            slots = client.execute_command("CLUSTER", "SLOTS")
        return {slot for first, last, *owners in slots if owners[0][2].decode() == node.id
                for slot in range(first, last + 1)}

    def reshard(self, source, target, slots):
        before = self.slots_of(source)
        self.cluster.reshard(source, target, slots)
        moved = before - self.slots_of(source)
        equal(len(moved), slots)
        self.moved |= moved

    def migrate(self, source, target):
        """A half of the slots."""
        slots = sorted(self.slots_of(source))
        moved = slots[:len(slots) // 2]
        firsts = [slot for slot in moved if slot - 1 not in moved]
        lasts = [slot for slot in moved if slot + 1 not in moved]
        self.cluster.migrate(source, target, zip(firsts, lasts))
        equal(self.slots_of(target) & set(moved), set(moved))
        self.moved |= set(moved)

    def fail_over(self, node):
        """Kills a master, and starts it as a replica of its replica."""
        self.orphaned |= self.slots_of(node)
        began = now_msec()
        self.cluster.fail_over(node)
        self.longest_outage = max(self.longest_outage, now_msec() - began)
        self.busy(30)  # writes to the new master wait in vain for a replica
        node.start()
        Listener(node, self.heard)
        self.cluster.await_ready()

    def check_data(self):
        for writer in self.writers:
            for name, at in writer.lasting.items():
                equal(self.client.get(name), b"%d" % at, name)
                drift = self.client.pexpiretime(name) - at
                assert 0 <= drift <= DRIFT_MSEC, (name, drift)
            for one, at in writer.fields.items():
                equal(self.client.execute_command("E.HGET", *one), b"%d" % at, one)
                equal(self.client.execute_command("E.HPEXPIRETIME", one[0], "FIELDS", 1, one[1]), [at], one)
            for number in range(KEYS):
                self.check_dehydrator(writer, f"d:{writer.name}:{number}")
            equal([name for name in writer.taken if self.client.exists(name)], [], "taken twice")

    def check_dehydrator(self, writer, key):
        pairs = self.client.execute_command("REDE.RANGE", key, "-", "+")
        found = {(key, pair[0].decode()): pair[1] for pair in pairs}
        equal(len(found), len(pairs), "an element occurs twice")
        for one, at in writer.elements.items():
            if one[0] == key:
                equal(found.pop(one, None), at, one)
                equal(self.client.execute_command("REDE.LOOK", *one), b"%d" % at, one)
        assert set(found) <= writer.unsure, (set(found) - writer.unsure, "pulled, or never pushed")

    def check_events(self):
        """Of each key that was to end, or fall due, while the writers wrote."""
        soon = {(event, name): at for writer in self.writers
                for name, (event, at) in writer.soon.items()}
        assert wait_for(lambda: all(one in self.heard for one in soon)), \
            [one for one in soon if one not in self.heard][:9]
        for one, at in soon.items():
            self.check_event(one, at, list(self.heard[one]))
        return len(soon)

    def check_event(self, one, at, heard):
        """Each owner of the slot says what is due; a key has one owner at its end, or one that may die
        before its replica knows."""
        nodes, slot = [node for node, _ in heard], self.client.keyslot(one[1])
        equal(len(set(nodes)), len(nodes), f"{one} twice from one node")
        may_be_again = slot in self.orphaned or (one[0] == "rede.due" and slot in self.moved)
        assert len(nodes) == 1 or may_be_again, (one, heard)
        late = min(when for _, when in heard) - at
        assert 0 <= late <= LATE_MSEC + (self.longest_outage if slot in self.orphaned else 0), (one, late)

    def summary(self):
        def total(of):
            return sum(len(getattr(writer, of)) for writer in self.writers)
        again = sum(len(heard) > 1 for heard in list(self.heard.values()))
        return (f"{total('lasting')} keys, {total('fields')} fields and {total('elements')} elements exist, "
                f"{total('pulled') + total('taken')} were taken, {total('soon')} events, {again} of "
                "them again from a slot's next owner")


def has_log(node):
    return "--appendonly" in node.options


def choose_victim(rng, masters):
    """One after whose death there are masters with each kind of file: a master and its replica differ."""
    with_log = [node for node in masters if has_log(node)]
    without = [node for node in masters if not has_log(node)]
    return rng.choice(max(with_log, without, key=len))


def restart_all(cluster):
    """Kills all nodes, with their files as they are: RDB files are written before."""
    equal({has_log(node) for node in cluster.masters()}, {True, False})
    for node in cluster.nodes:
        if not has_log(node):
            with node.redis() as client:
                client.save()
    for node in cluster.nodes:
        node.kill()
    for node in cluster.nodes:
        node.start()
    cluster.await_ready()


# --- tests ---------------------------------------------------------------------------------------


def name_in_slot(client, slot):
    number = 0
    while client.keyslot(f"waiting:{number}") != slot:
        number += 1
    return f"waiting:{number}"


def a_waiting_client_follows_its_slot(world, source, target):
    """It waits at the source and gets what is pushed at the target."""
    name = name_in_slot(world.client, min(world.slots_of(source)))
    got = []
    client = world.cluster.client()
    thread = threading.Thread(daemon=True, target=lambda: got.append(
        client.execute_command("REDE.BPOLL", name, 30)))
    thread.start()
    with source.redis() as its:
        assert wait_for(lambda: its.info("clients")["blocked_clients"] > 0)
    world.reshard(source, target, 400)
    world.client.execute_command("REDE.PUSH", name, 100, "payload", "id")
    thread.join()
    equal(got, [[b"payload"]])


@test
def nothing_is_lost_or_twice_while_slots_move_and_masters_die():
    rng, budget = seeded("cluster"), Budget()
    with Cluster() as cluster:
        while budget.more(1):
            world = World(cluster)
            world.busy()
            source, target, other = rng.sample(cluster.masters(), 3)
            a_waiting_client_follows_its_slot(world, source, target)
            world.reshard(source, other, 200)
            world.busy()
            cluster.await_copied()  # a write that was redirected has not waited for the right replica
            world.fail_over(choose_victim(rng, cluster.masters()))
            world.busy()
            world.rest()
            world.check_events()
            world.check_data()
            restart_all(cluster)
            world.client = cluster.client()
            world.check_data()
            print(world.summary(), flush=True)
            world.client.flushall(target_nodes="primaries")


@test
def nothing_is_lost_or_twice_while_slots_migrate_at_once():
    require_migrations()
    rng, budget = seeded("migrations"), Budget()
    with Cluster() as cluster:
        while budget.more(1):
            world = World(cluster)
            world.busy()
            first, second, third = rng.sample(cluster.masters(), 3)
            world.migrate(first, second)
            world.busy()
            world.migrate(second, third)
            world.busy()
            cluster.await_copied()  # a write that was redirected has not waited for the right replica
            world.fail_over(choose_victim(rng, cluster.masters()))
            world.busy()
            world.rest()
            world.check_events()
            world.check_data()
            restart_all(cluster)
            world.client = cluster.client()
            world.check_data()
            print(world.summary(), flush=True)
            world.client.flushall(target_nodes="primaries")


run()
