/* SPDX-License-Identifier: Apache-2.0 */
/* Targets and their metrics: found, made, given up, and read. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "model/name.h"
#include "recorder/recorder_internal.h"

#define PORT_MAX 65535

/* ---- places ---- */

static udpa_err
check_text(const char *text, const char *what, udpa_error **ret_error)
{
    if (!text || (strlen(text) <= UDPAI_LOAD_TEXT_MAX && udpai_utf8_valid(udpai_str_from(text))))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s is longer than %d bytes, or not UTF-8", what,
                      UDPAI_LOAD_TEXT_MAX);
}

static udpa_err
check_texts(const udpa_load_place *place, udpa_error **ret_error)
{
    const struct {
        const char *text, *what;
    } texts[] = {
        {place->service_name, "a service_name"},
        {place->region, "a region"},
        {place->zone, "a zone"},
        {place->sub_zone, "a sub_zone"},
        {place->address, "an address"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        udpa_err err = check_text(texts[i].text, texts[i].what, ret_error);
        if (err != UDPA_OK)
            return err;
    }
    return UDPA_OK;
}

static udpa_err
check_place(const udpa_load_place *place, udpa_error **ret_error)
{
    if (place->struct_size < sizeof(*place))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "udpa_load_place: struct_size is %zu: begin with UDPA_LOAD_PLACE_INIT",
                          place->struct_size);
    if (!place->cluster)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "a place needs a cluster");
    udpa_err err = udpai_name_check(udpai_str_from(place->cluster), ret_error);
    if (err == UDPA_OK)
        err = check_texts(place, ret_error);
    if (err != UDPA_OK)
        return err;
    bool has_address = place->address && *place->address;
    if (place->port > PORT_MAX || (place->port && !has_address))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "port %lu is none that '%s' can have: it is that of an address, and at "
                          "most %d",
                          (unsigned long)place->port, has_address ? place->address : "", PORT_MAX);
    return UDPA_OK;
}

static void
put_text(udpai_strbuf *key, const char *text)
{
    udpai_strbuf_puts(key, text ? text : "");
    udpai_strbuf_putc(key, '\0');
}

/* Texts and numbers, each with a NUL behind it. That of a locality is the beginning of those of its
 * targets. */
static void
put_key(udpai_strbuf *key, const udpa_load_place *place, size_t *ret_locality_len)
{
    put_text(key, place->cluster);
    put_text(key, place->region);
    put_text(key, place->zone);
    put_text(key, place->sub_zone);
    udpai_strbuf_printf(key, "%lu", (unsigned long)place->priority);
    udpai_strbuf_putc(key, '\0');
    *ret_locality_len = key->len;
    put_text(key, place->address);
    udpai_strbuf_printf(key, "%lu", (unsigned long)place->port);
}

/* ---- clusters and localities ---- */

/* It is set for a cluster once. */
static udpa_err
set_service_name(udpai_load_cluster *cluster, udpai_str name, udpa_error **ret_error)
{
    if (name.len == 0 || udpai_str_eq(cluster->service_name, name))
        return UDPA_OK;
    if (cluster->service_name.len)
        return udpai_fail(
            ret_error, UDPA_ERR_INVAL, "cluster '%.*s' has the service_name '%.*s', and not '%.*s'",
            UDPAI_SHOWN(cluster->name), UDPAI_SHOWN(cluster->service_name), UDPAI_SHOWN(name));
    char *copy = udpai_strndup(name.data, name.len);
    if (!copy)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    cluster->service_name = (udpai_str){copy, name.len};
    return UDPA_OK;
}

/* The texts are parts of the key. */
static void
set_texts(udpai_load_locality *locality, uint32_t priority)
{
    udpai_str rest = locality->key, cluster;
    udpai_str_cut(&rest, '\0', &cluster);
    udpai_str_cut(&rest, '\0', &locality->region);
    udpai_str_cut(&rest, '\0', &locality->zone);
    udpai_str_cut(&rest, '\0', &locality->sub_zone);
    locality->priority = priority;
}

