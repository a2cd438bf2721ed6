"""prometheus: a strict reader of Prometheus' text format 0.0.4. Depends on nothing.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
VALUE = r"[+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|Inf)|NaN"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? ({VALUE})")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,(?!$)|$)')
PARTS = ("_bucket", "_sum", "_count")


class Family:
    def __init__(self, name, help_text):
        self.name, self.help, self.type = name, help_text, None
        self.samples = {}  # (name, frozenset of labels): value


def labels_of(text):
    found, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        assert match, f"bad labels: {text!r}"
        name, value = match.groups()
        assert name not in found, f"label twice: {text!r}"
        found[name] = re.sub(r"\\(.)", lambda one: {"n": "\n"}.get(one[1], one[1]), value)
        at = match.end()
    return found


def add_sample(family, line):
    match = SAMPLE.fullmatch(line)
    assert match, f"bad line: {line!r}"
    name, labels, value = match.groups()
    assert family.type, f"no TYPE before {line!r}"
    allowed = [family.name + part for part in PARTS] if family.type == "histogram" else [family.name]
    assert name in allowed, f"{line!r} inside {family.name}"
    key = name, frozenset(labels_of(labels or "").items())
    assert key not in family.samples, f"twice: {line!r}"
    family.samples[key] = float(value)


def parse(text):
    """{name: Family}, in order. AssertionError at anything that the format does not allow."""
    assert text.endswith("\n"), "no line feed at the end"
    families, family = {}, None
    for line in text[:-1].split("\n"):
        words = line.split(" ", 3)
        if words[:2] == ["#", "HELP"]:
            assert words[2] not in families, f"family twice: {line!r}"
            family = families[words[2]] = Family(words[2], words[3])
        elif words[:2] == ["#", "TYPE"]:
            assert words[2] == family.name and family.type is None and not family.samples, line
            assert words[3] in ("counter", "gauge", "histogram"), line
            family.type = words[3]
        else:
            add_sample(family, line)
    return families


def check_histogram(family):
    series = {}
    for (name, labels), value in family.samples.items():
        others = frozenset(one for one in labels if one[0] != "le")
        one = series.setdefault(others, {"buckets": []})
        if name.endswith("_bucket"):
            one["buckets"].append((float(dict(labels)["le"]), value))
        else:
            one[name[len(family.name):]] = value
    for labels, one in series.items():
        bounds, counts = zip(*one["buckets"])
        assert list(bounds) == sorted(set(bounds)), f"{family.name} {labels}: bounds {bounds}"
        assert list(counts) == sorted(counts), f"{family.name} {labels}: counts {counts}"
        assert bounds[-1] == float("inf"), f"{family.name} {labels}: no +Inf"
        assert counts[-1] == one["_count"], f"{family.name} {labels}: count is not the last bucket"
        assert one["_sum"] >= 0, f"{family.name} {labels}: sum"


def check(families):
    """The conventions for names: prefix, base units, _total."""
    for name, family in families.items():
        assert name.startswith("expired_"), name
        assert (family.type == "counter") == name.endswith("_total"), f"{name} is a {family.type}"
        assert not re.search(r"_(msec|usec|milliseconds|ms|kb|mb)(_|$)", name), name
        assert family.help.endswith(".") and family.help[0].isalnum(), family.help
        if family.type == "histogram":
            check_histogram(family)
        if family.type == "counter":
            assert all(value >= 0 for value in family.samples.values()), name


def value_of(families, name, **labels):
    family = families[re.sub("_(bucket|sum|count)$", "", name) if name not in families else name]
    return family.samples[name, frozenset(labels.items())]


def values_by(families, name, label):
    """{value of the label: value} of a family with other labels that do not differ."""
    return {dict(labels)[label]: value for (_, labels), value in families[name].samples.items()}
