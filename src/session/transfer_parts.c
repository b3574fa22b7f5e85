/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, identities, subscriptions and lists of rules as bytes. */
#include "session/transfer_internal.h"

/* The least that one takes, of what is counted. */
#define PAIR_LEAST ((size_t)2)
#define RULE_LEAST ((size_t)6)

void
udpai_transfer_put_texts(udpai_proto_writer *writer, const udpai_str *texts, size_t n)
{
    udpai_proto_put_bare_number(writer, n);
    for (size_t i = 0; i < n; i++)
        udpai_proto_put_bare_bytes(writer, texts[i]);
}

/* ---- errors ---- */

enum {
#define COUNT(name, value, grpc, text) INDEX_OF_##name,
    UDPA_ERR_MAP(COUNT)
#undef COUNT
    N_CODES
};

void
udpai_transfer_put_trace(udpai_proto_writer *writer, const udpai_trace *trace)
{
    char room[UDPAI_TRACEPARENT_LEN];
    udpai_str text = {room, udpai_trace_is_set(trace) ? sizeof(room) : 0};
    if (text.len)
        udpai_trace_write(trace, room);
    udpai_proto_put_bare_bytes(writer, text);
}

udpai_trace
udpai_transfer_take_trace(udpai_transfer_reader *reader)
{
    udpai_trace trace = {0};
    udpai_str text = udpai_transfer_take_bytes(reader);
    if (text.len && !udpai_trace_read(text, &trace))
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "a trace is none");
    return trace;
}

void
udpai_transfer_put_error(udpai_proto_writer *writer, const udpa_error *error)
{
    udpai_proto_put_bare_number(writer, (uint64_t)(0 - (int64_t)udpa_error_code(error)));
    udpai_proto_put_bare_bytes(writer, udpai_str_from(udpa_error_message(error)));
}

/* An error is made even without memory, but with other words. */
udpa_error *
udpai_transfer_take_error(udpai_transfer_reader *reader)
{
    udpa_err code = (udpa_err)(0 - (int64_t)udpai_transfer_take_number(reader, N_CODES - 1));
    udpai_str text = udpai_transfer_take_text(reader);
    if (code == UDPA_OK)
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "success is given as an error");
    if (reader->err != UDPA_OK)
        return NULL;
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error = udpa_error_new(code, NULL, "%.*s", (int)text.len, text.data);
    if (!udpai_str_eq(udpai_str_from(udpa_error_message(error)), text)) {
        udpai_transfer_out_of_memory(reader);
        return NULL;
    }
    return UDPAI_TAKE(error);
}

/* ---- identities ---- */

void
udpai_transfer_put_identity(udpai_proto_writer *writer, const udpai_identity *identity)
{
    const udpai_identity_parts *parts = udpai_identity_parts_of(identity);
    udpai_proto_put_bare_bytes(writer, parts->common_name);
    udpai_transfer_put_texts(writer, parts->uris, parts->n_uris);
    udpai_transfer_put_texts(writer, parts->dns_names, parts->n_dns_names);
    udpai_proto_put_bare_number(writer, parts->authenticated);
}

udpai_identity *
udpai_transfer_take_identity(udpai_transfer_reader *reader)
{
    udpai_identity_parts parts = {.common_name = udpai_transfer_take_text(reader)};
    parts.uris = udpai_transfer_take_texts(reader, &parts.n_uris);
    parts.dns_names = udpai_transfer_take_texts(reader, &parts.n_dns_names);
    parts.authenticated = udpai_transfer_take_flag(reader);
    udpai_identity *identity = NULL;
    if (reader->err == UDPA_OK && udpai_identity_new(&identity, &parts) != UDPA_OK)
        udpai_transfer_out_of_memory(reader);
    return identity;
}

/* ---- subscriptions ---- */

static void
put_digests(udpai_proto_writer *writer, const udpai_held_digest *digests, size_t n)
{
    udpai_proto_put_bare_number(writer, n);
    for (size_t i = 0; i < n; i++) {
        udpai_proto_put_bare_bytes(writer, digests[i].name);
        udpai_proto_put_bare_number(writer, digests[i].digest);
    }
}

static const udpai_held_digest *
take_digests(udpai_transfer_reader *reader, size_t *ret_n)
{
    size_t n = udpai_transfer_take_count(reader, PAIR_LEAST);
    udpai_held_digest *digests = udpai_transfer_room(reader, n, sizeof(*digests));
    *ret_n = digests ? n : 0;
    for (size_t i = 0; i < *ret_n; i++) {
        digests[i].name = udpai_transfer_take_text(reader);
        digests[i].digest = udpai_transfer_take_number(reader, UINT64_MAX);
    }
    return digests;
}

static const udpai_held_version *
take_versions(udpai_transfer_reader *reader, size_t *ret_n)
{
    size_t n = udpai_transfer_take_count(reader, PAIR_LEAST);
    udpai_held_version *versions = udpai_transfer_room(reader, n, sizeof(*versions));
    *ret_n = versions ? n : 0;
    for (size_t i = 0; i < *ret_n; i++) {
        versions[i].name = udpai_transfer_take_text(reader);
        versions[i].version = udpai_transfer_take_text(reader);
    }
    return versions;
}

