/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that others open: messages both ways, and every way to end. */
#include "bed.h"
#include "raw.h"

#include "base/alloc.h"

#define TAGS_OF_LISTENER 32

struct world {
    test_bed bed;
    raw_client client;
};

static int
setup(void **state)
{
    struct world *world = udpai_alloc(sizeof(*world));
    bed_start(&world->bed, NULL);
    bed_listen(&world->bed, NULL);
    raw_connect(&world->client, world->bed.port, NULL, NULL);
    *state = world;
    return 0;
}

static int
teardown(void **state)
{
    struct world *world = *state;
    raw_disconnect(&world->client);
    bed_stop(&world->bed);
    udpai_free(world);
    return 0;
}

static void
test_messages_both_ways(void **state)
{
    struct world *world = *state;
    raw_call call;
    raw_begin(&world->client, &call, BED_PATH);
    for (int i = 0; i < 100; i++) {
        assert_true(raw_say(&call, "echo something"));
        raw_expect(&call, "echo something");
    }
    assert_true(raw_say(&call, "echo"));
    raw_expect(&call, "echo");
    raw_end(&call);
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
}

static void
test_parts_of_all_sizes(void **state)
{
    struct world *world = *state;
    static char expected[32768];
    size_t len = bed_parts_text(expected, sizeof(expected));
    assert_true(len < sizeof(expected));
    raw_call call;
    raw_begin(&world->client, &call, BED_PATH);
    for (int i = 0; i < 3; i++) {
        assert_true(raw_say(&call, "parts"));
        assert_true(raw_receive(&call));
        assert_int_equal(call.len, len);
        assert_memory_equal(call.data, expected, len);
    }
    raw_end(&call);
}

static void
test_large_message(void **state)
{
    struct world *world = *state;
    size_t len = 3 << 20;
    char *large = malloc(len);
    memset(large, 'x', len);
    memcpy(large, "echo", 4);
    raw_call call;
    raw_begin(&world->client, &call, BED_PATH);
    assert_true(raw_send(&call, large, len));
    assert_true(raw_receive(&call));
    assert_int_equal(call.len, len);
    assert_memory_equal(call.data, large, len);
    raw_end(&call);
    free(large);
}

static void
test_too_large_message(void **state)
{
    struct world *world = *state;
    size_t len = (16 << 20) + 1;
    char *large = calloc(1, len);
    raw_call call;
    raw_begin(&world->client, &call, BED_PATH);
    raw_send(&call, large, len);
    assert_int_equal(raw_status(&call), GRPC_STATUS_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(call.text, "16777216"));
    raw_end(&call);
    free(large);
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
}

static void
test_empty_message(void **state)
{
    struct world *world = *state;
    raw_call call;
    unsigned before = atomic_load(&bed_n_received);
    raw_begin(&world->client, &call, BED_PATH);
    assert_true(raw_send(&call, "", 0));
    assert_true(raw_say(&call, "echo"));
    raw_expect(&call, "echo");
    assert_int_equal(atomic_load(&bed_n_received), before + 2);
    raw_end(&call);
}

static void
test_session_ends_with_an_error(void **state)
{
    struct world *world = *state;
    raw_call call;
    raw_begin(&world->client, &call, BED_PATH);
    assert_true(raw_say(&call, "finish"));
    assert_false(raw_receive(&call));
    assert_int_equal(raw_status(&call), GRPC_STATUS_PERMISSION_DENIED);
    assert_string_equal(call.text, "as you wish");
    raw_end(&call);
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
}

static void
test_session_ends_in_peace(void **state)
{
    struct world *world = *state;
    raw_call call;
    raw_begin(&world->client, &call, BED_PATH);
    assert_true(raw_say(&call, "bye"));
    assert_int_equal(raw_status(&call), GRPC_STATUS_OK);
    raw_end(&call);
}

static void
test_client_ends_in_peace(void **state)
{
    struct world *world = *state;
    raw_call call;
    raw_begin(&world->client, &call, BED_PATH);
    assert_true(raw_say(&call, "echo"));
    raw_expect(&call, "echo");
    raw_half_close(&call);
    assert_int_equal(raw_status(&call), GRPC_STATUS_OK);
    udpai_report_free(bed_report(&world->bed, UDPAI_REPORT_CLOSED));
    raw_end(&call);
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
}

static void
test_client_cancels(void **state)
{
    struct world *world = *state;
    raw_call call;
    raw_begin(&world->client, &call, BED_PATH);
    assert_true(raw_say(&call, "echo"));
    raw_expect(&call, "echo");
    raw_end(&call);
    udpai_report_free(bed_report(&world->bed, UDPAI_REPORT_CLOSED));
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
}

