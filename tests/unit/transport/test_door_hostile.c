/* SPDX-License-Identifier: Apache-2.0 */
/* Peers who are not as they should be: frames are written by hand, and come without end. */
#include "tests/harness/test.h"
#include "tests/unit/transport/door_bed.h"

#define OWN_RESETS 50 /* of a connection; and of all of its address */
#define SHARED_RESETS 400
#define SHARED_REFUSALS 2000
#define SLACK 60 /* what comes in the time that the test takes */

static door_bed bed;
static door_peer peer;

static void
connect_from(const char *address)
{
    assert_ok(door_bed_connect(&bed, &peer, address));
    frames_put_begin(&peer.to);
    door_bed_run(&bed, &peer);
}

static int
begin(void **state)
{
    (void)state;
    assert_ok(door_bed_open(&bed));
    connect_from("192.0.2.1:1");
    return 0;
}

static int
end(void **state)
{
    (void)state;
    door_peer_close(&peer);
    door_bed_close(&bed);
    assert_int_equal(bed.n_open, 0);
    return 0;
}

/* The code of the last GOAWAY; -1: there was none. */
static int
goaway(void)
{
    udpai_str at = udpai_strbuf_view(&peer.from);
    frame one;
    int code = -1;
    while (frames_next(&at, &one))
        if (one.type == NGHTTP2_GOAWAY)
            code = one.payload.data[7];
    return code;
}

static void
expect_calm(void)
{
    assert_int_equal(goaway(), NGHTTP2_ENHANCE_YOUR_CALM);
    assert_true(peer.is_over);
    assert_true(peer.from.len < 300000);
}

/* In pieces: a peer does not wait for the end of it. */
static void
repeat(unsigned first, unsigned n, unsigned step, void (*put)(uint32_t number))
{
    for (unsigned i = first; i < first + n && !peer.is_over; i++) {
        put(i);
        if (i % step == 0)
            door_bed_run(&bed, &peer);
    }
    door_bed_run(&bed, &peer);
}

static void
put_reset(uint32_t number)
{
    door_peer_call(&peer, 2 * number + 1, "/a.B/C", NULL);
    frames_put(&peer.to, NGHTTP2_RST_STREAM, 0, 2 * number + 1, UDPAI_STR("\0\0\0\x8"));
}

static void
who_resets_what_it_has_begun_is_cut_off(void **state)
{
    (void)state;
    repeat(0, 5000, 50, put_reset);
    expect_calm();
    assert_true(bed.n_opened >= OWN_RESETS + SHARED_RESETS);
    assert_true(bed.n_opened <= OWN_RESETS + SHARED_RESETS + 50 + SLACK);
}

/* Its address has used up what all of it may; others have not. */
static void
who_comes_back_has_little(void **state)
{
    (void)state;
    repeat(0, 5000, 50, put_reset);
    expect_calm();
    for (int i = 0; i < 3; i++) {
        door_peer_close(&peer);
        bed.n_opened = 0;
        connect_from("192.0.2.1:2");
        repeat(0, 5000, 50, put_reset);
        expect_calm();
        assert_true(bed.n_opened <= OWN_RESETS + 50 + SLACK);
    }
    door_peer_close(&peer);
    bed.n_opened = 0;
    connect_from("192.0.2.2:2");
    repeat(0, 300, 50, put_reset);
    assert_int_equal(goaway(), -1);
    assert_int_equal(bed.n_opened, 300);
}

static void
put_ping(uint32_t number)
{
    (void)number;
    frames_put(&peer.to, NGHTTP2_PING, 0, 0, UDPAI_STR("12345678"));
}

static void
put_settings(uint32_t number)
{
    (void)number;
    frames_put(&peer.to, NGHTTP2_SETTINGS, 0, 0, (udpai_str){0});
}

static void
put_priority(uint32_t number)
{
    frames_put(&peer.to, NGHTTP2_PRIORITY, 0, 2 * number + 1, UDPAI_STR("\0\0\0\0\0"));
}

static void
put_empty_data(uint32_t number)
{
    if (number == 0)
        door_peer_call(&peer, 1, "/a.B/C", NULL);
    frames_put(&peer.to, NGHTTP2_DATA, 0, 1, (udpai_str){0});
}

static void
put_window_update(uint32_t number)
{
    (void)number;
    frames_put(&peer.to, NGHTTP2_WINDOW_UPDATE, 0, 0, UDPAI_STR("\0\0\0\1"));
}

