/* SPDX-License-Identifier: Apache-2.0 */
/* A door that serves more than gRPC: requests come whole, and are answered once; connections of
 * HTTP/1.1 are handed over. */
#include "tests/harness/oom.h"
#include "tests/harness/test.h"
#include "tests/unit/transport/door_bed.h"

static door_bed bed;
static door_peer peer;

static void
open_connection(void)
{
    assert_ok(door_bed_connect(&bed, &peer, "192.0.2.1:1"));
}

static int
begin(void **state)
{
    (void)state;
    assert_ok(door_bed_open_serving(&bed));
    open_connection();
    return 0;
}

static int
end(void **state)
{
    (void)state;
    door_peer_close(&peer);
    door_bed_close(&bed);
    assert_int_equal(bed.n_open, 0);
    udpai_visit_unref(bed.held);
    for (size_t i = 0; i < bed.n_held_too; i++)
        udpai_visit_unref(bed.held_too[i]);
    assert_int_equal(bed.n_over, bed.n_visits);
    assert_int_equal(bed.n_admitted, bed.n_dismissed);
    assert_int_equal(bed.room, (size_t)1 << 40);
    return 0;
}

static void
begin_second(void)
{
    frames_put_begin(&peer.to);
    door_bed_run(&bed, &peer);
}

/* What has come on a stream. */
typedef struct response {
    char text[400];
    size_t n;   /* bytes */
    int status; /* one that HPACK has a number for; else 0 */
    int reset;  /* -1: it was not */
    bool is_over;
} response;

static response
response_of(uint32_t id)
{
    response found = {.reset = -1};
    udpai_str at = udpai_strbuf_view(&peer.from);
    frame one;
    while (frames_next(&at, &one)) {
        if (one.id != id)
            continue;
        if (one.type == NGHTTP2_HEADERS && one.payload.len)
            found.status = (uint8_t)one.payload.data[0] == 0x88   ? 200
                           : (uint8_t)one.payload.data[0] == 0x8d ? 404
                                                                  : 0;
        if (one.type == NGHTTP2_DATA) {
            size_t n = udpai_min_size(one.payload.len, sizeof(found.text) - 1 - found.n);
            memcpy(found.text + found.n, one.payload.data, n);
            found.n += n;
        }
        if (one.type == NGHTTP2_RST_STREAM)
            found.reset = one.payload.data[3];
        else
            found.is_over |= one.flags & NGHTTP2_FLAG_END_STREAM;
    }
    return found;
}

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
call_works(uint32_t id)
{
    size_t n = bed.n_messages;
    door_peer_call(&peer, id, "/a.B/C", NULL);
    frames_put_message(&peer.to, id, UDPAI_STR("echo"), 4);
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_messages, n + 1);
}

static void
a_request_is_answered_beside_a_call(void **state)
{
    (void)state;
    begin_second();
    call_works(1);
    door_peer_request(&peer, 3, "GET", "/page?x=1", true);
    door_bed_run(&bed, &peer);
    const response found = response_of(3);
    assert_int_equal(found.status, 200);
    assert_string_equal(found.text, "/page ");
    assert_true(found.is_over);
    assert_int_equal(found.reset, -1);
    assert_int_equal(bed.n_over, 1);
    assert_int_equal(bed.n_taken, 1);
    frames_put_message(&peer.to, 1, UDPAI_STR("echo"), 4);
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_messages, 2);
    assert_int_equal(bed.n_opened, 1);
}

static void
its_body_comes_whole(void **state)
{
    (void)state;
    begin_second();
    door_peer_request(&peer, 1, "POST", "/take", false);
    frames_put(&peer.to, NGHTTP2_DATA, 0, 1, UDPAI_STR("one "));
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_visits, 0);
    frames_put(&peer.to, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, UDPAI_STR("two"));
    door_bed_run(&bed, &peer);
    assert_string_equal(bed.visit_body, "one two");
    assert_string_equal(response_of(1).text, "/take one two");
}

static void
a_head_alone_has_no_text(void **state)
{
    (void)state;
    begin_second();
    door_peer_request(&peer, 1, "HEAD", "/page", true);
    door_bed_run(&bed, &peer);
    const response found = response_of(1);
    assert_int_equal(found.status, 200);
    assert_true(found.is_over);
    assert_int_equal(found.n, 0);
}

static void
send_body(uint32_t id, size_t size, bool ends)
{
    static char piece[10000];
    while (size) {
        size_t n = udpai_min_size(size, sizeof(piece));
        size -= n;
        frames_put(&peer.to, NGHTTP2_DATA, !size && ends ? NGHTTP2_FLAG_END_STREAM : 0, id,
                   (udpai_str){piece, n});
        door_bed_run(&bed, &peer);
    }
}

