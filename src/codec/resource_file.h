/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a file to resources. Pure computation: any thread, bytes in, values out; the
 * whole file or an error that begins with "file:line:column: path: ".
 *
 * A YAML or JSON file holds documents; each is
 *  - a message with "@type" and its fields; its name is its field `name`, else `cluster_name`;
 *  - a udpa.service.discovery.v1.Resource: what has a `resource`;
 *  - an envoy.service.discovery.v3.DiscoveryResponse: what has `resources`, bare ones or wrapped in
 *    envoy.service.discovery.v3.Resource;
 *  - or a list of such documents.
 * A text or binary file is one DiscoveryResponse. A file without documents has no resources.
 *
 * A name with a part before the first '/' that is the default namespace, or is a namespace with a
 * dot in it, is a full name. Any other is an id in the default namespace. An alias without a
 * namespace is in that of its resource. A name of the form xdstp://AUTHORITY/TYPE/ID is that of ID
 * in the namespace of the authority; the type must be that of the resource. Where a udpa Resource
 * has its authority, as what a node has printed does, a namespace needs no dot.
 *
 * A udpa Resource may be signed ('udpactl sign'): signature, generation and version are taken as
 * they are.
 *
 * Versions are content hashes, except that a udpa Resource may have its own; the versions of an
 * Envoy message are not used. Authorities are empty unless a udpa Resource has one. */
#ifndef UDPAI_RESOURCE_FILE_H
#define UDPAI_RESOURCE_FILE_H

#include <udpa/resource.h>

#include "codec/resource_entry.h"
#include "codec/schema.h"
#include "codec/source.h"
#include "model/xdstp.h"

typedef struct udpai_file_resource {
    udpa_resource *resource;
    uint32_t line, column; /* 0: the format has none */
} udpai_file_resource;

typedef struct udpai_resource_list {
    udpai_file_resource *items;
    size_t n, capacity;
} udpai_resource_list;

typedef struct udpai_resource_file {
    const char *name; /* for errors; its suffix decides the format */
    udpai_str contents;
    udpai_str default_namespace; /* such as "local" */
    /* The namespaces of names of the form xdstp://…. */
    udpai_xdstp_authorities authorities;
    size_t max_size; /* 0: UDPAI_DOCUMENT_SIZE_DEFAULT */
    udpai_file_kind kind;
} udpai_resource_file;

/* In place of a secret's payload, a printer puts this field with this text, and it is understood
 * when the file is read. */
#define UDPAI_REDACTED_FIELD "redacted"
#define UDPAI_REDACTED_TEXT "the payload of a secret is not shown"

/* The format that a file's suffix names: .yaml .yml; .json; .textproto .txtpb .pb_text; .pb .bin.
 */
bool udpai_resource_file_format(const char *name, udpai_format *ret_format);

/* @p ret_list: to be emptied with udpai_resource_list_done(); untouched on failure. */
udpa_err udpai_resource_file_read(const udpai_schema *schema,
                                  const udpai_resource_file *file,
                                  udpai_resource_list *ret_list,
                                  udpa_error **ret_error);
/* Drops the references to the resources. */
void udpai_resource_list_done(udpai_resource_list *list);

#endif
