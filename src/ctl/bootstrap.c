/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/bootstrap.h"

#include "base/error.h"
#include "codec/json_text.h"
#include "codec/text_form.h"
#include "model/server_list.h"

#define CLUSTER "udpad" /* of the node itself, in the file of an Envoy */
#define HTTP_OPTIONS "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
#define TYPE "type.googleapis.com/"
#define UNIX "unix:"

/* ---- addresses ---- */

typedef struct address {
    udpai_str whole;
    udpai_str host; /* without brackets; of a unix socket its path */
    udpai_str port;
    bool is_unix;
} address;

static address
address_of(udpai_str text)
{
    address one = {.whole = text};
    one.is_unix = udpai_str_starts(text, UDPAI_STR(UNIX));
    if (one.is_unix) {
        one.host = (udpai_str){text.data + strlen(UNIX), text.len - strlen(UNIX)};
        return one;
    }
    const char *colon = memrchr(text.data, ':', text.len);
    one.host = (udpai_str){text.data, colon ? (size_t)(colon - text.data) : text.len};
    if (colon)
        one.port = (udpai_str){colon + 1, text.len - one.host.len - 1};
    if (one.host.len > 1 && one.host.data[0] == '[')
        one.host = (udpai_str){one.host.data + 1, one.host.len - 2};
    return one;
}

/* Must it be looked up? */
static bool
has_name(const address *one)
{
    return !one->is_unix && !udpai_text_is_ip(one->host);
}

bool
udpai_ctl_bootstrap_is_admin(udpai_str text)
{
    address one = address_of(text);
    unsigned port = 0;
    for (size_t i = 0; i < one.port.len && port <= UINT16_MAX; i++)
        port = one.port.data[i] >= '0' && one.port.data[i] <= '9'
                   ? 10 * port + (unsigned)(one.port.data[i] - '0')
                   : UINT32_MAX;
    return one.is_unix ? one.host.len > 0
                       : one.port.len > 0 && port <= UINT16_MAX && udpai_text_is_ip(one.host);
}

static address
address_at(const char *list, size_t i)
{
    return address_of(udpai_server_list_at(udpai_str_from(list), i));
}

static size_t
count(const char *list)
{
    return udpai_server_list_size(udpai_str_from(list));
}

/* ---- pieces of JSON ---- */

static void
put_text(udpai_strbuf *out, const char *key, const char *text)
{
    udpai_strbuf_printf(out, "\"%s\": ", key);
    udpai_json_put_string(out, udpai_str_from(text));
}

static void
put_node(udpai_strbuf *out, const udpai_ctl_bootstrap *bootstrap)
{
    static const char *const fields[] = {"region", "zone", "sub_zone"};
    udpai_str rest = udpai_str_from(bootstrap->locality ? bootstrap->locality : "");
    udpai_strbuf_puts(out, "\"node\": {");
    put_text(out, "id", bootstrap->client_id);
    udpai_strbuf_puts(out, ", ");
    put_text(out, "cluster", bootstrap->client_cluster);
    udpai_strbuf_puts(out, ", \"locality\": {");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(fields) && rest.len; i++) {
        const char *slash =
            i + 1 < UDPAI_ARRAY_LEN(fields) ? memchr(rest.data, '/', rest.len) : NULL;
        udpai_str one = {rest.data, slash ? (size_t)(slash - rest.data) : rest.len};
        udpai_strbuf_printf(out, "%s\"%s\": ", i ? ", " : "", fields[i]);
        udpai_json_put_string(out, one);
        size_t gone = one.len + (slash != NULL);
        rest = (udpai_str){rest.data + gone, rest.len - gone};
    }
    udpai_strbuf_puts(out, "}}");
}

/* ---- Envoy ---- */

static void
put_envoy_address(udpai_strbuf *out, const address *one)
{
    udpai_strbuf_puts(out, "\"address\": {");
    udpai_strbuf_puts(out, one->is_unix ? "\"pipe\": {\"path\": "
                                        : "\"socket_address\": {\"address\": ");
    udpai_json_put_string(out, one->host);
    if (!one->is_unix)
        udpai_strbuf_printf(out, ", \"port_value\": %.*s", UDPAI_SHOWN(one->port));
    udpai_strbuf_puts(out, "}}");
}

