/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates for tests, made at run time with certs/make-development-ca. */
#ifndef UDPAI_TESTS_CERTIFICATES_H
#define UDPAI_TESTS_CERTIFICATES_H

#include "tests/harness/test.h"
#include "transport/tls_files.h"

/* The script; from the test's first argument. */
extern const char *certificates_script;

/* A directory for authorities; NULL: the openssl command is not there, and the test is skipped. */
char *certificates_begin(void);
/* Removes it with all that is in it. */
void certificates_end(char *directory);
/* Issues (or issues anew) a certificate of an authority: options as the script has them, NULL at
 * the end. Reads it with its key and the authority. */
void certificates_issue(udpai_tls_files *ret_files,
                        const char *directory,
                        const char *authority,
                        const char *name,
                        const char *const *options);

#endif
