/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/backup_manifest.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

#define HEAD "udpa backup 1\n"
#define SHA256 "sha256"

typedef struct field {
    const char *name;
    size_t offset;
    size_t size; /* of a text; 0: a number */
} field;

#define TEXT_FIELD(name, member)                                                                   \
    {                                                                                              \
        name, offsetof(udpai_backup_manifest, member),                                             \
            sizeof(((udpai_backup_manifest *)NULL)->member)                                        \
    }
#define NUMBER_FIELD(name, member)                                                                 \
    {                                                                                              \
        name, offsetof(udpai_backup_manifest, member), 0                                           \
    }

/* In the order in which they are written. */
static const field fields[] = {
    TEXT_FIELD("release", release), NUMBER_FIELD("format", format),
    TEXT_FIELD("node", node),       TEXT_FIELD("instance", instance),
    TEXT_FIELD("epoch", epoch),     NUMBER_FIELD("commit", commit),
    TEXT_FIELD("made", made),       NUMBER_FIELD("resources", n_resources),
    NUMBER_FIELD("audit", n_audit), NUMBER_FIELD("bytes", size_bytes),
};
static const field last_field = TEXT_FIELD(SHA256, sha256);

/* One line, whatever a node has been named. */
static unsigned
put_text(char *room, unsigned at, const char *text)
{
    for (; *text && at + 1 < UDPAI_BACKUP_MANIFEST_BYTES; text++)
        room[at++] = (unsigned char)*text < ' ' ? '?' : *text;
    return at;
}

static unsigned
put_field(char *room, unsigned at, const field *one, const udpai_backup_manifest *manifest)
{
    char number[24];
    const char *value = (const char *)manifest + one->offset;
    if (!one->size) {
        uint64_t is;
        memcpy(&is, value, sizeof(is));
        snprintf(number, sizeof(number), "%" PRIu64, is);
        value = number;
    }
    at = put_text(room, at, one->name);
    at = put_text(room, at, ": ");
    at = put_text(room, at, value);
    room[at++] = '\n';
    return at;
}

unsigned
udpai_backup_manifest_put(const udpai_backup_manifest *manifest,
                          char room[UDPAI_BACKUP_MANIFEST_BYTES])
{
    unsigned at = sizeof(HEAD) - 1;
    memcpy(room, HEAD, at);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(fields); i++)
        at = put_field(room, at, &fields[i], manifest);
    return at;
}

void
udpai_backup_manifest_end(const udpai_backup_manifest *manifest,
                          unsigned len,
                          char room[UDPAI_BACKUP_MANIFEST_BYTES])
{
    len = put_field(room, len, &last_field, manifest);
    memset(room + len, 0, UDPAI_BACKUP_MANIFEST_BYTES - len);
}

/* ---- reading ---- */

static bool
take_field(udpai_str *text, const field *one, udpai_backup_manifest *manifest)
{
    udpai_str line, name;
    char *value = (char *)manifest + one->offset;
    uint64_t number;
    if (!udpai_str_cut(text, '\n', &line) || !udpai_str_cut(&line, ':', &name) ||
        !udpai_str_eq(name, udpai_str_from(one->name)) || line.len == 0 || line.data[0] != ' ')
        return false;
    line = (udpai_str){line.data + 1, line.len - 1};
    for (size_t i = 0; i < line.len; i++)
        if ((unsigned char)line.data[i] < ' ')
            return false;
    if (one->size) {
        if (line.len >= one->size)
            return false;
        memcpy(value, line.data, line.len);
        value[line.len] = '\0';
        return true;
    }
    if (!udpai_str_number(line, &number))
        return false;
    memcpy(value, &number, sizeof(number));
    return true;
}

bool
udpai_backup_manifest_read(const char room[UDPAI_BACKUP_MANIFEST_BYTES],
                           udpai_backup_manifest *ret_manifest,
                           unsigned *ret_len)
{
    udpai_backup_manifest manifest = {0};
    udpai_str text = {room, strnlen(room, UDPAI_BACKUP_MANIFEST_BYTES)};
    for (size_t i = text.len; i < UDPAI_BACKUP_MANIFEST_BYTES; i++)
        if (room[i])
            return false;
    if (!udpai_str_starts(text, UDPAI_STR(HEAD)))
        return false;
    text = (udpai_str){text.data + sizeof(HEAD) - 1, text.len - (sizeof(HEAD) - 1)};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(fields); i++)
        if (!take_field(&text, &fields[i], &manifest))
            return false;
    *ret_len = (unsigned)(text.data - room);
    if (!take_field(&text, &last_field, &manifest) || text.len)
        return false;
    *ret_manifest = manifest;
    return true;
}
