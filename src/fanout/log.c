/* SPDX-License-Identifier: Apache-2.0 */
#include "fanout/fanout_internal.h"

static void
close_holes(udpai_log *log, udpai_log_moved_fn moved, void *userdata)
{
    size_t kept = 0;
    for (size_t i = 0; i < log->n; i++) {
        if (!log->slots[i].item)
            continue;
        log->slots[kept] = log->slots[i];
        moved(userdata, log->slots[kept].item, kept);
        kept++;
    }
    log->n = kept;
    log->first = 0;
}

bool
udpai_log_reserve(udpai_log *log, udpai_log_moved_fn moved, void *userdata)
{
    if (log->n < log->capacity)
        return true;
    if (log->n_live <= log->n / 2) {
        close_holes(log, moved, userdata);
        if (log->n < log->capacity)
            return true;
    }
    size_t grown = udpai_max_size(log->capacity * 2, 8);
    if (grown > UINT32_MAX)
        return false;
    udpai_log_slot *slots = udpai_realloc_array(log->slots, grown, sizeof(*slots));
    if (!slots)
        return false;
    udpai_memory_change(log->memory, log->capacity * sizeof(*slots), grown * sizeof(*slots));
    log->slots = slots;
    log->capacity = grown;
    return true;
}

size_t
udpai_log_append(udpai_log *log, uint64_t seq, udpai_item *item)
{
    log->slots[log->n] = (udpai_log_slot){seq, item};
    log->n_live++;
    return log->n++;
}

void
udpai_log_clear_slot(udpai_log *log, size_t slot)
{
    log->slots[slot].item = NULL;
    if (--log->n_live == 0)
        log->n = log->first = 0;
}

size_t
udpai_log_oldest(udpai_log *log)
{
    while (!log->slots[log->first].item)
        log->first++;
    return log->first;
}

size_t
udpai_log_after(const udpai_log *log, uint64_t after)
{
    size_t low = 0, high = log->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->slots[middle].seq > after)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

udpai_item *
udpai_log_first_after(const udpai_log *log, uint64_t after)
{
    for (size_t i = udpai_log_after(log, after); i < log->n; i++)
        if (log->slots[i].item)
            return log->slots[i].item;
    return NULL;
}

void
udpai_log_done(udpai_log *log)
{
    udpai_memory_change(log->memory, log->capacity * sizeof(*log->slots), 0);
    udpai_free(log->slots);
    *log = (udpai_log){.memory = log->memory};
}
