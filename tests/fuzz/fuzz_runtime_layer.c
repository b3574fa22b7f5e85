/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of a runtime from peers and files. The first byte says which: a google.protobuf.Struct, or
 * an envoy.service.runtime.v3.Runtime. What is taken may be: each of its entries could be set by
 * itself; it is the same a second time; and it can be shown. */
#include "base/utf8.h"
#include "runtime/rtds.h"
#include "runtime/snapshot.h"
#include "tests/fuzz/fuzz.h"

static udpa_err
read_layer(bool is_struct, udpai_str input, udpai_runtime_layer **ret_layer, udpa_error **ret_error)
{
    if (!is_struct)
        return udpai_runtime_layer_of_rtds(ret_layer, UDPAI_STR("rtds"), input, ret_error);
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("static"));
    FUZZ_CHECK(layer);
    udpa_err err = udpai_runtime_layer_put_struct(layer, input, ret_error);
    if (err)
        udpai_runtime_layer_unref(layer);
    else
        *ret_layer = layer;
    return err;
}

static void
check_entry(udpai_runtime_layer *copy, const udpai_runtime_entry *entry)
{
    udpai_str key = udpai_runtime_entry_key(entry), text = entry->value.text;
    FUZZ_CHECK(key.len && key.len <= UDPAI_RUNTIME_KEY_MAX && !key.data[key.len]);
    FUZZ_CHECK(udpai_utf8_valid(text) && !text.data[text.len]);
    FUZZ_CHECK(udpai_runtime_layer_put(copy, key, &entry->value, NULL) == UDPA_OK);
}

static void
check_layer(udpai_runtime_layer *layer)
{
    size_t at = 0;
    const udpai_runtime_entry *entry;
    udpai_runtime_layer *copy = udpai_runtime_layer_new(UDPAI_STR("copy"));
    udpai_runtime_snapshot *snapshot = udpai_runtime_snapshot_new(&layer, 1);
    FUZZ_CHECK(copy && snapshot);
    while ((entry = udpai_map_next(udpai_runtime_layer_entries(layer), &at))) {
        check_entry(copy, entry);
        FUZZ_CHECK(udpai_runtime_snapshot_find(snapshot, udpai_runtime_entry_key(entry)) ==
                   &entry->value);
    }
    udpai_str ignored; /* a value that is no text is in no copy */
    FUZZ_CHECK(udpai_runtime_layer_eq(copy, layer) ==
               (udpai_runtime_layer_n_ignored(layer, &ignored) == 0));
    udpai_runtime_snapshot_unref(snapshot);
    udpai_runtime_layer_unref(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    udpai_runtime_layer *layer = NULL, *again = NULL;
    udpa_error *error = NULL;
    bool is_struct = fuzz_take_byte(&input) % 2;
    udpa_err err = read_layer(is_struct, input, &layer, &error);
    FUZZ_CHECK((err == UDPA_OK) == !error && (err == UDPA_OK) == (layer != NULL));
    if (layer) {
        check_layer(layer);
        FUZZ_CHECK(read_layer(is_struct, input, &again, NULL) == UDPA_OK);
        FUZZ_CHECK(udpai_runtime_layer_eq(layer, again));
    }
    udpai_runtime_layer_unref(layer);
    udpai_runtime_layer_unref(again);
    udpa_error_unref(error);
    return 0;
}
