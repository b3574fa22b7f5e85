/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that have one id, as nodes tell it upwards. Whoever meets what has passed another node of
 * its own id says so to its sources, in its Node, and these to theirs: in a chain the upper one
 * hears of it by no other way. docs/design/federation.md, "Loops". Sans I/O, of bounded size.
 *
 * A text of lines: the id, the instance that was met, the instance that met it, and how many nodes
 * have passed it on, with spaces between them; the first three written with percent signs. */
#ifndef UDPAI_TWIN_WORDS_H
#define UDPAI_TWIN_WORDS_H

#include "base/strbuf.h"

#define UDPAI_TWIN_WORDS_MAX 8 /* of more nothing is told */
/* What goes round among nodes that are each other's sources ends, when nobody says it anew. */
#define UDPAI_TWIN_DISTANCE_MAX 16

/* As they stand in the text: compared, and written again, without being read. */
typedef struct udpai_twin_word {
    udpai_str node_id, met, by;
    unsigned distance;
} udpai_twin_word;

typedef struct udpai_twin_words {
    udpai_twin_word items[UDPAI_TWIN_WORDS_MAX]; /* in an order that depends on nothing else */
    size_t n;
} udpai_twin_words;

/* The next of a text, which moves on behind it; views of it. Lines that are none, or have come too
 * far, are passed over. False: there is none. */
bool udpai_twin_words_next(udpai_str *text, udpai_twin_word *ret_word);
/* Views are kept. Of what was added before, the lesser distance counts. */
void udpai_twin_words_add(udpai_twin_words *words, const udpai_twin_word *word);
/* Appends them. */
void udpai_twin_words_put(const udpai_twin_words *words, udpai_strbuf *text);
/* Appends one that nobody has passed on yet, from what is not written with percent signs. */
void udpai_twin_words_put_own(udpai_strbuf *text, udpai_str node_id, udpai_str met, udpai_str by);

#endif
