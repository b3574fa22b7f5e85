/* SPDX-License-Identifier: Apache-2.0 */
#include "lrs_test.h"

#include <stdio.h>

#include "envoy/service/load_stats/v3/lrs.pb-c.h"

int
lrs_setup(void **state)
{
    lrs_test *test = calloc(1, sizeof(*test));
    assert_non_null(test);
    xds_world_init(&test->world);
    xds_settle(&test->world);
    fake_hub_drop_reports(&test->world.hub);
    test->service =
        (udpai_lrs_service){.server = &test->world.xds_server, .interval_ms = 10 * SECOND_MS};
    test->user_agent = "envoy";
    *state = test;
    return 0;
}

int
lrs_teardown(void **state)
{
    lrs_test *test = *state;
    fake_stream_close(&test->stream);
    fake_hub_drop_reports(&test->world.hub);
    xds_world_done(&test->world);
    free(test);
    return 0;
}

/* ---- a client ---- */

void
lrs_open_stream(lrs_test *test)
{
    const udpai_stream_info info = {.context = &test->service};
    fake_stream_open(&test->stream, &test->world.hub, udpai_lrs_session_new, &info);
}

void
lrs_send(lrs_test *test, udpai_str message)
{
    fake_stream_receive(&test->stream, message.data, message.len);
    fake_stream_run(&test->stream, &test->world.hub);
}

udpai_str
lrs_node(const lrs_test *test, const char *id, const char *feature)
{
    return W_MESSAGE(1, W_TEXT(1, id), W_TEXT(6, test->user_agent), W_TEXT(10, feature),
                     W_TEXT(10, "udpa.node.v1"));
}

void
lrs_begin_as(lrs_test *test, const char *id, const char *feature)
{
    lrs_open_stream(test);
    lrs_send(test, lrs_node(test, id, feature));
}

void
lrs_begin(lrs_test *test)
{
    lrs_begin_as(test, ID, UDPAI_LRS_FEATURE_ALL);
    udpai_report *report = fake_hub_take_report(&test->world.hub, UDPAI_REPORT_OPENED);
    assert_non_null(report);
    udpai_report_free(report);
    udpai_report_free(fake_hub_take_report(&test->world.hub, UDPAI_REPORT_NODE));
}

/* So many requests of a cluster, and so many in progress now. */
udpai_str
lrs_stats(const char *cluster, uint64_t n_issued, uint64_t n_in_progress)
{
    return W_MESSAGE(2, W_TEXT(1, cluster), W_MESSAGE(4, W_VARINT(1, 10)),
                     W_MESSAGE(2, W_MESSAGE(1, W_TEXT(1, "eu")), W_VARINT(8, n_issued),
                               W_VARINT(3, n_in_progress)));
}

/* ---- the loop side ---- */

/* @p wish: a name; or, behind a '*', a prefix. */
void
lrs_order(lrs_test *test, udpai_order_kind kind, const char *type_url, const char *wish)
{
    const udpai_str everything = {"", 0};
    udpai_str name = udpai_str_from(wish);
    udpai_subscription_message message = {
        .type_url = udpai_str_from(type_url), .names = &name, .n_names = 1};
    if (*wish == '*') {
        message.name_space = udpai_str_from(wish + 1);
        message.names = &everything;
    }
    udpai_order *made = udpai_order_new(kind);
    made->session = test->stream.session->id;
    made->subscription = udpai_subscription_message_copy(&message);
    udpai_hub_order(test->world.hub.hub, made);
    fake_stream_run(&test->stream, &test->world.hub);
}

void
lrs_want(lrs_test *test, const char *wish)
{
    lrs_order(test, UDPAI_ORDER_SUBSCRIBE, UDPAI_TYPE_CLIENT_LOAD, wish);
}

void
lrs_unwant(lrs_test *test, const char *wish)
{
    lrs_order(test, UDPAI_ORDER_UNSUBSCRIBE, UDPAI_TYPE_CLIENT_LOAD, wish);
}

/* What it was asked since the last call: clusters with blanks between, or "(all)"; NULL: nothing.
 */
const char *
lrs_asked(lrs_test *test)
{
    static char text[256];
    udpa_bytes *bytes = fake_stream_take(&test->stream);
    if (!bytes)
        return NULL;
    Envoy__Service__LoadStats__V3__LoadStatsResponse *response =
        envoy__service__load_stats__v3__load_stats_response__unpack(NULL, udpa_bytes_size(bytes),
                                                                    udpa_bytes_data(bytes));
    assert_non_null(response);
    assert_int_equal((uint64_t)response->load_reporting_interval->seconds * 1000,
                     test->service.interval_ms);
    assert_int_equal(response->report_endpoint_granularity, test->service.per_endpoint);
    int at = snprintf(text, sizeof(text), "%s", response->send_all_clusters ? "(all)" : "");
    for (size_t i = 0; i < response->n_clusters; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%s", at ? " " : "",
                       response->clusters[i]);
    envoy__service__load_stats__v3__load_stats_response__free_unpacked(response, NULL);
    udpa_bytes_unref(bytes);
    return text;
}

