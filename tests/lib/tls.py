"""tls: certificates made with the `openssl` program, and a daemon with a TLS port."""
import atexit
import functools
import os
import shutil
import socket
import ssl
import subprocess
import tempfile

from daemon import Daemon, Raw, REPLY_SECONDS, free_port
from process import FOLDER_PREFIX


def openssl(*arguments, given=b""):
    done = subprocess.run(["openssl", *arguments], input=given, capture_output=True)
    assert done.returncode == 0, f"openssl {arguments}: {done.stderr.decode()}"
    return done.stdout


class Certificates:
    """Files NAME.crt and NAME.key in a folder of its own; authorities are ca and other-ca."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix=FOLDER_PREFIX)
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        for authority in ("ca", "other-ca"):
            self.key(authority)
            openssl("req", "-x509", "-new", "-key", self[authority + ".key"], "-days", "30",
                    "-subj", f"/CN={authority}", "-out", self[authority + ".crt"])
        self.make("server")
        self.make("server2")
        self.make("expired", days=-1)
        self.make("ending", days=10)
        self.make("stranger", authority="other-ca")
        self.make("client", common_name="default")
        self.make("worker")
        openssl("rsa", "-in", self.rsa("locked.plain"), "-aes256", "-passout", "pass:secret",
                "-out", self["locked.key"])
        self.sign("locked", "locked", "ca", 30)

    def __getitem__(self, name):
        return os.path.join(self.folder, name)

    def key(self, name):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self[name + ".key"])

    def rsa(self, name):
        openssl("genrsa", "-out", self[name], "2048")
        return self[name]

    def sign(self, name, common_name, authority, days):
        request = openssl("req", "-new", "-key", self[name + ".key"], "-passin", "pass:secret",
                          "-subj", f"/O=expired/CN={common_name}")
        extensions = self[name + ".ext"]
        with open(extensions, "w", encoding="ascii") as file:
            file.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        openssl("x509", "-req", "-CA", self[authority + ".crt"], "-CAkey", self[authority + ".key"],
                "-CAcreateserial", "-days", str(days), "-extfile", extensions,
                "-out", self[name + ".crt"], given=request)

    def make(self, name, common_name=None, authority="ca", days=30):
        self.key(name)
        self.sign(name, common_name or name, authority, days)

    def serial(self, name):
        return openssl("x509", "-in", self[name + ".crt"], "-noout", "-serial").split(b"=")[1].strip()


@functools.cache
def certificates():
    return Certificates()


def context(client="client", authority="ca"):
    """What a client of Python's ssl needs; without a certificate if `client` is None."""
    made = ssl.create_default_context(cafile=certificates()[authority + ".crt"])
    if client is not None:
        made.load_cert_chain(certificates()[client + ".crt"], certificates()[client + ".key"])
    return made


class TlsRaw(Raw):
    """A connection over TLS whose replies are bytes."""

    NOTHING_YET = (BlockingIOError, ssl.SSLWantReadError)

    def __init__(self, port, made=None, session=None, timeout=REPLY_SECONDS):
        super().__init__(("127.0.0.1", port), timeout)
        try:
            self.socket = (made or context()).wrap_socket(
                self.socket, server_hostname="localhost", session=session)
        except BaseException:
            self.socket.close()
            raise
        self.socket.settimeout(timeout)


class TlsDaemon(Daemon):
    """A daemon that listens at a TLS port too; with cert and key of `certificate`."""

    def __init__(self, *options, certificate="server", **more):
        super().__init__(*options, **more)
        self.tls_port, self.certificate = free_port(), certificate

    def arguments(self):
        return [*super().arguments(), *self.tls_arguments()]

    def tls_arguments(self):
        files = certificates()
        wanted = {"--tls-port": str(self.tls_port),
                  "--tls-cert-file": files[self.certificate + ".crt"],
                  "--tls-key-file": files[self.certificate + ".key"],
                  "--tls-ca-cert-file": files["ca.crt"]}
        return [word for name, value in wanted.items() if name not in self.options
                for word in (name, value)]

    def tls(self, made=None, session=None):
        return TlsRaw(self.tls_port, made, session)

    def over_tls(self, **options):
        files = certificates()
        given = {"ssl_ca_certs": files["ca.crt"], "ssl_certfile": files["client.crt"],
                 "ssl_keyfile": files["client.key"], **options}
        import redis  # pylint: disable=import-outside-toplevel
        return redis.Redis(host="127.0.0.1", port=self.tls_port, ssl=True,
                           socket_timeout=REPLY_SECONDS, **given)

    def plain_to_tls(self):
        """A TCP connection to the TLS port, without TLS."""
        connection = socket.create_connection(("127.0.0.1", self.tls_port), REPLY_SECONDS)
        return connection
