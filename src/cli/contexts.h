/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: named settings of nodes, one of which is current. Pure. */
#ifndef UDPAI_CLI_CONTEXTS_H
#define UDPAI_CLI_CONTEXTS_H

#include <udpa/error.h>

#include "base/strbuf.h"
#include "base/vector.h"
#include "cli/settings.h"

#define UDPAI_CLI_CONTEXT_NAME_MAX 63

/* Owned texts; NULL: not set. */
typedef struct udpai_cli_context {
    char *name;
    char *values[UDPAI_CLI_SETTINGS];
} udpai_cli_context;

typedef struct udpai_cli_contexts {
    char *current; /* owned; NULL: none */
    UDPAI_VECTOR(udpai_cli_context) items;
} udpai_cli_contexts;

void udpai_cli_contexts_done(udpai_cli_contexts *contexts);
/* Reads the text of a file of this path; names of files in it are relative to its folder.
 * UDPA_ERR_INVAL: where and what is wrong. @p contexts is empty before. */
udpa_err udpai_cli_contexts_read(udpai_cli_contexts *contexts,
                                 udpai_str text,
                                 const char *path,
                                 udpa_error **ret_error);
/* Writes such a text. */
void udpai_cli_contexts_put(const udpai_cli_contexts *contexts, udpai_strbuf *out);
/* The fields of one, a line each, with this before it. */
void udpai_cli_context_put(const udpai_cli_context *context, const char *indent, udpai_strbuf *out);

/* NULL: there is none. */
udpai_cli_context *udpai_cli_contexts_find(const udpai_cli_contexts *contexts, udpai_str name);
/* That one; a new one at the end if there is none; NULL without memory. */
udpai_cli_context *udpai_cli_contexts_get(udpai_cli_contexts *contexts, udpai_str name);
/* Takes it out, with what it is if it is current. */
void udpai_cli_contexts_remove(udpai_cli_contexts *contexts, udpai_cli_context *context);
/* A letter, then letters, digits, '-', '_' and '.'. */
bool udpai_cli_context_name_is_good(udpai_str name);
/* In place of what was there; an empty text: it is not set any more. */
udpa_err udpai_cli_context_set(udpai_cli_context *context, udpai_cli_setting setting, udpai_str to);

/* "; did you mean …", or which there are. */
const char *udpai_cli_contexts_suggest(const udpai_cli_contexts *contexts,
                                       const char *name,
                                       char *room,
                                       size_t size);

#endif
