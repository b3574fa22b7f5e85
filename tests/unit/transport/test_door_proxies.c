/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of proxies, at a socket that listens: each counts as the client that its head names,
 * and one without a head is not taken. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/harness/metered.h"
#include "tests/harness/test.h"
#include "tests/unit/transport/door_bed.h"
#include "transport/door/door_internal.h"
#include "transport/door/proxy_head.h"

#define HEAD "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\300\0\2\1\306\63\144\1\020\222\1\273"
#define HEAD_LOCAL "\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"

#define HEADS_MAX 1024 /* as in acceptor.c */
#define FILES (2 * HEADS_MAX + 100)

static door_bed bed;
static door_peer peer;
static int port;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char logged[1000]; /* under the mutex */

static void
on_log(udpa_log_level level, const char *component, const char *text, void *userdata)
{
    (void)userdata;
    (void)component;
    (void)level;
    pthread_mutex_lock(&mutex);
    snprintf(logged, sizeof(logged), "%s", text);
    pthread_mutex_unlock(&mutex);
}

static void
expect_logged(const char *words)
{
    pthread_mutex_lock(&mutex);
    if (!strstr(logged, words))
        fail_msg("'%s' is not in: %s", words, logged);
    pthread_mutex_unlock(&mutex);
}

static int
listening_socket(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(own);
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(file >= 0);
    assert_ok(bind(file, (const struct sockaddr *)&own, sizeof(own)));
    assert_ok(listen(file, 1024));
    assert_ok(getsockname(file, (struct sockaddr *)&own, &size));
    port = ntohs(own.sin_port);
    return file;
}

static void
open_bed(const char *from, uint64_t patience_ms)
{
    static udpai_network proxy;
    assert_ok(udpai_network_parse(from, &proxy, NULL));
    const udpai_door_listen_options with = {
        .socket = listening_socket(),
        .proxies = &proxy,
        .n_proxies = 1,
        .limits.handshake_timeout_ms = patience_ms,
    };
    assert_ok(door_bed_open_listening(&bed, &with));
}

static void
dial(door_peer *one)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)port)};
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(file >= 0);
    assert_ok(connect(file, (const struct sockaddr *)&address, sizeof(address)));
    assert_ok(fcntl(file, F_SETFL, O_NONBLOCK));
    door_peer_open(one, file);
}

static int
begin(void **state)
{
    (void)state;
    logged[0] = '\0';
    udpa_log_set_sink(UDPA_LOG_WARNING, on_log, NULL);
    return 0;
}

static int
end(void **state)
{
    (void)state;
    door_peer_close(&peer);
    door_bed_close(&bed);
    assert_int_equal(bed.n_open, 0);
    udpa_log_set_sink(UDPA_LOG_WARNING, NULL, NULL);
    return 0;
}

static void
call(const char *head, size_t len)
{
    dial(&peer);
    udpai_strbuf_append(&peer.to, head, len);
    frames_put_begin(&peer.to);
    door_peer_call(&peer, 1, "/a.B/C", NULL);
}

static void
it_counts_as_the_client_of_its_head(void **state)
{
    (void)state;
    open_bed("127.0.0.0/8", 0);
    call(HEAD, sizeof(HEAD) - 1);
    assert_true(door_bed_run_until_opened(&bed, &peer, 1));
    assert_string_equal(bed.address, "192.0.2.1:4242");
}

static void
a_connection_of_the_proxy_itself_counts_as_that(void **state)
{
    (void)state;
    open_bed("127.0.0.1", 0);
    call(HEAD_LOCAL, sizeof(HEAD_LOCAL) - 1);
    assert_true(door_bed_run_until_opened(&bed, &peer, 1));
    assert_non_null(strstr(bed.address, "127.0.0.1:"));
}

static void
others_are_served_as_they_are(void **state)
{
    (void)state;
    open_bed("192.0.2.0/24", 0);
    call("", 0);
    assert_true(door_bed_run_until_opened(&bed, &peer, 1));
    assert_non_null(strstr(bed.address, "127.0.0.1:"));
    door_peer_close(&peer);
    call(HEAD, sizeof(HEAD) - 1); /* which is no HTTP/2 */
    assert_true(door_bed_run_until_over(&bed, &peer));
    assert_int_equal(bed.n_opened, 1);
}

static void
a_head_may_come_byte_by_byte(void **state)
{
    (void)state;
    open_bed("127.0.0.1", 0);
    dial(&peer);
    for (size_t i = 0; i < sizeof(HEAD) - 1; i++) {
        udpai_strbuf_append(&peer.to, &HEAD[i], 1);
        door_bed_run_for(&bed, &peer, 2);
    }
    frames_put_begin(&peer.to);
    door_peer_call(&peer, 1, "/a.B/C", NULL);
    assert_true(door_bed_run_until_opened(&bed, &peer, 1));
    assert_string_equal(bed.address, "192.0.2.1:4242");
}

