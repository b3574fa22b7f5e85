/* SPDX-License-Identifier: Apache-2.0 */
/* The report of one resource of one client: a GenericXdsConfig. As the node knows it: by what it
 * has sent and what was answered, not by what the client does with it. */
#include "base/alloc.h"
#include "model/secret_type.h"
#include "session/access.h"
#include "session/client_state.h"
#include "wire/compose.h"
#include "wire/entry.h"
#include "xds/csds_internal.h"

enum { /* field numbers of ClientConfig, GenericXdsConfig and UpdateFailureState */
    NODE = 1,
    CONFIGS = 3,
    TYPE_URL = 1,
    NAME = 2,
    VERSION = 3,
    XDS_CONFIG = 4,
    LAST_UPDATED = 5,
    CONFIG_STATUS = 6,
    CLIENT_STATUS = 7,
    ERROR_STATE = 8,
    FAILED_CONFIGURATION = 1,
    LAST_ATTEMPT = 2,
    DETAILS = 3,
    FAILED_VERSION = 4,
};

enum { /* ConfigStatus */
    SYNCED = UDPAI_CSDS_SYNCED,
    NOT_SENT = UDPAI_CSDS_NOT_SENT,
    STALE = UDPAI_CSDS_STALE,
    ERROR = UDPAI_CSDS_ERROR,
};

enum {
    UNKNOWN,
    REQUESTED = 1,
    DOES_NOT_EXIST = 2,
    ACKED = 3,
    NACKED = 4
}; /* ClientResourceStatus */

struct status {
    uint64_t config, client;
};

struct entry {
    udpai_str type_url, name;
    const udpa_resource *resource; /* NULL: there is none */
    udpai_str version;             /* that is sent now, or would be */
    bool has_body;
    struct status status;
    const udpai_acknowledgement *acknowledgement;
};

/* What was neither acknowledged nor refused may still be what the client waits for. */
static struct status
status_of(const udpai_taken *taken, udpai_acknowledgement_state state)
{
    static const struct status of[UDPAI_ACKNOWLEDGEMENT_STATES] = {
        [UDPAI_ACKNOWLEDGEMENT_BEHIND] = {NOT_SENT, REQUESTED},
        [UDPAI_ACKNOWLEDGEMENT_UNANSWERED] = {STALE, REQUESTED},
        [UDPAI_ACKNOWLEDGEMENT_REFUSED] = {ERROR, NACKED},
        [UDPAI_ACKNOWLEDGEMENT_DOUBTFUL] = {STALE, UNKNOWN},
        [UDPAI_ACKNOWLEDGEMENT_UNTOLD] = {NOT_SENT, REQUESTED},
        [UDPAI_ACKNOWLEDGEMENT_SENT] = {STALE, UNKNOWN},
        [UDPAI_ACKNOWLEDGEMENT_GIVEN] = {SYNCED, ACKED},
    };
    if (taken->ack.resource || state == UDPAI_ACKNOWLEDGEMENT_REFUSED)
        return of[state];
    return (struct status){NOT_SENT, taken->is_missing ? DOES_NOT_EXIST : REQUESTED};
}

/* ---- bodies ---- */

static bool
shows_body(const udpai_csds_viewer *viewer, const udpa_resource *resource)
{
    return resource && !viewer->excludes_contents &&
           udpai_resource_any_size(resource) <= UDPAI_CSDS_BODY_MAX &&
           !udpai_type_is_secret_of(viewer->csds->secret_types, viewer->csds->n_secret_types,
                                    udpai_resource_type_url(resource)) &&
           udpai_access_may_see(viewer->access, viewer->visibility, resource);
}

/* When this node took it; 0: not known. */
static int64_t
updated_us(const udpa_resource *resource)
{
    size_t n = resource ? udpai_hop_path_n_hops(udpai_resource_hop_path(resource)) : 0;
    return n ? udpai_resource_hop(resource, n - 1).time_us : 0;
}

/* ---- writing ---- */

static void
put_time(udpai_proto_writer *writer, uint32_t number, int64_t time_us)
{
    if (time_us > 0)
        udpai_timestamp_put(writer, number, time_us);
}

static bool
is_failed(const struct entry *entry)
{
    return entry->status.config == ERROR;
}

