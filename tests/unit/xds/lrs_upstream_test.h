/* SPDX-License-Identifier: Apache-2.0 */
/* A server of LRS that is reported to, and the loop side that has the aggregates, by hand. One of
 * each.
 */
#ifndef UDPAI_LRS_UPSTREAM_TEST_H
#define UDPAI_LRS_UPSTREAM_TEST_H

#include <inttypes.h>
#include <stdio.h>

#include "envoy/service/load_stats/v3/lrs.pb-c.h"
#include "lrs_test.h"
#include "model/types.h"
#include "tests/harness/fake_stream.h"
#include "xds/lrs_upstream_internal.h"

#define LINK ((UINT64_C(1) << 63) + 1)
#define NODE_ID "edge"

static fake_hub hub;
static fake_stream stream;
static udpai_lrs_upstream *upstream;
/* Each aggregate covers so much more than the one before, and clients report in such an interval.
 */
static uint64_t covers_s, more_s = 5, interval_s;

static inline void
open_stream(void)
{
    const udpai_stream_info info = {.context = upstream, .link = LINK};
    fake_stream_open(&stream, &hub, udpai_lrs_upstream_session_new, &info);
    fake_stream_run(&stream, &hub);
}

/* What is written after the Node is what is looked at. */
static inline void
begin(void)
{
    open_stream();
    udpa_bytes_unref(fake_stream_take(&stream));
    fake_hub_drop_reports(&hub);
}

static inline int
setup(void **state)
{
    const udpai_hub_options options = fake_hub_options();
    const udpai_lrs_upstream_options of = {
        .source = UDPAI_STR("legacy"),
        .name_space = UDPAI_STR("com.acme"),
        .node = UDPAI_STR("\x0a\x04" NODE_ID),
    };
    (void)state;
    covers_s = interval_s = 0;
    more_s = 5;
    fake_hub_init(&hub, &options);
    assert_ok(udpai_lrs_upstream_new(&upstream, &of));
    return 0;
}

static inline int
done(void **state)
{
    (void)state;
    fake_stream_close(&stream);
    udpai_lrs_upstream_drop(upstream);
    fake_hub_drop_reports(&hub);
    fake_hub_done(&hub);
    wire_free_all();
    return 0;
}

/* ---- the server ---- */

static inline void
receive(udpai_str message)
{
    fake_stream_receive(&stream, message.data, message.len);
    fake_stream_run(&stream, &hub);
}

#define INTERVAL(seconds) W_MESSAGE(2, W_VARINT(1, seconds))
#define ALL W_VARINT(4, 1)

static inline void
pass(uint64_t ms)
{
    fake_hub_advance(&hub, ms);
    fake_stream_run(&stream, &hub);
}

static inline Envoy__Service__LoadStats__V3__LoadStatsRequest *
take_request(void)
{
    udpa_bytes *bytes = fake_stream_take(&stream);
    if (!bytes)
        return NULL;
    Envoy__Service__LoadStats__V3__LoadStatsRequest *request =
        envoy__service__load_stats__v3__load_stats_request__unpack(NULL, udpa_bytes_size(bytes),
                                                                   udpa_bytes_data(bytes));
    assert_non_null(request);
    udpa_bytes_unref(bytes);
    return request;
}

/* "CLUSTER=ISSUED/IN_PROGRESS …" of the next message; "": it says nothing; NULL: there is none. */
static inline const char *
told(void)
{
    static char text[1024];
    Envoy__Service__LoadStats__V3__LoadStatsRequest *request = take_request();
    int at = 0;
    if (!request)
        return NULL;
    text[0] = '\0';
    for (size_t i = 0; i < request->n_cluster_stats; i++) {
        const Envoy__Config__Endpoint__V3__ClusterStats *stats = request->cluster_stats[i];
        uint64_t n_issued = 0, n_in_progress = 0;
        for (size_t k = 0; k < stats->n_upstream_locality_stats; k++) {
            n_issued += stats->upstream_locality_stats[k]->total_issued_requests;
            n_in_progress += stats->upstream_locality_stats[k]->total_requests_in_progress;
        }
        at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%s=%" PRIu64 "/%" PRIu64,
                       at ? " " : "", stats->cluster_name, n_issued, n_in_progress);
    }
    envoy__service__load_stats__v3__load_stats_request__free_unpacked(request, NULL);
    return text;
}

