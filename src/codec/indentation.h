/* SPDX-License-Identifier: Apache-2.0 */
/* Why block YAML cannot be read, in the words of its author. A parser notices a wrong indentation
 * lines behind it, and calls it by what it had expected. */
#ifndef UDPAI_INDENTATION_H
#define UDPAI_INDENTATION_H

#include "base/util.h"

typedef struct udpai_misindented {
    uint32_t line, column; /* to be edited */
    char reason[160];
} udpai_misindented;

/* @p line: where the parser gave up. False: it is not the indentation, or not clear. */
bool udpai_indentation_explain(udpai_str text, uint32_t line, udpai_misindented *ret_found);

#endif
