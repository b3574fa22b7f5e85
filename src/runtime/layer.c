/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/layer.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/utf8.h"

struct udpai_runtime_layer {
    atomic_uint refs;
    udpai_map entries;
    size_t size; /* bytes of all keys and values */
    size_t n_ignored;
    char *ignored; /* the least key of them, whatever the order; NULL: there is none */
    size_t name_len;
    char name[];
};

static udpai_str
entry_key(const void *item)
{
    return udpai_runtime_entry_key(item);
}

udpai_runtime_layer *
udpai_runtime_layer_new(udpai_str name)
{
    udpai_runtime_layer *layer = udpai_alloc(sizeof(*layer) + name.len + 1);
    if (!layer)
        return NULL;
    atomic_init(&layer->refs, 1);
    udpai_map_init(&layer->entries, entry_key);
    layer->name_len = name.len;
    if (name.len)
        memcpy(layer->name, name.data, name.len);
    return layer;
}

udpai_runtime_layer *
udpai_runtime_layer_copy(const udpai_runtime_layer *layer)
{
    udpai_runtime_layer *copy = udpai_runtime_layer_new(udpai_runtime_layer_name(layer));
    size_t at = 0;
    const udpai_runtime_entry *entry;
    while (copy && (entry = udpai_map_next(&layer->entries, &at)))
        if (udpai_runtime_layer_put(copy, entry_key(entry), &entry->value, NULL) != UDPA_OK)
            copy = udpai_runtime_layer_unref(copy);
    return copy;
}

udpai_runtime_layer *
udpai_runtime_layer_ref(udpai_runtime_layer *layer)
{
    if (layer)
        atomic_fetch_add_explicit(&layer->refs, 1, memory_order_relaxed);
    return layer;
}

udpai_runtime_layer *
udpai_runtime_layer_unref(udpai_runtime_layer *layer)
{
    if (!layer || atomic_fetch_sub_explicit(&layer->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    size_t at = 0;
    void *entry;
    while ((entry = udpai_map_next(&layer->entries, &at)))
        udpai_free(entry);
    udpai_map_done(&layer->entries);
    udpai_free(layer->ignored);
    udpai_free(layer);
    return NULL;
}

udpai_str
udpai_runtime_layer_name(const udpai_runtime_layer *layer)
{
    return (udpai_str){layer->name, layer->name_len};
}

const udpai_map *
udpai_runtime_layer_entries(const udpai_runtime_layer *layer)
{
    return &layer->entries;
}

bool
udpai_runtime_layer_eq(const udpai_runtime_layer *a, const udpai_runtime_layer *b)
{
    size_t at = 0;
    const udpai_runtime_entry *entry;
    if (a == b || !a || !b || a->entries.n != b->entries.n || a->n_ignored != b->n_ignored)
        return a == b;
    while ((entry = udpai_map_next(&a->entries, &at))) {
        const udpai_runtime_entry *other = udpai_map_get(&b->entries, entry_key(entry));
        if (!other || !udpai_str_eq(entry->value.text, other->value.text))
            return false;
    }
    return true;
}

/* ---- filling it ---- */

static bool
is_reserved(udpai_str part)
{
    return udpai_str_eq(part, UDPAI_STR("numerator")) ||
           udpai_str_eq(part, UDPAI_STR("denominator"));
}

static udpa_err
check_key(udpai_str key, udpa_error **ret_error)
{
    if (key.len == 0)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "a key of the runtime is empty");
    if (key.len > UDPAI_RUNTIME_KEY_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "the key %.*s has more than %d bytes",
                          UDPAI_SHOWN(key), UDPAI_RUNTIME_KEY_MAX);
    if (!udpai_utf8_valid(key))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "the key %.*s is not UTF-8", UDPAI_SHOWN(key));
    udpai_str rest = key, part;
    bool is_last;
    do {
        is_last = !udpai_str_cut(&rest, '.', &part);
        if (is_reserved(is_last ? rest : part))
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "the key %.*s has a part that is reserved: numerator and denominator "
                              "are those of a fraction",
                              UDPAI_SHOWN(key));
    } while (!is_last);
    return UDPA_OK;
}

static udpa_err
check_totals(size_t n, size_t size, udpa_error **ret_error)
{
    if (n > UDPAI_RUNTIME_KEYS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "there are more than %d keys",
                          UDPAI_RUNTIME_KEYS_MAX);
    if (size > UDPAI_RUNTIME_LAYER_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "keys and values have more than %zu bytes together",
                          UDPAI_RUNTIME_LAYER_MAX);
    return UDPA_OK;
}

