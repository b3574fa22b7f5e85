/* SPDX-License-Identifier: Apache-2.0 */
/* The rate of a node's own events, and that each is counted somewhere. */
#include "events/node_events.h"

#include <stdio.h>

#include "base/bytes.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"
#include "udpa/event/v1/event.pb-c.h"

#define HOUR_MS 3600000

static udpai_wheel wheel;
static udpai_node_events *notes;
static int64_t last_time_us;
static size_t n_of_kind[UDPAI_NOTE_KINDS];
static uint64_t n_counted; /* with those that were suppressed */
static char last_text[64];
static uint64_t last_suppressed;

static int64_t
wall_us(void *userdata)
{
    (void)userdata;
    return (int64_t)wheel.now_ms * 1000;
}

static void
on_event(void *userdata, udpa_bytes *event, int64_t time_us)
{
    (void)userdata;
    Udpa__Event__V1__NodeEvent *read =
        udpa__event__v1__node_event__unpack(NULL, udpa_bytes_size(event), udpa_bytes_data(event));
    assert_non_null(read);
    n_of_kind[read->kind]++;
    n_counted += 1 + read->n_suppressed;
    last_suppressed = read->n_suppressed;
    last_time_us = time_us;
    snprintf(last_text, sizeof(last_text), "%s", read->text);
    udpa__event__v1__node_event__free_unpacked(read, NULL);
}

static void
begin(void)
{
    const udpai_node_events_env env = {&wheel, wall_us, on_event, NULL};
    udpai_wheel_init(&wheel, 1000);
    memset(n_of_kind, 0, sizeof(n_of_kind));
    n_counted = last_suppressed = 0;
    last_text[0] = '\0';
    notes = udpai_node_events_new(&env);
}

static void
end(void)
{
    notes = udpai_node_events_free(notes);
    assert_int_equal(udpai_wheel_next(&wheel), UDPAI_WHEEL_NEVER);
}

static void
note(udpai_node_event_kind kind, const char *peer, const char *text)
{
    const udpai_log_field about[] = {{UDPAI_LOG_PEER, udpai_str_from(peer)}};
    udpai_node_events_note(notes, &(udpai_node_event){kind, UDPA_LOG_WARNING, text, about, 1});
}

static void
pass_ms(uint64_t ms)
{
    udpai_wheel_advance(&wheel, wheel.now_ms + ms);
}

/* ---- */

static void
the_first_passes_at_once_and_the_last_of_the_others_later(void **state)
{
    (void)state;
    begin();
    note(UDPAI_NOTE_NACK, "a", "first");
    assert_string_equal(last_text, "first");
    pass_ms(10);
    note(UDPAI_NOTE_NACK, "a", "second");
    note(UDPAI_NOTE_NACK, "a", "third");
    assert_int_equal(n_of_kind[UDPAI_NOTE_NACK], 1);
    pass_ms(UDPAI_NOTE_WINDOW_MS - 11);
    assert_int_equal(n_of_kind[UDPAI_NOTE_NACK], 1);
    pass_ms(1);
    assert_int_equal(n_of_kind[UDPAI_NOTE_NACK], 2);
    assert_string_equal(last_text, "third");
    assert_int_equal(last_suppressed, 1);
    assert_int_equal(last_time_us, 1010000); /* when it happened */
    end();
}

static void
one_that_is_alone_is_followed_by_nothing(void **state)
{
    (void)state;
    begin();
    note(UDPAI_NOTE_NACK, "a", "x");
    pass_ms(UDPAI_NOTE_WINDOW_MS);
    note(UDPAI_NOTE_NACK, "a", "y");
    assert_int_equal(n_of_kind[UDPAI_NOTE_NACK], 2);
    assert_string_equal(last_text, "y");
    pass_ms(HOUR_MS);
    assert_int_equal(n_of_kind[UDPAI_NOTE_NACK], 2);
    end();
}

static void
kinds_and_subjects_do_not_hide_each_other(void **state)
{
    (void)state;
    begin();
    note(UDPAI_NOTE_NACK, "a", "x");
    note(UDPAI_NOTE_NACK, "b", "x");
    note(UDPAI_NOTE_HELD, "a", "x");
    assert_int_equal(n_of_kind[UDPAI_NOTE_NACK], 2);
    assert_int_equal(n_of_kind[UDPAI_NOTE_HELD], 1);
    end();
}

