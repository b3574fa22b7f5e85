/* SPDX-License-Identifier: Apache-2.0 */
/* How to reach an endpoint. Each attempt has a channel of its own: gRPC's memory of failed
 * attempts, its pauses between them and its retries would come on top of those of federation. */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "model/server_list.h"
#include "transport/grpc/grpc_internal.h"

#define HTTP2_WINDOW_BYTES 65535 /* gRPC's choice where it probes */
#define LONGEST_INTERVAL_MS ((uint64_t)2 * 3600 * 1000)

struct udpai_grpc_target {
    atomic_uint refs;
    udpai_grpc_target
        *base;      /* which has its address, name, credentials and client; NULL: its own */
    char *address;  /* or some of them, with commas between */
    char **servers; /* one by one */
    size_t n_servers;
    char *server_name;  /* NULL: the host of each address */
    udpai_trust *trust; /* what may sign for it; NULL: plaintext, or it is polled; its own */
    pthread_mutex_t mutex;
    grpc_channel_credentials *credentials; /* under the mutex; its own */
    udpai_grpc_method method;
    void (*release_context)(void *context);
    atomic_uint_fast64_t interval_ms; /* of trying; its own */
    uint64_t timeout_ms;
    size_t max_message_bytes;  /* 0: no limit */
    size_t window_bytes;       /* 0: probed */
    udpai_http_client *client; /* NULL: it is dialled by gRPC */
    udpai_polled_server *server;
};

static bool
is_port(const char *text)
{
    size_t len = strlen(text);
    return len > 0 && len <= 5 && strspn(text, "0123456789") == len &&
           strtol(text, NULL, 10) <= UINT16_MAX && strtol(text, NULL, 10) > 0;
}

udpa_err
udpai_dial_address_check(const char *address, udpa_error **ret_error)
{
    const char *colon = strrchr(address, ':');
    size_t len = colon ? (size_t)(colon - address) : 0;
    bool in_brackets = len > 2 && address[0] == '[' && address[len - 1] == ']';
    /* The first character that no host name has: behind it, if all is well. */
    bool is_plain = strcspn(address, ":/[]@") == len;
    if (len && is_port(colon + 1) && (is_plain || (in_brackets && !memchr(address, '/', len))))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' is no address to dial: write HOST:PORT, such as node.example.com:18000 "
                      "or [2001:db8::1]:18000",
                      address);
}

static udpa_err
check_one(udpai_str server, udpa_error **ret_error)
{
    UDPAI_AUTO_FREE char *address = udpai_strndup(server.data, server.len);
    if (address && strncmp(address, "unix:/", 6) == 0)
        return UDPA_OK;
    return address ? udpai_dial_address_check(address, ret_error)
                   : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

udpa_err
udpai_dial_list_check(const char *list, udpa_error **ret_error)
{
    udpai_str rest = udpai_str_from(list), server;
    udpa_err err = udpai_server_list_check(rest, ret_error);
    while (err == UDPA_OK && udpai_server_list_cut(&rest, &server))
        err = check_one(server, ret_error);
    return err;
}

static udpa_err
make_tls(const udpai_grpc_target *target,
         const udpai_tls_files *files,
         grpc_channel_credentials **ret_credentials,
         udpa_error **ret_error)
{
    if (!files->authorities)
        return udpai_fail(
            ret_error, UDPA_ERR_INVAL,
            "to dial %s with TLS, set ca_file: the CAs that its certificate may be signed by",
            target->address);
    grpc_ssl_pem_key_cert_pair pair = {files->private_key, files->certificate};
    grpc_channel_credentials *credentials = grpc_ssl_credentials_create_ex(
        files->authorities, files->certificate ? &pair : NULL, NULL, NULL);
    if (!credentials)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "to dial %s: gRPC refuses the certificate or its key", target->address);
    *ret_credentials = credentials;
    return UDPA_OK;
}

