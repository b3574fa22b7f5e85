/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever wants the sums: of a node of UDPA by UDPA, of another server as text. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "loop/clock.h"
#include "loop/dial.h"
#include "reports/reports.h"
#include "tools/bench/protocol.h"
#include "udpa/load/v1/load.pb-c.h"
#include "udpa/service/discovery/v1/discovery.pb-c.h"

#define TYPE "type.googleapis.com/udpa.load.v1.ClusterLoad"
#define PREFIX 5 /* of gRPC, before each message */
#define ANSWER_MAX ((size_t)1 << 20)
#define NAME "service-"

typedef Udpa__Service__Discovery__V1__UdpaMessage udpa_message;

static const udpai_load_subscription subscription = {
    .type_url = TYPE, .name_space = REPORTS_NAMESPACE, .node_id = "sums"};

/* ---- sums ---- */

/* Of the first cluster: what comes next, of what it does not have, was sent then. */
static void
note_behind(reports_sums *self, uint64_t issued)
{
    size_t low = 0, high = self->sent->moments.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (self->sent->moments.items[middle].issued <= issued)
            low = middle + 1;
        else
            high = middle;
    }
    uint64_t now_ns = udpai_monotonic_ns();
    if (low == self->sent->moments.n) /* it has all */
        return;
    uint64_t behind_ns = now_ns - self->sent->moments.items[low].ns;
    if (behind_ns > self->behind_ns)
        self->behind_ns = behind_ns;
}

/* No sum may be above what was sent, at any time. */
static void
take(reports_sums *self, const char *cluster, const reports_counts *counts)
{
    const char *name = strrchr(cluster, '/');
    name = name ? name + 1 : cluster;
    size_t prefix = sizeof(NAME) - 1;
    unsigned long i = strncmp(name, NAME, prefix) == 0 ? strtoul(name + prefix, NULL, 10) : 0;
    if (strncmp(name, NAME, prefix) != 0 || i >= self->options->n_clusters)
        reports_fail("a sum of cluster '%s', which nobody reports", cluster);
    if (counts->issued > self->sent->of[i].issued)
        reports_fail("%" PRIu64 " requests are the sum of %s, of which %" PRIu64 " were sent",
                     counts->issued, cluster, self->sent->of[i].issued);
    if (i == 0)
        note_behind(self, counts->issued);
    self->seen[i] = *counts;
    self->n_updates++;
}

static void
take_load(reports_sums *self, const ProtobufCBinaryData *value)
{
    Udpa__Load__V1__ClusterLoad *load =
        udpa__load__v1__cluster_load__unpack(NULL, value->len, value->data);
    if (!load)
        reports_fail("a sum cannot be read");
    reports_counts counts = {.n_clients = load->n_clients};
    for (size_t i = 0; i < load->n_localities; i++) {
        const Udpa__Load__V1__RequestLoad *requests = load->localities[i]->requests;
        if (!requests)
            continue;
        counts.successful += requests->successful;
        counts.error += requests->error;
        counts.issued += requests->issued;
        counts.in_progress += requests->in_progress;
    }
    take(self, load->cluster, &counts);
    udpa__load__v1__cluster_load__free_unpacked(load, NULL);
}

static void
take_publication(reports_sums *self, const Udpa__Service__Discovery__V1__DeltaPublish *publication)
{
    for (size_t i = 0; i < publication->n_resources; i++) {
        const Google__Protobuf__Any *any = publication->resources[i]->resource;
        if (any && strcmp(any->type_url, TYPE) == 0)
            take_load(self, &any->value);
    }
    if (!publication->receipt_required)
        return;
    const udpai_load_ack answer = {.nonce = udpai_str_from(publication->nonce)};
    udpai_load_put_acknowledgement(udpai_link_out(self->link, 0), UDPAI_LOAD_UDPA, &subscription,
                                   &answer);
}

static void
take_message(reports_sums *self, const uint8_t *bytes, size_t size)
{
    udpa_message *message = udpa__service__discovery__v1__udpa_message__unpack(NULL, size, bytes);
    if (!message)
        reports_fail("what came is no message of UDPA");
    if (message->message_case ==
        UDPA__SERVICE__DISCOVERY__V1__UDPA_MESSAGE__MESSAGE_SUBSCRIPTION_ERROR)
        reports_fail("sums are refused: %s", message->subscription_error->status->message);
    if (message->message_case == UDPA__SERVICE__DISCOVERY__V1__UDPA_MESSAGE__MESSAGE_PUBLISH &&
        message->publish->delta)
        take_publication(self, message->publish->delta);
    udpa__service__discovery__v1__udpa_message__free_unpacked(message, NULL);
}

/* ---- by UDPA ---- */

