/* SPDX-License-Identifier: Apache-2.0 */
/* Recorders, their clusters, and the room that both have. */
#include "base/alloc.h"
#include "recorder/recorder_internal.h"

#define CLUSTERS_DEFAULT 4096
#define HANDLES_DEFAULT 16384

/* ---- recorders ---- */

static udpai_str
cluster_key(const void *item)
{
    return ((const udpai_load_cluster *)item)->name;
}

static udpai_str
locality_key(const void *item)
{
    return ((const udpai_load_locality *)item)->key;
}

static udpai_str
target_key(const void *item)
{
    return ((const udpa_load_target *)item)->key;
}

udpa_err
udpa_load_recorder_new(udpa_load_recorder **ret_recorder,
                       const udpa_load_recorder_options *options,
                       udpa_error **ret_error)
{
    const udpa_load_recorder_options defaults = UDPA_LOAD_RECORDER_OPTIONS_INIT;
    if (!options)
        options = &defaults;
    if (options->struct_size < sizeof(*options))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "udpa_load_recorder_options: struct_size is %zu: begin with "
                          "UDPA_LOAD_RECORDER_OPTIONS_INIT",
                          options->struct_size);
    udpa_load_recorder *recorder = udpai_alloc(sizeof(*recorder));
    if (!recorder)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    atomic_init(&recorder->n_references, 1);
    pthread_mutex_init(&recorder->mutex, NULL); /* cannot fail */
    recorder->max_clusters = options->max_clusters ? options->max_clusters : CLUSTERS_DEFAULT;
    recorder->max_handles = options->max_handles ? options->max_handles : HANDLES_DEFAULT;
    udpai_map_init(&recorder->clusters, cluster_key);
    udpai_map_init(&recorder->localities, locality_key);
    udpai_map_init(&recorder->targets, target_key);
    udpai_list_init(&recorder->all);
    udpai_list_init(&recorder->idle);
    *ret_recorder = recorder;
    return UDPA_OK;
}

udpa_load_recorder *
udpa_load_recorder_ref(udpa_load_recorder *recorder)
{
    if (recorder)
        atomic_fetch_add_explicit(&recorder->n_references, 1, memory_order_relaxed);
    return recorder;
}

udpa_load_recorder *
udpa_load_recorder_unref(udpa_load_recorder *recorder)
{
    if (!recorder ||
        atomic_fetch_sub_explicit(&recorder->n_references, 1, memory_order_acq_rel) != 1)
        return NULL;
    while (!udpai_list_empty(&recorder->all))
        udpai_load_cluster_free(recorder,
                                UDPAI_LIST_ENTRY(recorder->all.next, udpai_load_cluster, node));
    udpai_map_done(&recorder->clusters);
    udpai_map_done(&recorder->localities);
    udpai_map_done(&recorder->targets);
    pthread_mutex_destroy(&recorder->mutex);
    udpai_free(recorder);
    return NULL;
}

/* ---- clusters ---- */

static void
free_locality(udpa_load_recorder *recorder, udpai_load_locality *locality)
{
    UDPAI_LIST_FOREACH_SAFE (at, &locality->targets)
        udpai_load_target_free(UDPAI_LIST_ENTRY(at, udpa_load_target, node));
    udpai_map_remove(&recorder->localities, locality->key);
    udpai_load_room_leave(recorder, NULL);
    udpai_list_remove(&locality->node);
    udpai_free((char *)(uintptr_t)locality->key.data);
    udpai_free(locality->metrics);
    udpai_free(locality);
}

static void
free_category(udpa_load_recorder *recorder, udpa_load_category *category)
{
    udpai_load_room_leave(recorder, &category->account);
    udpai_list_remove(&category->node);
    category->cluster->n_categories--;
    udpai_free((char *)(uintptr_t)category->name.data);
    udpai_free(category);
}

void
udpai_load_cluster_free(udpa_load_recorder *recorder, udpai_load_cluster *cluster)
{
    UDPAI_LIST_FOREACH_SAFE (at, &cluster->localities)
        free_locality(recorder, UDPAI_LIST_ENTRY(at, udpai_load_locality, node));
    UDPAI_LIST_FOREACH_SAFE (at, &cluster->categories)
        free_category(recorder, UDPAI_LIST_ENTRY(at, udpa_load_category, node));
    for (size_t i = 0; i < cluster->metric_names.n; i++)
        udpai_free((char *)(uintptr_t)cluster->metric_names.items[i].data);
    udpai_vector_done(&cluster->metric_names);
    udpai_map_remove(&recorder->clusters, cluster->name);
    udpai_list_remove(&cluster->node);
    udpai_free((char *)(uintptr_t)cluster->name.data);
    udpai_free((char *)(uintptr_t)cluster->service_name.data);
    udpai_load_stats_free(cluster->before);
    udpai_load_stats_free(cluster->reported);
    udpai_free(cluster);
}

