/* SPDX-License-Identifier: Apache-2.0 */
/* Contents that udpactl bench publishes: names, sizes, and the mark of each change. */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "tests/harness/test.h"
#include "tools/bench/contents.h"

/* ---- names ---- */

static void
a_name_has_six_digits(void **state)
{
    (void)state;
    char room[UDPAI_CONTENTS_NAME_ROOM];
    assert_str(udpai_contents_name(room, "com.acme", 42), "com.acme/000042");
    assert_str(udpai_contents_name(room, "", 999999), "999999");
}

static void
a_namespace_that_is_too_long_is_cut(void **state)
{
    (void)state;
    char room[UDPAI_CONTENTS_NAME_ROOM], name_space[2 * UDPAI_CONTENTS_NAME_ROOM];
    memset(name_space, 'a', sizeof(name_space) - 1);
    name_space[sizeof(name_space) - 1] = '\0';
    udpai_str name = udpai_contents_name(room, name_space, 7);
    assert_int_equal(name.len, sizeof(room));
    assert_int_equal(udpai_contents_index(name), 7);
}

static void
the_index_of_a_name(void **state)
{
    (void)state;

    static const struct {
        const char *name;
        size_t index;
    } names[] = {
        {"com.acme/000042", 42},
        {"000042", 42},
        {"a/b/999999", 999999},
        {"/000001", 1},
        {"", SIZE_MAX},
        {"00042", SIZE_MAX},
        {"com.acme/00042", SIZE_MAX},
        {"com.acme-000042", SIZE_MAX},
        {"com.acme/00004x", SIZE_MAX},
        {"com.acme/0000042", SIZE_MAX},
        {"000042/", SIZE_MAX},
        {"com.acme/-00042", SIZE_MAX},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        assert_int_equal(udpai_contents_index(udpai_str_from(names[i].name)), names[i].index);
}

/* ---- sizes ---- */

/* One endpoint is the least that there is; then no more than one above what is wanted. */
static void
a_resource_has_the_size_that_is_wanted(void **state)
{
    (void)state;
    size_t least = 0;
    for (size_t size = 0; size < 5000; size += size < 300 ? 1 : 97) {
        udpai_contents contents;
        assert_true(udpai_contents_make(&contents, "com.acme", size));
        least = size == 0 ? contents.bytes.len : least;
        assert_true(contents.bytes.len >= size);
        assert_true(contents.bytes.len >= least &&
                    (contents.bytes.len == least || contents.bytes.len < size + 40));
        udpai_contents_done(&contents);
    }
    assert_true(least < 100);
}

static void
without_memory_there_is_none(void **state)
{
    (void)state;
    udpai_contents contents;
    udpai_alloc_fail_after(0);
    assert_false(udpai_contents_make(&contents, "com.acme", 300));
    udpai_alloc_fail_after(-1);
    udpai_contents_done(&contents);
}

/* ---- marks ---- */

struct found {
    uint64_t serials[64];
    size_t n;
};

static void
on_mark(void *userdata, uint64_t serial)
{
    struct found *found = userdata;
    assert_true(found->n < UDPAI_ARRAY_LEN(found->serials));
    found->serials[found->n++] = serial;
}

static struct found
find_in(udpai_str text, size_t step)
{
    udpai_mark_finder finder = {0};
    struct found found = {0};
    for (size_t at = 0; at < text.len; at += step)
        udpai_mark_find(&finder, (udpai_str){text.data + at, udpai_min_size(step, text.len - at)},
                        on_mark, &found);
    return found;
}

static void
each_change_has_its_mark(void **state)
{
    (void)state;
    udpai_contents contents;
    assert_true(udpai_contents_make(&contents, "com.acme", 300));
    size_t len = contents.bytes.len;
    static const uint64_t serials[] = {0, 1, 0xabcdef0123456789, UINT64_MAX};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(serials); i++) {
        udpai_contents_set(&contents, i, serials[i]);
        struct found found = find_in(contents.bytes, contents.bytes.len);
        assert_int_equal(found.n, 1);
        assert_true(found.serials[0] == serials[i]);
        assert_int_equal(contents.bytes.len, len);
        assert_int_equal(udpai_contents_index(contents.name), i);
    }
    udpai_contents_done(&contents);
}

static const char *const marks = "udpa.bench:0000000000000001"            /* at the beginning */
                                 "udpa.bench:00000000000000ff"            /* close behind it */
                                 "udpa.bench:udpa.bench:0000000000000003" /* behind half of one */
                                 "udpa.bench:000000000000000udpa.bench:0000000000000004"
                                 "udpa.bench:000000000000000g none at all " /* not a digit */
                                 "....udpa.bench:0000000000000005....uudpa.bench:fedcba9876543210"
                                 "udpa.bench:00000000000000"; /* its end is missing */

static void
assert_marks(const struct found *found)
{
    static const uint64_t expected[] = {1, 0xff, 3, 4, 5, 0xfedcba9876543210};
    assert_int_equal(found->n, UDPAI_ARRAY_LEN(expected));
    for (size_t i = 0; i < found->n; i++)
        assert_true(found->serials[i] == expected[i]);
}

static void
marks_are_found_in_pieces_of_every_length(void **state)
{
    (void)state;
    udpai_str text = udpai_str_from(marks);
    for (size_t step = 1; step <= text.len; step++) {
        struct found found = find_in(text, step);
        assert_marks(&found);
    }
}

static void
marks_are_found_wherever_it_is_cut(void **state)
{
    (void)state;
    udpai_str text = udpai_str_from(marks);
    for (size_t a = 0; a <= text.len; a++)
        for (size_t b = a; b <= text.len; b++) {
            udpai_mark_finder finder = {0};
            struct found found = {0};
            udpai_mark_find(&finder, (udpai_str){text.data, a}, on_mark, &found);
            udpai_mark_find(&finder, (udpai_str){text.data + a, b - a}, on_mark, &found);
            udpai_mark_find(&finder, (udpai_str){text.data + b, text.len - b}, on_mark, &found);
            assert_marks(&found);
        }
}

static void
nothing_is_a_piece_too(void **state)
{
    (void)state;
    udpai_mark_finder finder = {0};
    struct found found = {0};
    udpai_mark_find(&finder, (udpai_str){NULL, 0}, on_mark, &found);
    udpai_mark_find(&finder, UDPAI_STR("udpa.bench:0000"), on_mark, &found);
    udpai_mark_find(&finder, (udpai_str){NULL, 0}, on_mark, &found);
    udpai_mark_find(&finder, UDPAI_STR("000000000007"), on_mark, &found);
    assert_int_equal(found.n, 1);
    assert_true(found.serials[0] == 7);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_six_digits),
        cmocka_unit_test(a_namespace_that_is_too_long_is_cut),
        cmocka_unit_test(the_index_of_a_name),
        cmocka_unit_test(a_resource_has_the_size_that_is_wanted),
        cmocka_unit_test(without_memory_there_is_none),
        cmocka_unit_test(each_change_has_its_mark),
        cmocka_unit_test(marks_are_found_in_pieces_of_every_length),
        cmocka_unit_test(marks_are_found_wherever_it_is_cut),
        cmocka_unit_test(nothing_is_a_piece_too),
    };
    return cmocka_run_group_tests_name("bench/contents", tests, NULL, NULL);
}
