/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/backup_page.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/options.h"
#include "daemon/page_body.h"
#include "endpoint/host.h"
#include "loop/clock.h"
#include "loop/thread.h"
#include "storage/backup.h"
#include "storage/sqlite.h"

#define FILE_NAME UDPAI_SQLITE_FILE "-backup"
#define UNREAD_MS 60000 /* so long it is kept */
#define USAGE                                                                                      \
    "usage: POST /backup begins a backup, with {\"look\": true} as its body it shows how far "     \
    "that is; "                                                                                    \
    "GET /backup_part?id=ID&from=BYTE reads it: the command 'udpactl backup FILE' does all of it"

struct udpai_backup_page {
    const udpai_plan *plan;
    udpa_endpoint *endpoint;
    char *path;    /* NULL: nothing is stored */
    bool is_begun; /* there is a thread, to be joined */
    pthread_t thread;
    udpai_timer unread;
    uint64_t id; /* of the last one */

    atomic_bool is_ended; /* the thread is to end */
    atomic_bool is_done;  /* it has; until then these are its own: */
    udpa_err result;
    udpa_error *error;
    udpai_backup_manifest manifest;
    int fd; /* of the file; -1: there is none */
};

/* ---- the thread ---- */

static void
make(udpai_backup_page *self)
{
    const udpai_backup_request request = {
        .directory = self->plan->state_directory,
        .path = self->path,
        .release = UDPAI_CLI_VERSION,
        .node = self->plan->settings.node.id,
        .instance = self->plan->settings.node.instance,
        .made_us = udpai_wall_us(),
        .is_ended = &self->is_ended,
    };
    self->result = udpai_backup_make(&request, &self->manifest, &self->error);
    if (self->result != UDPA_OK)
        return;
    self->fd = open(self->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (self->fd < 0)
        self->result = udpai_fail(&self->error, UDPA_ERR_IO, "cannot open %s: %s", self->path,
                                  strerror(errno));
    (void)unlink(self->path);
}

static void *
run(void *userdata)
{
    udpai_backup_page *self = userdata;
    make(self);
    atomic_store(&self->is_done, true);
    return NULL;
}

/* ---- the loop ---- */

static bool
is_running(udpai_backup_page *self)
{
    if (self->is_begun && atomic_load(&self->is_done)) {
        pthread_join(self->thread, NULL);
        self->is_begun = false;
    }
    return self->is_begun;
}

static void
forget(udpai_backup_page *self)
{
    if (self->fd >= 0)
        close(self->fd);
    self->fd = -1;
    self->result = UDPA_OK;
    self->error = udpa_error_unref(self->error);
    udpai_timer_cancel(&self->unread);
}

static void
touch(udpai_backup_page *self)
{
    udpai_wheel *wheel = udpai_endpoint_wheel(self->endpoint);
    udpai_endpoint_advance(self->endpoint);
    udpai_timer_set(wheel, &self->unread, wheel->now_ms + UNREAD_MS);
}

static void
on_unread(udpai_timer *timer)
{
    udpai_backup_page *self = UDPAI_CONTAINER_OF(timer, udpai_backup_page, unread);
    udpai_wheel *wheel = udpai_endpoint_wheel(self->endpoint);
    if (is_running(self))
        udpai_timer_set(wheel, timer, wheel->now_ms + UNREAD_MS);
    else
        forget(self);
}

static udpa_err
check(udpai_backup_page *self, udpa_error **ret_error)
{
    if (self->plan->etcd.n_endpoints)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "this node is a replica: its store is in etcd, and what it has here is a "
                          "copy; back up etcd ('etcdctl snapshot save FILE')");
    if (!self->path)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "this node stores nothing (store.in_memory), so there is nothing to back "
                          "up");
    return UDPA_OK;
}

static udpa_err
begin(udpai_backup_page *self, udpa_error **ret_error)
{
    if (is_running(self) || self->fd >= 0)
        return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE,
                          "another backup of this node is made or read now: try again when that is "
                          "done; one that is not read any more is dropped after %d s",
                          UNREAD_MS / 1000);
    forget(self);
    self->id++;
    atomic_store(&self->is_done, false);
    int failed = udpai_thread_begin(&self->thread, "udpa-backup", run, self);
    if (failed)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "cannot start the thread of the backup: %s",
                          strerror(failed));
    self->is_begun = true;
    return UDPA_OK;
}

