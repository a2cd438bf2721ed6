#!/usr/bin/python3 -B
"""kombu with the transport expired.kombu: what its Redis transport does, and messages that are due later."""
import datetime
import json
import os
import signal
import sys
from unittest.mock import patch

import kombu.exceptions

sys.path.insert(1, sys.path[0])
from brokers import SECONDS, Broker, Inbox, publish, queue_of, raises, with_broker
from daemon import Daemon, Skipped, beside_redis, equal, fork, main, oracle, stepped, test, wait_for
from engines import MODULE, Engine

KEY = "mail"


def with_stepped_broker(function):
    def run():
        with Broker() as broker, broker.redis() as client:
            broker.hold()
            function(broker, client)
    run.__name__ = function.__name__
    return stepped(run)


def in_seconds(seconds, zone=datetime.timezone.utc):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).astimezone(zone)


# ---- queues ------------------------------------------------------------------------------------


@with_broker
def messages_arrive_in_order(broker, client):
    publish(broker.connect(), *range(20))
    inbox = Inbox(broker.connect(), ack=True)
    inbox.drain(20)
    equal(inbox.bodies, list(range(20)))
    assert not inbox.messages[0].delivery_info.get("redelivered")
    equal(client.exists(KEY), 0)


@with_broker
def smaller_numbers_have_priority(broker, _client):
    source = broker.connect()
    for body, priority in enumerate((0, 9, 3, 0, 6, 5, 10, -1)):
        publish(source, body, priority=priority)
    inbox = Inbox(broker.connect(), ack=True)
    inbox.drain(8)
    equal(inbox.bodies, [0, 3, 7, 2, 5, 4, 1, 6])


@with_broker
def steps_of_priority_are_an_option(broker, client):
    source = broker.connect(priority_steps=[5, 0])
    publish(source, "later", priority=7)
    publish(source, "first", priority=4)
    inbox = Inbox(broker.connect(priority_steps=[0, 5]), ack=True)
    inbox.drain(2)
    equal(inbox.bodies, ["first", "later"])
    equal(client.client_list(_type="normal")[0]["db"], "0")


@with_broker
def queues_take_turns(broker, _client):
    source, queues = broker.connect(), [queue_of("a"), queue_of("b")]
    for queue in queues:
        publish(source, *[queue.name] * 3, queue=queue)
    inbox = Inbox(broker.connect(), *queues, ack=True)
    inbox.drain(6)
    equal(inbox.bodies, ["a", "b"] * 3)


@with_broker
def channels_take_turns(broker, _client):
    connection, seen = broker.connect(), []
    for name in "ab":
        publish(broker.connect(), *[name] * 3, queue=queue_of(name))
        consumer = kombu.Consumer(connection.channel(), [queue_of(name)], on_message=lambda message: (
            seen.append(message.payload), message.ack()))
        consumer.consume()
    for _ in range(4):
        connection.drain_events(timeout=SECONDS)
    equal(sorted(seen), ["a", "a", "b", "b"])


@with_broker
def fanout_is_read_while_a_backlog_lasts(broker, client):
    exchange = kombu.Exchange("all", type="fanout")
    publish(broker.connect(), *range(5))
    inbox = Inbox(broker.connect(), queue_of(), kombu.Queue("one", exchange), ack=True)
    inbox.drain()
    with broker.connect().Producer() as producer:
        producer.publish("news", exchange=exchange, declare=[exchange])
    assert wait_for(lambda: client.info("commandstats")["cmdstat_publish"]["calls"] == 1)
    inbox.drain(2)
    assert "news" in inbox.bodies, inbox.bodies


@with_broker
def queue_knows_its_size_and_is_purged(broker, client):
    source = broker.connect()
    publish(source, "now", "claimed")
    publish(source, "later", headers={"countdown": 60}, priority=3)
    bound = queue_of()(source.default_channel)
    equal(bound.queue_declare(passive=True).message_count, 3)
    claimed = bound.get()
    equal(bound.queue_declare(passive=True).message_count, 2)
    equal(bound.purge(), 2)
    equal(bound.queue_declare().message_count, 0)
    claimed.ack()
    equal(client.keys("mail*"), [])


