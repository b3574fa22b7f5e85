/* SPDX-License-Identifier: Apache-2.0 */
/* Limits on the streams that others open: who reaches his own takes nothing from the others. */
#include "base/alloc.h"
#include "transport/grpc/grpc_internal.h"

#define SHARE 4 /* of what may be reserved, for one name: 1 / SHARE */

struct udpai_admitted {
    size_t n;
    size_t reserved;
    size_t len;
    char name[];
};

static udpai_str
admitted_key(const void *item)
{
    const udpai_admitted *admitted = item;
    return (udpai_str){admitted->name, admitted->len};
}

void
udpai_admission_init(udpai_admission *admission, size_t max, size_t max_per_name)
{
    udpai_map_init(&admission->by_name, admitted_key);
    admission->n = admission->reserved = admission->max_reserved = 0;
    admission->max = max;
    admission->max_per_name = max_per_name;
}

void
udpai_admission_done(udpai_admission *admission)
{
    udpai_map_done(&admission->by_name);
}

static udpai_admitted *
add_name(udpai_admission *admission, udpai_str name)
{
    udpai_admitted *admitted = udpai_alloc(sizeof(*admitted) + name.len + 1);
    if (!admitted)
        return NULL;
    admitted->len = name.len;
    if (name.len)
        memcpy(admitted->name, name.data, name.len);
    if (!udpai_map_add(&admission->by_name, admitted)) {
        udpai_free(admitted);
        return NULL;
    }
    return admitted;
}

udpa_err
udpai_admission_enter(udpai_admission *admission,
                      udpai_str name,
                      udpai_admitted **ret_admitted,
                      udpa_error **ret_error)
{
    if (admission->n >= admission->max)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "this node serves %zu streams, which is its limit "
                          "(limits.max_streams): try again later",
                          admission->n);
    udpai_admitted *admitted = udpai_map_get(&admission->by_name, name);
    if (admitted && admitted->n >= admission->max_per_name)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "'%.*s' has %zu streams open here, which is the limit for one peer "
                          "(limits.max_streams_per_identity): close some first",
                          UDPAI_SHOWN(name), admitted->n);
    if (!admitted)
        admitted = add_name(admission, name);
    if (!admitted)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    admitted->n++;
    admission->n++;
    *ret_admitted = admitted;
    return UDPA_OK;
}

void
udpai_admission_leave(udpai_admission *admission, udpai_admitted *admitted)
{
    admission->n--;
    if (--admitted->n > 0)
        return;
    udpai_map_remove(&admission->by_name, admitted_key(admitted));
    udpai_free(admitted);
}

udpai_reservation
udpai_admission_reserve(udpai_admission *admission, udpai_admitted *admitted, size_t bytes)
{
    if (admitted->reserved && admitted->reserved + bytes > admission->max_reserved / SHARE)
        return UDPAI_NAME_HAS_NO_ROOM;
    if (admission->reserved && admission->reserved + bytes > admission->max_reserved)
        return UDPAI_NO_ROOM;
    udpai_admission_reserve_anyway(admission, admitted, bytes);
    return UDPAI_RESERVED;
}

void
udpai_admission_reserve_anyway(udpai_admission *admission, udpai_admitted *admitted, size_t bytes)
{
    admitted->reserved += bytes;
    admission->reserved += bytes;
}

void
udpai_admission_release(udpai_admission *admission, udpai_admitted *admitted, size_t bytes)
{
    admitted->reserved -= bytes;
    admission->reserved -= bytes;
}
