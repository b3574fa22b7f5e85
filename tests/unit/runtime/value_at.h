/* SPDX-License-Identifier: Apache-2.0 */
/* What a layer has for a key, for a test that knows that it has it. */
#ifndef UDPAI_TESTS_RUNTIME_VALUE_AT_H
#define UDPAI_TESTS_RUNTIME_VALUE_AT_H

#include "runtime/layer.h"
#include "tests/harness/test.h"

static inline const udpai_runtime_value *
value_at(const udpai_runtime_layer *layer, const char *key)
{
    const udpai_runtime_entry *entry =
        udpai_map_get(udpai_runtime_layer_entries(layer), udpai_str_from(key));
    if (!entry)
        fail_msg("there is no %s", key);
    return &entry->value;
}

#endif
