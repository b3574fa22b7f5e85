/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/explanation.h"

#include "base/alloc.h"
#include "base/proto.h"
#include "cli/display.h"
#include "cli/node_status.h"
#include "model/name.h"
#include "model/resource.h"
#include "model/types.h"
#include "session/access_question.h"
#include "session/acknowledgement.h"
#include "session/origins_question.h"

typedef Udpa__Status__V1__Contribution contribution_message;
typedef Udpa__Status__V1__SessionAcknowledgement session_message;
typedef Udpa__Status__V1__AcknowledgementStatus status_message;
typedef Udpa__Status__V1__SourceStatus source_message;
typedef Udpa__Status__V1__SessionStatus stream_message;
typedef Udpa__Status__V1__ReplicaStatus replica_message;

/* ---- asking ---- */

udpa_err
udpai_cli_explanation_begin(udpai_cli_explanation *self, udpa_error **ret_error)
{
    return udpai_cli_awaited_add(&self->acknowledgements, self->type_url, self->name, NULL,
                                 ret_error);
}

void
udpai_cli_explanation_done(udpai_cli_explanation *self)
{
    if (self->origins)
        udpa__status__v1__origins_status__free_unpacked(self->origins, NULL);
    if (self->access)
        udpa__status__v1__access_status__free_unpacked(self->access, NULL);
    udpai_cli_awaited_done(&self->acknowledgements);
    udpai_cli_explanation_forget_status(self);
    *self = (udpai_cli_explanation){0};
}

static udpa_err
fail_asking(udpa_err err, udpa_error **ret_error)
{
    return err == UDPA_ERR_LIMIT ? udpai_fail(ret_error, err, "that is too long for one question")
                                 : udpai_fail_code(ret_error, err);
}

udpa_err
udpai_cli_explanation_ask_origins(const udpai_cli_explanation *self,
                                  char **ret_question,
                                  udpa_error **ret_error)
{
    const udpai_origins_question question = {
        .token = udpai_str_from(self->acknowledgements.token),
        .type_name = udpai_type_url_name(udpai_str_from(self->type_url)),
        .name = udpai_str_from(self->name),
    };
    return fail_asking(udpai_origins_question_compose(&question, ret_question), ret_error);
}

const char *
udpai_cli_explanation_peer(const udpai_cli_explanation *self)
{
    const session_message *session = udpai_cli_explanation_session(self);
    return session && *session->peer_identity ? session->peer_identity : self->client;
}

udpa_err
udpai_cli_explanation_ask_access(const udpai_cli_explanation *self,
                                 char **ret_question,
                                 udpa_error **ret_error)
{
    const udpai_access_question question = {
        .action = udpai_access_action(UDPAI_STR("subscribe")),
        .type_name = udpai_type_url_name(udpai_str_from(self->type_url)),
        .peer = udpai_str_from(udpai_cli_explanation_peer(self)),
        .authority = UDPAI_STR(""),
        .name = udpai_str_from(self->name),
    };
    return fail_asking(udpai_access_question_compose(&question, ret_question), ret_error);
}

/* ---- answers ---- */

static udpa_err
take_origins(udpai_cli_explanation *self, udpai_str bytes)
{
    if (self->origins)
        udpa__status__v1__origins_status__free_unpacked(self->origins, NULL);
    self->origins =
        udpa__status__v1__origins_status__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    return self->origins ? UDPA_OK : UDPA_ERR_MALFORMED;
}

static udpa_err
take_access(udpai_cli_explanation *self, udpai_str bytes)
{
    if (self->access)
        udpa__status__v1__access_status__free_unpacked(self->access, NULL);
    self->access =
        udpa__status__v1__access_status__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    return self->access ? UDPA_OK : UDPA_ERR_MALFORMED;
}

