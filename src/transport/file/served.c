/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/file/served.h"

#include "base/error.h"
#include "base/strbuf.h"
#include "model/resource.h"

/* A resource of a file; in the map if it is served. Those of one name, of several types, are
 * chained, so that the resource itself holds the map's key. */
struct udpai_file_served_resource {
    struct udpai_file_served_resource *next;
    udpa_resource *resource;
    uint64_t file_id;
    bool is_served;
    /* only during the update that made it */
    const udpai_scanned_file *file;
    uint32_t line, column;
};

static udpai_str
name_of(const void *item)
{
    return udpai_resource_name(((const struct udpai_file_served_resource *)item)->resource);
}

void
udpai_file_served_init(udpai_file_served *served)
{
    *served = (udpai_file_served){0};
    udpai_map_init(&served->by_name, name_of);
}

void
udpai_file_served_done(udpai_file_served *served)
{
    udpai_map_done(&served->by_name);
    for (size_t i = 0; i < served->n; i++)
        udpa_resource_unref(served->resources[i].resource);
    udpai_free(served->resources);
    served->resources = NULL;
    served->n = 0;
}

udpai_file_result *
udpai_file_result_free(udpai_file_result *result)
{
    if (!result)
        return NULL;
    for (size_t i = 0; i < result->n_resources; i++)
        udpa_resource_unref(result->resources[i]);
    udpai_free(result->resources);
    for (size_t i = 0; i < result->problems.n; i++) {
        udpai_free(result->problems.items[i].path);
        udpa_error_unref(result->problems.items[i].error);
    }
    udpai_vector_done(&result->problems);
    udpai_free(result);
    return NULL;
}

/* ---- what is served ---- */

static struct udpai_file_served_resource *
find(const udpai_file_served *served, const udpa_resource *resource)
{
    struct udpai_file_served_resource *at =
        udpai_map_get(&served->by_name, udpai_resource_name(resource));
    while (at &&
           !udpai_str_eq(udpai_resource_type_url(at->resource), udpai_resource_type_url(resource)))
        at = at->next;
    return at;
}

static bool
serve(udpai_file_served *served, struct udpai_file_served_resource *item)
{
    struct udpai_file_served_resource *first = udpai_map_get(&served->by_name, name_of(item));
    if (first) {
        item->next = first->next;
        first->next = item;
    } else if (!udpai_map_add(&served->by_name, item)) {
        return false;
    }
    item->is_served = true;
    return true;
}

static void
add_file(udpai_file_served *served, const udpai_scanned_file *file)
{
    for (size_t i = 0; i < file->list.n; i++) {
        const udpai_file_resource *from = &file->list.items[i];
        served->resources[served->n++] = (struct udpai_file_served_resource){
            .resource = udpa_resource_ref(from->resource),
            .file_id = file->id,
            .file = file,
            .line = from->line,
            .column = from->column,
        };
    }
}

/* What was served comes first, and so stays. */
static bool
serve_as_before(udpai_file_served *served, const udpai_file_served *before)
{
    for (size_t i = 0; i < served->n; i++) {
        const struct udpai_file_served_resource *old = find(before, served->resources[i].resource);
        if (old && old->file_id == served->resources[i].file_id &&
            !serve(served, &served->resources[i]))
            return false;
    }
    return true;
}

static bool
serve_the_others(udpai_file_served *served)
{
    for (size_t i = 0; i < served->n; i++)
        if (!find(served, served->resources[i].resource) && !serve(served, &served->resources[i]))
            return false;
    return true;
}

static bool
decide(udpai_file_served *served, const udpai_file_served *before, const udpai_file_scan *scan)
{
    served->resources = udpai_alloc_array(scan->n_resources, sizeof(*served->resources));
    if (!served->resources)
        return false;
    for (size_t i = 0; i < scan->files.n; i++)
        add_file(served, scan->files.items[i]);
    return serve_as_before(served, before) && serve_the_others(served);
}

/* ---- what is wrong ---- */

