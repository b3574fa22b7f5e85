/* SPDX-License-Identifier: Apache-2.0 */
/* The table of types: that it does not contradict itself, and that everything in it is found. */
#include "model/types.h"

#include <stdio.h>

#include "tests/harness/test.h"

static void
assert_differ(const char *one, const char *other)
{
    if (one && other)
        assert_string_not_equal(one, other);
}

static void
no_two_types_are_called_the_same(void **state)
{
    (void)state;
    const udpai_type_info *type;
    for (size_t i = 0; (type = udpai_type_at(i)); i++) {
        for (size_t k = 0; k < i; k++) {
            const udpai_type_info *other = udpai_type_at(k);
            assert_string_not_equal(type->url.data, other->url.data);
            assert_differ(type->word, other->word);
            assert_differ(type->discovery_word, other->discovery_word);
            assert_differ(type->word, other->discovery_word);
            assert_differ(type->discovery_word, other->word);
            assert_differ(type->service, other->service);
            assert_differ(type->what, other->what);
            assert_differ(type->rest, other->rest);
        }
    }
}

static void
a_url_is_the_prefix_and_the_name(void **state)
{
    (void)state;
    const udpai_type_info *type;
    for (size_t i = 0; (type = udpai_type_at(i)); i++) {
        assert_int_equal(type->url.len, strlen(type->url.data));
        assert_int_equal(type->name.len, strlen(type->name.data));
        assert_true(udpai_str_starts(type->url, UDPAI_STR(UDPAI_TYPE_PREFIX)));
        assert_true(udpai_str_eq(udpai_type_url_name(type->url), type->name));
    }
}

static void
ranks_are_without_gaps(void **state)
{
    bool is_taken[UDPAI_TYPES_SERVED] = {false};
    (void)state;
    for (size_t i = 0; i < UDPAI_TYPES_SERVED; i++) {
        unsigned rank = udpai_type_at(i)->rank;
        assert_in_range(rank, 0, UDPAI_TYPES_SERVED - 1);
        assert_false(is_taken[rank]);
        is_taken[rank] = true;
    }
}

static void
types_are_sent_in_the_order_of_the_protocol(void **state)
{
    static const char *const order[] = {
        UDPAI_TYPE_CLUSTER,      UDPAI_TYPE_ENDPOINTS, UDPAI_TYPE_MEMBER, UDPAI_TYPE_SECRET,
        UDPAI_TYPE_EXTENSION,    UDPAI_TYPE_LISTENER,  UDPAI_TYPE_SCOPES, UDPAI_TYPE_ROUTES,
        UDPAI_TYPE_VIRTUAL_HOST, UDPAI_TYPE_RUNTIME,
    };
    (void)state;
    for (unsigned i = 0; i < UDPAI_ARRAY_LEN(order); i++)
        assert_int_equal(udpai_type_rank(udpai_str_from(order[i])), i);
    assert_int_equal(udpai_type_rank(UDPAI_STR(UDPAI_TYPE_CLIENT_LOAD)), UDPAI_TYPES_SERVED);
    assert_int_equal(udpai_type_rank(UDPAI_STR("com.acme.A")), UDPAI_TYPES_SERVED);
}

static void
those_that_are_served_come_first(void **state)
{
    size_t n_polled = 0;
    (void)state;
    const udpai_type_info *type;
    for (size_t i = 0; (type = udpai_type_at(i)); i++) {
        bool is_served = i < UDPAI_TYPES_SERVED;
        assert_int_equal(type->package != NULL, is_served);
        assert_int_equal(type->service != NULL, is_served);
        assert_int_equal(type->what != NULL, is_served);
        assert_false(is_served && type->is_client);
        assert_true(is_served || (!type->rest && !type->rank && !type->name_field));
        assert_true(type->word || !type->discovery_word);
        n_polled += type->rest != NULL;
    }
    assert_int_equal(n_polled, UDPAI_TYPES_POLLED);
}

static void
each_is_found_by_what_it_is_called(void **state)
{
    char url[256];
    (void)state;
    const udpai_type_info *type;
    for (size_t i = 0; (type = udpai_type_at(i)); i++) {
        snprintf(url, sizeof(url), "example.com/types/%s", type->name.data);
        assert_ptr_equal(udpai_type_find(type->url), type);
        assert_ptr_equal(udpai_type_find(type->name), type);
        assert_ptr_equal(udpai_type_find(udpai_str_from(url)), type);
        assert_ptr_equal(udpai_type_of_url(type->url), type);
        assert_null(udpai_type_of_url(type->name));
        assert_null(udpai_type_of_url(udpai_str_from(url)));
        assert_null(udpai_type_find((udpai_str){type->url.data, type->url.len - 1}));
    }
    assert_null(udpai_type_find(UDPAI_STR("")));
    assert_null(udpai_type_find((udpai_str){0}));
    assert_null(udpai_type_of_url(UDPAI_STR("type.googleapis.com/com.acme.A")));
}

static void
leaves_name_no_others(void **state)
{
    (void)state;
    assert_true(udpai_type_is_leaf(
        UDPAI_STR("type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment")));
    assert_true(udpai_type_is_leaf(UDPAI_STR("envoy.service.runtime.v3.Runtime")));
    assert_false(
        udpai_type_is_leaf(UDPAI_STR("type.googleapis.com/envoy.config.cluster.v3.Cluster")));
    assert_false(udpai_type_is_leaf(UDPAI_STR("type.googleapis.com/com.acme.Secret")));
    assert_false(udpai_type_is_leaf(UDPAI_STR("")));
}

static void
whole_states_are_of_three_types(void **state)
{
    size_t n = 0;
    (void)state;
    const udpai_type_info *type;
    for (size_t i = 0; (type = udpai_type_at(i)); i++)
        n += udpai_type_is_whole(type->name);
    assert_int_equal(n, 3);
    assert_true(udpai_type_is_whole(UDPAI_STR(UDPAI_TYPE_CLUSTER)));
    assert_true(udpai_type_is_whole(UDPAI_STR(UDPAI_TYPE_LISTENER)));
    assert_true(udpai_type_is_whole(UDPAI_STR(UDPAI_TYPE_SCOPES)));
    assert_false(udpai_type_is_whole(UDPAI_STR("com.acme.A")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_types_are_called_the_same),
        cmocka_unit_test(a_url_is_the_prefix_and_the_name),
        cmocka_unit_test(ranks_are_without_gaps),
        cmocka_unit_test(types_are_sent_in_the_order_of_the_protocol),
        cmocka_unit_test(those_that_are_served_come_first),
        cmocka_unit_test(each_is_found_by_what_it_is_called),
        cmocka_unit_test(leaves_name_no_others),
        cmocka_unit_test(whole_states_are_of_three_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
