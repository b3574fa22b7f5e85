/* SPDX-License-Identifier: Apache-2.0 */
/* Listening: what is accepted, what is refused and with which words, closing and opening again. */
#include "bed.h"
#include "raw.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"

#define TAGS_OF_LISTENER 32

/* gRPC's own function, which refuses as often as a test wants it to. */
static atomic_int n_refusals_to_come;

grpc_call_error
grpc_server_request_call(grpc_server *server,
                         grpc_call **call,
                         grpc_call_details *details,
                         grpc_metadata_array *request_metadata,
                         grpc_completion_queue *queue_of_call,
                         grpc_completion_queue *queue_of_news,
                         void *tag)
{
    grpc_call_error (*real)(grpc_server *, grpc_call **, grpc_call_details *, grpc_metadata_array *,
                            grpc_completion_queue *, grpc_completion_queue *, void *);
    *(void **)&real = dlsym(RTLD_NEXT, "grpc_server_request_call");
    if (atomic_load(&n_refusals_to_come) > 0 && atomic_fetch_sub(&n_refusals_to_come, 1) > 0)
        return GRPC_CALL_ERROR;
    return real(server, call, details, request_metadata, queue_of_call, queue_of_news, tag);
}

static void
test_unknown_method(void **state)
{
    (void)state;
    static const char *const paths[] = {"/no.Such/Method", "/test.Obedient/Other", "/", "//", "/x"};
    test_bed bed;
    raw_client client;
    bed_start(&bed, NULL);
    bed_listen(&bed, NULL);
    raw_connect(&client, bed.port, NULL, NULL);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(paths); i++) {
        raw_call call;
        raw_begin(&client, &call, paths[i]);
        assert_int_equal(raw_status(&call), GRPC_STATUS_UNIMPLEMENTED);
        assert_non_null(strstr(call.text, paths[i]));
        assert_non_null(strstr(call.text, "test.Obedient, grpc.health.v1.Health, "
                                          "grpc.reflection.v1.ServerReflection, "
                                          "grpc.reflection.v1alpha.ServerReflection"));
        raw_end(&call);
    }
    bed_wait_streams(&bed, 0, TAGS_OF_LISTENER);
    udpai_stream_thread_stats stats;
    udpai_stream_thread_stats_get(bed.thread, &stats);
    assert_int_equal(stats.n_refused, UDPAI_ARRAY_LEN(paths));
    raw_disconnect(&client);
    bed_stop(&bed);
}

/* Nobody who configures a client the old way should have to guess. */
static void
test_xds_v2_is_told_as_such(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/envoy.api.v2.ClusterDiscoveryService/StreamClusters",
        "/envoy.service.discovery.v2.AggregatedDiscoveryService/DeltaAggregatedResources",
    };
    test_bed bed;
    raw_client client;
    bed_start(&bed, NULL);
    bed_listen(&bed, NULL);
    raw_connect(&client, bed.port, NULL, NULL);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(paths); i++) {
        raw_call call;
        raw_begin(&client, &call, paths[i]);
        assert_int_equal(raw_status(&call), GRPC_STATUS_UNIMPLEMENTED);
        assert_non_null(strstr(call.text, paths[i]));
        assert_non_null(strstr(call.text, "transport_api_version"));
        raw_end(&call);
    }
    raw_disconnect(&client);
    bed_stop(&bed);
}

/* A method that is there when somebody configures it says so, and is not listed. */
static void
test_absent_method_says_why(void **state)
{
    (void)state;
    static char why[] = "configure it";
    static const char *const paths[] = {"/test.Absent/Method", "/no.Such/Method"};
    const udpai_grpc_method methods[] = {
        {BED_PATH, NULL, why, false}, /* any will do */
        {paths[0], NULL, why, false},
    };
    const udpai_stream_thread_options options = {.methods = methods,
                                                 .n_methods = UDPAI_ARRAY_LEN(methods)};
    test_bed bed;
    raw_client client;
    raw_call call;
    bed_start(&bed, &options);
    bed_listen(&bed, NULL);
    raw_connect(&client, bed.port, NULL, NULL);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(paths); i++) {
        raw_begin(&client, &call, paths[i]);
        assert_int_equal(raw_status(&call), GRPC_STATUS_UNIMPLEMENTED);
        if (i == 0)
            assert_string_equal(call.text, why);
        else
            assert_null(strstr(call.text, "test."));
        raw_end(&call);
    }
    raw_disconnect(&client);
    bed_stop(&bed);
}

