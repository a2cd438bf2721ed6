/* persist: durability: maintains the journal, bases and snapshots, and loads them at the start.
 * Depends on the store's effects, files and the loop.
 *
 * The effects of whole transactions become a record of the journal. Records are written at the end
 * of the turn, before the replies that acknowledge them are sent: a session remembers the position
 * after its last change, and its replies are held until persist_safe_position() reaches that
 * position. While the disk is full or failing, commands that change data, and PING, are refused
 * (persist_refusal); all others are served.
 *
 * A base is the whole store in a snapshot file, written by a forked child while the parent
 * continues; the kernel copies the pages that the parent changes meanwhile. A rewrite of the
 * journal starts a new segment, writes a base of the data before it, then deletes the older files,
 * or keeps them for as long as journal-keep says (doc/durability.md). */
#pragma once

#include "server/disk/persist_report.h"
#include "server/disk/persist_wiring.h"

struct persist;

struct persist *persist_new(const struct persist_wiring *wiring); /* NULL with errno */
void persist_free(struct persist *persist);

/* Loads the data files, or imports files of Redis, and opens the journal. On failure returns false
 * with the reason and advice in `why`. */
bool persist_start(struct persist *persist, char *why, size_t size);
/* Ends the journal when the server ends: writes and syncs it, or writes a base if the journal needs
 * one. No effect while data is being loaded. On failure returns false with the reason in `why`; the
 * next start may then lack the last changes. */
bool persist_stop(struct persist *persist, char *why, size_t size);

/* Returns the position in a replication stream that the loaded data has, or NULL if unknown. */
const struct stream_position *persist_loaded_position(const struct persist *persist);

/* ---- every turn ---- */

/* Is the journal on, so that it must receive each effect? */
bool persist_listens(const struct persist *persist);
/* Adds an effect of the open transaction to the journal's record. Only allowed while
 * persist_listens. */
void persist_effect(struct persist *persist, const struct effect *effect);
/* Call after a transaction whose effects the journal has received: all of them will be in one
 * record. If `position` is not NULL, sets it to the position after them: the transaction may be
 * acknowledged once persist_safe_position() has reached it. */
void persist_commit(struct persist *persist, uint64_t *position);
/* Adds an effect that belongs to no transaction, as a transaction of its own. */
void persist_alone(struct persist *persist, const struct effect *effect);
/* Where mutators may append effects in brief form while the journal alone needs them, instead of
 * passing them to persist_effect. */
struct brief_tail *persist_brief_tail(struct persist *persist);
/* Ends the record of the transactions so far, so that persist_turn_inside can write it during the
 * next transaction: no record can be ended while a transaction is open. */
void persist_end_record(struct persist *persist);
/* Writes the position in the replication stream into a record of its own if it is at least this
 * many bytes beyond that of the last record, or in another stream: PING or PUBLISH can move the
 * stream on without a change of data. No effect while a transaction is open, if the journal is off,
 * or if the position is unknown. */
void persist_mark_position(struct persist *persist, uint64_t bytes);
/* Writes the journal's complete records, and starts snapshots and rewrites that are due. Call at
 * the end of each turn, after all changes and before replies are sent. */
void persist_turn(struct persist *persist);
/* Does the part of persist_turn that is possible inside a request, while its transaction is open:
 * writes the records of earlier transactions, but starts no task. */
void persist_turn_inside(struct persist *persist);
void persist_second(struct persist *persist); /* about once a second: save points, growth */
/* Would persist_configure and persist_move block the loop, because the thread that creates and
 * removes files is at work? If so, call them after files_done. */
bool persist_has_to_wait(const struct persist *persist);
/* Avoids that persist_configure waits for the disk. Call before it, with the new value of
 * appendonly. Returns true if the thread is at work, must first create a new journal's first file,
 * or must sync the end of the journal that is turned off: then call again after files_done. During
 * that sync later changes stay in memory, and their replies wait. These changes are written if
 * persist_configure does not follow within two turns. */
bool persist_prepare(struct persist *persist, bool appendonly);
/* Applies changed options: turns the journal on or off, and sets how often it syncs. Returns false
 * if the journal could not be started; the reason is logged. */
bool persist_configure(struct persist *persist);

/* Changes the folder of the data, which becomes the working directory of the process. Returns 0, or
 * an errno and changes nothing: EBUSY if the journal is on, while files are being loaded or
 * written, or while a snapshot is scheduled. */
int persist_move(struct persist *persist, const char *folder);

/* Returns the reason for refusing writes, as an error text; NULL while they are accepted. */
const char *persist_refusal(const struct persist *persist);
/* persist_position returns the position after the last change. Up to persist_safe_position, changes
 * may be acknowledged: the journal is written or, with appendfsync always, synced. */
uint64_t persist_position(const struct persist *persist);
uint64_t persist_safe_position(const struct persist *persist);

/* Restarts the journal with a base of the new data, because a full copy from a master has replaced
 * the data; drops unwritten records. A start before that base is complete would load the old data.
 * No effect if the journal is off. */
void persist_replaced(struct persist *persist);
/* Are base and journal synced up to this position? False if the journal is off, and until it has
 * its first base, or that of replaced data. */
bool persist_has_synced(const struct persist *persist, uint64_t position);

/* ---- on demand ---- */

enum persist_outcome persist_save(struct persist *persist); /* at once, blocking; O(n) */
/* Saves as persist_save does, but first cancels a child that is writing a snapshot. No effect while
 * data is being loaded. */
enum persist_outcome persist_save_at_end(struct persist *persist);
/* Schedule a snapshot or a rewrite, which begins at the end of the turn, or once the running child
 * has ended. With a rewrite running, a snapshot is scheduled only if or_schedule is set. If the
 * journal is off, nothing is rewritten, but the outcome is PERSIST_SCHEDULED. */
enum persist_outcome persist_begin_save(struct persist *persist, bool or_schedule);
enum persist_outcome persist_begin_rewrite(struct persist *persist);
/* For DEBUG: replaces the contents of the store with those of the snapshot, which it saves first,
 * or with `as_is` those of the journal. On failure returns false with the reason in `why`, and
 * keeps the store. */
bool persist_reload(struct persist *persist, bool as_is, char *why, size_t size);

/* ---- for INFO ---- */

struct persist_report persist_report(struct persist *persist);
/* Asserts that the states of rewrite, journal and child agree. O(1) */
void persist_check(const struct persist *persist);
