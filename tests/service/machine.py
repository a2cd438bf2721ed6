"""machine: a Debian system in a folder, booted with systemd-nspawn, with expired installed.

Needs root, debootstrap and systemd-nspawn. The bare system is made once and kept under build/; each
run works on a copy of it. The machine has no network but its own loopback.
"""
import os
import shutil
import signal
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

# pylint: disable=wrong-import-position
from process import die_with_parent, wait_for  # noqa: E402
# pylint: enable=wrong-import-position

PLACE = os.path.join(ROOT, "build", "service")
SUITE = "bookworm"
MIRROR = os.environ.get("MIRROR", "http://deb.debian.org/debian")
PACKAGES = ("systemd", "systemd-sysv", "dbus", "libevent-core-2.1-7", "libevent-extra-2.1-7",
            "libevent-openssl-2.1-7", "liblz4-1",
            "libluajit-5.1-2", "lua-cjson", "libjemalloc2", "libssl3", "redis-tools")
NSPAWN_DIR = "/run/systemd/nspawn"
BOOT_SECONDS, COMMAND_SECONDS = 120, 60


def lacking():
    """What this machine lacks, or None."""
    if os.geteuid() != 0:
        return "root"
    for program in ("debootstrap", "systemd-nspawn", "nsenter"):
        if shutil.which(program) is None:
            return f"{program} (apt-get install debootstrap systemd-container)"
    return None


def make_base():
    """The bare system, made at the first run."""
    base = os.path.join(PLACE, "base")
    if os.path.exists(base + ".made"):
        return base
    shutil.rmtree(base, ignore_errors=True)
    os.makedirs(PLACE, exist_ok=True)
    subprocess.run(["debootstrap", "--variant=minbase", "--include=" + ",".join(PACKAGES), SUITE,
                    base, MIRROR], check=True, stdout=subprocess.DEVNULL)
    with open(base + ".made", "w", encoding="utf-8"):
        pass
    return base


class Machine:
    def __enter__(self):
        self.root, self.process, self.mounted = os.path.join(PLACE, "root"), None, False
        shutil.rmtree(self.root, ignore_errors=True)
        subprocess.run(["cp", "-a", "--reflink=auto", make_base(), self.root], check=True)
        subprocess.run(["make", "--no-print-directory", "-s", "install", "PREFIX=/usr",
                        "DESTDIR=" + self.root], cwd=ROOT, check=True)
        try:
            self.boot()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def boot(self):
        if not os.path.ismount(NSPAWN_DIR):
            os.makedirs(NSPAWN_DIR, exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", NSPAWN_DIR], check=True)
            self.mounted = True
        with open(os.path.join(PLACE, "console"), "wb") as console:
            self.process = subprocess.Popen(
                ["systemd-nspawn", "--boot", "--quiet", "--directory=" + self.root,
                 "--machine=expired-service-test", "--register=no", "--keep-unit",
                 "--private-network", "--console=read-only"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                preexec_fn=die_with_parent)
        assert wait_for(lambda: self.process.poll() is not None or self.is_up(), BOOT_SECONDS, 0.2)
        assert self.process.poll() is None, "the machine did not boot:\n" + self.console()

    def console(self):
        with open(os.path.join(PLACE, "console"), encoding="utf-8", errors="replace") as console:
            return console.read()

    def leader(self):
        """The process that is process 1 inside; None: not yet."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        try:
            with open(path, encoding="ascii") as children:
                for pid in children.read().split():
                    with open(f"/proc/{pid}/comm", encoding="ascii") as name:
                        if name.read().strip() == "systemd":
                            return pid
        except OSError:
            pass
        return None

    def is_up(self):
        if self.leader() is None:
            return False
        return self.run("systemctl", "is-system-running", "--wait", check=False).strip() in (
            "running", "degraded")

    def end(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)  # an orderly shutdown
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.mounted:
            subprocess.run(["umount", NSPAWN_DIR], check=False)
        shutil.rmtree(self.root, ignore_errors=True)

    def run(self, *words, check=True):
        """The output of a program inside; AssertionError if it fails and `check` is set."""
        done = subprocess.run(
            ["nsenter", "--target", str(self.leader()), "--mount", "--uts", "--ipc", "--net",
             "--pid", "--cgroup", "--", *words],
            capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        assert not check or done.returncode == 0, (
            f"{' '.join(words)}: status {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout if check else done.stdout + done.stderr

    def succeeds(self, *words):
        try:
            self.run(*words)
            return True
        except AssertionError:
            return False

    def show(self, unit, name):
        return self.run("systemctl", "show", "--property=" + name, "--value", unit).strip()

    def redis(self, *words, port=6379):
        return self.run("redis-cli", "-p", str(port), *words, check=False).strip()

    def path(self, path):
        return self.root + path

    def read(self, path):
        with open(self.path(path), encoding="utf-8") as file:
            return file.read()

    def write(self, path, text):
        """Replaces the text of a file; keeps its owner and mode."""
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), "w", encoding="utf-8") as file:
            file.write(text)
