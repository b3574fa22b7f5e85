/* SPDX-License-Identifier: Apache-2.0 */
/* Words of tests that stand for variants: constraints, and dynamic parameters (xds_test.h). Pieces
 * live until words_free_all(). */
#ifndef UDPAI_TESTS_XDS_WORDS_H
#define UDPAI_TESTS_XDS_WORDS_H

#include "base/util.h"
#include "envoy/service/discovery/v3/discovery.pb-c.h"
#include "tests/harness/wire.h"

/* Takes what lies before one of these characters from the front of the text. */
udpai_str words_cut(udpai_str *text, const char *ends);
/* "env~prod,-zone" as bytes; nothing for nothing. */
udpai_str words_constraints(udpai_str words);
/* Fields of ResourceLocators, of those words that are locators: "a<env~prod,version~1". */
udpai_str words_locators(uint32_t number, const char *names);
/* "a<env~prod"; valid until the next call. */
const char *words_variant(const Envoy__Service__Discovery__V3__ResourceName *name);
void words_free_all(void);

#endif
