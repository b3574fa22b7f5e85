/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of events, found by their words. */
#include "model/event_kind.h"

#include "tests/harness/test.h"

static void
each_kind_is_found_by_its_word(void **state)
{
    (void)state;
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++) {
        const udpai_event_facts *facts = udpai_event_facts_of((udpai_event_kind)i);
        udpai_event_kind found = UDPAI_EVENT_KINDS;
        assert_true(udpai_event_kind_find(udpai_str_from(facts->word), &found));
        assert_int_equal(found, i);
        assert_non_null(strstr(UDPAI_EVENT_WORDS, facts->word));
        if (i == UDPAI_EVENT_NODE)
            continue;
        assert_non_null(strstr(facts->path, "/Stream"));
        assert_non_null(strstr(facts->type_url, "type.googleapis.com/envoy.service."));
    }
    const udpai_event_facts *own = udpai_event_facts_of(UDPAI_EVENT_NODE);
    assert_null(own->path); /* no client streams it */
    assert_string_equal(own->type_url, "type.googleapis.com/udpa.event.v1.NodeEvent");
    udpai_event_kind kept = UDPAI_EVENT_TAP;
    assert_false(udpai_event_kind_find(UDPAI_STR("access"), &kept));
    assert_false(udpai_event_kind_find(UDPAI_STR(""), &kept));
    assert_int_equal(kept, UDPAI_EVENT_TAP);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_is_found_by_its_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
