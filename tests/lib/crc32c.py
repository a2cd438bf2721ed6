"""CRC-32C, the checksum of the journal's records, as a running sum."""


def _entry(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


TABLE = [_entry(byte) for byte in range(256)]


def crc32c(data, before=0):
    state = ~before & 0xFFFFFFFF
    for byte in data:
        state = TABLE[(state ^ byte) & 0xFF] ^ state >> 8
    return ~state & 0xFFFFFFFF
