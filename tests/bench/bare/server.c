/* SPDX-License-Identifier: Apache-2.0 */
/* The bare server of the benchmark: accepts calls, and begins a stream for each. */
#include <errno.h>
#include <grpc/grpc_security.h>
#include <stdio.h>
#include <sys/stat.h>

#include "bare/bare.h"
#include "base/strbuf.h"

#define METHOD "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
#define FILE_MAX (1024 * 1024)

/* ---- accepting ---- */

static void
ask_for_call(bare_accept *accept)
{
    bare_server *server = accept->server;
    grpc_metadata_array_init(&accept->metadata);
    grpc_call_error error = grpc_server_request_registered_call(
        server->server, server->method, &accept->call, &accept->deadline, &accept->metadata, NULL,
        server->cq, server->cq, &accept->tag);
    if (error != GRPC_CALL_OK)
        peer_fail("gRPC refuses to accept calls: %s", grpc_call_error_to_string(error));
}

static void
on_call(bare_tag *tag, bool ok)
{
    bare_accept *accept = UDPAI_CONTAINER_OF(tag, bare_accept, tag);
    grpc_metadata_array_destroy(&accept->metadata);
    if (!ok)
        return; /* it is shut down */
    bare_stream_begin(accept->server, accept->call);
    ask_for_call(accept);
}

/* ---- credentials ---- */

static char *
read_file(const char *path)
{
    udpai_strbuf text = {0};
    FILE *file = fopen(path, "re");
    if (!file)
        peer_fail("%s: %s", path, strerror(errno));
    char *room = udpai_strbuf_extend(&text, FILE_MAX);
    if (!room)
        peer_fail("no memory for %s", path);
    text.len = fread(room, 1, FILE_MAX, file);
    if (text.len == 0 || text.len == FILE_MAX)
        peer_fail("%s: is empty, or larger than %d bytes", path, FILE_MAX);
    fclose(file);
    return udpai_strbuf_take(&text);
}

static grpc_server_credentials *
make_credentials(const peer_options *options)
{
    if (!options->certificate)
        return grpc_insecure_server_credentials_create();
    UDPAI_AUTO_FREE char *certificate = read_file(options->certificate);
    UDPAI_AUTO_FREE char *private_key = read_file(options->private_key);
    UDPAI_AUTO_FREE char *authorities = read_file(options->authorities);
    grpc_ssl_pem_key_cert_pair pair = {private_key, certificate};
    return grpc_ssl_server_credentials_create_ex(
        authorities, &pair, 1, GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, NULL);
}

/* ---- the server ---- */

static unsigned
listen_on(bare_server *server, const peer_options *options)
{
    grpc_server_credentials *credentials = make_credentials(options);
    int port = grpc_server_add_http2_port(server->server, "127.0.0.1:0", credentials);
    grpc_server_credentials_release(credentials);
    if (port <= 0)
        peer_fail("it is not possible to listen on 127.0.0.1; gRPC says why above");
    return (unsigned)port;
}

/* As udpad has it; to leave out more (BDP probes, the filters of the full stack) saves nothing that
 * can be measured. */
static grpc_server *
make_server(void)
{
    static const char *const off[] = {
        GRPC_ARG_ALLOW_REUSEPORT,
        GRPC_ARG_ENABLE_CHANNELZ,
    };
    grpc_arg args[UDPAI_ARRAY_LEN(off)];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(off); i++)
        args[i] = (grpc_arg){.type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)off[i]};
    const grpc_channel_args all = {UDPAI_ARRAY_LEN(args), args};
    return grpc_server_create(&all, NULL);
}

static void
on_shutdown(bare_tag *tag, bool ok)
{
    bare_server *server = UDPAI_CONTAINER_OF(tag, bare_server, shutdown);
    server->is_shut_down = true;
    bare_server_check_end(server);
}

void
bare_server_init(bare_server *server, const peer_options *options, unsigned *ret_port)
{
    bare_store_init(&server->store, options->n_resources, options->size_bytes);
    udpai_list_init(&server->streams);
    server->shutdown.done = on_shutdown;
    server->cq = grpc_completion_queue_create_for_next(NULL);
    server->server = make_server();
    grpc_server_register_completion_queue(server->server, server->cq, NULL);
    server->method =
        grpc_server_register_method(server->server, METHOD, NULL, GRPC_SRM_PAYLOAD_NONE, 0);
    bare_inbox_init(server);
    *ret_port = listen_on(server, options);
    grpc_server_start(server->server);
    for (size_t i = 0; i < BARE_ACCEPTS; i++) {
        server->accepts[i].server = server;
        server->accepts[i].tag.done = on_call;
        ask_for_call(&server->accepts[i]);
    }
}

void *
bare_server_run(void *userdata)
{
    bare_server *server = userdata;
    grpc_event event;
    do {
        event = grpc_completion_queue_next(server->cq, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        if (event.type == GRPC_OP_COMPLETE) {
            bare_tag *tag = event.tag;
            tag->done(tag, event.success);
        }
    } while (event.type != GRPC_QUEUE_SHUTDOWN);
    return NULL;
}

/* ---- the end ---- */

void
bare_server_shut_down(bare_server *server)
{
    grpc_server_shutdown_and_notify(server->server, server->cq, &server->shutdown);
    grpc_server_cancel_all_calls(server->server);
}

void
bare_server_check_end(bare_server *server)
{
    if (!server->is_shut_down || !udpai_list_empty(&server->streams))
        return;
    grpc_call_unref(server->inbox.wake);
    grpc_completion_queue_shutdown(server->cq);
}

void
bare_server_done(bare_server *server)
{
    grpc_server_destroy(server->server);
    grpc_completion_queue_destroy(server->cq);
    bare_inbox_done(&server->inbox);
    bare_store_done(&server->store);
}
