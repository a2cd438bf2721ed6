#!/usr/bin/python3 -B
"""The metrics port over TLS, with the certificates and limits of tls-port."""
import socket
import ssl
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
import prometheus
from daemon import REPLY_SECONDS, equal, main, own, wait_for
from http_port import Port, Reply, rest_of
from tls import certificates, context


class HttpsPort(Port):
    """Speaks HTTPS alone; only with tls-port, if that is among the options, clients use TLS too."""

    def __init__(self, *options):
        files = certificates()
        super().__init__("--metrics-tls", "yes", "--tls-cert-file", files["server.crt"],
                         "--tls-key-file", files["server.key"], "--tls-ca-cert-file", files["ca.crt"],
                         *options)
        self.made = context()

    def connect(self):
        return self.made.wrap_socket(super().connect(), server_hostname="localhost")

    def plain(self):
        return socket.create_connection(self.http, REPLY_SECONDS)


def refuses(daemon, made):
    """With TLS 1.3 a client learns only when it reads that its certificate is refused."""
    daemon.made, before = made, daemon.made
    try:
        return not daemon.exchange(b"GET /metrics HTTP/1.1\r\n\r\n")
    except (ssl.SSLError, ConnectionError):
        return True
    finally:
        daemon.made = before


@own
def metrics_and_page_come_over_tls():
    with HttpsPort() as daemon:
        families = prometheus.parse(daemon.ask("/metrics").text())
        prometheus.check(families)
        for path in ("/", "/page.js", "/state.json"):
            equal(daemon.ask(path).status, 200, path)
        daemon.redis().set("big" * 100, "v")
        equal(daemon.value("expired_keys", db="0"), 1)


@own
def plain_http_is_refused():
    with HttpsPort() as daemon:
        with daemon.plain() as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            assert b"expired_" not in rest_of(connection)
        equal(daemon.ask("/metrics").status, 200)


@own
def clients_need_a_certificate_as_on_the_client_port():
    with HttpsPort() as daemon:
        assert refuses(daemon, context(None)), "without a certificate"
        assert refuses(daemon, context("stranger")), "with one of another authority"
        equal(daemon.ask("/metrics").status, 200)
    with HttpsPort("--tls-auth-clients", "no", "--requirepass", "opensesame") as daemon:
        daemon.made = context(None)
        equal(daemon.ask("/metrics").status, 401)
        equal(daemon.login("default", "opensesame").status, 200)


@own
def certificates_are_renewed_without_a_restart():
    with HttpsPort("--tls-auth-clients", "no") as daemon:
        def serial():
            with daemon.connect() as connection:
                return connection.getpeercert()["serialNumber"].lower()
        equal(serial(), certificates().serial("server").decode().lower())
        with daemon.connect() as old:
            daemon.redis().config_set("tls-cert-file", certificates()["server2.crt"],
                                      "tls-key-file", certificates()["server2.key"])
            equal(serial(), certificates().serial("server2").decode().lower())
            old.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            equal(Reply(rest_of(old)).status, 200, "a connection that was open")


@own
def silent_and_broken_handshakes_harm_nobody():
    with HttpsPort() as daemon, daemon.raw() as raw:
        before = daemon.redis().info("memory")["used_memory"]
        held = [daemon.plain() for _ in range(60)]
        for i, connection in enumerate(held):
            connection.sendall((b"", b"\x16\x03\x01\x02\x00\x01", b"\x16\x03\x01" + bytes(500))[i % 3])
        equal(raw.call("PING"), b"+PONG\r\n")
        equal(daemon.ask("/metrics").status, 200)
        for connection in held:
            connection.close()
        assert wait_for(lambda: daemon.redis().info("memory")["used_memory"] - before < 500_000)


@own
def wrong_certificates_end_the_start_with_the_reason():
    refused = Port("--metrics-tls", "yes", "--tls-cert-file", "/nothing.crt")
    try:
        refused.open()
        started = True
    except AssertionError as error:
        started = False
        assert "tls-cert-file" in str(error), error
    finally:
        refused.clean()
    assert not started, "it started"


if __name__ == "__main__":
    main(seconds=120)
