/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and messages of gRPC on a connection, frame by frame. */
#include "tests/harness/oom.h"
#include "tests/harness/test.h"
#include "tests/unit/transport/door_bed.h"

static door_bed bed;
static door_peer peer;

static int
begin(void **state)
{
    (void)state;
    assert_ok(door_bed_open(&bed));
    assert_ok(door_bed_connect(&bed, &peer, "192.0.2.1:1"));
    frames_put_begin(&peer.to);
    door_bed_run(&bed, &peer);
    frames_put(&peer.to, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, (udpai_str){0});
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

/* ---- what came back ---- */

typedef struct answer {
    char status[8], grpc_status[8], grpc_message[256], accepts[16], key[64], key_bin[64];
    size_t n_heads;
    char body[1024];
    size_t body_len;
    bool has_ended;
    int reset; /* its code; -1: it was not */
} answer;

static void
note(answer *to, const nghttp2_nv *field)
{
    static const struct {
        const char *name;
        size_t at, size;
    } known[] = {

#define FIELD(name, member) {name, offsetof(answer, member), sizeof(((answer *)0)->member)}
        FIELD(":status", status),
        FIELD("grpc-status", grpc_status),
        FIELD("grpc-message", grpc_message),
        FIELD("grpc-accept-encoding", accepts),
        FIELD("key", key),
        FIELD("key-bin", key_bin),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(known); i++)
        if (strcmp((const char *)field->name, known[i].name) == 0)
            snprintf((char *)to + known[i].at, known[i].size, "%s", (const char *)field->value);
}

static void
inflate(nghttp2_hd_inflater *inflater, udpai_str head, answer *to)
{
    nghttp2_nv field;
    int flags = 0;
    while (!(flags & NGHTTP2_HD_INFLATE_FINAL)) {
        ssize_t n = nghttp2_hd_inflate_hd2(inflater, &field, &flags, (const uint8_t *)head.data,
                                           head.len, 1);
        assert_true(n >= 0);
        head = (udpai_str){head.data + n, head.len - (size_t)n};
        if (flags & NGHTTP2_HD_INFLATE_EMIT)
            note(to, &field);
    }
    nghttp2_hd_inflate_end_headers(inflater);
    to->n_heads++;
}

/* Of this stream, by all that has come. */
static answer
answer_of(uint32_t id)
{
    nghttp2_hd_inflater *inflater = NULL;
    udpai_str at = udpai_strbuf_view(&peer.from);
    answer all, found = {.reset = -1};
    frame one;
    assert_ok(nghttp2_hd_inflate_new(&inflater));
    while (frames_next(&at, &one)) {
        answer *to = one.id == id ? &found : &all;
        if (one.type == NGHTTP2_HEADERS)
            inflate(inflater, one.payload, to);
        if (one.type == NGHTTP2_DATA && to == &found) {
            size_t n = udpai_min_size(one.payload.len, sizeof(found.body) - found.body_len);
            memcpy(found.body + found.body_len, one.payload.data, n);
            found.body_len += n;
        }
        if (one.type == NGHTTP2_RST_STREAM && to == &found)
            found.reset = one.payload.data[3];
        if (one.type <= NGHTTP2_HEADERS && one.flags & NGHTTP2_FLAG_END_STREAM)
            to->has_ended = true;
    }
    nghttp2_hd_inflate_del(inflater);
    return found;
}

static size_t
count(uint8_t type, uint32_t id)
{
    udpai_str at = udpai_strbuf_view(&peer.from);
    frame one;
    size_t n = 0;
    while (frames_next(&at, &one))
        n += one.type == type && one.id == id;
    return n;
}

/* ---- calls ---- */

static void
say(uint32_t id, const char *text)
{
    udpai_str message = udpai_str_from(text);
    frames_put_message(&peer.to, id, message, (uint32_t)message.len);
}

static void
half_close(uint32_t id)
{
    frames_put(&peer.to, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, id, (udpai_str){0});
}

static void
messages_go_both_ways(void **state)
{
    (void)state;
    door_peer_call(&peer, 1, "/a.B/C", NULL);
    say(1, "hello");
    door_bed_run(&bed, &peer);
    assert_string_equal(bed.path, "/a.B/C");
    say(1, "again");
    half_close(1);
    door_bed_run(&bed, &peer);
    answer got = answer_of(1);
    assert_string_equal(got.status, "200");
    assert_string_equal(got.accepts, "identity");
    assert_int_equal(got.body_len, 20);
    assert_memory_equal(got.body, "\0\0\0\0\5hello\0\0\0\0\5again", 20);
    assert_string_equal(got.grpc_status, "0");
    assert_true(got.has_ended);
    assert_int_equal(got.reset, -1);
    assert_int_equal(bed.n_ended, 1);
    assert_int_equal(bed.n_open, 0);
    assert_int_equal(bed.why, UDPA_OK);
}

/* However frames cut messages, and however many a frame has. */
static void
frames_are_not_messages(void **state)
{
    (void)state;
    static const char both[] = "\0\0\0\0\3one\0\0\0\0\3two";
    door_peer_call(&peer, 1, "/a.B/C", NULL);
    for (size_t i = 0; i < 16; i++)
        frames_put(&peer.to, NGHTTP2_DATA, 0, 1, (udpai_str){both + i, 1});
    frames_put(&peer.to, NGHTTP2_DATA, 0, 1, (udpai_str){both, 16});
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_messages, 4);
    assert_memory_equal(bed.message, "two", 3);
}

