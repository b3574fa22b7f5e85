/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that have resources with a ttl: the node that holds them keeps them alive. */
#include "tests/unit/federation/federation_test.h"

#define ACME "com.acme"
#define TTL_MS 10000
#define LONG_MS (20 * TTL_MS)

static udpa_resource *
with_ttl(const char *value, uint64_t ttl_ms)
{
    udpa_resource *resource = RESOURCE("com.acme/x", .type = TEST_CDS, .version = value,
                                       .value = value, .ttl_ms = ttl_ms);
    assert_non_null(resource);
    return resource;
}

/* What a directory of the node's own (source: NULL) or of a ConfigSource has. */
static void
read_directory(fed_bed *bed, const char *source, const char *value, uint64_t ttl_ms)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = with_ttl(value, ttl_ms);
    const udpai_directory directory = {
        .root = source ? UDPAI_STR("/d") : UDPAI_STR("/files"),
        .source = source ? udpai_str_from(source) : (udpai_str){0},
        .resources = &resource,
        .n_resources = 1,
    };
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    udpai_node_flush(bed->node);
}

static void
start_with_files(fed_bed *bed)
{
    bed->root = "/files";
    fed_start(bed);
    read_directory(bed, NULL, "1", TTL_MS);
}

static const udpai_unsettled *
first_missing(const fed_bed *bed)
{
    const udpai_settled_facts *facts = udpai_settled_facts_of(udpai_node_settled(bed->node));
    return facts && facts->n_missing ? &facts->missing[0] : NULL;
}

static void
read_in_part(fed_bed *bed, const char *source, const char *unread)
{
    const udpai_directory directory = {
        .root = UDPAI_STR("/files"),
        .source = udpai_str_from(source),
        .is_partial = true,
        .unread = udpai_str_from(unread),
        .has_errors = true,
    };
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    udpai_node_flush(bed->node);
}

/* Who waits for a directory is told which file of it keeps him waiting. */
static void
a_file_that_cannot_be_read_is_named(void **state)
{
    fed_bed *bed = *state;
    bed->root = "/files";
    fed_start(bed);
    assert_str(first_missing(bed)->source, "/files");
    read_in_part(bed, "", "/files/a.yaml");
    assert_str(first_missing(bed)->source, "/files/a.yaml");
    assert_str(first_missing(bed)->why, "not read without an error");
    read_in_part(bed, "", "/files/b.yaml");
    assert_str(first_missing(bed)->source, "/files/b.yaml");
    read_in_part(bed, "", "");
    assert_str(first_missing(bed)->source, "/files");
    read_directory(bed, NULL, "1", TTL_MS);
    assert_null(first_missing(bed));
}

/* So is one in the directory of a source. */
static void
a_file_of_a_source_is_named(void **state)
{
    fed_bed *bed = *state;
    bed->sources[0].kind = UDPAI_SOURCE_PATH;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    assert_str(first_missing(bed)->source, "a");
    read_in_part(bed, "a", "/files/a.yaml");
    assert_str(first_missing(bed)->source, "/files/a.yaml");
    assert_str(first_missing(bed)->why, "not read without an error");
    read_in_part(bed, "a", "/files/b.yaml");
    assert_str(first_missing(bed)->source, "/files/b.yaml");
    read_in_part(bed, "a", "");
    assert_str(first_missing(bed)->source, "a");
    read_in_part(bed, "a", "/files/a.yaml");
    read_directory(bed, "a", "1", TTL_MS);
    assert_null(first_missing(bed));
}

static void
note_complete(void *userdata, udpai_str name, udpa_bytes *status)
{
    enum {
        TYPES = 8,
        COMPLETE = 3,
    };

    bool *found = userdata;
    udpai_proto_field field;
    if (!udpai_str_eq(name, UDPAI_STR("a")))
        return;
    udpai_proto_reader reader =
        udpai_proto_read(udpai_proto_last_bytes(udpai_bytes_view(status), TYPES));
    *found = false;
    while (udpai_proto_next(&reader, &field))
        if (field.number == COMPLETE)
            *found = field.value != 0;
}

static void
expect_complete(fed_bed *bed, bool expected)
{
    bool found = !expected;
    assert_ok(udpai_node_visit_sources(bed->node, note_complete, &found));
    assert_int_equal(found, expected);
}

static void
a_source_of_files_is_complete_when_it_is_read(void **state)
{
    fed_bed *bed = *state;
    bed->sources[0].kind = UDPAI_SOURCE_PATH;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    read_in_part(bed, "a", "/files/a.yaml");
    expect_complete(bed, false);
    read_directory(bed, "a", "1", TTL_MS);
    expect_complete(bed, true);
}

/* The deadline of what is effective, from now. */
static uint64_t
left_ms(fed_bed *bed, const char *key)
{
    udpai_store *store = udpai_node_store(bed->node);
    const udpai_origin *origin = udpai_store_find_origin(store, udpai_str_from(key));
    udpai_contribution found;
    assert_true(origin && udpai_store_get(store, origin, UDPAI_STR(TEST_CDS),
                                          UDPAI_STR("com.acme/x"), &found));
    return found.deadline_ms ? found.deadline_ms - bed->wheel.now_ms : 0;
}

