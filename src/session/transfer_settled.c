/* SPDX-License-Identifier: Apache-2.0 */
/* What is settled, as bytes: the facts, what was answered for groups of clients, and names that
 * have sources of their own. */
#include "session/transfer_internal.h"

/* The least that one takes, of what is counted. */
#define MISSING_LEAST ((size_t)16)
#define WAITING_LEAST ((size_t)2)
#define GROUP_LEAST ((size_t)2)
#define PART_LEAST ((size_t)4)
#define NAME_LEAST ((size_t)8)

/* ---- sources that are missing ---- */

static void
put_missing(udpai_proto_writer *writer, const udpai_unsettled *missing)
{
    udpai_proto_put_bare_bytes(writer, missing->type_url);
    udpai_proto_put_bare_bytes(writer, missing->prefix);
    udpai_proto_put_bare_bytes(writer, missing->source);
    udpai_proto_put_bare_bytes(writer, missing->peer_node);
    udpai_proto_put_bare_number(writer, missing->may_wait_for_us);
    udpai_proto_put_bare_number(writer, missing->since_ms);
    udpai_proto_put_bare_number(writer, missing->missing_ms);
    udpai_proto_put_bare_bytes(writer, missing->why);
    udpai_transfer_put_texts(writer, missing->answered, missing->n_answered);
    udpai_proto_put_bare_number(writer, missing->of_groups);
    udpai_proto_put_bare_number(writer, missing->on_demand);
    udpai_proto_put_bare_number(writer, missing->by_name);
    udpai_proto_put_bare_number(writer, missing->only_absence);
    udpai_transfer_put_texts(writer, missing->asked, missing->n_asked);
    udpai_proto_put_bare_bytes(writer, missing->waits);
    udpai_proto_put_bare_number(writer, missing->n_waiting);
    for (size_t i = 0; i < missing->n_waiting; i++) {
        udpai_proto_put_bare_bytes(writer, missing->waiting[i].waits);
        udpai_transfer_put_texts(writer, missing->waiting[i].asked, missing->waiting[i].n_asked);
    }
}

static const udpai_waiting_question *
take_waiting(udpai_transfer_reader *reader, size_t *ret_n)
{
    *ret_n = udpai_transfer_take_count(reader, WAITING_LEAST);
    udpai_waiting_question *waiting = udpai_transfer_room(reader, *ret_n, sizeof(*waiting));
    for (size_t i = 0; waiting && i < *ret_n; i++) {
        waiting[i].waits = udpai_transfer_take_bytes(reader);
        waiting[i].asked = udpai_transfer_take_texts(reader, &waiting[i].n_asked);
    }
    return waiting;
}

static udpai_unsettled
take_missing(udpai_transfer_reader *reader)
{
    udpai_unsettled missing = {.type_url = udpai_transfer_take_text(reader)};
    missing.prefix = udpai_transfer_take_text(reader);
    missing.source = udpai_transfer_take_text(reader);
    missing.peer_node = udpai_transfer_take_text(reader);
    missing.may_wait_for_us = udpai_transfer_take_flag(reader);
    missing.since_ms = udpai_transfer_take_number(reader, UINT64_MAX);
    missing.missing_ms = udpai_transfer_take_number(reader, UINT64_MAX);
    missing.why = udpai_transfer_take_text(reader);
    missing.answered = udpai_transfer_take_texts(reader, &missing.n_answered);
    missing.of_groups = (unsigned)udpai_transfer_take_number(reader, UINT32_MAX);
    missing.on_demand = udpai_transfer_take_flag(reader);
    missing.by_name = udpai_transfer_take_flag(reader);
    missing.only_absence = udpai_transfer_take_flag(reader);
    missing.asked = udpai_transfer_take_texts(reader, &missing.n_asked);
    missing.waits = udpai_transfer_take_bytes(reader);
    missing.waiting = take_waiting(reader, &missing.n_waiting);
    return missing;
}

/* ---- groups of clients ---- */

static bool
count_group(void *userdata, const udpai_settled_group *group)
{
    (void)group;
    ++*(size_t *)userdata;
    return true;
}

static bool
put_group(void *userdata, const udpai_settled_group *group)
{
    udpai_proto_writer *writer = userdata;
    size_t n;
    const udpai_settled_part *parts = udpai_settled_group_parts(group, &n);
    udpai_proto_put_bare_bytes(writer, udpai_settled_group_key(group));
    udpai_proto_put_bare_number(writer, n);
    for (size_t i = 0; i < n; i++) {
        udpai_proto_put_bare_number(writer, parts[i].number);
        udpai_proto_put_bare_number(writer, parts[i].is_whole);
        udpai_transfer_put_texts(writer, parts[i].answered, parts[i].n_answered);
        udpai_transfer_put_texts(writer, parts[i].asked, parts[i].n_asked);
    }
    return true;
}

static void
put_groups(udpai_proto_writer *writer, const udpai_settled_groups *groups)
{
    size_t n = 0;
    udpai_settled_groups_visit(groups, (udpai_str){"", 0}, count_group, &n);
    udpai_proto_put_bare_number(writer, n);
    udpai_settled_groups_visit(groups, (udpai_str){"", 0}, put_group, writer);
}