static void
an_empty_message_is_one(void **state)
{
    (void)state;
    door_peer_call(&peer, 1, "/a.B/C", NULL);
    say(1, "");
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_messages, 1);
    assert_int_equal(bed.message_len, 0);
    assert_int_equal(answer_of(1).body_len, 5);
}

static void
words_of_a_refusal_are_percent_encoded(void **state)
{
    (void)state;
    door_peer_call(&peer, 1, "/refused", NULL);
    half_close(1);
    door_bed_run(&bed, &peer);
    answer got = answer_of(1);
    assert_string_equal(got.status, "200");
    assert_string_equal(got.grpc_status, "7");
    assert_string_equal(got.grpc_message, "%20not you: 100 %25%20");
    assert_true(got.has_ended);
}

/* Its end is in what has come by then; and nothing more is needed of it. */
static void
an_answer_before_the_end_resets_what_still_comes(void **state)
{
    (void)state;
    door_peer_call(&peer, 1, "/a.B/C", NULL);
    say(1, "end");
    door_bed_run(&bed, &peer);
    answer got = answer_of(1);
    assert_string_equal(got.grpc_status, "0");
    assert_int_equal(got.reset, NGHTTP2_NO_ERROR);
    assert_int_equal(bed.n_open, 0);
}

static void
what_is_no_grpc_is_told_so(void **state)
{
    (void)state;
    udpai_strbuf head = {0};
    udpai_strbuf_puts(&head, "\x82\x86"); /* GET */
    frames_put_field(&head, ":path", "/");
    frames_put_field(&head, ":authority", "x");
    frames_put(&peer.to, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1,
               udpai_strbuf_view(&head));
    udpai_strbuf_done(&head);
    door_bed_run(&bed, &peer);
    answer got = answer_of(1);
    assert_string_equal(got.status, "415");
    assert_non_null(strstr(got.grpc_message, "here is gRPC"));
    assert_true(got.has_ended);
    assert_int_equal(bed.n_opened, 0);
}

static void
expect_failure(const char *grpc_status, const char *words, bool is_greedy)
{
    door_bed_run(&bed, &peer);
    answer got = answer_of(1);
    assert_string_equal(got.grpc_status, grpc_status);
    if (!strstr(got.grpc_message, words))
        fail_msg("'%s' does not say '%s'", got.grpc_message, words);
    assert_int_equal(bed.n_failed, 1);
    assert_int_equal(bed.n_greedy, is_greedy);
}

/* A call with one more field; "": none. */
static void
call_with(const char *path, const char *name, const char *value)
{
    udpai_strbuf more = {0};
    if (*name)
        frames_put_field(&more, name, value);
    door_peer_call(&peer, 1, path, &more);
    udpai_strbuf_done(&more);
}