/* Windows let the largest one come; one that is larger is answered before its end. */
static void
a_body_is_bounded(void **state)
{
    (void)state;
    begin_second();
    door_peer_request(&peer, 1, "POST", "/take", false);
    send_body(1, DOOR_BED_BODY, true);
    assert_int_equal(bed.visit_wrong, 0);
    assert_int_equal(response_of(1).status, 200);
    door_peer_request(&peer, 3, "POST", "/take", false);
    send_body(3, DOOR_BED_BODY + 1, false);
    assert_int_equal(bed.visit_wrong, 413);
    const response found = response_of(3);
    assert_true(found.is_over);
    assert_int_equal(found.reset, NGHTTP2_NO_ERROR);
    call_works(5);
}

/* Of a connection all together are. */
static void
bodies_are_bounded(void **state)
{
    (void)state;
    begin_second();
    for (uint32_t id = 1; id <= 5; id += 2)
        door_peer_request(&peer, id, "POST", "/take", false);
    send_body(1, DOOR_BED_BODY - 10, false);
    send_body(3, DOOR_BED_BODY - 10, false);
    send_body(5, 20, false);
    assert_int_equal(bed.n_visits, 0);
    send_body(5, 1, false);
    assert_int_equal(bed.visit_wrong, 429);
    send_body(1, 10, true);
    assert_int_equal(bed.visit_wrong, 0);
    assert_int_equal(response_of(1).status, 200);
}

static void
what_has_no_room_is_refused(void **state)
{
    (void)state;
    begin_second();
    size_t room = bed.room;
    bed.room = 0;
    door_peer_request(&peer, 1, "POST", "/take", false);
    send_body(1, 60000, true);
    assert_int_equal(response_of(1).status, 200);
    door_peer_request(&peer, 3, "POST", "/take", false);
    send_body(3, 70000, true);
    assert_int_equal(bed.visit_wrong, 429);
    bed.room = room;
}

static void
who_may_not_is_refused(void **state)
{
    (void)state;
    begin_second();
    bed.may_not_visit = true;
    door_peer_request(&peer, 1, "GET", "/page", true);
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.visit_wrong, 429);
    assert_int_equal(bed.n_visits, 1);
    assert_int_equal(bed.n_over, 1);
}

/* As many as are served at a time, and which do not end. */
static void
take_all_places(void)
{
    begin_second();
    for (uint32_t i = 0; i < DOOR_BED_VISITS; i++)
        door_peer_request(&peer, 2 * i + 1, "GET", "/held", true);
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_visits, DOOR_BED_VISITS);
}

/* Of the first ones that were held. */
static void
give_back_places(size_t n)
{
    for (size_t i = 0; i < n; i++)
        door_bed_answer(bed.held_too[i], 200, "at last");
    door_bed_run(&bed, &peer);
}

static void
more_at_once_wait(void **state)
{
    (void)state;
    take_all_places();
    door_peer_request(&peer, 9, "POST", "/take", false);
    frames_put(&peer.to, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 9, UDPAI_STR("the first"));
    door_peer_request(&peer, 11, "GET", "/page", true);
    call_works(13);
    assert_int_equal(bed.n_visits, DOOR_BED_VISITS);
    assert_int_equal(bed.n_admitted, bed.n_dismissed + 2);
    give_back_places(1);
    assert_string_equal(response_of(1).text, "at last");
    assert_string_equal(response_of(9).text, "/take the first");
    assert_string_equal(response_of(11).text, "/page ");
    assert_int_equal(bed.n_visits, DOOR_BED_VISITS + 2);
    assert_string_equal(bed.visit_path, "/page");
    assert_int_equal(bed.n_admitted, bed.n_dismissed);
}

/* One that waits and is given up does not take the place of another. */
static void
who_waits_may_go(void **state)
{
    (void)state;
    take_all_places();
    for (uint32_t id = 9; id <= 13; id += 2)
        door_peer_request(&peer, id, "GET", "/held", true);
    frames_put(&peer.to, NGHTTP2_RST_STREAM, 0, 11, UDPAI_STR("\0\0\0\x8"));
    door_peer_request(&peer, 15, "GET", "/page", true);
    door_bed_run(&bed, &peer);
    assert_int_equal(response_of(15).reset, -1);
    give_back_places(2);
    assert_int_equal(bed.n_visits, DOOR_BED_VISITS + 2);
    assert_int_equal(response_of(15).status, 0);
    door_bed_answer(bed.held_too[DOOR_BED_VISITS], 200, "third");
    door_bed_run(&bed, &peer);
    assert_string_equal(response_of(9).text, "third");
    assert_string_equal(response_of(15).text, "/page ");
}