@with_broker
def passive_declare_of_missing_queue_fails(broker, _client):
    with raises(kombu.exceptions.ChannelError, "mail"):
        queue_of()(broker.connect().default_channel).queue_declare(passive=True)


@with_broker
def deleted_queue_leaves_nothing(broker, client):
    source = broker.connect()
    publish(source, "now")
    publish(source, "later", headers={"countdown": 60}, priority=9)
    queue_of()(source.default_channel).delete()
    equal(client.keys("*"), [])
    publish(source, "lost", queue=queue_of("other"), routing_key="mail")
    equal(client.keys("mail*"), [])


@with_broker
def get_takes_one_message(broker, client):
    source = broker.connect()
    publish(source, "late", priority=9)
    publish(source, "first", "second")
    bound = queue_of()(source.default_channel)
    first = bound.get()
    equal(first.payload, "first")
    first.ack()
    equal(bound.get(no_ack=True).payload, "second")
    equal(client.exists(KEY), 0)
    equal(bound.get().payload, "late")
    equal(bound.get(), None)


@with_broker
def simple_queue_works(broker, client):
    with broker.connect().SimpleQueue("simple") as queue:
        queue.put({"hello": "world"})
        message = queue.get(timeout=SECONDS)
        equal(message.payload, {"hello": "world"})
        message.ack()
        with raises(queue.Empty):
            queue.get(block=False)
    with broker.connect().SimpleBuffer("buffer") as buffer:
        buffer.put("once")
        equal(buffer.get(timeout=SECONDS).payload, "once")
    equal(client.exists("simple", "buffer"), 0)


@with_broker
def consumer_without_acks_removes_at_delivery(broker, client):
    publish(broker.connect(), "a", "b", "c")
    inbox = Inbox(broker.connect(), no_ack=True, prefetch=1)
    inbox.drain(3)
    equal(inbox.bodies, ["a", "b", "c"])
    equal(client.exists(KEY), 0)


@with_broker
def topics_are_routed_by_patterns(broker, _client):
    source = broker.connect()
    queues = [queue_of("stock", "topic", "stock.#"), queue_of("usd", "topic", "*.usd.*")]
    queues[1].exchange = queues[0].exchange
    for queue in queues:
        queue(source.default_channel).declare()
    for key in ("stock.usd.nyse", "stock.eur.fra", "news.usd.ap", "news.eur.ap"):
        publish(source, key, queue=queues[0], routing_key=key)
    inboxes = [Inbox(broker.connect(), queue, ack=True) for queue in queues]
    for inbox in inboxes:
        inbox.drain(2)
        assert inbox.is_idle()
    equal([sorted(inbox.bodies) for inbox in inboxes],
          [["stock.eur.fra", "stock.usd.nyse"], ["news.usd.ap", "stock.usd.nyse"]])


@with_broker
def fanout_reaches_every_queue(broker, client):
    exchange = kombu.Exchange("all", type="fanout")
    inboxes = [Inbox(broker.connect(), kombu.Queue(name, exchange), ack=True) for name in ("one", "two")]
    with broker.connect().Producer() as producer:
        producer.publish("news", exchange=exchange, declare=[exchange])
    for inbox in inboxes:
        equal(inbox.drain().payload, "news")
        inbox.consumer.cancel()
    equal(client.keys("*"), [])


@with_broker
def fanout_selects_by_routing_key(broker, _client):
    exchange = kombu.Exchange("all", type="fanout")
    inbox = Inbox(broker.connect(), kombu.Queue("tasks", exchange, routing_key="task.#"), no_ack=True)
    with broker.connect().Producer() as producer:
        for key in ("worker.online", "task.sent"):
            producer.publish(key, exchange=exchange, routing_key=key, declare=[exchange])
    equal(inbox.drain().payload, "task.sent")
    assert inbox.is_idle()


