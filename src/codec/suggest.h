/* SPDX-License-Identifier: Apache-2.0 */
/* "did you mean …?": of the names that would have been right, the one nearest to what was written.
 */
#ifndef UDPAI_SUGGEST_H
#define UDPAI_SUGGEST_H

#include "base/util.h"

#define UDPAI_CHOICES_SHOWN 8

typedef struct udpai_suggestion {
    udpai_str written;
    const char *best; /* NULL: nothing is near enough */
    size_t distance;
    const char *offered[UDPAI_CHOICES_SHOWN]; /* the first of them, each once */
    size_t n_offered;                         /* with those that do not fit there */
} udpai_suggestion;

udpai_suggestion udpai_suggest(udpai_str written);
/* Offers a name; @p name must live as long as the suggestion. */
void udpai_suggest_offer(udpai_suggestion *suggestion, const char *name);

/* "; did you mean 'cluster'?", or "". */
#define UDPAI_SUGGESTION_TEXT 128
const char *udpai_suggestion_text(const udpai_suggestion *suggestion,
                                  char text[UDPAI_SUGGESTION_TEXT]);

/* The same; and if nothing is near, what there is: "; there are 'core', 'edge' and 7 more", or ""
 * for nothing. For names that the user has given, of which there are few. */
#define UDPAI_CHOICE_TEXT 512
const char *udpai_suggestion_or_list(const udpai_suggestion *suggestion,
                                     char text[UDPAI_CHOICE_TEXT]);

#endif
