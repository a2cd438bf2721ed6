"""calendar_oracle: an implementation of schedules that shares nothing with the daemon's: it walks minute by
minute, and asks zoneinfo of Python what the local clock shows. Depends on no server.

A schedule with fixed hours runs when a walk reaches a local minute, or passes one, for the first time. One
whose hours have * or a step runs whenever the local clock shows a matching minute.
"""
import calendar
import datetime
import functools
import math
import zoneinfo

DAY = 86400
FIRST, LAST = 1970, 2100
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
RANGES = [(0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]
EPOCH = datetime.date(1970, 1, 1).toordinal()


# --- texts -------------------------------------------------------------------------------------------


def number_of(text, index):
    names = {4: {name: i + 1 for i, name in enumerate(MONTHS)}, 5: {name: i for i, name in enumerate(DAYS)}}
    return names.get(index, {}).get(text.lower(), None) if not text.isdigit() else int(text)


def values_of(text, index):
    """The values of a field; -1 for the last day of the month."""
    found = set()
    for item in text.split(","):
        if index == 3 and item.upper() == "L":
            found.add(-1)
            continue
        body, _, step = item.partition("/")
        low, high = RANGES[index]
        if body != "*":
            first, _, last = body.partition("-")
            low = number_of(first, index)
            high = number_of(last, index) if last else low
            high = 7 if last.lower() == "sun" and low > 0 else high
        found.update(range(low, high + 1, int(step or 1)))
    return found


class Spec:
    def __init__(self, text):
        fields = text.split()
        fields = ["0", *fields] if len(fields) == 5 else fields
        self.text = text
        self.values = [values_of(field, index) for index, field in enumerate(fields)]
        self.elapsed = "*" in fields[2] or "/" in fields[2]
        self.either = not fields[3].startswith("*") and not fields[5].startswith("*")
        self.seconds = frozenset(hour * 3600 + minute * 60 + second for hour in self.values[2]
                                 for minute in self.values[1] for second in self.values[0])
        self.days = {}

    def has_day(self, day):
        """Does the day, counted from 1970, match?"""
        if day not in self.days:
            date = datetime.date.fromordinal(EPOCH + day)
            length = calendar.monthrange(date.year, date.month)[1]
            by_month = date.day in self.values[3] or (-1 in self.values[3] and date.day == length)
            weekday = date.isoweekday() % 7
            by_week = weekday in self.values[5] or (weekday == 0 and 7 in self.values[5])
            both = by_month or by_week if self.either else by_month and by_week
            self.days[day] = both and date.month in self.values[4]
        return self.days[day]

    def has(self, local):
        return local % DAY in self.seconds and self.has_day(local // DAY)

    def ever_matches(self):
        """Looks at 41 years: no date that exists is missing in them."""
        return any(self.has_day(day) for day in range(41 * 366))


# --- zones -------------------------------------------------------------------------------------------


def offset(zone, at):
    shift = datetime.datetime.fromtimestamp(at, zone).utcoffset()
    return shift.days * DAY + shift.seconds


def transitions(zone):
    """[(the first second with another offset, offset before, after)], each found by halving a day."""
    found, end = [], calendar.timegm((LAST + 1, 1, 1, 0, 0, 0))
    before = offset(zone, 0)
    for day in range(DAY, end, DAY):
        after = offset(zone, day)
        if after == before:
            continue
        low, high = day - DAY, day
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if offset(zone, middle) != before else (middle, high)
        found.append((high, before, after))
        before = after
    return found


def zones():
    """The names of tzdata, one for each content."""
    seen = {}
    for name in sorted(zoneinfo.available_timezones()):
        for folder in zoneinfo.TZPATH:
            try:
                with open(f"{folder}/{name}", "rb") as file:
                    seen.setdefault(file.read(), name)
                    break
            except OSError:
                continue
    return sorted(seen.values())


# --- walks -------------------------------------------------------------------------------------------


class Window:
    """What a local clock shows in every minute, or smaller step, of a span of time."""

    def __init__(self, zone, begin, end, warm, unit=60):
        offsets = {offset(zone, at) for at in (begin - warm, begin, end, (begin + end) // 2)}
        self.unit = functools.reduce(math.gcd, offsets, unit)
        self.begin = begin - begin % 60
        first = self.begin - warm - warm % 60
        self.clock = [(at, at + offset(zone, at)) for at in range(first, end, self.unit)]
        self.end = self.clock[-1][0]

    def runs(self, spec):
        """The instants after `begin`, up to `end`."""
        found, shown = [], self.clock[0][1]
        for at, local in self.clock[1:]:
            if spec.elapsed or local - shown == self.unit:
                runs = spec.has(local)
            else:
                runs = any(spec.has(passed) for passed in range(shown + self.unit, local + 1, self.unit))
            shown = max(shown, local)
            if runs and at > self.begin:
                found.append(at)
        return found


def around(zone, transition, unit=60):
    """A window around a transition that contains its gap or overlap, with some hours on both sides."""
    at, before, after = transition
    jump = abs(after - before)
    return Window(zone, at - jump - 2 * 3600, at + jump + 4 * 3600, jump + 3600, unit)


# --- random schedules --------------------------------------------------------------------------------


def draw_field(rng, index, near=None):
    low, high = RANGES[index]
    low, high = (near - 2, near + 2) if near is not None else (low, min(high, 28) if index == 3 else high)
    low, high = max(low, RANGES[index][0]), min(high, RANGES[index][1])
    one = lambda: rng.randint(low, high)
    kind = rng.random()
    if kind < 0.45:
        return str(one())
    if kind < 0.7:
        return ",".join(str(one()) for _ in range(rng.randint(2, 4)))
    first, last = sorted((one(), one()))
    if kind < 0.85 or last - first < 2:
        return f"{first}-{last}"
    return f"{first}-{last}/{rng.randint(1, last - first)}"


def draw_minute(rng):
    return rng.choice(["*", "*/5", "*/15", "*/30", "0", "30", "15,45", str(rng.randrange(60)),
                       draw_field(rng, 1)])


def draw_spec(rng, at, seconds=False):
    """A schedule that is likely to match near this local time, a datetime."""
    hour = rng.choice(["*", "*/2", "*/3", "0-23", draw_field(rng, 2, at.hour), draw_field(rng, 2, at.hour),
                       draw_field(rng, 2, at.hour), draw_field(rng, 2)])
    day, month, weekday = "*", "*", "*"
    if rng.random() < 0.4:
        day = rng.choice([str(at.day), "L", "*/2", f"1-{at.day}", draw_field(rng, 3, at.day), "L,15"])
    if rng.random() < 0.2:
        month = rng.choice([str(at.month), MONTHS[at.month - 1], "*/2", draw_field(rng, 4, at.month)])
    if rng.random() < 0.4:
        weekday = rng.choice([str(at.isoweekday()), DAYS[at.isoweekday() % 7].upper(), "1-5", "FRI-SUN", "*/2",
                              "0,6", draw_field(rng, 5)])
    first = [rng.choice(["0", "30", "*/15", "15,45"])] if seconds else []
    return Spec(" ".join([*first, draw_minute(rng), hour, day, month, weekday]))
