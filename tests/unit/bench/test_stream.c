/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of servers in each protocol, as they come in pieces, and what is known of them then. */
#include "base/strbuf.h"
#include "tests/harness/test.h"
#include "tests/harness/wire.h"
#include "tools/bench/stream.h"

#define N_LEARNED 10

struct fixture {
    udpai_load_stream stream;
    udpai_load_version versions[N_LEARNED];
    udpai_strbuf told;
};

static void
put_text(udpai_strbuf *out, const char *name, const udpai_load_text *text)
{
    if (text->len)
        udpai_strbuf_printf(out, " %s=%.*s", name, (int)text->len, text->text);
}

static void
on_message(void *userdata, const udpai_load_stream *stream)
{
    struct fixture *self = userdata;
    udpai_strbuf_printf(&self->told, "%u%s%s%s", stream->n_resources,
                        stream->is_receipt ? " receipt" : "", stream->is_rejected ? " refused" : "",
                        stream->wants_receipt ? " wanted" : "");
    put_text(&self->told, "nonce", &stream->nonce);
    put_text(&self->told, "version", &stream->version);
    put_text(&self->told, "reason", &stream->reason);
    udpai_strbuf_puts(&self->told, "; ");
}

static void
begin(struct fixture *self, udpai_load_protocol protocol, bool is_learning)
{
    udpai_strbuf_done(&self->told);
    *self = (struct fixture){0};
    self->stream = (udpai_load_stream){
        .protocol = protocol,
        .message = on_message,
        .userdata = self,
        .learned = is_learning ? self->versions : NULL,
        .n_learned = N_LEARNED,
    };
}

static bool
take_in_steps(struct fixture *self, udpai_str bytes, size_t step)
{
    bool is_good = true;
    for (size_t at = 0; at < bytes.len; at += step)
        is_good = udpai_load_stream_read(
            &self->stream, (udpai_str){bytes.data + at, udpai_min_size(step, bytes.len - at)});
    return is_good;
}

static int
setup(void **state)
{
    static struct fixture self;
    self = (struct fixture){0};
    *state = &self;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *self = *state;
    udpai_strbuf_done(&self->told);
    wire_free_all();
    return 0;
}

/* A message of gRPC. */
static udpai_str
framed(udpai_str message)
{
    char *prefix = wire_room(5);
    for (size_t i = 0; i < 5; i++)
        prefix[i] = (char)(i ? message.len >> 8 * (4 - i) : 0);
    return W_JOIN((udpai_str){prefix, 5}, message);
}

/* In pieces of each length, whether versions are learned or not. */
static void
assert_told(struct fixture *self,
            udpai_load_protocol protocol,
            udpai_str bytes,
            const char *expected)
{
    for (size_t step = 1; step <= bytes.len; step++)
        for (int is_learning = 0; is_learning < 2; is_learning++) {
            begin(self, protocol, is_learning);
            assert_true(take_in_steps(self, bytes, step));
            assert_str(udpai_strbuf_view(&self->told), expected);
        }
}

static void
assert_version(const struct fixture *self, size_t index, const char *expected)
{
    const udpai_load_version *version = &self->versions[index];
    assert_str(((udpai_str){version->text, version->len}), expected);
}

/* ---- delta ---- */

#define DELTA_RESOURCE(name, version)                                                              \
    W_MESSAGE(2, W_TEXT(1, version), W_MESSAGE(2, W_TEXT(1, "type"), W_TEXT(2, "contents")),       \
              W_TEXT(3, name))

static udpai_str
delta_answers(void)
{
    return W_JOIN(framed(W_JOIN(W_TEXT(1, "of the whole"), DELTA_RESOURCE("com.acme/000001", "a"),
                                DELTA_RESOURCE("com.acme/000002", "b"), W_TEXT(4, "type"),
                                W_TEXT(5, "first"), W_TEXT(6, "com.acme/000003"))),
                  framed(W_NOTHING),
                  framed(W_JOIN(W_TEXT(5, "third"), DELTA_RESOURCE("000001", "c"))));
}

static void
delta_answers_are_counted(void **state)
{
    assert_told(*state, UDPAI_LOAD_DELTA, delta_answers(), "2 nonce=first; 0; 1 nonce=third; ");
}

/* As long as its message is there. */
static void
types_are_kept(void **state)
{
    struct fixture *self = *state;
    begin(self, UDPAI_LOAD_DELTA, false);
    assert_true(take_in_steps(self, framed(W_JOIN(W_TEXT(4, "type"), W_TEXT(5, "first"))), 1));
    assert_str(udpai_load_text_view(&self->stream.type_url), "type");
    assert_true(take_in_steps(self, framed(W_TEXT(5, "second")), 1));
    assert_int_equal(self->stream.type_url.len, 0);
}