static udpa_err
check_room(const udpai_runtime_layer *layer,
           const udpai_runtime_entry *old,
           udpai_str key,
           udpai_str text,
           udpa_error **ret_error)
{
    size_t size = layer->size - (old ? old->key_len + old->value.text.len : 0);
    if (text.len > UDPAI_RUNTIME_VALUE_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "the value of %.*s has more than %zu bytes",
                          UDPAI_SHOWN(key), UDPAI_RUNTIME_VALUE_MAX);
    return check_totals(layer->entries.n + !old, size + key.len + text.len, ret_error);
}

static udpai_runtime_entry *
make_entry(udpai_str key, const udpai_runtime_value *value)
{
    udpai_runtime_entry *entry = udpai_alloc(sizeof(*entry) + key.len + value->text.len + 2);
    if (!entry)
        return NULL;
    char *at = entry->key;
    entry->value = *value;
    entry->key_len = udpai_str_put_terminated(&at, key).len;
    entry->value.text = udpai_str_put_terminated(&at, value->text);
    return entry;
}

udpa_err
udpai_runtime_layer_put(udpai_runtime_layer *layer,
                        udpai_str key,
                        const udpai_runtime_value *value,
                        udpa_error **ret_error)
{
    udpai_runtime_entry *old = udpai_map_get(&layer->entries, key);
    udpa_err err = check_key(key, ret_error);
    if (!err && !udpai_utf8_valid(value->text))
        err = udpai_fail(ret_error, UDPA_ERR_INVAL, "the value of %.*s is not UTF-8",
                         UDPAI_SHOWN(key));
    if (!err)
        err = check_room(layer, old, key, value->text, ret_error);
    if (err)
        return err;
    udpai_runtime_entry *entry = make_entry(key, value);
    if (!entry)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    layer->size += key.len + value->text.len;
    if (old) {
        (void)udpai_map_replace(&layer->entries, entry);
        layer->size -= old->key_len + old->value.text.len;
        udpai_free(old);
    } else if (!udpai_map_add(&layer->entries, entry)) {
        layer->size -= key.len + value->text.len;
        udpai_free(entry);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    return UDPA_OK;
}

/* Takes the key, which is allocated, or NULL. */
static void
keep_least(udpai_runtime_layer *layer, char *key)
{
    char *other = layer->ignored;
    bool is_less = key && (!other || strcmp(key, other) < 0);
    layer->ignored = is_less ? key : other;
    udpai_free(is_less ? other : key);
}

static udpa_err
ignore(udpai_runtime_layer *layer, udpai_str key, udpa_error **ret_error)
{
    udpa_err err = check_key(key, ret_error);
    if (err)
        return err;
    char *copy = udpai_strndup(key.data, key.len);
    if (!copy)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    keep_least(layer, copy);
    layer->n_ignored++;
    return UDPA_OK;
}

udpa_err
udpai_runtime_layer_put_found(udpai_runtime_layer *layer,
                              udpai_str key,
                              const udpai_runtime_value *value,
                              udpa_error **ret_error)
{
    return udpai_utf8_valid(value->text) ? udpai_runtime_layer_put(layer, key, value, ret_error)
                                         : ignore(layer, key, ret_error);
}

size_t
udpai_runtime_layer_n_ignored(const udpai_runtime_layer *layer, udpai_str *ret_key)
{
    *ret_key = udpai_str_from(layer->ignored);
    return layer->n_ignored;
}

udpa_err
udpai_runtime_layer_merge(udpai_runtime_layer *layer,
                          udpai_runtime_layer *from,
                          udpa_error **ret_error)
{
    size_t at = 0;
    void *entry;
    udpa_err err =
        check_totals(layer->entries.n + from->entries.n, layer->size + from->size, ret_error);
    if (err)
        return err;
    if (!udpai_map_reserve(&layer->entries, from->entries.n))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    while ((entry = udpai_map_next(&from->entries, &at)))
        (void)udpai_map_add(&layer->entries, entry);
    layer->size += from->size;
    layer->n_ignored += from->n_ignored;
    keep_least(layer, from->ignored);
    from->ignored = NULL;
    udpai_map_done(&from->entries);
    from->size = from->n_ignored = 0;
    return UDPA_OK;
}

bool
udpai_runtime_layer_remove(udpai_runtime_layer *layer, udpai_str key)
{
    udpai_runtime_entry *old = udpai_map_remove(&layer->entries, key);
    if (!old)
        return false;
    layer->size -= old->key_len + old->value.text.len;
    udpai_free(old);
    return true;
}
