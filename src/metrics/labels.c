/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/labels.h"

#include "base/bytes.h"
#include "model/types.h"

static udpai_str
value_key(const void *item)
{
    return udpai_bytes_view(item);
}

void
udpai_metric_labels_init(udpai_metric_labels *labels)
{
    for (size_t i = 0; i < UDPAI_LABELS; i++)
        udpai_map_init(&labels->values[i], value_key);
}

void
udpai_metric_labels_done(udpai_metric_labels *labels)
{
    for (size_t i = 0; i < UDPAI_LABELS; i++) {
        size_t at = 0;
        udpa_bytes *value;
        while ((value = udpai_map_next(&labels->values[i], &at)))
            udpa_bytes_unref(value);
        udpai_map_done(&labels->values[i]);
    }
}

/* The map has it from now on; false: without memory. */
static bool
note(udpai_map *values, udpai_str value)
{
    udpa_bytes *copy = NULL;
    if (udpa_bytes_new(&copy, value.data, value.len) != UDPA_OK)
        return false;
    if (udpai_map_add(values, copy))
        return true;
    udpa_bytes_unref(copy);
    return false;
}

udpai_str
udpai_metric_labels_fold(udpai_metric_labels *labels, udpai_metric_label label, udpai_str value)
{
    udpai_map *values = &labels->values[label];
    bool is_other = udpai_str_eq(value, UDPAI_STR(UDPAI_LABEL_OTHER));
    if (label == UDPAI_LABEL_NONE)
        return UDPAI_STR("");
    if (is_other || (udpai_metric_label_is_type(label) && udpai_type_of_url(value)))
        return value;
    if (value.len <= UDPAI_LABEL_VALUE_MAX &&
        (udpai_map_get(values, value) ||
         (values->n < udpai_metric_label_info_of(label)->max_values && note(values, value))))
        return value;
    return UDPAI_STR(UDPAI_LABEL_OTHER);
}