@with_broker
def keys_have_a_prefix(broker, client):
    source = broker.connect(global_keyprefix="shop:")
    publish(source, "a")
    equal(sorted(client.keys("*")), [b"shop:_kombu.binding.mail", b"shop:mail"])
    equal(Inbox(broker.connect(broker.url + "?global_keyprefix=shop:")).drain().payload, "a")


# ---- deadlines ---------------------------------------------------------------------------------


@with_stepped_broker
def message_waits_for_its_eta(broker, _client):
    source, inbox = broker.connect(), Inbox(broker.connect(), ack=True)
    berlin = datetime.timezone(datetime.timedelta(hours=2))
    etas = (in_seconds(600).isoformat(), in_seconds(600, berlin).isoformat(),
            in_seconds(600).replace(tzinfo=None).isoformat(), in_seconds(600).replace(tzinfo=None).isoformat() + "Z")
    publish(source, "now", headers={"eta": None})
    publish(source, "past", headers={"eta": in_seconds(-5).isoformat()})
    for eta in etas:
        publish(source, eta, headers={"eta": eta})
    inbox.drain(2)
    broker.step(540_000)
    assert inbox.is_idle()
    broker.step(60_000)
    inbox.drain(4)
    equal(inbox.bodies[:2], ["now", "past"])
    equal(sorted(inbox.bodies[2:]), sorted(etas))


@with_stepped_broker
def countdown_is_exact_to_the_millisecond(broker, _client):
    source, inbox = broker.connect(), Inbox(broker.connect(), ack=True)
    publish(source, "a", headers={"countdown": 1.5})
    broker.step(1_499)
    assert inbox.is_idle()
    broker.step(1)
    equal(inbox.drain().payload, "a")


@with_broker
def nonsense_of_times_means_now(broker, _client):
    inbox = Inbox(broker.connect(), ack=True)
    for headers in ({"eta": "soon"}, {"eta": 5}, {"countdown": "x"}, {"countdown": -1}, {"countdown": float("inf")},
                    {"countdown": [1]}):
        publish(broker.connect(), "a", headers=headers)
        equal(inbox.drain().headers, headers)


@test
def etas_of_other_languages_are_read():
    """By every Python: before 3.11 fromisoformat reads what isoformat writes, and nothing else."""
    class Strict(datetime.datetime):
        @classmethod
        def fromisoformat(cls, text):
            found = datetime.datetime.fromisoformat(text)
            equal(found.isoformat(timespec="microseconds"), text)
            return found
    noon = datetime.datetime(2027, 1, 2, 12, 0, 0, 120000, datetime.timezone.utc)
    module, there = sys.modules["expired.kombu"], sys.modules["expired.kombu"].datetime
    module.datetime = Strict
    try:
        for text in ("2027-01-02T12:00:00.12Z", "2027-01-02T12:00:00.12+0000", "20270102T120000.12Z",
                     "2027-01-02 14:00:00,120+02", "2027-01-02T12:00:00.120000999z", "2027-01-02T06:30:00.12-05:30",
                     "2027-01-02T12:00:00.12"):
            equal(module.read_eta(text), noon, text)
        equal(module.read_eta("2027-01-02T12:00Z"), noon.replace(microsecond=0))
        for text in ("2027-13-02T12:00:00Z", "soon", None, 5):
            equal(module.read_eta(text), None, text)
    finally:
        module.datetime = there


@with_broker
def worker_sees_a_reached_eta_in_a_form_that_it_reads(broker, _client):
    publish(broker.connect(), "a", headers={"eta": "2021-01-02T14:00:00.5+0200"})
    equal(Inbox(broker.connect()).drain().headers["eta"], "2021-01-02T14:00:00.500000+02:00")


