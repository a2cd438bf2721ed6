#!/usr/bin/python3 -B
"""kombu with the transport expired.kombu, when something fails: busy consumers, lost connections, acknowledgements that
do not arrive, keys that are replaced, connections that are half open."""
import gc
import logging
import os
import socket
import sys
import tempfile

import kombu
import redis

sys.path.insert(1, sys.path[0])
from brokers import SECONDS, TRANSPORT, Broker, Inbox, publish, queue_of, raises, with_broker
from daemon import equal, free_port, main, test, wait_for

KEY = "mail"


def lease_end(client, key=KEY):
    return client.execute_command("REDE.RANGE", key, "-", "+")[0][1]


def assert_renewed(client, key=KEY):
    for _ in range(4):
        end = lease_end(client, key)
        assert wait_for(lambda end=end: lease_end(client, key) > end), "the lease is not renewed"


def transport_of(inbox):
    return inbox.connection.transport


def kill_waits(client):
    waits = [row["id"] for row in client.client_list() if "b" in row["flags"]]
    assert waits
    for id_ in waits:
        client.client_kill_filter(_id=id_)


# ---- busy consumers ----------------------------------------------------------------------------


@with_broker
def busy_consumer_gives_back_at_once(broker, client):
    busy = Inbox(broker.connect(lease=2))
    assert busy.is_idle()
    publish(broker.connect(), "a")
    assert wait_for(lambda: client.info("clients")["blocked_clients"] == 0), "the busy consumer waits on"
    message = Inbox(broker.connect()).drain()
    assert not message.delivery_info.get("redelivered"), "the lease ended first"
    assert busy.is_idle()
    equal(busy.bodies, [])


@with_broker
def busy_consumer_stops_waiting_long_before_its_lease_ends(broker, client):
    busy = Inbox(broker.connect(lease=3600))
    assert busy.is_idle()
    assert wait_for(lambda: client.info("clients")["blocked_clients"] == 0), "the busy consumer waits on"
    publish(broker.connect(), "a")
    equal(Inbox(broker.connect()).drain().payload, "a")
    assert busy.is_idle()
    publish(broker.connect(), "b")
    equal(busy.drain().payload, "b")


@with_broker
def late_reply_is_dropped(broker, _client):
    """The thread can't end the wait. The lease ends, and another consumer has the message."""
    busy = Inbox(broker.connect(lease=0.5))
    transport_of(busy).stop_waits = lambda: None
    assert busy.is_idle()
    publish(broker.connect(), "a")
    other = Inbox(broker.connect())
    equal(other.drain().payload, "a")
    assert busy.is_idle()
    equal(busy.bodies, [])


@with_broker
def late_reply_that_is_still_ours_arrives(broker, client):
    busy = Inbox(broker.connect(lease=0.5), ack=True)
    transport_of(busy).stop_waits = lambda: None
    assert busy.is_idle()
    publish(broker.connect(), "a")
    assert wait_for(lambda: client.execute_command("REDE.LEN", KEY, "DUE") == 1), "its lease ends"
    busy.drain()
    assert busy.is_idle()
    equal((busy.bodies, client.exists(KEY)), (["a"], 0))


# ---- lost connections --------------------------------------------------------------------------


@with_broker
def lost_connection_keeps_messages_in_use(broker, client):
    publish(broker.connect(), "used", "forgotten")
    inbox = Inbox(broker.connect(lease=0.5), prefetch=3)
    inbox.drain(2)
    assert inbox.is_idle()
    keeper = transport_of(inbox).keeper
    kill_waits(client)
    with raises(inbox.connection.connection_errors):
        inbox.drain()
    inbox.connection.release()
    del inbox.messages[1]
    other = Inbox(broker.connect(), ack=True)
    again = other.drain()
    equal((again.payload, again.delivery_info.get("redelivered")), ("forgotten", None))
    assert_renewed(client)
    inbox.messages[0].ack()
    equal(client.exists(KEY), 0)
    assert wait_for(lambda: keeper.thread is None), "the thread goes on"


