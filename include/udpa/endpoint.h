/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file endpoint.h
 * An endpoint of UDPA on the caller's libuv loop: it subscribes to resources, publishes them, and
 * sends receipts.
 */

/* Everything here belongs to the thread that runs the loop, and all callbacks run on it. The
 * endpoint has one thread of its own for its streams, and one for each source by REST; they block
 * all signals. gRPC does not survive fork(): a process that has an endpoint must not fork without
 * exec.
 *
 * Structures begin with struct_size, so that a library may learn new fields without a new ABI: use
 * their initialisers. */
#ifndef UDPA_ENDPOINT_H
#define UDPA_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>

#include <udpa/bytes.h>
#include <udpa/error.h>
#include <udpa/macros.h>
#include <udpa/provider.h>

UDPA_BEGIN_DECLS

struct uv_loop_s;

/** An endpoint. Release with udpa_endpoint_close(). */
typedef struct udpa_endpoint udpa_endpoint;

/** PEM files of a TLS connection; NULL: none. */
typedef struct udpa_tls {
    size_t struct_size; /**< sizeof(udpa_tls) */
    /** Who we are: our certificate, then those that lead to its authority. */
    const char *certificate_file;
    /** Its key; both or none. */
    const char *private_key_file;
    /** The authorities that the peer's certificate must be signed by. Required of a source. */
    const char *ca_file;
    /** The name that a source's certificate must have; NULL: the host of its address, of several
     * addresses that of each. */
    const char *server_name;
} udpa_tls;

/** Initialiser of udpa_tls. */
#define UDPA_TLS_INIT                                                                              \
    {                                                                                              \
        sizeof(udpa_tls), NULL, NULL, NULL, NULL                                                   \
    }

/** What makes a source an xDS v3 management server, which the endpoint calls by ADS as a client. */
typedef struct udpa_xds_server {
    size_t struct_size; /**< sizeof(udpa_xds_server) */
    /** The authority of all that it serves; required. */
    const char *authority;
    /** The namespace that its names are in: its "backend" is "<name_space>/backend" here; required.
     */
    const char *name_space;
    /** Speak the state of the world protocol, for servers without the delta protocol. */
    bool is_state_of_the_world;
} udpa_xds_server;

/** Initialiser of udpa_xds_server. */
#define UDPA_XDS_SERVER_INIT                                                                       \
    {                                                                                              \
        sizeof(udpa_xds_server), NULL, NULL, false                                                 \
    }

/** Translates a message between its bytes and proto3 JSON.
 * @param userdata  of the udpa_rest_server.
 * @param type      the message's full name, such as envoy.service.discovery.v3.DiscoveryRequest.
 * @param from      @p size bytes, or characters of JSON; from the server, so they may be anything.
 * @param ret_to    [out] a new reference, which the caller takes over; untouched on failure.
 * @param ret_error [out] what is wrong.
 * @return UDPA_OK, or any error.
 * @thread one of the endpoint's own, not the loop's   @since 0.1
 */
typedef udpa_err (*udpa_json_fn)(void *userdata,
                                 const char *type,
                                 const void *from,
                                 size_t size,
                                 udpa_bytes **ret_to,
                                 udpa_error **ret_error);

/** Makes a source an xDS v3 management server that speaks REST and JSON alone: the endpoint polls
 * it as a client. The library knows no messages but its own, so the application translates:
 * libprotobuf does it in two calls. */
typedef struct udpa_rest_server {
    size_t struct_size; /**< sizeof(udpa_rest_server) */
    /** The authority of all that it serves; required. */
    const char *authority;
    /** The namespace that its names are in, as in udpa_xds_server; required. */
    const char *name_space;
    /** From one request of a type to the next, with up to a quarter more; 0: 5000. */
    unsigned refresh_delay_ms;
    /** How long an answer may take; a server that can is asked to hold a request for four fifths of
     * it while nothing changes; 0: 30000. */
    unsigned request_timeout_ms;
    udpa_json_fn to_json;  /**< Required. */
    udpa_json_fn to_bytes; /**< Required. */
    void *userdata;        /**< Handed to both; outlives the endpoint. */
} udpa_rest_server;

/** Initialiser of udpa_rest_server. */
#define UDPA_REST_SERVER_INIT                                                                      \
    {                                                                                              \
        sizeof(udpa_rest_server), NULL, NULL, 0, 0, NULL, NULL, NULL                               \
    }

/** A peer that resources come from, and are published to: a management server. */
typedef struct udpa_source {
    size_t struct_size; /**< sizeof(udpa_source) */
    /** What errors and subscriptions call it; required, and unique. */
    const char *name;
    /** HOST:PORT that the endpoint dials; NULL: the peer dials the endpoint, which listens. Or up
     * to 16 of them with commas between, such as "a.example:18000,b.example:18000": replicas of one
     * set, which are one source (not with @p rest). The endpoint is connected to one of them. When
     * that fails, it dials the next one at once, and continues there with what it has; only when
     * all have failed there is a pause. A server that does not answer within 2 s has failed, while
     * others were not tried. */
    const char *address;
    /** Of a peer that dials: the name its certificate gives it, or without TLS the id of its
     * node. */
    const char *peer;
    /** NULL: plaintext. Of a source that is dialled only. */
    const udpa_tls *tls;
    /** NULL: it speaks UDPA. Of a source that is dialled only; nothing is published to it. */
    const udpa_xds_server *xds;
    /** The same for a server by REST; NULL: it is none. */
    const udpa_rest_server *rest;
    /** Dialled only while a provider has it asked for a type: a standby has no connection until it
     * is needed. What is published to it meanwhile waits for one. Of a source that is dialled only.
     */
    bool only_when_needed;
    /** What is reported (report.h) goes to the source that has delivered what it is about. Of these
     * types it goes to this one, too, so that it knows load and health when it has to take over;
     * full names or type URLs. Not with only_when_needed; of one that speaks UDPA only. */
    const char *const *standby;
    size_t n_standby;
    /** Of several servers in @p address the first one that is dialled is a random one, so that many
     * processes with one configuration are spread over them; the next ones follow as given. False:
     * the first one is the first. @since 0.1 */
    bool starts_anywhere;
} udpa_source;

