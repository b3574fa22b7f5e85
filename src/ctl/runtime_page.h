/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a node's runtime at /runtime, read, and printed. Pure. */
#ifndef UDPAI_CTL_RUNTIME_PAGE_H
#define UDPAI_CTL_RUNTIME_PAGE_H

#include "base/strbuf.h"
#include "cli/table.h"
#include "codec/reader.h"

typedef struct udpai_ctl_runtime {
    udpai_documents *documents; /* that the rest is of */
    const udpai_tree *layers;   /* names of those that count */
    const udpai_tree *entries;  /* by key: final_value, layer_values */
    const udpai_tree *errors;   /* by layer; NULL: the page does not have it, nor below */
    const udpai_tree *configured;
    const udpai_tree *ignored; /* by key: why it has no effect on the node */
} udpai_ctl_runtime;

/* Reads the JSON; an Envoy's, too. UDPA_ERR_MALFORMED, or as of udpai_documents_read(): it is none.
 * To be followed by udpai_ctl_runtime_done() in any case. */
udpa_err udpai_ctl_runtime_read(udpai_ctl_runtime *runtime, udpai_str text, udpa_error **ret_error);
void udpai_ctl_runtime_done(udpai_ctl_runtime *runtime);

/* What counts for a key; false: there is no such key. */
bool udpai_ctl_runtime_value(const udpai_ctl_runtime *runtime, udpai_str key, udpai_str *ret_value);
/* The layer that it is from: the last that has something of it. Empty: the page does not have it.
 */
udpai_str udpai_ctl_runtime_layer_of(const udpai_ctl_runtime *runtime, udpai_str key);
/* Why the key has no effect on the node. Empty: it has one, is no setting of a node, or the page
 * does not have it. */
udpai_str udpai_ctl_runtime_ignored(const udpai_ctl_runtime *runtime, udpai_str key);
/* Is this layer the administrator's? */
bool udpai_ctl_runtime_is_admin(const udpai_ctl_runtime *runtime, udpai_str layer);

/* Appends a table of keys with what counts for them, or, if @p layout is NULL, one object of JSON;
 * without keys all. What is not there is left out. */
void udpai_ctl_runtime_put_values(const udpai_ctl_runtime *runtime,
                                  const char *const *keys,
                                  size_t n,
                                  udpai_cli_layout *layout,
                                  udpai_strbuf *out);
/* Appends the layers, then what each of them has of each key. */
void udpai_ctl_runtime_put_layers(const udpai_ctl_runtime *runtime,
                                  udpai_cli_layout *layout,
                                  udpai_strbuf *out);
/* Appends the page as JSON, without the values of other keys than those of nodes
 * (udpa.*): they may be anything. */
void udpai_ctl_runtime_put_redacted(const udpai_ctl_runtime *runtime, udpai_strbuf *out);

#endif
