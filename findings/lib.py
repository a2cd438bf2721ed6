"""Helpers of the findings: packages in a temporary folder, a redis-server of its own, and the verdict."""
import atexit
import glob
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

FOLDER = tempfile.mkdtemp(prefix="finding.")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
REDIS = "5:7.0.15-1~deb12u10"


def debian(package, version):
    """Extracts this version of a package of Debian 12; returns the folder that holds its files."""
    return debians({package: version})


def debians(versions):
    """The same for several packages."""
    subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download",
                    *(f"{package}={version}" for package, version in versions.items())], cwd=FOLDER, check=True)
    root = os.path.join(FOLDER, "root")
    for package, version in versions.items():
        [file] = glob.glob(os.path.join(FOLDER, package + "_*.deb"))
        subprocess.run(["dpkg-deb", "-x", file, root], check=True)
        print(package, version)
    return root


def npm(package, version):
    """Installs this version of a package; returns the folder to run node in."""
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", f"{package}@{version}"],
                   cwd=FOLDER, check=True)
    print(package, version)
    return FOLDER


def redis_server():
    """Starts redis-server on a socket; returns the path of the socket."""
    root = debian("redis-tools", REDIS)
    path = os.path.join(FOLDER, "redis.sock")
    # The server and its tools are one program, which looks at its name.
    process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", ""], cwd=FOLDER,
                               executable=os.path.join(root, "usr/bin/redis-check-rdb"),
                               stdout=subprocess.DEVNULL)
    atexit.register(process.wait)
    atexit.register(process.terminate)
    while not accepts(path):
        assert process.poll() is None, "redis-server does not start"
        time.sleep(0.01)
    return path


def accepts(path):
    """The file of a socket is there before its server listens."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


class Client:
    """A connection that speaks RESP; errors are returned as text."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(w), w) for w in words))

    def read(self):
        line = self.file.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"_":
            return None
        if kind == b"%":
            return {self.read(): self.read() for _ in range(int(rest))}
        if kind in b"*>":
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        return rest

    def call(self, *words):
        self.send(*words)
        return self.read()


def verdict(expected, seen, still):
    """Prints both, and ends with status 1 if the surprise is no longer `still` what is seen."""
    print("expected:", expected)
    print("seen:    ", seen)
    print("the surprise is still there" if still else "CHANGED: this finding is out of date")
    sys.exit(0 if still else 1)