/* A reference is taken to the error. */
static bool
add_problem(udpai_file_result *result, const char *path, udpa_error *error, bool is_of_contents)
{
    if (result->problems.n == UDPAI_FILE_PROBLEMS_MAX) {
        result->n_problems_left_out++;
        return true;
    }
    udpai_file_problem problem = {udpai_strdup(path), udpa_error_ref(error), is_of_contents};
    if (problem.path && udpai_vector_push(&result->problems, problem))
        return true;
    udpai_free(problem.path);
    udpa_error_unref(error);
    return false;
}

/* "path" or "path:line:column". */
static void
put_place(udpai_strbuf *text, const struct udpai_file_served_resource *item)
{
    udpai_strbuf_puts(text, item->file->path);
    if (item->line)
        udpai_strbuf_printf(text, ":%u:%u", item->line, item->column);
}

static bool
add_double(udpai_file_result *result,
           const struct udpai_file_served_resource *item,
           const struct udpai_file_served_resource *served)
{
    udpai_strbuf text = {0};
    put_place(&text, item);
    udpai_strbuf_printf(&text, ": '%s' of this type is served from ",
                        udpa_resource_name(item->resource));
    put_place(&text, served);
    udpai_strbuf_puts(&text, "; remove one of them");
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    bool ok = !udpai_strbuf_failed(&text);
    if (ok)
        error = udpa_error_new(UDPA_ERR_EXISTS, NULL, "%s", text.data);
    udpai_strbuf_done(&text);
    return ok && add_problem(result, item->file->path, error, false);
}

static bool
add_problems(udpai_file_result *result,
             const udpai_file_scan *scan,
             const udpai_file_served *served)
{
    if (scan->error && !add_problem(result, scan->rules.root, scan->error, false))
        return false;
    for (size_t i = 0; i < scan->files.n; i++) {
        const udpai_scanned_file *file = scan->files.items[i];
        if (file->error && !add_problem(result, file->path, file->error, file->has_hash))
            return false;
    }
    for (size_t i = 0; i < served->n; i++) {
        const struct udpai_file_served_resource *item = &served->resources[i];
        if (!item->is_served && !add_double(result, item, find(served, item->resource)))
            return false;
    }
    return true;
}

/* ---- the outcome ---- */

static bool
is_good(const udpai_file_scan *scan)
{
    for (size_t i = 0; i < scan->files.n; i++)
        if (!scan->files.items[i]->was_good)
            return false;
    return !scan->error;
}

static bool
add_resources(udpai_file_result *result, const udpai_file_served *served)
{
    result->resources = udpai_alloc_array(served->n, sizeof(*result->resources));
    for (size_t i = 0; result->resources && i < served->n; i++)
        if (served->resources[i].is_served)
            result->resources[result->n_resources++] =
                udpa_resource_ref(served->resources[i].resource);
    return result->resources != NULL;
}

static udpai_file_result *
make_result(const udpai_file_scan *scan, const udpai_file_served *served)
{
    UDPA_AUTO(udpai_file_result_free) udpai_file_result *result = udpai_alloc(sizeof(*result));
    if (!result || !add_resources(result, served) || !add_problems(result, scan, served))
        return NULL;
    result->n_files = scan->files.n;
    result->is_read = !scan->error;
    result->is_good = is_good(scan);
    result->dev = scan->dev;
    result->ino = scan->ino;
    return UDPAI_TAKE(result);
}

udpa_err
udpai_file_served_update(udpai_file_served *served,
                         const udpai_file_scan *scan,
                         udpai_file_result **ret_result,
                         udpa_error **ret_error)
{
    udpai_file_served next;
    udpai_file_served_init(&next);
    udpai_file_result *result = decide(&next, served, scan) ? make_result(scan, &next) : NULL;
    if (!result) {
        udpai_file_served_done(&next);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    udpai_file_served_done(served);
    *served = next;
    *ret_result = result;
    return UDPA_OK;
}
