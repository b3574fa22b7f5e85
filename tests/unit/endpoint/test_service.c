/* SPDX-License-Identifier: Apache-2.0 */
/* The order of services, with some that note what they are asked to do. */
#include "endpoint/services.h"

#include <stdio.h>

#include "endpoint/load_upstreams.h"
#include "endpoint/orca_collector.h"
#include "tests/harness/test.h"

typedef struct noting {
    udpai_service service;
    char name;
    bool takes, is_busy, has_more;
    udpai_services *all; /* that are notified while this is freed; NULL: none */
} noting;

static char notes[128];

static void
note(char what, char name)
{
    size_t len = strlen(notes);
    snprintf(notes + len, sizeof(notes) - len, "%c%c ", what, name);
}

static noting *
of(const udpai_service *service)
{
    return UDPAI_CONTAINER_OF((udpai_service *)(uintptr_t)service, noting, service);
}

static bool
on_report(udpai_service *service, udpai_report *report)
{
    (void)report;
    note('r', of(service)->name);
    return of(service)->takes;
}

static void
on_event(udpai_service *service, const udpai_service_event *event)
{
    note(event->kind == UDPAI_SERVICE_DEMAND ? 'd' : 'e', of(service)->name);
}

static void
run(udpai_service *service)
{
    note('t', of(service)->name);
}

static bool
flush(udpai_service *service)
{
    note('f', of(service)->name);
    return of(service)->has_more;
}

static bool
is_busy(const udpai_service *service)
{
    return of(service)->is_busy;
}

static void
end(udpai_service *service)
{
    note('x', of(service)->name);
}

static void
free_noting(udpai_service *service)
{
    note('-', of(service)->name);
    if (of(service)->all)
        udpai_services_notify(of(service)->all,
                              &(udpai_service_event){.kind = UDPAI_SERVICE_CHANGES});
}

static const udpai_service_ops noting_ops = {on_report, on_event, run,        flush,
                                             is_busy,   end,      free_noting};
static const udpai_service_ops idle_ops = {.free = free_noting};

static noting first, middle, last, idle;
static udpai_services services;

/* What has nothing to do stands between them. */
static int
setup(void **state)
{
    (void)state;
    first = (noting){{&noting_ops}, .name = '1'};
    middle = (noting){{&noting_ops}, .name = '2'};
    last = (noting){{&noting_ops}, .name = '3'};
    idle = (noting){{&idle_ops}, .name = '0'};
    services = (udpai_services){{NULL}};
    services.at[0] = &first.service;
    services.at[UDPAI_PLACE_STATUS] = &idle.service;
    services.at[UDPAI_PLACE_LOCAL_DEMAND] = &middle.service;
    services.at[UDPAI_PLACES - 1] = &last.service;
    notes[0] = '\0';
    return 0;
}

static void
reports_go_on_until_a_service_takes_them(void **state)
{
    udpai_report report = {.kind = UDPAI_REPORT_OPENED};
    (void)state;
    assert_false(udpai_services_report(&services, 0, &report));
    assert_string_equal(notes, "r1 r2 r3 ");
    notes[0] = '\0';
    middle.takes = true;
    assert_true(udpai_services_report(&services, 0, &report));
    assert_string_equal(notes, "r1 r2 ");
}

static void
a_report_that_was_held_goes_on_behind_who_held_it(void **state)
{
    udpai_report report = {.kind = UDPAI_REPORT_OPENED};
    (void)state;
    assert_false(udpai_services_report(&services, 1, &report));
    assert_string_equal(notes, "r2 r3 ");
}

static void
all_are_notified_and_take_their_turn_in_their_order(void **state)
{
    (void)state;
    udpai_services_notify(&services, &(udpai_service_event){.kind = UDPAI_SERVICE_STARTED});
    udpai_services_run(&services);
    assert_string_equal(notes, "e1 e2 e3 t1 t2 t3 ");
    notes[0] = '\0';
    udpai_service_demand(&middle.service, UDPAI_STR("type"), UDPAI_STR("*"), true);
    udpai_service_demand(&idle.service, UDPAI_STR("type"), UDPAI_STR("*"), true);
    udpai_service_demand(NULL, UDPAI_STR("type"), UDPAI_STR("*"), true);
    assert_string_equal(notes, "d2 ");
}

