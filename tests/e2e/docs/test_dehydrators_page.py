#!/usr/bin/python3 -B
"""The examples of doc/dehydrators.md run unchanged and do what the page says.

A block that defines functions is an example; one that begins with "client = redis.Redis()" is the
program around the example above it.
"""
import json
import os
import re
import signal
import subprocess
import sys
import threading

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, REPLY_SECONDS, ROOT, Daemon, die_with_parent, equal, main, own, wait_for

PAGE = os.path.join(ROOT, "doc/dehydrators.md")
CONNECT = "client = redis.Redis()"


def blocks():
    with open(PAGE, encoding="utf-8") as page:
        return re.findall(r"^```python\n(.*?)^```$", page.read(), re.M | re.S)


class Example:
    """The names that the page's block with this function defines; `program`: also its loop."""

    def __init__(self, function):
        found = blocks()
        at = next(i for i, block in enumerate(found) if f"\ndef {function}(" in block)
        self.source = found[at]
        following = found[at + 1] if at + 1 < len(found) else ""
        self.loop = following if following.startswith(CONNECT) else None
        self.names = {"__name__": "example"}
        exec(compile(self.source, f"{PAGE} ({function})", "exec"), self.names)

    def __getattr__(self, name):
        return self.names[name]

    def start(self, path, **replaced):
        """Runs the example in a process of its own, connected to the daemon."""
        loop = self.loop.replace(CONNECT, f"client = redis.Redis(unix_socket_path={path!r})")
        for old, new in replaced.items():
            assert f"={old}" in loop, old
            loop = loop.replace(f"={old}", f"={new}")
        return subprocess.Popen([sys.executable, "-B", "-c", self.source + "\n" + loop],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                                preexec_fn=die_with_parent)


class Later(threading.Thread):
    """A blocking call with a connection of its own."""

    def __init__(self, daemon, function, *arguments):
        super().__init__(daemon=True)
        self.server, self.function, self.arguments = daemon, function, arguments
        self.got, self.error = None, None
        self.start()

    def run(self):
        try:
            with self.server.redis() as client:
                self.got = self.function(client, *self.arguments)
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def result(self):
        self.join()
        assert not self.is_alive(), "it still waits"
        if self.error is not None:
            raise self.error
        return self.got


def waiting(client, count=1):
    """Waits until this many clients are blocked."""
    wait_for(lambda: client.info("clients")["blocked_clients"] == count)
    equal(client.info("clients")["blocked_clients"], count)


# --- the retry queue ---------------------------------------------------------------------------


def refuse(payload):
    raise RuntimeError(payload)


@own
def a_job_that_succeeds_is_done_once_and_gone():
    example, done = Example("work_once"), []
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        example.submit(client, "1", "mail")
        equal(example.work_once(client, done.append), True)
        equal(done, [b"mail"])
        equal(client.exists("jobs"), 0)


@own
def a_failing_job_is_retried_with_backoff_then_given_up():
    example = Example("work_once")
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        example.submit(client, "1", "mail")
        equal(example.work_once(client, refuse), True)
        for delay in (1000, 2000, 4000, 8000):
            equal(client.execute_command("REDE.TTN", "jobs"), delay)
            daemon.step(delay - 1)
            equal(client.execute_command("REDE.LEN", "jobs", "DUE"), 0)
            daemon.step(1)
            equal(example.work_once(client, refuse), True)
        equal(client.lrange("jobs:failed", 0, -1), [b"mail"])
        equal(client.exists("jobs"), 0)


@own
def a_job_that_kills_its_workers_is_given_up():
    example = Example("work_once")
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        example.submit(client, "1", "poison")
        for delivery in range(1, example.TRIES + 1):
            claims = client.execute_command("REDE.CLAIM", "jobs", example.LEASE_MS)
            equal(claims, [[b"1", b"poison", delivery]])
            daemon.step(example.LEASE_MS)
        equal(example.work_once(client, lambda payload: equal(payload, None, "tried")), True)
        equal(client.lrange("jobs:failed", 0, -1), [b"poison"])
        equal(client.exists("jobs"), 0)


@own
def a_worker_that_is_killed_loses_nothing():
    example = Example("work_once")
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        victim = example.start(daemon.path, print="lambda job: (print(job), input())")
        try:
            waiting(client)
            example.submit(client, "1", "mail")
            equal(victim.stdout.readline(), "b'mail'\n")
            daemon.step(example.LEASE_MS - 1)
        finally:
            victim.send_signal(signal.SIGKILL)
            victim.communicate()
        equal(client.execute_command("REDE.LEN", "jobs", "CLAIMED"), 1)
        equal(client.execute_command("REDE.CLAIM", "jobs", 1), [], "before the lease ends")
        heir = example.start(daemon.path)
        try:
            waiting(client)
            daemon.step(1)
            equal(heir.stdout.readline(), "b'mail'\n")
            wait_for(lambda: not client.exists("jobs"))
            equal(client.exists("jobs"), 0)
        finally:
            heir.kill()
            heir.communicate()


