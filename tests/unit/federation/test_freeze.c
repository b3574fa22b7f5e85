/* SPDX-License-Identifier: Apache-2.0 */
/* A node of which names are frozen: what publishers are told, and what of files and sources waits.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "federation/freeze.h"
#include "federation/node_internal.h"
#include "tests/unit/federation/federation_test.h"

#define WHY "frozen, by ops since"

static uint64_t
begin(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "", UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    return fed_arrive(bed, &(fed_peer){.id = "publisher"});
}

static udpa_err
try_freeze(fed_bed *bed, const char *prefix, const char *reason, bool is_all)
{
    const udpai_freeze freeze = {
        .prefix = udpai_str_from(prefix),
        .reason = udpai_str_from(reason),
        .by = UDPAI_STR("ops"),
        .is_all = is_all,
    };
    udpa_err err = udpai_node_freeze(bed->node, &freeze, NULL);
    udpai_node_flush(bed->node);
    return err;
}

static void
freeze(fed_bed *bed, const char *prefix)
{
    assert_ok(try_freeze(bed, prefix, "incident", false));
}

static void
thaw(fed_bed *bed, const char *prefix)
{
    assert_ok(udpai_node_thaw(bed->node, udpai_str_from(prefix), NULL));
    udpai_node_flush(bed->node);
}

struct look {
    const char *name;
    char value[32];
};

static bool
take_reported(void *userdata, udpa_resource *resource)
{
    struct look *look = userdata;
    size_t size;
    const char *payload = udpa_resource_payload(resource, &size);
    if (udpai_str_eq(udpai_resource_name(resource), udpai_str_from(look->name)))
        snprintf(look->value, sizeof(look->value), "%.*s", (int)size, payload);
    return true;
}

/* What subscribers have; "": nothing. */
static const char *
served(fed_bed *bed, const char *type, const char *name)
{
    static struct look look;
    look = (struct look){.name = name};
    udpai_node_flush(bed->node);
    udpai_store_visit_reported(udpai_node_store(bed->node), udpai_str_from(type), take_reported,
                               &look);
    return look.value;
}

#define assert_served(bed, name, expected)                                                         \
    assert_string_equal(served((bed), TEST_CDS, "com.acme/" name), (expected))

static void
publications_are_refused_with_the_reason(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = begin(bed);
    fed_publish(bed, 'a', "CDS", "!");
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1 y=1"), "");
    freeze(bed, "com.acme");
    const char *refused = fed_publish_at(bed, session, "CDS", "x=2 new=1");
    assert_non_null(strstr(refused, "'com.acme/x' is " WHY));
    assert_non_null(strstr(refused, "'com.acme/new' is " WHY));
    assert_non_null(strstr(refused, ": incident ("));
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), ""); /* nothing changes */
    assert_non_null(strstr(fed_publish_at(bed, session, "CDS", "-y"), WHY));
    assert_string_equal(fed_publish_at(bed, session, "CDS", "-nobody"), "");
    assert_non_null(strstr(fed_publish_at(bed, session, "CDS", "*com.acme x=1"), WHY));
    assert_served(bed, "x", "1");
    assert_served(bed, "y", "1");
    thaw(bed, "com.acme");
    assert_string_equal(fed_publish_at(bed, session, "CDS", "*com.acme x=2"), "");
    assert_served(bed, "x", "2");
    assert_served(bed, "y", "");
}

static void
other_names_and_endpoints_go_on(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = begin(bed);
    freeze(bed, "com.acme");
    assert_string_equal(fed_publish_at(bed, session, "CDS", "org.other/x=1"), "");
    assert_string_equal(fed_publish_at(bed, session, "EDS", "x=1"), "");
    assert_string_equal(fed_publish_at(bed, session, "EDS", "-x"), "");
    assert_ok(try_freeze(bed, "com.acme", "incident", true));
    assert_non_null(strstr(fed_publish_at(bed, session, "EDS", "x=1"), WHY));
    freeze(bed, "com.acme"); /* less again */
    assert_string_equal(fed_publish_at(bed, session, "EDS", "x=1"), "");
}

