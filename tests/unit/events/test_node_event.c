/* SPDX-License-Identifier: Apache-2.0 */
/* What a message about an event of the node has, whatever a peer has sent. */
#include "events/node_event.h"

#include "base/bytes.h"
#include "base/utf8.h"
#include "tests/harness/test.h"
#include "udpa/event/v1/event.pb-c.h"

typedef Udpa__Event__V1__NodeEvent message;

/* To be freed. */
static message *
read_bytes(udpa_bytes *bytes)
{
    assert_non_null(bytes);
    message *read =
        udpa__event__v1__node_event__unpack(NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(read);
    udpa_bytes_unref(bytes);
    return read;
}

static message *
write_and_read(const udpai_node_event *event)
{
    return read_bytes(udpai_node_event_encode(event));
}

static void
a_message_has_what_it_is_about(void **state)
{
    const udpai_log_field about[] = {
        {UDPAI_LOG_VERSION, UDPAI_STR("v7")},
        {UDPAI_LOG_PEER, UDPAI_STR("envoy-1")},
        {UDPAI_LOG_IDENTITY, UDPAI_STR("edge@acme.com")},
        {UDPAI_LOG_ADDRESS, UDPAI_STR("10.0.0.1:9")},
        {UDPAI_LOG_SOURCE, UDPAI_STR("")},
        {UDPAI_LOG_SOURCE, UDPAI_STR("core")},
        {UDPAI_LOG_TYPE, UDPAI_STR("type.googleapis.com/a.B")},
        {UDPAI_LOG_NAME, UDPAI_STR("com.acme/x")},
        {UDPAI_LOG_NAME, UDPAI_STR("com.acme/second")},
        {UDPAI_LOG_CODE, UDPAI_STR("INVALID_ARGUMENT")},
    };
    const udpai_node_event event = {UDPAI_NOTE_NACK, UDPA_LOG_WARNING, "rejected", about,
                                    UDPAI_ARRAY_LEN(about)};
    (void)state;
    message *read = write_and_read(&event);
    assert_int_equal(read->kind, UDPA__EVENT__V1__NODE_EVENT__KIND__NACK);
    assert_int_equal(read->severity, UDPA__EVENT__V1__NODE_EVENT__SEVERITY__WARNING);
    assert_string_equal(read->text, "rejected");
    assert_string_equal(read->peer, "envoy-1");
    assert_string_equal(read->identity, "edge@acme.com");
    assert_string_equal(read->address, "10.0.0.1:9");
    assert_string_equal(read->source, "core"); /* one that is empty is not known */
    assert_string_equal(read->type, "type.googleapis.com/a.B");
    assert_string_equal(read->name, "com.acme/x");
    assert_string_equal(read->version, "v7");
    assert_string_equal(read->code, "INVALID_ARGUMENT");
    assert_int_equal(read->n_suppressed, 0);
    udpa__event__v1__node_event__free_unpacked(read, NULL);
}

static void
kinds_have_the_numbers_of_the_message(void **state)
{
    const ProtobufCEnumDescriptor *kinds = &udpa__event__v1__node_event__kind__descriptor;
    (void)state;
    assert_int_equal(kinds->n_values, UDPAI_NOTE_KINDS);
    assert_int_equal(UDPAI_NOTE_CERTIFICATE_EXPIRES,
                     UDPA__EVENT__V1__NODE_EVENT__KIND__CERTIFICATE_EXPIRES);
    assert_int_equal(UDPAI_NOTE_HELD, UDPA__EVENT__V1__NODE_EVENT__KIND__HELD);
    assert_int_equal(UDPAI_NOTE_REVOKED, UDPA__EVENT__V1__NODE_EVENT__KIND__REVOKED);
}

static void
levels_are_severities(void **state)
{
    static const udpa_log_level levels[] = {UDPA_LOG_DEBUG, UDPA_LOG_INFO, UDPA_LOG_WARNING,
                                            UDPA_LOG_ERROR};
    static const int severities[] = {1, 1, 2, 3};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(levels); i++) {
        message *read = write_and_read(
            &(udpai_node_event){.kind = UDPAI_NOTE_HELD, .level = levels[i], .text = ""});
        assert_int_equal(read->severity, severities[i]);
        udpa__event__v1__node_event__free_unpacked(read, NULL);
    }
}

static void
what_a_terminal_obeys_is_escaped(void **state)
{
    const udpai_log_field about[] = {{UDPAI_LOG_PEER, UDPAI_STR("a\x1b[2Jb\n")}};
    const udpai_node_event event = {UDPAI_NOTE_NACK, UDPA_LOG_WARNING, "\xff\x1b]0;x\x07 \xc3\xa4",
                                    about, 1};
    (void)state;
    message *read = write_and_read(&event);
    assert_string_equal(read->text, "?\\u001b]0;x\\u0007 \xc3\xa4");
    assert_string_equal(read->peer, "a\\u001b[2Jb\\u000a");
    udpa__event__v1__node_event__free_unpacked(read, NULL);
}