static void
versions_are_learned_by_name(void **state)
{
    struct fixture *self = *state;
    begin(self, UDPAI_LOAD_DELTA, true);
    assert_true(take_in_steps(self, delta_answers(), 7));
    assert_version(self, 0, "");
    assert_version(self, 1, "c");
    assert_version(self, 2, "b");
}

static void
other_names_teach_nothing(void **state)
{
    struct fixture *self = *state;
    begin(self, UDPAI_LOAD_DELTA, true);
    udpai_str many =
        framed(W_JOIN(DELTA_RESOURCE("com.acme/000010", "a"), DELTA_RESOURCE("com.acme/other", "b"),
                      W_MESSAGE(2, W_TEXT(1, "c")), DELTA_RESOURCE("com.acme/000009", "d")));
    assert_true(take_in_steps(self, many, 100));
    for (size_t i = 0; i < N_LEARNED - 1; i++)
        assert_version(self, i, "");
    assert_version(self, N_LEARNED - 1, "d");
}

/* ---- state of the world ---- */

static void
state_of_the_world_answers_are_counted(void **state)
{
    udpai_str any = W_MESSAGE(2, W_TEXT(1, "type"), W_TEXT(2, "contents"));
    udpai_str bytes =
        W_JOIN(framed(W_JOIN(W_TEXT(1, "7"), any, any, any, W_TEXT(4, "type"), W_TEXT(5, "x"))),
               framed(W_TEXT(5, "y")));
    assert_told(*state, UDPAI_LOAD_STATE_OF_THE_WORLD, bytes, "3 nonce=x version=7; 0 nonce=y; ");
}

/* ---- UDPA ---- */

#define DELTA(...) framed(W_MESSAGE(3, W_MESSAGE(2, __VA_ARGS__)))
#define RESOURCE(name, version, type)                                                              \
    W_MESSAGE(1, W_TEXT(1, name), W_TEXT(2, version),                                              \
              W_MESSAGE(3, W_TEXT(1, type), W_TEXT(2, "contents")))

static udpai_str
node(void)
{
    return DELTA(RESOURCE("000003", "1", UDPAI_LOAD_NODE_TYPE), W_TEXT(3, "0"));
}

static void
the_node_of_a_server_is_no_resource(void **state)
{
    struct fixture *self = *state;
    udpai_str bytes = W_JOIN(node(), DELTA(RESOURCE("com.acme/000001", "a", UDPAI_TYPE_ENDPOINTS),
                                           RESOURCE("com.acme/000002", "b", UDPAI_TYPE_ENDPOINTS),
                                           W_TEXT(3, "1"), W_VARINT(4, 1), W_TEXT(5, "type")));
    assert_told(self, UDPAI_LOAD_UDPA, bytes, "0 nonce=0; 2 wanted nonce=1; ");
    assert_version(self, 1, "a");
    assert_version(self, 3, "");
}

static void
a_node_that_comes_later_is_none_either(void **state)
{
    udpai_str resource = RESOURCE("com.acme/000001", "a", UDPAI_TYPE_ENDPOINTS);
    assert_told(*state, UDPAI_LOAD_UDPA, W_JOIN(DELTA(resource, resource), node(), DELTA(resource)),
                "2; 0 nonce=0; 1; ");
}

/* Whoever says it again means to be counted. */
static void
there_is_one_node(void **state)
{
    udpai_str any = W_MESSAGE(3, W_TEXT(1, UDPAI_LOAD_NODE_TYPE), W_TEXT(1, UDPAI_LOAD_NODE_TYPE));
    assert_told(*state, UDPAI_LOAD_UDPA, W_JOIN(DELTA(W_MESSAGE(1, any, any)), node()),
                "0; 1 nonce=0; ");
}

static void
a_state_of_the_world_by_udpa(void **state)
{
    struct fixture *self = *state;
    udpai_str resource = RESOURCE("com.acme/000004", "a", UDPAI_TYPE_ENDPOINTS);
    udpai_str bytes = framed(W_MESSAGE(3, W_MESSAGE(1, resource, W_TEXT(2, "1"), W_VARINT(3, 1))));
    assert_told(self, UDPAI_LOAD_UDPA, bytes, "1 wanted nonce=1; ");
    assert_version(self, 4, "a");
}

