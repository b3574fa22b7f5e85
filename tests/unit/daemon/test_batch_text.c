/* SPDX-License-Identifier: Apache-2.0 */
/* What a batch changes, from one process to another: whole, or refused. */
#include "daemon/batch_text.h"

#include <stdio.h>

#include "base/alloc.h"
#include "tests/harness/resources.h"

#define KEY UDPAI_STR("publisher:a")

typedef struct seen {
    char text[400];
    size_t n, fails_at;
} seen;

static udpa_err
take(void *userdata, const udpai_durable_op *op)
{
    seen *to = userdata;
    size_t at = strlen(to->text);
    udpai_str name = op->resource ? udpai_resource_name(op->resource) : udpai_bytes_view(op->name);
    if (++to->n == to->fails_at)
        return UDPA_ERR_LIMIT;
    snprintf(to->text + at, sizeof(to->text) - at, "%s%.*s by %.*s until %lld;",
             op->resource ? "+" : "-", UDPAI_SHOWN(name), UDPAI_SHOWN(udpai_bytes_view(op->origin)),
             (long long)op->expires_us);
    if (op->resource)
        assert_str(udpai_resource_type_url(op->resource), TEST_TYPE);
    else
        assert_string_equal(udpa_bytes_data(op->type), TEST_TYPE);
    return UDPA_OK;
}

static udpa_err
add(udpai_durable_batch *batch, udpai_durable_kind kind, const char *name, int64_t expires_us)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *type = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *text = NULL;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = RESOURCE(name, .value = "x");
    assert_ok(udpa_bytes_new(&key, KEY.data, KEY.len));
    assert_ok(udpa_bytes_new(&text, name, strlen(name)));
    assert_non_null(type = udpai_bytes_cstring(UDPAI_STR(TEST_TYPE)));
    const bool is_put = kind == UDPAI_DURABLE_PUT;
    return udpai_durable_batch_add(batch, &(udpai_durable_op){
                                              .kind = kind,
                                              .origin = key,
                                              .resource = is_put ? resource : NULL,
                                              .type = is_put ? NULL : type,
                                              .name = is_put ? NULL : text,
                                              .expires_us = expires_us,
                                          });
}

static udpai_durable_batch *
make_batch(void)
{
    udpai_durable_batch *batch = udpai_durable_batch_new();
    assert_non_null(batch);
    assert_ok(add(batch, UDPAI_DURABLE_PUT, "com.acme/a", 0));
    assert_ok(add(batch, UDPAI_DURABLE_MARK, "com.acme", 0));
    assert_ok(add(batch, UDPAI_DURABLE_DELETE, "com.acme/b", 0));
    assert_ok(add(batch, UDPAI_DURABLE_PUT, "com.acme/c", INT64_MAX));
    return batch;
}

#define ALL                                                                                        \
    "+com.acme/a by publisher:a until 0;-com.acme/b by publisher:a until 0;"                       \
    "+com.acme/c by publisher:a until 9223372036854775807;"

static void
what_is_put_and_deleted_crosses(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_durable_batch_free) udpai_durable_batch *batch = make_batch();
    udpai_strbuf text = {0};
    seen all = {.n = 0}, some = {.fails_at = 2};
    assert_ok(udpai_batch_text_put(&text, batch));
    assert_ok(udpai_batch_text_read(udpai_strbuf_view(&text), take, &all));
    assert_string_equal(all.text, ALL);
    assert_int_equal(udpai_batch_text_read(udpai_strbuf_view(&text), take, &some), UDPA_ERR_LIMIT);
    assert_int_equal(some.n, 2);
    assert_ok(udpai_batch_text_read((udpai_str){0}, take, &all));
    udpai_strbuf_done(&text);
}

/* In a room of its own, so that nothing behind it can be read. */
static void
what_is_cut_or_changed_is_refused(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_durable_batch_free) udpai_durable_batch *batch = make_batch();
    udpai_strbuf text = {0};
    assert_ok(udpai_batch_text_put(&text, batch));
    for (size_t len = 1; len < text.len; len++) {
        char *room = udpai_memdup(text.data, len);
        seen all = {.n = 0};
        udpa_err err = udpai_batch_text_read((udpai_str){room, len}, take, &all);
        assert_true(err == UDPA_OK ? all.n < 3 : err == UDPA_ERR_MALFORMED);
        udpai_free(room);
    }
    for (size_t at = 0; at < text.len; at++) {
        char *room = udpai_memdup(text.data, text.len);
        seen all = {.fails_at = SIZE_MAX};
        room[at] = (char)~room[at];
        if (at == 0) /* the kind */
            assert_int_equal(udpai_batch_text_read((udpai_str){room, text.len}, take, &all),
                             UDPA_ERR_MALFORMED);
        udpai_free(room);
    }
    udpai_strbuf_done(&text);
}

static bool
put_and_read(void *userdata)
{
    udpai_strbuf text = {0};
    seen all = {.n = 0};
    udpa_err err = udpai_batch_text_put(&text, userdata);
    if (err == UDPA_OK)
        err = udpai_batch_text_read(udpai_strbuf_view(&text), take, &all);
    udpai_strbuf_done(&text);
    assert_true(err == UDPA_OK || err == UDPA_ERR_NOMEM);
    return err == UDPA_OK && strcmp(all.text, ALL) == 0;
}

static void
without_memory_nothing_is_lost(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_durable_batch_free) udpai_durable_batch *batch = make_batch();
    bool is_done = false;
    for (int i = 0; i < 1000 && !is_done; i++) {
        udpai_alloc_fail_after(i);
        is_done = put_and_read(batch);
        udpai_alloc_fail_after(-1);
    }
    assert_true(is_done);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_and_deleted_crosses),
        cmocka_unit_test(what_is_cut_or_changed_is_refused),
        cmocka_unit_test(without_memory_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
