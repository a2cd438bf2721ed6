/* usages: see usages.h. */
#include "tools/files/usages.h"

static const char *const check_forms[] = {
    "[--deep] [--show] [--fix [--cut-at-damage]] DIR|FILE ...",
    NULL,
};

static const struct usage_option check_options[] = {
    { "deep", CHECK_DEEP, NULL,
      "Also loads the data into memory, which checks that each command fits the data before it. "
      "Prints the number of keys and their DEBUG DIGEST." },
    { "show", CHECK_SHOW, NULL,
      "Prints the records of each journal as text, with the offset in the file of each command and "
      "of each line that begins with #." },
    { "fix", CHECK_FIX, NULL,
      "Cuts a torn journal after its last complete record, and keeps the bytes in "
      "FILE.cut-OFFSET. Refuses a file that a process has open, so stop the daemon first." },
    { "cut-at-damage", CHECK_CUT_AT_DAMAGE, NULL,
      "With --fix: cuts a damaged journal too, and the journals that continue it. Transactions "
      "after the damage are lost. The bytes cut off are kept too." },
    { NULL, 0, NULL, NULL },
};

static const struct usage_item check_states[] = {
    { "whole", "The whole file can be read." },
    { "torn", "The last record of a journal is incomplete, as after a crash. Prints where the last "
              "complete record ends and how many bytes follow. The daemon cuts these bytes off "
              "when it starts." },
    { "damaged", "A part of the file is invalid. Prints where and why, and the beginning of the "
                 "bad record." },
    { NULL, NULL },
};

static const struct usage_item check_examples[] = {
    { "expired-check /var/lib/expired", "Checks all files of a daemon." },
    { "expired-check --deep --fix data", "Loads the data, and cuts a torn end." },
    { NULL, NULL },
};

static const struct usage_item check_statuses[] = {
    { "0", "All files are whole, or were cut." },
    { "1", "A file is torn." },
    { "2", "A file is damaged." },
    { "3", "A file can't be read, or the command line is wrong." },
    { NULL, NULL },
};

static const struct usage_section check_sections[] = {
    { "STATES", NULL, check_states, false },
    { "EXAMPLES", NULL, check_examples, true },
    { "EXIT STATUS", NULL, check_statuses, false },
    { NULL, NULL, NULL, false },
};

const struct usage usages_check = {
    .name = "expired-check",
    .summary = "checks the data files of expired, and repairs journals",
    .manual = 1,
    .forms = check_forms,
    .about = "Checks the files that the daemon would load: a data folder (all manifests in it and "
             "in its subfolders, the files that they list, and all snapshots in it), a manifest, a "
             "snapshot or a journal. Prints for each file its kind, size, time of creation and "
             "state; for a journal, when its first and last change were made; for a folder, the "
             "points in time that a start with --until can reach. Also checks the files that "
             "journal-keep keeps, but neither loads nor repairs them.",
    .options = check_options,
    .sections = check_sections,
    .wrong = EXIT_UNREADABLE,
};

static const char *const export_forms[] = {
    "[--text] [--strict] [--drop-members] DIR|FILE",
    NULL,
};

static const struct usage_option export_options[] = {
    { "drop-members", EXPORT_DROP_MEMBERS, NULL,
      "Leaves out members and fields that have their own deadline." },
    { "keep-members", EXPORT_KEEP_MEMBERS, NULL,
      "Writes such members and fields without their deadlines. This is the default." },
    { "strict", EXPORT_STRICT, NULL, "Writes nothing if Redis can't hold some of the data." },
    { "text", EXPORT_TEXT, NULL, "Writes one readable line for each command." },
    { NULL, 0, NULL, NULL },
};

static const struct usage_item export_losses[] = {
    { "members, fields", "Their deadlines; see --drop-members." },
    { "dehydrators", "Left out, with their claims." },
    { "leases", "Left out." },
    { "strings", "Their soft deadlines." },
    { "pending entries", "Left out where they were released (XNACK) or their entry is gone." },
    { "policies", "Left out. Deadlines that they gave to keys are written." },
    { NULL, NULL },
};

static const struct usage_item export_examples[] = {
    { "expired-export data | redis-cli --pipe", "Copies the data to a redis-server." },
    { "expired-export --text dump.exp", "Shows the contents of a snapshot." },
    { NULL, NULL },
};

static const struct usage_item export_statuses[] = {
    { "0", "All data is written." },
    { "1", "All data up to the torn end of a journal is written." },
    { "2", "The data is damaged; nothing is written." },
    { "3",
      "The data can't be read, or the command line is wrong: nothing is written. Or the output "
      "can't be written." },
    { "4", "--strict, and Redis can't hold some of the data; nothing is written." },
    { NULL, NULL },
};

static const struct usage_section export_sections[] = {
    { "LOSSES", "Redis can't hold these. They are listed on standard error.", export_losses,
      false },
    { "EXAMPLES", NULL, export_examples, false },
    { "EXIT STATUS", NULL, export_statuses, false },
    { NULL, NULL, NULL, false },
};

const struct usage usages_export = {
    .name = "expired-export",
    .summary = "writes the data of expired as commands for Redis",
    .manual = 1,
    .forms = export_forms,
    .about = "Writes the data of a data folder, a manifest, a snapshot or a journal to standard "
             "output, as commands for redis-server 7.0 or later, in the protocol.\n"
             "The target server must have none of these keys. Deadlines of keys are absolute; "
             "expired data is left out. A library of functions replaces one of the same name.",
    .options = export_options,
    .sections = export_sections,
    .wrong = EXIT_UNREADABLE,
};
