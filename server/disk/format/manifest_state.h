/* manifest_state: what manifest.c uses of manifest_text.c: the list of files in a manifest, and its
 * conversion to the manifest's text and back. */
#pragma once

#include "server/disk/format/manifest.h"

char *manifest_copy_text(const char *text); /* freed with free */
struct manifest_file *manifest_add_file(struct manifest *manifest, const char *name, uint64_t seq,
                                        enum manifest_type type);
void manifest_copy_file(struct manifest *manifest, const struct manifest_file *file);
bool manifest_lists_file(const struct manifest *manifest, const char *name);
void manifest_drop_files(struct manifest *manifest); /* empties the list */

/* Adds the files of the text to an empty list. On failure returns false with the error and its line
 * in `why`; the list then contains the files before that line. */
bool manifest_parse(struct manifest *manifest, const char *text, size_t len,
                    char why[MANIFEST_WHY_MAX]);
/* Does the text end with a checksum, as ours does? */
bool manifest_has_sum(const char *text, size_t len);
/* Returns the text of the manifest, with its checksum; free() it. */
char *manifest_format(const struct manifest *manifest, size_t *len);
