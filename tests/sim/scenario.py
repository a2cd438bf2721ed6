"""scenario: a plan says what happens in a run: nodes, settings, workloads and faults. A seed gives a plan,
a plan gives a run, and a plan that fails can be made smaller.

A plan is a dictionary that JSON can store, so that one that found a fault can be kept as a test.
"""
import random

import faults
import replica_faults
from run_state import Run
from work.caching import Caching
from work.deadlines import Deadlines, Members
from work.jobs import Jobs
from work.leases import Leases, PlainLocks
from work.logs import Logs
from work.mixed import Mixed
from work.queues import Queues
from work.reasons import Reasons
from work.registers import Registers
from work.rules import Rules
from work.streams import Streams
from work.tenants import Tenants
from work.timed import Timed
from work.waiting import Waiting
from world import NOON, SECOND, Broken, Client, Error, World

WORKS = {kind.__name__: kind for kind in (Caching, Deadlines, Jobs, Leases, Logs, Members, Mixed, Queues, Reasons,
                                          Registers, Rules, Streams, Tenants, Timed, Waiting)}
NOT_DRAWN = {"PlainLocks": PlainLocks}  # it breaks its promise: test_locks.py
# These know that memory may run out in the middle of a transaction or script.
WITHOUT_MEMORY = ("Caching", "Leases", "Logs", "Mixed", "Queues", "Registers", "Streams", "Waiting")
# A usual day, the end of 32-bit seconds, a leap day, and a year beyond.
WALLS = (NOON, NOON, 2 ** 31 * 1000 - 5000, 951_782_399_000, 4_102_444_799_000)
SIZES = {"64mb": 64 << 20, "20kb": 20 << 10}
REST = 30  # seconds after the workloads, in which every deadline of theirs passes


def draw(seed, works=None):
    """The plan of a seed. `works`: in place of those that it draws."""
    rng = random.Random(f"plan {seed}")
    nodes = rng.choice((1, 1, 2, 3))
    kinds = sorted(replica_faults.KINDS if nodes > 1 else faults.KINDS)
    kinds = rng.sample(kinds, rng.randrange(1, len(kinds)))
    span, pace = rng.choice((1, 2, 4, 8)), rng.choice((0.3, 1, 2))
    drawn = rng.sample(sorted(WORKS), rng.choice((1, 2, 3, len(WORKS))))
    plan = {
        "seed": seed, "nodes": nodes, "wall": rng.choice(WALLS), "span": span, "works": sorted(works or drawn),
        "fsync": rng.choice(("always", "everysec", "everysec", "no") if nodes == 1 else
                            ("always", "everysec", "everysec")),
        "latency": rng.choice((0.0001, 0.002, 0.03)), "yield": rng.choice((0, 0.05, 0.5)),
        "small_reads": rng.choice((0, 0, 0.3)), "rewrite_at": rng.choice(tuple(SIZES)),
        "backlog": rng.choice(("1mb", "16kb")), "apart": rng.choice((0, 0, 0, 300, 4000)), "faults": [],
    }
    at = rng.expovariate(1 / pace)
    while at < span:
        plan["faults"].append((round(at, 6), rng.choice(kinds)))
        at += rng.expovariate(1 / pace)
    plan["why"] = rng.choice(("64kb", "1mb"))
    if works and not set(works) <= set(WITHOUT_MEMORY):
        plan["faults"] = [one for one in plan["faults"] if one[1] != "memory"]
    if any(kind == "memory" for _, kind in plan["faults"]):
        plan["works"] = [work for work in plan["works"] if work in WITHOUT_MEMORY] or ["Mixed"]
    return plan


def await_no_deadline(run, client):
    """A task: waits until nothing expires within a second, in which a node can restart."""
    for _ in range(1000):
        upcoming = yield from run.sure(client, "EXPIRY", "NEXT", "1")
        left = upcoming[0][1] - client.node.wall if upcoming else 1001
        if left > 1000:
            return
        yield max(left, 0) / 1000 + 0.01
    run.broken(f"deadlines without end at rest: {upcoming}")


def check_node(run, node):
    """A task: the structures are sound, and a node that restarts has the same data."""
    client = Client(node, "check")
    digests = []
    yield from await_no_deadline(run, client)
    for again in (False, True):
        if again:
            client.close()
            node.kill()
            for other in run.nodes:  # a replica that comes back makes its master announce a token
                if other is not node:
                    run.world.cut(node, other)
            yield from run.start(node)
        reply = yield from run.sure(client, "DEBUG", "CHECK")
        if reply != b"OK":
            run.broken(f"DEBUG CHECK: {reply}")
        digest = yield from run.sure(client, "DEBUG", "DIGEST")
        digests.append(digest)
    client.close()
    if digests[0] != digests[1]:
        run.broken(f"node {node.number}: digest {digests[0]} before a restart, {digests[1]} after it")