static void
talk(raw_call *call)
{
    assert_true(raw_say(call, "echo"));
    raw_expect(call, "echo");
}

static void
begin_and_talk(raw_client *client, raw_call *call)
{
    raw_begin(client, call, BED_PATH);
    talk(call);
}

static void
wait_until_all_slots_are_armed(test_bed *bed)
{
    udpai_stream_thread_stats stats = {0};
    for (time_t end = time(NULL) + BED_PATIENCE_S;
         time(NULL) < end && stats.n_tags < TAGS_OF_LISTENER;) {
        bed_wait_streams(bed, 0, TAGS_OF_LISTENER);
        udpai_stream_thread_stats_get(bed->thread, &stats);
    }
    assert_int_equal(stats.n_tags, TAGS_OF_LISTENER);
}

/* Of all the slots that wait for calls, none is lost. */
static void
what_grpc_refuses_to_wait_for_is_waited_for_again(void **state)
{
    if (bed_is_own())
        return; /* gRPC accepts no calls there */
    (void)state;
    test_bed bed;
    raw_client client;
    raw_call call;
    atomic_store(&n_refusals_to_come, TAGS_OF_LISTENER + 5);
    bed_start(&bed, NULL);
    bed_listen(&bed, NULL);
    raw_connect(&client, bed.port, NULL, NULL);
    begin_and_talk(&client, &call);
    raw_end(&call);
    wait_until_all_slots_are_armed(&bed);
    raw_disconnect(&client);
    bed_stop(&bed);
}

/* The peer is told, and so is whoever looks after the node. */
static void
a_message_that_is_too_large_ends_its_stream(void **state)
{
    (void)state;
    static char text[4097];
    test_bed bed;
    raw_client client;
    raw_call call;
    udpai_stream_thread_stats stats;
    bed_start(&bed, NULL);
    bed_listen_with(&bed, &(udpai_listen_options){.max_message_bytes = 4096});
    raw_connect(&client, bed.port, NULL, NULL);
    memset(text, 'x', sizeof(text) - 1);
    raw_begin(&client, &call, BED_PATH);
    assert_true(raw_say(&call, text)); /* just as many */
    talk(&call);
    raw_end(&call);
    udpai_stream_thread_stats_get(bed.thread, &stats);
    assert_int_equal(stats.n_too_large, 0);
    raw_begin(&client, &call, BED_PATH);
    assert_true(raw_send(&call, text, sizeof(text)));
    assert_int_equal(raw_status(&call), GRPC_STATUS_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(call.text, "a message of 4097 bytes is too large: at most 4096 are "
                                      "taken here (max_message_bytes of the socket)"));
    raw_end(&call);
    udpai_stream_thread_stats_get(bed.thread, &stats);
    assert_int_equal(stats.n_too_large, 1);
    raw_disconnect(&client);
    bed_stop(&bed);
}

/* One that closes asks for none any more. */
static void
a_listener_closes_while_grpc_refuses(void **state)
{
    (void)state;
    test_bed bed;
    atomic_store(&n_refusals_to_come, 1 << 20);
    bed_start(&bed, NULL);
    bed_listen(&bed, NULL);
    bed_stop(&bed);
    atomic_store(&n_refusals_to_come, 0);
}

static void
expect_limit(raw_client *client, const char *words)
{
    raw_call call;
    raw_begin(client, &call, BED_PATH);
    assert_int_equal(raw_status(&call), GRPC_STATUS_RESOURCE_EXHAUSTED);
    if (!strstr(call.text, words))
        fail_msg("'%s' does not say '%s'", call.text, words);
    raw_end(&call);
}

static void
test_limit_on_all_streams(void **state)
{
    (void)state;
    const udpai_stream_thread_options options = {.limits = {.max_streams = 3}};
    test_bed bed;
    raw_client client;
    raw_call calls[3];
    bed_start(&bed, &options);
    bed_listen(&bed, NULL);
    raw_connect(&client, bed.port, NULL, NULL);
    for (size_t i = 0; i < 3; i++)
        begin_and_talk(&client, &calls[i]);
    expect_limit(&client, "serves 3 streams");
    raw_end(&calls[1]);
    bed_wait_streams(&bed, 2, TAGS_OF_LISTENER + 2);
    begin_and_talk(&client, &calls[1]);
    expect_limit(&client, "serves 3 streams");
    for (size_t i = 0; i < 3; i++)
        raw_end(&calls[i]);
    raw_disconnect(&client);
    bed_stop(&bed);
}

