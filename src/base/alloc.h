/* SPDX-License-Identifier: Apache-2.0 */
/* Memory. All of the project's own allocations go through here, so that a test can make any one of
 * them fail (tests/harness/oom.h). */
#ifndef UDPAI_ALLOC_H
#define UDPAI_ALLOC_H

#include <stddef.h>

#include "base/util.h"

/* Zeroed memory, or NULL. A size of 0 gives a unique pointer. */
void *udpai_alloc(size_t size);
/* Zeroed array; NULL when count * size overflows. */
void *udpai_alloc_array(size_t count, size_t size);
/* Grows or shrinks; NULL leaves @p memory as it was. New bytes are not zeroed. */
void *udpai_realloc_array(void *memory, size_t count, size_t size);
void udpai_free(void *memory);
/* NUL-terminated copy, or NULL without memory. */
char *udpai_strdup(const char *text);
char *udpai_strndup(const char *text, size_t len);
void *udpai_memdup(const void *data, size_t size);

static inline void
udpai_free_p(void *memory)
{
    udpai_free(*(void **)memory);
}

#define UDPAI_AUTO_FREE __attribute__((cleanup(udpai_free_p)))

/* For tests: the allocation after @p n_before_failure more successes fails, and every later one
 * too, until called with a negative number. Not thread-safe. */
void udpai_alloc_fail_after(long n_before_failure);
/* For tests: allocations so far in this process. */
unsigned long udpai_alloc_count(void);
/* For tests: pieces of memory that are not freed yet. */
unsigned long udpai_alloc_live(void);

#endif