static void
receipts_say_what_was_refused(void **state)
{
    udpai_str good = W_EMPTY(2);
    udpai_str bytes = W_JOIN(
        framed(W_MESSAGE(4, W_TEXT(1, "1"))),
        framed(W_MESSAGE(4, W_TEXT(1, "1"), good, W_MESSAGE(2, W_VARINT(1, 7), W_TEXT(2, "why")),
                         W_MESSAGE(2, W_VARINT(1, 7), W_TEXT(2, "another")), good)));
    assert_told(*state, UDPAI_LOAD_UDPA, bytes,
                "0 receipt nonce=1; 0 receipt refused nonce=1 reason=why; ");
}

static void
a_question_may_be_refused(void **state)
{
    udpai_str bytes = framed(W_MESSAGE(5, W_TEXT(1, "type"), W_TEXT(2, "com.acme"),
                                       W_MESSAGE(4, W_VARINT(1, 7), W_TEXT(2, "by a rule"))));
    assert_told(*state, UDPAI_LOAD_UDPA, bytes, "0 refused reason=by a rule; ");
}

/* ---- what is no answer ---- */

static void
other_types_of_fields_are_unknown_fields(void **state)
{
    assert_told(*state, UDPAI_LOAD_DELTA,
                framed(W_JOIN(W_VARINT(2, 1), W_VARINT(5, 1), W_FIXED64(5, 0))), "0; ");
    assert_told(*state, UDPAI_LOAD_UDPA,
                framed(W_JOIN(W_VARINT(4, 1), W_FIXED32(5, 1),
                              W_MESSAGE(3, W_MESSAGE(2, W_TEXT(4, "yes"), W_VARINT(3, 1))))),
                "0; ");
}

static void
assert_refused(struct fixture *self, udpai_load_protocol protocol, udpai_str bytes)
{
    udpai_str good = framed(W_NOTHING);
    for (size_t step = 1; step <= bytes.len; step++) {
        begin(self, protocol, true);
        assert_false(take_in_steps(self, bytes, step));
        assert_false(udpai_load_stream_read(&self->stream, good));
        assert_int_equal(self->told.len, 0);
    }
}

static void
what_is_compressed_is_refused(void **state)
{
    assert_refused(*state, UDPAI_LOAD_DELTA, UDPAI_STR("\1\0\0\0\1\0"));
}

static void
what_is_no_message_is_refused(void **state)
{
    assert_refused(*state, UDPAI_LOAD_DELTA, UDPAI_STR("\0\0\0\0\1\x0a"));
    assert_refused(*state, UDPAI_LOAD_UDPA,
                   UDPAI_STR("HTTP/1.1 400 Bad Request\r\n"
                             "HTTP/1.1 400 Bad Request\r\n"
                             "HTTP/1.1 400 Bad Request\r\n"));
}

/* A shorter one would not be known. */
static void
a_nonce_that_is_too_long_is_refused(void **state)
{
    char text[UDPAI_PARSER_ROOM + 1] = {0};
    memset(text, 'n', UDPAI_PARSER_ROOM);
    assert_refused(*state, UDPAI_LOAD_DELTA, framed(W_TEXT(5, text)));
    assert_refused(*state, UDPAI_LOAD_STATE_OF_THE_WORLD, framed(W_TEXT(1, text)));
    text[UDPAI_PARSER_ROOM - 1] = '\0';
    begin(*state, UDPAI_LOAD_DELTA, false);
    assert_true(take_in_steps(*state, framed(W_TEXT(5, text)), 1));
}

static void
a_version_that_is_too_long_is_refused(void **state)
{
    struct fixture *self = *state;
    char text[sizeof(self->versions[0].text) + 2] = {0};
    memset(text, 'v', sizeof(text) - 1);
    assert_refused(self, UDPAI_LOAD_DELTA, framed(DELTA_RESOURCE("000001", text)));
    text[sizeof(text) - 2] = '\0';
    begin(self, UDPAI_LOAD_DELTA, true);
    assert_true(take_in_steps(self, framed(DELTA_RESOURCE("000001", text)), 1));
    assert_version(self, 1, text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(delta_answers_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(types_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(versions_are_learned_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(other_names_teach_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(state_of_the_world_answers_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(the_node_of_a_server_is_no_resource, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_that_comes_later_is_none_either, setup, teardown),
        cmocka_unit_test_setup_teardown(there_is_one_node, setup, teardown),
        cmocka_unit_test_setup_teardown(a_state_of_the_world_by_udpa, setup, teardown),
        cmocka_unit_test_setup_teardown(receipts_say_what_was_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_question_may_be_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(other_types_of_fields_are_unknown_fields, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_compressed_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_message_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_nonce_that_is_too_long_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_version_that_is_too_long_is_refused, setup, teardown),
    };
    return cmocka_run_group_tests_name("bench/stream", tests, NULL, NULL);
}