void
udpai_transfer_put_subscription(udpai_proto_writer *writer,
                                const udpai_subscription_message *message)
{
    udpai_proto_put_bare_bytes(writer, message->type_url);
    udpai_proto_put_bare_bytes(writer, message->name_space);
    udpai_transfer_put_texts(writer, message->names, message->n_names);
    udpai_proto_put_bare_number(writer, message->n_versions);
    for (size_t i = 0; i < message->n_versions; i++) {
        udpai_proto_put_bare_bytes(writer, message->versions[i].name);
        udpai_proto_put_bare_bytes(writer, message->versions[i].version);
    }
    put_digests(writer, message->digests, message->n_digests);
    put_digests(writer, message->paths, message->n_paths);
    udpai_proto_put_bare_number(writer, message->distance);
    udpai_proto_put_bare_number(writer, message->recovers);
    udpai_proto_put_bare_number(writer, (uint32_t)message->status_code);
    udpai_proto_put_bare_bytes(writer, message->status_text);
}

udpai_subscription_message
udpai_transfer_take_subscription(udpai_transfer_reader *reader)
{
    udpai_subscription_message message = {.type_url = udpai_transfer_take_text(reader)};
    message.name_space = udpai_transfer_take_text(reader);
    message.names = udpai_transfer_take_texts(reader, &message.n_names);
    message.versions = take_versions(reader, &message.n_versions);
    message.digests = take_digests(reader, &message.n_digests);
    message.paths = take_digests(reader, &message.n_paths);
    message.distance = (uint32_t)udpai_transfer_take_number(reader, UINT32_MAX);
    message.recovers = udpai_transfer_take_number(reader, 1);
    message.status_code = (int32_t)(uint32_t)udpai_transfer_take_number(reader, UINT32_MAX);
    message.status_text = udpai_transfer_take_text(reader);
    return message;
}

/* ---- rules ---- */

static void
put_rule(udpai_proto_writer *writer, const udpai_acl_rule *rule)
{
    udpai_proto_put_bare_bytes(writer, rule->name);
    udpai_transfer_put_texts(writer, rule->identities, rule->n_identities);
    udpai_proto_put_bare_number(writer, rule->actions);
    udpai_transfer_put_texts(writer, rule->types, rule->n_types);
    udpai_transfer_put_texts(writer, rule->prefixes, rule->n_prefixes);
    udpai_transfer_put_texts(writer, rule->on_behalf_of, rule->n_on_behalf_of);
}

static udpai_acl_rule
take_rule(udpai_transfer_reader *reader)
{
    const unsigned all_actions = UDPAI_ACL_PUBLISH | UDPAI_ACL_SUBSCRIBE | UDPAI_ACL_ADMIN;
    udpai_acl_rule rule = {.name = udpai_transfer_take_text(reader)};
    rule.identities = udpai_transfer_take_texts(reader, &rule.n_identities);
    rule.actions = (unsigned)udpai_transfer_take_number(reader, all_actions);
    rule.types = udpai_transfer_take_texts(reader, &rule.n_types);
    rule.prefixes = udpai_transfer_take_texts(reader, &rule.n_prefixes);
    rule.on_behalf_of = udpai_transfer_take_texts(reader, &rule.n_on_behalf_of);
    return rule;
}

void
udpai_transfer_put_acl(udpai_proto_writer *writer, const udpai_acl *acl)
{
    const udpai_acl_options *options = udpai_acl_settings(acl);
    udpai_proto_put_bare_number(writer, options->is_dry_run);
    udpai_proto_put_bare_number(writer, options->binds_node_id);
    udpai_proto_put_bare_number(writer, options->trusts_node_ids);
    udpai_proto_put_bare_number(writer, options->n_rules);
    for (size_t i = 0; i < options->n_rules; i++)
        put_rule(writer, &options->rules[i]);
}

udpai_acl *
udpai_transfer_take_acl(udpai_transfer_reader *reader)
{
    udpai_acl_options options = {.is_dry_run = udpai_transfer_take_flag(reader)};
    options.binds_node_id = udpai_transfer_take_flag(reader);
    options.trusts_node_ids = udpai_transfer_take_flag(reader);
    size_t n = udpai_transfer_take_count(reader, RULE_LEAST);
    udpai_acl_rule *rules = udpai_transfer_room(reader, n, sizeof(*rules));
    options.rules = rules;
    options.n_rules = rules ? n : 0;
    for (size_t i = 0; i < options.n_rules; i++)
        rules[i] = take_rule(reader);
    udpai_acl *acl = NULL;
    udpa_err err = reader->err == UDPA_OK ? udpai_acl_new(&acl, &options) : UDPA_OK;
    if (err == UDPA_ERR_LIMIT)
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "there are too many rules in it");
    else if (err != UDPA_OK)
        udpai_transfer_out_of_memory(reader);
    return acl;
}