static void
too_many_may_be_tried_again(void **state)
{
    (void)state;
    take_all_places();
    for (uint32_t id = 9; id <= 15; id += 2)
        door_peer_request(&peer, id, "GET", "/page", true);
    door_bed_run(&bed, &peer);
    assert_int_equal(response_of(15).reset, NGHTTP2_REFUSED_STREAM);
    assert_int_equal(response_of(13).reset, -1);
    call_works(17);
    bed.may_not_visit = true; /* nor does one wait that does not count */
    give_back_places(1);
    for (uint32_t id = 9; id <= 13; id += 2)
        assert_string_equal(response_of(id).text, "/page ");
}

static void
who_may_not_does_not_wait(void **state)
{
    (void)state;
    take_all_places();
    bed.may_not_visit = true;
    door_peer_request(&peer, 9, "GET", "/page", true);
    door_bed_run(&bed, &peer);
    assert_int_equal(response_of(9).reset, NGHTTP2_REFUSED_STREAM);
}

/* Nothing more of its body is kept. */
static void
what_is_wrong_waits_for_its_words(void **state)
{
    (void)state;
    take_all_places();
    size_t room = bed.room;
    bed.room = 0;
    door_peer_request(&peer, 9, "POST", "/take", false);
    send_body(9, 150000, true);
    bed.room = room;
    assert_int_equal(response_of(9).reset, -1);
    give_back_places(1);
    assert_int_equal(bed.n_visits, DOOR_BED_VISITS + 1);
    assert_int_equal(bed.visit_wrong, 429);
    assert_true(response_of(9).is_over);
    assert_int_equal(bed.n_over, 2);
}

static void
an_answer_may_come_late_or_too_late(void **state)
{
    (void)state;
    begin_second();
    door_peer_request(&peer, 1, "GET", "/hold", true);
    door_bed_run(&bed, &peer);
    assert_non_null(bed.held);
    call_works(3);
    door_bed_answer(bed.held, 200, "late");
    door_bed_run(&bed, &peer);
    assert_string_equal(response_of(1).text, "late");
    assert_int_equal(bed.n_taken, 1);
    bed.held = udpai_visit_unref(bed.held);
    door_peer_request(&peer, 5, "GET", "/hold", true);
    frames_put(&peer.to, NGHTTP2_RST_STREAM, 0, 5, UDPAI_STR("\0\0\0\x8"));
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_over, 2);
    assert_int_equal(bed.n_taken, 1);
    door_bed_answer(bed.held, 200, "too late");
    door_bed_run(&bed, &peer);
    assert_int_equal(response_of(5).n, 0);
    call_works(7);
}

static void
what_nobody_serves_may_be_tried_elsewhere(void **state)
{
    (void)state;
    begin_second();
    bed.visits_are_over = true;
    door_peer_request(&peer, 1, "GET", "/page", true);
    door_bed_run(&bed, &peer);
    assert_int_equal(response_of(1).reset, NGHTTP2_REFUSED_STREAM);
    call_works(3);
}

/* As calls that are refused are. */
static void
a_flood_of_wrong_ones_ends(void **state)
{
    (void)state;
    begin_second();
    call_works(1);
    for (uint32_t i = 1; i <= 40 && goaway() < 0; i++) {
        door_peer_request(&peer, 2 * i + 1, "GET", "/none", true);
        door_bed_run(&bed, &peer);
    }
    assert_int_equal(response_of(3).status, 404);
    assert_int_equal(goaway(), NGHTTP2_NO_ERROR);
    assert_false(peer.is_over);
    frames_put_message(&peer.to, 1, UDPAI_STR("end"), 3);
    door_bed_run(&bed, &peer);
    assert_true(peer.is_over);
}

static void
put_wrong(uint32_t number)
{
    door_peer_request(&peer, 2 * number + 1, "GET", "/none", true);
}

/* Where proxies may have brought many clients together, too. */
static void
so_does_one_of_many_clients(void **state)
{
    (void)state;
    begin_second();
    bed.is_open_to_all = true;
    for (uint32_t i = 0; i < 5000 && !peer.is_over; i++) {
        put_wrong(i);
        if (i % 4 == 0)
            door_bed_run(&bed, &peer);
    }
    assert_int_equal(goaway(), NGHTTP2_ENHANCE_YOUR_CALM);
    assert_true(bed.n_visits >= 500 && bed.n_visits < 5000);
    assert_int_equal(udpai_door_count(bed.door).n_floods, 1);
}