static void
nothing_is_decompressed(void **state)
{
    (void)state;
    call_with("/a.B/C", "grpc-encoding", "gzip");
    frames_put(&peer.to, NGHTTP2_DATA, 0, 1, UDPAI_STR("\1\0\0\0\3zip"));
    say(1, "behind it");
    expect_failure("12", "a message is compressed", false);
    assert_int_equal(bed.n_messages, 0);
}

/* It makes no sense, while a message that is compressed does. */
static void
compression_must_be_announced(void **state)
{
    (void)state;
    call_with("/a.B/C", "grpc-encoding", "identity");
    frames_put(&peer.to, NGHTTP2_DATA, 0, 1, UDPAI_STR("\1\0\0\0\3zip"));
    expect_failure("13", "a message begins with 1 instead of 0", false);
    assert_int_equal(bed.n_messages, 0);
}

static void
no_message_begins_with_two(void **state)
{
    (void)state;
    call_with("/a.B/C", "grpc-encoding", "gzip");
    frames_put(&peer.to, NGHTTP2_DATA, 0, 1, UDPAI_STR("\2\0\0\0\3two"));
    expect_failure("13", "a message begins with 2 instead of 0", false);
}

/* By its first bytes. */
static void
a_message_that_is_too_large_is_not_waited_for(void **state)
{
    (void)state;
    door_peer_call(&peer, 1, "/a.B/C", NULL);
    frames_put_message(&peer.to, 1, UDPAI_STR(""), (64 << 20) + 1);
    expect_failure("8", "a message of 67108865 bytes is too large: at most 67108864", true);
}

static void
an_end_within_a_message_is_told(void **state)
{
    (void)state;
    door_peer_call(&peer, 1, "/a.B/C", NULL);
    frames_put_message(&peer.to, 1, UDPAI_STR("ten"), 10);
    half_close(1);
    expect_failure("3", "has ended within a message", false);
}

static void
the_time_of_the_caller_is_kept(void **state)
{
    (void)state;
    udpai_strbuf more = {0};
    frames_put_field(&more, "grpc-timeout", "20m");
    door_peer_call(&peer, 1, "/a.B/C", &more);
    udpai_strbuf_done(&more);
    door_bed_run_for(&bed, &peer, 200);
    expect_failure("4", "grpc-timeout", false);
}

/* ---- metadata ---- */

static void
metadata_goes_first_and_last(void **state)
{
    (void)state;
    udpai_strbuf more = {0};
    frames_put_field(&more, "key", "a value");
    frames_put_field(&more, "key-bin", "+v8=");
    door_peer_call(&peer, 1, "/a.B/C", &more);
    udpai_strbuf_done(&more);
    say(1, "hello");
    door_bed_run(&bed, &peer);
    answer got = answer_of(1);
    assert_string_equal(got.key, "a value");
    assert_string_equal(got.key_bin, "");
    half_close(1);
    door_bed_run(&bed, &peer);
    got = answer_of(1);
    assert_string_equal(got.key_bin, "+v8");
    assert_string_equal(got.grpc_status, "0");
    assert_int_equal(got.n_heads, 2);
    assert_int_equal(bed.n_not_sent, 0);
}

/* What is sent with a status alone would be all in the trailers. */
static void
a_response_without_a_message_has_both_too(void **state)
{
    (void)state;
    call_with("/refused", "key", "a value");
    half_close(1);
    door_bed_run(&bed, &peer);
    answer got = answer_of(1);
    assert_string_equal(got.key, "a value");
    assert_string_equal(got.grpc_status, "7");
    assert_int_equal(got.n_heads, 2);
    assert_true(got.has_ended);
}

static void
bytes_that_are_no_base64_end_a_call(void **state)
{
    (void)state;
    call_with("/a.B/C", "key-bin", "AAAAA");
    door_bed_run(&bed, &peer);
    answer got = answer_of(1);
    assert_string_equal(got.grpc_status, "13");
    assert_int_equal(got.n_heads, 1);
    assert_int_equal(bed.n_opened, 0);
}

