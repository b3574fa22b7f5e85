/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/effective.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "daemon/restart_needed.h"

typedef Udpa__Config__V1__Bootstrap bootstrap_message;

static bootstrap_message *
unpack(const udpa_bytes *bytes, udpai_arena *arena)
{
    return udpa__config__v1__bootstrap__unpack(&arena->allocator, udpa_bytes_size(bytes),
                                               udpa_bytes_data(bytes));
}

/* NULL without memory. */
static udpa_bytes *
pack(const bootstrap_message *message)
{
    uint8_t *room;
    udpa_bytes *bytes =
        udpai_bytes_make(udpa__config__v1__bootstrap__get_packed_size(message), &room);
    if (bytes)
        udpa__config__v1__bootstrap__pack(message, room);
    return bytes;
}

/* @p before: what is in effect until now. */
static udpa_bytes *
pack_with(const bootstrap_message *before, const bootstrap_message *read, unsigned taken)
{
    bootstrap_message now = *before;
    Udpa__Config__V1__Store store = UDPA__CONFIG__V1__STORE__INIT;
    if (before->store)
        store = *before->store;
    if (taken & UDPAI_EFFECTIVE_ACL)
        now.acl = read->acl;
    if (taken & UDPAI_EFFECTIVE_SIGNATURES)
        now.signatures = read->signatures;
    if (taken & UDPAI_EFFECTIVE_STORE_KEYS) {
        store.n_keys = read->store ? read->store->n_keys : 0;
        store.keys = read->store ? read->store->keys : NULL;
        now.store = before->store || store.n_keys ? &store : NULL;
    }
    return pack(&now);
}

void
udpai_effective_note(udpai_effective *self, const udpai_bootstrap *read, unsigned taken)
{
    udpai_arena arena;
    udpai_arena_init(&arena);
    const bootstrap_message *before =
        self->message ? unpack(self->message, &arena) : self->plan->bootstrap.message;
    udpa_bytes *now = taken && before ? pack_with(before, read->message, taken) : NULL;
    udpai_arena_done(&arena);
    self->failed = (self->failed && taken != UDPAI_EFFECTIVE_ALL) || (taken && !now);
    if (now) {
        udpa_bytes_unref(self->message);
        self->message = now;
    }
    self->again_us = read->read_us;
    memcpy(self->again_sha256, read->sha256, sizeof(read->sha256));
    self->taken = taken;
    udpai_free(self->restart);
    self->restart =
        taken ? udpai_restart_needed_for(self->plan->bootstrap.message, read->message) : NULL;
}

udpa_err
udpai_effective_read(const udpai_effective *self,
                     size_t max_bytes,
                     udpai_arena *arena,
                     bootstrap_message **ret_message)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpa_bytes_ref(self->message);
    bytes = bytes ? bytes : pack(self->plan->bootstrap.message);
    if (!bytes || self->failed)
        return UDPA_ERR_NOMEM;
    if (udpa_bytes_size(bytes) > max_bytes)
        return UDPA_ERR_LIMIT;
    bootstrap_message *message = unpack(bytes, arena);
    if (!message)
        return UDPA_ERR_NOMEM;
    *ret_message = message;
    return UDPA_OK;
}

void
udpai_effective_done(udpai_effective *self)
{
    udpa_bytes_unref(self->message);
    udpai_free(self->restart);
    *self = (udpai_effective){0};
}
