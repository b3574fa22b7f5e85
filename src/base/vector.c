/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vector.h"

bool
udpai_vector_grow_(void **items, size_t *capacity, size_t n, size_t more, size_t item_size)
{
    size_t needed;
    if (__builtin_add_overflow(n, more, &needed))
        return false;
    if (needed <= *capacity)
        return true;
    size_t grown = udpai_max_size(*capacity + *capacity / 2, 4);
    grown = udpai_max_size(grown, needed);
    void *bigger = udpai_realloc_array(*items, grown, item_size);
    if (!bigger)
        return false;
    *items = bigger;
    *capacity = grown;
    return true;
}
