/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/file/topic.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "model/resource.h"
#include "model/types.h"
#include "xds/names.h"
#include "xds/peek.h"

/* ---- names of files ---- */

static const struct known_stem {
    const char *type, *stem;
} known_stems[] = {
    {UDPAI_TYPE_CLUSTER, "clusters"},
    {UDPAI_TYPE_ENDPOINTS, "endpoints"},
    {UDPAI_TYPE_LISTENER, "listeners"},
    {UDPAI_TYPE_ROUTES, "routes"},
};

/* Other types go by their full names. */
static char *
stem_of(udpai_str type_url)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(known_stems); i++)
        if (udpai_str_eq(type_url, udpai_str_from(known_stems[i].type)))
            return udpai_strdup(known_stems[i].stem);
    char written[UDPAI_WRITTEN_NAME_MAX + 1];
    udpai_written_name(udpai_type_url_name(type_url), written);
    return udpai_strdup(written);
}

/* ---- making ---- */

static udpai_str
resource_key(const void *item)
{
    return udpai_resource_name(item);
}

udpa_err
udpai_file_topic_init(udpai_file_topic *topic, udpai_str type_url)
{
    udpai_map_init(&topic->resources, resource_key);
    topic->type_url = udpai_strndup(type_url.data, type_url.len);
    topic->stem = stem_of(type_url);
    topic->is_whole = udpai_type_is_whole(type_url);
    return topic->type_url && topic->stem ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
free_part(udpai_topic_part *part)
{
    if (part->local)
        udpai_node_unsubscribe(part->topic->node, part->local);
    udpai_free(part);
}

static void
free_names(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        udpai_free(names[i]);
}

void
udpai_file_topic_unsubscribe(udpai_file_topic *topic)
{
    for (size_t i = 0; i < topic->parts.n; i++)
        free_part(topic->parts.items[i]);
    udpai_vector_done(&topic->parts);
}

static void
forget_all(udpai_file_topic *topic)
{
    size_t at = 0;
    udpa_resource *resource;
    while ((resource = udpai_map_next(&topic->resources, &at)))
        udpa_resource_unref(resource);
    udpai_map_done(&topic->resources);
}

void
udpai_file_topic_done(udpai_file_topic *topic)
{
    udpai_file_topic_unsubscribe(topic);
    forget_all(topic);
    free_names(topic->names.items, topic->names.n);
    udpai_vector_done(&topic->names);
    udpai_free(topic->type_url);
    udpai_free(topic->stem);
}

/* ---- what the node sends ---- */

static void
forget(udpai_file_topic *topic, udpai_str name)
{
    udpa_resource_unref(udpai_map_remove(&topic->resources, name));
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    udpai_file_topic *topic = ((udpai_topic_part *)userdata)->topic;
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        forget(topic, udpai_resource_name(change->resource));
        if (change->is_removed)
            continue;
        if (udpai_map_add(&topic->resources, change->resource))
            udpa_resource_ref(change->resource);
        else
            topic->has_failed = true;
    }
    topic->changed(topic->userdata);
}

static void
on_complete(void *userdata)
{
    udpai_topic_part *part = userdata;
    part->is_complete = true;
    part->topic->changed(part->topic->userdata);
}

/* ---- subscribing ---- */

static udpa_err
add_part(udpai_file_topic *topic, const udpai_selection *selection)
{
    udpai_topic_part *part = udpai_alloc(sizeof(*part));
    if (!part || !udpai_vector_push(&topic->parts, part)) {
        udpai_free(part);
        return UDPA_ERR_NOMEM;
    }
    part->topic = topic;
    const udpai_local_ops ops = {on_update, on_complete, part};
    return udpai_node_subscribe(topic->node, selection, &ops, &part->local);
}

udpa_err
udpai_file_topic_subscribe(udpai_file_topic *topic, bool *ret_changed)
{
    udpa_err err = UDPA_OK;
    if (topic->parts.n && !topic->has_failed)
        return UDPA_OK;
    udpai_file_topic_unsubscribe(topic);
    forget_all(topic);
    *ret_changed = true;
    for (size_t i = 0; i <= topic->audience->n_namespaces && err == UDPA_OK; i++) {
        char room[UDPAI_NAME_MAX];
        const udpai_selection selection = {
            .type_url = udpai_str_from(topic->type_url),
            .prefix = udpai_xds_wildcard_prefix(topic->audience, i, room),
        };
        err = add_part(topic, &selection);
    }
    topic->has_failed = err != UDPA_OK;
    return err;
}

/* ---- following ---- */

typedef UDPAI_VECTOR(char *) name_list;

struct collection {
    name_list names;
    bool has_failed;
};

static void
collect(void *userdata, udpai_str name)
{
    struct collection *collection = userdata;
    char *copy = udpai_strndup(name.data, name.len);
    if (copy && udpai_vector_push(&collection->names, copy))
        return;
    udpai_free(copy);
    collection->has_failed = true;
}

