/* SPDX-License-Identifier: Apache-2.0 */
/* A server of LRS that is reported to: what it may ask for, what it is told of that, and that
 * nothing is told twice. The loop side is the test. */
#include "lrs_upstream_test.h"
#include "tests/harness/oom.h"

/* ---- what it may ask for ---- */

static void
it_says_who_it_is_and_waits(void **state)
{
    (void)state;
    open_stream();
    udpai_report *opened = fake_hub_take_report(&hub, UDPAI_REPORT_OPENED);
    assert_non_null(opened);
    assert_int_equal(opened->link, LINK);
    udpai_report_free(opened);
    Envoy__Service__LoadStats__V3__LoadStatsRequest *request = take_request();
    assert_non_null(request);
    assert_string_equal(request->node->id, NODE_ID);
    envoy__service__load_stats__v3__load_stats_request__free_unpacked(request, NULL);
    pass(100000);
    expect_told(NULL);
    expect_wanted(NULL);
}

static void
named_clusters_are_asked_for_by_name(void **state)
{
    (void)state;
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    expect_wanted("com.acme/a");
    pass(1000);
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(7))); /* the same */
    expect_wanted(NULL);
    pass(1000);
    receive(W_JOIN(W_TEXT(1, "a"), W_TEXT(1, "b/c"), W_TEXT(1, "b/c")));
    assert_int_equal(strlen(wanted()), strlen("com.acme/a com.acme/b/c"));
    pass(1000);
    receive(ALL);
    expect_wanted("com.acme");
    pass(1000);
    receive(W_JOIN(W_TEXT(1, "b/c")));
    expect_wanted("com.acme/b/c");
    pass(1000);
    receive(W_NOTHING);
    expect_wanted("");
    pass(100000);
    while (told())
        ;
    pass(100000);
    expect_told(NULL);
}

static void
many_names_are_the_namespace(void **state)
{
    udpai_str message = W_NOTHING;
    (void)state;
    begin();
    for (int i = 0; i <= UDPAI_LRS_UPSTREAM_NAMES_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "c%d", i);
        message = W_JOIN(message, W_TEXT(1, name));
    }
    receive(message);
    expect_wanted("com.acme");
    uint64_t epoch = epoch_at(1);
    aggregate_is("com.acme/c7", epoch, 3, 0);
    aggregate_is("com.acme/other", epoch, 4, 0); /* nobody has named it */
    pass(10000);
    expect_told("c7=3/0");
}

static void
absurd_numbers_of_names_are_cut(void **state)
{
    enum {
        MORE = 5
    };

    size_t n = UDPAI_LRS_UPSTREAM_CLUSTERS_MAX + MORE, at = 0;
    char *message = malloc(n * 10);
    (void)state;
    assert_non_null(message);
    begin();
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(message + at, 10, "\x0a\x06%06zu", i);
    receive((udpai_str){message, at});
    free(message);
    assert_false(stream.is_finished);
    expect_refused(MORE, "one more than");
    assert_int_equal(upstream->accounts.n, UDPAI_LRS_UPSTREAM_CLUSTERS_MAX);
    pass(1000);
    receive(W_TEXT(1, "000001"));
    assert_int_equal(upstream->accounts.n, 1);
}

static void
names_that_cannot_be_are_left_out(void **state)
{
    char name[UDPAI_NAME_MAX];
    (void)state;
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    begin();
    receive(W_JOIN(W_TEXT(1, ""), W_TEXT(1, name), W_TEXT(1, "a")));
    expect_wanted("com.acme/a");
    expect_refused(2, "cannot be the name of a cluster");
}

static void
nonsense_ends_the_stream(void **state)
{
    (void)state;
    begin();
    receive(UDPAI_STR("\x0a\x05x"));
    assert_true(stream.is_finished);
    assert_int_equal(udpa_error_code(stream.status), UDPA_ERR_MALFORMED);
}

/* ---- what it is told ---- */

