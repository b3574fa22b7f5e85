/* SPDX-License-Identifier: Apache-2.0 */
/* A fan-out that is fed by hand, and readers of it, both in one line. */

/* Types are CDS EDS LDS RDS; any other word W is the type "type.googleapis.com/test.W". Names lie
 * in the namespace com.acme and are written without it; "/org/x" is the full name org/x.
 *
 * A change: "+CDS/a=1" sets, "-CDS/a" removes, "~CDS/a=1" refreshes. Behind it, in any order: ^NAME
 * an alias, @NODE from whom it came, >12 the links of the ConfigSources that are shown it (1 and
 * 2), %MS when it expires, :N its generation, $ lazy, ;TESTS the constraints of a variant:
 * ";env~prod&!version" wants env to be prod, and no version. A name is asked for with dynamic
 * parameters so, too: "a;env~prod&version~1".
 *
 * A delivery: "CDS[a=1 ~b=2 c=3%70 -d]": sent, refreshed, sent with 70 ms left, removed; in the
 * order of the response; "-a;env~prod" is the end of a variant. "CDS*[…]" is a state,
 * "CDS!com.acme" is complete. A renderer of a protocol that shows the content only puts no "~"
 * unless it has a ttl. */
#ifndef UDPAI_TESTS_FANOUT_TEST_H
#define UDPAI_TESTS_FANOUT_TEST_H

#include "fanout/fanout.h"
#include "tests/harness/resources.h"

#define FANOUT_TEST_TEXT 4096
#define FANOUT_TEST_NAMES 512

/* What every item adds to a response besides its name and value. */
#define FANOUT_TEST_OVERHEAD 10

typedef struct fanout_renderer {
    udpai_renderer base;
    size_t *n_composed;
} fanout_renderer;

typedef struct fanout_bed {
    udpai_wheel wheel;
    udpai_list readers; /* that are open */
    udpai_fanout *fanout;
    udpai_fanout_options options;
    fanout_renderer renderer;
    size_t n_composed;
    char interest[FANOUT_TEST_TEXT]; /* "+CDS/a -CDS:com.acme": since it was looked at last */
} fanout_bed;

/* Begins at 1000 ms; nothing is settled; at least 64 tombstones; responses of any size; views go
 * after a second. */
void fanout_bed_init(fanout_bed *bed);
/* Closes what a failed test has left open. */
void fanout_bed_done(fanout_bed *bed);
/* The same with these options. */
void fanout_bed_restart(fanout_bed *bed);
/* Responses with room for n items of one letter and one digit. */
void fanout_bed_page(fanout_bed *bed, size_t n_items);
/* Turns the clock to then. */
void fanout_bed_at(fanout_bed *bed, uint64_t now_ms);
/* Applies one change set. */
void fanout_change(fanout_bed *bed, const char *changes);
/* The change set alone; NULL without memory. */
udpai_change_set *fanout_changes(const char *changes);
/* Everything is known from now on. */
void fanout_settle(fanout_bed *bed);
/* All but this. */
void fanout_settle_except(fanout_bed *bed, const udpai_unsettled *missing);
const char *fanout_type(const char *word, char room[128]);

/* ---- readers ---- */

typedef struct fanout_held {
    char type[16], name[64];
    udpa_resource *resource;
} fanout_held;

typedef struct fanout_reader {
    udpai_subscriber subscriber;
    udpai_list in_bed;
    fanout_bed *bed;
    size_t n_wakes;
    bool checks_refreshes; /* what is refreshed must have been sent; on from the beginning */
    fanout_held held[FANOUT_TEST_NAMES];
    size_t n_held;
    size_t last_size; /* of the last body, by our counting; and how many items it had */
    size_t last_items;
    char text[FANOUT_TEST_TEXT];
} fanout_reader;

void fanout_open(fanout_reader *reader, fanout_bed *bed);
/* With another renderer; it must outlive the reader. */
void fanout_open_with(fanout_reader *reader, fanout_bed *bed, const fanout_renderer *renderer);
void fanout_close(fanout_reader *reader);
/* The subscription to a type; made in UDPAI_MODE_DELTA if there is none. */
udpai_subscription *fanout_of(fanout_reader *reader, const char *type);
udpai_subscription *
fanout_in_mode(fanout_reader *reader, const char *type, udpai_delivery_mode mode);
void fanout_wildcard(fanout_reader *reader, const char *type, const char *prefix);
void fanout_drop_wildcard(fanout_reader *reader, const char *type, const char *prefix);
/* Short names, divided by spaces. */
void fanout_ask(fanout_reader *reader, const char *type, const char *names);
/* Gives one back. */
void fanout_drop_name(fanout_reader *reader, const char *type, const char *name);
/* One delivery, "" if there is none; valid until the next call. */
const char *fanout_next(fanout_reader *reader);
/* All there are, divided by spaces. */
const char *fanout_all(fanout_reader *reader);
/* The value it holds; "" for nothing. */
const char *fanout_holds(fanout_reader *reader, const char *type, const char *name);
const fanout_held *
fanout_find_held(const fanout_reader *reader, const char *type, const char *name);

/* Notes what a delivery brings. */
void fanout_receive(fanout_reader *reader, const udpai_delivery *delivery);
/* It forgets this, as who does not ask for it any more. */
void fanout_drop(fanout_reader *reader, const char *type, const char *name);

#define assert_next(reader, expected) assert_string_equal(fanout_next(reader), (expected))
#define assert_all(reader, expected) assert_string_equal(fanout_all(reader), (expected))

/* ---- for cmocka: a bed as each test's state ---- */

int fanout_bed_setup(void **state);
int fanout_bed_teardown(void **state);
#define fanout_test(test)                                                                          \
    cmocka_unit_test_setup_teardown(test, fanout_bed_setup, fanout_bed_teardown)

#endif