static void
frames_that_ask_for_nothing_are_bounded(void **state)
{
    static void (*const kinds[])(uint32_t) = {put_ping, put_settings, put_priority, put_empty_data,
                                              put_window_update};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(kinds); i++) {
        char address[32];
        snprintf(address, sizeof(address), "192.0.2.%zu:1", 10 + i);
        door_peer_close(&peer);
        connect_from(address);
        repeat(0, 500, 500, kinds[i]);
        assert_int_equal(goaway(), -1);
        repeat(500, 100000, 1000, kinds[i]);
        expect_calm();
    }
}

/* A client of gRPC pings half as often once it has read that. */
static void
who_pings_too_often_is_sent_the_reason(void **state)
{
    static void (*const kinds[])(uint32_t) = {put_ping, put_priority};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(kinds); i++) {
        door_peer_close(&peer);
        connect_from(i ? "192.0.2.9:1" : "192.0.2.8:1");
        repeat(0, 100000, 1000, kinds[i]);
        expect_calm();
        bool has_reason = memmem(peer.from.data, peer.from.len, "\0\0\0\xbtoo_many_pings", 18);
        assert_int_equal(has_reason, kinds[i] == put_ping);
    }
}

/* A client answers each message with frames: they are free, however long that goes on. */
static void
what_answers_messages_is_free(void **state)
{
    (void)state;
    door_peer_call(&peer, 1, "/a.B/C", NULL);
    for (int i = 0; i < 6000; i++) {
        frames_put_message(&peer.to, 1, UDPAI_STR("echo"), 4);
        door_bed_run(&bed, &peer);
        for (int k = 0; k < 8; k++)
            put_ping(0);
        if (i % 100 == 0)
            peer.from.len = 0;
    }
    door_bed_run(&bed, &peer);
    assert_int_equal(goaway(), -1);
    assert_int_equal(bed.n_messages, 6000);
}

static void
put_continuation(uint32_t number)
{
    static const char head[] = "\x83\x86\x00\x05:path\x02/a";
    if (number == 0)
        frames_put(&peer.to, NGHTTP2_HEADERS, 0, 1, (udpai_str){head, sizeof(head) - 1});
    frames_put(&peer.to, NGHTTP2_CONTINUATION, 0, 1, UDPAI_STR("\x00\x01x\x01y"));
}

static void
a_head_without_end_is_not_taken(void **state)
{
    (void)state;
    repeat(0, 100000, 50, put_continuation);
    assert_true(peer.is_over || goaway() >= 0);
    assert_int_equal(bed.n_opened, 0);
    assert_true(peer.from.len < 10000);
}

/* It is refused, and the connection goes on. */
static void
a_head_that_is_too_large_is_refused(void **state)
{
    (void)state;
    char value[121];
    udpai_strbuf more = {0};
    memset(value, 'v', sizeof(value) - 1);
    value[120] = '\0';
    for (int i = 0; i < 120; i++) /* 158 bytes each, as HPACK counts */
        frames_put_field(&more, "x-large", value);
    assert_true(more.len < 16384);
    door_peer_call(&peer, 1, "/a.B/C", &more);
    udpai_strbuf_done(&more);
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_opened, 0);
    door_peer_call(&peer, 3, "/a.B/C", NULL);
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_opened, 1);
}

/* Those that it has go on, and it is to open the next ones elsewhere. */
static void
a_connection_of_which_much_is_refused_goes(void **state)
{
    (void)state;
    door_peer_call(&peer, 1, "/a.B/C", NULL);
    for (uint32_t i = 1; i <= 25; i++)
        door_peer_call(&peer, 2 * i + 1, "/refused", NULL);
    door_bed_run(&bed, &peer);
    assert_int_equal(goaway(), NGHTTP2_NO_ERROR);
    assert_false(peer.is_over);
    frames_put_message(&peer.to, 1, UDPAI_STR("end"), 3);
    door_bed_run(&bed, &peer);
    assert_true(peer.is_over);
}

/* As when a proxy has brought clients together. */
static void
one_whose_peers_are_all_let_in_stays(void **state)
{
    (void)state;
    bed.is_open_to_all = true;
    door_peer_call(&peer, 1, "/a.B/C", NULL);
    for (uint32_t i = 1; i <= 500; i++) {
        door_peer_call(&peer, 2 * i + 1, "/refused", NULL);
        if (i % 10 == 0)
            door_bed_run(&bed, &peer);
    }
    door_bed_run(&bed, &peer);
    assert_int_equal(goaway(), -1);
    door_peer_call(&peer, 1003, "/a.B/C", NULL);
    frames_put_message(&peer.to, 1003, UDPAI_STR("end"), 3);
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_opened, 502);
    assert_int_equal(bed.n_messages, 1);
    assert_false(peer.is_over);
}