static void
not_every_field_is_metadata(void **state)
{
    (void)state;

    static const struct {
        const char *name, *value;
        udpa_err err;
    } cases[] = {
        {"", "x", UDPA_ERR_INVAL},
        {"Key", "x", UDPA_ERR_INVAL},
        {":status", "200", UDPA_ERR_INVAL},
        {"grpc-status", "0", UDPA_ERR_INVAL},
        {"te", "trailers", UDPA_ERR_INVAL},
        {"content-type", "x", UDPA_ERR_INVAL},
        {"a", " x", UDPA_ERR_INVAL},
        {"a", "x ", UDPA_ERR_INVAL},
        {"a", "x\n", UDPA_ERR_INVAL},
        {"a", "\xc3\xbc", UDPA_ERR_INVAL},
        {"a", "", UDPA_OK},
        {"a-0_.", "x ~", UDPA_OK},
        {"a-bin", " \xc3\n", UDPA_OK},
    };

    udpai_str value;
    call_with("/a.B/C", "grpc-timeout", "1H");
    door_bed_run(&bed, &peer);
    static const char *const others[] = {":path", "grpc-timeout", "content-type", "absent"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++)
        assert_false(udpai_door_stream_metadata(bed.last, udpai_str_from(others[i]), &value));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++)
        assert_int_equal(udpai_door_stream_add_metadata(bed.last, UDPAI_DOOR_TRAILING,
                                                        udpai_str_from(cases[i].name),
                                                        udpai_str_from(cases[i].value)),
                         cases[i].err);
}

static void
metadata_is_bounded_and_may_be_too_late(void **state)
{
    (void)state;
    const udpai_str name = UDPAI_STR("a"), value = UDPAI_STR("x");
    call_with("/a.B/C", "", "");
    door_bed_run(&bed, &peer);
    for (int i = 0; i < UDPAI_DOOR_METADATA_MAX; i++) {
        assert_ok(udpai_door_stream_add_metadata(bed.last, UDPAI_DOOR_INITIAL, name, value));
        assert_ok(udpai_door_stream_add_metadata(bed.last, UDPAI_DOOR_TRAILING, name, value));
    }
    assert_int_equal(udpai_door_stream_add_metadata(bed.last, UDPAI_DOOR_TRAILING, name, value),
                     UDPA_ERR_LIMIT);
    say(1, "hello");
    door_bed_run(&bed, &peer);
    assert_int_equal(udpai_door_stream_add_metadata(bed.last, UDPAI_DOOR_INITIAL, name, value),
                     UDPA_ERR_PRECONDITION);
    udpai_door_stream_finish(bed.last, NULL);
    assert_int_equal(udpai_door_stream_add_metadata(bed.last, UDPAI_DOOR_TRAILING, name, value),
                     UDPA_ERR_PRECONDITION);
    door_bed_run(&bed, &peer);
    assert_string_equal(answer_of(1).grpc_status, "0");
}

/* ---- windows ---- */

static udpai_str
zeros(size_t n)
{
    static const char room[16384];
    assert_true(n <= sizeof(room));
    return (udpai_str){room, n};
}

/* The end comes when it is read again, and what was kept has yet to be handed over. */
static void
an_end_does_not_overtake_messages(void **state)
{
    (void)state;
    bed.holds = true;
    door_peer_call(&peer, 1, "/held", NULL);
    for (int i = 0; i < 3; i++)
        frames_put_message(&peer.to, 1, UDPAI_STR("echo"), 4);
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_messages, 0);
    udpai_door_stream_set_reading(bed.last, true);
    frames_put(&peer.to, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, (udpai_str){0});
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_failed, 0);
    assert_int_equal(bed.n_messages, 3);
    assert_int_equal(bed.n_ended, 1);
}

