/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of LRS for the benchmark of reports: many streams on some connections. */
#include "base/alloc.h"
#include "loop/clock.h"
#include "reports/reports.h"

#define PATH "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats"
#define AT_ONCE 64 /* connections that are made */
#define TURN_MS 100

/* ---- what comes ---- */

static void
on_ready(void *userdata)
{
    ((reports_link *)userdata)->owner->n_ready++;
}

/* A server of LRS says nothing but what is to be reported; here that is everything. */
static void
on_data(void *userdata, size_t stream, udpai_str bytes)
{
    const reports_link *link = userdata;
    bool *is_asked = &link->owner->is_asked[link->first + stream];
    link->owner->n_asked += bytes.len && !*is_asked;
    *is_asked |= bytes.len > 0;
}

static void
on_ended(void *userdata, size_t stream, const char *reason)
{
    (void)userdata;
    reports_fail("stream %zu of a connection was ended: %s", stream, reason);
}

static void
on_broken(void *userdata, const char *reason)
{
    (void)userdata;
    reports_fail("a connection is lost: %s", reason);
}

/* ---- their life ---- */

void
reports_clients_begin(reports_clients *self, udpai_load_loop *loop, const reports_options *options)
{
    size_t n = options->n_connections;
    *self = (reports_clients){
        .options = options,
        .loop = loop,
        .links = udpai_alloc_array(n, sizeof(*self->links)),
        .is_asked = udpai_alloc_array(options->n_clients, sizeof(*self->is_asked)),
        .sent.of = udpai_alloc_array(options->n_clusters, sizeof(*self->sent.of)),
        .message = reports_message_new(options),
    };
    if (!self->links || !self->is_asked || !self->sent.of)
        reports_fail("out of memory");
    for (size_t i = 0; i < n; i++) {
        reports_link *link = &self->links[i];
        link->owner = self;
        link->first = i * options->n_clients / n;
        link->n = (i + 1) * options->n_clients / n - link->first;
    }
}

void
reports_clients_end(reports_clients *self)
{
    for (size_t i = 0; i < self->options->n_connections; i++)
        udpai_link_close(self->links[i].link);
    udpai_free(self->links);
    udpai_free(self->is_asked);
    udpai_free(self->sent.of);
    udpai_vector_done(&self->sent.moments);
    reports_message_free(self->message);
}

static void
open_link(reports_link *link)
{
    static const udpai_link_events events = {on_ready, on_data, on_ended, on_broken};
    const udpai_link_options options = {
        .loop = link->owner->loop,
        .server = link->owner->options->server,
        .events = &events,
        .userdata = link,
    };
    udpa_error *error = NULL;
    if (udpai_link_open(&link->link, &options, &error) != UDPA_OK)
        reports_fail("%s", udpa_error_message(error));
}

static void
await_ready(reports_clients *self, size_t n)
{
    uint64_t end_ms = udpai_monotonic_ms() + self->options->patience_ms;
    while (self->n_ready < n) {
        udpai_load_loop_run(self->loop, TURN_MS);
        if (udpai_monotonic_ms() > end_ms)
            reports_fail("%zu of %zu connections can be used", self->n_ready,
                         self->options->n_connections);
    }
}

static void
open_streams(reports_link *link)
{
    for (size_t i = 0; i < link->n; i++) {
        if (!udpai_link_request(link->link, PATH))
            reports_fail("out of memory");
        reports_message_put_node(udpai_link_out(link->link, i), link->first + i);
    }
    udpai_link_flush(link->link);
}

void
reports_clients_connect(reports_clients *self)
{
    size_t n = self->options->n_connections;
    for (size_t i = 0; i < n; i++) {
        open_link(&self->links[i]);
        await_ready(self, i >= AT_ONCE ? i - AT_ONCE : 0);
    }
    await_ready(self, n);
    for (size_t i = 0; i < n; i++) {
        open_streams(&self->links[i]);
        if (i % AT_ONCE == AT_ONCE - 1)
            udpai_load_loop_run(self->loop, 0);
    }
}

void
reports_clients_report(reports_clients *self, size_t client, size_t round)
{
    size_t of = self->options->n_connections * client / self->options->n_clients;
    while (client >= self->links[of].first + self->links[of].n)
        of++;
    while (client < self->links[of].first)
        of--;
    const reports_link *link = &self->links[of];
    udpai_strbuf *out = udpai_link_out(link->link, client - link->first);
    reports_message_put(self->message, out, client, round, self->sent.of);
    const reports_moment now = {udpai_monotonic_ns(), self->sent.of[0].issued};
    if (!udpai_vector_push(&self->sent.moments, now))
        reports_fail("out of memory");
    udpai_link_flush(link->link);
}
