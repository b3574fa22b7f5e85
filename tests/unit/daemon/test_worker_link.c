/* SPDX-License-Identifier: Apache-2.0 */
/* Frames between a node and its workers: whole ones alone are taken, and nonsense ends it. */
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "daemon/worker_counts.h"
#include "daemon/worker_link.h"
#include "tests/harness/test.h"

#define MOST 1000

typedef struct world {
    uv_loop_t loop;
    udpai_worker_link *link;
    int peer; /* the other end */
    udpai_strbuf seen;
    unsigned n_frames, n_ended;
    udpai_frame_kind last;
    char why[200];
} world;

static void
on_frame(void *userdata, udpai_frame_kind kind, udpai_str payload)
{
    world *self = userdata;
    self->n_frames++;
    self->last = kind;
    udpai_strbuf_str(&self->seen, payload);
}

static void
on_ended(void *userdata, const udpa_error *why)
{
    world *self = userdata;
    self->n_ended++;
    snprintf(self->why, sizeof(self->why), "%s", why ? udpa_error_message(why) : "gone");
}

static void
begin(world *self)
{
    int pair[2];
    *self = (world){0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(uv_loop_init(&self->loop), 0);
    const udpai_worker_link_env env = {on_frame, on_ended, self, MOST};
    udpa_error *error = NULL;
    assert_int_equal(udpai_worker_link_open(&self->link, &self->loop, pair[0], &env, &error),
                     UDPA_OK);
    self->peer = pair[1];
}

static void
end(world *self)
{
    udpai_worker_link_close(self->link);
    uv_run(&self->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&self->loop), 0);
    udpai_strbuf_done(&self->seen);
    if (self->peer >= 0)
        close(self->peer);
}

static void
say(world *self, const char *bytes, size_t n)
{
    assert_int_equal(write(self->peer, bytes, n), n);
    uv_run(&self->loop, UV_RUN_NOWAIT);
}

static void
expect_seen(world *self, unsigned n_frames, const char *text)
{
    assert_int_equal(self->n_frames, n_frames);
    assert_str(udpai_strbuf_view(&self->seen), text);
}

static void
whole_frames_are_taken(void **state)
{
    (void)state;
    static const char two[] = "\3\0\0\0\4abc\0\0\0\0\2\2\0\0\0\5de";
    world self;
    begin(&self);
    for (size_t i = 0; i < sizeof(two) - 1; i++) /* a byte at a time */
        say(&self, two + i, 1);
    expect_seen(&self, 3, "abcde");
    assert_int_equal(self.last, UDPAI_FRAME_REPORT);
    say(&self, two, sizeof(two) - 1); /* and at once */
    expect_seen(&self, 6, "abcdeabcde");
    assert_int_equal(self.n_ended, 0);
    end(&self);
}

static void
nonsense_ends_it(void **state)
{
    (void)state;
    static const char *const all[] = {
        "\0\0\0\0\0",   /* no kind */
        "\0\0\0\0\377", /* one that there is not */
        "\351\3\0\0\4", /* too long */
        "\0\0\0\200\4", /* far too long */
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++) {
        world self;
        begin(&self);
        say(&self, "\1\0\0\0\4x", 6);
        say(&self, all[i], 5);
        assert_int_equal(self.n_ended, 1);
        assert_string_equal(self.why, "it sends what is no frame");
        say(&self, "\1\0\0\0\4y", 6); /* nobody listens */
        expect_seen(&self, 1, "x");
        assert_int_equal(self.n_ended, 1);
        end(&self);
    }
}

static void
add_value(void *userdata, const udpai_reading *reading)
{
    *(uint64_t *)userdata += reading->values[0];
}

static void
counts_are_sent_whole(void **state)
{
    (void)state;
    const udpai_stream_counts counts = {{1, 0, UINT64_MAX, 300}, 20000, 30000};
    UDPA_AUTO(udpai_meters_free) udpai_meters *meters = NULL;
    udpai_stream_counts decoded;
    udpai_strbuf encoded = {0};
    udpai_str readings;
    uint64_t n_acks = 0;
    assert_ok(udpai_meters_new(&meters));
    udpai_meter_add(udpai_meters_get(meters, UDPAI_METRIC_ACKS, UDPAI_STR("com.acme.A")), 300);
    udpai_worker_counts_encode(&counts, &encoded);
    udpai_meters_read(meters, udpai_reading_encode, &encoded);
    udpai_str bytes = udpai_strbuf_view(&encoded);
    assert_ok(udpai_worker_counts_decode(bytes, &decoded, &readings));
    assert_memory_equal(&decoded, &counts, sizeof(counts));
    assert_ok(udpai_readings_decode(readings, add_value, &n_acks));
    assert_int_equal(n_acks, 300);
    bytes.len--;
    assert_int_equal(udpai_worker_counts_decode(bytes, &decoded, &readings), UDPA_ERR_MALFORMED);
    assert_int_equal(
        udpai_worker_counts_decode(UDPAI_STR("\1\1\1\1\1\1\1\1\1"), &decoded, &readings),
        UDPA_ERR_MALFORMED);
    udpai_strbuf_done(&encoded);
}

static void
its_end_is_told_once(void **state)
{
    (void)state;
    world self;
    begin(&self);
    say(&self, "\5\0\0\0\4", 5); /* not whole */
    close(self.peer);
    self.peer = -1;
    uv_run(&self.loop, UV_RUN_NOWAIT);
    assert_int_equal(self.n_ended, 1);
    assert_string_equal(self.why, "gone");
    (void)udpai_worker_link_send(self.link, UDPAI_FRAME_ORDER, UDPAI_STR("x"));
    uv_run(&self.loop, UV_RUN_NOWAIT);
    assert_int_equal(self.n_ended, 1);
    assert_int_equal(self.n_frames, 0);
    end(&self);
}

static void
what_is_sent_is_a_frame(void **state)
{
    (void)state;
    char bytes[20];
    world self;
    begin(&self);
    assert_int_equal(udpai_worker_link_send(self.link, UDPAI_FRAME_ORDER, UDPAI_STR("abc")),
                     UDPA_OK);
    assert_int_equal(udpai_worker_link_send(self.link, UDPAI_FRAME_LISTENING, (udpai_str){0}),
                     UDPA_OK);
    uv_run(&self.loop, UV_RUN_NOWAIT);
    assert_int_equal(read(self.peer, bytes, sizeof(bytes)), 13);
    assert_memory_equal(bytes, "\3\0\0\0\4abc\0\0\0\0\2", 13);
    end(&self);
}

static void
without_memory_it_ends(void **state)
{
    (void)state;
    world self;
    begin(&self);
    udpai_alloc_fail_after(0);
    assert_int_equal(udpai_worker_link_send(self.link, UDPAI_FRAME_ORDER, UDPAI_STR("abc")),
                     UDPA_ERR_NOMEM);
    udpai_alloc_fail_after(-1);
    assert_int_equal(self.n_ended, 1);
    assert_string_equal(self.why, "out of memory");
    end(&self);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_frames_are_taken),  cmocka_unit_test(nonsense_ends_it),
        cmocka_unit_test(counts_are_sent_whole),   cmocka_unit_test(its_end_is_told_once),
        cmocka_unit_test(what_is_sent_is_a_frame), cmocka_unit_test(without_memory_it_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
