/* SPDX-License-Identifier: Apache-2.0 */
/* Events are values, and have what they were made with. */
#include "events/event.h"

#include "tests/harness/oom.h"

static void
a_source_has_copies_of_its_texts(void **state)
{
    char id[] = "edge", identity[] = "spiffe://edge", name[] = "ingress";
    (void)state;
    udpai_event_source *source =
        udpai_event_source_new(udpai_str_from(id), udpai_str_from(identity), udpai_str_from(name));
    id[0] = identity[0] = name[0] = '?';
    assert_str(source->node_id, "edge");
    assert_str(source->identity, "spiffe://edge");
    assert_str(source->name, "ingress");
    udpai_event_source_unref(source);
    source = udpai_event_source_new((udpai_str){0}, (udpai_str){0}, (udpai_str){0});
    assert_str(source->name, "");
    udpai_event_source_unref(source);
}

static void
an_event_keeps_what_it_needs(void **state)
{
    udpa_bytes *message;
    (void)state;
    udpai_event_source *source =
        udpai_event_source_new(UDPAI_STR("edge"), (udpai_str){0}, (udpai_str){0});
    assert_ok(udpa_bytes_new(&message, "m", 1));
    udpai_event *event = udpai_event_new(source, message);
    udpai_event_source_unref(source);
    udpa_bytes_unref(message);
    udpai_event *second = udpai_event_ref(event);
    assert_null(udpai_event_unref(event));
    assert_str(second->source->node_id, "edge");
    assert_int_equal(udpa_bytes_size(second->message), 1);
    udpai_event_unref(second);
    assert_null(udpai_event_unref(NULL));
    assert_null(udpai_event_ref(NULL));
}

static udpa_err
make_all(void *context)
{
    UDPA_AUTO(udpai_event_source_unref)
    udpai_event_source *source =
        udpai_event_source_new(UDPAI_STR("edge"), (udpai_str){0}, (udpai_str){0});
    UDPA_AUTO(udpai_event_unref) udpai_event *event = source ? udpai_event_new(source, NULL) : NULL;
    (void)context;
    return event ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
without_memory_there_is_none(void **state)
{
    (void)state;
    oom_torture(make_all, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_source_has_copies_of_its_texts),
        cmocka_unit_test(an_event_keeps_what_it_needs),
        cmocka_unit_test(without_memory_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