static void
what_a_source_changes_waits(void **state)
{
    fed_bed *bed = *state;
    (void)begin(bed);
    fed_publish(bed, 'a', "CDS", "x=1 y=1 !");
    assert_served(bed, "x", "1");
    freeze(bed, "");
    assert_string_equal(fed_publish(bed, 'a', "CDS", "x=2 new=1 -y"), "");
    assert_served(bed, "x", "1");
    assert_served(bed, "y", "1");
    assert_served(bed, "new", "");
    assert_int_equal(udpai_node_n_waiting(bed->node), 3);
    thaw(bed, "");
    assert_served(bed, "x", "2");
    assert_served(bed, "y", "");
    assert_served(bed, "new", "1");
    assert_int_equal(udpai_node_n_waiting(bed->node), 0);
}

/* As long as one of them covers it. */
static void
freezes_may_overlap(void **state)
{
    fed_bed *bed = *state;
    (void)begin(bed);
    fed_publish(bed, 'a', "CDS", "x=1 !");
    freeze(bed, "");
    freeze(bed, "com.acme");
    fed_publish(bed, 'a', "CDS", "x=2");
    thaw(bed, "");
    assert_served(bed, "x", "1");
    assert_int_equal(udpai_node_thaw(bed->node, UDPAI_STR(""), NULL), UDPA_ERR_NOT_FOUND);
    thaw(bed, "com.acme");
    assert_served(bed, "x", "2");
}

static void
note_freeze(void *userdata, const udpai_freeze *freeze)
{
    char *text = userdata;
    size_t len = strlen(text);
    snprintf(text + len, 200 - len, "%.*s: %.*s%s; ", UDPAI_SHOWN(freeze->prefix),
             UDPAI_SHOWN(freeze->reason), freeze->is_all ? ", all" : "");
}

static void
it_holds_after_a_restart(void **state)
{
    fed_bed *bed = *state;
    char text[200] = "";
    bed->config.is_durable = true;
    (void)begin(bed);
    fed_publish(bed, 'a', "CDS", "x=1 !");
    assert_ok(try_freeze(bed, "com.acme", "incident", true));
    fed_publish(bed, 'a', "CDS", "x=2 new=1");
    for (int i = 0; i < 2; i++) {
        fed_restart(bed);
        assert_served(bed, "x", "1");
        assert_served(bed, "new", "");
    }
    udpai_node_visit_freezes(bed->node, note_freeze, text);
    assert_string_equal(text, "com.acme: incident, all; ");
    fed_connect(bed, 'a');
    fed_publish(bed, 'a', "CDS", "x=3 new=1 newer=1 !");
    assert_served(bed, "x", "1");
    assert_served(bed, "newer", "");
    thaw(bed, "com.acme");
    assert_served(bed, "x", "3");
    assert_served(bed, "new", "1");
    fed_restart(bed);
    assert_served(bed, "x", "3");
    text[0] = '\0';
    udpai_node_visit_freezes(bed->node, note_freeze, text);
    assert_string_equal(text, "");
}

/* A source has x, too; both end in 5 s. */
static void
freeze_leases(fed_bed *bed)
{
    bed->config.has_audit = true;
    uint64_t session = begin(bed);
    fed_publish(bed, 'a', "CDS", "x=2 !");
    udpa_resource *leases[] = {
        RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1", .version = "1", .ttl_ms = 5000),
        RESOURCE("com.acme/y", .type = TEST_CDS, .value = "1", .version = "1", .ttl_ms = 5000),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(leases); i++)
        assert_string_equal(fed_put(bed, session, leases[i], false), "");
    freeze(bed, "com.acme");
    bed->audit[0] = '\0';
}

static void
assert_uncovers_nothing(fed_bed *bed, bool is_recorded)
{
    assert_served(bed, "x", "1");
    assert_served(bed, "y", "");
    assert_int_equal(strstr(bed->audit, "com.acme/x") != NULL, is_recorded);
    assert_int_equal(strstr(bed->audit, "com.acme/y") != NULL, is_recorded);
    assert_int_equal(udpai_node_n_waiting(bed->node), 1);
    bed->audit[0] = '\0';
}