/* Without certificates peers are told apart by their addresses; each connection may have as many.
 */
static void
test_limit_on_streams_of_a_peer(void **state)
{
    (void)state;
    const udpai_stream_thread_options options = {.limits = {.max_streams_per_identity = 2}};
    test_bed bed;
    raw_client clients[2];
    raw_call calls[2];
    bed_start(&bed, &options);
    bed_listen(&bed, NULL);
    for (size_t i = 0; i < 2; i++) {
        raw_connect(&clients[i], bed.port, NULL, NULL);
        begin_and_talk(&clients[i], &calls[i]);
    }
    expect_limit(&clients[1], "address 127.0.0.1 has 2 streams");
    raw_end(&calls[0]);
    bed_wait_streams(&bed, 1, TAGS_OF_LISTENER + 1);
    begin_and_talk(&clients[0], &calls[0]);
    for (size_t i = 0; i < 2; i++) {
        raw_end(&calls[i]);
        raw_disconnect(&clients[i]);
    }
    bed_stop(&bed);
}

/* Who is there stays. */
static void
test_limits_may_change(void **state)
{
    (void)state;
    test_bed bed;
    raw_client client;
    raw_call calls[3];
    udpai_stream_switches switches = {
        .max_streams = 1,
        .fanout = {.max_views = 10, .max_views_per_owner = 10, .max_names = 10},
    };
    bed_start(&bed, NULL);
    bed_listen(&bed, NULL);
    raw_connect(&client, bed.port, NULL, NULL);
    for (size_t i = 0; i < 2; i++)
        begin_and_talk(&client, &calls[i]);
    assert_ok(udpai_stream_thread_switch(bed.thread, &switches));
    talk(&calls[0]); /* the thread has turned */
    expect_limit(&client, "serves 2 streams");
    switches.max_streams = 0;
    switches.max_streams_per_identity = 2;
    assert_ok(udpai_stream_thread_switch(bed.thread, &switches));
    talk(&calls[1]);
    expect_limit(&client, "has 2 streams");
    switches.max_streams_per_identity = 3;
    assert_ok(udpai_stream_thread_switch(bed.thread, &switches));
    talk(&calls[0]);
    begin_and_talk(&client, &calls[2]);
    for (size_t i = 0; i < 3; i++)
        raw_end(&calls[i]);
    raw_disconnect(&client);
    bed_stop(&bed);
}

/* Of a socket without limits of its own, also on connections that are there. */
static void
messages_may_be_smaller(void **state)
{
    (void)state;
    static char words[3000] = "echo";
    test_bed bed;
    raw_client client;
    raw_call calls[2];
    udpai_stream_switches switches = {
        .max_message_bytes = 1000,
        .fanout = {.max_views = 10, .max_views_per_owner = 10, .max_names = 10},
    };
    memset(words + 4, 'x', sizeof(words) - 5);
    bed_start(&bed, NULL);
    bed_listen(&bed, NULL);
    raw_connect(&client, bed.port, NULL, NULL);
    begin_and_talk(&client, &calls[0]);
    assert_true(raw_say(&calls[0], words));
    raw_expect(&calls[0], words);
    assert_ok(udpai_stream_thread_switch(bed.thread, &switches));
    talk(&calls[0]); /* the thread has turned */
    begin_and_talk(&client, &calls[1]);
    (void)raw_say(&calls[1], words);
    assert_int_equal(raw_status(&calls[1]), GRPC_STATUS_RESOURCE_EXHAUSTED);
    raw_end(&calls[1]);
    switches.max_message_bytes = 0;
    assert_ok(udpai_stream_thread_switch(bed.thread, &switches));
    talk(&calls[0]);
    begin_and_talk(&client, &calls[1]);
    assert_true(raw_say(&calls[1], words));
    raw_expect(&calls[1], words);
    for (size_t i = 0; i < 2; i++)
        raw_end(&calls[i]);
    raw_disconnect(&client);
    bed_stop(&bed);
}

