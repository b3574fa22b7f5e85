/* SPDX-License-Identifier: Apache-2.0 */
#include "fanout/numbers.h"

/* Items lie at even addresses. */
static uintptr_t
mark(uint32_t next_free)
{
    return (uintptr_t)next_free << 1 | 1;
}

static bool
is_free(uintptr_t slot)
{
    return slot & 1;
}

bool
udpai_numbers_give(udpai_numbers *numbers, udpai_item *item, uint32_t *ret_number)
{
    if (numbers->first_free) {
        *ret_number = numbers->first_free - 1;
        uintptr_t *slot = &numbers->slots.items[*ret_number];
        numbers->first_free = (uint32_t)(*slot >> 1);
        *slot = (uintptr_t)item;
        return true;
    }
    *ret_number = (uint32_t)numbers->slots.n;
    return numbers->slots.n < INT32_MAX &&
           udpai_vector_push_in(numbers->memory, &numbers->slots, (uintptr_t)item);
}

void
udpai_numbers_take_back(udpai_numbers *numbers, uint32_t number)
{
    numbers->slots.items[number] = mark(numbers->first_free);
    numbers->first_free = number + 1;
}

udpai_item *
udpai_numbers_next(const udpai_numbers *numbers, size_t *position)
{
    while (*position < numbers->slots.n) {
        uintptr_t slot = numbers->slots.items[(*position)++];
        if (!is_free(slot))
            return (udpai_item *)slot;
    }
    return NULL;
}

void
udpai_numbers_done(udpai_numbers *numbers)
{
    udpai_vector_done_in(numbers->memory, &numbers->slots);
    numbers->first_free = 0;
}