static void
what_ends_uncovers_nothing(void **state)
{
    fed_bed *bed = *state;
    freeze_leases(bed);
    fed_advance(bed, 6000);
    assert_uncovers_nothing(bed, true);
    thaw(bed, "com.acme");
    assert_served(bed, "x", "2");
}

static void
what_ends_while_the_node_is_down_uncovers_nothing(void **state)
{
    fed_bed *bed = *state;
    freeze_leases(bed);
    bed->wall_us += (int64_t)6 * 1000000;
    for (int i = 0; i < 2; i++) {
        fed_restart(bed);
        assert_uncovers_nothing(bed, i == 0);
    }
    thaw(bed, "com.acme");
    assert_served(bed, "x", "2");
}

static void
note_problem(void *userdata, const char *text)
{
    snprintf(userdata, 400, "%s", text);
}

static void
operators_are_shown_it(void **state)
{
    fed_bed *bed = *state;
    char text[400] = "";
    (void)begin(bed);
    fed_publish(bed, 'a', "CDS", "x=1 !");
    freeze(bed, "");
    fed_publish(bed, 'a', "CDS", "x=2");
    udpai_node_flush(bed->node);
    udpai_node_visit_problems(bed->node, note_problem, text);
    assert_non_null(strstr(text, "everything is frozen, by ops since "));
    assert_non_null(strstr(text, ": incident; publications are rejected, and 1 change waits ("));
    thaw(bed, "");
    text[0] = '\0';
    udpai_node_visit_problems(bed->node, note_problem, text);
    assert_string_equal(text, "");
}

static void
what_is_no_freeze_is_refused(void **state)
{
    fed_bed *bed = *state;
    char long_reason[UDPAI_FREEZE_REASON_MAX + 2] = "";
    (void)begin(bed);
    memset(long_reason, 'x', UDPAI_FREEZE_REASON_MAX + 1);
    assert_int_equal(try_freeze(bed, "", "", false), UDPA_ERR_INVAL);
    assert_int_equal(try_freeze(bed, "", long_reason, false), UDPA_ERR_INVAL);
    assert_int_equal(try_freeze(bed, "", "two\nlines", false), UDPA_ERR_INVAL);
    assert_int_equal(try_freeze(bed, "not a name", "x", false), UDPA_ERR_INVAL);
    for (int i = 0; i < UDPAI_FREEZES_MAX; i++) {
        char prefix[32];
        snprintf(prefix, sizeof(prefix), "com.acme-%d", i);
        freeze(bed, prefix);
    }
    assert_int_equal(try_freeze(bed, "com.other", "x", false), UDPA_ERR_LIMIT);
    freeze(bed, "com.acme-3"); /* it may be stated anew */
    thaw(bed, "com.acme-3");
    freeze(bed, "com.other");
}

static void
without_memory_all_or_nothing_is_frozen(void **state)
{
    fed_bed *bed = *state;
    (void)begin(bed);
    fed_publish(bed, 'a', "CDS", "x=1 !");
    const udpai_freeze wanted = {.reason = UDPAI_STR("incident"), .by = UDPAI_STR("ops")};
    udpa_err err = UDPA_ERR_NOMEM;
    for (long n = 0; err == UDPA_ERR_NOMEM; n++) {
        udpai_alloc_fail_after(n);
        err = udpai_node_freeze(bed->node, &wanted, NULL);
        udpai_alloc_fail_after(-1);
        size_t at = 0;
        udpai_freeze freeze;
        assert_int_equal(udpai_freezes_next(bed->node->parts.freezes, &at, &freeze),
                         err == UDPA_OK);
    }
    assert_ok(err);
    thaw(bed, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(publications_are_refused_with_the_reason),
        fed_test(other_names_and_endpoints_go_on),
        fed_test(what_a_source_changes_waits),
        fed_test(freezes_may_overlap),
        fed_test(it_holds_after_a_restart),
        fed_test(what_ends_uncovers_nothing),
        fed_test(what_ends_while_the_node_is_down_uncovers_nothing),
        fed_test(operators_are_shown_it),
        fed_test(what_is_no_freeze_is_refused),
        fed_test(without_memory_all_or_nothing_is_frozen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
