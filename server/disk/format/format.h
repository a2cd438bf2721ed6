/* Folder server/disk/format: reads and writes our files, and defines their layouts. Knows no
 * clients and no loop. expired-check and expired-export link it. Start with record.h.
 *
 *     record, replay         a journal segment consists of records, which replay reads
 *     snapshot_file, base    a snapshot: the file, and its contents
 *     copy                   the full copy for a replica
 *     block                  packs the blocks of snapshots and copies
 *     ahead, parsed          read and parse snapshots and journals in a thread, for replay
 *     manifest               lists the files of the data
 *     disk                   makes the system calls, so that tests can make each of them fail
 *     file_kind              distinguishes our files from those of other programs
 *
 * Marks are comment lines inside these files:
 *
 *     stream_position        the position of the data in a replication stream
 *     instant_mark           when a record's changes were made
 *     segment_mark           what was synced
 *     size_mark              how many keys or members follow
 *
 * May use: conf proto/resp server/disk/effect store/. */
