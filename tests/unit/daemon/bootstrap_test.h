/* SPDX-License-Identifier: Apache-2.0 */
/* Bootstrap files of a few lines, written where tests may write, and the mistakes they have. */
#ifndef UDPAI_TESTS_BOOTSTRAP_TEST_H
#define UDPAI_TESTS_BOOTSTRAP_TEST_H

#include "base/strbuf.h"
#include "daemon/bootstrap.h"
#include "tests/harness/test.h"

typedef struct bootstrap_test {
    udpai_schema *schema;
    char path[64]; /* of the file, which is gone */
    udpai_diagnostics diagnostics;
    udpai_bootstrap bootstrap;
    udpai_strbuf mistakes; /* what is found, one a line */
    udpa_error *error;
    udpa_err err;
} bootstrap_test;

int bootstrap_test_setup(void **state);
int bootstrap_test_teardown(void **state);

/* Reads this text as a file called "test.yaml" in a temporary directory, and checks its values. */
void bootstrap_test_read(bootstrap_test *test, const char *text);
/* The same, but for the check. */
void bootstrap_test_read_unchecked(bootstrap_test *test, const char *text);
/* Puts what was found into `mistakes`, without the directory of the file. */
void bootstrap_test_tell(bootstrap_test *test);
/* Exactly these mistakes and warnings, one a line; "" for none. */
void bootstrap_test_assert_mistakes(bootstrap_test *test, const char *expected);

#endif