static udpai_settled_group *
take_group(udpai_transfer_reader *reader)
{
    udpai_str name_space = udpai_transfer_take_text(reader);
    size_t n = udpai_transfer_take_count(reader, PART_LEAST);
    udpai_settled_part *parts = udpai_transfer_room(reader, n, sizeof(*parts));
    for (size_t i = 0; parts && i < n; i++) {
        parts[i].number = (unsigned)udpai_transfer_take_number(reader, UINT32_MAX);
        parts[i].is_whole = udpai_transfer_take_flag(reader);
        parts[i].answered = udpai_transfer_take_texts(reader, &parts[i].n_answered);
        parts[i].asked = udpai_transfer_take_texts(reader, &parts[i].n_asked);
    }
    if (reader->err != UDPA_OK)
        return NULL;
    udpai_settled_group *group = udpai_settled_group_new(name_space, parts, n);
    if (!group)
        udpai_transfer_out_of_memory(reader);
    return group;
}

/* NULL is the empty table. */
static udpai_settled_groups *
take_groups(udpai_transfer_reader *reader)
{
    size_t n = udpai_transfer_take_count(reader, GROUP_LEAST), n_made = 0;
    udpai_settled_groups *table = NULL;
    udpai_settled_group **groups = udpai_transfer_room(reader, n, sizeof(groups[0]));
    while (reader->err == UDPA_OK && n_made < n && (groups[n_made] = take_group(reader)))
        n_made++;
    if (reader->err == UDPA_OK && n) {
        udpa_err err = udpai_settled_groups_of(&table, groups, n);
        if (err == UDPA_ERR_NOMEM)
            udpai_transfer_out_of_memory(reader);
        else if (err != UDPA_OK)
            udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "groups stand in the wrong order");
    }
    while (n_made)
        udpai_settled_group_unref(groups[--n_made]);
    return table;
}

/* ---- names ---- */

static void
put_names(udpai_proto_writer *writer, const udpai_settled_names *names)
{
    const udpai_settled_name *all;
    size_t n = udpai_settled_names_all(names, &all);
    udpai_proto_put_bare_number(writer, names != NULL);
    if (!names)
        return;
    udpai_proto_put_bare_number(writer, n);
    for (size_t i = 0; i < n; i++) {
        udpai_proto_put_bare_bytes(writer, all[i].type_url);
        udpai_proto_put_bare_bytes(writer, all[i].name);
        udpai_proto_put_bare_number(writer, all[i].is_missing);
        udpai_proto_put_bare_bytes(writer, all[i].source);
        udpai_proto_put_bare_bytes(writer, all[i].peer_node);
        udpai_proto_put_bare_number(writer, all[i].may_wait_for_us);
        udpai_proto_put_bare_number(writer, all[i].since_ms);
        udpai_proto_put_bare_bytes(writer, all[i].waits);
    }
}

static udpai_settled_name
take_name(udpai_transfer_reader *reader)
{
    udpai_settled_name name = {.type_url = udpai_transfer_take_text(reader)};
    name.name = udpai_transfer_take_text(reader);
    name.is_missing = udpai_transfer_take_flag(reader);
    name.source = udpai_transfer_take_text(reader);
    name.peer_node = udpai_transfer_take_text(reader);
    name.may_wait_for_us = udpai_transfer_take_flag(reader);
    name.since_ms = udpai_transfer_take_number(reader, UINT64_MAX);
    name.waits = udpai_transfer_take_bytes(reader);
    return name;
}

static udpai_settled_names *
take_names(udpai_transfer_reader *reader)
{
    if (!udpai_transfer_take_flag(reader))
        return NULL;
    size_t n = udpai_transfer_take_count(reader, NAME_LEAST);
    udpai_settled_name *items = udpai_transfer_room(reader, n, sizeof(*items));
    for (size_t i = 0; items && i < n; i++)
        items[i] = take_name(reader);
    if (reader->err != UDPA_OK)
        return NULL;
    udpai_settled_names *names = udpai_settled_names_new(items, n);
    if (!names)
        udpai_transfer_out_of_memory(reader);
    return names;
}

/* ---- the whole ---- */

void
udpai_transfer_put_settled(udpai_proto_writer *writer, const udpai_settled *settled)
{
    const udpai_settled_facts *facts = udpai_settled_facts_of(settled);
    udpai_proto_put_bare_number(writer, facts->n_missing);
    for (size_t i = 0; i < facts->n_missing; i++)
        put_missing(writer, &facts->missing[i]);
    put_groups(writer, facts->groups);
    put_names(writer, facts->names);
    udpai_proto_put_bare_number(writer, facts->asks_for_status);
    udpai_proto_put_bare_number(writer, facts->only_known_types);
    udpai_transfer_put_texts(writer, facts->known_types, facts->n_known_types);
    udpai_proto_put_bare_bytes(writer, facts->self);
}

udpai_settled *
udpai_transfer_take_settled(udpai_transfer_reader *reader)
{
    size_t n = udpai_transfer_take_count(reader, MISSING_LEAST);
    udpai_unsettled *missing = udpai_transfer_room(reader, n, sizeof(*missing));
    for (size_t i = 0; missing && i < n; i++)
        missing[i] = take_missing(reader);
    UDPA_AUTO(udpai_settled_groups_unref) udpai_settled_groups *groups = take_groups(reader);
    UDPA_AUTO(udpai_settled_names_unref) udpai_settled_names *names = take_names(reader);
    udpai_settled_facts facts = {missing, n, groups, names, false, false, NULL, 0, {0}};
    facts.asks_for_status = udpai_transfer_take_flag(reader);
    facts.only_known_types = udpai_transfer_take_flag(reader);
    facts.known_types = udpai_transfer_take_texts(reader, &facts.n_known_types);
    facts.self = udpai_transfer_take_text(reader);
    if (reader->err != UDPA_OK)
        return NULL;
    udpai_settled *settled = udpai_settled_new(&facts);
    if (!settled)
        udpai_transfer_out_of_memory(reader);
    return settled;
}