static udpa_err
make_credentials(udpai_grpc_target *target, const udpai_tls_files *files, udpa_error **ret_error)
{
    if (!files) {
        target->credentials = grpc_insecure_credentials_create();
        return UDPA_OK;
    }
    target->trust = udpai_trust_new(files->trust);
    return target->trust ? make_tls(target, files, &target->credentials, ret_error)
                         : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

/* The one with its address and credentials. */
static udpai_grpc_target *
root_of(const udpai_grpc_target *target)
{
    while (target->base)
        target = target->base;
    return (udpai_grpc_target *)(uintptr_t)target;
}

/* gRPC refers to what it needs. */
static grpc_channel_credentials *
exchange(udpai_grpc_target *root, grpc_channel_credentials *credentials)
{
    pthread_mutex_lock(&root->mutex);
    grpc_channel_credentials *before = root->credentials;
    root->credentials = credentials;
    pthread_mutex_unlock(&root->mutex);
    return before;
}

udpa_err
udpai_grpc_target_replace_tls(udpai_grpc_target *target,
                              const udpai_tls_files *files,
                              udpa_error **ret_error)
{
    udpai_grpc_target *root = root_of(target);
    grpc_channel_credentials *credentials = NULL;
    if (!root->trust)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION, "%s is dialled without TLS",
                          root->address);
    udpa_err err = make_tls(root, files, &credentials, ret_error);
    if (err != UDPA_OK)
        return err;
    grpc_channel_credentials_release(exchange(root, credentials));
    udpai_trust_set(root->trust, files->trust);
    return UDPA_OK;
}

