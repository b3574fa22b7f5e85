/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>

#define SMALL 1024

static atomic_long fail_after = -1;
static atomic_ulong n_allocations;
static atomic_ulong n_live;

static bool
may_allocate(void)
{
    atomic_fetch_add_explicit(&n_allocations, 1, memory_order_relaxed);
    long left = atomic_load_explicit(&fail_after, memory_order_relaxed);
    while (left > 0 && !atomic_compare_exchange_weak(&fail_after, &left, left - 1))
        continue;
    return left != 0;
}

void
udpai_alloc_fail_after(long n_before_failure)
{
    atomic_store(&fail_after, n_before_failure);
}

unsigned long
udpai_alloc_count(void)
{
    return atomic_load_explicit(&n_allocations, memory_order_relaxed);
}

unsigned long
udpai_alloc_live(void)
{
    return atomic_load_explicit(&n_live, memory_order_relaxed);
}

static void *
counted(void *memory)
{
    if (memory)
        atomic_fetch_add_explicit(&n_live, 1, memory_order_relaxed);
    return memory;
}

/* The calloc() of glibc goes past the thread's cache of freed pieces: what is small and short-lived
 * would leave holes between what stays. */
static void *
zeroed(size_t size)
{
    if (size > SMALL)
        return calloc(1, size);
    void *memory = malloc(size);
    return memory ? memset(memory, 0, size) : NULL;
}

void *
udpai_alloc(size_t size)
{
    return may_allocate() ? counted(zeroed(size ? size : 1)) : NULL;
}

void *
udpai_alloc_array(size_t count, size_t size)
{
    return may_allocate() ? counted(calloc(count ? count : 1, size ? size : 1)) : NULL;
}

void *
udpai_realloc_array(void *memory, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || !may_allocate())
        return NULL;
    void *grown = realloc(memory, bytes ? bytes : 1);
    return memory ? grown : counted(grown);
}

void
udpai_free(void *memory)
{
    if (memory)
        atomic_fetch_sub_explicit(&n_live, 1, memory_order_relaxed);
    free(memory);
}

void *
udpai_memdup(const void *data, size_t size)
{
    void *copy = may_allocate() ? counted(malloc(size ? size : 1)) : NULL;
    if (copy && size)
        memcpy(copy, data, size);
    return copy;
}

char *
udpai_strndup(const char *text, size_t len)
{
    char *copy = len < SIZE_MAX && may_allocate() ? counted(malloc(len + 1)) : NULL;
    if (copy) {
        if (len)
            memcpy(copy, text, len);
        copy[len] = '\0';
    }
    return copy;
}

char *
udpai_strdup(const char *text)
{
    return udpai_strndup(text, strlen(text));
}
