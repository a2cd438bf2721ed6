/* Folder server/disk: when and how the data is written. Start with persist.h; doc/durability.md
 * states the promises, and tests/crash/ tests them.
 *
 *     persist       decides when to write, sync, rewrite and snapshot
 *     journal       appends records to the current segment
 *     syncer        the thread that syncs the segment
 *     saver         writes the whole store, as a snapshot or a base
 *     child         the forked process in which saver writes
 *     rewrite       gives the journal a new base and a new segment
 *     file_job      a thread for the other slow steps
 *     data_folder   finds the files at a start
 *     load          loads them
 *     payload       writes and reads the bytes of DUMP
 *     effect/, format/, import/   the layouts: effects as commands, our files, Redis' files
 *
 * May use: conf server/base server/disk/effect server/disk/format server/disk/import store/. */
