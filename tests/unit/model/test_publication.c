/* SPDX-License-Identifier: Apache-2.0 */
/* A publication: it owns what was put into it, keeps the first refusal of each entry, and a refusal
 * stays one without memory. */
#include "model/publication.h"

#include "tests/harness/oom.h"
#include "tests/harness/test.h"

static udpa_resource *resource;

static int
make_resource(void **state)
{
    (void)state;
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    spec.name = "com.acme/a";
    spec.type_url = "t/T";
    return udpa_resource_new(&resource, &spec, NULL);
}

static int
drop_resource(void **state)
{
    (void)state;
    resource = udpa_resource_unref(resource);
    return 0;
}

static void
new_publication_is_empty(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_publication_free) udpai_publication *publication = udpai_publication_new();
    assert_non_null(publication);
    assert_int_equal(publication->entries.n, 0);
    assert_int_equal(publication->removals.n, 0);
    assert_false(publication->complete);
    assert_false(udpai_publication_has_errors(publication));
    assert_null(udpai_publication_free(NULL));
}

static void
texts_are_copied_and_replaced(void **state)
{
    (void)state;
    char text[] = "nonce-1";
    UDPA_AUTO(udpai_publication_free) udpai_publication *publication = udpai_publication_new();
    assert_ok(udpai_publication_set(&publication->nonce, udpai_str_from(text)));
    text[0] = 'x';
    assert_str(publication->nonce, "nonce-1");
    assert_ok(udpai_publication_set(&publication->nonce, UDPAI_STR("nonce-2")));
    assert_str(publication->nonce, "nonce-2");
    assert_ok(udpai_publication_set(&publication->type_url, (udpai_str){NULL, 0}));
    assert_int_equal(publication->type_url.len, 0);
    assert_ok(udpai_publication_set(&publication->name_space, UDPAI_STR("com.acme")));
}

static void
entries_hold_a_reference(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_publication_free) udpai_publication *publication = udpai_publication_new();
    assert_ok(udpai_publication_add(publication, resource, false));
    assert_ok(udpai_publication_add(publication, resource, true));
    assert_ok(udpai_publication_remove(publication, UDPAI_STR("com.acme/gone")));
    assert_int_equal(publication->entries.n, 2);
    assert_ptr_equal(publication->entries.items[0].resource, resource);
    assert_false(publication->entries.items[0].is_refresh);
    assert_true(publication->entries.items[1].is_refresh);
    assert_str(publication->removals.items[0].name, "com.acme/gone");
}

static void
first_refusal_is_kept(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_publication_free) udpai_publication *publication = udpai_publication_new();
    assert_ok(udpai_publication_add(publication, resource, false));
    udpa_error **error = &publication->entries.items[0].error;
    udpai_publication_refuse(error, udpa_error_new(UDPA_ERR_DENIED, NULL, "first"));
    udpai_publication_refuse(error, udpa_error_new(UDPA_ERR_LIMIT, NULL, "second"));
    assert_int_equal(udpa_error_code(*error), UDPA_ERR_DENIED);
    assert_true(udpai_publication_has_errors(publication));
}

static void
refused_removal_is_an_error_too(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_publication_free) udpai_publication *publication = udpai_publication_new();
    assert_ok(udpai_publication_add(publication, resource, false));
    assert_ok(udpai_publication_remove(publication, UDPAI_STR("com.acme/a")));
    assert_ok(udpai_publication_remove(publication, UDPAI_STR("com.acme/b")));
    assert_false(udpai_publication_has_errors(publication));
    udpai_publication_refuse(&publication->removals.items[1].error,
                             udpa_error_new(UDPA_ERR_DENIED, NULL, "not yours"));
    assert_true(udpai_publication_has_errors(publication));
}

static void
refusal_without_memory_is_a_refusal(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_publication_free) udpai_publication *publication = udpai_publication_new();
    assert_ok(udpai_publication_add(publication, resource, false));
    udpa_error *error = NULL;
    udpai_alloc_fail_after(0);
    udpa_err err = udpai_fail(&error, UDPA_ERR_DENIED, "not yours");
    udpai_alloc_fail_after(-1);
    assert_int_equal(err, UDPA_ERR_DENIED);
    udpai_publication_refuse(&publication->entries.items[0].error, error);
    assert_true(udpai_publication_has_errors(publication));
    assert_int_equal(udpa_error_code(publication->entries.items[0].error), UDPA_ERR_DENIED);
}

static udpa_err
fill(void *context)
{
    (void)context;
    UDPA_AUTO(udpai_publication_free) udpai_publication *publication = udpai_publication_new();
    if (!publication)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_publication_set(&publication->nonce, UDPAI_STR("n"));
    for (int i = 0; i < 20 && err == UDPA_OK; i++)
        err = udpai_publication_add(publication, resource, false);
    for (int i = 0; i < 20 && err == UDPA_OK; i++)
        err = udpai_publication_remove(publication, UDPAI_STR("com.acme/b"));
    if (err == UDPA_OK)
        err = udpai_publication_set(&publication->nonce, UDPAI_STR("m"));
    bool whole = publication->entries.n == 20 && publication->removals.n == 20 &&
                 udpai_str_eq(publication->nonce, UDPAI_STR("m"));
    if (err == UDPA_OK && !whole)
        return UDPA_ERR_INTERNAL; /* a failure was kept quiet */
    return err;
}

static void
lack_of_memory_is_reported(void **state)
{
    (void)state;
    assert_true(oom_torture(fill, NULL) > 25);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_publication_is_empty),
        cmocka_unit_test(texts_are_copied_and_replaced),
        cmocka_unit_test(entries_hold_a_reference),
        cmocka_unit_test(first_refusal_is_kept),
        cmocka_unit_test(refused_removal_is_an_error_too),
        cmocka_unit_test(refusal_without_memory_is_a_refusal),
        cmocka_unit_test(lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, make_resource, drop_resource);
}
