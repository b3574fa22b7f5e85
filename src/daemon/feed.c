/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/feed.h"

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/batch_text.h"

#define LOG "restart"
/* The other process has stopped; its clients come when it is killed, or goes on. */
#define WAITING_MAX ((size_t)256 << 20)

/* What is not kept yet. */
typedef struct pending {
    udpai_list node;
    uint64_t ticket;
    udpai_strbuf text;
} pending;

struct udpai_feed {
    udpa_endpoint *endpoint;
    udpai_worker_link *link;
    udpai_list all;
    bool has_ended;
};

static void
drop(pending *one)
{
    udpai_list_remove(&one->node);
    udpai_strbuf_done(&one->text);
    udpai_free(one);
}

static void
drop_all(udpai_feed *self)
{
    UDPAI_LIST_FOREACH_SAFE (at, &self->all)
        drop(UDPAI_LIST_ENTRY(at, pending, node));
}

/* Its clients have the rest when they have moved. */
static void
give_up(udpai_feed *self, const char *why)
{
    self->has_ended = true;
    drop_all(self);
    udpai_log(UDPA_LOG_WARNING, LOG, "the process before is sent no more changes: %s", why);
}

static void
on_begun(void *userdata, const udpai_durable_batch *batch, uint64_t ticket)
{
    udpai_feed *self = userdata;
    if (self->has_ended)
        return;
    pending *one = udpai_alloc(sizeof(*one));
    if (one) {
        one->ticket = ticket;
        udpai_list_init(&one->node);
        udpai_list_append(&self->all, &one->node);
    }
    if (!one || udpai_batch_text_put(&one->text, batch) != UDPA_OK)
        give_up(self, "out of memory");
}

static void
send_one(udpai_feed *self, const pending *one)
{
    if (!one->text.len)
        return;
    (void)udpai_worker_link_send(self->link, UDPAI_FRAME_BATCH, udpai_strbuf_view(&one->text));
}

static void
on_ended(void *userdata, uint64_t ticket, udpa_err result)
{
    udpai_feed *self = userdata;
    pending *first =
        udpai_list_empty(&self->all) ? NULL : UDPAI_LIST_ENTRY(self->all.next, pending, node);
    if (!first || first->ticket != ticket)
        return;
    if (result == UDPA_OK)
        send_one(self, first);
    drop(first);
    if (udpai_worker_link_waiting(self->link) > WAITING_MAX)
        give_up(self, "it takes nothing");
}

udpa_err
udpai_feed_begin(udpai_feed **ret_feed, udpa_endpoint *endpoint, udpai_worker_link *link)
{
    udpai_feed *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->endpoint = endpoint;
    self->link = link;
    udpai_list_init(&self->all);
    udpai_endpoint_tap_commits(endpoint, &(udpai_commit_tap){on_begun, on_ended, self});
    *ret_feed = self;
    return UDPA_OK;
}

void
udpai_feed_end(udpai_feed *self)
{
    if (!self)
        return;
    udpai_endpoint_tap_commits(self->endpoint, NULL);
    drop_all(self);
    udpai_free(self);
}
