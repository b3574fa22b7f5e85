/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/store/store_test.h"

#include <stdio.h>

#include "model/name.h"

#define CHANGES_MAX 64
#define CHANGE_TEXT 96

void
store_bed_init(store_bed *bed)
{
    memset(bed, 0, sizeof(*bed));
    bed->options = (udpai_store_options){
        .remember_ms = 10000,
        .remember_max = 100,
        .max_resources_per_namespace = 1000,
        .max_bytes_per_namespace = 1 << 20,
        .max_resources_per_publisher = 1000,
        .max_bytes_per_publisher = 1 << 20,
        .max_resources = 1000,
        .max_bytes = 1 << 20,
    };
    udpai_wheel_init(&bed->wheel, 1000);
    assert_ok(udpai_store_new(&bed->store, &bed->wheel, &bed->options));
}

void
store_bed_done(store_bed *bed)
{
    udpai_store_free(bed->store);
    assert_true(udpai_wheel_next(&bed->wheel) == UDPAI_WHEEL_NEVER);
}

static unsigned long live_before;

int
store_bed_setup(void **state)
{
    store_bed *bed = malloc(sizeof(*bed));
    assert_non_null(bed);
    live_before = udpai_alloc_live();
    store_bed_init(bed);
    *state = bed;
    return 0;
}

int
store_bed_teardown(void **state)
{
    store_bed_done(*state);
    free(*state);
    return udpai_alloc_live() == live_before ? 0 : -1;
}

void
store_bed_at(store_bed *bed, uint64_t now_ms)
{
    udpai_wheel_advance(&bed->wheel, now_ms);
}

udpai_origin *
store_bed_origin(store_bed *bed, const char *key, udpai_origin_class rank, unsigned order)
{
    udpai_origin *origin = udpai_store_origin(bed->store, udpai_str_from(key));
    assert_non_null(origin);
    udpai_origin_ref(origin); /* as long as the store */
    udpai_origin_set_rank(bed->store, origin, rank, order);
    store_bed_eligible(bed, origin, true);
    return origin;
}

void
store_bed_eligible(store_bed *bed, udpai_origin *origin, bool eligible)
{
    assert_ok(udpai_origin_set_eligible(bed->store, origin, UDPAI_STR(TEST_TYPE), eligible));
}

udpa_err
store_bed_try(store_bed *bed, udpai_origin *origin, udpa_resource *resource, udpa_error **ret_error)
{
    assert_non_null(resource);
    udpa_err err = udpai_store_put(bed->store, origin, resource, 0, ret_error);
    udpa_resource_unref(resource);
    return err;
}

void
store_bed_put_until(store_bed *bed,
                    udpai_origin *origin,
                    udpa_resource *resource,
                    uint64_t deadline_ms)
{
    assert_non_null(resource);
    assert_ok(udpai_store_put(bed->store, origin, resource, deadline_ms, NULL));
    udpa_resource_unref(resource);
}

void
store_bed_put(store_bed *bed, udpai_origin *origin, udpa_resource *resource)
{
    store_bed_put_until(bed, origin, resource, 0);
}

void
store_bed_withdraw(store_bed *bed, udpai_origin *origin, const char *name)
{
    udpai_store_withdraw(bed->store, origin, UDPAI_STR(TEST_TYPE), udpai_str_from(name));
}

/* ---- saying what was told ---- */

static udpai_str
short_name(udpai_str name)
{
    udpai_str own = UDPAI_STR("com.acme/");
    return udpai_str_starts(name, own) ? (udpai_str){name.data + own.len, name.len - own.len}
                                       : name;
}

