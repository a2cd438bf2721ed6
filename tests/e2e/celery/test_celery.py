#!/usr/bin/python3 -B
"""Celery unchanged, with workers whose broker is the transport expired.kombu: its canvas, retries, tasks with an ETA,
rate limits, beat, remote control, events, and workers and servers that are killed."""
import os
import signal
import sys
import time

sys.path.insert(1, sys.path[0])
import kombu
from brokers import publish, queue_of
from shops import SECONDS, Shop
from daemon import equal, main, test, wait_for
from process import PATIENCE

def with_shop(function):
    def run():
        with Shop("--appendonly", "yes") as shop:
            function(shop)
    run.__name__ = function.__name__
    return test(run)


def get(result):
    """Asks again and again: Celery's subscription to results misses one that comes while it connects anew."""
    assert wait_for(result.ready)
    return result.get(timeout=SECONDS)


# ---- canvas ------------------------------------------------------------------------------------


@with_shop
def canvas_works(shop):
    import celery  # pylint: disable=import-outside-toplevel
    tasks = shop.tasks
    shop.work()
    shop.work("two")
    equal(get(tasks.add.delay(1, 2)), 3)
    equal(get(celery.chain(tasks.add.s(1, 2), tasks.add.s(3), tasks.add.s(4))()), 10)
    equal(get(celery.group(tasks.add.s(n, n) for n in range(10))()), [2 * n for n in range(10)])
    equal(get(celery.chord((tasks.add.s(n, n) for n in range(10)), tasks.total.s())()), 90)
    equal(get(celery.chain(celery.group(tasks.add.s(n, 1) for n in range(3)), tasks.total.s(), tasks.add.s(10))()), 16)
    equal(get(tasks.add.chunks(zip(range(10), range(10)), 5)()), [[0, 2, 4, 6, 8], [10, 12, 14, 16, 18]])
    equal(get(tasks.add.starmap([(1, 2), (3, 4)]).delay()), [3, 7])
    equal(get(tasks.retry.delay(2, 0.05)), 2)
    tasks.fail.apply_async(link_error=tasks.note_failure.s())
    assert wait_for(lambda: shop.client.lrange("failures", 0, -1) == ["as asked"])
    get(tasks.refuse.delay("refused"))
    equal(shop.client.get("refused"), "3")
    tasks.kill_child.delay("killed")
    assert wait_for(lambda: shop.client.get("killed") == "2")
    assert wait_for(lambda: not shop.client.exists("celery"))


@with_shop
def many_tasks_run_once_each(shop):
    for name in ("one", "two"):
        shop.work(name, prefetch=4)
    for number in range(300):
        shop.tasks.count.apply_async(["count"], countdown=number % 3 / 10)
    assert wait_for(lambda: shop.client.get("count") == "300")
    assert wait_for(lambda: shop.client.exists("celery") == 0)
    equal(shop.client.get("count"), "300")


@with_shop
def task_with_an_eta_waits_in_the_server(shop):
    worker = shop.work(prefetch=4)
    shop.tasks.count.apply_async(["later"], countdown=3600)
    get(shop.tasks.add.delay(1, 2))
    equal(shop.app.control.inspect(timeout=SECONDS, destination=[worker.name]).scheduled(), {worker.name: []})
    equal(shop.client.execute_command("REDE.LEN", "celery", "CLAIMED"), 0)
    equal(shop.client.execute_command("REDE.LEN", "celery"), 1)
    start = time.time()
    shop.tasks.note_time.apply_async(["times"], countdown=0.2)
    assert wait_for(lambda: shop.client.llen("times"))
    late = float(shop.client.lindex("times", 0)) - start - 0.2
    assert -0.01 < late < 10 * PATIENCE, late


@with_shop
def rate_limits_hold(shop):
    shop.work(prefetch=4)
    start = time.time()
    for _ in range(6):
        shop.tasks.limited.delay("limited")
    assert wait_for(lambda: shop.client.llen("limited") == 6)
    times = [float(text) for text in shop.client.lrange("limited", 0, -1)]
    assert times[-1] - start > 0.45, (start, times)  # ten a second; a few milliseconds without a limit


@with_shop
def beat_sends_tasks(shop):
    shop.work("one", "--beat", "--schedule", os.path.join(shop.dir, "schedule"))
    assert wait_for(lambda: int(shop.client.get("beats") or 0) >= 3)


@with_shop
def broadcasts_reach_every_worker(shop):
    for name in ("one", "two"):
        shop.work(name)
    # As with Redis, a producer has to declare the exchange: Celery declares no queues of broadcasts.
    shop.tasks.fan.apply_async(["heard"], exchange="everyone", routing_key="all",
                               declare=[kombu.Exchange("everyone", type="fanout")])
    assert wait_for(lambda: shop.client.llen("heard") == 2)
    equal(len(set(shop.client.lrange("heard", 0, -1))), 2)