/* ---- time ---- */

#define SHORT_MS 30
#define TURNS 2000

static void
a_body_that_does_not_come_is_not_waited_for(void **state)
{
    (void)state;
    bed.visits.body_ms = SHORT_MS;
    begin_second();
    call_works(1);
    door_peer_request(&peer, 3, "POST", "/take", false);
    for (int i = 0; i < TURNS && !bed.n_visits; i++)
        door_bed_run_for(&bed, &peer, 1);
    assert_int_equal(bed.visit_wrong, 408);
    assert_true(response_of(3).is_over);
    frames_put_message(&peer.to, 1, UDPAI_STR("echo"), 4);
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_messages, 2);
}

/* Room for a large body is not held for as long as others take; a small one waits. */
static void
a_large_body_does_not_wait_for_long(void **state)
{
    (void)state;
    bed.visits.body_ms = SHORT_MS;
    take_all_places();
    size_t room = bed.room;
    door_peer_request(&peer, 9, "POST", "/take", false);
    send_body(9, 100000, true);
    door_peer_request(&peer, 11, "POST", "/take", false);
    send_body(11, 10, true);
    assert_true(bed.room < room);
    for (int i = 0; i < TURNS && response_of(9).reset < 0; i++)
        door_bed_run_for(&bed, &peer, 1);
    assert_int_equal(response_of(9).reset, NGHTTP2_REFUSED_STREAM);
    assert_int_equal(bed.room, room);
    door_bed_run_for(&bed, &peer, 3 * SHORT_MS);
    give_back_places(1);
    assert_int_equal(response_of(11).status, 200);
    assert_int_equal(bed.n_visits, DOOR_BED_VISITS + 1);
}

/* But for what is held there is no time. */
static void
an_answer_that_is_not_taken_is_given_up(void **state)
{
    static char text[100001];
    (void)state;
    memset(text, 't', sizeof(text) - 1);
    bed.visits.body_ms = bed.visits.stall_ms = SHORT_MS;
    begin_second();
    door_peer_request(&peer, 1, "GET", "/hold", true);
    door_bed_run_for(&bed, &peer, 3 * SHORT_MS);
    assert_int_equal(response_of(1).reset, -1);
    door_bed_answer(bed.held, 200, text); /* which is larger than the window */
    for (int i = 0; i < TURNS && response_of(1).reset < 0; i++)
        door_bed_run_for(&bed, &peer, 1);
    assert_int_equal(response_of(1).reset, NGHTTP2_CANCEL);
    assert_int_equal(response_of(1).n, 399); /* and more, which the test does not keep */
    assert_int_equal(bed.n_over, 1);
    assert_int_equal(bed.n_taken, 0);
    bed.held = udpai_visit_unref(bed.held);
}

/* Not even its first byte. */
static void
one_that_nobody_begins_to_take_is_too(void **state)
{
    (void)state;
    bed.visits.stall_ms = SHORT_MS;
    udpai_strbuf_puts(&peer.to, FRAMES_PREFACE);
    frames_put(&peer.to, NGHTTP2_SETTINGS, 0, 0, UDPAI_STR("\0\x4\0\0\0\0")); /* no window */
    door_peer_request(&peer, 1, "GET", "/page", true);
    for (int i = 0; i < TURNS && response_of(1).reset < 0; i++)
        door_bed_run_for(&bed, &peer, 1);
    assert_int_equal(response_of(1).status, 200);
    assert_int_equal(response_of(1).reset, NGHTTP2_CANCEL);
    assert_int_equal(response_of(1).n, 0);
}

/* The node ends: those that are being answered have little time, and nobody else is waited for. */
static void
a_listener_that_closes_waits_for_none(void **state)
{
    (void)state;
    take_all_places();
    door_peer_request(&peer, 9, "GET", "/page", true);
    door_bed_run(&bed, &peer);
    udpai_door_listener_close(bed.listener);
    for (int i = 0; i < 5 * TURNS && !peer.is_over; i++)
        door_bed_run_for(&bed, &peer, 1);
    assert_true(peer.is_over);
    assert_int_equal(response_of(1).reset, NGHTTP2_CANCEL);
    assert_int_equal(response_of(9).reset, NGHTTP2_REFUSED_STREAM);
    assert_int_equal(bed.n_over, DOOR_BED_VISITS);
}

static void
send_in_pieces(const char *text, size_t step)
{
    for (size_t at = 0; text[at] && !peer.is_over;) {
        size_t n = udpai_min_size(step, strlen(text + at));
        udpai_strbuf_append(&peer.to, text + at, n);
        at += n;
        door_bed_run(&bed, &peer);
    }
}