def check_journal(run, node, least):
    """A task: a journal that outgrows auto-aof-rewrite-percentage is rewritten within seconds, and not again and
    again. Deadlines that pass at rest may let it outgrow just before a look, and the daemon looks once a second."""
    client, rewrites, had_outgrown = Client(node, "journal"), [], False
    for _ in range(3):
        info = yield from run.sure(client, "INFO", "persistence")
        figures = dict(line.split(b":", 1) for line in info.split(b"\r\n") if b":" in line)
        size, base = int(figures[b"aof_current_size"]), int(figures[b"aof_base_size"])
        has_outgrown = size >= max(least, 2 * base + 1)
        if has_outgrown and had_outgrown:
            run.broken(f"the journal of node {node.number} has {size} bytes at rest, {base} of them in its base")
        had_outgrown = has_outgrown
        rewrites.append(int(figures[b"aof_rewrites"]))
        yield 5
    client.close()
    if rewrites[-1] > rewrites[0] + 1:
        run.broken(f"node {node.number} rewrites its journal without need: {rewrites}")


EMPTY_BYTES = 12 << 20
USED = "return tonumber(redis.call('INFO', 'memory'):match('used_memory:(%d+)'))"


def check_empty(run, node):
    """A task: no client is blocked or forgotten, and without data little memory is in use."""
    client = Client(node, "empty")
    reply = yield from run.sure(client, "FLUSHALL")
    if isinstance(reply, Error):
        run.broken(f"FLUSHALL: {reply}")
    yield 5
    info = yield from run.sure(client, "INFO", "clients")
    # The figure enters the trace: the daemon decides by it, so it may not depend on addresses either.
    used = yield from run.sure(client, "EVAL", USED, "0")
    client.close()
    figures = dict(line.split(b":", 1) for line in info.split(b"\r\n") if b":" in line)
    if figures[b"blocked_clients"] != b"0":
        run.broken(f"blocked clients at rest: {figures[b'blocked_clients']}")
    if used > EMPTY_BYTES:
        run.broken(f"without data {used} bytes are in use, more than {EMPTY_BYTES}")


def begin(world, plan):
    run = Run(world, plan["fsync"])
    for number in range(1, plan["nodes"] + 1):
        node = world.node(number, "--appendfsync", plan["fsync"], "--repl-timeout", "10",
                          "--repl-diskless-sync-delay", "0", "--repl-backlog-size", plan["backlog"],
                          "--auto-aof-rewrite-min-size", plan["rewrite_at"], "--why-memory",
                          plan.get("why", "1mb"), *Leases.OPTIONS)
        node.set(small_reads=65536 * plan["small_reads"])
        node.usual_clock = plan.get("apart", 0) * (number % 2 if number < 3 else -1)
        node.set_clock(node.usual_clock)
        run.nodes.append(node)
    run.master, run.replicas = run.nodes[0], plan["nodes"] - 1
    world.yield_often(plan["yield"])
    world.latency(0.00002, plan["latency"])
    for node in run.nodes:
        world.run(run.start(node, *run.role_of(node)))
    world.run(replica_faults.await_links(run))
    return run


def happen(run, plan):
    """A task: the plan's faults, each at its time or when the one before is over."""
    began = run.world.now
    kinds = replica_faults.KINDS if len(run.nodes) > 1 else faults.KINDS
    for number, (at, kind) in enumerate(plan["faults"]):
        left = began + at * SECOND - run.world.now
        yield max(0.0, left / SECOND)
        if run.stopping:
            return
        run.rng = run.random_for(f"fault {number}")
        run.world.note(kind, run.master.number)
        yield from kinds[kind](run, run.master)


def live(world, plan):
    run = begin(world, plan)
    works = [(WORKS | NOT_DRAWN)[name](run) for name in plan["works"]]

    def end():
        yield plan["span"]
        run.stopping = True

    world.run(end(), happen(run, plan), *(task for work in works for task in work.tasks()))
    world.pass_time(REST)
    for node in run.nodes:
        world.run(check_journal(run, node, SIZES[plan["rewrite_at"]]))
    if run.replicas:
        world.run(replica_faults.check_agreement(run))
    world.run(*(work.finish() for work in works))
    world.run(check_node(run, run.master))
    world.run(check_empty(run, run.master))
    return run


class Outcome:
    """What a run was: its failure or None, and its figures."""

    def __init__(self, world, plan, failure):
        self.plan, self.failure = plan, failure
        self.trace, self.events, self.seconds = world.trace, world.events, world.seconds
        self.counts = dict(world.state.counts) if world.state else {}
        self.history = list(world.history)
        self.log = "".join(node.log() for node in world.nodes.values()) if failure else ""


def play(plan):
    with World(plan["seed"], plan["wall"]) as world:
        failure = None
        try:
            live(world, plan)
        except Broken as broken:
            failure = str(broken)
        return Outcome(world, plan, failure)