@with_stepped_broker
def due_message_is_due_for_slow_clocks_too(broker, _client):
    """The broker's clock jumps an hour: for this process the ETA is still to come."""
    publish(broker.connect(), "a", headers={"eta": in_seconds(3600).isoformat()})
    inbox = Inbox(broker.connect())
    broker.step(3_600_000)
    eta = datetime.datetime.fromisoformat(inbox.drain().headers["eta"])
    assert eta <= in_seconds(0), eta


@with_broker
def reached_eta_stays_as_it_was(broker, _client):
    eta = in_seconds(-1).isoformat()
    publish(broker.connect(), "a", headers={"eta": eta})
    equal(Inbox(broker.connect()).drain().headers["eta"], eta)


# ---- acknowledgements --------------------------------------------------------------------------


@with_broker
def reject_drops_and_requeue_returns(broker, client):
    publish(broker.connect(), "a")
    inbox = Inbox(broker.connect())
    inbox.drain().requeue()
    again = inbox.drain()
    assert again.delivery_info["redelivered"]
    again.reject()
    equal(client.exists(KEY), 0)


@with_broker
def requeued_message_survives_a_purge(broker, client):
    """At once, and after the keeper has found that its lease is gone."""
    publish(broker.connect(), "a", "b")
    inbox = Inbox(broker.connect(lease=0.5))
    inbox.drain(2)
    first, second = inbox.messages
    equal(queue_of()(broker.connect().default_channel).purge(), 0)
    first.requeue()
    again = inbox.drain()
    equal((again.payload, again.delivery_info["redelivered"]), ("a", True))
    claims = inbox.connection.transport.claims
    assert wait_for(lambda: len(claims.lost) == 1), "the keeper renews what was purged"
    second.requeue()
    equal(inbox.drain().payload, "b")
    equal(claims.lost, {})
    for message in inbox.messages[2:]:
        message.ack()
    equal(client.exists(KEY), 0)


@with_broker
def recovered_message_survives_a_purge(broker, client):
    publish(broker.connect(), "a")
    inbox = Inbox(broker.connect())
    inbox.drain()
    client.delete(KEY)
    inbox.consumer.recover(requeue=True)
    again = inbox.drain()
    equal((again.payload, again.delivery_info["redelivered"]), ("a", True))


@with_broker
def requeue_beside_the_discovery_of_a_loss_returns(broker, client):
    """Another thread requeues as early as the lock of the claims lets it, while the keeper notes that a lease is gone."""
    publish(broker.connect(), "a")
    inbox = Inbox(broker.connect(lease=3600))
    message, claims = inbox.drain(), inbox.connection.transport.claims

    class Lost(dict):
        def __setitem__(self, tag, claim):
            if not claims.lock.locked():
                message.requeue()
            super().__setitem__(tag, claim)
    claims.lost = Lost()
    client.delete(KEY)
    claims.renew()
    if not message.acknowledged:
        message.requeue()
    equal(inbox.drain().payload, "a")
    equal(claims.lost, {})


@with_broker
def requeue_leaves_a_message_to_its_present_consumer(broker, client):
    publish(broker.connect(), "a")
    late = Inbox(broker.connect())
    message = late.drain()
    id_, token = message.delivery_tag.rsplit(".", 1)
    client.execute_command("REDE.RETRY", KEY, 0, id_, token)
    other = Inbox(broker.connect())
    other.drain()
    message.requeue()
    equal(client.execute_command("REDE.LEN", KEY, "CLAIMED"), 1)
    other.messages[0].ack()
    equal(client.exists(KEY), 0)


@with_broker
def recover_gives_all_back(broker, _client):
    publish(broker.connect(), "a", "b")
    inbox = Inbox(broker.connect())
    inbox.drain(2)
    inbox.consumer.recover(requeue=True)
    inbox.drain(2)
    equal(inbox.bodies, ["a", "b"] * 2)


@with_broker
def prefetch_is_respected(broker, client):
    publish(broker.connect(), *range(5))
    first, second = (Inbox(broker.connect(), prefetch=2) for _ in range(2))
    first.drain(2)
    assert first.is_idle()
    second.drain(2)
    equal(first.bodies + second.bodies, list(range(4)))
    equal(client.execute_command("REDE.LEN", KEY, "CLAIMED"), 4)
    first.messages[0].ack()
    equal(first.drain().payload, 4)