static void
streams_that_begin_may_have_an_age(void **state)
{
    (void)state;
    test_bed bed;
    raw_client client;
    raw_call calls[2];
    const udpai_stream_switches switches = {
        .max_stream_age_ms = 300,
        .fanout = {.max_views = 10, .max_views_per_owner = 10, .max_names = 10},
    };
    bed_start(&bed, NULL);
    bed_listen(&bed, NULL);
    raw_connect(&client, bed.port, NULL, NULL);
    begin_and_talk(&client, &calls[0]);
    assert_ok(udpai_stream_thread_switch(bed.thread, &switches));
    talk(&calls[0]);
    begin_and_talk(&client, &calls[1]);
    assert_int_equal(raw_status(&calls[1]), GRPC_STATUS_UNAVAILABLE);
    talk(&calls[0]);
    for (size_t i = 0; i < 2; i++)
        raw_end(&calls[i]);
    raw_disconnect(&client);
    bed_stop(&bed);
}

/* ---- addresses ---- */

static void
expect_no_listener(const test_bed *bed, const char *address, udpa_err expected, const char *words)
{
    udpai_listener *listener = NULL;
    udpa_error *error = NULL;
    assert_int_equal(udpai_stream_thread_listen(bed->thread,
                                                &(udpai_listen_options){.address = address},
                                                &listener, &error),
                     expected);
    assert_null(listener);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
    udpa_error_unref(error);
}

static void
test_port_in_use(void **state)
{
    (void)state;
    test_bed first, second;
    bed_start(&first, NULL);
    bed_listen(&first, NULL);
    bed_start(&second, NULL);
    char words[96];
    snprintf(words, sizeof(words),
             "cannot listen on 127.0.0.1:%d: Address already in use; is another", first.port);
    expect_no_listener(&second, bed_address(&first), UDPA_ERR_IO, words);
    /* The same thread does not share its port with itself either. */
    expect_no_listener(&first, bed_address(&first), UDPA_ERR_IO, words);
    bed_stop(&second);
    bed_stop(&first);
}

static void
test_addresses(void **state)
{
    (void)state;
    test_bed bed;
    bed_start(&bed, NULL);
    expect_no_listener(&bed, "localhost", UDPA_ERR_INVAL, "ADDRESS:PORT");
    expect_no_listener(&bed, "192.0.2.1:0", UDPA_ERR_IO, "does not have that address");
    udpai_listener *listener;
    raw_client client;
    raw_call call;
    assert_ok(udpai_stream_thread_listen(
        bed.thread, &(udpai_listen_options){.address = "0.0.0.0:0"}, &listener, NULL));
    raw_connect(&client, udpai_listener_port(listener), NULL, NULL);
    begin_and_talk(&client, &call);
    raw_end(&call);
    raw_disconnect(&client);
    bed_stop(&bed);
}

/* ---- closing ---- */

static void
test_listener_closes_and_another_takes_its_place(void **state)
{
    (void)state;
    test_bed bed;
    raw_client client, idle;
    raw_call call;
    bed_start(&bed, NULL);
    bed_listen(&bed, NULL);
    /* A connection without streams is no reason to wait. */
    raw_connect(&idle, bed.port, NULL, NULL);
    begin_and_talk(&idle, &call);
    raw_end(&call);
    raw_connect(&client, bed.port, NULL, NULL);
    begin_and_talk(&client, &call);
    udpai_stream_thread_close_listener(bed.thread, bed.listener, bed_count, &bed);
    assert_int_equal(raw_status(&call), GRPC_STATUS_UNAVAILABLE);
    assert_string_equal(call.text, "this node does not listen here any more");
    raw_end(&call);
    raw_disconnect(&client);
    bed_wait_count(&bed, &bed.n_closed, 1);
    bed_wait_streams(&bed, 0, 0);
    udpai_listener *again;
    assert_ok(udpai_stream_thread_listen(
        bed.thread, &(udpai_listen_options){.address = bed_address(&bed)}, &again, NULL));
    assert_int_equal(udpai_listener_port(again), bed.port);
    raw_connect(&client, bed.port, NULL, NULL);
    begin_and_talk(&client, &call);
    raw_end(&call);
    raw_disconnect(&client);
    raw_disconnect(&idle);
    bed_stop(&bed);
}