static udpa_err
put_state(udpai_backup_page *self, udpai_strbuf *text, udpa_error **ret_error)
{
    if (is_running(self)) {
        udpai_strbuf_puts(text, "running\n");
        return UDPA_OK;
    }
    udpa_err err = self->result;
    if (err == UDPA_OK && self->fd < 0)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "there is no backup to read: 'udpactl backup FILE' makes one");
    if (err == UDPA_OK) {
        udpai_strbuf_printf(text, "done %" PRIu64 " %" PRIu64 "\n", self->id,
                            self->manifest.size_bytes + UDPAI_BACKUP_MANIFEST_BYTES);
        return UDPA_OK;
    }
    if (ret_error)
        *ret_error = UDPAI_TAKE(self->error);
    forget(self);
    return udpai_fail_code(ret_error, err);
}

static udpa_err
ask(udpai_backup_page *self, udpai_str form, udpai_strbuf *text, udpa_error **ret_error)
{
    bool only_looks = udpai_str_eq(form, UDPAI_STR("look=true"));
    udpa_err err = check(self, ret_error);
    if (err == UDPA_OK && form.len && !only_looks)
        err = udpai_fail(ret_error, UDPA_ERR_INVAL, USAGE);
    if (err == UDPA_OK)
        touch(self);
    if (err == UDPA_OK && !only_looks)
        err = begin(self, ret_error);
    if (err != UDPA_OK)
        return err;
    return put_state(self, text, ret_error);
}

udpa_err
udpai_backup_page_ask(udpai_backup_page *self,
                      udpai_str query,
                      udpai_str body,
                      udpai_strbuf *text,
                      udpa_error **ret_error)
{
    udpai_strbuf form;
    udpa_err err = udpai_page_form_read(query, body, &form, ret_error);
    if (err == UDPA_OK)
        err = ask(self, udpai_strbuf_view(&form), text, ret_error);
    udpai_strbuf_done(&form);
    return err;
}

/* ---- reading ---- */

static bool
read_form(udpai_str form, uint64_t *ret_id, uint64_t *ret_from)
{
    udpai_str part;
    bool has_id = false, has_from = false, has_more = true;
    while (has_more) {
        has_more = udpai_page_form_next(&form, &part);
        if (udpai_page_form_number(part, UDPAI_STR("id="), ret_id))
            has_id = true;
        else if (udpai_page_form_number(part, UDPAI_STR("from="), ret_from))
            has_from = *ret_from <= INT64_MAX;
        else
            return false;
    }
    return has_id && has_from;
}

udpa_err
udpai_backup_page_read(udpai_backup_page *self,
                       udpai_str form,
                       udpai_strbuf *bytes,
                       udpa_error **ret_error)
{
    uint64_t id, from;
    if (!read_form(form, &id, &from))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, USAGE);
    touch(self);
    if (is_running(self) || self->fd < 0 || id != self->id)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "there is no such backup, or not any more: begin another one");
    char *room = udpai_strbuf_extend(bytes, UDPAI_BACKUP_PART_BYTES);
    if (!room)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    ssize_t n = pread(self->fd, room, UDPAI_BACKUP_PART_BYTES, (off_t)from);
    if (n < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot read the backup: %s", strerror(errno));
    bytes->len -= UDPAI_BACKUP_PART_BYTES - (size_t)n;
    if (n == 0)
        forget(self);
    return UDPA_OK;
}

/* ---- beginning and end ---- */

udpai_backup_page *
udpai_backup_page_new(const udpai_plan *plan, udpa_endpoint *endpoint)
{
    udpai_strbuf path = {0};
    udpai_backup_page *self = udpai_alloc(sizeof(*self));
    if (!self)
        return NULL;
    self->plan = plan;
    self->endpoint = endpoint;
    self->fd = -1;
    udpai_timer_init(&self->unread, on_unread);
    if (!plan->state_directory)
        return self;
    udpai_strbuf_printf(&path, "%s/" FILE_NAME, plan->state_directory);
    self->path = udpai_strbuf_take(&path);
    if (!self->path) {
        udpai_free(self);
        return NULL;
    }
    udpai_backup_remove(self->path);
    return self;
}

void
udpai_backup_page_free(udpai_backup_page *self)
{
    if (!self)
        return;
    atomic_store(&self->is_ended, true);
    if (self->is_begun)
        pthread_join(self->thread, NULL);
    forget(self);
    udpai_free(self->path);
    udpai_free(self);
}
