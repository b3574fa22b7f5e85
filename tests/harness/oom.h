/* SPDX-License-Identifier: Apache-2.0 */
/* Out-of-memory torture: a scenario is run again and again, first with no memory at all, then with
 * one allocation, with two, … until it succeeds. Each failure must be reported as UDPA_ERR_NOMEM
 * and leave nothing behind. */
#ifndef UDPAI_TESTS_OOM_H
#define UDPAI_TESTS_OOM_H

#include "base/alloc.h"
#include "base/error.h"
#include "tests/harness/test.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OOM_FINDS_LEAKS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define OOM_FINDS_LEAKS 1
#endif

#ifdef OOM_FINDS_LEAKS
#include <sanitizer/lsan_interface.h>
#endif

#define OOM_ROUNDS_MAX 100000

/* Does something from nothing to nothing: whatever it makes it releases again, also when it fails.
 * It must not assert on results that lack of memory changes. */
typedef udpa_err (*oom_scenario)(void *context);

/* Returns how many allocations the scenario needs; at least one, or there is nothing to torture. */
static inline long
oom_torture(oom_scenario scenario, void *context)
{
    for (long n = 0; n < OOM_ROUNDS_MAX; n++) {
        udpai_alloc_fail_after(n);
        udpa_err err = scenario(context);
        udpai_alloc_fail_after(-1);
        if (err == UDPA_OK) {
            assert_true(n > 0);
#ifdef OOM_FINDS_LEAKS
            assert_int_equal(__lsan_do_recoverable_leak_check(), 0);
#endif
            return n;
        }
        if (err != UDPA_ERR_NOMEM)
            fail_msg("with %ld allocations: %s instead of UDPA_ERR_NOMEM", n, udpa_err_name(err));
    }
    fail_msg("no success with %d allocations", OOM_ROUNDS_MAX);
    return -1;
}

#endif
