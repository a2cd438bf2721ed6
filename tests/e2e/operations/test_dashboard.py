#!/usr/bin/python3 -B
"""tools/monitor: alerts and dashboard are well-formed, and name only metrics and labels that exist."""
import glob
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

import yaml

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import REPLY_SECONDS, ROOT, Daemon, Skipped, equal, free_port, main, own, wait_for
from exporter import scrape, scrape_replica, series

FOLDER = os.path.join(ROOT, "tools", "monitor")
FROM_PROMETHEUS = {"instance", "job", "le"}  # labels that every scraped metric may have
SEVERITIES = {"critical", "warning", "info"}


# --- where metrics come from, by the beginning of their names ------------------------------------

def exported():
    return series(scrape() + scrape_replica())


def served():
    """Of the daemon's own port, once it has counted its data."""
    port = free_port()
    with Daemon() as daemon, daemon.raw() as raw:
        if b"metrics-port" not in raw.call("CONFIG", "GET", "metrics-port"):
            raise Skipped("this daemon has no metrics-port")
    with Daemon("--metrics-port", str(port)) as daemon, daemon.raw() as raw:
        for line in ("SET k v EX 100", "SADDEX s EX 100 MEMBERS 1 a", "REDE.PUSH d 0 element id",
                     "REDE.POLL d", "INCR s"):
            raw.call(*line.split())

        def text():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=REPLY_SECONDS) as reply:
                return reply.read().decode()
        assert wait_for(lambda: "\nexpired_forecast_elements{" in text()
                        and "\nexpired_dehydrator_elements{" in text())
        return series(text())


SOURCES = {"redis_": exported, "expired_": served}


# --- what the files name -------------------------------------------------------------------------

def rules():
    """[(file, rule)]"""
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.yml"))):
        with open(path, encoding="utf-8") as file:
            for group in yaml.safe_load(file)["groups"]:
                for rule in group["rules"]:
                    yield os.path.basename(path), rule


def dashboard():
    with open(os.path.join(FOLDER, "dashboard.json"), encoding="utf-8") as file:
        return json.load(file)


def texts():
    """[(expression, labels that its texts show)]"""
    shown = r"\{\{ *(?:\$labels\.)?([a-z_]+)"
    for _, rule in rules():
        told = " ".join(rule["annotations"].values())
        yield rule["expr"], set(re.findall(r"\$labels\.([a-z_]+)", told))
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"], set(re.findall(shown, target["legendFormat"]))


def metrics_of(expression):
    """{metric: labels that its selector names}"""
    found = {}
    for name, selector in re.findall(r"\b([a-z_:]+_[a-z_]+)\b(?:\{([^}]*)\})?", expression):
        if name.startswith(tuple(SOURCES)):
            found.setdefault(name, set()).update(re.findall(r"([a-z_]+)[=!]~?=?\"", selector))
    return found


def grouped_by(expression):
    return {label for group in re.findall(r"\bby \(([^)]*)\)", expression)
            for label in re.split(r", *", group)}


def check_names(prefix):
    known = SOURCES[prefix]()
    checked = 0
    for expression, shown in texts():
        metrics = {name: labels for name, labels in metrics_of(expression).items()
                   if name.startswith(prefix)}
        equal(set(metrics) - set(known), set(), f"metrics of {expression}")
        for name, labels in metrics.items():
            named = labels | grouped_by(expression) | shown
            equal(named - FROM_PROMETHEUS - known[name], set(), f"labels of {expression}")
        checked += len(metrics)
    assert checked > 10, checked


# --- tests ---------------------------------------------------------------------------------------


@own
def alerts_have_what_prometheus_and_people_need():
    names = [(file, rule["alert"]) for file, rule in rules()]
    equal(len(set(names)), len(names), "alerts")
    for file, rule in rules():
        where = f"{file}: {rule['alert']}"
        equal(set(rule) - {"for"}, {"alert", "expr", "labels", "annotations"}, where)
        assert rule["labels"]["severity"] in SEVERITIES, where
        equal(set(rule["annotations"]), {"summary", "description"}, where)
        assert re.fullmatch(r"\d+[mh]", rule.get("for", "1m")), where
        assert rule["expr"].count("(") == rule["expr"].count(")"), where


def overlap(one, other):
    return (one["x"] < other["x"] + other["w"] and other["x"] < one["x"] + one["w"]
            and one["y"] < other["y"] + other["h"] and other["y"] < one["y"] + one["h"])


@own
def panels_of_the_dashboard_fit_together():
    panels = dashboard()["panels"]
    ids = [panel["id"] for panel in panels]
    equal(len(set(ids)), len(ids), "ids")
    for panel in panels:
        place = panel["gridPos"]
        assert 0 <= place["x"] and place["x"] + place["w"] <= 24, panel["title"]
        assert panel["type"] == "row" or panel["targets"], panel["title"]
    for one, other in itertools.combinations(panels, 2):
        assert not overlap(one["gridPos"], other["gridPos"]), (one["title"], other["title"])
    rows = {panel["title"] for panel in panels if panel["type"] == "row"}
    equal(rows, {"At a glance", "Expiry", "Dehydrators", "Traffic", "Slow commands", "Memory",
                 "Persistence", "Clients"})


@own
def promtool_accepts_rules_and_expressions():
    promtool = shutil.which("promtool")
    if promtool is None:
        raise Skipped("there is no promtool")
    expressions = [expression.replace("$__rate_interval", "5m") for expression, _ in texts()]
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        yaml.safe_dump({"groups": [{"name": "all", "rules": [
            {"record": f"x:{number}".replace(":", "_"), "expr": expression}
            for number, expression in enumerate(expressions)]}]}, file)
        file.flush()
        done = subprocess.run([promtool, "check", "rules", file.name,
                               *glob.glob(os.path.join(FOLDER, "*.yml"))],
                              capture_output=True, text=True, check=False)
    equal(done.returncode, 0, done.stdout + done.stderr)


@own
def every_metric_of_the_exporter_exists():
    check_names("redis_")


@own
def every_metric_of_the_daemon_exists():
    check_names("expired_")


main()