static void
put_endpoints(udpai_strbuf *out, const char *servers)
{
    udpai_strbuf_puts(out, "\"load_assignment\": {\"cluster_name\": \"" CLUSTER
                           "\", \"endpoints\": [{\"lb_endpoints\": [");
    for (size_t i = 0; i < count(servers); i++) {
        address one = address_at(servers, i);
        udpai_strbuf_puts(out, i ? ", {\"endpoint\": {" : "{\"endpoint\": {");
        put_envoy_address(out, &one);
        udpai_strbuf_puts(out, "}}");
    }
    udpai_strbuf_puts(out, "]}]}");
}

static void
put_san(udpai_strbuf *out, udpai_str name)
{
    udpai_strbuf_printf(out, "{\"san_type\": \"%s\", \"matcher\": {\"exact\": ",
                        udpai_text_is_ip(name) ? "IP_ADDRESS" : "DNS");
    udpai_json_put_string(out, name);
    udpai_strbuf_puts(out, "}}");
}

/* Any of these: without them Envoy takes each certificate of the authority. */
static void
put_sans(udpai_strbuf *out, const udpai_ctl_bootstrap *bootstrap)
{
    udpai_strbuf_puts(out, "\"match_typed_subject_alt_names\": [");
    if (bootstrap->server_name)
        put_san(out, udpai_str_from(bootstrap->server_name));
    for (size_t i = 0; !bootstrap->server_name && i < count(bootstrap->servers); i++) {
        udpai_strbuf_puts(out, i ? ", " : "");
        put_san(out, address_at(bootstrap->servers, i).host);
    }
    udpai_strbuf_putc(out, ']');
}

/* The name that is asked for; of several hosts none is. */
static udpai_str
sni_of(const udpai_ctl_bootstrap *bootstrap)
{
    address first = address_at(bootstrap->servers, 0);
    if (bootstrap->server_name)
        return udpai_str_from(bootstrap->server_name);
    return count(bootstrap->servers) == 1 && has_name(&first) ? first.host : (udpai_str){0};
}

static void
put_envoy_tls(udpai_strbuf *out, const udpai_ctl_bootstrap *bootstrap)
{
    udpai_str sni = sni_of(bootstrap);
    udpai_strbuf_puts(out, ", \"transport_socket\": {\"name\": \"tls\", \"typed_config\": {"
                           "\"@type\": \"" TYPE
                           "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext\", ");
    if (sni.len) {
        udpai_strbuf_puts(out, "\"sni\": ");
        udpai_json_put_string(out, sni);
        udpai_strbuf_puts(out, ", ");
    }
    udpai_strbuf_puts(out, "\"common_tls_context\": {");
    if (bootstrap->certificate) {
        udpai_strbuf_puts(out, "\"tls_certificates\": [{\"certificate_chain\": {");
        put_text(out, "filename", bootstrap->certificate);
        udpai_strbuf_puts(out, "}, \"private_key\": {");
        put_text(out, "filename", bootstrap->private_key);
        udpai_strbuf_puts(out, "}}], ");
    }
    udpai_strbuf_puts(out, "\"validation_context\": {\"trusted_ca\": {");
    put_text(out, "filename", bootstrap->ca);
    udpai_strbuf_puts(out, "}, ");
    put_sans(out, bootstrap);
    udpai_strbuf_puts(out, "}}}}");
}

static udpa_err
check_envoy(const udpai_ctl_bootstrap *bootstrap, bool *ret_has_names, udpa_error **ret_error)
{
    bool has_unix = false;
    *ret_has_names = false;
    for (size_t i = 0; i < count(bootstrap->servers); i++) {
        address one = address_at(bootstrap->servers, i);
        *ret_has_names |= has_name(&one);
        has_unix |= one.is_unix;
    }
    if (has_unix && *ret_has_names)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "--server %s: Envoy cannot have unix sockets and names of hosts in one "
                          "cluster: give addresses instead of names",
                          bootstrap->servers);
    if (has_unix && bootstrap->ca && !bootstrap->server_name)
        return udpai_fail(
            ret_error, UDPA_ERR_INVAL,
            "--server %s: a unix socket has no host, whose name the certificate could "
            "have: give --server-name",
            bootstrap->servers);
    return UDPA_OK;
}

