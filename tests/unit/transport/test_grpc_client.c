/* SPDX-License-Identifier: Apache-2.0 */
/* Dialling: sessions that come of it, and what is said when none does. */
#include "bed.h"
#include "raw.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "transport/grpc/grpc_internal.h"

struct pair {
    test_bed near, far;
};

static void
start_pair(struct pair *pair)
{
    bed_start(&pair->far, NULL);
    bed_listen(&pair->far, NULL);
    bed_start(&pair->near, NULL);
}

static int
setup(void **state)
{
    struct pair *pair = udpai_alloc(sizeof(*pair));
    start_pair(pair);
    *state = pair;
    return 0;
}

static int
teardown(void **state)
{
    struct pair *pair = *state;
    bed_stop(&pair->near);
    if (pair->far.thread)
        bed_stop(&pair->far);
    udpai_free(pair);
    return 0;
}

static uint64_t
dial_far(struct pair *pair, uint64_t link)
{
    const udpai_grpc_target_options options = {.address = bed_address(&pair->far)};
    bed_dial(&pair->near, link, &options);
    udpai_report *opened = bed_report(&pair->near, UDPAI_REPORT_OPENED);
    assert_int_equal(opened->link, link);
    assert_null(opened->identity);
    assert_str(udpai_bytes_view(opened->address), bed_address(&pair->far));
    uint64_t session = opened->session;
    udpai_report_free(opened);
    /* "echo hello" goes there and comes back. */
    udpai_report_free(bed_report(&pair->near, UDPAI_REPORT_ALIVE));
    return session;
}

/* The near side's report of the end of this link. */
static void
expect_closed(test_bed *bed, uint64_t link, udpa_err code, const char *words)
{
    udpai_report *closed = bed_report(bed, UDPAI_REPORT_CLOSED);
    assert_int_equal(closed->link, link);
    assert_int_equal(closed->session, 0);
    if (udpa_error_code(closed->error) != code || !strstr(udpa_error_message(closed->error), words))
        fail_msg("%s '%s' is not %s '%s'", udpa_err_name(udpa_error_code(closed->error)),
                 udpa_error_message(closed->error), udpa_err_name(code), words);
    udpai_report_free(closed);
    bed_wait_streams(bed, 0, 0);
}

static void
test_session(void **state)
{
    struct pair *pair = *state;
    uint64_t session = dial_far(pair, 7);
    udpai_report *opened = bed_report(&pair->far, UDPAI_REPORT_OPENED);
    assert_int_equal(opened->link, 0);
    assert_memory_equal(udpa_bytes_data(opened->address), "127.0.0.1:", 10);
    udpai_report_free(opened);
    bed_hang_up(&pair->near, session, 7);
    udpai_report *closed = bed_report(&pair->near, UDPAI_REPORT_CLOSED);
    assert_int_equal(closed->session, session);
    udpai_report_free(closed);
    udpai_report_free(bed_report(&pair->far, UDPAI_REPORT_CLOSED));
    bed_wait_streams(&pair->near, 0, 0);
    bed_wait_streams(&pair->far, 0, 32);
}

static void
test_two_links_to_one_place(void **state)
{
    struct pair *pair = *state;
    uint64_t first = dial_far(pair, 1), second = dial_far(pair, 2);
    bed_hang_up(&pair->near, first, 1);
    udpai_report *closed = bed_report(&pair->near, UDPAI_REPORT_CLOSED);
    assert_int_equal(closed->session, first);
    udpai_report_free(closed);
    bed_wait_streams(&pair->near, 1, 1);
    bed_hang_up(&pair->near, second, 2);
    bed_wait_streams(&pair->near, 0, 0);
}

/* A node that has many sources has no less room for clients. */
static void
test_links_do_not_count_as_streams_of_others(void **state)
{
    struct pair *pair = *state;
    const udpai_stream_thread_options options = {.limits = {.max_streams = 1}};
    raw_client client;
    raw_call first, second;
    bed_stop(&pair->near);
    bed_start(&pair->near, &options);
    bed_listen(&pair->near, NULL);
    (void)dial_far(pair, 1);
    (void)dial_far(pair, 2);
    raw_connect(&client, pair->near.port, NULL, NULL);
    raw_begin(&client, &first, BED_PATH);
    assert_true(raw_say(&first, "echo"));
    raw_expect(&first, "echo");
    udpai_report_free(bed_report(&pair->near, UDPAI_REPORT_OPENED));
    raw_begin(&client, &second, BED_PATH);
    assert_int_equal(raw_status(&second), GRPC_STATUS_RESOURCE_EXHAUSTED);
    (void)dial_far(pair, 3); /* nor does a full node dial less */
    raw_end(&first);
    raw_end(&second);
    raw_disconnect(&client);
}

