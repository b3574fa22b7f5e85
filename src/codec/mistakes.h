/* SPDX-License-Identifier: Apache-2.0 */
/* The errors of one document, for callers that report all of them at once. */
#ifndef UDPAI_MISTAKES_H
#define UDPAI_MISTAKES_H

#include "base/error.h"
#include "base/vector.h"
#include "codec/tree.h"

#define UDPAI_MISTAKES_MAX 50

typedef struct udpai_mistake {
    uint32_t line, column;
    udpa_error *error;
} udpai_mistake;

typedef struct udpai_mistakes {
    UDPAI_VECTOR(udpai_mistake) found;
    /* What holds a mistake: it is passed over when its surroundings are looked at again. */
    UDPAI_VECTOR(const udpai_tree *) refused;
} udpai_mistakes;

/* Notes a mistake in @p node and takes the error over; false without memory or above the maximum.
 */
bool
udpai_mistakes_add(udpai_mistakes *mistakes, const udpai_mistake *mistake, const udpai_tree *node);
bool udpai_mistakes_has(const udpai_mistakes *mistakes, const udpai_tree *node);
/* Puts them into the order of the document. */
void udpai_mistakes_sort(udpai_mistakes *mistakes);
void udpai_mistakes_done(udpai_mistakes *mistakes);

#endif