static udpa_err
copy_texts(udpai_grpc_target *target, const udpai_grpc_target_options *options)
{
    const char *name = options->server_name;
    udpai_str rest = udpai_str_from(options->address), server;
    target->address = udpai_strdup(options->address);
    target->servers = udpai_alloc_array(udpai_server_list_size(rest), sizeof(*target->servers));
    if (name && *name)
        target->server_name = udpai_strdup(name);
    bool is_complete =
        target->address && target->servers && (target->server_name || !name || !*name);
    while (is_complete && udpai_server_list_cut(&rest, &server)) {
        char *one = udpai_strndup(server.data, server.len);
        target->servers[target->n_servers] = one;
        target->n_servers += one != NULL;
        is_complete = one != NULL;
    }
    return is_complete ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
release_context(const udpai_grpc_method *method, void (*release)(void *context))
{
    if (release)
        release(method->context);
}

static void
free_polled(udpai_http_client *client, udpai_polled_server *server)
{
    if (client)
        client->ops->free(client);
    udpai_polled_server_free(server);
}

udpa_err
udpai_grpc_target_new(udpai_grpc_target **ret_target,
                      const udpai_grpc_target_options *options,
                      udpa_error **ret_error)
{
    udpa_err err = options->client ? udpai_dial_address_check(options->address, ret_error)
                                   : udpai_dial_list_check(options->address, ret_error);
    udpai_grpc_target *target = err == UDPA_OK ? udpai_alloc(sizeof(*target)) : NULL;
    if (!target) {
        release_context(&options->method, options->release_context);
        free_polled(options->client, options->server);
        return err == UDPA_OK ? udpai_fail_code(ret_error, UDPA_ERR_NOMEM) : err;
    }
    grpc_init(); /* until the last reference is dropped */
    atomic_init(&target->refs, 1);
    pthread_mutex_init(&target->mutex, NULL); /* cannot fail */
    target->method = options->method;
    target->release_context = options->release_context;
    const udpai_keepalive *keepalive = &options->keepalive;
    atomic_init(&target->interval_ms,
                keepalive->interval_ms ? keepalive->interval_ms : UDPAI_KEEPALIVE_MS);
    target->timeout_ms = keepalive->timeout_ms ? keepalive->timeout_ms : UDPAI_KEEPALIVE_TIMEOUT_MS;
    target->max_message_bytes = options->max_message_bytes;
    target->window_bytes = options->window_bytes;
    target->client = options->client;
    target->server = options->server;
    err = copy_texts(target, options);
    if (err == UDPA_OK && !target->client)
        err = make_credentials(target, options->tls, ret_error);
    if (err != UDPA_OK) {
        udpai_grpc_target_unref(target);
        return udpai_fail_code(ret_error, err);
    }
    *ret_target = target;
    return UDPA_OK;
}

udpai_grpc_target *
udpai_grpc_target_with(udpai_grpc_target *base, void *context, udpai_polled_server *server)
{
    udpai_grpc_target *target = udpai_alloc(sizeof(*target));
    if (!target) {
        if (base->release_context)
            base->release_context(context);
        udpai_polled_server_free(server);
        return NULL;
    }
    grpc_init();
    *target = (udpai_grpc_target){
        .base = udpai_grpc_target_ref(base),
        .address = base->address,
        .servers = base->servers,
        .n_servers = base->n_servers,
        .server_name = base->server_name,
        .method = base->method,
        .release_context = base->release_context,
        .timeout_ms = base->timeout_ms,
        .max_message_bytes = base->max_message_bytes,
        .window_bytes = base->window_bytes,
        .client = base->client,
        .server = server,
    };
    target->method.context = context;
    atomic_init(&target->refs, 1);
    return target;
}

static void
free_own(udpai_grpc_target *target)
{
    if (target->credentials)
        grpc_channel_credentials_release(target->credentials);
    udpai_trust_unref(target->trust);
    pthread_mutex_destroy(&target->mutex);
    free_polled(target->client, target->server);
    for (size_t i = 0; i < target->n_servers; i++)
        udpai_free(target->servers[i]);
    udpai_free(target->servers);
    udpai_free(target->address);
    udpai_free(target->server_name);
}

udpai_grpc_target *
udpai_grpc_target_ref(udpai_grpc_target *target)
{
    if (target)
        atomic_fetch_add_explicit(&target->refs, 1, memory_order_relaxed);
    return target;
}

udpai_grpc_target *
udpai_grpc_target_unref(udpai_grpc_target *target)
{
    if (!target || atomic_fetch_sub_explicit(&target->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    release_context(&target->method, target->release_context);
    if (target->base) {
        udpai_polled_server_free(target->server);
        udpai_grpc_target_unref(target->base);
    } else {
        free_own(target);
    }
    udpai_free(target);
    grpc_shutdown();
    return NULL;
}

void *
udpai_grpc_target_hold(void *target)
{
    return udpai_grpc_target_ref(target);
}

void
udpai_grpc_target_drop(void *target)
{
    udpai_grpc_target_unref(target);
}

const udpai_grpc_method *
udpai_grpc_target_method(const udpai_grpc_target *target)
{
    return &target->method;
}

udpai_trust *
udpai_grpc_target_trust(const udpai_grpc_target *target)
{
    return root_of(target)->trust;
}

const char *
udpai_grpc_target_address(const udpai_grpc_target *target, unsigned server)
{
    return target->servers[server < target->n_servers ? server : 0];
}

udpai_http_client *
udpai_grpc_target_http_client(const udpai_grpc_target *target)
{
    return target->client;
}

udpai_polled_server *
udpai_grpc_target_server(const udpai_grpc_target *target)
{
    return target->server;
}

static grpc_arg
integer(const char *key, uint64_t value)
{
    return (grpc_arg){
        .type = GRPC_ARG_INTEGER,
        .key = (char *)(uintptr_t)key,
        .value.integer = value > INT_MAX ? INT_MAX : (int)value,
    };
}

void
udpai_grpc_target_try_less(udpai_grpc_target *target)
{
    udpai_grpc_target *root = root_of(target);
    uint64_t ms = atomic_load_explicit(&root->interval_ms, memory_order_relaxed);
    if (ms >= LONGEST_INTERVAL_MS)
        return;
    /* Only streams that are lost come here, and all of them on the stream thread. */
    atomic_store_explicit(&root->interval_ms, 2 * ms, memory_order_relaxed);
    udpai_log(UDPA_LOG_WARNING, UDPAI_LOG_GRPC,
              "%s ends connections that are tried (keepalive) every %g s: from now on every %g s",
              root->address, (double)ms / 1000, (double)ms / 500);
}

/* No proxy that the environment may name, either: it would see and could change what we dial for.
 */
grpc_channel *
udpai_grpc_target_channel(const udpai_grpc_target *target, unsigned server)
{
    udpai_grpc_target *root = root_of(target);
    grpc_arg args[] = {
        integer(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
        integer(GRPC_ARG_ENABLE_RETRIES, 0),
        integer(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
        integer(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1),
        {.type = GRPC_ARG_INTEGER,
         .key = (char *)(uintptr_t)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
         .value.integer = target->max_message_bytes ? (int)target->max_message_bytes : -1},
        integer(GRPC_ARG_KEEPALIVE_TIME_MS,
                atomic_load_explicit(&root->interval_ms, memory_order_relaxed)),
        integer(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, target->timeout_ms),
        integer(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0), /* no limit */
        integer(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1),
        integer(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0),
        integer(GRPC_ARG_ENABLE_CHANNELZ, 0),
        integer(GRPC_ARG_HTTP2_BDP_PROBE, target->window_bytes == 0),
        integer(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES,
                target->window_bytes ? target->window_bytes : HTTP2_WINDOW_BYTES),
        {.type = GRPC_ARG_STRING,
         .key = (char *)(uintptr_t)GRPC_SSL_TARGET_NAME_OVERRIDE_ARG,
         .value.string = target->server_name},
    };
    const grpc_channel_args all = {UDPAI_ARRAY_LEN(args) - !target->server_name, args};
    pthread_mutex_lock(&root->mutex);
    grpc_channel *channel =
        grpc_channel_create(udpai_grpc_target_address(target, server), root->credentials, &all);
    pthread_mutex_unlock(&root->mutex);
    return channel;
}
