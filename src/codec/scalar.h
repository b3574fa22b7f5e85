/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a YAML scalar, from how it is written. libfyaml knows where scalars begin and end,
 * but (seen in 0.7.12) gives wrong text, bytes it never wrote, or a leak for some of them: runs of
 * '', escaped line ends with empty lines behind, folded text with indented lines. */
#ifndef UDPAI_SCALAR_H
#define UDPAI_SCALAR_H

#include "base/strbuf.h"

typedef enum udpai_flow_style {
    UDPAI_FLOW_PLAIN,
    UDPAI_FLOW_SINGLE_QUOTED,
    UDPAI_FLOW_DOUBLE_QUOTED,
} udpai_flow_style;

/* Appends the text of a scalar, given without its quotes; line ends are '\n'. False if an escape in
 * it is none; then something may have been appended. */
bool udpai_flow_scalar_decode(udpai_flow_style style, udpai_str written, udpai_strbuf *out);

/* A literal or folded scalar. */
typedef struct udpai_block_scalar {
    udpai_str before;  /* up to the end of the line with '|' or '>', from any place before that */
    udpai_str written; /* the lines that follow */
    size_t parent_indent; /* white space before the map or list that the scalar is in */
} udpai_block_scalar;

/* Appends its text; false if `before` does not end with the header of a block scalar. */
bool udpai_block_scalar_decode(const udpai_block_scalar *scalar, udpai_strbuf *out);

#endif
