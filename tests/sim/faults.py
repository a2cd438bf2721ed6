"""faults: what happens to the nodes of a run, chosen by its random numbers, one fault after the other."""
from damaged import Copy
from world import LOST, MSEC, SECOND, Client, Error


def restart(run, node, how, ended=None):
    """Ends the node in one of several ways and starts it again as what it was. What it may lose counts if it is the
    master. `ended` is called in between."""
    rng = run.rng
    lost = run.lost if node is run.master else lambda kind: None
    if rng.random() < 0.3:
        Client(node, "rewriter").call("BGREWRITEAOF")
        run.rewrites.append(run.world.now)
        yield rng.uniform(0, 0.02)
    if how == "stop":
        node.stop()
        while node.is_up:
            yield 0.05
        lost("kill")
    elif how == "kill":
        node.kill()
        lost("kill")
    elif how == "kill in a call":
        node.kill_in(rng.randrange(1, 60))
        limit = run.world.now + 3 * SECOND
        while node.is_up and run.world.now < limit:
            yield 0.01
        node.kill()
        lost("kill")
    else:
        node.lose_power(rng.choice((0.0, 0.05, 0.5, 0.95, 1.0)))
        lost("power")
    node.may_end = False
    if ended:
        ended()
    yield rng.choice((0, 0, 0.01, 0.5, 3))
    yield from run.start(node, *run.role_of(node))
    run.disturb()
    run.count(how)


def slow_disk(run, node):
    slow = run.rng.choice((30, 200, 1500)) * MSEC
    run.sync_max = max(run.sync_max, slow)
    node.set(sync_min=slow // 10, sync_max=slow)
    yield run.rng.uniform(0.5, 4)
    node.set(sync_min=50000, sync_max=3 * MSEC)
    run.disturb(2 * slow / SECOND)
    run.count("slow disk")


def failing_disk(run, node):
    """Calls on files fail for a while."""
    rng = run.rng
    kind = rng.choice(("fail_write", "fail_sync", "fail_open", "short_write", "space"))
    if kind != "short_write" and node is run.master:
        run.disk_failing_since = run.disk_failing_since or run.world.now
    run.disturb(3600)
    if kind == "space":
        node.set(space=rng.choice((0, 100, 5000)))
    else:
        node.set(**{kind: 65536 * rng.choice((0.1, 0.5, 1))})
    yield rng.uniform(0.1, 2)
    node.set(space=-1, fail_write=0, fail_sync=0, fail_open=0, short_write=0)
    yield from await_writes(run, node)
    run.disk_failing_since = None
    run.restless_until = run.world.now
    run.disturb()
    run.count(kind)


def await_writes(run, node):
    """Waits until the node takes writes again, and everything that it accepted is safe."""
    client = Client(node, "after a fault")
    for _ in range(6000):
        reply = b"OK"
        if node is run.master:
            reply = yield client.call("SET", "probe", "1")
        info = yield client.call("INFO", "persistence")
        if reply == b"OK" and isinstance(info, bytes) and all(
                text in info for text in (b"aof_last_write_status:ok", b"aof_rewrite_in_progress:0",
                                          b"aof_rewrite_scheduled:0")):
            client.close()
            yield 1.5 + 3 * run.sync_max / SECOND
            return
        yield 0.1
    run.broken(f"node {node.number} takes no writes after its disk works again: {reply} {info}")


def cut_connections(run, node):
    """Some are reset. Of some only the client's end goes, and the server has a half-open connection."""
    for client in run.world.clients_of(node):
        if run.rng.random() < 0.5:
            client.reset()
        elif run.rng.random() < 0.3:
            client.lose(silently=True)
    run.disturb()
    run.count("reset")
    yield 0


def rewrite(run, node):
    client = Client(node, "rewriter")
    node.set(fail_fork=run.rng.choice((0, 0, 65536)))
    run.rewrites.append(run.world.now)
    yield client.call(run.rng.choice(("BGREWRITEAOF", "BGSAVE")))
    yield run.rng.uniform(0, 0.2)
    node.set(fail_fork=0)
    client.close()
    run.count("rewrite")


def refuse_memory(run, node):
    """The system refuses memory, some or all, for a while. The node may end with its line in the log; then it
    loses nothing that it has acknowledged."""
    node.lacks_memory = node.lacked_memory = True
    run.disturb(20)
    node.set(fail_memory=65536 * run.rng.choice((0.001, 0.02, 0.3, 1)))
    yield run.rng.uniform(0.05, 1)
    node.set(fail_memory=0)
    yield 0.01
    if node.is_up:
        yield from await_writes(run, node)
        run.count("memory short")
    if not node.is_up:
        run.lost("kill")
        yield from run.start(node, *run.role_of(node))
        run.count("memory exhausted")
    node.lacks_memory = False
    run.disturb()


def set_clock(run, node):
    """The wall clock jumps, and is set right later."""
    by = run.rng.choice((-5000, -100, 50, 700, 20000))
    run.clock_changes.append(run.world.now)
    node.set_clock(node.usual_clock + by)
    run.disturb(25)
    yield run.rng.uniform(0.2, 3)
    run.clock_changes.append(run.world.now)
    node.set_clock(node.usual_clock)
    run.count("clock")


def small_reads(run, node):
    """Most reads of the node get one byte."""
    usual = node.get("small_reads")
    node.set(small_reads=60000)
    run.disturb(2)
    yield run.rng.uniform(0.1, 1)
    node.set(small_reads=usual)
    run.disturb()
    run.count("small reads")


def change_fsync(run, node):
    """Only to a stronger policy and back: the weaker one counts from the beginning."""
    client = Client(node, "config")
    reply = yield client.call("CONFIG", "SET", "appendfsync", "always")
    yield run.rng.uniform(0.1, 1)
    if reply is not LOST and not isinstance(reply, Error):
        yield client.call("CONFIG", "SET", "appendfsync", run.fsync)
    client.close()
    run.count("fsync")


def damage(run, node):
    """Damages a copy of the node's files, as they are while it runs or after it has ended."""
    how = run.rng.choice(("live", "stop", "kill", "power"))
    copy = None

    def take():
        nonlocal copy
        copy = Copy(run, node, is_closed=how == "stop")

    if how == "live":
        take()
    else:
        yield from restart(run, node, how, take)
    for _ in range(3):
        yield from copy.check()
    run.count(f"damage: {how}")


def damage_live(run, node):
    """The same for a node that runs on."""
    yield from Copy(run, node, is_closed=False).check()
    run.count("damage: live")


KINDS = {
    "stop": lambda run, node: restart(run, node, "stop"),
    "kill": lambda run, node: restart(run, node, "kill"),
    "kill in a call": lambda run, node: restart(run, node, "kill in a call"),
    "power": lambda run, node: restart(run, node, "power"),
    "slow disk": slow_disk,
    "failing disk": failing_disk,
    "reset": cut_connections,
    "rewrite": rewrite,
    "clock": set_clock,
    "small reads": small_reads,
    "memory": refuse_memory,
    "fsync": change_fsync,
    "damage": damage,
}