@with_broker
def message_without_room_goes_back(broker, client):
    """Both keys become due at once, while the consumer waits for both and has room for one."""
    source, inbox = broker.connect(), Inbox(broker.connect(), prefetch=1)
    assert inbox.is_idle()
    with client.pipeline() as pipe:
        for key in (KEY, KEY + "\x06\x163"):
            pipe.execute_command("REDE.PAUSE", key)
        pipe.execute()
    publish(source, "first")
    publish(source, "second", priority=3)
    with client.pipeline() as pipe:
        for key in (KEY, KEY + "\x06\x163"):
            pipe.execute_command("REDE.RESUME", key)
        pipe.execute()
    inbox.drain()
    assert inbox.is_idle()
    equal(len(inbox.bodies), 1)
    inbox.messages[0].ack()
    assert not inbox.drain().delivery_info.get("redelivered"), "the delivery counted"
    equal(sorted(inbox.bodies), ["first", "second"])


@with_broker
def closed_consumer_gives_back_at_once(broker, client):
    publish(broker.connect(), "a")
    inbox = Inbox(broker.connect())
    inbox.drain()
    inbox.connection.release()
    equal(client.execute_command("REDE.LEN", KEY, "DUE"), 1)
    assert not Inbox(broker.connect()).drain().delivery_info.get("redelivered"), "the delivery counted"


@with_broker
def messages_given_back_come_before_those_that_wait(broker, _client):
    publish(broker.connect(), *range(6))
    inbox = Inbox(broker.connect(), prefetch=4)
    inbox.drain(4)
    inbox.connection.release()
    other = Inbox(broker.connect())
    other.drain(6)
    equal(other.bodies, list(range(6)))


@with_broker
def begun_messages_go_behind_those_that_wait_in_their_order(broker, _client):
    publish(broker.connect(), *range(6))
    inbox = Inbox(broker.connect(), prefetch=4)
    inbox.drain(4)
    with patch("expired.kombu.was_begun_by_celery", lambda message: message.payload % 2 == 0):
        inbox.connection.release()
    other = Inbox(broker.connect())
    other.drain(6)
    equal(other.bodies, [1, 3, 4, 5, 0, 2])


@with_broker
def requeued_message_goes_behind_those_that_wait(broker, _client):
    publish(broker.connect(), *range(3))
    inbox = Inbox(broker.connect(), prefetch=1)
    inbox.drain().requeue()
    inbox.ack = True
    inbox.drain(3)
    equal(inbox.bodies, [0, 1, 2, 0])


@with_broker
def cancelled_consumer_takes_nothing(broker, client):
    inbox = Inbox(broker.connect())
    assert inbox.is_idle()
    inbox.consumer.cancel()
    equal(client.info("clients")["blocked_clients"], 0)
    publish(broker.connect(), "a")
    equal(client.execute_command("REDE.LEN", KEY, "DUE"), 1)


def consume_and_hang(broker):
    """A process that takes one message and keeps it; its id."""
    def take():
        inbox = Inbox(broker.connect())
        inbox.drain()
        signal.pause()
    return fork(take)


@with_stepped_broker
def message_of_killed_consumer_is_due_after_the_lease(broker, client):
    publish(broker.connect(), "a")
    child = consume_and_hang(broker)
    assert wait_for(lambda: client.execute_command("REDE.LEN", KEY, "CLAIMED"))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    inbox = Inbox(broker.connect(), ack=True)
    broker.step(9_999)
    assert inbox.is_idle()
    broker.step(1)
    assert inbox.drain().delivery_info["redelivered"]


@with_broker
def held_message_keeps_its_lease(broker, client):
    def lease_end():
        return client.execute_command("REDE.RANGE", KEY, "-", "+")[0][1]
    publish(broker.connect(), "a")
    inbox = Inbox(broker.connect(lease=1))
    inbox.drain()
    for _ in range(3):
        end = lease_end()
        assert wait_for(lambda end=end: lease_end() > end)
    assert Inbox(broker.connect()).is_idle()


