/* SPDX-License-Identifier: Apache-2.0 */
/* What a client of LRS reports adds up to client resources, and what it cannot know or mean is left
 * out. The loop side is the test. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "lrs_test.h"

/* ---- what it says ---- */

static void
reports_add_up(void **state)
{
    lrs_test *test = *state;
    uint64_t epoch = 0, later = 0;
    lrs_begin(test);
    lrs_want(test, "*local");
    lrs_send(test, W_JOIN(lrs_stats("a", 5, 2), lrs_stats("b/c", 1, 0)));
    const char *text = lrs_said(test, NULL);
    assert_non_null(strstr(text, "local/a/" SEGMENT "=5/2"));
    assert_non_null(strstr(text, "local/b/c/" SEGMENT "=1/0"));
    lrs_send(test, lrs_stats("a", 7, 1));
    assert_string_equal(lrs_said(test, &epoch), "local/a/" SEGMENT "=12/1");
    lrs_send(test, W_JOIN(lrs_stats("com.acme/x", 1, 0),
                          lrs_stats("a", 1, 1))); /* nobody wants the one */
    assert_string_equal(lrs_said(test, &later), "local/a/" SEGMENT "=13/1");
    assert_true(epoch == later);
}

static uint64_t
stats_issued(const udpai_load_stats *stats)
{
    return stats->localities.items[0].figures.counts[UDPAI_LOAD_STATS_ISSUED];
}

static uint64_t
elapsed_ms(lrs_test *test)
{
    udpai_publication *publication = lrs_published(test);
    assert_non_null(publication);
    UDPA_AUTO(udpai_load_stats_free)
    udpai_load_stats *stats = lrs_stats_of(publication->entries.items[0].resource);
    uint64_t ms = stats->elapsed_ns / 1000000;
    lrs_judge(test, publication);
    return ms;
}

/* It may have counted before; whoever adds up must not think that it has told others. */
static void
counts_cover_no_more_than_was_asked_for(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    fake_hub_advance(&test->world.hub, 60 * SECOND_MS);
    lrs_want(test, "*local");
    fake_hub_advance(&test->world.hub, 4 * SECOND_MS);
    lrs_send(test, lrs_stats("a", 5, 0)); /* in 10 s, it says */
    assert_int_equal(elapsed_ms(test), 4 * SECOND_MS);
    fake_hub_advance(&test->world.hub, 12 * SECOND_MS);
    lrs_send(test, lrs_stats("a", 5, 0));
    assert_int_equal(elapsed_ms(test), 14 * SECOND_MS);
}

/* Envoy begins a stream with what came since the last report of the one before. Whoever wants it
 * may come later, and it is said once. */
static void
what_came_between_streams_counts(void **state)
{
    lrs_test *test = *state;
    lrs_open_stream(test);
    lrs_send(test, W_JOIN(lrs_node(test, ID, UDPAI_LRS_FEATURE_ALL), lrs_stats("a", 5, 2),
                          lrs_stats("b", 7, 0), lrs_stats("c", 9, 0)));
    lrs_expect_said(test, "");
    fake_hub_advance(&test->world.hub, 20 * SECOND_MS);
    lrs_want(test, "*local/a");
    udpai_publication *publication = lrs_published(test);
    assert_non_null(publication);
    UDPA_AUTO(udpai_load_stats_free)
    udpai_load_stats *stats = lrs_stats_of(publication->entries.items[0].resource);
    assert_int_equal(stats_issued(stats), 5);
    assert_int_equal(stats->elapsed_ns, 0); /* nobody else was told */
    assert_int_equal(stats->covered_ns / 1000000, 10 * SECOND_MS);
    lrs_judge(test, publication);
    lrs_want(test, "*local/a/x");
    lrs_want(test, "*local/b");
    lrs_expect_said(test, "local/b/" SEGMENT "=7/0");
    fake_hub_advance(&test->world.hub, 10 * SECOND_MS);
    lrs_send(test, lrs_stats("a", 1, 0));
    lrs_expect_said(test, "local/a/" SEGMENT "=6/0");
    fake_hub_advance(&test->world.hub, 40 * SECOND_MS); /* then it is not of now any more */
    while (*lrs_said(test, NULL))
        ;
    lrs_want(test, "*local/c");
    lrs_expect_said(test, "");
}

