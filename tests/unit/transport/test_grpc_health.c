/* SPDX-License-Identifier: Apache-2.0 */
/* grpc.health.v1, asked as any client asks it: by its bytes. */
#include "bed.h"
#include "raw.h"

#include "base/alloc.h"

#define CHECK "/grpc.health.v1.Health/Check"
#define WATCH "/grpc.health.v1.Health/Watch"
#define TAGS_OF_LISTENER 32

/* HealthCheckResponse {status} */
#define SERVING "\x08\x01"
#define NOT_SERVING "\x08\x02"
#define SERVICE_UNKNOWN "\x08\x03"

/* HealthCheckRequest {service} */
#define WHOLE_SERVER ""
#define OF_BED "\x0a\x0dtest.Obedient"
#define OF_HEALTH "\x0a\x15grpc.health.v1.Health"
#define OF_NOBODY "\x0a\x0bno.Such.One"

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
ask(struct world *world, raw_call *call, const char *path, const char *request)
{
    raw_begin(&world->client, call, path);
    assert_true(raw_say(call, request));
}

static void
expect_answer(struct world *world, const char *request, const char *answer)
{
    raw_call call;
    ask(world, &call, CHECK, request);
    raw_half_close(&call);
    raw_expect(&call, answer);
    assert_false(raw_receive(&call));
    assert_int_equal(raw_status(&call), GRPC_STATUS_OK);
    raw_end(&call);
}

/* The call must end with this status, and say these words. */
static void
expect_end(raw_call *call, grpc_status_code code, const char *words)
{
    assert_int_equal(raw_status(call), code);
    if (!strstr(call->text, words))
        fail_msg("'%s' does not say '%s'", call->text, words);
    raw_end(call);
}

static void
test_check(void **state)
{
    struct world *world = *state;
    expect_answer(world, WHOLE_SERVER, SERVING);
    expect_answer(world, OF_BED, SERVING);
    expect_answer(world, OF_HEALTH, SERVING);
    assert_ok(udpai_stream_thread_set_serving(world->bed.thread, false));
    expect_answer(world, WHOLE_SERVER, NOT_SERVING);
    expect_answer(world, OF_BED, NOT_SERVING);
    assert_ok(udpai_stream_thread_set_serving(world->bed.thread, true));
    expect_answer(world, WHOLE_SERVER, SERVING);
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
}

static void
test_check_of_what_is_not_there(void **state)
{
    struct world *world = *state;
    raw_call call;
    ask(world, &call, CHECK, OF_NOBODY);
    expect_end(&call, GRPC_STATUS_NOT_FOUND, "there is no service no.Such.One here");
}

static void
test_malformed_requests(void **state)
{
    struct world *world = *state;
    static const char *const paths[] = {CHECK, WATCH};
    static const char *const requests[] = {
        "\x0a\x7fshort",    /* the name ends too early */
        "\x0a\x02\xff\xfe", /* it is no UTF-8 */
        "\x0b",             /* a group */
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(paths); i++) {
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(requests); k++) {
            raw_call call;
            ask(world, &call, paths[i], requests[k]);
            assert_int_equal(raw_status(&call), GRPC_STATUS_INVALID_ARGUMENT);
            raw_end(&call);
        }
        raw_call call;
        raw_begin(&world->client, &call, paths[i]);
        raw_half_close(&call);
        expect_end(&call, GRPC_STATUS_INVALID_ARGUMENT, "without a HealthCheckRequest");
    }
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
}

static void
test_watch(void **state)
{
    struct world *world = *state;
    raw_call whole, of_bed, of_nobody;
    ask(world, &whole, WATCH, WHOLE_SERVER);
    raw_half_close(&whole); /* as clients do; it goes on */
    raw_expect(&whole, SERVING);
    ask(world, &of_bed, WATCH, OF_BED);
    raw_expect(&of_bed, SERVING);
    ask(world, &of_nobody, WATCH, OF_NOBODY);
    raw_expect(&of_nobody, SERVICE_UNKNOWN);
    for (int i = 0; i < 3; i++) {
        assert_ok(udpai_stream_thread_set_serving(world->bed.thread, false));
        raw_expect(&whole, NOT_SERVING);
        raw_expect(&of_bed, NOT_SERVING);
        assert_ok(udpai_stream_thread_set_serving(world->bed.thread, true));
        raw_expect(&whole, SERVING);
        raw_expect(&of_bed, SERVING);
    }
    raw_end(&of_bed);
    bed_wait_streams(&world->bed, 2, TAGS_OF_LISTENER + 2);
    /* What was said before and is so still is not said again. */
    assert_ok(udpai_stream_thread_set_serving(world->bed.thread, true));
    assert_ok(udpai_stream_thread_set_serving(world->bed.thread, false));
    raw_expect(&whole, NOT_SERVING);
    udpai_stream_thread_stop(world->bed.thread, "good night");
    assert_false(raw_receive(&of_nobody));
    expect_end(&of_nobody, GRPC_STATUS_UNAVAILABLE, "good night");
    assert_false(raw_receive(&whole));
    expect_end(&whole, GRPC_STATUS_UNAVAILABLE, "good night");
}

static void
test_watch_takes_one_request(void **state)
{
    struct world *world = *state;
    raw_call call;
    ask(world, &call, WATCH, WHOLE_SERVER);
    raw_expect(&call, SERVING);
    assert_true(raw_say(&call, OF_BED));
    expect_end(&call, GRPC_STATUS_INVALID_ARGUMENT, "one HealthCheckRequest, not two");
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
}

/* Of many changes that come while one is being written, the last is what a watcher learns. */
static void
test_watch_ends_with_what_is_so(void **state)
{
    struct world *world = *state;
    raw_call call;
    ask(world, &call, WATCH, WHOLE_SERVER);
    raw_expect(&call, SERVING);
    for (int i = 0; i < 101; i++)
        assert_ok(udpai_stream_thread_set_serving(world->bed.thread, i % 2 == 1));
    /* An order is taken after them. */
    bed_wait_streams(&world->bed, 1, TAGS_OF_LISTENER + 1);
    udpai_stream_thread_stop(world->bed.thread, "good night");
    char last = 0;
    int n = 0;
    for (; raw_receive(&call); n++) {
        assert_int_equal(call.len, 2);
        assert_int_not_equal(call.data[1], last);
        last = call.data[1];
    }
    assert_true(n >= 1 && n <= 101);
    assert_int_equal(last, NOT_SERVING[1]);
    raw_end(&call);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_check, setup, teardown),
        cmocka_unit_test_setup_teardown(test_check_of_what_is_not_there, setup, teardown),
        cmocka_unit_test_setup_teardown(test_malformed_requests, setup, teardown),
        cmocka_unit_test_setup_teardown(test_watch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_watch_takes_one_request, setup, teardown),
        cmocka_unit_test_setup_teardown(test_watch_ends_with_what_is_so, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
