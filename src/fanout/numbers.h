/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the items of a topic, as small as can be: a set of items is a set of bits, and what
 * thousands of subscribers note of thousands of items stays in the caches. */
#ifndef UDPAI_FANOUT_NUMBERS_H
#define UDPAI_FANOUT_NUMBERS_H

#include "base/memory.h"

typedef struct udpai_item udpai_item;

/* Zero-initialised there are none. */
typedef struct udpai_numbers {
    UDPAI_VECTOR(uintptr_t) slots; /* an item's address, or of a free number the next one, marked */
    udpai_memory *memory;          /* counts them; NULL: nothing does */
    uint32_t first_free;           /* one more than it; 0: none */
} udpai_numbers;

/* False: without memory, or numbers. */
bool udpai_numbers_give(udpai_numbers *numbers, udpai_item *item, uint32_t *ret_number);
void udpai_numbers_take_back(udpai_numbers *numbers, uint32_t number);

/* Of a number that an item has. */
static inline udpai_item *
udpai_numbers_item(const udpai_numbers *numbers, size_t number)
{
    return (udpai_item *)numbers->slots.items[number];
}

/* As udpai_map_next(), in the order of numbers: for items that were never removed, that in which
 * they came. */
udpai_item *udpai_numbers_next(const udpai_numbers *numbers, size_t *position);
void udpai_numbers_done(udpai_numbers *numbers);

#endif
