/* SPDX-License-Identifier: Apache-2.0 */
/* The library knows no descriptors of others' messages: the application turns bytes into JSON and
 * back. */
#include "endpoint/polled.h"

#include "base/alloc.h"
#include "transport/http/curl_client.h"

#define LONGEST_MS (3600 * 1000)

udpa_err
udpai_rest_server_check(const udpa_source *source, udpa_error **ret_error)
{
    const udpa_rest_server *rest = source->rest;
    if (source->xds)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "source '%s' is either an xDS server by gRPC or one by REST: set xds or "
                          "rest, not both",
                          source->name);
    if (rest->struct_size < sizeof(*rest))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "source '%s': udpa_rest_server: struct_size is %zu: begin with "
                          "UDPA_REST_SERVER_INIT",
                          source->name, rest->struct_size);
    if (!rest->to_json || !rest->to_bytes)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "source '%s': a server by REST needs to_json and to_bytes", source->name);
    if (rest->refresh_delay_ms > LONGEST_MS || rest->request_timeout_ms > LONGEST_MS)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "source '%s': refresh_delay_ms and request_timeout_ms are at most %d",
                          source->name, LONGEST_MS);
    return UDPA_OK;
}

/* ---- JSON, by the application ---- */

typedef struct codec {
    udpa_json_fn to_json, to_bytes;
    void *userdata;
} codec;

static udpa_err
call(udpa_json_fn function,
     void *userdata,
     const char *type,
     udpai_str from,
     udpa_bytes **ret_to,
     udpa_error **ret_error)
{
    udpa_bytes *to = NULL;
    udpa_err err = function(userdata, type, from.data, from.len, &to, ret_error);
    if (err == UDPA_OK && !to)
        err = UDPA_ERR_INTERNAL; /* it has promised one */
    if (err == UDPA_OK)
        *ret_to = to;
    return udpai_fail_code(ret_error, err);
}

static udpa_err
to_json(void *userdata,
        const char *type,
        udpai_str bytes,
        udpa_bytes **ret_json,
        udpa_error **ret_error)
{
    const codec *self = userdata;
    return call(self->to_json, self->userdata, type, bytes, ret_json, ret_error);
}

static udpa_err
to_bytes(void *userdata,
         const char *type,
         udpai_str json,
         udpa_bytes **ret_bytes,
         udpa_error **ret_error)
{
    const codec *self = userdata;
    return call(self->to_bytes, self->userdata, type, json, ret_bytes, ret_error);
}

static void
release(void *userdata)
{
    udpai_free(userdata);
}

static udpa_err
make_client(const udpa_source *source,
            const udpai_tls_files *files,
            udpai_http_client **ret_client,
            udpa_error **ret_error)
{
    const udpa_rest_server *rest = source->rest;
    codec *made = udpai_alloc(sizeof(*made));
    if (!made)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *made = (codec){rest->to_json, rest->to_bytes, rest->userdata};
    const udpai_curl_client_options options = {
        .address = source->address,
        .tls = source->tls ? files : NULL,
        .server_name = source->tls ? source->tls->server_name : NULL,
        .codec = {to_json, to_bytes, release, made},
    };
    return udpai_curl_client_new(ret_client, &options, ret_error);
}

udpa_err
udpai_rest_server_make(const udpa_source *source,
                       const udpai_tls_files *files,
                       udpai_str node,
                       udpai_grpc_target_options *options,
                       udpa_error **ret_error)
{
    udpai_polled_server *server = udpai_polled_server_new(&(udpai_polling_options){
        .node = node,
        .refresh_ms = source->rest->refresh_delay_ms,
        .timeout_ms = source->rest->request_timeout_ms,
    });
    udpa_err err = server ? make_client(source, files, &options->client, ret_error)
                          : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK)
        options->server = server;
    else
        udpai_polled_server_free(server);
    return err;
}