void
lrs_expect_asked(lrs_test *test, const char *expected)
{
    const char *text = lrs_asked(test);
    if (!expected)
        assert_null(text);
    else
        assert_string_equal(text ? text : "(nothing)", expected);
}

/* The next publication, to be given back by lrs_judge(); NULL: there is none. */
udpai_publication *
lrs_published(lrs_test *test)
{
    udpai_report *report = fake_hub_take_report(&test->world.hub, UDPAI_REPORT_PUBLICATION);
    if (!report)
        return NULL;
    assert_int_equal(report->session, test->stream.session->id);
    udpai_publication *publication = UDPAI_TAKE(report->publication);
    udpai_report_free(report);
    return publication;
}

void
lrs_judge(lrs_test *test, udpai_publication *publication)
{
    udpai_order *made = udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE);
    made->session = test->stream.session->id;
    made->publication = publication;
    udpai_hub_order(test->world.hub.hub, made);
}

udpai_load_stats *
lrs_stats_of(const udpa_resource *resource)
{
    udpai_arena arena;
    udpai_load_stats *stats = NULL;
    udpai_arena_init(&arena);
    assert_str(udpai_resource_type_url(resource), UDPAI_TYPE_CLIENT_LOAD);
    assert_ok(udpai_load_stats_decode(&arena, udpai_resource_value(resource),
                                      &udpai_load_stats_client_limits, &stats, NULL));
    udpai_arena_done(&arena);
    return stats;
}

/* "NAME=ISSUED/IN_PROGRESS …" of one publication, which is judged; "": there is none. The last
 * epoch seen is left in *ret_epoch, if that is not NULL. */
const char *
lrs_said(lrs_test *test, uint64_t *ret_epoch)
{
    static char text[4096];
    udpai_publication *publication = lrs_published(test);
    int at = 0;
    text[0] = '\0';
    for (size_t i = 0; publication && i < publication->entries.n; i++) {
        const udpa_resource *resource = publication->entries.items[i].resource;
        UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = lrs_stats_of(resource);
        const udpai_load_stats_locality like = {.region = UDPAI_STR("eu")};
        const udpai_load_stats_locality *eu = udpai_load_stats_find_locality(stats, &like);
        at +=
            snprintf(text + at, sizeof(text) - (size_t)at, "%s%s=%llu/%llu", at ? " " : "",
                     udpa_resource_name(resource),
                     eu ? (unsigned long long)eu->figures.counts[UDPAI_LOAD_STATS_ISSUED] : 0,
                     eu ? (unsigned long long)eu->figures.gauges[UDPAI_LOAD_STATS_IN_PROGRESS] : 0);
        assert_int_equal(udpa_resource_ttl_ms(resource), 3 * test->service.interval_ms + 10000);
        if (ret_epoch)
            *ret_epoch = stats->epoch;
    }
    if (publication)
        lrs_judge(test, publication);
    return text;
}

void
lrs_expect_said(lrs_test *test, const char *expected)
{
    assert_string_equal(lrs_said(test, NULL), expected);
}

Udpa__Status__V1__SessionStatus *
lrs_status_of(const udpai_session *session)
{
    udpa_bytes *bytes = session->ops->describe(session);
    assert_non_null(bytes);
    Udpa__Status__V1__SessionStatus *status = udpa__status__v1__session_status__unpack(
        NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(status);
    udpa_bytes_unref(bytes);
    return status;
}

Udpa__Status__V1__SessionStatus *
lrs_status(const lrs_test *test)
{
    return lrs_status_of(test->stream.session);
}

void
lrs_expect_refused(const lrs_test *test, uint64_t n, const char *words)
{
    lrs_expect_refused_by(test->stream.session, n, words);
}

void
lrs_expect_refused_by(const udpai_session *session, uint64_t n, const char *words)
{
    Udpa__Status__V1__SessionStatus *all = lrs_status_of(session);
    assert_int_equal(all->load_reporting->n_refused, n);
    if (n && !strstr(all->load_reporting->last_error, words))
        fail_msg("'%s' is not in '%s'", words, all->load_reporting->last_error);
    assert_true(!n == !all->load_reporting->refused);
    udpa__status__v1__session_status__free_unpacked(all, NULL);
}

void
lrs_expect_end(lrs_test *test, udpa_err code, const char *words)
{
    assert_true(test->stream.is_finished);
    assert_int_equal(udpa_error_code(test->stream.status), code);
    assert_non_null(strstr(udpa_error_message(test->stream.status), words));
}
