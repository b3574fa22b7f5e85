/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that come by resources: a publishes the ConfigSource of d, which is asked, moved, lost,
 * and over a restart still there. */
#include "tests/unit/federation/delivery_bed.h"

/* ---- coming ---- */

static void
what_names_it_is_asked_of_it(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_string_equal(publish(bed, &to_d), "");
    assert_orders(bed, ""); /* nobody asks it for anything */
    assert_string_equal(delegate(bed, "x", "d"), "");
    assert_orders(bed, "dial d");
    fed_connect(bed, 'd');
    assert_orders(bed, "sub d EDS :x");
    assert_value(bed, "EDS", "x", "of-a");
    (void)fed_publish(bed, 'd', "EDS", "x=of-d !");
    assert_value(bed, "EDS", "x", "of-d");
}

static void
what_names_it_waits_for_it(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_string_equal(delegate(bed, "x", "d"), "");
    fed_advance(bed, 60000);
    assert_orders(bed, "");
    assert_value(bed, "EDS", "x", "of-a");
    assert_string_equal(publish(bed, &to_d), "");
    assert_orders(bed, "dial d");
    fed_connect(bed, 'd');
    (void)fed_publish(bed, 'd', "EDS", "x=of-d !");
    assert_value(bed, "EDS", "x", "of-d");
}

static void
two_that_are_not_there_are_waited_for(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_string_equal(delegate_to(bed, "x", "d", "e"), "");
    assert_string_equal(delegate_to(bed, "x", "e", "d"), "");
    assert_string_equal(publish(bed, &to_d), "");
    assert_orders(bed, "dial d");
    fed_connect(bed, 'd');
    (void)fed_publish(bed, 'd', "EDS", "x=of-d !");
    assert_value(bed, "EDS", "x", "of-d");
}

static void
what_the_configuration_names_fails_over_behind_it(void **state)
{
    fed_bed *bed = *state;
    configure(bed, "d");
    fed_start(bed);
    fed_advance(bed, 2000);
    assert_non_null(strstr(fed_orders(bed), "dial b"));
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    assert_value(bed, "EDS", "x", "of-b");
    (void)fed_orders(bed);
    assert_string_equal(publish(bed, &to_d), "");
    assert_orders(bed, "dial d");
    fed_connect(bed, 'd');
    (void)fed_publish(bed, 'd', "EDS", "x=of-d !");
    assert_value(bed, "EDS", "x", "of-b"); /* until it has stayed */
    fed_advance(bed, 5000);
    assert_value(bed, "EDS", "x", "of-d");
}

/* ---- changing ---- */

static void
another_address_is_no_failure(void **state)
{
    fed_bed *bed = *state;
    speech moved = to_d;
    start_with_d(bed);
    moved.address = "127.0.0.1:2";
    assert_string_equal(publish(bed, &moved), "");
    assert_targets("d=127.0.0.1:2 ");
    assert_orders(bed, "hangup d");
    fed_close(bed, 'd');
    assert_orders(bed, "dial d");
    assert_value(bed, "EDS", "x", "of-d");
    fed_connect(bed, 'd');
    assert_orders(bed, "sub d EDS :x+1");
}

static void
changes_in_quick_succession_are_not_followed_as_quickly(void **state)
{
    fed_bed *bed = *state;
    speech moved = to_d;
    start_with_d(bed);
    fed_advance(bed, 600000);
    moved.address = "127.0.0.1:2";
    (void)publish(bed, &moved);
    fed_close(bed, 'd');
    fed_connect(bed, 'd');
    (void)fed_orders(bed);
    assert_string_equal(publish(bed, &to_d), "");
    assert_orders(bed, "hangup d");
    fed_close(bed, 'd');
    assert_orders(bed, "");
    fed_advance(bed, 250);
    assert_orders(bed, "dial d");
    assert_value(bed, "EDS", "x", "of-d");
}