static udpa_err
make_locality(udpa_load_recorder *recorder,
              udpai_load_cluster *cluster,
              udpai_str key,
              udpai_load_locality **ret_locality,
              udpa_error **ret_error)
{
    if (cluster->n_localities >= UDPAI_LOAD_LOCALITIES_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "a locality of cluster '%.*s' is not recorded: it has %zu others",
                          UDPAI_SHOWN(cluster->name), cluster->n_localities);
    udpa_err err = udpai_load_room_take(recorder, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_load_locality *locality = udpai_alloc(sizeof(*locality));
    char *copy = udpai_memdup(key.data, key.len);
    if (locality)
        locality->key = (udpai_str){copy, key.len};
    if (!locality || !copy || !udpai_map_add(&recorder->localities, locality)) {
        udpai_free(copy);
        udpai_free(locality);
        udpai_load_room_leave(recorder, NULL);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    locality->cluster = cluster;
    udpai_list_init(&locality->node);
    udpai_list_init(&locality->targets);
    udpai_list_append(&cluster->localities, &locality->node);
    cluster->n_localities++;
    *ret_locality = locality;
    return UDPA_OK;
}

static udpa_err
get_locality(udpa_load_recorder *recorder,
             udpai_load_cluster *cluster,
             const udpa_load_place *place,
             udpai_str key,
             udpai_load_locality **ret_locality,
             udpa_error **ret_error)
{
    *ret_locality = udpai_map_get(&recorder->localities, key);
    if (*ret_locality)
        return UDPA_OK;
    udpa_err err = make_locality(recorder, cluster, key, ret_locality, ret_error);
    if (err == UDPA_OK)
        set_texts(*ret_locality, place->priority);
    return err;
}

/* ---- targets ---- */

static void
free_metric(udpa_load_recorder *recorder, udpa_load_metric *metric)
{
    udpai_load_room_leave(recorder, &metric->account);
    udpai_list_remove(&metric->node);
    udpai_free(metric);
}

void
udpai_load_target_free(udpa_load_target *target)
{
    udpa_load_recorder *recorder = target->recorder;
    UDPAI_LIST_FOREACH_SAFE (at, &target->metrics)
        free_metric(recorder, UDPAI_LIST_ENTRY(at, udpa_load_metric, node));
    udpai_map_remove(&recorder->targets, target->key);
    udpai_list_remove(&target->node);
    udpai_list_remove(&target->idle);
    udpai_load_room_leave(recorder, &target->account);
    udpai_free((char *)(uintptr_t)target->key.data);
    udpai_free(target);
}

static udpa_err
make_target(udpa_load_recorder *recorder,
            udpai_load_locality *locality,
            udpai_str key,
            udpa_load_target **ret_target,
            udpa_error **ret_error)
{
    udpa_load_target *target = udpai_alloc(sizeof(*target));
    char *copy = udpai_memdup(key.data, key.len);
    udpa_err err = target && copy ? udpai_load_room_take(recorder, &target->account, ret_error)
                                  : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err != UDPA_OK) {
        udpai_free(copy);
        udpai_free(target);
        return err;
    }
    target->key = target->address = (udpai_str){copy, key.len};
    target->recorder = recorder;
    target->locality = locality;
    udpai_list_init(&target->node);
    udpai_list_init(&target->idle);
    udpai_list_init(&target->metrics);
    if (!udpai_map_add(&recorder->targets, target)) {
        udpai_load_target_free(target);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    udpai_list_append(&locality->targets, &target->node);
    *ret_target = target;
    return UDPA_OK;
}

/* Of a cluster that is used by the caller, so that it stays. */
static udpa_err
add_target(udpa_load_recorder *recorder,
           udpai_load_cluster *cluster,
           const udpa_load_place *place,
           udpa_load_target **ret_target,
           udpa_error **ret_error)
{
    udpai_strbuf key = {0};
    size_t locality_len = 0;
    udpai_load_locality *locality = NULL;
    put_key(&key, place, &locality_len);
    udpa_err err = udpai_strbuf_failed(&key) ? udpai_fail_code(ret_error, UDPA_ERR_NOMEM) : UDPA_OK;
    if (err == UDPA_OK)
        *ret_target = udpai_map_get(&recorder->targets, udpai_strbuf_view(&key));
    if (err == UDPA_OK && !*ret_target) {
        err = get_locality(recorder, cluster, place, (udpai_str){key.data, locality_len}, &locality,
                           ret_error);
        if (err == UDPA_OK)
            err = make_target(recorder, locality, udpai_strbuf_view(&key), ret_target, ret_error);
        if (err == UDPA_OK) {
            udpai_str rest = {(*ret_target)->key.data + locality_len, key.len - locality_len};
            udpai_str_cut(&rest, '\0', &(*ret_target)->address);
            (*ret_target)->port = place->port;
        }
    }
    udpai_strbuf_done(&key);
    return err;
}

static udpa_err
get_target(udpa_load_recorder *recorder,
           const udpa_load_place *place,
           udpa_load_target **ret_target,
           udpa_error **ret_error)
{
    udpai_load_cluster *cluster = NULL;
    udpa_load_target *target = NULL;
    udpa_err err =
        udpai_load_cluster_use(recorder, udpai_str_from(place->cluster), &cluster, ret_error);
    if (err != UDPA_OK)
        return err;
    err = set_service_name(cluster, udpai_str_from(place->service_name), ret_error);
    if (err == UDPA_OK)
        err = add_target(recorder, cluster, place, &target, ret_error);
    if (err != UDPA_OK) {
        cluster->n_used--;
        return err;
    }
    udpai_list_remove(&target->idle);
    target->n_references++;
    *ret_target = target;
    return UDPA_OK;
}

udpa_err
udpa_load_target_get(udpa_load_target **ret_target,
                     udpa_load_recorder *recorder,
                     const udpa_load_place *place,
                     udpa_error **ret_error)
{
    udpa_err err = check_place(place, ret_error);
    if (err != UDPA_OK)
        return err;
    pthread_mutex_lock(&recorder->mutex);
    err = get_target(recorder, place, ret_target, ret_error);
    pthread_mutex_unlock(&recorder->mutex);
    if (err == UDPA_OK)
        udpa_load_recorder_ref(recorder);
    return err;
}

udpa_load_target *
udpa_load_target_unref(udpa_load_target *target)
{
    if (!target)
        return NULL;
    udpa_load_recorder *recorder = target->recorder;
    pthread_mutex_lock(&recorder->mutex);
    target->locality->cluster->n_used--;
    if (--target->n_references == 0)
        udpai_list_append(&recorder->idle, &target->idle);
    pthread_mutex_unlock(&recorder->mutex);
    udpa_load_recorder_unref(recorder);
    return NULL;
}

/* ---- metrics ---- */

/* The number of the name in the cluster. */
static udpa_err
number_name(udpai_load_cluster *cluster, udpai_str name, size_t *ret_number, udpa_error **ret_error)
{
    for (size_t i = 0; i < cluster->metric_names.n; i++)
        if (udpai_str_eq(cluster->metric_names.items[i], name)) {
            *ret_number = i;
            return UDPA_OK;
        }
    if (cluster->metric_names.n >= UDPAI_LOAD_METRIC_NAMES_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "metric '%.*s' is not recorded: cluster '%.*s' has %d of other names",
                          UDPAI_SHOWN(name), UDPAI_SHOWN(cluster->name),
                          UDPAI_LOAD_METRIC_NAMES_MAX);
    char *copy = udpai_strndup(name.data, name.len);
    udpai_str owned = {copy, name.len};
    if (!copy || !udpai_vector_push(&cluster->metric_names, owned)) {
        udpai_free(copy);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    *ret_number = cluster->metric_names.n - 1;
    return UDPA_OK;
}

/* Made in time: a target that goes leaves its sums there without asking for memory. */
static udpa_err
make_totals(udpai_load_locality *locality, size_t n, udpa_error **ret_error)
{
    if (locality->n_metrics >= n)
        return UDPA_OK;
    udpai_load_sum *grown = udpai_realloc_array(locality->metrics, n, sizeof(*locality->metrics));
    if (!grown)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    memset(grown + locality->n_metrics, 0, (n - locality->n_metrics) * sizeof(*grown));
    locality->metrics = grown;
    locality->n_metrics = n;
    return UDPA_OK;
}

static udpa_load_metric *
find_metric(const udpa_load_target *target, size_t name)
{
    UDPAI_LIST_FOREACH (at, &target->metrics) {
        udpa_load_metric *metric = UDPAI_LIST_ENTRY(at, udpa_load_metric, node);
        if (metric->name == name)
            return metric;
    }
    return NULL;
}

static udpa_err
add_metric(udpa_load_target *target,
           size_t name,
           udpa_load_metric **ret_metric,
           udpa_error **ret_error)
{
    udpa_load_metric *metric = udpai_alloc(sizeof(*metric));
    udpa_err err = metric ? udpai_load_room_take(target->recorder, &metric->account, ret_error)
                          : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err != UDPA_OK) {
        udpai_free(metric);
        return err;
    }
    metric->name = name;
    udpai_list_init(&metric->node);
    udpai_list_append(&target->metrics, &metric->node);
    *ret_metric = metric;
    return UDPA_OK;
}

static udpa_err
get_metric(udpa_load_target *target,
           udpai_str text,
           udpa_load_metric **ret_metric,
           udpa_error **ret_error)
{
    size_t name = 0;
    udpai_load_cluster *cluster = target->locality->cluster;
    udpa_err err = number_name(cluster, text, &name, ret_error);
    if (err == UDPA_OK)
        err = make_totals(target->locality, cluster->metric_names.n, ret_error);
    if (err != UDPA_OK)
        return err;
    udpa_load_metric *metric = find_metric(target, name);
    if (!metric)
        err = add_metric(target, name, &metric, ret_error);
    if (err == UDPA_OK)
        *ret_metric = metric;
    return err;
}

udpa_err
udpa_load_metric_get(udpa_load_metric **ret_metric,
                     udpa_load_target *target,
                     const char *name,
                     udpa_error **ret_error)
{
    udpa_err err = name && *name ? check_text(name, "a metric's name", ret_error)
                                 : udpai_fail(ret_error, UDPA_ERR_INVAL, "a metric needs a name");
    if (err != UDPA_OK)
        return err;
    pthread_mutex_lock(&target->recorder->mutex);
    err = get_metric(target, udpai_str_from(name), ret_metric, ret_error);
    pthread_mutex_unlock(&target->recorder->mutex);
    return err;
}
