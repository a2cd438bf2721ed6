"""How the options of a call are written."""
from redis.exceptions import DataError


def option(*words):
    """Nothing if the option is not given."""
    return () if words[-1] is None else words


def flag(token, given):
    return (token,) if given else ()


def flat(items):
    return [part for item in items or () for part in (item if isinstance(item, (tuple, list)) else (item,))]


def each(token, items):
    return [part for item in items or () for part in (token, *flat([item]))]


def block(needed, others, *words):
    """The words, if one of these options is given; all that are needed must be given then."""
    given = [name for name, value in {**needed, **others}.items() if value is not None and value is not False]
    missing = [name for name in needed if name not in given]
    if given and missing:
        raise DataError(f"{given[0]} needs {' and '.join(missing)}")
    return words if given else ()


def seconds(milliseconds):
    """Of an option that may not be given, or may be no number, which the server will say."""
    return milliseconds / 1000 if isinstance(milliseconds, (int, float)) else None