static int
compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
sort_and_unite(name_list *names)
{
    size_t n = 0;
    if (names->n > 1)
        qsort(names->items, names->n, sizeof(names->items[0]), compare_texts);
    for (size_t i = 0; i < names->n; i++) {
        if (n && strcmp(names->items[n - 1], names->items[i]) == 0)
            udpai_free(names->items[i]);
        else
            names->items[n++] = names->items[i];
    }
    names->n = n;
}

/* A reader of files has no dynamic parameters, and follows no redirects. */
static bool
is_not_for_files(const udpa_resource *resource)
{
    return udpai_resource_is_redirect(resource) || udpai_resource_constraints(resource).len;
}

/* What the parent's resources refer to. */
static bool
collect_names(const udpai_file_topic *parent, struct collection *collection)
{
    bool is_cluster = udpai_str_eq(udpai_str_from(parent->type_url), UDPAI_STR(UDPAI_TYPE_CLUSTER));
    size_t at = 0;
    const udpa_resource *resource;
    while ((resource = udpai_map_next(&parent->resources, &at))) {
        udpai_str payload = udpai_resource_value(resource), name;
        if (is_not_for_files(resource))
            continue;
        if (!is_cluster)
            udpai_xds_peek_routes(payload, collect, collection);
        else if (udpai_xds_peek_endpoints_name(payload, &name))
            collect(collection, name);
    }
    sort_and_unite(&collection->names);
    return !collection->has_failed;
}

static bool
same_names(const udpai_file_topic *topic, const name_list *names)
{
    if (topic->names.n != names->n || topic->has_failed)
        return false;
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(topic->names.items[i], names->items[i]) != 0)
            return false;
    return true;
}

/* One subscription for all names. */
static udpa_err
subscribe_names(udpai_file_topic *topic)
{
    size_t n = topic->names.n, n_full = 0;
    if (n == 0)
        return UDPA_OK;
    UDPAI_AUTO_FREE udpai_str *full = udpai_alloc_array(n, sizeof(*full));
    UDPAI_AUTO_FREE char *rooms = udpai_alloc_array(n, UDPAI_NAME_MAX);
    if (!full || !rooms)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        n_full += udpai_xds_name_from_client(topic->audience, udpai_str_from(topic->names.items[i]),
                                             rooms + i * UDPAI_NAME_MAX, &full[n_full]);
    const udpai_selection selection = {
        .type_url = udpai_str_from(topic->type_url), .names = full, .n_names = n_full};
    return n_full ? add_part(topic, &selection) : UDPA_OK;
}

/* The resource that a client means by this name; NULL: it is not there, or the client would not
 * take it for that. */
static udpa_resource *
find(const udpai_file_topic *topic, udpai_str name)
{
    char room[UDPAI_NAME_MAX];
    udpai_str full, own;
    if (!udpai_xds_name_from_client(topic->audience, name, room, &full))
        return NULL;
    udpa_resource *resource = udpai_map_get(&topic->resources, full);
    bool is_called_so = resource && !is_not_for_files(resource) &&
                        udpai_xds_peek_name(udpai_str_from(topic->type_url),
                                            udpai_resource_value(resource), &own) &&
                        udpai_str_eq(own, name);
    return is_called_so ? resource : NULL;
}

/* What has no reference any more is not reported any more. */
static void
forget_others(udpai_file_topic *topic)
{
    udpai_map before = topic->resources;
    udpai_map_init(&topic->resources, resource_key);
    for (size_t i = 0; i < topic->names.n; i++) {
        char room[UDPAI_NAME_MAX];
        udpai_str full;
        if (!udpai_xds_name_from_client(topic->audience, udpai_str_from(topic->names.items[i]),
                                        room, &full))
            continue;
        udpa_resource *resource = udpai_map_get(&before, full);
        if (!resource || udpai_map_get(&topic->resources, full))
            continue;
        if (udpai_map_add(&topic->resources, resource))
            udpa_resource_ref(resource);
    }
    size_t at = 0;
    udpa_resource *resource;
    while ((resource = udpai_map_next(&before, &at)))
        udpa_resource_unref(resource);
    udpai_map_done(&before);
}

udpa_err
udpai_file_topic_follow(udpai_file_topic *topic, bool *ret_changed)
{
    struct collection found = {0};
    if (!collect_names(topic->parent, &found) || same_names(topic, &found.names)) {
        free_names(found.names.items, found.names.n);
        udpai_vector_done(&found.names);
        return found.has_failed ? UDPA_ERR_NOMEM : UDPA_OK;
    }
    free_names(topic->names.items, topic->names.n);
    udpai_vector_done(&topic->names);
    topic->names.items = found.names.items;
    topic->names.n = found.names.n;
    topic->names.capacity = found.names.capacity;
    topic->has_failed = false;
    *ret_changed = true;
    size_t n_before = topic->parts.n;
    udpa_err err = subscribe_names(topic); /* first: what stays must not be unsubscribed */
    for (size_t i = 0; i < n_before; i++)
        free_part(topic->parts.items[i]);
    topic->parts.n -= n_before;
    memmove(topic->parts.items, topic->parts.items + n_before,
            topic->parts.n * sizeof(topic->parts.items[0]));
    forget_others(topic);
    topic->has_failed = err != UDPA_OK;
    return err;
}