static void
the_same_again_changes_nothing(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    assert_string_equal(publish(bed, &to_d), "");
    assert_targets("");
    assert_orders(bed, "");
}

static void
another_kind_is_another_source(void **state)
{
    fed_bed *bed = *state;
    speech other = to_d;
    start_with_d(bed);
    other.xds_for = "control";
    assert_string_equal(publish(bed, &other), "");
    assert_orders(bed, "hangup d, dial e"); /* by another link */
    note_link(bed, 5);
    assert_value(bed, "EDS", "x", "of-d");
    fed_connect_as(bed, 'd', &(fed_peer){.is_xds = true});
    fed_speak(bed, 'd');
    assert_orders(bed, "sub d EDS :x+1");
}

static void
another_name_is_another_source(void **state)
{
    fed_bed *bed = *state;
    speech renamed = to_d;
    start_with_d(bed);
    renamed.name = "e";
    assert_string_equal(publish(bed, &renamed), "");
    assert_non_null(strstr(fed_orders(bed), "hangup"));
    assert_value(bed, "EDS", "x", "of-d");
    assert_string_equal(delegate(bed, "x", "e"), "");
    assert_non_null(strstr(fed_orders(bed), "dial"));
}

/* ---- going ---- */

static void
what_came_by_it_stays_for_a_while_and_goes(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    assert_string_equal(withdraw(bed, "com.acme/d"), "");
    assert_targets("-d ");
    assert_orders(bed, "hangup d");
    fed_close(bed, 'd');
    assert_value(bed, "EDS", "x", "of-d");
    fed_advance(bed, LINGER - 1000);
    assert_value(bed, "EDS", "x", "of-d");
    fed_advance(bed, 2000);
    assert_value(bed, "EDS", "x", "");
    assert_true(fed_name_settled(bed, "EDS", "com.acme/x"));
    assert_orders(bed, "");
    fed_restart(bed);
    assert_value(bed, "EDS", "x", "");
}

static void
what_is_said_on_its_stream_is_nobodys(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    (void)withdraw(bed, "com.acme/d");
    (void)fed_publish(bed, 'd', "EDS", "x=late !");
    assert_value(bed, "EDS", "x", "of-d");
    fed_close(bed, 'd');
    assert_orders(bed, "hangup d");
}

static void
it_comes_back_to_what_it_had(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    (void)withdraw(bed, "com.acme/d");
    fed_advance(bed, 10000);
    (void)fed_orders(bed);
    assert_string_equal(publish(bed, &to_d), "");
    assert_orders(bed, "dial e"); /* by another link */
    note_link(bed, 5);
    fed_connect(bed, 'd');
    assert_orders(bed, "sub d EDS :x+1");
    fed_advance(bed, 2 * LINGER);
    assert_value(bed, "EDS", "x", "of-d");
}

static void
it_comes_back_after_all_has_gone(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    (void)withdraw(bed, "com.acme/d");
    fed_advance(bed, 2 * LINGER);
    (void)fed_orders(bed);
    assert_string_equal(publish(bed, &to_d), "");
    note_link(bed, 5);
    assert_false(fed_name_settled(bed, "EDS", "com.acme/x"));
    fed_connect(bed, 'd');
    (void)fed_publish(bed, 'd', "EDS", "x=again !");
    assert_value(bed, "EDS", "x", "again");
    (void)fed_orders(bed);
    fed_restart(bed); /* and is kept again */
    assert_value(bed, "EDS", "x", "again");
}

static void
a_standby_goes_on(void **state)
{
    fed_bed *bed = *state;
    configure(bed, "d");
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', UDPAI_DYNAMIC_SOURCE_TYPE, "!");
    (void)publish(bed, &to_d);
    fed_connect(bed, 'd');
    (void)fed_publish(bed, 'd', "EDS", "x=of-d !");
    assert_value(bed, "EDS", "x", "of-d");
    (void)fed_orders(bed);
    (void)withdraw(bed, "com.acme/d");
    assert_orders(bed, "hangup d, dial b");
    fed_connect(bed, 'b');
    assert_value(bed, "EDS", "x", "of-d");
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    assert_value(bed, "EDS", "x", "of-b");
    fed_advance(bed, 2 * LINGER);
    assert_value(bed, "EDS", "x", "of-b");
    assert_true(fed_settled(bed, "EDS", "com.acme"));
}

