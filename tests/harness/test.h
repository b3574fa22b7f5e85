/* SPDX-License-Identifier: Apache-2.0 */
/* What every unit test includes: cmocka with the headers it wants first, and assertions on our own
 * small types. A test that needs chance takes it from test_random(), so that it runs the same way
 * each time. */
#ifndef UDPAI_TESTS_TEST_H
#define UDPAI_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "tests/harness/random.h"

/* Are these characters exactly that literal? Both are shown if not. */
#define assert_str(actual, expected)                                                               \
    do {                                                                                           \
        udpai_str test_actual_ = (actual), test_expected_ = udpai_str_from(expected);              \
        if (!udpai_str_eq(test_actual_, test_expected_))                                           \
            fail_msg("'%.*s' is not '%.*s'", (int)test_actual_.len,                                \
                     test_actual_.len ? test_actual_.data : "", (int)test_expected_.len,           \
                     test_expected_.data);                                                         \
    } while (0)

#define assert_ok(expression) assert_int_equal((expression), 0)

#endif