static void
put_refused(uint32_t number)
{
    door_peer_call(&peer, 2 * number + 1, "/refused", NULL);
}

static void
unless_they_are_a_flood(void **state)
{
    (void)state;
    bed.is_open_to_all = true;
    repeat(0, 20000, 10, put_refused);
    assert_int_equal(goaway(), NGHTTP2_ENHANCE_YOUR_CALM);
    assert_true(peer.is_over);
    assert_true(bed.n_opened >= SHARED_REFUSALS);
    assert_int_equal(udpai_door_count(bed.door).n_floods, 1);
}

static void
put_no_grpc(uint32_t number)
{
    udpai_strbuf head = {0};
    udpai_strbuf_puts(&head, "\x82\x86"); /* GET */
    frames_put_field(&head, ":path", "/");
    frames_put_field(&head, ":authority", "x");
    frames_put(&peer.to, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM,
               2 * number + 1, udpai_strbuf_view(&head));
    udpai_strbuf_done(&head);
}

static void
so_does_one_that_sends_no_grpc(void **state)
{
    (void)state;
    repeat(0, 1000, 10, put_no_grpc);
    assert_int_equal(goaway(), NGHTTP2_NO_ERROR);
    assert_true(peer.is_over);
    assert_int_equal(bed.n_opened, 0);
}

static udpai_strbuf large_fields;

static void
put_large_head(uint32_t number)
{
    door_peer_call(&peer, 2 * number + 1, "/a.B/C", &large_fields);
}

static void
heads_that_are_too_large_are_bounded(void **state)
{
    char value[121];
    (void)state;
    memset(value, 'v', sizeof(value) - 1);
    value[120] = '\0';
    for (int i = 0; i < 120; i++)
        frames_put_field(&large_fields, "x-large", value);
    repeat(0, 5000, 20, put_large_head);
    udpai_strbuf_done(&large_fields);
    large_fields = (udpai_strbuf){0};
    expect_calm();
    assert_int_equal(bed.n_opened, 0);
}

/* nghttp2 itself gives up then. */
static void
acknowledgements_that_pile_up_end_it_and_are_counted(void **state)
{
    (void)state;
    for (int i = 0; i < 3000; i++)
        put_settings(0);
    door_bed_run(&bed, &peer);
    assert_true(peer.is_over);
    assert_int_equal(udpai_door_count(bed.door).n_floods, 1);
}

static void
nonsense_ends_the_connection(void **state)
{
    static const char *const openings[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                           "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff",
                                           "\x16\x03\x01\x02"};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(openings); i++) {
        door_peer_close(&peer);
        assert_ok(door_bed_connect(&bed, &peer, "192.0.2.1:1"));
        udpai_strbuf_puts(&peer.to, openings[i]);
        for (int k = 0; k < 40; k++)
            udpai_strbuf_puts(&peer.to, "nonsense");
        door_bed_run(&bed, &peer);
        assert_true(peer.is_over);
        assert_int_equal(bed.n_opened, 0);
    }
}

/* It never reads: what is kept for it does not grow. */
static void
who_does_not_read_is_written_no_more(void **state)
{
    (void)state;
    door_peer_call(&peer, 1, "/a.B/C", NULL);
    udpai_strbuf large = {0};
    memset(udpai_strbuf_extend(&large, 16000), 'l', 16000);
    for (int i = 0; i < 200; i++)
        frames_put_message(&peer.to, 1, udpai_strbuf_view(&large), 16000);
    udpai_strbuf_done(&large);
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_messages, 200);
    assert_true(peer.from.len <= 65535 + 100000); /* his window, and what is no DATA */
    assert_int_equal(bed.n_open, 1);
}

/* The door is to have closed it, too: by the end of the message's echo, or of the call. */
static void
end_stream(uint32_t id, bool resets)
{
    door_peer_call(&peer, id, "/a.B/C", NULL);
    if (resets)
        frames_put(&peer.to, NGHTTP2_RST_STREAM, 0, id, UDPAI_STR("\0\0\0\x8"));
    else
        frames_put(&peer.to, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, id, (udpai_str){0});
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_open, 0);
}

