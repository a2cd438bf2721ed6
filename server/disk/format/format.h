/* Folder server/disk/format: the layout of our files, and reading and writing them. A journal
 * segment has records (record.h), read by replay; snapshot_file and base are snapshots, which
 * ahead reads in a thread, as it reads journals, and parsed parses for replay; copy is the full
 * copy for a replica, block has the blocks of both; stream_position is the position of the data in
 * a replication stream; instant_mark is when a record's changes were made; segment_mark tells what
 * was synced, size_mark how much follows; manifest lists the files of the data. disk has the system
 * calls, so that tests can make each of them fail; file_kind tells our files from those of other
 * programs before one is replaced. expired-check and expired-export link this folder. Knows no
 * clients and no loop. Start with record.h.
 *
 * May use: conf proto/resp server/disk/effect store/. */
