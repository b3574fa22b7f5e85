/* SPDX-License-Identifier: Apache-2.0 */
/* Why requests are dropped. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "model/name.h"
#include "recorder/recorder_internal.h"

static udpa_err
check(const char *cluster, const char *name, udpa_error **ret_error)
{
    if (!cluster || !name || !*name)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "a category needs a cluster and a name");
    if (strlen(name) > UDPAI_LOAD_TEXT_MAX || !udpai_utf8_valid(udpai_str_from(name)))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a category's name is longer than %d bytes, or not UTF-8",
                          UDPAI_LOAD_TEXT_MAX);
    return udpai_name_check(udpai_str_from(cluster), ret_error);
}

static udpa_load_category *
find(const udpai_load_cluster *cluster, udpai_str name)
{
    UDPAI_LIST_FOREACH (at, &cluster->categories) {
        udpa_load_category *category = UDPAI_LIST_ENTRY(at, udpa_load_category, node);
        if (udpai_str_eq(category->name, name))
            return category;
    }
    return NULL;
}

static udpa_err
add(udpa_load_recorder *recorder,
    udpai_load_cluster *cluster,
    udpai_str name,
    udpa_load_category **ret_category,
    udpa_error **ret_error)
{
    if (cluster->n_categories >= UDPAI_LOAD_CATEGORIES_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "category '%.*s' is not recorded: cluster '%.*s' has %zu others",
                          UDPAI_SHOWN(name), UDPAI_SHOWN(cluster->name), cluster->n_categories);
    udpa_load_category *category = udpai_alloc(sizeof(*category));
    char *copy = udpai_strndup(name.data, name.len);
    udpa_err err = category && copy ? udpai_load_room_take(recorder, &category->account, ret_error)
                                    : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err != UDPA_OK) {
        udpai_free(copy);
        udpai_free(category);
        return err;
    }
    category->name = (udpai_str){copy, name.len};
    category->cluster = cluster;
    category->recorder = recorder;
    udpai_list_init(&category->node);
    udpai_list_append(&cluster->categories, &category->node);
    cluster->n_categories++;
    *ret_category = category;
    return UDPA_OK;
}

static udpa_err
get(udpa_load_recorder *recorder,
    udpai_str cluster_name,
    udpai_str name,
    udpa_load_category **ret_category,
    udpa_error **ret_error)
{
    udpai_load_cluster *cluster = NULL;
    udpa_err err = udpai_load_cluster_use(recorder, cluster_name, &cluster, ret_error);
    if (err != UDPA_OK)
        return err;
    udpa_load_category *category = find(cluster, name);
    if (!category)
        err = add(recorder, cluster, name, &category, ret_error);
    if (err != UDPA_OK) {
        cluster->n_used--;
        return err;
    }
    category->n_references++;
    *ret_category = category;
    return UDPA_OK;
}

udpa_err
udpa_load_category_get(udpa_load_category **ret_category,
                       udpa_load_recorder *recorder,
                       const char *cluster,
                       const char *name,
                       udpa_error **ret_error)
{
    udpa_err err = check(cluster, name, ret_error);
    if (err != UDPA_OK)
        return err;
    pthread_mutex_lock(&recorder->mutex);
    err = get(recorder, udpai_str_from(cluster), udpai_str_from(name), ret_category, ret_error);
    pthread_mutex_unlock(&recorder->mutex);
    if (err == UDPA_OK)
        udpa_load_recorder_ref(recorder);
    return err;
}

udpa_load_category *
udpa_load_category_unref(udpa_load_category *category)
{
    if (!category)
        return NULL;
    udpa_load_recorder *recorder = category->recorder;
    pthread_mutex_lock(&recorder->mutex);
    category->cluster->n_used--;
    category->n_references--;
    pthread_mutex_unlock(&recorder->mutex);
    udpa_load_recorder_unref(recorder);
    return NULL;
}
