/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/reported_load.h"

#include "base/alloc.h"
#include "base/log.h"
#include "loop/journal.h"

struct udpai_reported_load {
    udpai_journal *journal;
    const udpai_reported_load_server *servers;
    size_t n_servers;
    bool is_behind; /* the file has nothing: all is written anew */
};

/* ---- reading ---- */

static udpai_lrs_upstream *
find(const udpai_reported_load *self, udpai_str source)
{
    for (size_t i = 0; i < self->n_servers; i++)
        if (udpai_str_eq(self->servers[i].source, source))
            return self->servers[i].upstream;
    return NULL;
}

/* What cannot be read begins anew, which reports less; and so does what follows it. */
static udpa_err
read_record(void *userdata, udpai_str record)
{
    const udpai_reported_load *self = userdata;
    udpai_str source;
    if (udpai_lrs_upstream_source(record, &source) != UDPA_OK)
        return UDPA_OK;
    udpai_lrs_upstream *upstream = find(self, source);
    udpa_err err = upstream ? udpai_lrs_upstream_restore(upstream, record) : UDPA_OK;
    if (err == UDPA_OK || err == UDPA_ERR_NOMEM)
        return err;
    udpai_log(UDPA_LOG_WARNING, "load",
              "source %.*s: load is reported from now on: what was reported before cannot be read",
              UDPAI_SHOWN(source));
    return UDPA_OK;
}

/* ---- writing ---- */

static udpa_err
write_all(void *userdata, udpai_journal *journal)
{
    const udpai_reported_load *self = userdata;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < self->n_servers && err == UDPA_OK; i++) {
        UDPA_AUTO(udpa_bytes_unref)
        udpa_bytes *record = udpai_lrs_upstream_state(self->servers[i].upstream);
        err =
            record ? udpai_journal_append(journal, udpai_bytes_view(record), NULL) : UDPA_ERR_NOMEM;
    }
    return err;
}

static udpa_err
write_nothing(void *userdata, udpai_journal *journal)
{
    (void)userdata;
    (void)journal;
    return UDPA_OK;
}

/* Records that are older than what was reported would have it reported twice. */
static void
give_up(udpai_reported_load *self, udpa_err err, const udpa_error *why)
{
    if (!self->is_behind)
        udpai_log(UDPA_LOG_WARNING, "load",
                  "load that was reported to servers is not kept over a restart: %s",
                  why ? udpa_error_message(why) : udpa_err_text(err));
    self->is_behind = true;
    if (udpai_journal_rewrite(self->journal, write_nothing, self, NULL) != UDPA_OK)
        udpai_journal_give_up(self->journal);
}

static void
keep(void *userdata, udpa_bytes *record)
{
    udpai_reported_load *self = userdata;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = record ? UDPA_OK : UDPA_ERR_NOMEM;
    if (err == UDPA_OK && (self->is_behind || udpai_journal_is_long(self->journal)))
        err = udpai_journal_rewrite(self->journal, write_all, self, &error);
    if (err == UDPA_OK)
        err = udpai_journal_append(self->journal, udpai_bytes_view(record), &error);
    if (err == UDPA_OK)
        self->is_behind = false;
    else
        give_up(self, err, error);
}

/* ---- coming and going ---- */

static void
log_not_kept(udpa_err err, const udpa_error *error)
{
    udpai_log(UDPA_LOG_WARNING, "load",
              "load is reported to servers from now on, and after a restart again: %s",
              error ? udpa_error_message(error) : udpa_err_text(err));
}

udpa_err
udpai_reported_load_open(udpai_reported_load **ret_reported,
                         const char *path,
                         udpai_str owner,
                         const udpai_reported_load_server *servers,
                         size_t n_servers)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_reported_load *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->servers = servers;
    self->n_servers = n_servers;
    udpa_err err = udpai_journal_open(&self->journal, path, owner, read_record, self, &error);
    for (size_t i = 0; i < n_servers; i++)
        if (err == UDPA_OK)
            udpai_lrs_upstream_keep(servers[i].upstream, &(udpai_lrs_keeper){keep, self});
        else
            udpai_lrs_upstream_forget(servers[i].upstream);
    if (err == UDPA_OK) {
        *ret_reported = self;
        return UDPA_OK;
    }
    udpai_free(self);
    if (err != UDPA_ERR_NOMEM)
        log_not_kept(err, error);
    return err == UDPA_ERR_NOMEM ? err : UDPA_OK;
}

void
udpai_reported_load_close(udpai_reported_load *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < self->n_servers; i++)
        udpai_lrs_upstream_keep(self->servers[i].upstream, NULL);
    udpai_journal_close(self->journal);
    udpai_free(self);
}