static void
what_comes_in_one_step_goes_together(void **state)
{
    lrs_test *test = *state;
    test->service.gather_ms = 20;
    lrs_begin(test);
    lrs_want(test, "*local");
    lrs_send(test, lrs_stats("a", 5, 2));
    lrs_send(test, lrs_stats("a", 1, 3));
    assert_null(lrs_published(test));
    fake_hub_advance(&test->world.hub, 20);
    udpai_publication *first = lrs_published(test);
    assert_non_null(first);
    lrs_send(test, lrs_stats("a", 1, 4));
    fake_hub_advance(&test->world.hub, 40);
    assert_null(lrs_published(test)); /* the first one is not judged */
    lrs_judge(test, first);
    assert_null(lrs_published(test));
    fake_hub_advance(&test->world.hub, 20);
    lrs_expect_said(test, "local/a/" SEGMENT "=7/4");
    fake_hub_advance(&test->world.hub, 40);
    lrs_expect_said(test, "");
}

/* Its stream ends before they were handed up. */
static void
last_words_in_a_step_count(void **state)
{
    lrs_test *test = *state;
    test->service.gather_ms = 20;
    lrs_begin(test);
    lrs_want(test, "*local");
    lrs_send(test, lrs_stats("a", 5, 2));
    fake_stream_close(&test->stream);
    udpai_report *last = fake_hub_take_report(&test->world.hub, UDPAI_REPORT_PUBLICATION);
    assert_non_null(last);
    assert_int_equal(last->publication->entries.n, 1);
    udpai_report_free(last);
}

/* A cluster that is not in a report has nothing in progress. */
static void
silence_says_that_nothing_is_in_progress(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*local");
    lrs_send(test, lrs_stats("a", 5, 2));
    lrs_expect_said(test, "local/a/" SEGMENT "=5/2");
    lrs_send(test, W_NOTHING);
    lrs_expect_said(test, "local/a/" SEGMENT "=5/0");
    lrs_send(test, W_NOTHING);
    lrs_expect_said(test, "");
}

static void
pieces_of_one_cluster_are_one(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*local");
    lrs_send(test, W_JOIN(lrs_stats("a", 5, 2), lrs_stats("a", 1, 1)));
    lrs_expect_said(test, "local/a/" SEGMENT "=6/3");
    lrs_send(test, W_JOIN(lrs_stats("a", 1, 1), lrs_stats("a", 1, 0)));
    lrs_expect_said(test, "local/a/" SEGMENT "=8/1");
}

/* One at a time; what comes meanwhile is in the next, which has the newest values of all. */
static void
newest_values_win_while_others_are_judged(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*local");
    lrs_send(test, lrs_stats("a", 1, 0));
    udpai_publication *first = lrs_published(test);
    assert_non_null(first);
    for (size_t i = 0; i < 100; i++)
        lrs_send(test, lrs_stats("a", 1, 3));
    assert_null(lrs_published(test));
    lrs_judge(test, first);
    lrs_expect_said(test, "local/a/" SEGMENT "=101/3");
    lrs_expect_said(test, "");
}

/* While it is there, what it has said holds. */
static void
what_was_said_is_renewed(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*local");
    lrs_send(test, lrs_stats("a", 1, 0));
    lrs_expect_said(test, "local/a/" SEGMENT "=1/0");
    size_t n = 0;
    for (size_t i = 0; i < 30; i++) {
        fake_hub_advance(&test->world.hub, 10 * SECOND_MS);
        const char *text = lrs_said(test, NULL);
        n += *text != '\0';
        assert_true(!*text || strcmp(text, "local/a/" SEGMENT "=1/0") == 0);
    }
    assert_in_range(n, 10, 30); /* it holds for 40 s */
}

/* Else who adds up could not know how long ago it was counted. */
static void
what_is_renewed_is_of_now(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*local");
    fake_hub_advance(&test->world.hub, SECOND_MS);
    lrs_send(test, lrs_stats("a", 1, 0));
    lrs_expect_said(test, "local/a/" SEGMENT "=1/0");
    udpai_publication *again = NULL;
    for (uint64_t s = 2; !again; s++) {
        fake_hub_advance(&test->world.hub, SECOND_MS);
        again = lrs_published(test);
        if (!again)
            continue;
        UDPA_AUTO(udpai_load_stats_free)
        udpai_load_stats *stats = lrs_stats_of(again->entries.items[0].resource);
        assert_int_equal(stats->elapsed_ns, s * SECOND_MS * 1000000);
        assert_true(s > 10);
    }
    lrs_judge(test, again);
}

/* A node that is behind would be kept busy by that. */
static void
what_was_said_is_renewed_no_more_often_than_it_must(void **state)
{
    lrs_test *test = *state;
    test->service.interval_ms = SECOND_MS;
    lrs_begin(test);
    lrs_want(test, "*local");
    lrs_send(test, lrs_stats("a", 1, 0));
    lrs_expect_said(test, "local/a/" SEGMENT "=1/0");
    size_t n = 0;
    for (size_t i = 0; i < 60; i++) {
        fake_hub_advance(&test->world.hub, SECOND_MS);
        n += *lrs_said(test, NULL) != '\0';
    }
    assert_in_range(n, 60 / 13, 60 / 6); /* it holds for 13 s */
}