/* A stream that is not read gets no more room; others do. */
static void
a_stream_that_is_not_read_holds_itself_alone(void **state)
{
    (void)state;
    bed.holds = true;
    door_peer_call(&peer, 1, "/held", NULL);
    door_bed_run(&bed, &peer);
    bed.holds = false;
    for (int i = 0; i < 15; i++) /* 240 of 256 KiB */
        frames_put_message(&peer.to, 1, zeros(16379), 16379);
    door_bed_run(&bed, &peer);
    udpai_door_stream *held = bed.last;
    assert_int_equal(count(NGHTTP2_WINDOW_UPDATE, 1), 0);
    door_peer_call(&peer, 3, "/a.B/C", NULL);
    for (int i = 0; i < 15; i++)
        frames_put_message(&peer.to, 3, zeros(16379), 16379);
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_messages, 15);
    assert_true(count(NGHTTP2_WINDOW_UPDATE, 3) > 0);
    assert_int_equal(count(NGHTTP2_WINDOW_UPDATE, 1), 0);
    udpai_door_stream_set_reading(held, true);
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.n_messages, 30);
    assert_true(count(NGHTTP2_WINDOW_UPDATE, 1) > 0);
}

/* The peer lets one byte come at a time. */
static void
a_window_may_be_of_one_byte(void **state)
{
    (void)state;
    frames_put(&peer.to, NGHTTP2_SETTINGS, 0, 0, UDPAI_STR("\0\4\0\0\0\1"));
    door_peer_call(&peer, 1, "/a.B/C", NULL);
    say(1, "seven");
    for (int i = 0; i < 9; i++) {
        door_bed_run(&bed, &peer);
        assert_int_equal(answer_of(1).body_len, i + 1);
        frames_put(&peer.to, NGHTTP2_WINDOW_UPDATE, 0, 1, UDPAI_STR("\0\0\0\1"));
    }
    door_bed_run(&bed, &peer);
    assert_memory_equal(answer_of(1).body, "\0\0\0\0\5seven", 10);
}

/* ---- room for messages that are coming ---- */

/* A mebibyte, as far as there is a window. */
static void
begin_large(uint32_t id, int frames)
{
    frames_put_message(&peer.to, id, (udpai_str){0}, 1 << 20);
    for (int i = 0; i < frames; i++)
        frames_put(&peer.to, NGHTTP2_DATA, 0, id, zeros(16384));
}

static void
a_large_message_waits_for_room(void **state)
{
    (void)state;
    bed.room = (1 << 20) + 5;
    door_peer_call(&peer, 1, "/a.B/C", NULL);
    door_peer_call(&peer, 3, "/a.B/C", NULL);
    begin_large(1, 12);
    begin_large(3, 12);
    door_bed_run(&bed, &peer);
    assert_true(count(NGHTTP2_WINDOW_UPDATE, 1) > 0);
    assert_int_equal(count(NGHTTP2_WINDOW_UPDATE, 3), 0);
    assert_int_equal(bed.room, 0);
    for (int i = 12; i < 64; i++) { /* the first one is completed, and the other one has its turn */
        frames_put(&peer.to, NGHTTP2_DATA, 0, 1, zeros(16384));
        door_bed_run(&bed, &peer);
    }
    assert_int_equal(bed.n_messages, 1);
    assert_int_equal(bed.message_len, 1 << 20);
    assert_true(count(NGHTTP2_WINDOW_UPDATE, 3) > 0);
    for (int i = 12; i < 64; i++) {
        frames_put(&peer.to, NGHTTP2_DATA, 0, 3, zeros(16384));
        door_bed_run(&bed, &peer);
    }
    assert_int_equal(bed.n_messages, 2);
    assert_int_equal(bed.room, (1 << 20) + 5);
}

/* However long those have waited that are larger. */
static void
the_smaller_one_has_its_turn_first(void **state)
{
    (void)state;
    bed.room = 0;
    for (uint32_t id = 1; id <= 5; id += 2)
        door_peer_call(&peer, id, "/a.B/C", NULL);
    frames_put_message(&peer.to, 1, zeros(1000), 32 << 20);
    door_bed_run(&bed, &peer);
    frames_put_message(&peer.to, 3, zeros(1000), 1 << 20);
    door_bed_run(&bed, &peer);
    bed.room = (32 << 20) + 5;
    begin_large(5, 0); /* it finds room, and is given up: then it is the turn of those that wait */
    frames_put(&peer.to, NGHTTP2_RST_STREAM, 0, 5, UDPAI_STR("\0\0\0\x8"));
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.room, (32 << 20) + 5 - ((1 << 20) + 5));
}

