/* SPDX-License-Identifier: Apache-2.0 */
/* Any message type between its bytes and JSON, YAML or protobuf text. Pure computation: any thread,
 * bytes in, values out. */
#ifndef UDPAI_CONVERT_H
#define UDPAI_CONVERT_H

#include <udpa/bytes.h>

#include "codec/schema.h"
#include "codec/source.h"
#include "codec/text_errors.h"

/* One document of this type (full name, or type URL with any prefix) to its canonical bytes: what
 * means the same gives the same bytes, whatever the format, the order of keys and the defaults
 * written out. An error begins with "name:line:column: path: ". A YAML source must hold exactly one
 * document. UDPAI_FORMAT_BINARY is not a format of this function. */
udpa_err udpai_convert_to_binary(const udpai_schema *schema,
                                 udpai_str type,
                                 const udpai_source *source,
                                 udpa_bytes **ret_bytes,
                                 udpa_error **ret_error);

/* Reads a document of a JSON or YAML source as udpai_convert_to_binary() does, and collects every
 * error that can be distinguished, at most UDPAI_TEXT_ERRORS_MAX, in the order of the document.
 * Returns the code of the first. *ret_bytes is the message without what is wrong, which
 * errors->refused lists; NULL if there are too many errors, or nothing is left. */
udpa_err udpai_convert_tree(const udpai_schema *schema,
                            udpai_str type,
                            const udpai_source *source,
                            const udpai_tree *document,
                            udpai_text_errors *errors,
                            udpa_bytes **ret_bytes);

/* The reverse. *ret_text is NUL-terminated, without other zero bytes, to be freed with
 * udpai_free(). JSON has lowerCamelCase names as proto3 JSON prescribes; YAML, which people edit,
 * the original ones. What has no descriptor is printed, in JSON and YAML as {"@type": "…", "value":
 * "base64"}: bytes of fields that the type does not know are left out. */
udpa_err udpai_convert_from_binary(const udpai_schema *schema,
                                   udpai_str type,
                                   udpai_str bytes,
                                   udpai_format format,
                                   char **ret_text,
                                   udpa_error **ret_error);

/* The same in JSON for a program that must get all of it: a type or a field that has no descriptor
 * is UDPA_ERR_NOT_FOUND, with words that name it. */
udpa_err udpai_convert_to_complete_json(const udpai_schema *schema,
                                        udpai_str type,
                                        udpai_str bytes,
                                        char **ret_text,
                                        udpa_error **ret_error);

#endif
