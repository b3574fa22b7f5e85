/* SPDX-License-Identifier: Apache-2.0 */
/* Lines about events of a node, also of one that knows more than this program. */
#include "ctl/node_event_line.h"

#include "tests/harness/test.h"
#include "udpa/event/v1/event.pb-c.h"

typedef Udpa__Event__V1__NodeEvent message;

static char *
text(const char *literal)
{
    return (char *)(uintptr_t)literal;
}

static void
expect(const message *event, const char *line)
{
    uint8_t bytes[1024];
    udpai_strbuf out = {0};
    size_t size = udpa__event__v1__node_event__pack(event, bytes);
    udpai_ctl_node_event_put(&out, INT64_C(1785542400123456), (udpai_str){(char *)bytes, size});
    assert_false(udpai_strbuf_failed(&out));
    assert_string_equal(out.data, line);
    udpai_strbuf_done(&out);
}

static message
make(int kind, int severity, const char *what)
{
    message event = UDPA__EVENT__V1__NODE_EVENT__INIT;
    event.kind = (Udpa__Event__V1__NodeEvent__Kind)kind;
    event.severity = (Udpa__Event__V1__NodeEvent__Severity)severity;
    event.text = text(what);
    return event;
}

static void
a_line_has_time_severity_kind_subject_and_text(void **state)
{
    message event = make(UDPA__EVENT__V1__NODE_EVENT__KIND__SOURCE_SYNCHRONIZED, 1, "all is here");
    (void)state;
    event.source = text("core");
    event.peer = text("envoy-1");
    expect(&event, "2026-08-01T00:00:00.123Z  info     source-synchronized  core  all is here\n");
    event = make(UDPA__EVENT__V1__NODE_EVENT__KIND__NACK, 2, "no");
    event.peer = text("envoy-1");
    event.n_suppressed = 41;
    expect(&event, "2026-08-01T00:00:00.123Z  warning  nack                 envoy-1  no (41 more "
                   "not shown)\n");
}

static void
the_subject_is_what_is_known(void **state)
{
    message event = make(UDPA__EVENT__V1__NODE_EVENT__KIND__HELD, 3, "x");
    (void)state;
    expect(&event, "2026-08-01T00:00:00.123Z  error    held                 -  x\n");
    event.name = text("/etc/x");
    expect(&event, "2026-08-01T00:00:00.123Z  error    held                 /etc/x  x\n");
    event.address = text("10.0.0.1:5");
    expect(&event, "2026-08-01T00:00:00.123Z  error    held                 10.0.0.1:5  x\n");
    event.identity = text("edge@acme");
    expect(&event, "2026-08-01T00:00:00.123Z  error    held                 edge@acme  x\n");
}

static void
what_is_not_known_is_shown_as_such(void **state)
{
    message event = make(4711, 99, "later");
    udpai_strbuf out = {0};
    (void)state;
    expect(&event, "2026-08-01T00:00:00.123Z  -        kind-4711            -  later\n");
    udpai_ctl_node_event_put(&out, -1, UDPAI_STR("\xff"));
    udpai_ctl_node_event_gap_put(&out, 3);
    assert_string_equal(out.data, "-  an event that cannot be read\n3 events are missing here\n");
    udpai_strbuf_done(&out);
}

/* A node may be hostile, too. */
static void
nothing_that_a_terminal_obeys_is_shown(void **state)
{
    message event = make(UDPA__EVENT__V1__NODE_EVENT__KIND__NACK, 2, "a\x1b[2Jb\nc");
    (void)state;
    event.peer = text("p\r");
    expect(&event, "2026-08-01T00:00:00.123Z  warning  nack                 p?  a?[2Jb?c\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_time_severity_kind_subject_and_text),
        cmocka_unit_test(the_subject_is_what_is_known),
        cmocka_unit_test(what_is_not_known_is_shown_as_such),
        cmocka_unit_test(nothing_that_a_terminal_obeys_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
