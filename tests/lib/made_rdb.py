"""made_rdb: builds RDB files, byte by byte, that no server on this machine writes."""

MODULE_ID = b"\x81" + bytes(range(1, 9))  # of the module type AQIDBAUGB


def text(value):
    return bytes([len(value)]) + value


def rdb(version, *records, magic=b"REDIS"):
    """A file without a checksum, whose keys are in database 0."""
    return magic + b"%0*d" % (9 - len(magic), version) + b"\xfe\0" + b"".join(records) + b"\xff" + bytes(8)


def string_record(key, value):
    return b"\0" + text(key) + text(value)


MODULE_RECORD = b"\x07" + text(b"graph") + MODULE_ID + b"\0"


def array_record(key, *texts):
    """An array of Redis 8.8 that has these texts from index 5 on."""
    items = b"".join(bytes([5 + i, 0]) + text(one) for i, one in enumerate(texts))
    return b"\x1c" + text(key) + bytes([len(texts), 1, 9]) + items


def template_record(number, *names):
    return b"\xf2" + bytes([number, len(names)]) + b"".join(text(name) for name in names)


def listpack(first, *texts):
    """Of a small number, then short texts."""
    items = bytes([first, 1]) + b"".join(bytes([0x80 | len(one)]) + one + bytes([len(one) + 1])
                                         for one in texts)
    size = 6 + len(items) + 1
    return size.to_bytes(4, "little") + (1 + len(texts)).to_bytes(2, "little") + items + b"\xff"


def packed_hash_record(key, template, *values):
    return b"\x1e" + text(key) + text(listpack(template, *values))


def hash_record(key, template, *values):
    return b"\x20" + text(key) + bytes([template]) + b"".join(text(value) for value in values)
