"""replica_faults: a master and its replicas: what happens to them, and their agreement at rest."""
import faults
from world import LOST, SECOND, Client, Error


def follow(run, node, master):
    """A task: makes the node a replica."""
    client = Client(node, "follow")
    reply = yield from run.sure(client, "REPLICAOF", master.address, 6379)
    if isinstance(reply, Error):
        run.broken(f"REPLICAOF: {reply}")
    client.close()


def is_linked(run, node):
    client = Client(node, "linked?")
    info = yield client.call("INFO", "replication")
    client.close()
    return isinstance(info, bytes) and b"master_link_status:up" in info


def await_links(run, seconds=60):
    """A task: waits until every replica that runs has its link."""
    end = run.world.now + seconds * SECOND
    for node in run.nodes:
        while node is not run.master:
            linked = yield from is_linked(run, node)
            if linked:
                break
            if run.world.now > end:
                run.broken(f"node {node.number} has no link to node {run.master.number} after {seconds} s:\n"
                           f"{node.log()[-2000:]}\n{run.master.log()[-2000:]}")
            yield 0.2


def cut(run, _):
    """A partition between two nodes, for a while."""
    yield from cut_between(run, *run.rng.sample(run.nodes, 2))


def cut_between(run, one, other):
    run.world.cut(one, other)
    run.disturb(15)
    yield run.rng.choice((0.1, 2, 12))
    run.world.cut(one, other, False)
    run.disturb()
    run.count("cut")


def a_replica(run):
    return run.rng.choice([node for node in run.nodes if node is not run.master])


def restart_replica(run, _):
    yield from faults.restart(run, a_replica(run), run.rng.choice(("kill", "stop", "power", "kill in a call")))
    run.count("replica restarted")


def restart_master(run, _):
    """Replicas stay; a master that restarts is still their master."""
    yield from faults.restart(run, run.master, run.rng.choice(("kill", "stop", "power", "kill in a call")))


def fall_behind(run, master, target):
    """A task: a partition ends some time later; the target then lacks more than the network had in its buffers."""
    run.world.cut(master, target)
    run.disturb(15)
    filler = Client(master, "filler")
    for _ in range(3):
        yield filler.call("SET", "filler", "x" * (1 << 20))
    yield filler.call("DEL", "filler")
    filler.close()

    def heal(seconds):
        yield seconds
        run.world.cut(master, target, False)
    return run.world.spawn(heal(run.rng.choice((0.2, 1, 4))))


def await_failover(run, client, writer, target):
    """A task: waits for the end of FAILOVER; True: the target is the master. No write is executed while the old
    master waits for the target."""
    written = None
    for _ in range(600):
        has_written = written is not None and written.done and isinstance(written.value, int)
        role = yield client.call("ROLE")
        state = yield client.call("INFO", "replication")
        waits = isinstance(state, bytes) and b"master_failover_state:waiting-for-sync" in state
        if waits and has_written:
            run.broken("a write was executed while FAILOVER waits")
        if waits and written is None:
            written = writer.call("INCR", "failover")
        if isinstance(role, list) and role[0] == b"slave":
            other = Client(target, "failover target")
            role = yield other.call("ROLE")
            other.close()
            if isinstance(role, list) and role[0] == b"master":
                return True
        elif isinstance(state, bytes) and b"master_failover_state:no-failover" in state and (
                isinstance(role, list) and role[0] == b"master"):
            return False
        yield 0.05
    run.broken(f"FAILOVER neither succeeds nor ends: {role} {state}")


def fail_over(run, _):
    """The FAILOVER command: no acknowledged write is lost."""
    others = [node for node in run.nodes if node is not run.master]
    linked = []
    for node in others:
        up = yield from is_linked(run, node)
        linked += [node] if up else []
    if not linked:
        return
    target, old = run.rng.choice(linked), run.master
    run.disturb(20)
    healed = None
    if run.rng.random() < 0.5:
        healed = yield from fall_behind(run, old, target)
    client, writer = Client(old, "failover"), Client(old, "failover writer")
    reply = yield client.call("FAILOVER", "TO", target.address, 6379, "TIMEOUT", 3000)
    if reply is not LOST and not isinstance(reply, Error):
        succeeded = yield from await_failover(run, client, writer, target)
        if succeeded:
            run.switch(target)
        run.count("failover" if succeeded else "failover aborted")
    client.close()
    writer.close()
    if healed is not None:
        yield healed
    if run.master is target:
        for node in others:
            if node is not target and node.is_up:
                yield from follow(run, node, target)
    run.disturb()