static void
put_failure(udpai_proto_writer *writer, const struct entry *entry)
{
    if (entry->has_body && is_failed(entry))
        udpai_resource_put_any(writer, FAILED_CONFIGURATION, entry->resource);
    put_time(writer, LAST_ATTEMPT,
             entry->acknowledgement->since_us); /* of what is held there was none */
    udpai_proto_put_bytes_opt(writer, DETAILS,
                              udpai_str_from(udpa_error_message(entry->acknowledgement->error)));
    if (entry->acknowledgement->state != UDPAI_ACKNOWLEDGEMENT_BEHIND)
        udpai_proto_put_bytes_opt(writer, FAILED_VERSION, entry->version);
}

static void
put_fields(udpai_proto_writer *writer, const struct entry *entry)
{
    udpai_proto_put_bytes(writer, TYPE_URL, entry->type_url);
    udpai_proto_put_bytes(writer, NAME, entry->name);
    udpai_proto_put_bytes_opt(writer, VERSION,
                              is_failed(entry) ? entry->acknowledgement->good : entry->version);
    if (entry->has_body && !is_failed(entry))
        udpai_resource_put_any(writer, XDS_CONFIG, entry->resource);
    put_time(writer, LAST_UPDATED, updated_us(entry->resource));
    udpai_proto_put_varint_opt(writer, CONFIG_STATUS, entry->status.config);
    udpai_proto_put_varint_opt(writer, CLIENT_STATUS, entry->status.client);
    if (!entry->acknowledgement->error)
        return;
    udpai_proto_writer size = {0};
    put_failure(&size, entry);
    udpai_proto_put_head(writer, ERROR_STATE, size.size);
    put_failure(writer, entry);
}

static bool
append(udpai_strbuf *out, const struct entry *entry)
{
    udpai_proto_writer size = {0}, whole = {0};
    put_fields(&size, entry);
    udpai_proto_put_head(&whole, CONFIGS, size.size);
    udpai_proto_writer writer = {udpai_strbuf_extend(out, whole.size + size.size), 0};
    if (!writer.at)
        return false;
    udpai_proto_put_head(&writer, CONFIGS, size.size);
    put_fields(&writer, entry);
    return true;
}

bool
udpai_csds_put_entry(udpai_strbuf *out,
                     const udpai_session *session,
                     const udpai_taken *taken,
                     const udpai_csds_viewer *viewer,
                     udpai_csds_status *ret_status)
{
    const udpai_resource_ack *ack = &taken->ack;
    char called[UDPAI_SESSION_CALLED_MAX];
    udpai_client_state state;
    struct entry entry = {
        .type_url = udpai_subscription_type_url(ack->subscription),
        .resource = ack->resource,
        .has_body = shows_body(viewer, ack->resource),
        .acknowledgement = &state.status,
    };
    *ret_status = UDPAI_CSDS_UNREPORTED;
    udpai_client_state_of(session, ack, &state);
    if (state.status.state == UDPAI_ACKNOWLEDGEMENT_NOT_SHOWN ||
        !session->ops->call(session, ack, taken->name, called, &entry.name))
        return true;
    entry.status = status_of(taken, state.status.state);
    *ret_status = (udpai_csds_status)entry.status.config;
    entry.version = state.version;
    return append(out, &entry);
}

/* What the Node has besides may be as large as a message. */
static udpa_bytes *
encode_node(const udpai_node_info *node, size_t max_bytes)
{
    udpa_bytes *whole = udpai_node_encode(node);
    if (!whole || udpa_bytes_size(whole) <= max_bytes)
        return whole;
    udpa_bytes_unref(whole);
    const udpai_node_parts *from = udpai_node_info_parts(node);
    const udpai_node_parts parts = {.id = from->id};
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *less = NULL;
    return udpai_node_info_new(&less, &parts) == UDPA_OK ? udpai_node_encode(less) : NULL;
}

bool
udpai_csds_put_node(udpai_strbuf *out, const udpai_node_info *node, size_t max_bytes)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = encode_node(node, max_bytes);
    if (!bytes)
        return false;
    udpai_proto_writer size = {0};
    udpai_proto_put_bytes(&size, NODE, udpai_bytes_view(bytes));
    udpai_proto_writer writer = {udpai_strbuf_extend(out, size.size), 0};
    if (writer.at)
        udpai_proto_put_bytes(&writer, NODE, udpai_bytes_view(bytes));
    return writer.at != NULL;
}