static udpa_err
take_node(udpai_cli_explanation *self, const udpa_resource *status)
{
    udpai_cli_requests requests = {0};
    bool has_one = udpai_cli_requests_of_type(&requests, self->type_url);
    if (has_one)
        udpai_cli_put_waits_for(&self->waits, status, &requests);
    udpai_cli_requests_done(&requests);
    return has_one ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* What is not there may have been offered: which resources were rejected is in the log alone. */
static udpa_err
take_source(udpai_cli_explanation *self, udpai_str bytes)
{
    udpai_strbuf *out = &self->rejecting;
    source_message *source =
        udpa__status__v1__source_status__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    if (!source)
        return UDPA_ERR_MALFORMED;
    if (source->n_refused)
        udpai_strbuf_printf(out, "%s%s (%llu)", out->len ? ", " : "", source->name,
                            (unsigned long long)source->n_refused);
    udpa__status__v1__source_status__free_unpacked(source, NULL);
    return UDPA_OK;
}

/* Fields of a SessionStatus. */
enum {
    SESSION_ID = 1,
    SESSION_ADDRESS = 3,
    SESSION_IDENTITY = 4,
    SESSION_NODE_ID = 5,
};

static bool
is_field(udpai_str session, uint32_t number, const char *text)
{
    return udpai_str_eq(udpai_proto_last_bytes(session, number), udpai_str_from(text));
}

/* Of a stream of the client; of several the one that subscribes to it. Few of a node's many streams
 * are unpacked for that. */
static bool
is_of_client(const udpai_cli_explanation *self, udpai_str bytes)
{
    const session_message *session = udpai_cli_explanation_session(self);
    if (session && is_field(bytes, SESSION_ID, session->id))
        return true;
    return !self->group && self->client &&
           (is_field(bytes, SESSION_NODE_ID, self->client) ||
            is_field(bytes, SESSION_IDENTITY, self->client) ||
            is_field(bytes, SESSION_ADDRESS, self->client));
}

static udpa_err
take_stream(udpai_cli_explanation *self, udpai_str bytes)
{
    if (!is_of_client(self, bytes))
        return UDPA_OK;
    stream_message *stream =
        udpa__status__v1__session_status__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    if (!stream)
        return UDPA_ERR_MALFORMED;
    bool is_one = stream->n_namespaces && !*stream->source;
    stream_message *other = is_one ? self->group : stream;
    if (is_one)
        self->group = stream;
    if (other)
        udpa__status__v1__session_status__free_unpacked(other, NULL);
    return UDPA_OK;
}

static udpa_err
take_replica(udpai_cli_explanation *self, udpai_str bytes)
{
    replica_message *replica =
        udpa__status__v1__replica_status__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    if (!replica)
        return UDPA_ERR_MALFORMED;
    bool is_held =
        replica->is_own && replica->state == UDPA__STATUS__V1__REPLICA_STATUS__STATE__HELD;
    replica_message *other = is_held ? self->replica : replica;
    if (is_held)
        self->replica = replica;
    if (other)
        udpa__status__v1__replica_status__free_unpacked(other, NULL);
    return UDPA_OK;
}

void
udpai_cli_explanation_forget_status(udpai_cli_explanation *self)
{
    udpai_strbuf_done(&self->waits);
    udpai_strbuf_done(&self->rejecting);
    if (self->group)
        udpa__status__v1__session_status__free_unpacked(self->group, NULL);
    if (self->replica)
        udpa__status__v1__replica_status__free_unpacked(self->replica, NULL);
    self->group = NULL;
    self->replica = NULL;
}

udpa_err
udpai_cli_explanation_take(udpai_cli_explanation *self, const udpa_resource *answer)
{
    udpai_str type_url = udpai_resource_type_url(answer), bytes = udpai_resource_value(answer);
    if (udpai_str_eq(type_url, UDPAI_STR(UDPAI_ORIGINS_TYPE)))
        return take_origins(self, bytes);
    if (udpai_str_eq(type_url, UDPAI_STR(UDPAI_ACKNOWLEDGEMENT_TYPE)))
        return udpai_cli_awaited_take(&self->acknowledgements, answer);
    if (udpai_str_eq(type_url, UDPAI_STR(UDPAI_ACCESS_TYPE)))
        return take_access(self, bytes);
    if (udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_NODE_STATUS)))
        return take_node(self, answer);
    if (udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_SOURCE_STATUS)))
        return take_source(self, bytes);
    if (udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_SESSION_STATUS)))
        return take_stream(self, bytes);
    if (udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_REPLICA_STATUS)))
        return take_replica(self, bytes);
    return UDPA_OK;
}

/* ---- what is so ---- */

const status_message *
udpai_cli_explanation_status(const udpai_cli_explanation *self)
{
    const udpai_cli_awaited_list *list = &self->acknowledgements;
    return list->items.n ? list->items.items[0].status : NULL;
}

static const contribution_message *
effective_of(const udpai_cli_explanation *self)
{
    const Udpa__Status__V1__OriginsStatus *origins = self->origins;
    for (size_t i = 0; origins && i < origins->n_contributions; i++)
        if (origins->contributions[i]->effective)
            return origins->contributions[i];
    return NULL;
}

bool
udpai_cli_explanation_is_served(const udpai_cli_explanation *self)
{
    const status_message *status = udpai_cli_explanation_status(self);
    return effective_of(self) || (status && status->exists);
}