static void
a_proxy_without_a_head_is_not_taken(void **state)
{
    (void)state;
    open_bed("127.0.0.1", 0);
    call("", 0);
    assert_true(door_bed_run_until_over(&bed, &peer));
    assert_int_equal(bed.n_opened, 0);
    expect_logged("a connection of the proxy 127.0.0.1:");
    expect_logged("does not begin with a head of the PROXY protocol");
    assert_int_equal(udpai_door_count(bed.door).n_failed, 1);
    assert_int_equal(
        metered(udpai_door_meters(bed.door), UDPAI_METRIC_HANDSHAKES_FAILED, "proxy_head"), 1);
}

static void
version_1_is_not_taken(void **state)
{
    (void)state;
    open_bed("127.0.0.1", 0);
    call("PROXY TCP4 192.0.2.1 198.51.100.1 4242 443\r\n", 44);
    assert_true(door_bed_run_until_over(&bed, &peer));
    expect_logged("version 1 of the PROXY protocol");
}

static void
a_proxy_that_only_connects_is_not_logged(void **state)
{
    (void)state;
    open_bed("127.0.0.1", 0);
    dial(&peer);
    door_peer_close(&peer);
    call(HEAD, sizeof(HEAD) - 1);
    assert_true(door_bed_run_until_opened(&bed, &peer, 1));
    pthread_mutex_lock(&mutex);
    assert_string_equal(logged, "");
    pthread_mutex_unlock(&mutex);
    assert_int_equal(udpai_door_count(bed.door).n_failed, 0);
}

static void
a_head_must_come_in_time(void **state)
{
    (void)state;
    open_bed("127.0.0.1", 300);
    dial(&peer);
    udpai_strbuf_append(&peer.to, HEAD, 20);
    assert_true(door_bed_run_until_over(&bed, &peer));
    expect_logged("no head of the PROXY protocol in time");
}

/* One client has all that it may have; another, by the same proxy, is taken. */
static void
limits_are_of_the_clients(void **state)
{
    (void)state;
    static const char other[] =
        "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\300\0\2\2\306\63\144\1\020\222\1\273";
    door_peer second = {.socket = -1};
    open_bed("127.0.0.1", 0);
    udpai_door_set_max(bed.door, 100, 1);
    call(HEAD, sizeof(HEAD) - 1);
    assert_true(door_bed_run_until_opened(&bed, &peer, 1));
    dial(&second);
    udpai_strbuf_append(&second.to, HEAD, sizeof(HEAD) - 1);
    assert_true(door_bed_run_until_over(&bed, &second));
    expect_logged("192.0.2.1");
    door_peer_close(&second);
    dial(&second);
    udpai_strbuf_append(&second.to, other, sizeof(other) - 1);
    frames_put_begin(&second.to);
    door_peer_call(&second, 1, "/a.B/C", NULL);
    assert_true(door_bed_run_until_opened(&bed, &second, 2));
    assert_string_equal(bed.address, "192.0.2.2:4242");
    door_peer_close(&second);
}

/* Those that wait are bounded; one that has its head at once is taken all the same when one of them
 * has gone. */
static void
many_without_heads_are_bounded(void **state)
{
    (void)state;
    static door_peer many[HEADS_MAX];
    struct rlimit files;
    assert_ok(getrlimit(RLIMIT_NOFILE, &files));
    if (files.rlim_max < FILES)
        skip();
    files.rlim_cur = files.rlim_max < 2 * FILES ? files.rlim_max : 2 * FILES;
    assert_ok(setrlimit(RLIMIT_NOFILE, &files));
    open_bed("127.0.0.1", 0);
    for (size_t i = 0; i < HEADS_MAX; i++) {
        dial(&many[i]);
        if (i % 50 == 0)
            door_bed_run_for(&bed, &many[i], 2); /* it is taken meanwhile */
    }
    dial(&peer);
    assert_true(door_bed_run_until_over(&bed, &peer));
    expect_logged("many others have not sent a head");
    for (size_t i = 0; i < HEADS_MAX; i++)
        door_peer_close(&many[i]);
    do {
        door_peer_close(&peer);
        call(HEAD, sizeof(HEAD) - 1);
    } while (!door_bed_run_until_opened(&bed, &peer, 1));
    assert_string_equal(bed.address, "192.0.2.1:4242");
}

static void
one_that_waits_for_its_head_ends_with_the_listener(void **state)
{
    (void)state;
    open_bed("127.0.0.1", 0);
    dial(&peer);
    udpai_strbuf_append(&peer.to, HEAD, 20);
    door_bed_run_for(&bed, &peer, 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
        CASE(it_counts_as_the_client_of_its_head),
        CASE(a_connection_of_the_proxy_itself_counts_as_that),
        CASE(others_are_served_as_they_are),
        CASE(a_head_may_come_byte_by_byte),
        CASE(a_proxy_without_a_head_is_not_taken),
        CASE(version_1_is_not_taken),
        CASE(a_proxy_that_only_connects_is_not_logged),
        CASE(a_head_must_come_in_time),
        CASE(limits_are_of_the_clients),
        CASE(many_without_heads_are_bounded),
        CASE(one_that_waits_for_its_head_ends_with_the_listener),
#undef CASE
    };
    return cmocka_run_group_tests_name("door_proxies", tests, NULL, NULL);
}
