/* SPDX-License-Identifier: Apache-2.0 */
/* nghttp2's memory comes from where ours does, so that tests see what happens without any. */
#ifndef UDPAI_NGHTTP2_MEMORY_H
#define UDPAI_NGHTTP2_MEMORY_H

#include <nghttp2/nghttp2.h>

#include "base/alloc.h"

static inline void *
udpai_nghttp2_allocate(size_t size, void *userdata)
{
    (void)userdata;
    return udpai_realloc_array(NULL, size, 1);
}

static inline void *
udpai_nghttp2_allocate_zeroed(size_t n, size_t size, void *userdata)
{
    (void)userdata;
    return udpai_alloc_array(n, size);
}

static inline void *
udpai_nghttp2_reallocate(void *memory, size_t size, void *userdata)
{
    (void)userdata;
    return udpai_realloc_array(memory, size, 1);
}

static inline void
udpai_nghttp2_release(void *memory, void *userdata)
{
    (void)userdata;
    udpai_free(memory);
}

/* Copied by each session. */
static inline nghttp2_mem
udpai_nghttp2_memory(void)
{
    return (nghttp2_mem){NULL, udpai_nghttp2_allocate, udpai_nghttp2_release,
                         udpai_nghttp2_allocate_zeroed, udpai_nghttp2_reallocate};
}

#endif
