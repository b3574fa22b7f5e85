/* SPDX-License-Identifier: Apache-2.0 */
/* Growable typed array: `UDPAI_VECTOR(int) v = {0};`. Zero-initialised is empty. */
#ifndef UDPAI_VECTOR_H
#define UDPAI_VECTOR_H

#include "base/alloc.h"

#define UDPAI_VECTOR(type)                                                                         \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t n, capacity;                                                                        \
    }

/* Makes room for @p more items; false without memory, and the vector is unchanged. */
#define udpai_vector_reserve(vector, more)                                                         \
    udpai_vector_grow_((void **)&(vector)->items, &(vector)->capacity, (vector)->n, (more),        \
                       sizeof(*(vector)->items))

/* Appends; false without memory. */
#define udpai_vector_push(vector, item)                                                            \
    (udpai_vector_reserve((vector), 1) ? ((vector)->items[(vector)->n++] = (item), true) : false)

/* Frees the array, not what its items refer to. */
#define udpai_vector_done(vector)                                                                  \
    (udpai_free((vector)->items), (vector)->items = NULL, (vector)->n = (vector)->capacity = 0)

/* Removes item @p index by moving the last one into its place. */
#define udpai_vector_remove_unordered(vector, index)                                               \
    ((void)((vector)->items[index] = (vector)->items[--(vector)->n]))

bool udpai_vector_grow_(void **items, size_t *capacity, size_t n, size_t more, size_t item_size);

#endif
