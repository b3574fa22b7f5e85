/* SPDX-License-Identifier: Apache-2.0 */
#include "fanout/numbers.h"

bool
udpai_numbers_give(udpai_numbers *numbers, udpai_item *item, uint32_t *ret_number)
{
    if (numbers->first_free) {
        *ret_number = numbers->first_free - 1;
        numbers->first_free = numbers->slots.items[*ret_number].next_free;
        numbers->slots.items[*ret_number].item = item;
        return true;
    }
    *ret_number = (uint32_t)numbers->slots.n;
    return numbers->slots.n < UINT32_MAX &&
           udpai_vector_push(&numbers->slots, (udpai_numbered){.item = item});
}

void
udpai_numbers_take_back(udpai_numbers *numbers, uint32_t number)
{
    numbers->slots.items[number].next_free = numbers->first_free;
    numbers->first_free = number + 1;
}

void
udpai_numbers_done(udpai_numbers *numbers)
{
    udpai_vector_done(&numbers->slots);
    numbers->first_free = 0;
}
