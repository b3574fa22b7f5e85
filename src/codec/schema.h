/* SPDX-License-Identifier: Apache-2.0 */
/* A schema: the message types that can be converted. It begins with the well-known types and the
 * project's own (proto/own_descriptors.h); sets of descriptors add to it. Load everything first;
 * from then on it is immutable, and any thread may use it. */
#ifndef UDPAI_SCHEMA_H
#define UDPAI_SCHEMA_H

#include <limits.h>

#include "base/error.h"
#include "base/util.h"

UDPA_BEGIN_DECLS

#define UDPAI_DESCRIPTOR_SET_MAX ((size_t)64 * 1024 * 1024)

typedef struct udpai_schema udpai_schema;

udpa_err udpai_schema_new(udpai_schema **ret_schema, udpa_error **ret_error);

/* Adds the files of a google.protobuf.FileDescriptorSet that has its imports with it (protoc
 * --include_imports). All of it or nothing. A file that is there already, and the same, is passed
 * over; one that differs is an error, except:
 *  - of google/protobuf/ the first version that was added stays;
 *  - the project's subsets of public files (envoy/, google/rpc/, grpc/) give way to the full ones.
 * @p source_name is for errors. Types looked up before are invalid afterwards. */
udpa_err udpai_schema_add_set(udpai_schema *schema,
                              udpai_str set,
                              const char *source_name,
                              udpa_error **ret_error);
/* The same with the contents of a file. */
udpa_err udpai_schema_add_file(udpai_schema *schema, const char *path, udpa_error **ret_error);
/* Where the program lies, with a slash at the end. False: it cannot be known. */
bool udpai_schema_program_folder(char path[PATH_MAX]);
/* The file with Envoy's types that programs read by default: beside the program, as in a build, or
 * where it is installed. False: there is none that can be read. */
bool udpai_schema_default_file(char path[PATH_MAX]);

/* Is there such a message type? By full name, or by type URL with any prefix. */
bool udpai_schema_has(const udpai_schema *schema, udpai_str type);

/* The full names of all message types, sorted; valid as long as the schema is not added to. */
size_t udpai_schema_n_types(const udpai_schema *schema);
const char *udpai_schema_type_name(const udpai_schema *schema, size_t index);

udpai_schema *udpai_schema_ref(udpai_schema *schema);
udpai_schema *udpai_schema_unref(udpai_schema *schema);

UDPA_DEFINE_CLEANUP(udpai_schema, udpai_schema_unref)

UDPA_END_DECLS

#endif