static inline void
expect_told(const char *expected)
{
    const char *text = told();
    assert_string_equal(text ? text : "(nothing)", expected ? expected : "(nothing)");
}

/* ---- the loop side ---- */

/* What the server wants, as the loop side was told, sorted by nobody; NULL: it was not. */
static inline const char *
wanted(void)
{
    static char text[4096];
    udpai_report *report = fake_hub_take_report(&hub, UDPAI_REPORT_DEMAND);
    int at = 0;
    if (!report)
        return NULL;
    assert_int_equal(report->link, LINK);
    assert_str(report->subscription->type_url, UDPAI_TYPE_CLUSTER_LOAD);
    text[0] = '\0';
    for (size_t i = 0; i < report->subscription->n_names; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%.*s", at ? " " : "",
                       UDPAI_SHOWN(report->subscription->names[i]));
    udpai_report_free(report);
    return text;
}

static inline void
expect_wanted(const char *expected)
{
    const char *text = wanted();
    assert_string_equal(text ? text : "(nothing)", expected ? expected : "(nothing)");
}

/* So long after the clock of the test began. */
static inline uint64_t
epoch_at(int64_t us)
{
    return (uint64_t)(hub.wall_us + us);
}

static inline udpa_resource *
make_aggregate(const char *cluster, uint64_t epoch, uint64_t n_issued, uint64_t n_in_progress)
{
    char name[200];
    snprintf(name, sizeof(name), "%s/" NODE_ID, cluster);
    covers_s += more_s;
    udpai_str requests = W_MESSAGE(5, W_VARINT(3, n_issued), W_VARINT(4, n_in_progress));
    udpai_str endpoint =
        W_MESSAGE(8, W_TEXT(1, "10.0.0.1"), W_VARINT(2, 80), W_MESSAGE(3, W_VARINT(3, n_issued)));
    udpai_str body =
        W_JOIN(W_TEXT(1, cluster), W_VARINT(3, epoch), W_MESSAGE(4, W_VARINT(1, covers_s + 7)),
               W_MESSAGE(5, W_TEXT(1, "eu"), requests, endpoint), W_MESSAGE(8, W_TEXT(1, NODE_ID)),
               W_MESSAGE(13, W_VARINT(1, covers_s)), W_MESSAGE(14, W_VARINT(1, interval_s)));
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD), body);
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any, .ttl_ms = 40000};
    udpa_resource *resource = NULL;
    assert_ok(udpai_resource_make(&resource, &parts));
    return resource;
}

static inline void
order(udpai_publication *publication)
{
    udpai_order *given = udpai_order_new(UDPAI_ORDER_PUBLISH);
    assert_non_null(given);
    given->session = stream.session->id;
    given->publication = publication;
    udpai_hub_order(hub.hub, given);
    fake_stream_run(&stream, &hub);
}

static inline void
aggregate_is(const char *cluster, uint64_t epoch, uint64_t n_issued, uint64_t n_in_progress)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = make_aggregate(cluster, epoch, n_issued, n_in_progress);
    udpai_publication *publication = udpai_publication_new();
    assert_ok(udpai_publication_add(publication, resource, false));
    order(publication);
}

static inline void
aggregate_ends(const char *name)
{
    udpai_publication *publication = udpai_publication_new();
    assert_ok(udpai_publication_remove(publication, udpai_str_from(name)));
    order(publication);
}

static inline void
expect_refused(uint64_t n, const char *words)
{
    lrs_expect_refused_by(stream.session, n, words);
}

#endif