# ---- remote control ----------------------------------------------------------------------------


@with_shop
def control_inspect_revoke_and_purge_work(shop):
    tasks, control = shop.tasks, shop.app.control
    worker = shop.work(concurrency=1, prefetch=2)
    name = worker.name
    inspect = control.inspect(timeout=SECONDS, destination=[name])
    equal(control.ping(timeout=SECONDS, destination=[name]), [{name: {"ok": "pong"}}])

    def consumes():
        return "celery" in [queue["name"] for queue in inspect.active_queues()[name]]
    assert consumes()
    assert "tasks.add" in inspect.registered()[name]
    running = tasks.hold.delay("held", "released")
    assert wait_for(lambda: shop.client.llen("held") == 1)
    waiting = tasks.add.delay(1, 1)
    assert wait_for(lambda: len(inspect.reserved()[name]) == 1)
    equal([task["id"] for task in inspect.active()[name]], [running.id])
    waiting.revoke()
    assert wait_for(lambda: waiting.id in inspect.revoked()[name])
    for number in range(5):
        tasks.add.apply_async([number, 1], countdown=600)
    equal(control.purge(), 5)
    shop.client.set("released", 1)
    get(running)
    assert wait_for(lambda: waiting.state == "REVOKED")
    equal(control.pool_grow(1, reply=True, timeout=SECONDS, destination=[name])[0][name]["ok"], "pool will grow")
    control.cancel_consumer("celery", reply=True, timeout=SECONDS, destination=[name])
    assert wait_for(lambda: not consumes())
    control.add_consumer("celery", reply=True, timeout=SECONDS, destination=[name])
    equal(get(tasks.add.delay(2, 2)), 4)
    stats = inspect.stats()[name]
    assert stats["total"]["tasks.add"] >= 1, stats
    control.shutdown(destination=[name])
    equal(worker.wait(), 0)


@with_shop
def running_task_is_terminated(shop):
    shop.work(concurrency=1)
    running = shop.tasks.hold.delay("held", "released")
    assert wait_for(lambda: shop.client.llen("held") == 1)
    running.revoke(terminate=True, signal="SIGKILL")
    assert wait_for(lambda: running.state == "REVOKED")
    equal(get(shop.tasks.add.delay(1, 1)), 2)


@with_shop
def events_arrive(shop):
    seen = []
    shop.work("one", "-E")
    with shop.app.connection() as connection:
        receiver = shop.app.events.Receiver(connection, handlers={"*": seen.append})
        with receiver.consumer_context(wakeup=False) as (drained, _, _):
            shop.tasks.add.delay(1, 2)
            wanted = {"task-received", "task-started", "task-succeeded", "worker-heartbeat"}

            def all_seen():
                try:
                    drained.drain_events(timeout=0.1)
                except OSError:
                    pass
                return wanted <= {event["type"] for event in seen}
            assert wait_for(all_seen), seen


# ---- failures ----------------------------------------------------------------------------------


@with_shop
def task_of_killed_worker_runs_elsewhere(shop):
    first = shop.work()
    result = shop.tasks.hold.delay("held", "released")
    assert wait_for(lambda: shop.client.llen("held") == 1)
    shop.work("two")
    shop.kill_worker(first)
    assert wait_for(lambda: shop.client.llen("held") == 2)
    shop.client.set("released", 1)
    get(result)
    equal(shop.client.lrange("held", 0, -1), ["0", "1"])


@with_shop
def long_task_keeps_its_lease(shop):
    """Its child computes for several leases, in the parent's thread with the pool solo."""
    for pool in ("prefork", "solo", "threads"):
        worker = shop.work(pool, "-P", pool, concurrency=1)
        result = shop.tasks.hold.delay(pool, f"{pool}-released")
        assert wait_for(lambda pool=pool: shop.client.llen(pool) == 1)

        def lease_end():
            return shop.client.execute_command("REDE.RANGE", "celery", "-", "+")[0][1]
        for _ in range(5):
            end = lease_end()
            assert wait_for(lambda end=end: lease_end() > end)
        shop.client.set(f"{pool}-released", 1)
        get(result)
        equal(shop.client.lrange(pool, 0, -1), ["0"])
        shop.end_worker(worker)


