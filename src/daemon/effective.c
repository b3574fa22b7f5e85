/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/effective.h"

#include "base/alloc.h"
#include "base/bytes.h"

const udpai_plan *
udpai_effective_plan(const udpai_effective *self)
{
    return self->present ? self->present : self->plan;
}

static void
note_reading(udpai_effective *self, const udpai_bootstrap *read)
{
    self->again_us = read->read_us;
    memcpy(self->again_sha256, read->sha256, sizeof(read->sha256));
    udpai_free(UDPAI_TAKE(self->restart));
}

void
udpai_effective_take(udpai_effective *self,
                     udpai_plan *plan,
                     const udpai_bootstrap *read,
                     char *restart)
{
    note_reading(self, read);
    udpai_plan_keep_targets(plan, self->present ? self->present : self->plan);
    udpai_plan_free(self->present);
    self->present = plan;
    self->restart = restart;
    self->is_rejected = false;
    self->rejected_us = 0;
    self->n_reloads++;
}

void
udpai_effective_reject(udpai_effective *self, const udpai_bootstrap *read)
{
    note_reading(self, read);
    if (!self->is_rejected)
        self->rejected_us = read->read_us;
    self->is_rejected = true;
    self->n_rejected++;
}

udpa_err
udpai_effective_read(const udpai_effective *self,
                     size_t max_bytes,
                     udpai_arena *arena,
                     Udpa__Config__V1__Bootstrap **ret_message)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *bytes = udpai_bootstrap_pack(udpai_effective_plan(self)->bootstrap.message);
    if (!bytes)
        return UDPA_ERR_NOMEM;
    if (udpa_bytes_size(bytes) > max_bytes)
        return UDPA_ERR_LIMIT;
    Udpa__Config__V1__Bootstrap *message = udpa__config__v1__bootstrap__unpack(
        &arena->allocator, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    if (!message)
        return UDPA_ERR_NOMEM;
    *ret_message = message;
    return UDPA_OK;
}

void
udpai_effective_done(udpai_effective *self)
{
    udpai_plan_free(self->present);
    udpai_free(self->restart);
    *self = (udpai_effective){0};
}