static void
on_ready(void *userdata)
{
    ((reports_sums *)userdata)->is_ready = true;
}

static void
on_data(void *userdata, size_t stream, udpai_str bytes)
{
    reports_sums *self = userdata;
    udpai_strbuf *held = &self->held;
    size_t at = 0;
    (void)stream;
    udpai_strbuf_str(held, bytes);
    if (udpai_strbuf_failed(held))
        reports_fail("out of memory");
    const uint8_t *data = (const uint8_t *)held->data;
    while (held->len - at >= PREFIX) {
        size_t size = (size_t)data[at + 1] << 24 | (size_t)data[at + 2] << 16 |
                      (size_t)data[at + 3] << 8 | data[at + 4];
        if (held->len - at - PREFIX < size)
            break;
        take_message(self, data + at + PREFIX, size);
        at += PREFIX + size;
    }
    memmove(held->data, held->data + at, held->len - at);
    held->len -= at;
}

static void
on_ended(void *userdata, size_t stream, const char *reason)
{
    (void)userdata;
    (void)stream;
    reports_fail("who wants sums is turned away: %s", reason);
}

static void
on_broken(void *userdata, const char *reason)
{
    on_ended(userdata, 0, reason);
}

static void
subscribe(reports_sums *self, udpai_load_loop *loop)
{
    static const udpai_link_events events = {on_ready, on_data, on_ended, on_broken};
    const udpai_link_options options = {
        .loop = loop, .server = self->options->server, .events = &events, .userdata = self};
    uint64_t end_ms = udpai_monotonic_ms() + self->options->patience_ms;
    udpa_error *error = NULL;
    if (udpai_link_open(&self->link, &options, &error) != UDPA_OK)
        reports_fail("%s", udpa_error_message(error));
    while (!self->is_ready && udpai_monotonic_ms() < end_ms)
        udpai_load_loop_run(loop, 1);
    if (!self->is_ready || !udpai_link_request(self->link, udpai_load_path(UDPAI_LOAD_UDPA)))
        reports_fail("%s does not answer", self->options->server);
    udpai_load_put_subscription(udpai_link_out(self->link, 0), UDPAI_LOAD_UDPA, &subscription);
    udpai_link_flush(self->link);
}

/* ---- as text: a line for each cluster, and an empty one, each time that it is asked ---- */

static void
dial_control(reports_sums *self)
{
    udpai_strbuf why = {0};
    self->control = udpai_dial(self->options->control, self->options->patience_ms, &why);
    if (self->control < 0)
        reports_fail("%s: %.*s", self->options->control, UDPAI_SHOWN(udpai_strbuf_view(&why)));
}

static void
ask_control(reports_sums *self)
{
    char name[64];
    reports_counts counts;
    udpai_strbuf *held = &self->held;
    held->len = 0;
    if (send(self->control, "\n", 1, MSG_NOSIGNAL) != 1)
        reports_fail("sums cannot be asked for");
    while (held->len < 2 || memcmp(held->data + held->len - 2, "\n\n", 2) != 0) {
        char room[4096];
        ssize_t n = udpai_await_socket(self->control, POLLIN, self->options->patience_ms)
                        ? recv(self->control, room, sizeof(room), 0)
                        : -1;
        udpai_strbuf_append(held, room, n > 0 ? (size_t)n : 0);
        if (n <= 0 || held->len > ANSWER_MAX)
            reports_fail("no sums have come");
    }
    udpai_strbuf_putc(held, '\0');
    for (const char *line = held->data; *line != '\n'; line = strchr(line, '\n') + 1) {
        if (sscanf(line, "%63s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, name,
                   &counts.successful, &counts.error, &counts.issued, &counts.in_progress,
                   &counts.n_clients) != 6)
            reports_fail("no sum: %.100s", line);
        take(self, name, &counts);
    }
}

/* ---- their life ---- */

void
reports_sums_begin(reports_sums *self,
                   udpai_load_loop *loop,
                   const reports_options *options,
                   const reports_sent *sent)
{
    *self = (reports_sums){
        .options = options,
        .control = -1,
        .seen = udpai_alloc_array(options->n_clusters, sizeof(*self->seen)),
        .sent = sent,
    };
    if (!self->seen)
        reports_fail("out of memory");
    if (options->control)
        dial_control(self);
    else
        subscribe(self, loop);
}

void
reports_sums_end(reports_sums *self)
{
    udpai_link_close(self->link);
    if (self->control >= 0)
        close(self->control);
    udpai_strbuf_done(&self->held);
    udpai_free(self->seen);
}

bool
reports_sums_are_complete(reports_sums *self)
{
    if (self->control >= 0)
        ask_control(self);
    return memcmp(self->seen, self->sent->of, self->options->n_clusters * sizeof(*self->seen)) == 0;
}