/** Initialiser of udpa_source. */
#define UDPA_SOURCE_INIT                                                                           \
    {                                                                                              \
        sizeof(udpa_source), NULL, NULL, NULL, NULL, NULL, NULL, false, NULL, 0, false             \
    }

/** What an endpoint does with secrets: resources of
 * envoy.extensions.transport_sockets.tls.v3.Secret, and those that a node counts as such. */
typedef enum udpa_secrets {
    UDPA_SECRETS_USED,     /**< it uses them, as any data plane does */
    UDPA_SECRETS_REDACTED, /**< it shows them to people: they come without their payloads */
    /** It keeps a copy of them: a node ends the stream with UDPA_ERR_DENIED unless it is one of
     * TLS, and the rules of the node let this peer administer. */
    UDPA_SECRETS_COPIED,
} udpa_secrets;

/** What an endpoint is made of. */
typedef struct udpa_endpoint_options {
    size_t struct_size; /**< sizeof(udpa_endpoint_options) */
    /** Unique among all clients of the same management servers; required. */
    const char *node_id;
    /** What management servers may choose resources by; NULL: not given. */
    const char *cluster;
    const char *region;
    const char *zone;
    const char *sub_zone;
    /** Without providers in the order in which they count: a later one is used while those before
     * it are not to be had (UDPA_STOP_ON_SUCCESS). */
    const udpa_source *sources;
    size_t n_sources;
    /** ADDRESS:PORT to listen on for sources that dial; an IPv6 address in brackets; port 0: any.
     * NULL: none can dial. */
    const char *listen_address;
    /** NULL: plaintext, which is refused beyond loopback. With a ca_file, peers must present a
     * certificate that it vouches for. */
    const udpa_tls *listen_tls;
    /** Which source is asked for what (provider.h). None: every source for every type. With any,
     * types that none of them has come from nowhere. */
    const udpa_provider *providers;
    size_t n_providers;
    /** Answers envoy.service.status.v3.ClientStatusDiscoveryService on listen_address: what the
     * endpoint has of what it subscribes to, what it has refused, and why; bodies too, but for
     * secrets, unless the request asks for none. Nothing is noted for that while it is false. */
    bool answers_client_status;
    /** Of sources that are nodes of this project; others know nothing of it. */
    udpa_secrets secrets;
} udpa_endpoint_options;

/** Initialiser of udpa_endpoint_options. */
#define UDPA_ENDPOINT_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(udpa_endpoint_options), NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 0, \
            false, UDPA_SECRETS_USED                                                               \
    }

/** Make an endpoint, and have it listen and dial.
 *
 * A source that cannot be reached is no error: it is tried again for as long as the endpoint lives,
 * with growing pauses up to 15 s.
 * @param ret_endpoint [out] untouched on failure.
 * @param loop         must outlive the endpoint; not run by it.
 * @param options      borrowed; everything in it is copied, and files are read now.
 * @param ret_error    [out] what is wrong; may be NULL.
 * @return UDPA_OK; UDPA_ERR_INVAL an option that may not be; UDPA_ERR_IO a file or an address that
 *         cannot be used; UDPA_ERR_NOMEM.
 * @thread the loop's   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_endpoint_new(udpa_endpoint **ret_endpoint,
                                                  struct uv_loop_s *loop,
                                                  const udpa_endpoint_options *options,
                                                  udpa_error **ret_error);

/** The port that it listens on.
 * @return the port; 0: it does not listen.
 * @thread the loop's   @since 0.1
 */
UDPA_API int udpa_endpoint_port(const udpa_endpoint *endpoint);

/** Why a source could not be reached, or how its stream ended, the last time. It stays when the
 * source is reached again. Of one with several servers, when all of them have failed: the reason of
 * each.
 * @param endpoint not one that is being closed.
 * @param source   the source's name.
 * @return borrowed until the loop runs on; NULL: nothing was amiss, or there is no such source.
 * @thread the loop's   @since 0.1
 */
UDPA_API const udpa_error *udpa_endpoint_source_error(const udpa_endpoint *endpoint,
                                                      const char *source);

/** The server that a source is connected to: which of several, too.
 * @param endpoint not one that is being closed.
 * @param source   the source's name.
 * @return its address as in udpa_source, borrowed until the loop runs on; NULL: there is no
 *         connection, or no such source, or it is not dialled by gRPC.
 * @thread the loop's   @since 0.1
 */
UDPA_API const char *udpa_endpoint_source_server(const udpa_endpoint *endpoint, const char *source);

/** End all streams and release the endpoint, its subscriptions and deferred updates included.
 * Receipts that have not come are called back with an error, before @p closed. May be called from
 * inside any callback.
 * @param endpoint not to be used any more.
 * @param closed   called when nothing of it is left, after the loop has run on; may be NULL.
 * @param userdata handed to @p closed.
 * @thread the loop's   @since 0.1
 */
UDPA_API void
udpa_endpoint_close(udpa_endpoint *endpoint, void (*closed)(void *userdata), void *userdata);

UDPA_END_DECLS

#endif