static void
forget_clusters(udpa_load_recorder *recorder)
{
    UDPAI_LIST_FOREACH_SAFE (at, &recorder->all) {
        udpai_load_cluster *cluster = UDPAI_LIST_ENTRY(at, udpai_load_cluster, node);
        if (cluster->n_used == 0)
            udpai_load_cluster_free(recorder, cluster);
    }
}

static udpai_load_cluster *
make_cluster(udpa_load_recorder *recorder, udpai_str name)
{
    udpai_load_cluster *cluster = udpai_alloc(sizeof(*cluster));
    char *copy = udpai_strndup(name.data, name.len);
    if (cluster) {
        cluster->name = (udpai_str){copy, name.len};
        udpai_list_init(&cluster->node);
        udpai_list_init(&cluster->localities);
        udpai_list_init(&cluster->categories);
    }
    if (!cluster || !copy || !udpai_map_add(&recorder->clusters, cluster)) {
        udpai_free(copy);
        udpai_free(cluster);
        return NULL;
    }
    udpai_list_append(&recorder->all, &cluster->node);
    udpai_load_epoch_begin(recorder, cluster);
    return cluster;
}

udpa_err
udpai_load_cluster_use(udpa_load_recorder *recorder,
                       udpai_str name,
                       udpai_load_cluster **ret_cluster,
                       udpa_error **ret_error)
{
    udpai_load_cluster *cluster = udpai_map_get(&recorder->clusters, name);
    if (!cluster && recorder->clusters.n >= recorder->max_clusters)
        forget_clusters(recorder);
    if (!cluster && recorder->clusters.n >= recorder->max_clusters)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "cluster '%.*s' is not recorded: there are %zu, as many as there may be "
                          "(max_clusters)",
                          UDPAI_SHOWN(name), recorder->clusters.n);
    if (!cluster)
        cluster = make_cluster(recorder, name);
    if (!cluster)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    cluster->n_used++;
    *ret_cluster = cluster;
    return UDPA_OK;
}

/* ---- room ---- */

static bool
is_in_flight(const udpa_load_target *target)
{
    udpai_load_figures figures;
    udpai_load_figures_read(target, &figures);
    return udpai_load_in_flight(&figures) != 0 || udpai_load_connected(&figures) != 0;
}

static void
make_room(udpa_load_recorder *recorder)
{
    UDPAI_LIST_FOREACH_SAFE (at, &recorder->idle) {
        udpa_load_target *target = UDPAI_LIST_ENTRY(at, udpa_load_target, idle);
        udpai_load_cluster *cluster = target->locality->cluster;
        if (is_in_flight(target))
            continue;
        udpai_load_target_fold(target);
        udpai_load_target_free(target);
        /* An endpoint that comes back begins at zero, which is not credible within one epoch. */
        if (cluster->has_reported_endpoints)
            udpai_load_epoch_begin(recorder, cluster);
    }
}

/* Without an account: room for something that counts nothing itself. */
static bool
take_room(udpa_load_recorder *recorder, udpai_counters_account *account)
{
    if (recorder->n_handles >= recorder->max_handles || (account && !udpai_counters_open(account)))
        return false;
    recorder->n_handles++;
    return true;
}

udpa_err
udpai_load_room_take(udpa_load_recorder *recorder,
                     udpai_counters_account *account,
                     udpa_error **ret_error)
{
    bool is_taken = take_room(recorder, account);
    if (!is_taken) {
        make_room(recorder);
        is_taken = take_room(recorder, account);
    }
    if (!is_taken) {
        forget_clusters(recorder);
        is_taken = take_room(recorder, account);
    }
    if (is_taken)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "%zu things are recorded, and there is no room for one more: a recorder may "
                      "have %zu (max_handles), a process %d",
                      recorder->n_handles, recorder->max_handles, UDPAI_COUNTERS_SLOTS);
}

void
udpai_load_room_leave(udpa_load_recorder *recorder, udpai_counters_account *account)
{
    if (account)
        udpai_counters_close(account);
    recorder->n_handles--;
}
