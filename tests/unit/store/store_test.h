/* SPDX-License-Identifier: Apache-2.0 */
/* A store on a clock that a test turns, and change sets in one line.
 *
 * "+a=1 ~b=2@500 -c": a was set and holds 1, b was refreshed and expires at 500, c was removed; in
 * order of the alphabet. Names lie in the namespace com.acme and are shown without it; those of
 * other namespaces are shown whole. "<n" is the node that it came from, "!7"
 * that with it a removal is told that was said with this generation. */
#ifndef UDPAI_TESTS_STORE_TEST_H
#define UDPAI_TESTS_STORE_TEST_H

#include "base/error.h"
#include "store/store.h"
#include "tests/harness/resources.h"

#define STORE_TEST_TEXT 1024

typedef struct store_bed {
    udpai_wheel wheel;
    udpai_store *store;
    udpai_store_options options;
    char text[STORE_TEST_TEXT]; /* of the last answer */
} store_bed;

/* Begins at 1000 ms; remembers for 10 s, 100 floors; each limit is 1000 resources and 1 MiB. */
void store_bed_init(store_bed *bed);
void store_bed_done(store_bed *bed);
/* Turns the clock to then. */
void store_bed_at(store_bed *bed, uint64_t now_ms);

/* The origin, eligible for TEST_TYPE; `order` is its place in its class. */
udpai_origin *
store_bed_origin(store_bed *bed, const char *key, udpai_origin_class rank, unsigned order);
/* Takes over the resource. */
void store_bed_put(store_bed *bed, udpai_origin *origin, udpa_resource *resource);
void store_bed_put_until(store_bed *bed,
                         udpai_origin *origin,
                         udpa_resource *resource,
                         uint64_t deadline_ms);
/* The same, and may fail. */
udpa_err store_bed_try(store_bed *bed,
                       udpai_origin *origin,
                       udpa_resource *resource,
                       udpa_error **ret_error);
void store_bed_withdraw(store_bed *bed, udpai_origin *origin, const char *name);
void store_bed_eligible(store_bed *bed, udpai_origin *origin, bool eligible);
/* Takes the changes and says which; valid until the next call. */
const char *store_bed_changes(store_bed *bed);
/* Takes the changes, then says the value of what is effective: "" for nothing. */
const char *store_bed_effective(store_bed *bed, const char *name);
/* Takes what is to be kept: "P" put, "D" delete, "M" mark, as "P:origin/a=1 D:origin/b
 * M:origin:prefix", in the order of the store. */
const char *store_bed_durable(store_bed *bed);
/* The same of a batch. */
const char *store_bed_batch(store_bed *bed, const udpai_durable_batch *batch);

#define PUT(bed, origin, name, ...)                                                                \
    store_bed_put((bed), (origin), RESOURCE("com.acme/" name, __VA_ARGS__))
#define PUT_UNTIL(bed, origin, deadline_ms, name, ...)                                             \
    store_bed_put_until((bed), (origin), RESOURCE("com.acme/" name, __VA_ARGS__), (deadline_ms))
#define assert_changes(bed, expected) assert_string_equal(store_bed_changes(bed), (expected))
#define assert_effective(bed, name, expected)                                                      \
    assert_string_equal(store_bed_effective((bed), "com.acme/" name), (expected))
#define assert_durable(bed, expected) assert_string_equal(store_bed_durable(bed), (expected))

/* ---- for cmocka: a bed as each test's state ---- */

int store_bed_setup(void **state);
int store_bed_teardown(void **state);
#define store_test(test) cmocka_unit_test_setup_teardown(test, store_bed_setup, store_bed_teardown)

#endif