/* ---- looking ---- */

static bool
is_complete(const udpai_file_topic *topic)
{
    for (size_t i = 0; i < topic->parts.n; i++)
        if (!topic->parts.items[i]->is_complete)
            return false;
    return !topic->has_failed;
}

bool
udpai_file_topic_is_known(const udpai_file_topic *topic)
{
    if (is_complete(topic))
        return true;
    for (size_t i = 0; i < topic->names.n; i++)
        if (!find(topic, udpai_str_from(topic->names.items[i])))
            return false;
    return topic->parent && !topic->has_failed;
}

/* ---- files ---- */

/* A resource under the name by which clients will know it. */
struct client_resource {
    udpai_str name;
    bool is_called_so; /* by the node, too */
    udpa_resource *resource;
};

/* As in responses: clients read names from payloads. */
static bool
name_for_client(const udpai_file_topic *topic,
                udpa_resource *resource,
                struct client_resource *ret_resource)
{
    udpai_str name = udpai_resource_name(resource), called, own;
    if (is_not_for_files(resource) || !udpai_xds_name_to_client(topic->audience, name, &called))
        return false;
    bool has_own = udpai_xds_peek_name(udpai_resource_type_url(resource),
                                       udpai_resource_value(resource), &own);
    *ret_resource = (struct client_resource){has_own ? own : called,
                                             !has_own || udpai_str_eq(own, called), resource};
    return udpai_xds_name_is_plain(topic->audience, name) ||
           (has_own && ret_resource->is_called_so);
}

static int
compare_names(const void *a, const void *b)
{
    const struct client_resource *x = a, *y = b;
    int order = udpai_str_cmp(x->name, y->name);
    if (order == 0)
        order = y->is_called_so - x->is_called_so;
    return order
               ? order
               : udpai_str_cmp(udpai_resource_name(x->resource), udpai_resource_name(y->resource));
}

static udpa_err
write_resources(const udpai_file_topic *topic,
                udpai_write_job *job,
                const struct client_resource *all,
                size_t n)
{
    udpai_written_file *file =
        topic->is_whole ? udpai_write_job_add_parent(job, topic->stem, topic->type_url) : NULL;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && udpai_str_eq(all[i - 1].name, all[i].name))
            continue; /* clients refuse what has a name twice */
        if (!topic->is_whole)
            file = udpai_write_job_add_child(job, topic->stem, all[i].name, topic->type_url);
        if (!file || !udpai_written_file_add(file, all[i].resource))
            return UDPA_ERR_NOMEM;
    }
    return topic->is_whole && !file ? UDPA_ERR_NOMEM : UDPA_OK;
}

static udpa_err
write_all(const udpai_file_topic *topic, udpai_write_job *job)
{
    UDPAI_AUTO_FREE struct client_resource *all =
        udpai_alloc_array(topic->resources.n + 1, sizeof(*all));
    size_t n = 0, at = 0;
    udpa_resource *resource;
    if (!all)
        return UDPA_ERR_NOMEM;
    while ((resource = udpai_map_next(&topic->resources, &at)))
        n += name_for_client(topic, resource, &all[n]);
    if (n > 1)
        qsort(all, n, sizeof(*all), compare_names);
    return write_resources(topic, job, all, n);
}

static udpa_err
write_children(const udpai_file_topic *topic, udpai_write_job *job, bool is_patient)
{
    bool all_known = is_complete(topic);
    for (size_t i = 0; i < topic->names.n; i++) {
        udpai_str name = udpai_str_from(topic->names.items[i]);
        udpa_resource *resource = find(topic, name);
        if (!resource && !all_known && is_patient)
            continue;
        udpai_written_file *file =
            udpai_write_job_add_child(job, topic->stem, name, topic->type_url);
        if (!file || (resource && !udpai_written_file_add(file, resource)))
            return UDPA_ERR_NOMEM;
        file->if_absent = !resource && !all_known;
    }
    return UDPA_OK;
}

udpa_err
udpai_file_topic_write(const udpai_file_topic *topic, udpai_write_job *job, bool is_patient)
{
    if (!topic->is_whole && !udpai_vector_push(&job->folders, topic->stem))
        return UDPA_ERR_NOMEM;
    return topic->parent ? write_children(topic, job, is_patient) : write_all(topic, job);
}