static bool
is_called(const session_message *session, udpai_str name)
{
    return udpai_str_eq(udpai_str_from(session->peer_node_id), name) ||
           udpai_str_eq(udpai_str_from(session->peer_identity), name) ||
           udpai_str_eq(udpai_str_from(session->peer_address), name);
}

const session_message *
udpai_cli_explanation_session(const udpai_cli_explanation *self)
{
    const status_message *status = udpai_cli_explanation_status(self);
    for (size_t i = 0; status && self->client && i < status->n_sessions; i++)
        if (is_called(status->sessions[i], udpai_str_from(self->client)))
            return status->sessions[i];
    return NULL;
}

bool
udpai_cli_explanation_is_in_group(const udpai_cli_explanation *self)
{
    for (size_t i = 0; i < self->group->n_namespaces; i++)
        if (udpai_prefix_covers(udpai_str_from(self->group->namespaces[i]),
                                udpai_str_from(self->name)))
            return true;
    return false;
}

/* ---- why a contribution is what it is: by the rules of the store ---- */

static const char *
why_effective(const Udpa__Status__V1__OriginsStatus *origins, const contribution_message *it)
{
    for (size_t i = 0; i < origins->n_contributions; i++) {
        const contribution_message *other = origins->contributions[i];
        bool is_rival = other != it && other->eligible && !other->superseded;
        if (is_rival && strcmp(other->authority, it->authority) != 0)
            return "its origin goes before those of other authorities";
        if (is_rival)
            return other->generation < it->generation ? "it has the highest generation"
                                                      : "its origin goes before the others";
    }
    return origins->n_contributions > 1 ? "no other can be used" : "it is the only one";
}

static const char *
why_not(const contribution_message *it, const contribution_message *effective)
{
    if (!it->eligible)
        return "its provider does not use this source now";
    if (it->superseded)
        return "something newer of its authority is known";
    if (!effective)
        return "";
    if (strcmp(it->authority, effective->authority) != 0)
        return "another authority goes before it: the node's own, files, publishers, sources in "
               "order";
    return it->generation < effective->generation ? "its generation is lower"
                                                  : "another origin, or a shorter path, goes "
                                                    "before it";
}

/* The best one of those that have come since. */
static bool
waits(const udpai_cli_explanation *self, const contribution_message *it)
{
    return *self->origins->frozen && it == self->origins->contributions[0] && it->eligible &&
           !it->superseded;
}

static void
put_stop(udpai_strbuf *out, const contribution_message *it)
{
    udpai_strbuf_puts(out, "its provider stops at ");
    udpai_cli_put_text(out, udpai_str_from(it->stopped_at));
    udpai_strbuf_puts(out, ", which goes before it (");
    udpai_cli_put_text(out, udpai_str_from(it->continuation));
    udpai_strbuf_putc(out, ')');
}

void
udpai_cli_put_explanation_why(udpai_strbuf *out,
                              const udpai_cli_explanation *self,
                              const contribution_message *it)
{
    if (!it->effective && waits(self, it))
        udpai_strbuf_puts(out, "it waits: the name is frozen");
    else if (it->effective)
        udpai_strbuf_puts(out, why_effective(self->origins, it));
    else if (!it->eligible && *it->stopped_at)
        put_stop(out, it);
    else
        udpai_strbuf_puts(out, why_not(it, effective_of(self)));
}

/* ---- sentences ---- */

void
udpai_cli_put_explanation_path(udpai_strbuf *out, const contribution_message *it)
{
    for (size_t i = 0; i + 1 < it->n_way; i++)
        udpai_strbuf_printf(out, "%s%s", i ? " > " : "", it->way[i]);
}

/* By what name 'udpactl sources' knows an origin: "source:NAME", "path:DIRECTORY". */
static const char *
name_of(const char *origin)
{
    const char *colon = strchr(origin, ':');
    return colon ? colon + 1 : origin;
}

static void
put_hold(udpai_strbuf *out, const contribution_message *it)
{
    const udpai_str name = udpai_str_from(name_of(it->origin));
    udpai_strbuf_puts(out, "; it is held: ");
    udpai_cli_put_text(out, name);
    udpai_strbuf_puts(out, " does not name it any more, and has not removed it");
    if (*it->held_because) {
        udpai_strbuf_puts(out, ": ");
        udpai_cli_put_text(out, udpai_str_from(it->held_because));
    }
    udpai_strbuf_puts(out, "; if it is meant to be removed: udpactl sources accept ");
    udpai_cli_put_text(out, name);
}

static void
put_held_replica(udpai_strbuf *out, const replica_message *replica)
{
    udpai_strbuf_puts(out, "; this replica is held, and accepts no change: ");
    udpai_cli_put_text(out,
                       udpai_str_from(*replica->reason ? replica->reason : "no reason is known"));
    udpai_strbuf_puts(out, "; see 'udpactl store status'");
}