/* The order to stop dialling may come when the session has begun already. */
static void
test_stop_dialling_meets_a_session(void **state)
{
    struct pair *pair = *state;
    uint64_t session = dial_far(pair, 3);
    bed_hang_up(&pair->near, 0, 3);
    udpai_report *closed = bed_report(&pair->near, UDPAI_REPORT_CLOSED);
    assert_int_equal(closed->session, session);
    udpai_report_free(closed);
    bed_wait_streams(&pair->near, 0, 0);
}

static void
test_far_side_goes_away(void **state)
{
    struct pair *pair = *state;
    uint64_t session = dial_far(pair, 4);
    bed_stop(&pair->far);
    udpai_report *closed = bed_report(&pair->near, UDPAI_REPORT_CLOSED);
    assert_int_equal(closed->session, session);
    udpai_report_free(closed);
    bed_wait_streams(&pair->near, 0, 0);
}

static void
test_dialled_again_and_again(void **state)
{
    struct pair *pair = *state;
    for (uint64_t link = 1; link < 10; link++)
        bed_hang_up(&pair->near, dial_far(pair, link), link);
    bed_wait_streams(&pair->near, 0, 0);
    bed_wait_streams(&pair->far, 0, 32);
}

static void
test_nobody_there(void **state)
{
    struct pair *pair = *state;
    const udpai_grpc_target_options options = {.address = bed_address(&pair->far)};
    char words[96];
    snprintf(words, sizeof(words), "cannot connect to %s: Connection refused; does it run",
             options.address);
    bed_stop(&pair->far);
    /* Each attempt is quick: nothing remembers the last one. */
    for (uint64_t link = 1; link < 20; link++) {
        bed_dial(&pair->near, link, &options);
        expect_closed(&pair->near, link, UDPA_ERR_UNAVAILABLE, words);
    }
}

static void
test_no_such_method_there(void **state)
{
    struct pair *pair = *state;
    const udpai_grpc_target_options options = {
        .address = bed_address(&pair->far),
        .method = {"/no.Such/Method", bed_method.open, NULL},
    };
    bed_dial(&pair->near, 6, &options);
    udpai_report *closed = bed_report(&pair->near, UDPAI_REPORT_CLOSED);
    assert_int_equal(closed->link, 6);
    assert_int_not_equal(closed->session, 0);
    udpai_report_free(closed);
    bed_wait_streams(&pair->near, 0, 0);
}

/* ---- those who never answer ---- */

struct silence {
    int fd;
    char address[32];
};

/* Connections are accepted by the system, and nobody ever speaks on them. */
static void
begin_silence(struct silence *silence)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof(at);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    silence->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(silence->fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(silence->fd, 16), 0);
    assert_int_equal(getsockname(silence->fd, (struct sockaddr *)&at, &len), 0);
    snprintf(silence->address, sizeof(silence->address), "127.0.0.1:%d", ntohs(at.sin_port));
}

static void
test_no_answer(void **state)
{
    (void)state;
    const udpai_stream_thread_options quick = {.timing = {.dial_timeout_ms = 50}};
    struct silence silence;
    test_bed bed;
    begin_silence(&silence);
    bed_start(&bed, &quick);
    const udpai_grpc_target_options options = {.address = silence.address};
    bed_dial(&bed, 8, &options);
    expect_closed(&bed, 8, UDPA_ERR_DEADLINE,
                  "no answer within 50 ms; does something on the way drop what we send?");
    bed_stop(&bed);
    close(silence.fd);
}

static void
test_stop_dialling(void **state)
{
    struct pair *pair = *state;
    struct silence silence;
    begin_silence(&silence);
    const udpai_grpc_target_options options = {.address = silence.address};
    bed_dial(&pair->near, 9, &options);
    bed_dial(&pair->near, 10, &options);
    bed_wait_streams(&pair->near, 2, 2);
    bed_hang_up(&pair->near, 0, 9);
    udpai_report *closed = bed_report(&pair->near, UDPAI_REPORT_CLOSED);
    assert_int_equal(closed->link, 9);
    udpai_report_free(closed);
    bed_wait_streams(&pair->near, 1, 1);
    bed_hang_up(&pair->near, 0, 11); /* nobody */
    bed_hang_up(&pair->near, 0, 10);
    expect_closed(&pair->near, 10, UDPA_ERR_CANCELLED, "it is not wanted any more");
    close(silence.fd);
}

