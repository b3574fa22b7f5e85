/* SPDX-License-Identifier: Apache-2.0 */
#include "file_bed.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOM 8

void
file_bed_init(file_bed *bed)
{
    memset(bed, 0, sizeof(*bed));
    snprintf(bed->base, sizeof(bed->base), "file-test-XXXXXX");
    assert_non_null(mkdtemp(bed->base));
    snprintf(bed->root, sizeof(bed->root), "%s", file_bed_path(bed, "root"));
    file_bed_mkdir(bed, "root");
    assert_ok(udpai_schema_new(&bed->schema, NULL));
}

static int
remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    return remove(path);
}

void
file_bed_done(file_bed *bed)
{
    assert_ok(nftw(bed->base, remove_one, 8, FTW_DEPTH | FTW_PHYS));
    udpai_schema_unref(bed->schema);
}

const char *
file_bed_path(const file_bed *bed, const char *path)
{
    static char paths[ROOM][2 * FILE_BED_PATH];
    static unsigned next;
    char *room = paths[next++ % ROOM];
    snprintf(room, sizeof(paths[0]), "%s/%s", bed->base, path);
    return room;
}

void
file_bed_put_bytes(const file_bed *bed, const char *path, udpai_str contents)
{
    FILE *file = fopen(file_bed_path(bed, path), "we");
    assert_non_null(file);
    assert_int_equal(fwrite(contents.data, 1, contents.len, file), contents.len);
    assert_ok(fclose(file));
}

void
file_bed_put(const file_bed *bed, const char *path, const char *contents)
{
    file_bed_put_bytes(bed, path, udpai_str_from(contents));
}

void
file_bed_replace(const file_bed *bed, const char *path, const char *contents)
{
    file_bed_put(bed, "root/.written", contents);
    file_bed_rename(bed, "root/.written", path);
}

void
file_bed_rename(const file_bed *bed, const char *from, const char *to)
{
    assert_ok(rename(file_bed_path(bed, from), file_bed_path(bed, to)));
}

void
file_bed_remove(const file_bed *bed, const char *path)
{
    assert_ok(remove(file_bed_path(bed, path)));
}

void
file_bed_mkdir(const file_bed *bed, const char *path)
{
    assert_ok(mkdir(file_bed_path(bed, path), 0700));
}

void
file_bed_link(const file_bed *bed, const char *target, const char *path)
{
    char made[FILE_BED_PATH];
    snprintf(made, sizeof(made), "%s_tmp", path);
    assert_ok(symlink(target, file_bed_path(bed, made)));
    file_bed_rename(bed, made, path);
}

const char *
file_bed_yaml(const char *name, const char *value)
{
    static char texts[ROOM][512];
    static unsigned next;
    char *room = texts[next++ % ROOM];
    snprintf(room, sizeof(texts[0]),
             "---\nname: %s\nresource:\n"
             "  \"@type\": type.googleapis.com/google.protobuf.StringValue\n"
             "  value: %s\n",
             name, value);
    return room;
}
