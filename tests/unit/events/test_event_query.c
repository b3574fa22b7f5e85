/* SPDX-License-Identifier: Apache-2.0 */
/* What a client of HTTP wants to follow, and where it goes on. */
#include "events/event_query.h"

#include "tests/harness/test.h"

static udpai_topics topics;

static int
begin(void **state)
{
    static const udpai_event_kind kinds[] = {UDPAI_EVENT_ACCESS_LOG, UDPAI_EVENT_TAP,
                                             UDPAI_EVENT_NODE};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(kinds); i++)
        assert_ok(
            udpai_topic_new(&topics.topics[kinds[i]], &(udpai_topic_options){kinds[i], 0, 0, 7}));
    return 0;
}

static int
end(void **state)
{
    (void)state;
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        topics.topics[i] = udpai_topic_free(topics.topics[i]);
    return 0;
}

static udpai_event_query
read_query(const char *text)
{
    udpai_event_query query = {0};
    assert_ok(udpai_event_query_read(&query, &topics, udpai_str_from(text), NULL));
    return query;
}

static void
kinds_are_those_that_are_named_or_all(void **state)
{
    (void)state;
    udpai_event_query query = read_query("kind=node&kind=access%2dlog&&kind=node");
    assert_int_equal(query.n, 2);
    assert_true(query.has[UDPAI_EVENT_NODE] && query.has[UDPAI_EVENT_ACCESS_LOG]);
    query = read_query("");
    assert_int_equal(query.n, 3);
    assert_true(query.has[UDPAI_EVENT_TAP]);
}

static void
what_is_not_there_is_an_error(void **state)
{
    static const char *const wrong[] = {"kind=nodes",  "kind=",   "kinds=node",   "node",
                                        "kind=node&x", "kind=%6", "kind=%00node", "kind=node%00"};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wrong); i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        udpai_event_query query = {.n = 77};
        assert_int_equal(udpai_event_query_read(&query, &topics, udpai_str_from(wrong[i]), &error),
                         UDPA_ERR_INVAL);
        assert_non_null(strstr(udpa_error_message(error), "access-log"));
        assert_int_equal(query.n, 77);
    }
    udpai_event_query query;
    assert_int_equal(udpai_event_query_read(&query, &topics, UDPAI_STR("kind=trace"), NULL),
                     UDPA_ERR_NOT_FOUND);
}

static void
expect_id(const udpai_event_query *query, const char *id)
{
    udpai_strbuf out = {0};
    udpai_event_query_put_id(query, &out);
    udpai_strbuf_putc(&out, '\0');
    assert_string_equal(out.data, id);
    udpai_strbuf_done(&out);
}

static void
an_id_of_one_kind_is_its_version(void **state)
{
    (void)state;
    udpai_event_query query = read_query("kind=node");
    expect_id(&query, "");
    udpai_event_query_go_on(&query, UDPAI_STR("7.12"));
    assert_int_equal(query.last[UDPAI_EVENT_NODE].sequence, 12);
    expect_id(&query, "7.12");
    udpai_event_query_go_on(&query, UDPAI_STR("tap=7.3,node=7.13")); /* of a wider query */
    expect_id(&query, "7.13");
}

static void
an_id_of_more_kinds_names_them(void **state)
{
    (void)state;
    udpai_event_query query = read_query("");
    udpai_event_query_go_on(&query, UDPAI_STR("node=7.12,access-log=8.1"));
    expect_id(&query, "access-log=8.1,node=7.12");
}

static void
what_is_no_id_is_not_heeded(void **state)
{
    static const char *const wrong[] = {"7.12", "node", "node=",    "node=7",  "x=7.1",
                                        ",,",   "=",    "node=7.x", "NODE=7.1"};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wrong); i++) {
        udpai_event_query query = read_query("");
        udpai_event_query_go_on(&query, udpai_str_from(wrong[i]));
        expect_id(&query, "");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(kinds_are_those_that_are_named_or_all), TEST(what_is_not_there_is_an_error),
        TEST(an_id_of_one_kind_is_its_version),      TEST(an_id_of_more_kinds_names_them),
        TEST(what_is_no_id_is_not_heeded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
