"""How the options of a call are written."""


def option(*words):
    """Nothing if the option is not given."""
    return () if words[-1] is None else words


def flag(token, given):
    return (token,) if given else ()


def flat(items):
    return [part for item in items or () for part in (item if isinstance(item, (tuple, list)) else (item,))]


def each(token, items):
    return [part for item in items or () for part in (token, *flat([item]))]


def block(options, *words):
    """The words, if one of the options is given."""
    return words if any(one is not None and one is not False for one in options) else ()