@own
def a_worker_survives_a_restart_of_the_server():
    """The server is killed while the worker waits, and delivers what is pushed after its start."""
    with Daemon("--appendonly", "yes") as daemon:
        worker = Example("work_once").start(daemon.path)
        try:
            for _ in range(2):
                with daemon.redis() as client:
                    waiting(client)
                    daemon.kill()
                daemon.start()
            with daemon.redis() as client:
                client.execute_command("REDE.PUSH", "jobs", 0, "mail", "id")
            equal(worker.stdout.readline(), "b'mail'\n")
        finally:
            worker.kill()
            worker.communicate()


@own
def a_worker_without_work_returns_false():
    example = Example("work_once")
    with Daemon() as daemon, daemon.redis() as client:
        equal(example.work_once(client, refuse, 0.01), False)


# --- the join ----------------------------------------------------------------------------------


@own
def two_halves_meet_whichever_comes_first():
    example = Example("arrive")
    both = {"order": {"item": "tea"}, "payment": 7}
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        for first, second in (("order", "payment"), ("payment", "order")):
            equal(example.arrive(client, "17", first, both[first]), None)
            daemon.step(example.PATIENCE_MS)
            equal(example.arrive(client, "17", second, both[second]), both, "still there")
            equal(client.exists("halves"), 0)


@own
def a_half_that_comes_twice_is_not_its_own_partner():
    example = Example("arrive")
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        equal(example.arrive(client, "17", "order", 1), None)
        daemon.step(10_000)
        equal(example.arrive(client, "17", "order", 1), None)
        equal(client.execute_command("REDE.TTN", "halves"), example.PATIENCE_MS - 10_000)
        equal(example.arrive(client, "17", "payment", 2), {"order": 1, "payment": 2})


@own
def a_half_without_a_partner_is_returned_when_it_is_due():
    example = Example("arrive")
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        equal(example.arrive(client, "17", "order", 1), None)
        equal(example.arrive(client, "18", "order", 2), None)
        alone = Later(daemon, example.lonely_half, 60)
        waiting(client)
        daemon.step(1000)
        equal(example.arrive(client, "17", "payment", 3), {"order": 1, "payment": 3})
        daemon.step(example.PATIENCE_MS - 1001)
        waiting(client)
        daemon.step(1)
        equal(alone.result(), (b"18", "order", 2))
    with Daemon() as daemon, daemon.redis() as client:
        equal(example.lonely_half(client, 0.01), None)


class Interrupted:
    """A client that calls a function before its next command of this name."""

    def __init__(self, client, command, interruption):
        self.client, self.command, self.interruption = client, command, interruption

    def execute_command(self, *arguments):
        if arguments[0] == self.command:
            self.command = None
            self.interruption()
        return self.client.execute_command(*arguments)


@own
def a_half_whose_partner_has_just_been_taken_waits_for_the_next():
    example = Example("arrive")
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        for command in ("REDE.LOOK", "REDE.PULL"):
            example.arrive(client, "17", "order", 1)
            quicker = Interrupted(client, command, lambda: client.execute_command(
                "REDE.PULL", "halves", "17"))
            equal(example.arrive(quicker, "17", "payment", 2), None, command)
            equal(json.loads(client.execute_command("REDE.PULL", "halves", "17")), ["payment", 2])


