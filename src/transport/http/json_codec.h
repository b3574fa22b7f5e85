/* SPDX-License-Identifier: Apache-2.0 */
/* The codec of clients, by the schema of a program that has one. */
#ifndef UDPAI_HTTP_JSON_CODEC_H
#define UDPAI_HTTP_JSON_CODEC_H

#include "codec/schema.h"
#include "transport/http/curl_client.h"

/* Takes a reference. */
udpai_json_codec udpai_json_codec_of(udpai_schema *schema);

/* What it does, for callers with the schema as their userdata. */
udpa_err udpai_json_of_bytes(
    void *schema, const char *type, udpai_str bytes, udpa_bytes **ret_json, udpa_error **ret_error);
udpa_err udpai_bytes_of_json(
    void *schema, const char *type, udpai_str json, udpa_bytes **ret_bytes, udpa_error **ret_error);

#endif
