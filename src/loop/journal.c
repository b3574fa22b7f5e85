/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "loop/read_write.h"

#define LONG_BYTES ((uint64_t)4 << 20)
#define LONG_FACTOR 4

/* Of this machine: no other one reads it. */
typedef struct head {
    uint32_t magic, size;
    uint64_t sum;
} head;

#define MAGIC UINT32_C(0x75647061)

struct udpai_journal {
    int fd; /* -1: it is not written any more */
    uint64_t size, whole_size;
    char *path, *next_path;
    udpa_bytes *owner;
};

/* FNV-1a: against what was written in part, not against malice. */
static uint64_t
sum_of(udpai_str bytes)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < bytes.len; i++)
        sum = (sum ^ (uint8_t)bytes.data[i]) * UINT64_C(1099511628211);
    return sum;
}

static udpa_err
fail(const char *what, const char *path, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_IO, "%s '%s': %s", what, path, strerror(errno));
}

/* ---- reading ---- */

/* NULL: at the end, or at what is no record; of which the file has as many bytes then. */
static udpa_err
read_one(udpai_journal *self, udpa_bytes **ret_record)
{
    head of;
    uint8_t *bytes;
    *ret_record = NULL;
    if (udpai_read_all(self->fd, (char *)&of, sizeof(of)) != sizeof(of) || of.magic != MAGIC ||
        of.size > UDPAI_JOURNAL_RECORD_MAX)
        return UDPA_OK;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *record = udpai_bytes_make(of.size, &bytes);
    if (!record)
        return UDPA_ERR_NOMEM;
    if (udpai_read_all(self->fd, (char *)bytes, of.size) != (ssize_t)of.size ||
        sum_of(udpai_bytes_view(record)) != of.sum)
        return UDPA_OK;
    self->size += sizeof(of) + of.size;
    *ret_record = UDPAI_TAKE(record);
    return UDPA_OK;
}

/* What another has written is nothing. */
static udpa_err
read_owner(udpai_journal *self, bool *ret_is_own)
{
    udpa_bytes *record = NULL;
    udpa_err err = read_one(self, &record);
    *ret_is_own = record && udpai_str_eq(udpai_bytes_view(record), udpai_bytes_view(self->owner));
    if (!*ret_is_own)
        self->size = 0;
    udpa_bytes_unref(record);
    return err;
}

static udpa_err
read_all(udpai_journal *self, udpai_journal_read_fn read_record, void *userdata)
{
    bool goes_on;
    udpa_err err = read_owner(self, &goes_on);
    while (err == UDPA_OK && goes_on) {
        udpa_bytes *record = NULL;
        err = read_one(self, &record);
        goes_on = record != NULL;
        if (record)
            err = read_record(userdata, udpai_bytes_view(record));
        udpa_bytes_unref(record);
    }
    return err;
}

static udpa_err
read_records(udpai_journal *self,
             udpai_journal_read_fn read_record,
             void *userdata,
             udpa_error **ret_error)
{
    udpa_err err = read_all(self, read_record, userdata);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    self->whole_size = self->size;
    if (ftruncate(self->fd, (off_t)self->size) != 0 || lseek(self->fd, 0, SEEK_END) < 0)
        return fail("cannot write", self->path, ret_error);
    return self->size ? UDPA_OK
                      : udpai_journal_append(self, udpai_bytes_view(self->owner), ret_error);
}

udpa_err
udpai_journal_open(udpai_journal **ret_journal,
                   const char *path,
                   udpai_str owner,
                   udpai_journal_read_fn read_record,
                   void *userdata,
                   udpa_error **ret_error)
{
    UDPA_AUTO(udpai_journal_close) udpai_journal *self = udpai_alloc(sizeof(*self));
    size_t len = strlen(path);
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->fd = -1;
    self->path = udpai_strndup(path, len);
    self->next_path = udpai_alloc(len + sizeof(".new"));
    if (!self->path || !self->next_path ||
        udpa_bytes_new(&self->owner, owner.data, owner.len) != UDPA_OK)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    snprintf(self->next_path, len + sizeof(".new"), "%s.new", path);
    self->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (self->fd < 0)
        return fail("cannot open", path, ret_error);
    udpa_err err = read_records(self, read_record, userdata, ret_error);
    if (err == UDPA_OK)
        *ret_journal = UDPAI_TAKE(self);
    return err;
}

udpai_journal *
udpai_journal_close(udpai_journal *self)
{
    if (!self)
        return NULL;
    if (self->fd >= 0)
        close(self->fd);
    udpai_free(self->path);
    udpai_free(self->next_path);
    udpa_bytes_unref(self->owner);
    udpai_free(self);
    return NULL;
}

/* ---- writing ---- */

void
udpai_journal_give_up(udpai_journal *self)
{
    (void)unlink(self->path);
    if (self->fd >= 0)
        close(self->fd);
    self->fd = -1;
}

udpa_err
udpai_journal_append(udpai_journal *self, udpai_str record, udpa_error **ret_error)
{
    head of = {MAGIC, (uint32_t)record.len, sum_of(record)};
    if (self->fd < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "'%s' is not written any more", self->path);
    if (record.len > UDPAI_JOURNAL_RECORD_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "a record of %zu bytes, and at most %zu fit",
                          record.len, UDPAI_JOURNAL_RECORD_MAX);
    if (udpai_write_all(self->fd, (udpai_str){(const char *)&of, sizeof(of)}) &&
        udpai_write_all(self->fd, record)) {
        self->size += sizeof(of) + record.len;
        return UDPA_OK;
    }
    (void)fail("cannot write", self->path, ret_error);
    if (ftruncate(self->fd, (off_t)self->size) != 0 || lseek(self->fd, 0, SEEK_END) < 0)
        udpai_journal_give_up(self);
    return UDPA_ERR_IO;
}

bool
udpai_journal_is_long(const udpai_journal *self)
{
    return self->size > LONG_BYTES && self->size / LONG_FACTOR > self->whole_size;
}

udpa_err
udpai_journal_rewrite(udpai_journal *self,
                      udpai_journal_write_fn write_records,
                      void *userdata,
                      udpa_error **ret_error)
{
    udpai_journal before = *self;
    self->fd = open(self->next_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (self->fd < 0) {
        self->fd = before.fd;
        return fail("cannot make", self->next_path, ret_error);
    }
    self->size = 0;
    udpa_err err = udpai_journal_append(self, udpai_bytes_view(self->owner), ret_error);
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error, write_records(userdata, self));
    if (err == UDPA_OK && rename(self->next_path, self->path) != 0)
        err = fail("cannot replace", self->path, ret_error);
    udpai_journal *old = err == UDPA_OK ? &before : self;
    if (old->fd >= 0)
        close(old->fd);
    if (err != UDPA_OK) {
        (void)unlink(self->next_path);
        *self = before;
    }
    self->whole_size = self->size;
    return err;
}