@with_stepped_broker
def late_ack_harms_nobody(broker, client):
    publish(broker.connect(), "a")
    first, second = Inbox(broker.connect()), Inbox(broker.connect())
    first.drain()
    broker.step(10_000)
    second.drain()
    first.messages[0].ack()
    equal(client.execute_command("REDE.LEN", KEY, "CLAIMED"), 1)
    second.messages[0].ack()
    equal(client.exists(KEY), 0)


@with_broker
def forked_child_leaves_claims_alone(broker, client):
    publish(broker.connect(), "a")
    inbox = Inbox(broker.connect())
    inbox.drain()
    import billiard  # pylint: disable=import-outside-toplevel # as Celery's pool forks

    def child():
        inbox.connection.transport.channels[0].close()
    process = billiard.Process(target=child)
    process.start()
    process.join()
    inbox.messages[0].ack()
    equal(client.exists(KEY), 0)
    publish(broker.connect(), "b")
    equal(inbox.drain().payload, "b")


@with_broker
def idle_consumer_sends_nothing(broker, client):
    def count():
        return client.info("stats")["total_commands_processed"]
    inbox = Inbox(broker.connect(lease=3600))
    assert inbox.is_idle()
    before = count()
    for _ in range(5):
        assert inbox.is_idle()
    equal(count() - before, 1)


# ---- restarts ----------------------------------------------------------------------------------


@test
def restart_amid_a_prefetch_loses_nothing():
    with Broker("--appendonly", "yes") as broker:
        port = broker.port
        publish(broker.connect(), *"abc")
        inbox = Inbox(broker.connect(lease=1), prefetch=2)
        inbox.drain(2)
        broker.kill()
        with raises(inbox.connection.connection_errors):
            inbox.drain()
        inbox.connection.release()
        broker.launch()
        assert broker.is_ready()
        equal(broker.port, port)
        inbox.messages[0].ack()  # its lease may have ended, but nobody has claimed the message since
        inbox.messages.clear()  # nobody uses the other one any more
        other = Inbox(broker.connect(), ack=True)
        other.drain(2)
        assert other.is_idle()
        equal(sorted(other.bodies), ["b", "c"])


@test
def producer_survives_a_restart():
    with Broker("--appendonly", "yes") as broker:
        with broker.connect().Producer() as producer:
            queue = queue_of()
            producer.publish("a", exchange=queue.exchange, routing_key=KEY, declare=[queue])
            broker.kill()
            broker.launch()
            assert broker.is_ready()
            producer.publish("b", exchange=queue.exchange, routing_key=KEY, retry=True,
                             retry_policy={"max_retries": 5, "interval_start": 0})
        inbox = Inbox(broker.connect(), ack=True)
        inbox.drain(2)
        equal(inbox.bodies, ["a", "b"])


@with_broker
def connections_leave_no_descriptors(broker, _client):
    def use():
        with broker.connect() as connection:
            publish(connection, "a")
            Inbox(connection, ack=True).drain()
        broker.connect().as_uri()
    use()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        use()
    equal(len(os.listdir("/proc/self/fd")), before)


# ---- bad input ---------------------------------------------------------------------------------


@with_broker
def foreign_elements_are_set_aside(broker, client):
    client.execute_command("REDE.PUSH", KEY, 0, "no json", "a")
    client.execute_command("REDE.PUSH", KEY, 0, "[]", "b")
    client.execute_command("REDE.PUSH", KEY, 0, json.dumps({"body": "x", "properties": {}}), "c")
    client.execute_command("REDE.PUSH", KEY, 0, b"\xff\x00", "d")
    client.execute_command("REDE.PUSH", KEY, 0, json.dumps({"body": 5, "properties": {"delivery_info": {}}}), "e")
    publish(broker.connect(), "good")
    inbox = Inbox(broker.connect(), ack=True)
    equal(inbox.drain().payload, "good")
    assert inbox.is_idle()
    equal(client.execute_command("REDE.LEN", KEY), 5)
    assert client.execute_command("REDE.TTN", KEY) > 3_000_000