/* 10,000 a second, for an hour. */
static void
a_client_that_floods_is_rare_and_counted(void **state)
{
    uint64_t n = 0;
    (void)state;
    begin();
    for (size_t i = 0; i < HOUR_MS / 100; i++) {
        for (size_t k = 0; k < 10; k++, n++)
            note(UDPAI_NOTE_NACK, "a", "x");
        pass_ms(100);
    }
    assert_in_range(n_of_kind[UDPAI_NOTE_NACK], 40, 70);
    note(UDPAI_NOTE_FAIL_OVER, "a", "seen");
    assert_string_equal(last_text, "seen");
    pass_ms(10 * UDPAI_NOTE_WINDOW_MAX_MS);
    assert_int_equal(n_counted, n + 1);
    end();
}

/* Each second as many clients as may be, each another. */
static void
many_clients_are_rare_and_counted(void **state)
{
    uint64_t n = 0;
    char name[32];
    (void)state;
    begin();
    for (size_t i = 0; i < HOUR_MS / 1000; i++) {
        for (size_t k = 0; k < 50; k++, n++) {
            snprintf(name, sizeof(name), "client-%zu-%zu", i, k);
            note(UDPAI_NOTE_NACK, name, "x");
        }
        pass_ms(1000);
    }
    assert_in_range(n_of_kind[UDPAI_NOTE_NACK], 300, 600);
    pass_ms(10 * UDPAI_NOTE_WINDOW_MAX_MS);
    assert_int_equal(n_counted, n);
    end();
}

static void
those_without_a_place_share_one(void **state)
{
    char name[32];
    (void)state;
    begin();
    for (size_t i = 0; i < UDPAI_NOTE_SUBJECTS + 5; i++) {
        snprintf(name, sizeof(name), "client-%zu", i);
        note(UDPAI_NOTE_NACK, name, name);
    }
    assert_int_equal(n_of_kind[UDPAI_NOTE_NACK], UDPAI_NOTE_SUBJECTS);
    pass_ms(UDPAI_NOTE_WINDOW_MS);
    assert_int_equal(n_of_kind[UDPAI_NOTE_NACK], UDPAI_NOTE_SUBJECTS + 1);
    assert_int_equal(last_suppressed, 4);
    assert_string_equal(last_text, name);
    end();
}

/* After it was silent for as long as it had to wait, it is as any other. */
static void
a_client_that_was_silent_is_heard_at_once(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < 100; i++) {
        note(UDPAI_NOTE_NACK, "a", "x");
        pass_ms(1000);
    }
    pass_ms(2 * UDPAI_NOTE_WINDOW_MAX_MS);
    note(UDPAI_NOTE_NACK, "a", "new");
    assert_string_equal(last_text, "new");
    assert_int_equal(last_suppressed, 0);
    end();
}

static void
what_waits_is_dropped_at_the_end(void **state)
{
    (void)state;
    begin();
    note(UDPAI_NOTE_NACK, "a", "x");
    note(UDPAI_NOTE_NACK, "a", "y");
    end();
    assert_int_equal(n_of_kind[UDPAI_NOTE_NACK], 1);
    udpai_node_events_note(NULL, &(udpai_node_event){.kind = UDPAI_NOTE_NACK});
}

static udpa_err
flood(void *context)
{
    (void)context;
    begin();
    note(UDPAI_NOTE_NACK, "a", "x");
    note(UDPAI_NOTE_NACK, "a", "y");
    note(UDPAI_NOTE_NACK, "a", "z");
    pass_ms(HOUR_MS);
    end();
    return n_counted == 3 ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
without_memory_events_are_missing(void **state)
{
    (void)state;
    (void)oom_torture(flood, NULL);
    assert_string_equal(last_text, "z");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_passes_at_once_and_the_last_of_the_others_later),
        cmocka_unit_test(one_that_is_alone_is_followed_by_nothing),
        cmocka_unit_test(kinds_and_subjects_do_not_hide_each_other),
        cmocka_unit_test(a_client_that_floods_is_rare_and_counted),
        cmocka_unit_test(many_clients_are_rare_and_counted),
        cmocka_unit_test(those_without_a_place_share_one),
        cmocka_unit_test(a_client_that_was_silent_is_heard_at_once),
        cmocka_unit_test(what_waits_is_dropped_at_the_end),
        cmocka_unit_test(without_memory_events_are_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
