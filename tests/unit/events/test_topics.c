/* SPDX-License-Identifier: Apache-2.0 */
/* The topics of a node, and their names as resources. */
#include "events/topics.h"

#include "base/bytes.h"
#include "tests/harness/test.h"
#include "udpa/event/v1/event.pb-c.h"

static void
a_topic_is_named_after_its_node(void **state)
{
    (void)state;
    char room[UDPAI_TOPIC_NAME_ROOM], id[2000];
    udpai_str name = udpai_topic_name(UDPAI_STR("core"), UDPAI_EVENT_ACCESS_LOG, room);
    assert_true(udpai_str_eq(name, UDPAI_STR("udpa.node/core/events/access-log")));
    memset(id, 'x', sizeof(id));
    name = udpai_topic_name((udpai_str){id, sizeof(id)}, UDPAI_EVENT_TAP, room);
    assert_int_equal(name.len, strlen("udpa.node//events/tap") + UDPAI_AUTHORITY_MAX);
}

static void
a_version_is_read_as_it_was_written(void **state)
{
    (void)state;
    static const udpai_event_place places[] = {{0, 0}, {5, 17}, {UINT64_MAX, UINT64_MAX}};
    char room[UDPAI_EVENT_VERSION_ROOM];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(places); i++) {
        udpai_event_place place = {1, 1};
        udpai_str version = udpai_event_version(places[i], room);
        assert_true(udpai_event_version_read(version, &place));
        assert_int_equal(place.begun_us, places[i].begun_us);
        assert_int_equal(place.sequence, places[i].sequence);
    }
}

static void
what_is_no_version_is_not_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        ".",
        "5",
        "5.",
        ".5",
        "5.5.5",
        "5 .5",
        "-5.5",
        "5.+5",
        "0x5.5",
        "18446744073709551616.1",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        udpai_event_place place = {1, 2};
        assert_false(udpai_event_version_read(udpai_str_from(texts[i]), &place));
        assert_int_equal(place.sequence, 2); /* untouched */
    }
}

static void
an_event_is_written_with_its_message_at_the_end(void **state)
{
    (void)state;
    static const char message[] = "not looked at";
    UDPA_AUTO(udpai_event_source_unref)
    udpai_event_source *source =
        udpai_event_source_new(UDPAI_STR("edge"), UDPAI_STR("spiffe://e"), UDPAI_STR("ingress"));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    assert_ok(udpa_bytes_new(&bytes, message, strlen(message)));
    UDPA_AUTO(udpai_event_unref) udpai_event *event = udpai_event_new(source, bytes);
    event->sequence = 7;
    event->time_us = 1500000;
    uint8_t room[500];
    udpai_proto_writer writer = {room, 0}, size = {0};
    udpai_event_put(&size, UDPAI_EVENT_ACCESS_LOG, event, 3);
    udpai_event_put(&writer, UDPAI_EVENT_ACCESS_LOG, event, 3);
    assert_int_equal(writer.size, size.size);
    memcpy(room + writer.size, message, strlen(message));
    size_t len = writer.size + strlen(message);
    assert_int_equal(udpai_event_n_lost((udpai_str){(const char *)room, len}), 3);
    assert_int_equal(udpai_event_n_lost((udpai_str){(const char *)room, len - 1}), 0);
    Udpa__Event__V1__Event *read = udpa__event__v1__event__unpack(NULL, len, room);
    assert_non_null(read);
    assert_int_equal(read->n_lost, 3);
    assert_int_equal(read->sequence, 7);
    assert_int_equal(read->time->nanos, 500000000);
    assert_string_equal(read->node_id, "edge");
    assert_string_equal(read->identity, "spiffe://e");
    assert_string_equal(read->name, "ingress");
    assert_string_equal(read->message->type_url,
                        "type.googleapis.com/envoy.service.accesslog.v3.StreamAccessLogsMessage");
    assert_memory_equal(read->message->value.data, message, read->message->value.len);
    udpa__event__v1__event__free_unpacked(read, NULL);
}

static void
what_is_no_number_is_no_loss(void **state)
{
    (void)state;
    assert_int_equal(udpai_event_n_lost(UDPAI_STR("\x08\x03")), 3);
    assert_int_equal(udpai_event_n_lost(UDPAI_STR("\x08\x03\x0d\x07\x00\x00\x00")), 3);
    assert_int_equal(udpai_event_n_lost(UDPAI_STR("\x08\x03\x10\x07")), 3); /* of another field */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_topic_is_named_after_its_node),
        cmocka_unit_test(a_version_is_read_as_it_was_written),
        cmocka_unit_test(what_is_no_version_is_not_read),
        cmocka_unit_test(what_is_no_number_is_no_loss),
        cmocka_unit_test(an_event_is_written_with_its_message_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