static void
test_stop_while_dialling(void **state)
{
    (void)state;
    struct silence silence;
    test_bed bed;
    begin_silence(&silence);
    bed_start(&bed, NULL);
    const udpai_grpc_target_options options = {.address = silence.address};
    bed_dial(&bed, 12, &options);
    bed_wait_streams(&bed, 1, 1);
    udpai_stream_thread_stop(bed.thread, "good night");
    bed_wait_count(&bed, &bed.n_stopped, 1);
    udpai_report *closed = bed_report(&bed, UDPAI_REPORT_CLOSED);
    assert_int_equal(closed->link, 12);
    assert_non_null(strstr(udpa_error_message(closed->error), "good night"));
    udpai_report_free(closed);
    bed_stop(&bed);
    close(silence.fd);
}

/* A server that speaks HTTP/2 badly, or something else altogether. */
static void
test_it_is_no_grpc(void **state)
{
    (void)state;
    const udpai_stream_thread_options quick = {.timing = {.dial_timeout_ms = 5000}};
    struct silence server;
    test_bed bed;
    begin_silence(&server);
    bed_start(&bed, &quick);
    const udpai_grpc_target_options options = {.address = server.address};
    bed_dial(&bed, 13, &options);
    int fd = accept(server.fd, NULL, NULL);
    static const char answer[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    assert_int_equal(write(fd, answer, sizeof(answer) - 1), sizeof(answer) - 1);
    close(fd);
    close(server.fd);
    udpai_report *closed = bed_report(&bed, UDPAI_REPORT_CLOSED);
    assert_int_equal(closed->link, 13);
    assert_int_equal(closed->session, 0);
    assert_non_null(strstr(udpa_error_message(closed->error), "cannot connect to 127.0.0.1:"));
    udpai_report_free(closed);
    bed_stop(&bed);
}

/* ---- words ---- */

static void
test_reasons(void **state)
{
    (void)state;

    static const struct {
        const char *text, *reason, *hint;
    } cases[] = {
        {"", "", ""},
        {"something else", "something else", ""},
        {"failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:9: Failed to "
         "connect to remote host: Connection refused",
         "Connection refused", "does it run"},
        {"failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:9: Ssl handshake "
         "failed: SSL_ERROR_SSL: error:0A000086:SSL routines::certificate verify failed",
         "ipv4:127.0.0.1:9: Ssl handshake failed: SSL_ERROR_SSL: error:0A000086:SSL "
         "routines::certificate verify failed",
         "ca_file"},
        {"failed to connect to all addresses; last error: UNAVAILABLE: ipv4:127.0.0.1:9: Socket "
         "closed",
         "ipv4:127.0.0.1:9: Socket closed", "does it want TLS"},
        {"DNS resolution failed for x:1: C-ares status is not ARES_SUCCESS qtype=A name=x "
         "is_balancer=0: Domain name not found",
         "DNS resolution failed for x:1: C-ares status is not ARES_SUCCESS qtype=A name=x "
         "is_balancer=0: Domain name not found",
         "is the name right"},
        {"last error: ", "", ""},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        const char *hint = NULL;
        assert_str(udpai_client_reason(udpai_str_from(cases[i].text), &hint), cases[i].reason);
        assert_non_null(strstr(hint, cases[i].hint));
        assert_true(*cases[i].hint || !*hint);
    }
}

int
main(void)
{
    udpai_grpc_redirect_log();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_session, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_links_to_one_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_links_do_not_count_as_streams_of_others, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_stop_dialling_meets_a_session, setup, teardown),
        cmocka_unit_test_setup_teardown(test_far_side_goes_away, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dialled_again_and_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nobody_there, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_such_method_there, setup, teardown),
        cmocka_unit_test(test_no_answer),
        cmocka_unit_test_setup_teardown(test_stop_dialling, setup, teardown),
        cmocka_unit_test(test_stop_while_dialling),
        cmocka_unit_test(test_it_is_no_grpc),
        cmocka_unit_test(test_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