/* Also those behind one that has something. */
static void
all_are_flushed(void **state)
{
    (void)state;
    assert_false(udpai_services_flush(&services));
    first.has_more = true;
    notes[0] = '\0';
    assert_true(udpai_services_flush(&services));
    assert_string_equal(notes, "f1 f2 f3 ");
}

static void
one_that_is_busy_is_enough(void **state)
{
    (void)state;
    assert_false(udpai_services_are_busy(&services));
    last.is_busy = true;
    assert_true(udpai_services_are_busy(&services));
}

static void
all_end_before_any_is_freed_the_last_one_first(void **state)
{
    (void)state;
    udpai_services_end(&services);
    udpai_services_free(&services);
    assert_string_equal(notes, "x1 x2 x3 -3 -2 -0 -1 ");
    for (size_t i = 0; i < UDPAI_PLACES; i++)
        assert_null(services.at[i]);
}

static void
what_is_being_freed_is_not_notified(void **state)
{
    (void)state;
    middle.all = &services;
    udpai_services_free(&services);
    assert_string_equal(notes, "-3 -2 e1 -0 -1 ");
}

/* Reasons stand in services.h. */
static void
places_are_in_the_order_that_services_depend_on(void **state)
{
    static const udpai_service_place pairs[][2] = {
        /* held before anybody sees it */
        {UDPAI_PLACE_INSPECTION, UDPAI_PLACE_LOAD_UPSTREAMS},
        /* each takes all links from its own number on */
        {UDPAI_PLACE_LOAD_UPSTREAMS, UDPAI_PLACE_ORCA_COLLECTOR},
        {UDPAI_PLACE_ORCA_COLLECTOR, UDPAI_PLACE_CLIENT_REGISTRY},
        {UDPAI_PLACE_ORCA_COLLECTOR, UDPAI_PLACE_STATUS},
        /* the first has notes of the second */
        {UDPAI_PLACE_LOCAL_ACKS, UDPAI_PLACE_SUBSCRIPTIONS},
        /* in one turn */
        {UDPAI_PLACE_SUBSCRIPTIONS, UDPAI_PLACE_LOCAL_DEMAND},
        {UDPAI_PLACE_LOCAL_DEMAND, UDPAI_PLACE_PUBLICATIONS},
        /* what is used is freed behind its user */
        {UDPAI_PLACE_OWN_REPORTS, UDPAI_PLACE_LOAD_REPORTING},
        {UDPAI_PLACE_LOCAL_DEMAND, UDPAI_PLACE_LOAD_REPORTING},
        {UDPAI_PLACE_OWN_REPORTS, UDPAI_PLACE_RESOURCE_STATES},
        {UDPAI_PLACE_LOCAL_DEMAND, UDPAI_PLACE_RESOURCE_STATES},
    };
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(pairs); i++)
        assert_true(pairs[i][0] < pairs[i][1]);
    assert_int_equal(UDPAI_PLACE_INSPECTION, 0);
    assert_true(UDPAI_LOAD_LINKS > UDPAI_ORCA_LINKS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(reports_go_on_until_a_service_takes_them, setup),
        cmocka_unit_test_setup(a_report_that_was_held_goes_on_behind_who_held_it, setup),
        cmocka_unit_test_setup(all_are_notified_and_take_their_turn_in_their_order, setup),
        cmocka_unit_test_setup(all_are_flushed, setup),
        cmocka_unit_test_setup(one_that_is_busy_is_enough, setup),
        cmocka_unit_test_setup(all_end_before_any_is_freed_the_last_one_first, setup),
        cmocka_unit_test_setup(what_is_being_freed_is_not_notified, setup),
        cmocka_unit_test(places_are_in_the_order_that_services_depend_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