/* d itself says where it is: with its word that goes, it goes, and nothing else happens. */
static void
one_that_delivers_itself_ends(void **state)
{
    fed_bed *bed = *state;
    configure(bed, NULL);
    static udpai_descriptor_config both[] = {{{"a", 1}, {"", 0}, UDPAI_CONTINUE, false},
                                             {{"d", 1}, {"", 0}, UDPAI_CONTINUE, false}};
    static udpai_provider_config provider;
    provider = (udpai_provider_config){bed->types, 1, both, 2};
    bed->config.providers = &provider;
    bed->config.n_providers = 1;
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)publish(bed, &to_d);
    fed_connect(bed, 'd');
    assert_string_equal(fed_put(bed, bed->sessions['d' - 'a'], say(&to_d), false), "");
    (void)withdraw(bed, "com.acme/d");
    (void)fed_orders(bed);
    assert_targets("d=127.0.0.1:1 ");
    (void)fed_publish(bed, 'a', UDPAI_DYNAMIC_SOURCE_TYPE, "!");
    (void)fed_publish(bed, 'd', UDPAI_DYNAMIC_SOURCE_TYPE, "!");
    (void)fed_publish(bed, 'd', UDPAI_DYNAMIC_SOURCE_TYPE, "-com.acme/d");
    assert_orders(bed, "hangup d");
    assert_targets("-d ");
    fed_advance(bed, 10 * LINGER);
    assert_targets("");
    assert_orders(bed, "");
}

/* ---- over a restart ---- */

static void
after_a_restart_it_is_there_at_once(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    fed_restart(bed);
    assert_targets("d=127.0.0.1:1 ");
    assert_value(bed, "EDS", "x", "of-d");
    assert_non_null(strstr(fed_orders(bed), "dial d"));
    fed_connect(bed, 'd');
    assert_orders(bed, "sub d EDS :x+1");
}

static void
forget_origin(fed_bed *bed, const char *key)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = NULL;
    assert_ok(udpa_bytes_new(&origin, key, strlen(key)));
    fed_disk_do(&bed->kept,
                &(udpai_durable_op){.kind = UDPAI_DURABLE_FORGET_ORIGIN, .origin = origin});
}