@with_broker
def foreign_publications_are_dropped(broker, client):
    exchange = kombu.Exchange("all", type="fanout")
    inbox = Inbox(broker.connect(), kombu.Queue("one", exchange), no_ack=True)
    client.publish("/0.all", "no json")
    client.publish("/0.all", "5")
    with broker.connect().Producer() as producer:
        producer.publish("news", exchange=exchange, declare=[exchange])
    equal(inbox.drain().payload, "news")


@with_broker
def key_of_another_type_is_named(broker, client):
    client.rpush(KEY, "of the Redis transport")
    with raises(kombu.exceptions.ChannelError, "'mail'", "list", "dehydrator"):
        publish(broker.connect(), "a")
    client.delete(KEY)
    source = broker.connect()
    publish(source, "a")
    client.delete(KEY)
    client.set(KEY, "x")
    with raises(kombu.exceptions.ChannelError, "'mail'", "string"):
        publish(source, "b")


@with_broker
def unknown_options_are_named(broker, _client):
    with raises(ValueError, "speed", "lease"):
        broker.connect(broker.url + "?speed=5").connect()
    with raises(ValueError, "visibility", "lease"):
        broker.connect(visibility=5).connect()
    for lease in 0, "inf", "nan", "abc", None, 1e18:
        with raises(ValueError, "lease"):
            broker.connect(lease=lease).connect()
    with raises(ValueError, "ssl_cert_reqs", "foo"):
        broker.connect(broker.url + "?ssl_cert_reqs=foo").connect()
    with raises(ValueError, "ssl_check_hostname", "perhaps"):
        broker.connect(broker.url + "?ssl_check_hostname=perhaps").connect()
    tls = broker.connect(broker.url + "?ssl_check_hostname=false&ssl_cert_reqs=none")
    tls.as_uri()
    equal(tls.ssl["ssl_check_hostname"], False)
    with raises(ValueError, "shop"):
        broker.connect(broker.url[:-1] + "shop").connect()
    with raises(ValueError, "http"):
        broker.connect("http://127.0.0.1").connect()
    broker.connect(visibility_timeout=3600, max_retries=2).connect()
    broker.connect(broker.url + "?lease=5").connect()


@test
def urls_name_user_database_and_socket():
    with Broker("--requirepass", "s3cret word") as broker:
        url = f"redis://:s3cret%20word@127.0.0.1:{broker.port}/2"
        publish(broker.connect(url), "a")
        equal(Inbox(broker.connect(f"unix://:s3cret%20word@{broker.path}?db=2"), ack=True).drain().payload, "a")
        assert "s3cret" not in broker.connect(url).as_uri()
        equal(broker.connect(url).as_uri(include_password=True), url)
        equal(broker.connect("redis://[::1]:6379/1").as_uri(), "redis://[::1]:6379/1")
        assert "s3cret" not in str(broker.connect(url).transport.client.hostname)
        wrong = broker.connect()
        with raises(wrong.connection_errors, "Authentication required"):
            wrong.connect()


def refuse(engine, *words):
    with engine, Broker() as broker:
        url = f"redis://127.0.0.1:{engine.port}/0"
        with raises(kombu.exceptions.VersionMismatch, url, *words):
            broker.connect(url).connect()


@beside_redis
def server_without_our_commands_is_refused():
    refuse(Daemon(binary=oracle(), tcp=True), "REDE.CLAIM", "REDE.EXTEND")


@beside_redis
def module_is_refused():
    if not os.access(MODULE, os.R_OK):
        raise Skipped("there is no expired.so; make module builds it")
    refuse(Engine(tcp=True), "REDE.ACK", "REDE.EXTEND", "REDE.RETRY")


if __name__ == "__main__":
    main()
