/* Folder server/disk: when and how the data is written. persist decides when to write, sync,
 * rewrite and snapshot. journal appends records to the current segment, and syncer is the thread
 * that syncs it; saver writes the whole store, as a snapshot or a base, with child, a forked
 * writer; rewrite gives the journal a new base and segment; file_job is a thread for the other slow
 * steps; data_folder finds the files at a start, and load loads them; payload writes and reads the
 * bytes of DUMP. The layouts are in effect/ (effects as commands), format/ (files) and import/
 * (Redis' files). Start with persist.h; doc/durability.md states the promises, and tests/crash/
 * tests them.
 *
 * May use: conf server/base server/disk/effect server/disk/format server/disk/import store/. */
