/* SPDX-License-Identifier: Apache-2.0 */
/* YAML 1.2 and JSON text to trees. Everything is bounded: size, depth, and what aliases expand to.
 *
 * Beyond YAML's own rules: a key that occurs twice is an error; keys are scalars; the merge key
 * `<<` works; tags other than those of the core schema are refused. */
#ifndef UDPAI_READER_H
#define UDPAI_READER_H

#include "base/vector.h"
#include "codec/source.h"
#include "codec/tree.h"
#include "wire/arena.h"

typedef struct udpai_documents {
    udpai_arena arena;
    UDPAI_VECTOR(const udpai_tree *) roots; /* one for each document */
} udpai_documents;

/* Reads all documents of a JSON or YAML source. JSON text that is empty has none, as YAML text has
 * that is nothing but comments. */
udpa_err udpai_documents_read(udpai_documents **ret_documents,
                              const udpai_source *source,
                              udpa_error **ret_error);
/* Returns NULL. */
udpai_documents *udpai_documents_free(udpai_documents *documents);

static inline void
udpai_documents_free_p(udpai_documents **documents)
{
    udpai_documents_free(*documents);
}

#endif
