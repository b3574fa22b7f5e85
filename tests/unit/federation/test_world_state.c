/* SPDX-License-Identifier: Apache-2.0 */
/* What a publisher leaves out of a state of its world goes, unless it is too much at once. */
#include <stdio.h>

#include "base/alloc.h"
#include "tests/unit/federation/federation_test.h"

#define CONFIRM "name it in removed_resources"

static uint64_t
begin(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "com.acme", UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    return fed_arrive(bed, &(fed_peer){.id = "publisher"});
}

/* "*com.acme n1=1 n2=1", from the first to the last. */
static const char *
state_of(int first, int last)
{
    static char text[4096];
    size_t at = (size_t)snprintf(text, sizeof(text), "*com.acme");
    for (int i = first; i <= last; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, " n%d=1", i);
    return text;
}

static int
n_there(fed_bed *bed, const char *type, int last)
{
    int n = 0;
    for (int i = 1; i <= last; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        n += *fed_value(bed, type, name) != '\0';
    }
    return n;
}

static int
n_of(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static void
too_much_is_refused_name_by_name(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = begin(bed);
    assert_string_equal(fed_publish_at(bed, session, "CDS", state_of(1, 30)), "");
    assert_string_equal(fed_publish_at(bed, session, "CDS", state_of(11, 30)), ""); /* ten */
    assert_int_equal(n_there(bed, "CDS", 30), 20);
    const char *refused = fed_publish_at(bed, session, "CDS", state_of(22, 31)); /* eleven of 20 */
    assert_int_equal(n_of(refused, CONFIRM), 11);
    assert_int_equal(n_of(refused, "11 of the 20 resources"), 11);
    assert_non_null(strstr(refused, "com.acme/n21"));
    assert_int_equal(n_there(bed, "CDS", 31), 21);                   /* what it adds is taken */
    refused = fed_publish_at(bed, session, "CDS", state_of(22, 31)); /* nor if it is said again */
    assert_int_equal(n_of(refused, "11 of the 21 resources"), 11);
    assert_string_equal(fed_publish_at(bed, session, "CDS",
                                       "-n11 -n12 -n13 -n14 -n15 -n16 -n17 -n18 -n19 -n20 -n21"),
                        "");
    assert_int_equal(n_there(bed, "CDS", 31), 10);
    assert_string_equal(fed_publish_at(bed, session, "CDS", state_of(22, 31)), "");
}

/* Half of it, whatever that is. */
static void
half_may_go(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = begin(bed);
    (void)fed_publish_at(bed, session, "CDS", state_of(1, 60));
    assert_string_equal(fed_publish_at(bed, session, "CDS", state_of(31, 60)), "");
    assert_int_equal(n_there(bed, "CDS", 60), 30);
}

static void
each_type_and_publisher_by_itself(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = begin(bed), other = fed_arrive(bed, &(fed_peer){.id = "other"});
    (void)fed_publish_at(bed, session, "CDS", state_of(1, 20));
    (void)fed_publish_at(bed, session, "EDS", state_of(1, 5));
    (void)fed_publish_at(bed, other, "CDS", state_of(31, 60));
    assert_string_equal(fed_publish_at(bed, session, "EDS", "*com.acme"), "");
    assert_int_equal(n_there(bed, "EDS", 20), 0);
    assert_int_equal(n_of(fed_publish_at(bed, session, "CDS", "*com.acme"), CONFIRM), 20);
    assert_int_equal(n_there(bed, "CDS", 60), 50);
}

static void
the_bound_can_be_set(void **state)
{
    fed_bed *bed = *state;
    bed->config.store.max_withdrawal = 100;
    uint64_t session = begin(bed);
    (void)fed_publish_at(bed, session, "CDS", state_of(1, 30));
    assert_string_equal(fed_publish_at(bed, session, "CDS", "*com.acme"), "");
    assert_int_equal(n_there(bed, "CDS", 30), 0);
    udpai_store_options options = bed->config.store;
    options.max_withdrawal = 10;
    udpai_node_set_store_options(bed->node, &options);
    (void)fed_publish_at(bed, session, "CDS", state_of(1, 40));
    assert_int_equal(n_of(fed_publish_at(bed, session, "CDS", state_of(12, 40)), CONFIRM), 11);
}

/* Whatever fails, nothing goes that should not. */
static void
without_memory_nothing_goes(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = begin(bed);
    (void)fed_publish_at(bed, session, "CDS", state_of(1, 30));
    for (long n = 0; n < 200; n++) {
        fed_short(bed, n, true);
        (void)fed_publish_at(bed, session, "CDS", state_of(1, 3));
        assert_int_equal(n_there(bed, "CDS", 30), 30);
    }
    assert_int_equal(n_of(fed_publish_at(bed, session, "CDS", state_of(1, 3)), CONFIRM), 27);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(too_much_is_refused_name_by_name),  fed_test(half_may_go),
        fed_test(each_type_and_publisher_by_itself), fed_test(the_bound_can_be_set),
        fed_test(without_memory_nothing_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