static void
last_words_count(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*local");
    lrs_send(test, lrs_stats("a", 1, 0));
    udpai_publication *first = lrs_published(test);
    lrs_send(test, lrs_stats("a", 2, 0));
    assert_null(lrs_published(test));
    fake_stream_close(&test->stream);
    udpai_report *last = fake_hub_take_report(&test->world.hub, UDPAI_REPORT_PUBLICATION);
    assert_non_null(last);
    UDPA_AUTO(udpai_load_stats_free)
    udpai_load_stats *stats = lrs_stats_of(last->publication->entries.items[0].resource);
    assert_int_equal(stats->localities.items[0].figures.counts[UDPAI_LOAD_STATS_ISSUED], 3);
    udpai_report_free(last);
    udpai_publication_free(first);
}

static void
epochs_are_never_the_same(void **state)
{
    lrs_test *test = *state;
    uint64_t epochs[3] = {0};
    lrs_begin(test);
    lrs_want(test, "*local/a");
    lrs_send(test, lrs_stats("a", 5, 0));
    lrs_said(test, &epochs[0]);
    lrs_unwant(test, "*local/a");
    lrs_want(test, "*local/a"); /* what came meanwhile is unknown */
    lrs_send(test, lrs_stats("a", 2, 0));
    assert_string_equal(lrs_said(test, &epochs[1]), "local/a/" SEGMENT "=2/0");
    fake_stream_close(&test->stream);
    fake_hub_drop_reports(&test->world.hub);
    lrs_begin(test);
    lrs_want(test, "*local/a");
    lrs_send(test, lrs_stats("a", 1, 0));
    assert_string_equal(lrs_said(test, &epochs[2]), "local/a/" SEGMENT "=1/0");
    assert_true(epochs[0] < epochs[1] && epochs[1] < epochs[2]);
}

/* ---- what is refused ---- */

static void
nonsense_is_refused_and_the_rest_is_taken(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*");
    lrs_send(test,
             W_JOIN(lrs_stats("a", UINT64_MAX, 0), lrs_stats("b", 1, 0), lrs_stats("", 1, 0)));
    lrs_expect_said(test, "local/b/" SEGMENT "=1/0");
    lrs_expect_refused(test, 2, "cluster ''");
    lrs_send(test, lrs_stats("a", 1, (uint64_t)1 << 50));
    lrs_expect_refused(test, 3, "cluster 'a': 1125899906842624 requests in progress cannot be");
    lrs_send(test, lrs_stats("a", 4, 0));
    lrs_expect_said(test, "local/a/" SEGMENT "=4/0");
    lrs_expect_refused(test, 3, "");
    assert_false(test->stream.is_finished);
}

static void
what_nobody_asked_for_is_counted(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*local/a");
    lrs_send(test, W_JOIN(lrs_stats("b", 1, 0), lrs_stats("c", 1, 0)));
    lrs_expect_said(test, "");
    Udpa__Status__V1__SessionStatus *all = lrs_status(test);
    assert_int_equal(all->load_reporting->n_unasked, 2);
    assert_int_equal(all->load_reporting->n_refused, 0);
    assert_int_equal(all->load_reporting->n_counted, 0);
    udpa__status__v1__session_status__free_unpacked(all, NULL);
}

static void
clusters_are_not_too_many(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*local");
    udpai_str message = W_NOTHING;
    for (int i = 0; i <= UDPAI_LRS_CLUSTERS_MAX; i++) {
        char name[24];
        snprintf(name, sizeof(name), "c%d", i);
        message = W_JOIN(message, lrs_stats(name, 1, 0));
    }
    lrs_send(test, message);
    udpai_publication *publication = lrs_published(test);
    assert_int_equal(publication->entries.n, UDPAI_LRS_CLUSTERS_MAX);
    udpai_publication_free(publication);
    lrs_expect_refused(test, 1, "it is one more than the 1024 of a client");
}

/* A report of many endpoints, of which no two reports have one in common. */
static udpai_str
endpoints(unsigned round, unsigned n)
{
    udpai_str all = W_NOTHING;
    for (unsigned i = 0; i < n; i++) {
        char ip[24];
        snprintf(ip, sizeof(ip), "10.%u.%u.%u", round, i / 256, i % 256);
        all = W_JOIN(all, W_MESSAGE(7, W_MESSAGE(1, W_MESSAGE(1, W_TEXT(2, ip), W_VARINT(3, 1))),
                                    W_VARINT(7, 1)));
    }
    return W_MESSAGE(2, W_TEXT(1, "a"),
                     W_MESSAGE(2, W_MESSAGE(1, W_TEXT(1, "eu")), W_VARINT(8, n), all));
}

