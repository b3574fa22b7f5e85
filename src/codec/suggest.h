/* SPDX-License-Identifier: Apache-2.0 */
/* "did you mean …?": of the names that would have been right, the one nearest to what was written.
 */
#ifndef UDPAI_SUGGEST_H
#define UDPAI_SUGGEST_H

#include "base/util.h"

typedef struct udpai_suggestion {
    udpai_str written;
    const char *best; /* NULL: nothing is near enough */
    size_t distance;
} udpai_suggestion;

udpai_suggestion udpai_suggest(udpai_str written);
/* Offers a name; @p name must live as long as the suggestion. */
void udpai_suggest_offer(udpai_suggestion *suggestion, const char *name);

/* "; did you mean 'cluster'?", or "". */
#define UDPAI_SUGGESTION_TEXT 128
const char *udpai_suggestion_text(const udpai_suggestion *suggestion,
                                  char text[UDPAI_SUGGESTION_TEXT]);

#endif
