/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/backup_file.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "loop/read_write.h"

#define PIECE_BYTES ((size_t)256 << 10)
#define DATABASE_HEAD "SQLite format 3"
#define HEAD_BYTES 100

/* ---- hashing ---- */

static udpa_err
fail_to_read(udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot read it: %s",
                      errno ? strerror(errno) : "it is shorter than before");
}

static udpa_err
hash_piece(EVP_MD_CTX *context,
           const udpai_backup_bytes *bytes,
           char *room,
           uint64_t *left,
           udpa_error **ret_error)
{
    size_t size = *left < PIECE_BYTES ? (size_t)*left : PIECE_BYTES;
    errno = 0;
    if (udpai_read_all(bytes->fd, room, size) != (ssize_t)size)
        return fail_to_read(ret_error);
    if (!EVP_DigestUpdate(context, room, size))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (bytes->to >= 0 && !udpai_write_all(bytes->to, (udpai_str){room, size}))
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot write the copy: %s", strerror(errno));
    *left -= size;
    return UDPA_OK;
}

static udpa_err
end_hash(EVP_MD_CTX *context,
         udpai_str tail,
         char ret_sha256[UDPAI_BACKUP_SHA256_LEN + 1],
         udpa_error **ret_error)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (!EVP_DigestUpdate(context, tail.data, tail.len) ||
        !EVP_DigestFinal_ex(context, digest, &len) || 2 * len != UDPAI_BACKUP_SHA256_LEN)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (unsigned i = 0; i < len; i++)
        snprintf(ret_sha256 + (size_t)2 * i, 3, "%02x", digest[i]);
    return UDPA_OK;
}

udpa_err
udpai_backup_hash(const udpai_backup_bytes *bytes,
                  char ret_sha256[UDPAI_BACKUP_SHA256_LEN + 1],
                  udpa_error **ret_error)
{
    uint64_t left = bytes->size;
    UDPAI_AUTO_FREE char *room = udpai_alloc(PIECE_BYTES);
    EVP_MD_CTX *context = room ? EVP_MD_CTX_new() : NULL;
    udpa_err err = UDPA_OK;
    if (!context || !EVP_DigestInit_ex(context, EVP_sha256(), NULL))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    else if (lseek(bytes->fd, 0, SEEK_SET) != 0)
        err = fail_to_read(ret_error);
    while (err == UDPA_OK && left) {
        err = hash_piece(context, bytes, room, &left, ret_error);
        if (err == UDPA_OK && bytes->is_ended && atomic_load(bytes->is_ended))
            err = udpai_fail(ret_error, UDPA_ERR_CLOSED, "the program ends");
    }
    if (err == UDPA_OK)
        err = end_hash(context, bytes->tail, ret_sha256, ret_error);
    EVP_MD_CTX_free(context);
    return err;
}

/* ---- where what begins ---- */

static uint32_t
number_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* As its header has it; 0: it is no database. */
static uint64_t
size_of_database(const unsigned char head[HEAD_BYTES])
{
    uint64_t page = (uint64_t)head[16] << 8 | head[17];
    if (memcmp(head, DATABASE_HEAD, sizeof(DATABASE_HEAD)) != 0)
        return 0;
    return (page == 1 ? 65536 : page) * number_at(head + 28);
}

/* Another program has copied it: then the file ends with the database. */
static udpa_err
measure_plain(const unsigned char *head,
              uint64_t size,
              const char *path,
              udpai_backup_facts *facts,
              udpa_error **ret_error)
{
    if (size_of_database(head) != size)
        return udpai_fail(ret_error, UDPA_ERR_IO,
                          "%s is damaged: it has neither a manifest at its end, nor the size that "
                          "its database should have; use another backup",
                          path);
    facts->manifest.size_bytes = size;
    return UDPA_OK;
}

static udpa_err
measure(const unsigned char *head,
        uint64_t size,
        const char *path,
        udpai_backup_facts *facts,
        udpa_error **ret_error)
{
    if (!size_of_database(head))
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "%s is no backup of a node: 'udpactl backup FILE' makes one", path);
    if (!facts->has_manifest)
        return measure_plain(head, size, path, facts, ret_error);
    if (facts->manifest.size_bytes != size - UDPAI_BACKUP_MANIFEST_BYTES)
        return udpai_fail(ret_error, UDPA_ERR_IO,
                          "%s is damaged: its database has %llu bytes, not the %llu of its "
                          "manifest; use another backup",
                          path, (unsigned long long)(size - UDPAI_BACKUP_MANIFEST_BYTES),
                          (unsigned long long)facts->manifest.size_bytes);
    return UDPA_OK;
}

udpa_err
udpai_backup_measure(int fd,
                     const char *path,
                     udpai_backup_facts *ret_facts,
                     char room[UDPAI_BACKUP_MANIFEST_BYTES],
                     unsigned *ret_len,
                     udpa_error **ret_error)
{
    unsigned char head[HEAD_BYTES] = {0};
    struct stat info;
    *ret_facts = (udpai_backup_facts){0};
    *ret_len = 0;
    if (fstat(fd, &info) != 0 || pread(fd, head, sizeof(head), 0) < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot read %s: %s", path, strerror(errno));
    off_t at = info.st_size - UDPAI_BACKUP_MANIFEST_BYTES;
    if (!S_ISREG(info.st_mode) || info.st_size < HEAD_BYTES)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "%s is no backup of a node: 'udpactl backup FILE' makes one", path);
    ret_facts->has_manifest =
        at > 0 && pread(fd, room, UDPAI_BACKUP_MANIFEST_BYTES, at) == UDPAI_BACKUP_MANIFEST_BYTES &&
        udpai_backup_manifest_read(room, &ret_facts->manifest, ret_len);
    return measure(head, (uint64_t)info.st_size, path, ret_facts, ret_error);
}