/* Kept contents of one whose resource is not kept, such as one of a file. */
static void
what_was_kept_of_it_waits_for_it(void **state)
{
    fed_bed *bed = *state;
    speech by_file = to_d;
    udpa_resource *resource = say(&by_file);
    udpai_directory directory = {.root = UDPAI_STR("/files"),
                                 .authority = UDPAI_STR("x"),
                                 .resources = &resource,
                                 .n_resources = 1};
    configure(bed, "d");
    bed->root = "/files";
    fed_start(bed);
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    udpa_resource_unref(resource);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', UDPAI_DYNAMIC_SOURCE_TYPE, "!");
    (void)fed_orders(bed);
    fed_connect(bed, 'd');
    (void)fed_publish(bed, 'd', "EDS", "x=of-d !");
    assert_value(bed, "EDS", "x", "of-d");
    forget_origin(bed, "path:/files");
    fed_restart(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', UDPAI_DYNAMIC_SOURCE_TYPE, "!");
    fed_advance(bed, AWAITED - 5000);
    assert_value(bed, "EDS", "x", "of-d");
    fed_advance(bed, 10000); /* the directory was not read yet */
    assert_value(bed, "EDS", "x", "of-d");
    directory.n_resources = 0;
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    fed_advance(bed, 5000);
    assert_value(bed, "EDS", "x", "");
}

/* ---- what clients report ---- */

#define LOAD "type.googleapis.com/udpa.load.v1.ClientLoad"

/* a alone, and a client that has reported x. */
static void
start_with_report(fed_bed *bed)
{
    bed->config.n_sources = 1;
    start(bed);
    memset(bed->links + 1, 0xff, sizeof(bed->links) - sizeof(bed->links[0]));
    note_link(bed, 2);
    uint64_t client = fed_arrive(bed, &(fed_peer){.id = "client"});
    (void)fed_put(bed, client,
                  RESOURCE("com.acme/x/client", .type = LOAD, .value = "1", .ttl_ms = 600000),
                  false);
    assert_reports(bed, "x/client>*");
}

/* From the second source on it matters who has delivered what. */
static void
what_was_reported_finds_a_source_that_comes(void **state)
{
    fed_bed *bed = *state;
    start_with_report(bed);
    assert_string_equal(publish(bed, &to_d), "");
    assert_reports(bed, "~x/client>a");
    assert_string_equal(delegate(bed, "x", "d"), "");
    fed_connect(bed, 'd');
    (void)fed_publish(bed, 'd', "EDS", "x=of-d !");
    assert_value(bed, "EDS", "x", "of-d");
    assert_reports(bed, "~x/client>d");
    assert_string_equal(withdraw(bed, "com.acme/d"), "");
    assert_reports(bed, "~x/client>*"); /* who would be asked is not there */
}

static void
so_it_does_after_want_of_memory(void **state)
{
    fed_bed *bed = *state;
    bed->config.is_durable = false;
    start_with_report(bed);
    for (long n = 0; n < 80; n++) {
        bed->node = udpai_node_free(bed->node);
        bed->answer = udpai_report_free(bed->answer);
        memset(bed->sessions, 0, sizeof(bed->sessions));
        fed_start(bed);
        fed_connect(bed, 'a');
        (void)fed_publish(bed, 'a', "EDS", "x=of-a !");
        note_link(bed, 2);
        bed->links[1] = 99;
        uint64_t client = fed_arrive(bed, &(fed_peer){.id = "client"});
        (void)fed_put(bed, client,
                      RESOURCE("com.acme/x/client", .type = LOAD, .value = "1", .ttl_ms = 600000),
                      false);
        assert_reports(bed, "x/client>*");
        fed_short(bed, n, true);
        (void)publish(bed, &to_d);
        if (strcmp(targets.text, "") == 0) { /* it was not even heard */
            fed_close(bed, 'a');
            fed_connect(bed, 'a');
            assert_string_equal(publish(bed, &to_d), "");
        }
        targets.text[0] = '\0';
        assert_reports(bed, "~x/client>a");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        delivery_test(what_names_it_is_asked_of_it),
        delivery_test(what_names_it_waits_for_it),
        delivery_test(two_that_are_not_there_are_waited_for),
        delivery_test(what_the_configuration_names_fails_over_behind_it),
        delivery_test(another_address_is_no_failure),
        delivery_test(changes_in_quick_succession_are_not_followed_as_quickly),
        delivery_test(the_same_again_changes_nothing),
        delivery_test(another_kind_is_another_source),
        delivery_test(another_name_is_another_source),
        delivery_test(what_came_by_it_stays_for_a_while_and_goes),
        delivery_test(what_is_said_on_its_stream_is_nobodys),
        delivery_test(it_comes_back_to_what_it_had),
        delivery_test(it_comes_back_after_all_has_gone),
        delivery_test(a_standby_goes_on),
        delivery_test(one_that_delivers_itself_ends),
        delivery_test(after_a_restart_it_is_there_at_once),
        delivery_test(what_was_kept_of_it_waits_for_it),
        delivery_test(what_was_reported_finds_a_source_that_comes),
        delivery_test(so_it_does_after_want_of_memory),
    };
    return cmocka_run_group_tests_name("delivery", tests, NULL, NULL);
}