static void
send_more(uint32_t id, uint8_t type)
{
    if (type == NGHTTP2_DATA)
        frames_put(&peer.to, NGHTTP2_DATA, 0, id, UDPAI_STR("more"));
    else
        door_peer_call(&peer, id, "/a.B/C", NULL);
    door_bed_run(&bed, &peer);
}

static void
who_goes_on_behind_its_end_is_cut_off(void **state)
{
    static const uint8_t types[] = {NGHTTP2_DATA, NGHTTP2_HEADERS};
    (void)state;
    for (size_t i = 0; i < 2 * UDPAI_ARRAY_LEN(types); i++) {
        door_peer_close(&peer);
        connect_from("192.0.2.1:1");
        end_stream(1, i % 2);
        for (uint32_t id = 3; id < 33; id += 2) /* so many are remembered */
            end_stream(id, false);
        assert_int_equal(goaway(), -1);
        size_t n_opened = bed.n_opened;
        send_more(1, types[i / 2]);
        assert_int_equal(goaway(), NGHTTP2_STREAM_CLOSED);
        assert_true(peer.is_over);
        assert_int_equal(bed.n_opened, n_opened);
    }
}

/* In one piece, or in pieces that end anywhere; the reset is the last thing that it may send. */
static void
so_is_who_goes_on_behind_a_reset_at_once(void **state)
{
    (void)state;
    for (size_t step = 1; step < 40; step += 4) {
        udpai_strbuf all = {0};
        door_peer_close(&peer);
        connect_from("192.0.2.1:1");
        frames_put_message(&all, 1, UDPAI_STR("some"), 4);
        frames_put(&all, NGHTTP2_RST_STREAM, 0, 1, UDPAI_STR("\0\0\0\x8"));
        door_peer_call(&peer, 1, "/a.B/C", NULL);
        for (size_t at = 0; at < all.len; at += step) {
            size_t n = udpai_min_size(step, all.len - at);
            udpai_strbuf_append(&peer.to, all.data + at, n);
            if (step > 1)
                door_bed_run(&bed, &peer);
        }
        door_bed_run(&bed, &peer);
        udpai_strbuf_done(&all);
        assert_int_equal(goaway(), -1);
        door_peer_call(&peer, 3, "/a.B/C", NULL);
        frames_put(&peer.to, NGHTTP2_RST_STREAM, 0, 3, UDPAI_STR("\0\0\0\x8"));
        send_more(3, NGHTTP2_DATA);
        assert_int_equal(goaway(), NGHTTP2_STREAM_CLOSED);
    }
}

/* What it sends may have been under way when the door has ended the stream. */
static void
who_was_cut_short_may_be_in_the_middle(void **state)
{
    static const uint8_t types[] = {NGHTTP2_DATA, NGHTTP2_HEADERS};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++) {
        uint32_t id = (uint32_t)(4 * i + 1);
        door_peer_call(&peer, id, "/a.B/C", NULL);
        frames_put_message(&peer.to, id, UDPAI_STR("end"), 3);
        door_bed_run(&bed, &peer);
        assert_int_equal(bed.n_open, 0);
        send_more(id, types[i]);
        frames_put(&peer.to, NGHTTP2_RST_STREAM, 0, id, UDPAI_STR("\0\0\0\x8"));
        send_more(id, types[i]); /* which makes no sense, and does no harm */
        end_stream(id + 2, false);
        assert_int_equal(goaway(), -1);
    }
}

int
main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(who_resets_what_it_has_begun_is_cut_off),
        CASE(who_comes_back_has_little),
        CASE(frames_that_ask_for_nothing_are_bounded),
        CASE(who_pings_too_often_is_sent_the_reason),
        CASE(what_answers_messages_is_free),
        CASE(a_head_without_end_is_not_taken),
        CASE(a_head_that_is_too_large_is_refused),
        CASE(a_connection_of_which_much_is_refused_goes),
        CASE(one_whose_peers_are_all_let_in_stays),
        CASE(unless_they_are_a_flood),
        CASE(so_does_one_that_sends_no_grpc),
        CASE(heads_that_are_too_large_are_bounded),
        CASE(acknowledgements_that_pile_up_end_it_and_are_counted),
        CASE(nonsense_ends_the_connection),
        CASE(who_does_not_read_is_written_no_more),
        CASE(who_goes_on_behind_its_end_is_cut_off),
        CASE(so_is_who_goes_on_behind_a_reset_at_once),
        CASE(who_was_cut_short_may_be_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