static void
test_client_vanishes_in_mid_stream(void **state)
{
    struct world *world = *state;
    raw_client other;
    raw_call call;
    raw_connect(&other, world->bed.port, NULL, NULL);
    raw_begin(&other, &call, BED_PATH);
    assert_true(raw_say(&call, "flood"));
    assert_true(raw_receive(&call));
    raw_end(&call);
    raw_disconnect(&other);
    udpai_report_free(bed_report(&world->bed, UDPAI_REPORT_CLOSED));
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
}

/* What comes while nothing is read waits, and is read when it may be. */
static void
test_pause(void **state)
{
    struct world *world = *state;
    raw_call call;
    raw_begin(&world->client, &call, BED_PATH);
    assert_true(raw_say(&call, "pause"));
    udpai_report *alive = bed_report(&world->bed, UDPAI_REPORT_ALIVE);
    unsigned before = atomic_load(&bed_n_received);
    assert_true(raw_say(&call, "echo one"));
    assert_true(raw_say(&call, "echo two"));
    /* Some turns of the thread later it still has not read them. */
    bed_wait_streams(&world->bed, 1, TAGS_OF_LISTENER + 1);
    assert_int_equal(atomic_load(&bed_n_received), before);
    udpai_order *judged = udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE);
    judged->session = alive->session;
    udpai_report_free(alive);
    udpai_stream_thread_order(world->bed.thread, judged);
    raw_expect(&call, "echo one");
    raw_expect(&call, "echo two");
    raw_end(&call);
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
}

static void
test_client_vanishes_while_paused(void **state)
{
    struct world *world = *state;
    raw_call call;
    raw_begin(&world->client, &call, BED_PATH);
    assert_true(raw_say(&call, "pause"));
    udpai_report_free(bed_report(&world->bed, UDPAI_REPORT_ALIVE));
    raw_end(&call);
    udpai_report_free(bed_report(&world->bed, UDPAI_REPORT_CLOSED));
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
}

static void
test_idle_streams_have_one_tag(void **state)
{
    struct world *world = *state;
    raw_call calls[20];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(calls); i++) {
        raw_begin(&world->client, &calls[i], BED_PATH);
        assert_true(raw_say(&calls[i], "echo"));
        raw_expect(&calls[i], "echo");
    }
    bed_wait_streams(&world->bed, 20, TAGS_OF_LISTENER + 20);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(calls); i++)
        raw_end(&calls[i]);
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
}

/* A compressed message could be a thousand times its size. */
static void
test_compressed_messages_are_refused(void **state)
{
    struct world *world = *state;
    grpc_arg gzip = {.type = GRPC_ARG_INTEGER,
                     .key = (char *)(uintptr_t)GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM,
                     .value.integer = GRPC_COMPRESS_GZIP};
    const grpc_channel_args args = {1, &gzip};
    raw_client other;
    raw_call call;
    static const char zeros[4096];
    unsigned before = atomic_load(&bed_n_received);
    raw_connect(&other, world->bed.port, NULL, &args);
    for (int i = 0; i < 100; i++) { /* whether this gRPC or the stream sees it first is chance */
        raw_begin(&other, &call, BED_PATH);
        raw_send(&call, zeros, sizeof(zeros));
        assert_int_equal(raw_status(&call), GRPC_STATUS_UNIMPLEMENTED);
        assert_int_equal(atomic_load(&bed_n_received), before);
        raw_end(&call);
    }
    raw_disconnect(&other);
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
}

int
main(void)
{
    udpai_grpc_redirect_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_messages_both_ways, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parts_of_all_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large_message, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_large_message, setup, teardown),
        cmocka_unit_test_setup_teardown(test_empty_message, setup, teardown),
        cmocka_unit_test_setup_teardown(test_session_ends_with_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(test_session_ends_in_peace, setup, teardown),
        cmocka_unit_test_setup_teardown(test_client_ends_in_peace, setup, teardown),
        cmocka_unit_test_setup_teardown(test_client_cancels, setup, teardown),
        cmocka_unit_test_setup_teardown(test_client_vanishes_in_mid_stream, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pause, setup, teardown),
        cmocka_unit_test_setup_teardown(test_client_vanishes_while_paused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_idle_streams_have_one_tag, setup, teardown),
        cmocka_unit_test_setup_teardown(test_compressed_messages_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