static void
put_dynamic(udpai_strbuf *out)
{
    udpai_strbuf_puts(out, "\"dynamic_resources\": {\"ads_config\": {\"api_type\": \"DELTA_GRPC\", "
                           "\"transport_api_version\": \"V3\", "
                           "\"set_node_on_first_message_only\": true, "
                           "\"grpc_services\": [{\"envoy_grpc\": {\"cluster_name\": \"" CLUSTER
                           "\"}}]}, "
                           "\"lds_config\": {\"ads\": {}, \"resource_api_version\": \"V3\"}, "
                           "\"cds_config\": {\"ads\": {}, \"resource_api_version\": \"V3\"}}");
}

udpa_err
udpai_ctl_bootstrap_put_envoy(udpai_strbuf *out,
                              const udpai_ctl_bootstrap *bootstrap,
                              udpa_error **ret_error)
{
    bool has_names;
    udpa_err err = check_envoy(bootstrap, &has_names, ret_error);
    udpai_strbuf_putc(out, '{');
    put_node(out, bootstrap);
    if (bootstrap->envoy_admin) {
        address admin = address_of(udpai_str_from(bootstrap->envoy_admin));
        udpai_strbuf_puts(out, ", \"admin\": {");
        put_envoy_address(out, &admin);
        udpai_strbuf_putc(out, '}');
    }
    udpai_strbuf_puts(out, ", ");
    put_dynamic(out);
    udpai_strbuf_printf(out,
                        ", \"static_resources\": {\"clusters\": [{\"name\": \"" CLUSTER
                        "\", \"type\": \"%s\", \"connect_timeout\": \"1s\", ",
                        has_names ? "STRICT_DNS" : "STATIC");
    put_endpoints(out, bootstrap->servers);
    /* Without keepalive it may take long until the loss of a machine is noticed. */
    udpai_strbuf_puts(out, ", \"typed_extension_protocol_options\": {\"" HTTP_OPTIONS
                           "\": {\"@type\": \"" TYPE HTTP_OPTIONS
                           "\", \"explicit_http_config\": {\"http2_protocol_options\": "
                           "{\"connection_keepalive\": {\"interval\": \"30s\", \"timeout\": "
                           "\"5s\"}}}}}");
    if (bootstrap->ca)
        put_envoy_tls(out, bootstrap);
    udpai_strbuf_puts(out, "}]}}\n");
    return err;
}

/* ---- gRPC ---- */

static void
put_credentials(udpai_strbuf *out, const udpai_ctl_bootstrap *bootstrap)
{
    if (!bootstrap->ca) {
        udpai_strbuf_puts(out, "{\"type\": \"insecure\"}");
        return;
    }
    udpai_strbuf_puts(out, "{\"type\": \"tls\", \"config\": {");
    put_text(out, "ca_certificate_file", bootstrap->ca);
    if (bootstrap->certificate) {
        udpai_strbuf_puts(out, ", ");
        put_text(out, "certificate_file", bootstrap->certificate);
        udpai_strbuf_puts(out, ", ");
        put_text(out, "private_key_file", bootstrap->private_key);
    }
    udpai_strbuf_puts(out, "}}");
}

/* A client uses the first one that it can reach, and goes on to the next. */
udpa_err
udpai_ctl_bootstrap_put_grpc(udpai_strbuf *out,
                             const udpai_ctl_bootstrap *bootstrap,
                             udpa_error **ret_error)
{
    udpai_strbuf_puts(out, "{\n  \"xds_servers\": [");
    for (size_t i = 0; i < count(bootstrap->servers); i++) {
        udpai_strbuf_puts(out, i ? ",\n    {\n" : "\n    {\n");
        udpai_strbuf_puts(out, "      \"server_uri\": ");
        udpai_json_put_string(out, address_at(bootstrap->servers, i).whole);
        udpai_strbuf_puts(out, ",\n      \"channel_creds\": [");
        put_credentials(out, bootstrap);
        udpai_strbuf_puts(out, "],\n      \"server_features\": [\"xds_v3\"]\n    }");
    }
    udpai_strbuf_puts(out, "\n  ],\n  ");
    put_node(out, bootstrap); /* the client for Node.js rejects one without a locality */
    udpai_strbuf_puts(out, "\n}\n");
    if (!bootstrap->ca || !bootstrap->server_name)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "--server-name %s: a bootstrap of gRPC has no such field: its clients expect "
                      "the host of --server in the certificate",
                      bootstrap->server_name);
}