/* Endpoints come and go for ever; then another epoch begins, and nothing is lost. */
static void
endpoints_may_change_for_ever(void **state)
{
    lrs_test *test = *state;
    uint64_t first = 0, epoch = 0, total = 0, in_epoch = 0;
    const unsigned n = 1000;
    test->service.per_endpoint = true;
    lrs_begin(test);
    lrs_want(test, "*local/a");
    for (unsigned round = 0; round < 10; round++) {
        uint64_t before = epoch, now;
        lrs_send(test, endpoints(round, n));
        const char *text = lrs_said(test, &epoch);
        if (round == 0)
            first = epoch;
        assert_int_equal(sscanf(text,
                                "local/a/"
                                "client%%2F1=%" SCNu64 "/0",
                                &now),
                         1);
        total += epoch == before ? now - in_epoch : now;
        in_epoch = now;
        wire_free_all();
    }
    assert_int_equal(total, 10 * n);
    assert_true(epoch > first);
    lrs_expect_refused(test, 0, "");
}

static void
refusals_of_the_node_are_noted(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*local");
    lrs_send(test, lrs_stats("a", 1, 0));
    udpai_publication *publication = lrs_published(test);
    udpai_publication_refuse_all(publication, UDPA_ERR_DENIED, "no rule allows it");
    lrs_judge(test, publication);
    lrs_expect_refused(test, 1, "no rule allows it");
    lrs_send(test, lrs_stats("a", 1, 0));
    lrs_expect_said(test, "local/a/" SEGMENT "=2/0");
}

static void
status_says_what_is_asked(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*local/a");
    lrs_send(test, lrs_stats("a", 1, 0));
    Udpa__Status__V1__SessionStatus *all = lrs_status(test);
    assert_string_equal(all->protocol, "lrs");
    assert_string_equal(all->peer_node_id, ID);
    assert_int_equal(all->n_resources_received, 1);
    assert_false(all->load_reporting->all_clusters);
    assert_int_equal(all->load_reporting->n_clusters, 1);
    assert_string_equal(all->load_reporting->clusters[0], "a");
    assert_int_equal(all->load_reporting->n_reports, 2);
    assert_int_equal(all->load_reporting->n_counted, 1);
    udpa__status__v1__session_status__free_unpacked(all, NULL);
}

/* ---- lack of memory ---- */

/* Whatever is lacking when: the stream goes on as if nothing had happened, or ends for that reason.
 */
static void
survives_lack_of_memory(void **state)
{
    lrs_test *test = *state;
    size_t n_ended = 0;
    long n = 0;
    for (bool is_enough = false; !is_enough; n++) {
        lrs_open_stream(test);
        udpai_str first = lrs_node(test, ID, UDPAI_LRS_FEATURE_ALL), report = lrs_stats("a", 3, 0);
        udpai_alloc_fail_after(n);
        fake_stream_receive(&test->stream, first.data, first.len);
        udpai_alloc_fail_after(-1);
        lrs_want(test, "*local/a");
        udpai_alloc_fail_after(n);
        fake_stream_receive(&test->stream, report.data, report.len);
        udpai_alloc_fail_after(-1);
        if (test->stream.is_finished) {
            assert_int_equal(udpa_error_code(test->stream.status), UDPA_ERR_NOMEM);
            n_ended++;
        } else {
            lrs_expect_said(test, "local/a/" SEGMENT "=3/0");
            is_enough = true;
        }
        fake_stream_close(&test->stream);
        fake_hub_drop_reports(&test->world.hub);
        wire_free_all();
    }
    assert_true(n_ended > 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lrs_setup, lrs_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reports_add_up),
        TEST(counts_cover_no_more_than_was_asked_for),
        TEST(what_came_between_streams_counts),
        TEST(silence_says_that_nothing_is_in_progress),
        TEST(pieces_of_one_cluster_are_one),
        TEST(newest_values_win_while_others_are_judged),
        TEST(what_was_said_is_renewed),
        TEST(what_is_renewed_is_of_now),
        TEST(what_was_said_is_renewed_no_more_often_than_it_must),
        TEST(last_words_count),
        TEST(what_comes_in_one_step_goes_together),
        TEST(last_words_in_a_step_count),
        TEST(epochs_are_never_the_same),
        TEST(nonsense_is_refused_and_the_rest_is_taken),
        TEST(what_nobody_asked_for_is_counted),
        TEST(clusters_are_not_too_many),
        TEST(endpoints_may_change_for_ever),
        TEST(refusals_of_the_node_are_noted),
        TEST(status_says_what_is_asked),
        TEST(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