static void
put_served(udpai_strbuf *out, const udpai_cli_explanation *self)
{
    const status_message *status = udpai_cli_explanation_status(self);
    const contribution_message *effective = effective_of(self);
    udpai_strbuf_puts(out, "is served");
    if (status && *status->version) {
        udpai_strbuf_puts(out, ": version ");
        udpai_cli_put_text(out, udpai_str_from(status->version));
    }
    if (effective) {
        udpai_strbuf_puts(out, ", from ");
        udpai_cli_put_text(out, udpai_str_from(effective->origin));
    }
    if (effective && effective->n_way > 1) {
        udpai_strbuf_puts(out, ", which came by ");
        udpai_cli_put_explanation_path(out, effective);
    }
    if (effective && effective->held)
        put_hold(out, effective);
}

/* Between two texts, if there are any. */
static void
put_names(udpai_strbuf *out, const char *before, const udpai_strbuf *names, const char *behind)
{
    if (!names->len)
        return;
    udpai_strbuf_puts(out, before);
    udpai_strbuf_str(out, udpai_strbuf_view(names));
    udpai_strbuf_puts(out, behind);
}

static void
put_not_served(udpai_strbuf *out, const udpai_cli_explanation *self)
{
    if (!self->origins) {
        udpai_strbuf_puts(out, "is not known yet: the node has not answered");
        return;
    }
    udpai_strbuf_puts(out, "is not served: ");
    udpai_strbuf_puts(out, self->origins->n_contributions ? "none of its contributions can be used"
                                                          : "no origin has it");
    put_names(out, "; the node still waits for ", &self->waits, ", which may have it");
    put_names(out, "; the node has rejected resources of ", &self->rejecting,
              ": its log says which, and why");
}

void
udpai_cli_put_explanation_fact(udpai_strbuf *out, const udpai_cli_explanation *self)
{
    if (udpai_cli_explanation_is_served(self))
        put_served(out, self);
    else
        put_not_served(out, self);
    if (self->origins && *self->origins->frozen) {
        udpai_strbuf_puts(out, "; a change waits: ");
        udpai_cli_put_text(out, udpai_str_from(self->origins->frozen));
    }
    if (self->replica)
        put_held_replica(out, self->replica);
}

/* A node without audiences has one group, without a name: it is of interest where it decides. */
static void
put_group(udpai_strbuf *out, const udpai_cli_explanation *self)
{
    const stream_message *group = self->group;
    bool is_in = group && udpai_cli_explanation_is_in_group(self);
    if (!group || (is_in && !*group->audience))
        return;
    udpai_strbuf_puts(out, *group->audience ? "; its client group '" : "; it");
    udpai_cli_put_text(out, udpai_str_from(group->audience));
    udpai_strbuf_puts(out, *group->audience ? "'" : "");
    udpai_strbuf_puts(out, is_in ? " sees it" : " does not see this namespace, but ");
    for (size_t i = 0; !is_in && i < group->n_namespaces; i++) {
        udpai_strbuf_puts(out, i ? ", " : "");
        udpai_cli_put_text(out, udpai_str_from(group->namespaces[i]));
    }
}

static void
put_access(udpai_strbuf *out, const udpai_cli_explanation *self)
{
    const Udpa__Status__V1__AccessStatus *access = self->access;
    if (!access)
        return;
    if (!access->has_rules)
        udpai_strbuf_puts(out, "; the node has no rules, so every peer may see it");
    else if (access->allowed)
        udpai_strbuf_printf(out, "; rule '%s' lets it see it", access->rule);
    else
        udpai_strbuf_printf(out, "; it may not see it: %s%s", access->reason,
                            access->dry_run ? " (a dry run: it sees it all the same)" : "");
}

void
udpai_cli_put_explanation_client(udpai_strbuf *out, const udpai_cli_explanation *self)
{
    const session_message *session = udpai_cli_explanation_session(self);
    const status_message *status = udpai_cli_explanation_status(self);
    if (!session && status && status->n_subscribed > status->n_sessions)
        udpai_strbuf_puts(out, "is not among the clients that the node has named");
    else if (!session)
        udpai_strbuf_puts(out, "does not subscribe to it");
    else
        udpai_strbuf_puts(out, udpai_cli_session_state(session));
    if (session && *session->message) {
        udpai_strbuf_puts(out, ": ");
        udpai_cli_put_text(out, udpai_str_from(session->message));
    }
    put_group(out, self);
    put_access(out, self);
}