static void
write_change(char text[CHANGE_TEXT], const udpai_change *change)
{
    udpai_str name = short_name(udpai_resource_name(change->resource));
    udpai_str value = udpai_resource_value(change->resource);
    if (change->kind == UDPAI_CHANGE_REMOVE)
        value.len = 0;
    int n = snprintf(text, CHANGE_TEXT, "%c%.*s%s%.*s", "+~-"[change->kind], (int)name.len,
                     name.data, change->kind == UDPAI_CHANGE_REMOVE ? "" : "=", (int)value.len,
                     value.len ? value.data : "");
    if (change->deadline_ms)
        n += snprintf(text + n, CHANGE_TEXT - (size_t)n, "@%llu",
                      (unsigned long long)change->deadline_ms);
    if (change->from_node)
        n += snprintf(text + n, CHANGE_TEXT - (size_t)n, "<%.*s",
                      (int)udpa_bytes_size(change->from_node),
                      (const char *)udpa_bytes_data(change->from_node));
    if (change->removal)
        n += snprintf(text + n, CHANGE_TEXT - (size_t)n, "!%llu",
                      (unsigned long long)udpa_resource_generation(change->removal));
    assert_true(n < CHANGE_TEXT);
}

static int
compare_changes(const void *a, const void *b)
{
    return strcmp((const char *)a + 1, (const char *)b + 1);
}

static void
append(store_bed *bed, const char *word)
{
    size_t used = strlen(bed->text);
    int n = snprintf(bed->text + used, sizeof(bed->text) - used, "%s%s", used ? " " : "", word);
    assert_true(used + (size_t)n < sizeof(bed->text));
}

const char *
store_bed_changes(store_bed *bed)
{
    char words[CHANGES_MAX][CHANGE_TEXT];
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *set = NULL;
    assert_ok(udpai_store_take_changes(bed->store, &set));
    size_t n = set ? udpai_change_set_size(set) : 0;
    assert_true(n <= CHANGES_MAX);
    for (size_t i = 0; i < n; i++)
        write_change(words[i], udpai_change_set_at(set, i));
    qsort(words, n, sizeof(words[0]), compare_changes);
    bed->text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        append(bed, words[i]);
    return bed->text;
}

static bool
note_value(void *userdata, const udpai_contribution *contribution)
{
    store_bed *bed = userdata;
    if (!contribution->effective)
        return true;
    udpai_str value = udpai_resource_value(contribution->resource);
    (void)snprintf(bed->text, sizeof(bed->text), "%.*s", (int)value.len, value.data);
    return false;
}

const char *
store_bed_effective(store_bed *bed, const char *name)
{
    (void)store_bed_changes(bed);
    bed->text[0] = '\0';
    udpai_store_visit_name(bed->store, UDPAI_STR(TEST_TYPE), udpai_str_from(name), note_value, bed);
    return bed->text;
}

/* ---- what is to be kept ---- */

static void
write_op(char text[CHANGE_TEXT], const udpai_durable_op *op)
{
    udpai_str origin = udpai_bytes_view(op->origin);
    udpai_str name = op->kind == UDPAI_DURABLE_PUT ? udpai_resource_name(op->resource)
                                                   : udpai_bytes_view(op->name);
    udpai_str value = {"", 0};
    if (op->kind == UDPAI_DURABLE_PUT)
        value = udpai_resource_value(op->resource);
    else
        assert_string_equal(udpa_bytes_data(op->type), TEST_TYPE);
    name = short_name(name);
    int n = snprintf(text, CHANGE_TEXT, "%c:%.*s%c%.*s%s%.*s", "PDMmUu"[op->kind], (int)origin.len,
                     origin.data, op->kind >= UDPAI_DURABLE_MARK ? ':' : '/', (int)name.len,
                     name.data, op->kind == UDPAI_DURABLE_PUT ? "=" : "", (int)value.len,
                     value.len ? value.data : "");
    if (op->deadline_ms)
        n += snprintf(text + n, CHANGE_TEXT - (size_t)n, "@%llu",
                      (unsigned long long)op->deadline_ms);
    assert_true(n < CHANGE_TEXT);
}

const char *
store_bed_batch(store_bed *bed, const udpai_durable_batch *batch)
{
    bed->text[0] = '\0';
    for (size_t i = 0; batch && i < batch->ops.n; i++) {
        char word[CHANGE_TEXT];
        write_op(word, &batch->ops.items[i]);
        append(bed, word);
    }
    return bed->text;
}

const char *
store_bed_durable(store_bed *bed)
{
    UDPA_AUTO(udpai_durable_batch_free) udpai_durable_batch *batch = NULL;
    assert_ok(udpai_store_take_durable(bed->store, &batch));
    return store_bed_batch(bed, batch);
}
