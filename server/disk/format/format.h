/* Folder server/disk/format: reads and writes our files, and defines their layouts. A journal
 * segment consists of records (record.h), which replay reads; snapshot_file and base are snapshots.
 * ahead reads both kinds in a thread, and parsed parses them for replay. copy is the full copy for
 * a replica; block packs the blocks of copies and snapshots. Marks are lines inside these files:
 * stream_position is the position of the data in a replication stream, instant_mark when a record's
 * changes were made, segment_mark what was synced, size_mark how much follows. manifest lists the
 * files of the data. disk makes the system calls, so that tests can make each of them fail;
 * file_kind distinguishes our files from those of other programs before one is replaced.
 * expired-check and expired-export link this folder. Knows no clients and no loop. Start with
 * record.h.
 *
 * May use: conf proto/resp server/disk/effect store/. */