static uint64_t
generation(fed_bed *bed)
{
    return udpai_store_highest_generation(udpai_node_store(bed->node), UDPAI_STR(TEST_CDS),
                                          UDPAI_STR("com.acme/x"));
}

static void
a_file_outlives_its_ttl(void **state)
{
    fed_bed *bed = *state;
    start_with_files(bed);
    uint64_t before = generation(bed);
    for (uint64_t at = 0; at < LONG_MS; at += 1000) {
        fed_advance(bed, 1000);
        assert_value(bed, "CDS", "x", "1");
        assert_true(left_ms(bed, "path:/files") >= TTL_MS / 2);
    }
    assert_int_equal(generation(bed), before);
}

/* That some file was touched puts nothing again: what has not changed keeps its generation. */
static void
reading_the_same_again_changes_nothing(void **state)
{
    fed_bed *bed = *state;
    start_with_files(bed);
    uint64_t before = generation(bed);
    bed->wall_us += 1000000;
    read_directory(bed, NULL, "1", TTL_MS);
    assert_int_equal(generation(bed), before);
    read_directory(bed, NULL, "1", 2 * TTL_MS); /* another ttl is a change */
    assert_true(left_ms(bed, "path:/files") == 2 * TTL_MS);
    read_directory(bed, NULL, "1", 0);
    fed_advance(bed, LONG_MS);
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(left_ms(bed, "path:/files"), 0);
}

static void
a_directory_of_a_source_is_kept_alive_too(void **state)
{
    fed_bed *bed = *state;
    bed->sources[0].kind = UDPAI_SOURCE_PATH;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    read_directory(bed, "a", "1", TTL_MS);
    fed_advance(bed, LONG_MS);
    assert_value(bed, "CDS", "x", "1");
    assert_true(left_ms(bed, "source:a") >= TTL_MS / 2);
}

/* Not read again yet, after a time that is longer than the ttl. */
static void
a_file_is_there_after_a_long_stop(void **state)
{
    fed_bed *bed = *state;
    start_with_files(bed);
    bed->wall_us += (int64_t)LONG_MS * 1000;
    fed_restart(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_true(left_ms(bed, "path:/files") == TTL_MS);
    fed_advance(bed, LONG_MS);
    assert_value(bed, "CDS", "x", "1");
}

/* Over UDPA it is a lease of the node above: when that is lost, it ends. */
static void
what_a_source_or_publisher_gave_ends(void **state)
{
    fed_bed *bed = *state;
    static const fed_peer publisher = {.id = "publisher"};
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    assert_string_equal(fed_put(bed, bed->sessions[0], with_ttl("1", TTL_MS), false), "");
    fed_close(bed, 'a');
    assert_value(bed, "CDS", "x", "1");
    fed_advance(bed, TTL_MS);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_value(bed, "CDS", "x", "");
    uint64_t session = fed_arrive(bed, &publisher);
    assert_string_equal(fed_put(bed, session, with_ttl("2", TTL_MS), false), "");
    assert_value(bed, "CDS", "x", "2");
    fed_advance(bed, TTL_MS);
    assert_value(bed, "CDS", "x", "");
}

static void
other_aliases_are_another_resource(void **state)
{
    static const char *const aliases[][2] = {
        {"com.acme/a"}, {"com.acme/a", "com.acme/b"}, {"com.acme/a", "com.acme/c"}, {"com.acme/c"}};
    fed_bed *bed = *state;
    bed->root = "/files";
    fed_start(bed);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(aliases); i++) {
        UDPA_AUTO(udpa_resource_unref)
        udpa_resource *resource = RESOURCE("com.acme/x", .type = TEST_CDS, .version = "1",
                                           .value = "1", .aliases = {aliases[i][0], aliases[i][1]});
        const udpai_directory directory = {
            .root = UDPAI_STR("/files"), .resources = &resource, .n_resources = 1};
        assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
        udpai_node_flush(bed->node);
        udpai_store *store = udpai_node_store(bed->node);
        udpai_contribution found;
        assert_true(udpai_store_get(store, udpai_store_find_origin(store, UDPAI_STR("path:/files")),
                                    UDPAI_STR(TEST_CDS), UDPAI_STR("com.acme/x"), &found));
        assert_int_equal(udpa_resource_n_aliases(found.resource), aliases[i][1] ? 2 : 1);
        for (size_t k = 0; k < udpa_resource_n_aliases(found.resource); k++)
            assert_str(udpai_resource_alias(found.resource, k), aliases[i][k]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(a_file_outlives_its_ttl),
        fed_test(a_file_that_cannot_be_read_is_named),
        fed_test(a_file_of_a_source_is_named),
        fed_test(a_source_of_files_is_complete_when_it_is_read),
        fed_test(reading_the_same_again_changes_nothing),
        fed_test(a_directory_of_a_source_is_kept_alive_too),
        fed_test(a_file_is_there_after_a_long_stop),
        fed_test(what_a_source_or_publisher_gave_ends),
        fed_test(other_aliases_are_another_resource),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
