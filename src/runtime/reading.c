/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/reading.h"

#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/strbuf.h"

static void
take_place(udpai_runtime_reading *reading, const udpai_runtime_place *place, const char *path)
{
    udpai_runtime_load *load = &reading->loads[reading->n++];
    load->index = place->index;
    udpa_err err = udpai_runtime_directory_read_whole(&load->layer, place->name, path,
                                                      &reading->directories, &load->error);
    bool is_missing = err == UDPA_ERR_NOT_FOUND;
    if (is_missing) /* which is no error */
        load->error = udpa_error_unref(load->error);
    reading->has_memory &= err != UDPA_ERR_NOMEM;
    reading->n_overrides_there += place->is_override && !is_missing;
    reading->n_overrides_missing += place->is_override && is_missing;
}

static void
read_below(udpai_runtime_reading *reading,
           const char *top,
           const char *root,
           const udpai_runtime_places *places)
{
    *reading = (udpai_runtime_reading){
        .loads = udpai_alloc_array(places->n, sizeof(*reading->loads)),
    };
    reading->has_memory = reading->loads != NULL;
    for (size_t i = 0; i < places->n && reading->has_memory; i++)
        reading->has_memory = udpai_runtime_directories_add_above(
            &reading->directories, places->items[i].path, strlen(root));
    for (size_t i = 0; i < places->n && reading->has_memory; i++) {
        udpai_strbuf path = {0};
        udpai_strbuf_printf(&path, "%s%s", top, places->items[i].path + strlen(root));
        reading->has_memory = !udpai_strbuf_failed(&path);
        if (reading->has_memory)
            take_place(reading, &places->items[i], path.data);
        udpai_strbuf_done(&path);
    }
}

/* What the link leads to is found out once, so that no layer is of another version than the others;
 * and it must lead there yet in the end, for behind a swap its writer may tidy up. */
void
udpai_runtime_read(udpai_runtime_reading *reading,
                   const char *root,
                   const udpai_runtime_places *places)
{
    char top[PATH_MAX], now[PATH_MAX];
    for (int i = 1;; i++) {
        bool is_there = realpath(root, top) != NULL && strcmp(top, "/") != 0;
        read_below(reading, is_there ? top : root, root, places);
        if (i == UDPAI_RUNTIME_TRIES || !reading->has_memory || !is_there ||
            (realpath(root, now) && strcmp(now, top) == 0))
            return;
        udpai_runtime_reading_done(reading);
    }
}

void
udpai_runtime_reading_done(udpai_runtime_reading *reading)
{
    for (size_t i = 0; i < reading->n; i++) {
        udpai_runtime_layer_unref(reading->loads[i].layer);
        udpa_error_unref(reading->loads[i].error);
    }
    udpai_free(reading->loads);
    udpai_runtime_directories_done(&reading->directories);
    *reading = (udpai_runtime_reading){0};
}

static bool
is_same_error(const udpa_error *a, const udpa_error *b)
{
    return !a || !b ? a == b : strcmp(udpa_error_message(a), udpa_error_message(b)) == 0;
}

bool
udpai_runtime_reading_is_known(const udpai_runtime_reading *reading, const udpai_runtime *runtime)
{
    for (size_t i = 0; i < reading->n; i++) {
        const udpai_runtime_load *load = &reading->loads[i];
        if (!is_same_error(load->error, udpai_runtime_layer_error(runtime, load->index)) ||
            !udpai_runtime_layer_eq(load->layer, udpai_runtime_layer_at(runtime, load->index)))
            return false;
    }
    return true;
}