static void
test_two_listeners(void **state)
{
    (void)state;
    test_bed bed;
    raw_client clients[2];
    raw_call calls[2];
    udpai_listener *listeners[2];
    bed_start(&bed, NULL);
    for (size_t i = 0; i < 2; i++) {
        bed_listen(&bed, NULL);
        listeners[i] = bed.listener;
        raw_connect(&clients[i], bed.port, NULL, NULL);
        begin_and_talk(&clients[i], &calls[i]);
    }
    udpai_stream_thread_close_listener(bed.thread, listeners[0], NULL, NULL);
    assert_int_equal(raw_status(&calls[0]), GRPC_STATUS_UNAVAILABLE);
    assert_true(raw_say(&calls[1], "echo still there"));
    raw_expect(&calls[1], "echo still there");
    for (size_t i = 0; i < 2; i++) {
        raw_end(&calls[i]);
        raw_disconnect(&clients[i]);
    }
    bed_stop(&bed);
}

/* ---- connections without streams ---- */

static int
open_connection(const test_bed *bed)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)bed->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    struct timeval patience = {.tv_sec = BED_PATIENCE_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return fd;
}

/* Waits for the node to end it, and closes it. */
static void
expect_end_of_connection(int fd)
{
    char byte;
    ssize_t n;
    while ((n = recv(fd, &byte, 1, 0)) > 0) /* its settings, then the end */
        continue;
    assert_true(n == 0 || errno == ECONNRESET);
    close(fd);
}

/* A peer that connects and says nothing is forgotten after the time for handshakes. */
static void
test_silent_connection(void **state)
{
    (void)state;
    const udpai_stream_thread_options options = {.timing = {.handshake_timeout_ms = 50}};
    test_bed bed;
    bed_start(&bed, &options);
    bed_listen(&bed, NULL);
    expect_end_of_connection(open_connection(&bed));
    bed_stop(&bed);
}

/* HTTP/2, and nothing on it: the preface, empty settings. */
static int
open_idle_connection(const test_bed *bed)
{
    static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
    int fd = open_connection(bed);
    assert_int_equal(send(fd, hello, sizeof(hello), 0), sizeof(hello));
    return fd;
}

/* It has shaken hands, so the time for that does not end it, nor does trying it so soon. */
static void
test_connection_without_streams(void **state)
{
    (void)state;
    const udpai_stream_thread_options options = {.timing = {.connection_idle_ms = 50}};
    test_bed bed;
    bed_start(&bed, &options);
    bed_listen(&bed, NULL);
    expect_end_of_connection(open_idle_connection(&bed));
    bed_stop(&bed);
}

/* What ends a connection that was begun later does not end one that has a stream, or has one again.
 */
static void
test_connection_with_a_stream(void **state)
{
    (void)state;
    const udpai_stream_thread_options options = {.timing = {.connection_idle_ms = 300}};
    test_bed bed;
    raw_client client;
    raw_call call;
    bed_start(&bed, &options);
    bed_listen(&bed, NULL);
    raw_connect(&client, bed.port, NULL, NULL);
    begin_and_talk(&client, &call);
    for (int i = 0; i < 3; i++) {
        expect_end_of_connection(open_idle_connection(&bed));
        assert_true(raw_say(&call, "echo still there"));
        raw_expect(&call, "echo still there");
    }
    raw_end(&call);
    raw_wait_disconnected(&client); /* without it the connection is idle, too … */
    begin_and_talk(&client, &call); /* … which is no harm to the client */
    raw_end(&call);
    raw_disconnect(&client);
    bed_stop(&bed);
}

int
main(void)
{
    udpai_grpc_redirect_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_method),
        cmocka_unit_test(test_xds_v2_is_told_as_such),
        cmocka_unit_test(test_absent_method_says_why),
        cmocka_unit_test(what_grpc_refuses_to_wait_for_is_waited_for_again),
        cmocka_unit_test(a_listener_closes_while_grpc_refuses),
        cmocka_unit_test(a_message_that_is_too_large_ends_its_stream),
        cmocka_unit_test(test_limit_on_all_streams),
        cmocka_unit_test(test_limit_on_streams_of_a_peer),
        cmocka_unit_test(test_limits_may_change),
        cmocka_unit_test(messages_may_be_smaller),
        cmocka_unit_test(streams_that_begin_may_have_an_age),
        cmocka_unit_test(test_port_in_use),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_listener_closes_and_another_takes_its_place),
        cmocka_unit_test(test_two_listeners),
        cmocka_unit_test(test_silent_connection),
        cmocka_unit_test(test_connection_without_streams),
        cmocka_unit_test(test_connection_with_a_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