/* Of two bytes each, so the cut may fall into one. */
static void
a_long_text_is_cut_between_characters(void **state)
{
    char text[2 * UDPAI_NOTE_TEXT_MAX + 2];
    (void)state;
    for (size_t offset = 0; offset < 2; offset++) {
        memset(text, 'x', sizeof(text));
        for (size_t i = offset; i + 2 < sizeof(text); i += 2)
            memcpy(text + i, "\xc3\xa4", 2);
        text[sizeof(text) - 1] = '\0';
        const udpai_log_field about[] = {
            {UDPAI_LOG_NAME, {text, sizeof(text) - 1}},
        };
        message *read =
            write_and_read(&(udpai_node_event){UDPAI_NOTE_NACK, UDPA_LOG_WARNING, text, about, 1});
        assert_int_equal(strlen(read->text), UDPAI_NOTE_TEXT_MAX - offset);
        assert_true(udpai_utf8_valid(udpai_str_from(read->text)));
        assert_int_equal(strlen(read->name), UDPAI_NOTE_TEXT_MAX - offset);
        udpa__event__v1__node_event__free_unpacked(read, NULL);
    }
}

static void
an_escape_is_not_cut(void **state)
{
    char text[UDPAI_NOTE_TEXT_MAX + 1];
    (void)state;
    memset(text, 'x', UDPAI_NOTE_TEXT_MAX - 3);
    memcpy(text + UDPAI_NOTE_TEXT_MAX - 3, "\x1by", 3);
    message *read = write_and_read(
        &(udpai_node_event){.kind = UDPAI_NOTE_NACK, .level = UDPA_LOG_INFO, .text = text});
    assert_int_equal(strlen(read->text), UDPAI_NOTE_TEXT_MAX - 3);
    udpa__event__v1__node_event__free_unpacked(read, NULL);
}

static void
the_suppressed_are_added(void **state)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *event = udpai_node_event_encode(
        &(udpai_node_event){.kind = UDPAI_NOTE_HELD, .level = UDPA_LOG_INFO, .text = "held"});
    (void)state;
    message *read = read_bytes(udpai_node_event_add_suppressed(event, 4711));
    assert_string_equal(read->text, "held");
    assert_int_equal(read->n_suppressed, 4711);
    udpa__event__v1__node_event__free_unpacked(read, NULL);
}

/* ---- subjects ---- */

static uint64_t
subject(udpai_log_key key, const char *value, udpai_log_key second, const char *other)
{
    const udpai_log_field about[] = {{key, udpai_str_from(value)}, {second, udpai_str_from(other)}};
    return udpai_node_event_subject(
        &(udpai_node_event){UDPAI_NOTE_NACK, UDPA_LOG_INFO, "", about, 2});
}

#define PEER(id, address) subject(UDPAI_LOG_PEER, id, UDPAI_LOG_ADDRESS, address)
#define SOURCE(name, type) subject(UDPAI_LOG_SOURCE, name, UDPAI_LOG_TYPE, type)
#define FILE_OF(name, code) subject(UDPAI_LOG_NAME, name, UDPAI_LOG_CODE, code)

static void
what_a_client_may_change_is_no_other_subject(void **state)
{
    (void)state;
    assert_true(PEER("a", "10.0.0.1:5") == PEER("a", "10.0.0.1:6"));
    assert_true(PEER("a", "10.0.0.1:5") != PEER("b", "10.0.0.1:5"));
    assert_true(PEER("a", "10.0.0.1:5") != PEER("a", "10.0.0.2:5"));
    assert_true(subject(UDPAI_LOG_PEER, "a", UDPAI_LOG_VERSION, "1") ==
                subject(UDPAI_LOG_PEER, "a", UDPAI_LOG_NAME, "x"));
    assert_true(SOURCE("core", "x") == SOURCE("core", "y"));
    assert_true(SOURCE("core", "x") != SOURCE("other", "x"));
    assert_true(FILE_OF("a", "") == FILE_OF("a", "INTERNAL"));
    assert_true(FILE_OF("a", "") != FILE_OF("b", ""));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_has_what_it_is_about),
        cmocka_unit_test(kinds_have_the_numbers_of_the_message),
        cmocka_unit_test(levels_are_severities),
        cmocka_unit_test(what_a_terminal_obeys_is_escaped),
        cmocka_unit_test(a_long_text_is_cut_between_characters),
        cmocka_unit_test(an_escape_is_not_cut),
        cmocka_unit_test(the_suppressed_are_added),
        cmocka_unit_test(what_a_client_may_change_is_no_other_subject),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
