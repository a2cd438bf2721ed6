#!/usr/bin/python3 -B
"""The places that show the progress of loading or of a snapshot. Slow reads and writes give the time to look."""
import contextlib
import json
import os
import signal
import socket

from crash import (CHILDREN, COME_LATE, EVER, FIRST_PROCESS, HOLD, LARGE_KEYS, REPLY_SECONDS, SYNC, WRITE, Kept, calls,
                   equal, fill_large, run, start_slowly, test, wait_for)
from http_port import Port, rows_of_page
from prometheus import value_of


class KeptPort(Port, Kept):
    """With a metrics port."""


class KeptService(Kept):
    """A service of systemd, to which it sends its status."""

    def start(self):
        self.systemd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.systemd.settimeout(REPLY_SECONDS)
        self.systemd.bind(os.path.join(self.dir, "notify"))
        os.environ["NOTIFY_SOCKET"] = os.path.join(self.dir, "notify")
        try:
            super().start()
        finally:
            del os.environ["NOTIFY_SOCKET"]
        self.status()

    def stop(self):
        super().stop()
        self.systemd.close()

    def status(self):
        """The status of the next message that says that the daemon is ready."""
        while b"READY=1" not in (message := self.systemd.recv(1000)):
            pass
        return next(line for line in message.decode().split("\n") if line.startswith("STATUS="))


@contextlib.contextmanager
def loading(kind):
    """A daemon that loads until the plan is healed."""
    with kind(fsync="no", fault=True) as daemon:
        fill_large(daemon)
        daemon.kill()
        start_slowly(daemon)
        yield daemon


@test
def info_shows_how_far_loading_is():
    with loading(Kept) as daemon:
        found = daemon.info()
        start, total, done, percent, left = (float(found[f"loading_{name}"]) for name in (
            "start_time", "total_bytes", "loaded_bytes", "loaded_perc", "eta_seconds"))
        equal(found["loading"], "1")
        assert 0 <= done <= total and 40_000_000 < total < 41_000_000, found
        assert abs(percent - 100 * done / total) < 0.01 and left >= 0 and start > 1.7e9, found
        assert wait_for(lambda: int(daemon.info()["loading_loaded_bytes"]) > done), daemon.log()
        daemon.plan.heal()
        daemon.await_loaded()
        found = daemon.info()
        equal(found["loading"], "0")
        equal([name for name in found if name.startswith("loading_")], [])


@test
def info_shows_how_far_a_snapshot_is():
    with Kept(fault=True, appendonly="no") as daemon:
        fill_large(daemon)
        idle = daemon.info()
        equal((idle["current_save_keys_total"], idle["current_fork_perc"]), ("0", "0.00"))
        daemon.plan.set(1, COME_LATE, calls(WRITE), last=EVER, late=60_000, whose=CHILDREN)
        daemon.call("BGSAVE")
        found = wait_for(lambda: at if int((at := daemon.info())["current_save_keys_processed"])
                         else None)
        assert found, daemon.log()
        equal((found["rdb_bgsave_in_progress"], found["current_save_keys_total"]), ("1", str(LARGE_KEYS)))
        share = int(found["current_save_keys_processed"]) / LARGE_KEYS
        assert 0 < float(found["current_fork_perc"]) < 100, found
        assert abs(float(found["current_fork_perc"]) - 100 * share) < 0.01, found
        daemon.plan.heal()
        daemon.await_quiet()
        equal(daemon.info()["current_save_keys_processed"], "0")


@test
def status_shows_no_progress_while_a_rewrite_has_no_child():
    with KeptService("--supervised", "systemd", fault=True) as daemon:
        daemon.plan.set(1, HOLD, calls(SYNC), whose=FIRST_PROCESS)
        daemon.call("BGREWRITEAOF")
        assert wait_for(lambda: daemon.plan.acted == 1), daemon.log()
        daemon.process.send_signal(signal.SIGHUP)
        shown = daemon.status()
        assert "of memory; journal " in shown and "%" not in shown, shown
        daemon.plan.heal()
        daemon.await_quiet()


@test
def metrics_port_answers_while_data_is_loading():
    with loading(KeptPort) as daemon:
        shown = daemon.metrics()
        equal(value_of(shown, "expired_loading"), 1)
        assert value_of(shown, "expired_loading_size_bytes") > 40_000_000
        equal(set(shown), {name for name, _, marked, *_ in rows_of_page() if marked})
        equal(json.loads(daemon.ask("/state.json").text())["loading"], True)
        daemon.plan.heal()
        daemon.await_loaded()
        equal(daemon.value("expired_loading"), 0)
        equal(daemon.value("expired_keys", db="0"), LARGE_KEYS)


run()
