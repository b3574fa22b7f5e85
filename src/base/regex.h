/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions, as they are given to what needs them: the library has none, and what matches
 * them is handed to the core by a program. Time linear in the text, memory bounded, whatever the
 * expression. */
#ifndef UDPAI_REGEX_H
#define UDPAI_REGEX_H

#include "base/error.h"
#include "base/util.h"

typedef struct udpai_regex udpai_regex;

typedef struct udpai_regex_ops {
    /* UDPA_ERR_INVAL: it is none, or would need too much memory, and the error has what is wrong.
     */
    udpa_err (*compile)(udpai_regex **ret_regex, udpai_str pattern, udpa_error **ret_error);
    /* Does it match the whole text? */
    bool (*matches)(const udpai_regex *regex, udpai_str text);
    void (*free)(udpai_regex *regex);
} udpai_regex_ops;

#endif