/* What was given up gives its room back. */
static void
who_goes_gives_back_what_was_reserved(void **state)
{
    (void)state;
    bed.room = (1 << 20) + 5;
    door_peer_call(&peer, 1, "/a.B/C", NULL);
    begin_large(1, 2);
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.room, 0);
    frames_put(&peer.to, NGHTTP2_RST_STREAM, 0, 1, UDPAI_STR("\0\0\0\x8"));
    door_bed_run(&bed, &peer);
    assert_int_equal(bed.room, (1 << 20) + 5);
    assert_int_equal(bed.n_open, 0);
}

/* Without any room at all, 16 MiB are taken of what windows let come: the bed has 8 to reserve. */
static void
what_waits_is_bounded(void **state)
{
    (void)state;
    bed.room = 0;
    for (uint32_t i = 0; i < 120; i++) {
        door_peer_call(&peer, 2 * i + 1, "/a.B/C", NULL);
        begin_large(2 * i + 1, 12);
        door_bed_run(&bed, &peer);
    }
    assert_true(bed.n_greedy > 10);
    assert_true(bed.n_greedy < 80);
    assert_int_equal(bed.n_failed, bed.n_greedy);
}

/* ---- without memory ---- */

static udpa_err
talk(void *context)
{
    door_bed own;
    door_peer client = {.socket = -1};
    bool has_answer = false;
    (void)context;
    udpa_err err = door_bed_open(&own);
    if (err == UDPA_OK)
        err = door_bed_connect(&own, &client, "192.0.2.1:1");
    if (err == UDPA_OK) {
        frames_put_begin(&client.to);
        udpai_strbuf more = {0};
        frames_put_field(&more, "key", "a value");
        frames_put_field(&more, "key-bin", "AAAA");
        door_peer_call(&client, 1, "/a.B/C", &more);
        if (udpai_strbuf_failed(&more))
            client.to.failed = true;
        udpai_strbuf_done(&more);
        frames_put_message(&client.to, 1, UDPAI_STR("hel"), 5);
        if (!udpai_strbuf_failed(&client.to))
            door_bed_run(&own, &client);
        frames_put(&client.to, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, UDPAI_STR("lo"));
        if (!udpai_strbuf_failed(&client.to))
            door_bed_run(&own, &client);
        has_answer = client.from.len && !udpai_strbuf_failed(&client.from) &&
                     memmem(client.from.data, client.from.len, "hello", 5);
    }
    door_peer_close(&client);
    door_bed_close(&own);
    return err == UDPA_OK && has_answer && own.why == UDPA_OK && !own.n_not_sent ? UDPA_OK
                                                                                 : UDPA_ERR_NOMEM;
}

static void
without_memory_a_connection_ends(void **state)
{
    (void)state;
    assert_true(oom_torture(talk, NULL) > 20);
}

int
main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(messages_go_both_ways),
        CASE(frames_are_not_messages),
        CASE(an_empty_message_is_one),
        CASE(words_of_a_refusal_are_percent_encoded),
        CASE(an_answer_before_the_end_resets_what_still_comes),
        CASE(what_is_no_grpc_is_told_so),
        CASE(nothing_is_decompressed),
        CASE(compression_must_be_announced),
        CASE(no_message_begins_with_two),
        CASE(a_message_that_is_too_large_is_not_waited_for),
        CASE(an_end_within_a_message_is_told),
        CASE(the_time_of_the_caller_is_kept),
        CASE(metadata_goes_first_and_last),
        CASE(a_response_without_a_message_has_both_too),
        CASE(bytes_that_are_no_base64_end_a_call),
        CASE(not_every_field_is_metadata),
        CASE(metadata_is_bounded_and_may_be_too_late),
        CASE(an_end_does_not_overtake_messages),
        CASE(a_stream_that_is_not_read_holds_itself_alone),
        CASE(a_window_may_be_of_one_byte),
        CASE(a_large_message_waits_for_room),
        CASE(the_smaller_one_has_its_turn_first),
        CASE(who_goes_gives_back_what_was_reserved),
        CASE(what_waits_is_bounded),
        cmocka_unit_test(without_memory_a_connection_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