@with_shop
def busy_solo_worker_leaves_urgent_tasks_to_others(shop):
    """It waits for other priorities while a task runs in the thread of its loop."""
    shop.work("solo", "-P", "solo", concurrency=1, prefetch=4)
    running = shop.tasks.hold.delay("held", "released")
    assert wait_for(lambda: shop.client.llen("held") == 1)
    shop.tasks.count.apply_async(["count"], priority=3)
    shop.work("two")
    assert wait_for(lambda: shop.client.get("count") == "1")
    shop.client.set("released", 1)
    get(running)
    get(shop.tasks.add.apply_async([1, 2], priority=9))
    assert wait_for(lambda: shop.client.dbsize() and not shop.client.keys("celery\x06*"))
    equal((shop.client.get("count"), shop.client.lrange("held", 0, -1)), ("1", ["0"]))


@with_shop
def running_task_survives_lost_connections(shop):
    """The worker lives, so no other one gets its task: neither after the loss of one connection nor of the server."""
    first = shop.work("one", concurrency=1)
    result = shop.tasks.hold.delay("held", "released")
    assert wait_for(lambda: shop.client.llen("held") == 1)
    shop.tasks.count.apply_async(["later"], countdown=3600)

    def assert_renewed():
        def lease_end():
            return shop.client.execute_command("REDE.RANGE", "celery", "-", "+")[0][1]
        for _ in range(4):
            end = lease_end()
            assert wait_for(lambda end=end: lease_end() > end)

    def restarts():
        return shop.log_of(first).count("Connected to ")
    before = restarts()
    names = [row["id"] for row in shop.client.client_list(_type="pubsub")]
    for id_ in names:
        shop.client.client_kill_filter(_id=id_)
    assert wait_for(lambda: restarts() > before), shop.log_of(first)
    shop.work("two", concurrency=1)
    assert_renewed()
    shop.kill()
    shop.launch()
    assert shop.is_ready()
    assert_renewed()
    shop.client.set("released", 1)
    get(result)
    assert wait_for(lambda: shop.client.execute_command("REDE.LEN", "celery") == 1)
    equal(shop.client.lrange("held", 0, -1), ["0"])


@with_shop
def ended_worker_gives_its_prefetched_tasks_back(shop):
    worker = shop.work(concurrency=1, prefetch=3)
    running = shop.tasks.hold.delay("held", "released")
    assert wait_for(lambda: shop.client.llen("held") == 1)
    waiting = [shop.tasks.hold.delay("waiting", "released") for _ in range(2)]
    assert wait_for(lambda: shop.client.execute_command("REDE.LEN", "celery", "CLAIMED") == 3)
    worker.send_signal(signal.SIGTERM)
    assert wait_for(lambda: "Warm shutdown" in shop.log_of(worker))
    shop.client.set("released", 1)
    equal(worker.wait(), 0)
    shop.work("two")
    for result in (running, *waiting):
        get(result)
    equal(shop.client.lrange("waiting", 0, -1), ["0", "0"])


@with_shop
def task_cut_by_a_cold_shutdown_is_redelivered(shop):
    """With its mark, so that a task can find out that it has begun before."""
    worker = shop.work(concurrency=1, prefetch=2)
    running = shop.tasks.hold.delay("held", "released")
    assert wait_for(lambda: shop.client.llen("held") == 1)
    waiting = shop.tasks.hold.delay("waiting", "released")
    assert wait_for(lambda: shop.client.execute_command("REDE.LEN", "celery", "CLAIMED") == 2)
    worker.send_signal(signal.SIGQUIT)
    worker.wait()
    shop.client.set("released", 1)
    shop.work("two")
    for result in (running, waiting):
        get(result)
    equal((shop.client.lrange("held", 0, -1), shop.client.lrange("waiting", 0, -1)), (["0", "1"], ["0"]))


@with_shop
def restart_of_the_server_loses_no_task(shop):
    shop.work("one", prefetch=4)
    for number in range(100):
        shop.tasks.mark.apply_async(["marks", number], countdown=0.01 * number)
    assert wait_for(lambda: shop.client.scard("marks") > 20)
    shop.kill()
    shop.launch()
    assert shop.is_ready()
    assert wait_for(lambda: shop.client.scard("marks") == 100)
    assert wait_for(lambda: shop.client.exists("celery") == 0)


@with_shop
def foreign_messages_do_not_stop_a_worker(shop):
    worker = shop.work()
    shop.client.execute_command("REDE.PUSH", "celery", 0, "no json", "a")
    publish(shop.connect(), {"no": "task"}, queue=queue_of("celery"))
    equal(get(shop.tasks.add.delay(1, 2)), 3)
    assert wait_for(lambda: "no message of kombu" in shop.log_of(worker)), shop.log_of(worker)
    equal(shop.client.execute_command("REDE.LEN", "celery"), 1)


if __name__ == "__main__":
    main()