static void
differences_are_told(void **state)
{
    (void)state;
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    uint64_t epoch = epoch_at(1);
    aggregate_is("com.acme/a", epoch, 10, 2);
    aggregate_is("com.acme/b", epoch, 7, 0);
    aggregate_is("com.acme/a", epoch, 12, 1);
    pass(5000);
    expect_told("a=12/1");
    pass(5000);
    expect_told(""); /* no client has said anything */
    aggregate_is("com.acme/a", epoch, 12, 1);
    pass(5000);
    expect_told("a=0/1"); /* what is in progress is */
    aggregate_is("com.acme/a", epoch, 20, 0);
    pass(5000);
    expect_told("a=8/0");
    pass(5000);
    expect_told("");
    aggregate_is("net.other/a", epoch, 20, 0); /* of another namespace, or of none */
    aggregate_is("com.acme", epoch, 20, 0);
    pass(5000);
    expect_told("");
    expect_refused(0, "");
}

static void
single_endpoints_are_told_if_they_are_asked_for(void **state)
{
    (void)state;
    begin();
    for (int per_endpoint = 0; per_endpoint < 2; per_endpoint++) {
        receive(W_JOIN(W_TEXT(1, "a"), W_VARINT(3, (uint64_t)per_endpoint), INTERVAL(5)));
        aggregate_is("com.acme/a", epoch_at(1), 10, 0);
        pass(5000);
        Envoy__Service__LoadStats__V3__LoadStatsRequest *request = take_request();
        assert_non_null(request);
        assert_int_equal(request->n_cluster_stats, 1);
        assert_int_equal(request->cluster_stats[0]->load_report_interval->seconds,
                         5 + 5 * per_endpoint);
        const Envoy__Config__Endpoint__V3__UpstreamLocalityStats *place =
            request->cluster_stats[0]->upstream_locality_stats[0];
        assert_int_equal(place->n_upstream_endpoint_stats, per_endpoint);
        envoy__service__load_stats__v3__load_stats_request__free_unpacked(request, NULL);
    }
}