@own
def many_workers_join_every_pair_once():
    example, pairs, workers = Example("arrive"), 200, 4

    def deliver(client, which):
        found = []
        for i in range(pairs * 2):
            if i % workers == which:
                both = example.arrive(client, str(i // 2), "AB"[i % 2], i // 2)
                found.extend([both["A"]] if both and both["A"] == both["B"] else [])
        return found

    with Daemon() as daemon, daemon.redis() as client:
        threads = [Later(daemon, deliver, which) for which in range(workers)]
        joined = [pair for thread in threads for pair in thread.result()]
        equal(sorted(joined), list(range(pairs)))
        equal(client.exists("halves"), 0)


# --- scores that are times ---------------------------------------------------------------------


@own
def members_are_taken_when_their_time_has_come():
    example, now = Example("next_reminders"), NOON // 1000
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        example.remind_at(client, now + 20, "b")
        example.remind_at(client, now + 10.5, "a")
        taker = Later(daemon, example.next_reminders)
        waiting(client)
        daemon.step(10_499)
        waiting(client)
        daemon.step(1)
        equal(taker.result(), [(b"a", now + 10.5)])
        mover = Later(daemon, example.enqueue_due)
        waiting(client)
        daemon.step(9_500)
        equal(mover.result(), [b"b"])
        equal(client.blpop("queue", 1), (b"queue", b"b"))
        equal(client.exists("reminders"), 0)
    with Daemon() as daemon, daemon.redis() as client:
        equal(example.next_reminders(client, 0.01), [])
        equal(example.enqueue_due(client, 0.01), [])


# --- statements of the page --------------------------------------------------------------------


def page():
    with open(PAGE, encoding="utf-8") as file:
        return file.read()


@own
def the_table_has_every_command():
    listed = re.findall(r"^\| `(REDE\.[A-Z]+) ", page(), re.M)
    with Daemon() as daemon, daemon.redis() as client:
        known = [name.decode().upper() for name in client.execute_command("COMMAND LIST")]
        equal(sorted(listed), sorted(name for name in known if name.startswith("REDE.")))
        for name in ("BZTSPOP", "BZTSMOVE"):
            assert name in known and f"`{name} " in page(), name


@own
def a_copy_has_the_claims_and_a_lease_can_be_prolonged():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        run = client.execute_command
        run("REDE.PUSH", "d", 0, "p", "id")
        equal(run("REDE.CLAIM", "d", 100), [[b"id", b"p", 1]])
        client.copy("d", "copy")
        equal(run("REDE.RESCHEDULE", "d", 1000, "id"), 1)
        daemon.step(100)
        equal(run("REDE.CLAIM", "copy", 100), [[b"id", b"p", 2]])
        equal(run("REDE.CLAIM", "d", 100), [])
        equal(run("REDE.LEN", "d", "CLAIMED"), 1)
        daemon.step(900)
        equal(run("REDE.CLAIM", "d", 100), [[b"id", b"p", 2]])


@own
def nothing_waits_in_a_transaction():
    with Daemon() as daemon, daemon.redis() as client:
        pipe = client.pipeline(transaction=True)
        pipe.execute_command("REDE.BPOLL", "d", 0)
        pipe.execute_command("REDE.CLAIM", "d", 1, "BLOCK", 0)
        equal(pipe.execute(), [None, []])


@own
def every_event_on_the_page_is_sent():
    listed = re.findall(r"`(rede\.[a-z]+)`", page())
    with Daemon("--notify-keyspace-events", "Kgd") as daemon, daemon.redis() as client:
        daemon.hold()
        listener = client.pubsub(ignore_subscribe_messages=True)
        listener.subscribe("__keyspace@0__:d")
        listener.get_message(timeout=REPLY_SECONDS)
        run = client.execute_command
        for name in "abcd":
            run("REDE.PUSH", "d", 10, "p", name)
        run("POLICY", "SET", "d", "MAXDELIVERIES", 1, "TO", "dead")
        run("REDE.PUSH", "d", 0, "p", "e")
        run("REDE.CLAIM", "d", 1)
        daemon.step(1)
        run("REDE.CLAIM", "d", 1)
        run("POLICY", "DEL", "d")
        run("REDE.PAUSE", "d")
        run("REDE.RESUME", "d")
        run("REDE.UPDATE", "d", "a", "q")
        run("REDE.PULL", "d", "a")
        daemon.step(10)
        run("REDE.CLAIM", "d", 5, "COUNT", 1)
        run("REDE.NACK", "d", 5, "b")
        run("REDE.RESCHEDULE", "d", 0, "c")
        run("REDE.XACK", "d", "c")
        run("REDE.POLL", "d")
        daemon.step(5)
        run("REDE.POLL", "d")
        seen = set()
        while "del" not in seen:
            message = listener.get_message(timeout=REPLY_SECONDS)
            assert message, seen
            seen.add(message["data"].decode())
        equal(sorted(seen - {"del"}), sorted(listed))
        listener.close()


@own
def a_claim_takes_the_bytes_that_the_page_names():
    with open(PAGE, encoding="utf-8") as page:
        [named] = re.findall(r"takes (\d+) bytes more while it is claimed, and (\d+) if", page.read())
    count, used = 10000, []
    with Daemon() as daemon, daemon.redis() as client:
        for options in ((), ("TOKENS",)):
            client.delete("d")
            with client.pipeline(transaction=False) as pipe:
                for number in range(count):
                    pipe.execute_command("REDE.PUSH", "d", 0, "payload", f"id:{number:06}")
                pipe.execute()
            before = client.memory_usage("d")
            client.execute_command("REDE.CLAIM", "d", 60000, "COUNT", count, *options)
            used.append(round((client.memory_usage("d") - before) / count))
    equal(used, [int(number) for number in named])


@own
def every_block_of_the_page_is_run():
    examples = ("work_once", "arrive", "next_reminders")
    run = [part for name in examples for part in (Example(name).source, Example(name).loop) if part]
    equal(run, blocks())


main()
