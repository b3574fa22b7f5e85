/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a document something is, and errors that begin with it: "edge.yaml:12:7:
 * routes[1].match: reason". Everything quoted from a document is cut to a readable length and made
 * one line. */
#ifndef UDPAI_PLACE_H
#define UDPAI_PLACE_H

#include "base/error.h"
#include "base/util.h"

typedef struct udpai_place {
    const char *source;    /* name of the document; NULL or "": none */
    uint32_t line, column; /* from 1; 0: not known. Columns count characters */
    udpai_str path;        /* the fields that lead there; may be empty */
} udpai_place;

udpa_err udpai_fail_at(udpa_error **ret_error,
                       udpa_err code,
                       const udpai_place *place,
                       const char *format,
                       ...) UDPA_PRINTF(4, 5);

/* "source:line:column", as far as known, for "… is already at edge.yaml:3:1". */
#define UDPAI_PLACE_TEXT 320
const char *udpai_place_text(char text[UDPAI_PLACE_TEXT], const udpai_place *place);

/* Text of a document as a message may quote it. */
#define UDPAI_QUOTED_MAX 100

typedef struct udpai_quoted {
    char text[UDPAI_QUOTED_MAX + sizeof("…")];
} udpai_quoted;

udpai_quoted udpai_quote(udpai_str text);
#define UDPAI_QUOTE(view) (udpai_quote(view).text)

#endif
