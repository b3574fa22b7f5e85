/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of events as bytes and back, and bytes that are cut off. */
#include "events/batch.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "tests/harness/oom.h"

static const udpai_event_figures figures = {1, 2, UINT64_MAX, 4, 5, 6, 1};

static udpai_event_source *
make_source(const char *id, const char *identifier)
{
    udpai_event_source *source =
        udpai_event_source_new(udpai_str_from(id), UDPAI_STR("identity"), UDPAI_STR("name"));
    assert_non_null(source);
    if (identifier)
        assert_ok(udpa_bytes_new(&source->identifier, identifier, strlen(identifier)));
    return source;
}

static void
add(udpai_event_batch *batch, udpai_event_source *source, const char *message)
{
    udpa_bytes *bytes = NULL;
    assert_ok(udpa_bytes_new(&bytes, message, strlen(message)));
    udpai_event *event = udpai_event_new(source, bytes);
    udpa_bytes_unref(bytes);
    event->sequence = 100 + batch->n;
    event->time_us = 5;
    batch->events[batch->n++] = event;
}

/* Of two clients, in turns. */
static udpai_event_batch *
make_batch(void)
{
    udpai_event_batch *batch = udpai_alloc(sizeof(*batch) + 4 * sizeof(batch->events[0]));
    udpai_event_source *a = make_source("a", "an identifier"), *b = make_source("b", NULL);
    assert_non_null(batch);
    udpai_list_init(&batch->node);
    add(batch, a, "first");
    add(batch, a, "second");
    add(batch, b, "");
    add(batch, a, "fourth");
    udpai_event_source_unref(a);
    udpai_event_source_unref(b);
    return batch;
}

static void
assert_same_source(const udpai_event_source *a, const udpai_event_source *b)
{
    assert_true(udpai_str_eq(a->node_id, b->node_id));
    assert_true(udpai_str_eq(a->identity, b->identity));
    assert_true(udpai_str_eq(a->name, b->name));
    assert_int_equal(!a->identifier, !b->identifier);
    if (a->identifier)
        assert_true(udpai_str_eq(udpai_bytes_view(a->identifier), udpai_bytes_view(b->identifier)));
}

static void
what_is_taken_is_what_was_put(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_event_batch_free) udpai_event_batch *batch = make_batch(), *read = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_event_batch_encode(batch, &figures);
    udpai_event_figures found;
    assert_ok(udpai_event_batch_decode(udpai_bytes_view(bytes), &read, &found));
    assert_memory_equal(&found, &figures, sizeof(found));
    assert_int_equal(read->n, batch->n);
    for (size_t i = 0; i < read->n; i++) {
        const udpai_event *a = batch->events[i], *b = read->events[i];
        assert_int_equal(a->sequence, b->sequence);
        assert_int_equal(a->time_us, b->time_us);
        assert_same_source(a->source, b->source);
        assert_true(udpai_str_eq(udpai_bytes_view(a->message), udpai_bytes_view(b->message)));
    }
    assert_ptr_equal(read->events[0]->source, read->events[1]->source);
}

static void
nothing_that_was_cut_or_goes_on_is_taken(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_event_batch_free) udpai_event_batch *batch = make_batch(), *read = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_event_batch_encode(batch, &figures);
    size_t size = udpa_bytes_size(bytes);
    char *text = malloc(size + 1);
    udpai_event_figures found;
    memcpy(text, udpa_bytes_data(bytes), size);
    text[size] = 0;
    for (size_t len = 0; len <= size + 1; len++)
        if (len != size)
            assert_int_equal(udpai_event_batch_decode((udpai_str){text, len}, &read, &found),
                             UDPA_ERR_MALFORMED);
    free(text);
}

static void
nonsense_is_not_taken(void **state)
{
    (void)state;
    static const udpai_str texts[] = {
        {"\0\0\0\0\0\0\x02\0", 8},                              /* neither all nor not */
        {"\0\0\0\0\0\0\0\x01\0", 9},                            /* no source for the first event */
        {"\0\0\0\0\0\0\0\x01\x02", 9},                          /* neither new nor the same */
        {"\0\0\0\0\0\0\0\x81\x02", 9},                          /* 257 events */
        {"\0\0\0\0\0\0\0\x01\x01\x01\xff\0\0\0\x01\x01\0", 17}, /* an id that is no text */
        {"\0\0\0\0\0\0\0\x01\x01\x01"
         "a\0\0\x02\x01\x01\0",
         17}, /* an identifier that is there twice */
    };
    udpai_event_batch *read = NULL;
    udpai_event_figures found;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++)
        assert_int_equal(udpai_event_batch_decode(texts[i], &read, &found), UDPA_ERR_MALFORMED);
}

static udpa_err
take(void *context)
{
    UDPA_AUTO(udpai_event_batch_free) udpai_event_batch *read = NULL;
    udpai_event_figures found;
    return udpai_event_batch_decode(udpai_bytes_view(context), &read, &found);
}

static udpa_err
put(void *context)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_event_batch_encode(context, &figures);
    return bytes ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
lack_of_memory_is_told(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_event_batch_free) udpai_event_batch *batch = make_batch();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_event_batch_encode(batch, &figures);
    oom_torture(put, batch);
    oom_torture(take, bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_taken_is_what_was_put),
        cmocka_unit_test(nothing_that_was_cut_or_goes_on_is_taken),
        cmocka_unit_test(nonsense_is_not_taken),
        cmocka_unit_test(lack_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