/* What somebody else had counted before is not what this server has asked for. */
static void
what_was_before_is_not_told(void **state)
{
    (void)state;
    begin();
    uint64_t epoch = epoch_at(-1);
    receive(W_JOIN(ALL, INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 1000, 1);
    aggregate_is("com.acme/new", epoch_at(1), 5, 0);
    aggregate_is("com.acme/a", epoch, 1001, 1);
    pass(5000);
    const char *text = told();
    assert_true(strcmp(text, "a=1/1 new=5/0") == 0 || strcmp(text, "new=5/0 a=1/1") == 0);
}

static void
another_epoch_counts_from_nothing(void **state)
{
    (void)state;
    uint64_t epoch = epoch_at(1);
    begin();
    receive(W_JOIN(ALL, INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 100, 0);
    pass(5000);
    expect_told("a=100/0");
    aggregate_is("com.acme/a", epoch, 103, 4);
    aggregate_ends("com.acme/a/" NODE_ID);
    aggregate_ends("com.acme/a/" NODE_ID);
    aggregate_ends("com.acme/z/" NODE_ID);
    aggregate_is("com.acme/a", epoch + 1, 2, 1);
    aggregate_is("com.acme/a", epoch + 1, 5, 1);
    pass(5000);
    expect_told("a=8/1");
    aggregate_is("com.acme/a", epoch + 1, 6, 1);
    aggregate_ends("com.acme/a/" NODE_ID);
    pass(5000);
    expect_told("a=1/0");
    aggregate_is("com.acme/a", epoch + 1, 7, 0); /* it was only lost sight of */
    pass(5000);
    expect_told("a=1/0");
}

static void
an_aggregate_that_shrinks_counts_nothing(void **state)
{
    (void)state;
    uint64_t epoch = epoch_at(1);
    begin();
    receive(W_JOIN(ALL, INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 100, 0);
    pass(5000);
    expect_told("a=100/0");
    aggregate_is("com.acme/a", epoch, 50, 3);
    pass(5000);
    expect_told("a=0/3");
    expect_refused(1, "shrinks");
    aggregate_is("com.acme/a", epoch, 60, 0);
    pass(5000);
    expect_told("a=10/0");
}

/* ---- the end of a stream ---- */

static void
nothing_is_told_twice_over_streams(void **state)
{
    (void)state;
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    uint64_t epoch = epoch_at(1);
    aggregate_is("com.acme/a", epoch, 10, 0);
    pass(5000);
    expect_told("a=10/0");
    aggregate_is("com.acme/a", epoch, 15, 0);
    pass(1000);
    fake_stream_close(&stream);
    fake_hub_drop_reports(&hub);
    pass(60000);
    begin();
    pass(60000);
    expect_told(NULL);
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    expect_wanted("com.acme/a"); /* the loop side does not know of it */
    aggregate_is("com.acme/a", epoch, 20, 0);
    pass(5000);
    expect_told("a=10/0");
}

/* What was composed and never handed to the transport is told by the next stream. */
static void
what_is_not_written_is_not_told(void **state)
{
    (void)state;
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch_at(1), 10, 0);
    fake_hub_advance(&hub, 5000); /* it is due, and nobody can write */
    fake_stream_close(&stream);
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    pass(5000);
    expect_told("a=10/0");
}

static void
what_was_not_wanted_for_a_while_is_not_told(void **state)
{
    (void)state;
    begin();
    uint64_t epoch = epoch_at(1);
    receive(W_JOIN(W_TEXT(1, "a"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 10, 0);
    pass(5000);
    expect_told("a=10/0");
    hub.wall_us += 10;
    receive(W_JOIN(W_TEXT(1, "b"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 100, 0);
    pass(5000);
    expect_told("");
    receive(W_JOIN(W_TEXT(1, "a"), W_TEXT(1, "b"), INTERVAL(5)));
    aggregate_is("com.acme/a", epoch, 101, 0);
    aggregate_is("com.acme/a", epoch, 105, 0);
    pass(5000);
    expect_told("a=4/0");
}

static void
its_end_is_told(void **state)
{
    (void)state;
    begin();
    UDPA_AUTO(udpa_error_unref) udpa_error *why = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "cut");
    udpai_session_closed(UDPAI_TAKE(stream.session), why);
    udpai_report *report = fake_hub_take_report(&hub, UDPAI_REPORT_CLOSED);
    assert_non_null(report);
    assert_int_equal(report->link, LINK);
    assert_string_equal(udpa_error_message(report->error), "cut");
    udpai_report_free(report);
}

/* ---- much ---- */

static void
much_is_told_in_pieces(void **state)
{
    size_t n_messages = 0, n_clusters = 0;
    (void)state;
    begin();
    receive(W_JOIN(ALL, INTERVAL(5)));
    for (int i = 0; i < UDPAI_LRS_UPSTREAM_CLUSTERS_MAX + 3; i++) {
        char name[150];
        snprintf(name, sizeof(name), "com.acme/%0120d", i);
        aggregate_is(name, epoch_at(1), 1, 0);
        wire_free_all();
    }
    expect_refused(3, "one more than");
    pass(5000);
    Envoy__Service__LoadStats__V3__LoadStatsRequest *request;
    while ((request = take_request())) {
        n_messages++;
        n_clusters += request->n_cluster_stats;
        envoy__service__load_stats__v3__load_stats_request__free_unpacked(request, NULL);
    }
    assert_int_equal(n_clusters, UDPAI_LRS_UPSTREAM_CLUSTERS_MAX);
    assert_in_range(n_messages, 2, 3);
    pass(5000);
    expect_told("");
    expect_told(NULL);
}

static void
a_session_is_described(void **state)
{
    (void)state;
    begin();
    receive(W_JOIN(W_TEXT(1, "a"), W_TEXT(1, "b"), INTERVAL(5), W_VARINT(3, 1)));
    aggregate_is("com.acme/a", epoch_at(1), 10, 0);
    pass(5000);
    Udpa__Status__V1__SessionStatus *found = lrs_status_of(stream.session);
    const Udpa__Status__V1__LoadReportingStatus *of = found->load_reporting;
    assert_string_equal(found->protocol, "lrs-upstream");
    assert_string_equal(of->source, "legacy");
    assert_int_equal(of->n_clusters, 2);
    assert_int_equal(of->n_reports, 1);
    assert_int_equal(of->n_counted, 1);
    assert_int_equal(of->interval->seconds, 5);
    assert_true(of->per_endpoint);
    assert_false(of->all_clusters);
    udpa__status__v1__session_status__free_unpacked(found, NULL);
}

/* ---- no memory ---- */

static udpa_err
report_with_little_memory(void *context)
{
    const udpai_lrs_upstream_options options = {
        .source = UDPAI_STR("s"), .name_space = UDPAI_STR("com.acme"), .node = UDPAI_STR("n")};
    udpa_resource *const *aggregates = context;
    udpai_lrs_upstream *told_one = NULL;
    udpai_session *session = NULL;
    fake_stream other = {.session = NULL};
    udpa_err err = udpai_lrs_upstream_new(&told_one, &options);
    const udpai_stream_info info = {.context = told_one,
                                    .link = LINK,
                                    .stream = (void *)&other,
                                    .ops = stream.session->info.ops};
    if (err == UDPA_OK)
        err = udpai_lrs_upstream_session_new(&session, hub.hub, &info);
    if (err == UDPA_OK && other.is_finished)
        err = udpa_error_code(other.status);
    udpai_lrs_upstream_session *self = session ? udpai_lrs_upstream_of(session) : NULL;
    if (err == UDPA_OK)
        err = session->ops->receive(session, UDPAI_STR("\x0a\x01\x61\x0a\x01\x62"), NULL);
    for (size_t i = 0; i < 2 && err == UDPA_OK; i++)
        err = udpai_lrs_account_take(self, aggregates[i], NULL);
    if (err == UDPA_OK)
        err = udpai_lrs_account_end(self, udpai_resource_name(aggregates[0]), NULL);
    udpa_bytes *piece = NULL;
    if (err == UDPA_OK) {
        udpai_lrs_upstream_begin_report(self);
        err = udpai_lrs_upstream_next_piece(self, &piece);
    }
    udpa_bytes_unref(piece);
    if (session)
        udpai_session_closed(session, NULL);
    udpa_error_unref(other.status);
    udpai_lrs_upstream_drop(told_one);
    fake_hub_drop_reports(&hub);
    return err;
}

static void
without_memory_nothing_is_left(void **state)
{
    (void)state;
    begin();
    udpa_resource *aggregates[] = {make_aggregate("com.acme/a", epoch_at(1), 1, 1),
                                   make_aggregate("com.acme/b", epoch_at(1), 2, 1)};
    oom_torture(report_with_little_memory, aggregates);
    udpa_resource_unref(aggregates[0]);
    udpa_resource_unref(aggregates[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, done)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_says_who_it_is_and_waits),
        TEST(named_clusters_are_asked_for_by_name),
        TEST(many_names_are_the_namespace),
        TEST(absurd_numbers_of_names_are_cut),
        TEST(names_that_cannot_be_are_left_out),
        TEST(nonsense_ends_the_stream),
        TEST(differences_are_told),
        TEST(single_endpoints_are_told_if_they_are_asked_for),
        TEST(what_was_before_is_not_told),
        TEST(another_epoch_counts_from_nothing),
        TEST(an_aggregate_that_shrinks_counts_nothing),
        TEST(nothing_is_told_twice_over_streams),
        TEST(what_is_not_written_is_not_told),
        TEST(what_was_not_wanted_for_a_while_is_not_told),
        TEST(its_end_is_told),
        TEST(much_is_told_in_pieces),
        TEST(a_session_is_described),
        TEST(without_memory_nothing_is_left),
    };
    return cmocka_run_group_tests_name("xds lrs_upstream", tests, NULL, NULL);
}
