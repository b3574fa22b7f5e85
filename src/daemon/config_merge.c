/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config_merge.h"

#include "daemon/bootstrap_fields.h"
#include "daemon/reflect.h"
#include "daemon/sections.h"
#include "daemon/source_changes.h"

typedef Udpa__Config__V1__Bootstrap bootstrap_message;

/* ---- which ---- */

/* Without rules, or without a look at signatures, a node is open: nobody should come to that by a
 * slip in a file. */
static bool
would_open(const bootstrap_message *in_effect, const bootstrap_message *read, const char *section)
{
    return (strcmp(section, "acl") == 0 && in_effect->acl && !read->acl) ||
           (strcmp(section, "signatures") == 0 && in_effect->signatures && !read->signatures);
}

/* Replicas agree on what each has read of its directories and sources, which begins with the start.
 */
static bool
are_sources_taken(const bootstrap_message *in_effect, const bootstrap_message *read)
{
    return !udpai_store_is_replicated(in_effect->store) &&
           udpai_sources_may_change(in_effect, read);
}

static bool
has_more_than_grpc(const bootstrap_message *message)
{
    bool has = message->http && message->http->n_sockets;
    for (size_t i = 0; i < message->n_sockets; i++)
        has |= message->sockets[i]->n_also_serves > 0;
    return has;
}

/* Workers have theirs from their start, and so has what serves REST and pages beside gRPC. */
static bool
are_sockets_taken(const bootstrap_message *in_effect, const bootstrap_message *read)
{
    return in_effect->workers == 0 && (has_more_than_grpc(in_effect) || !has_more_than_grpc(read));
}

static bool
is_section_taken(const bootstrap_message *in_effect,
                 const bootstrap_message *read,
                 const char *section)
{
    if (strcmp(section, "providers") == 0)
        return are_sources_taken(in_effect, read);
    if (strcmp(section, "sockets") == 0)
        return are_sockets_taken(in_effect, read);
    return udpai_bootstrap_is_taken_over(section) && !would_open(in_effect, read, section);
}

static bool
is_part_taken(const bootstrap_message *in_effect,
              const bootstrap_message *read,
              const char *section,
              const char *field)
{
    if (strcmp(section, "audit") == 0 && in_effect->store && in_effect->store->in_memory)
        return false; /* a file takes the place of the store */
    if (strcmp(section, "static_resources") != 0)
        return udpai_bootstrap_part_is_taken_over(section, field);
    return strcmp(field, "config_sources") == 0 ? are_sources_taken(in_effect, read)
                                                : !udpai_store_is_replicated(in_effect->store);
}

/* ---- copying ---- */

/* The field of a message of the same type; what it points to is shared. None of those that are
 * taken over is of a oneof. */
static void
take_field(const ProtobufCFieldDescriptor *field,
           const ProtobufCMessage *from,
           ProtobufCMessage *to)
{
    bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
    memcpy((uint8_t *)to + field->offset, udpai_reflect_place(from, field->offset),
           is_list ? sizeof(void *) : udpai_reflect_width(field));
    if (is_list)
        memcpy((uint8_t *)to + field->quantifier_offset,
               udpai_reflect_place(from, field->quantifier_offset), sizeof(size_t));
}

static bool
is_empty(const ProtobufCMessage *message)
{
    for (unsigned i = 0; i < message->descriptor->n_fields; i++)
        if (udpai_reflect_count(message, &message->descriptor->fields[i]))
            return false;
    return true;
}

static ProtobufCMessage *
section_at(const bootstrap_message *message, const ProtobufCFieldDescriptor *field)
{
    ProtobufCMessage *section;
    memcpy(&section, udpai_reflect_place(&message->base, field->offset), sizeof(section));
    return section;
}

static udpa_err
merge_section(const bootstrap_message *in_effect,
              const bootstrap_message *read,
              const ProtobufCFieldDescriptor *field,
              udpai_arena *arena,
              bootstrap_message *merged)
{
    const ProtobufCMessageDescriptor *type = field->descriptor;
    const ProtobufCMessage *before = section_at(in_effect, field), *now = section_at(read, field);
    ProtobufCMessage *made = udpai_arena_alloc(arena, type->sizeof_message);
    ProtobufCMessage *none = udpai_arena_alloc(arena, type->sizeof_message);
    if (!made || !none)
        return UDPA_ERR_NOMEM;
    protobuf_c_message_init(type, none);
    memcpy(made, before ? before : none, type->sizeof_message);
    for (unsigned i = 0; i < type->n_fields; i++)
        if (is_part_taken(in_effect, read, field->name, type->fields[i].name))
            take_field(&type->fields[i], now ? now : none, made);
    if (is_empty(made) && !now)
        made = NULL;
    memcpy((uint8_t *)merged + field->offset, &made, sizeof(made));
    return UDPA_OK;
}

static bool
has_parts(const bootstrap_message *in_effect,
          const bootstrap_message *read,
          const ProtobufCFieldDescriptor *field)
{
    const ProtobufCMessageDescriptor *type = field->descriptor;
    if (field->type != PROTOBUF_C_TYPE_MESSAGE || field->label == PROTOBUF_C_LABEL_REPEATED)
        return false;
    for (unsigned i = 0; i < type->n_fields; i++)
        if (is_part_taken(in_effect, read, field->name, type->fields[i].name))
            return true;
    return false;
}

udpa_err
udpai_config_merge(const bootstrap_message *in_effect,
                   const bootstrap_message *read,
                   udpai_arena *arena,
                   bootstrap_message **ret_merged)
{
    const ProtobufCMessageDescriptor *type = in_effect->base.descriptor;
    bootstrap_message *merged = udpai_arena_alloc(arena, sizeof(*merged));
    udpa_err err = merged ? UDPA_OK : UDPA_ERR_NOMEM;
    if (merged)
        *merged = *in_effect;
    for (unsigned i = 0; i < type->n_fields && err == UDPA_OK; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        if (is_section_taken(in_effect, read, field->name))
            take_field(field, &read->base, &merged->base);
        else if (has_parts(in_effect, read, field))
            err = merge_section(in_effect, read, field, arena, merged);
    }
    if (err == UDPA_OK)
        *ret_merged = merged;
    return err;
}