@with_broker
def forgotten_connection_gives_its_messages_back(broker, client):
    publish(broker.connect(), "a")
    inbox = Inbox(kombu.Connection(broker.url, transport=TRANSPORT, transport_options={"lease": 0.5}))
    inbox.drain()
    assert_renewed(client)
    del inbox
    gc.collect()
    equal(Inbox(broker.connect()).drain().payload, "a")


@with_broker
def error_of_a_command_keeps_messages_in_use(broker, client):
    publish(broker.connect(), "a")
    inbox = Inbox(broker.connect(lease=5), prefetch=3)
    inbox.drain()

    def stall(*_words, **_options):
        raise redis.TimeoutError("Timeout reading from socket")
    transport_of(inbox).commands.rede_claim = stall
    publish(broker.connect(), "b")
    with raises(inbox.connection.connection_errors):
        inbox.drain(2)
    inbox.connection.release()
    equal(client.execute_command("REDE.LEN", KEY, "CLAIMED"), 1)


@with_broker
def error_of_a_callback_is_no_loss(broker, client):
    publish(broker.connect(), "a")
    inbox = Inbox(broker.connect())

    def fail(_body, _message):
        raise FileNotFoundError("as asked")
    inbox.consumer.callbacks.append(fail)
    with raises(FileNotFoundError):
        inbox.drain()
    inbox.connection.release()
    equal(client.execute_command("REDE.LEN", KEY, "DUE"), 1)


@test
def idle_connections_may_be_closed():
    """The connections of a consumer without room do not wait, so the server's timeout applies to them."""
    with Broker("--timeout", "1") as broker, broker.redis() as client:
        publish(broker.connect(), "a", "b")
        inbox = Inbox(broker.connect(), prefetch=1)
        inbox.drain()
        assert inbox.is_idle()
        ids = {line.id for channel in transport_of(inbox).channels for line in channel.lines.values()}
        assert ids
        assert wait_for(lambda: not ids & {int(row["id"]) for row in client.client_list()})
        assert inbox.is_idle()
        inbox.messages[0].ack()
        equal(inbox.drain().payload, "b")


@with_broker
def half_open_connections_are_noticed_and_closed(broker, _client):
    inbox = Inbox(broker.connect())
    assert inbox.is_idle()
    lines = [line for channel in transport_of(inbox).channels for line in channel.lines.values()]
    for line in lines:
        assert line.connection._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) <= 30
        assert line.connection._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) <= 30_000
        line.id = 1 << 60  # the server has forgotten it
    inbox.consumer.cancel()
    equal([line.fd for line in lines], [None] * len(lines))


# ---- acknowledgements that do not arrive -------------------------------------------------------


@with_broker
def failed_ack_makes_room_and_is_repeated(broker, client):
    for error, kind in ((redis.ConnectionError, "ack"), (redis.ReadOnlyError, "ack"), (redis.TimeoutError, "requeue")):
        publish(broker.connect(), "a", "b")
        inbox = Inbox(broker.connect(lease=0.5), prefetch=1)
        first = inbox.drain()
        commands = transport_of(inbox).commands

        def fail(*_words, error=error, commands=commands, **_options):
            del commands.rede_ack, commands.rede_retry
            raise error("as asked")
        commands.rede_ack = commands.rede_retry = fail
        with raises(error):
            getattr(first, kind)()
        inbox.ack = True
        equal(inbox.drain().payload, "b")
        if kind == "requeue":
            equal(inbox.drain().payload, "a")
        assert wait_for(lambda: client.exists(KEY) == 0), (error, kind)
        inbox.connection.release()


