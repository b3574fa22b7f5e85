/* SPDX-License-Identifier: Apache-2.0 */
/* The errors of one document, for callers that report all of them at once. */
#ifndef UDPAI_TEXT_ERRORS_H
#define UDPAI_TEXT_ERRORS_H

#include "base/error.h"
#include "base/vector.h"
#include "codec/tree.h"

#define UDPAI_TEXT_ERRORS_MAX 50

typedef struct udpai_text_error {
    uint32_t line, column;
    udpa_error *error;
} udpai_text_error;

typedef struct udpai_text_errors {
    UDPAI_VECTOR(udpai_text_error) found;
    /* What holds an error: it is passed over when its surroundings are looked at again. */
    UDPAI_VECTOR(const udpai_tree *) refused;
} udpai_text_errors;

/* Notes an error in @p node and takes the error over; false without memory or above the maximum.
 */
bool udpai_text_errors_add(udpai_text_errors *errors,
                           const udpai_text_error *error,
                           const udpai_tree *node);
bool udpai_text_errors_has(const udpai_text_errors *errors, const udpai_tree *node);
/* Puts them into the order of the document. */
void udpai_text_errors_sort(udpai_text_errors *errors);
void udpai_text_errors_done(udpai_text_errors *errors);

#endif