static void
other_bytes_are_handed_over(void **state)
{
    static const char *const texts[] = {"GET / HTTP/1.1\r\nhost: x\r\n\r\n", "PUT / HTTP/1.1\r\n",
                                        "PRO / HTTP/1.1\r\n", "\x16\x03\x01 nonsense"};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        door_peer_close(&peer);
        open_connection();
        send_in_pieces(texts[i], 1000);
        assert_int_equal(bed.n_handed, i + 1);
        assert_string_equal(bed.early, texts[i]);
        assert_int_equal(peer.from.len, 0); /* nobody has sent SETTINGS */
    }
}

static void
they_may_come_one_by_one(void **state)
{
    (void)state;
    send_in_pieces("PR", 1);
    assert_int_equal(bed.n_handed, 0);
    send_in_pieces("X", 1);
    assert_int_equal(bed.n_handed, 1);
    assert_string_equal(bed.early, "PRX");
    door_peer_close(&peer);
    open_connection();
    send_in_pieces(FRAMES_PREFACE, 1);
    frames_put(&peer.to, NGHTTP2_SETTINGS, 0, 0, (udpai_str){0});
    door_peer_request(&peer, 1, "GET", "/page", true);
    door_bed_run(&bed, &peer);
    assert_string_equal(response_of(1).text, "/page ");
    assert_int_equal(bed.n_handed, 1);
}

/* ---- without memory ---- */

static bool
has(const door_peer *one, const char *text)
{
    return one->from.len && !udpai_strbuf_failed(&one->from) &&
           memmem(one->from.data, one->from.len, text, strlen(text));
}

static udpa_err
visit_once(void *context)
{
    static door_bed own;
    door_peer client = {.socket = -1};
    bool has_answer = false;
    (void)context;
    udpa_err err = door_bed_open_serving(&own);
    if (err == UDPA_OK)
        err = door_bed_connect(&own, &client, "192.0.2.1:1");
    if (err == UDPA_OK) {
        frames_put_begin(&client.to);
        door_peer_request(&client, 1, "POST", "/take", false);
        frames_put(&client.to, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, UDPAI_STR("hello"));
        if (!udpai_strbuf_failed(&client.to))
            door_bed_run(&own, &client);
        has_answer = has(&client, "/take hello");
    }
    door_peer_close(&client);
    door_bed_close(&own);
    return err == UDPA_OK && has_answer ? UDPA_OK : UDPA_ERR_NOMEM;
}

static udpa_err
hand_over_once(void *context)
{
    static door_bed own;
    door_peer client = {.socket = -1};
    (void)context;
    udpa_err err = door_bed_open_serving(&own);
    if (err == UDPA_OK)
        err = door_bed_connect(&own, &client, "192.0.2.1:1");
    if (err == UDPA_OK) {
        udpai_strbuf_puts(&client.to, "GET / HTTP/1.1\r\n\r\n");
        if (!udpai_strbuf_failed(&client.to))
            door_bed_run(&own, &client);
    }
    door_peer_close(&client);
    door_bed_close(&own);
    return err == UDPA_OK && strncmp(own.early, "GET", 3) == 0 ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
without_memory_there_is_no_harm(void **state)
{
    (void)state;
    assert_true(oom_torture(visit_once, NULL) > 20);
    assert_true(oom_torture(hand_over_once, NULL) > 5);
}

int
main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(a_request_is_answered_beside_a_call),
        CASE(its_body_comes_whole),
        CASE(a_head_alone_has_no_text),
        CASE(a_body_is_bounded),
        CASE(bodies_are_bounded),
        CASE(what_has_no_room_is_refused),
        CASE(who_may_not_is_refused),
        CASE(more_at_once_wait),
        CASE(who_waits_may_go),
        CASE(too_many_may_be_tried_again),
        CASE(who_may_not_does_not_wait),
        CASE(what_is_wrong_waits_for_its_words),
        CASE(an_answer_may_come_late_or_too_late),
        CASE(what_nobody_serves_may_be_tried_elsewhere),
        CASE(a_flood_of_wrong_ones_ends),
        CASE(so_does_one_of_many_clients),
        CASE(a_body_that_does_not_come_is_not_waited_for),
        CASE(a_large_body_does_not_wait_for_long),
        CASE(an_answer_that_is_not_taken_is_given_up),
        CASE(one_that_nobody_begins_to_take_is_too),
        CASE(a_listener_that_closes_waits_for_none),
        CASE(other_bytes_are_handed_over),
        CASE(they_may_come_one_by_one),
        cmocka_unit_test(without_memory_there_is_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