@with_broker
def ack_of_another_thread_wakes_the_loop(broker, _client):
    """It comes just after the consumer has seen that it has no room."""
    inbox = Inbox(broker.connect(priority_steps=[0], lease=3600), prefetch=1)
    assert inbox.is_idle()
    publish(broker.connect(), "a", "b")
    message = inbox.drain()
    channel, full = transport_of(inbox).channels[0], []
    room = channel.room

    def room_and_ack():
        found = room()
        if found == 0:
            full.append(found)
            if len(full) == 2:
                message.ack()
        return found
    channel.room = room_and_ack
    equal(inbox.drain().payload, "b")


# ---- renewals ----------------------------------------------------------------------------------


@with_broker
def replaced_key_does_not_stop_other_renewals(broker, client):
    queues = [queue_of("a"), queue_of("b")]
    for queue in queues:
        publish(broker.connect(), "x", queue=queue)
    inbox = Inbox(broker.connect(lease=0.5), *queues, prefetch=2)
    inbox.drain(2)
    client.delete("a")
    client.set("a", "x")
    assert_renewed(client, "b")


@with_broker
def renewals_go_on_after_any_error(broker, client):
    publish(broker.connect(), "x")
    inbox = Inbox(broker.connect(lease=0.5))
    inbox.drain()
    commands = transport_of(inbox).commands

    def fail(*_words):
        del commands.rede_extend
        raise ValueError("as asked")
    commands.rede_extend = fail
    assert wait_for(lambda: "rede_extend" not in vars(commands))
    assert_renewed(client)


# ---- options and descriptors -------------------------------------------------------------------


@with_broker
def options_of_the_url_stay_with_copies(broker, client):
    def publish_and_find(connection):
        publish(connection, "a")
        equal((client.exists("shop:mail"), client.exists("mail")), (1, 0))
        client.flushall()
    shared = {"socket_connect_timeout": 5}
    connection = kombu.Connection(broker.url + "?global_keyprefix=shop:", transport="expired.kombu:Transport",
                                  transport_options=shared)
    broker.connections.append(connection)
    copy = connection.clone()
    broker.connections.append(copy)
    publish_and_find(copy)
    publish_and_find(connection)
    connection.collect()
    publish_and_find(connection)
    with connection.Pool(1).acquire(block=True) as pooled:
        publish_and_find(pooled)
    equal(shared, {"socket_connect_timeout": 5})


@with_broker
def celery_publishes_with_options_of_the_url(broker, client):
    import celery  # pylint: disable=import-outside-toplevel # slow
    app = celery.Celery("prefix", broker=broker.url + "?global_keyprefix=shop:")
    app.conf.broker_transport = "expired.kombu:Transport"
    app.send_task("tasks.add", [1, 2])
    equal((client.exists("shop:celery"), client.exists("celery")), (1, 0))
    app.close()


@with_broker
def closed_transport_leaves_descriptors_alone(broker, _client):
    publish(broker.connect(), "a")
    inbox = Inbox(broker.connect(), prefetch=1)
    message = inbox.drain()
    assert inbox.is_idle()
    transport = transport_of(inbox)
    transport.is_lost = True  # so the message stays
    numbers = [transport.bell.end.fileno(), transport.bell.other.fileno()]
    inbox.connection.release()
    with tempfile.TemporaryFile(dir=broker.dir) as file:
        copies = [number for number in numbers if number != file.fileno()]
        for number in copies:
            os.dup2(file.fileno(), number)
        message.ack()
        transport.close_connection(transport)
        equal(os.fstat(file.fileno()).st_size, 0)
        for number in copies:
            os.close(number)


@with_broker
def unused_connections_open_nothing(broker, _client):
    def count():
        return len(os.listdir("/proc/self/fd"))
    nobody = free_port()
    before, kept = count(), []
    for _ in range(10):
        connection = broker.connect()
        kept.append(connection.transport)
        connection.as_uri()
        closed = broker.connect(f"redis://127.0.0.1:{nobody}/0")
        kept.append(closed.transport)
        with raises(kombu.exceptions.OperationalError):
            closed.ensure_connection(max_retries=1, interval_start=0)
    equal(count(), before)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    main()
