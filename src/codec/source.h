/* SPDX-License-Identifier: Apache-2.0 */
/* A document to be read, and the forms that documents have. */
#ifndef UDPAI_SOURCE_H
#define UDPAI_SOURCE_H

#include "base/util.h"

typedef enum udpai_format {
    UDPAI_FORMAT_JSON,        /* proto3 JSON; on one line when written */
    UDPAI_FORMAT_JSON_PRETTY, /* for reading the same as UDPAI_FORMAT_JSON */
    UDPAI_FORMAT_YAML,
    UDPAI_FORMAT_TEXT,   /* protobuf text */
    UDPAI_FORMAT_BINARY, /* of resource files alone */
} udpai_format;

/* Levels of maps and lists in a document, aliases expanded; and of messages in what comes of it. */
#define UDPAI_DOCUMENT_DEPTH 64
/* What may be allowed for text that the program itself has made. */
#define UDPAI_SOURCE_DEPTH_MAX 500
#define UDPAI_DOCUMENT_SIZE_DEFAULT ((size_t)64 * 1024 * 1024)
#define UDPAI_DOCUMENT_SIZE_MAX ((size_t)1024 * 1024 * 1024)

typedef struct udpai_source {
    const char *name; /* for errors, such as the file's path */
    udpai_str text;
    udpai_format format;
    size_t max_size;    /* 0: UDPAI_DOCUMENT_SIZE_DEFAULT. Reading needs up to 40 times the size */
    unsigned max_depth; /* 0: UDPAI_DOCUMENT_DEPTH; at most UDPAI_SOURCE_DEPTH_MAX */
    bool skips_unknown; /* fields that a type does not have are passed over: its writer is newer */
} udpai_source;

static inline size_t
udpai_source_max_size(const udpai_source *source)
{
    size_t max = source->max_size ? source->max_size : UDPAI_DOCUMENT_SIZE_DEFAULT;
    return udpai_min_size(max, UDPAI_DOCUMENT_SIZE_MAX);
}

/* Are plain scalars exactly those of JSON, and is a number never a string? */
static inline bool
udpai_source_is_strict(const udpai_source *source)
{
    return source->format != UDPAI_FORMAT_YAML;
}

#endif
