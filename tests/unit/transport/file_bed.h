/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of its own for a test of resource files, and what is written to it. The resources are
 * StringValues, of which every schema knows. */
#ifndef UDPAI_TESTS_FILE_BED_H
#define UDPAI_TESTS_FILE_BED_H

#include "codec/schema.h"
#include "tests/harness/test.h"

#define FILE_BED_PATH 512

typedef struct file_bed {
    char base[FILE_BED_PATH]; /* removed in the end, with all that is in it */
    char root[FILE_BED_PATH]; /* in it, made already */
    udpai_schema *schema;
} file_bed;

void file_bed_init(file_bed *bed);
void file_bed_done(file_bed *bed);

/* Paths are relative to base; there is room for a few at a time, each overwritten later. */
const char *file_bed_path(const file_bed *bed, const char *path);
/* In place, as `>` does. */
void file_bed_put_bytes(const file_bed *bed, const char *path, udpai_str contents);
void file_bed_put(const file_bed *bed, const char *path, const char *contents);
/* To another file, which is then renamed. */
void file_bed_replace(const file_bed *bed, const char *path, const char *contents);
void file_bed_rename(const file_bed *bed, const char *from, const char *to);
void file_bed_remove(const file_bed *bed, const char *path);
void file_bed_mkdir(const file_bed *bed, const char *path);
/* The target is put there as it is; an existing link is replaced at once. */
void file_bed_link(const file_bed *bed, const char *target, const char *path);

/* YAML of a resource with this value; overwritten by the next call but seven. */
const char *file_bed_yaml(const char *name, const char *value);

#endif