def promote(run, _):
    """The master is lost, and another node takes over. The old one comes back as a replica."""
    old = run.master
    others = [node for node in run.nodes if node is not old and node.is_up]
    if not others:
        return
    target = run.rng.choice(others)
    up = yield from is_linked(run, target)
    if not up:
        return
    how = run.rng.choice(("kill", "power", "cut"))
    if run.rng.random() < 0.5:  # the master takes writes that never reach the target
        run.world.cut(old, target)
        run.disturb()
        yield run.rng.uniform(0, 0.3)
    run.lost("promotion")
    if how == "kill":
        old.kill()
    elif how == "power":
        old.lose_power(0.5)
    else:
        run.world.cut(old, target)
        run.world.cut(0, old)
        for client in run.world.clients_of(old):
            client.lose()
    client = Client(target, "promote")
    yield from run.sure(client, "REPLICAOF", "NO", "ONE")
    client.close()
    run.switch(target)
    for node in others:
        if node is not target and node.is_up:
            yield from follow(run, node, target)
    yield run.rng.choice((0.1, 3))
    run.world.cut(old, target, False)
    if how == "cut":
        run.world.cut(0, old, False)
        yield from follow(run, old, target)
    else:
        yield from run.start(old, *run.role_of(old))
    run.lost("promotion")
    run.count("promotion")


def copy(run, _):
    """A replica leaves its master, writes something of its own, and follows again: it needs a full copy.
    During the copy something happens: a partition, an end of the master or the replica, failing forks."""
    node, master, rng = a_replica(run), run.master, run.rng
    client = Client(node, "copy")
    yield from run.sure(client, "REPLICAOF", "NO", "ONE")
    yield from run.sure(client, "SET", "own", "1")
    client.close()
    how = rng.choice(("cut", "cut", "kill", "kill", "kill replica", "no fork", "nothing"))
    master.set(fail_fork=65536 if how == "no fork" else 0)
    yield from follow(run, node, master)
    yield rng.choice((0, 0.001, 0.01, 0.1)) * rng.random()
    if how == "cut":
        yield from cut_between(run, node, master)
    elif how == "kill":
        yield from faults.restart(run, master, rng.choice(("kill", "kill in a call", "power")))
    elif how == "kill replica":
        yield from faults.restart(run, node, rng.choice(("kill", "kill in a call", "power")))
    elif how == "no fork":
        yield rng.uniform(0.1, 2)
        master.set(fail_fork=0)
    run.count(f"copy: {how}")


def of_any(fault):
    """A fault of single nodes, on any node."""
    return lambda run, _: fault(run, run.rng.choice(run.nodes))


KINDS = {"cut": cut, "restart replica": restart_replica, "restart master": restart_master,
         "failover": fail_over, "promote": promote, "copy": copy,
         "rewrite": of_any(faults.rewrite),
         "reset": of_any(faults.cut_connections), "slow disk": of_any(faults.slow_disk),
         "failing disk": of_any(faults.failing_disk), "clock": of_any(faults.set_clock),
         "small reads": of_any(faults.small_reads), "memory": of_any(faults.refuse_memory),
         "damage": of_any(faults.damage_live)}


def check_agreement(run, seconds=60):
    """A task: at rest, all nodes have the same data, and none had a stream that is not its master's."""
    yield from await_links(run)
    for node in run.nodes:
        if not node.lacked_memory and "can't be applied" in node.log():
            run.broken(f"node {node.number} got bytes of another stream:\n{node.log()[-3000:]}")
    end = run.world.now + seconds * SECOND
    while True:
        digests = []
        for node in run.nodes:
            client = Client(node, "digest")
            reply = yield from run.sure(client, "DEBUG", "CHECK")
            if reply != b"OK":
                run.broken(f"DEBUG CHECK on node {node.number}: {reply}")
            digest = yield from run.sure(client, "DEBUG", "DIGEST")
            digests.append(digest)
            client.close()
        if len(set(digests)) == 1:
            run.count("agreement")
            return
        if run.world.now > end:
            run.broken(f"digests differ at rest: {digests}; the master is node {run.master.number}")
        yield 0.5
