/* SPDX-License-Identifier: Apache-2.0 */
/* -o jsonpath: what an expression takes out of a document of JSON. The subset of kubectl's that
 * needs no filter: text, {.field}, {['field']}, {[0]}, {[-1]}, {[1:3]}, {[*]}, {.*}, {"\n"}, {$},
 * {@}, and {range PATH} … {end}. What a document does not have is nothing. Pure. */
#ifndef UDPAI_CLI_JSONPATH_H
#define UDPAI_CLI_JSONPATH_H

#include "base/error.h"
#include "base/strbuf.h"

typedef struct udpai_cli_jsonpath udpai_cli_jsonpath;

/* UDPA_ERR_INVAL: it cannot be understood; the error names the character, counted from 1.
 * UDPA_ERR_NOMEM. To be freed with udpai_cli_jsonpath_free(). */
udpa_err
udpai_cli_jsonpath_compile(udpai_cli_jsonpath **ret_path, const char *text, udpa_error **ret_error);
/* Returns NULL. */
udpai_cli_jsonpath *udpai_cli_jsonpath_free(udpai_cli_jsonpath *path);
/* Appends what it takes out of the document: strings as they are, several values with a blank
 * between. UDPA_ERR_INVAL: a field of a list, or an item of a map, is asked for; or as of
 * udpai_documents_read(). */
udpa_err udpai_cli_jsonpath_put(udpai_strbuf *out,
                                const udpai_cli_jsonpath *path,
                                udpai_str json,
                                udpa_error **ret_error);

#endif
