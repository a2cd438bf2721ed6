/* journal_world: a journal in a temporary folder whose disk calls can fail, for the tests of
 * journal.
 */
#pragma once

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "server/disk/journal.h"
#include "tests/support/disk_world.h"
#include "tests/support/segment_text.h"
#include "tests/support/suite.h"

enum { SECOND = 1000 * 1000, RETRY = 100 * 1000 };

static inline struct journal *begin_journal(enum journal_sync_mode mode)
{
    int fd;
    disk_world_begin();
    ck_assert_int_eq(journal_create(disk_world_path("segment"), &fd), 0);
    struct journal *journal = journal_new(mode);
    ck_assert_ptr_nonnull(journal);
    ck_assert_int_eq(journal_state(journal), JOURNAL_NEEDS_BASE);
    ck_assert_int_eq(journal_open(journal, fd, SEGMENT_ID, NULL), 0);
    ck_assert_int_eq(journal_state(journal), JOURNAL_OK);
    return journal;
}

static inline void end_journal(struct journal *journal)
{
    journal_free(journal);
    disk_world_end();
}

static inline void add_record(struct journal *journal, const char *text)
{
    outbuf_append(journal_buffer(journal), text, strlen(text));
    journal_end_record(journal);
}

/* Waits for a report of the thread. */
static inline void await_report(struct journal *journal)
{
    struct pollfd fd = { .fd = journal_sync_fd(journal), .events = POLLIN };
    ck_assert_int_eq(poll(&fd, 1, 20000), 1);
    journal_sync_done(journal, 0);
}

static inline bool has_no_report(struct journal *journal)
{
    struct pollfd fd = { .fd = journal_sync_fd(journal), .events = POLLIN };
    return poll(&fd, 1, 0) == 0;
}

static inline void assert_segment(const char *name, const char *text)
{
    struct segment_text segment = segment_text_read(name);
    ck_assert_str_eq(segment.text, text);
    ck_assert(!segment.torn);
    free(segment.text);
}

static inline int new_segment(const char *name)
{
    int fd;
    ck_assert_int_eq(journal_create(disk_world_path(name), &fd), 0);
    return fd;
}
