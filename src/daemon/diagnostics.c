/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/diagnostics.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define PROGRAM "udpad"

/* ---- paths ---- */

static size_t
append(char room[UDPAI_FIELD_PATH_MAX], size_t at, const char *text)
{
    size_t len = udpai_min_size(strlen(text), UDPAI_FIELD_PATH_MAX - 1 - at);
    memcpy(room + at, text, len);
    room[at + len] = '\0';
    return at + len;
}

const char *
udpai_path_field(char room[UDPAI_FIELD_PATH_MAX], const char *path, const char *field)
{
    size_t len = path == room ? strlen(room) : append(room, 0, path);
    if (len && *field)
        len = append(room, len, ".");
    append(room, len, field);
    return room;
}

const char *
udpai_path_item(char room[UDPAI_FIELD_PATH_MAX], const char *list, size_t index)
{
    char number[24];
    snprintf(number, sizeof(number), "[%zu]", index);
    append(room, list == room ? strlen(room) : append(room, 0, list), number);
    return room;
}

/* ---- places ---- */

struct place {
    const udpai_tree *node;          /* NULL: places are not known */
    bool is_refused;                 /* what the file has there is not in the message */
    char path[UDPAI_FIELD_PATH_MAX]; /* as the file counts */
};

/* Is something of this part of the document not in the message? A refused entry of a map is known
 * by its key. */
static bool
has_refused(const udpai_diagnostics *diagnostics, const udpai_tree *node)
{
    bool found = udpai_text_errors_has(&diagnostics->text, node);
    for (uint32_t i = 0; i < node->n && !found; i++) {
        if (node->kind == UDPAI_TREE_LIST)
            found = has_refused(diagnostics, node->items[i]);
        else if (node->kind == UDPAI_TREE_MAP)
            found = udpai_text_errors_has(&diagnostics->text, node->entries[i].key) ||
                    has_refused(diagnostics, node->entries[i].value);
    }
    return found;
}

/* The message lacks items that were refused: its index is that among those that it has. */
static const udpai_tree *
find_item(const udpai_diagnostics *diagnostics,
          const udpai_tree *list,
          size_t index,
          uint32_t *ret_at)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (udpai_text_errors_has(&diagnostics->text, list->items[i]) || index-- > 0)
            continue;
        *ret_at = i;
        return list->items[i];
    }
    return NULL;
}

/* Past "[2]"; NULL: the document does not have it. */
static const udpai_tree *
step_to_item(const udpai_diagnostics *diagnostics, struct place *place, const char **path)
{
    char *end;
    unsigned long index = strtoul(*path + 1, &end, 10);
    uint32_t at = (uint32_t)index;
    const udpai_tree *item = place->node->kind == UDPAI_TREE_LIST
                                 ? find_item(diagnostics, place->node, index, &at)
                                 : NULL;
    udpai_path_item(place->path, place->path, at);
    *path = *end ? end + 1 : end;
    return item;
}

/* Past "types" or ".types". */
static const udpai_tree *
step_to_field(const udpai_diagnostics *diagnostics, struct place *place, const char **path)
{
    *path += **path == '.';
    char name[64];
    size_t len = udpai_min_size(strcspn(*path, ".["), sizeof(name) - 1);
    memcpy(name, *path, len);
    name[len] = '\0';
    *path += len;
    const udpai_entry *entry = place->node->kind == UDPAI_TREE_MAP
                                   ? udpai_tree_find_field(place->node, (udpai_str){name, len})
                                   : NULL;
    udpai_path_field(place->path, place->path, name);
    place->is_refused |= entry && udpai_text_errors_has(&diagnostics->text, entry->key);
    return entry ? entry->value : NULL;
}

/* The place of a path such as "providers[0].types", or of as much of it as the document has. */
static void
find_place(const udpai_diagnostics *diagnostics, const char *path, struct place *ret)
{
    *ret = (struct place){0};
    if (diagnostics->documents && diagnostics->documents->roots.n)
        ret->node = diagnostics->documents->roots.items[0];
    const udpai_tree *node = ret->node;
    while (node && *path) {
        node = *path == '[' ? step_to_item(diagnostics, ret, &path)
                            : step_to_field(diagnostics, ret, &path);
        ret->node = node ? node : ret->node;
    }
    append(ret->path, strlen(ret->path), path);
    if (ret->node && has_refused(diagnostics, ret->node))
        ret->is_refused = true;
}

bool
udpai_diagnostics_is_unread(const udpai_diagnostics *diagnostics, const char *path)
{
    struct place place;
    find_place(diagnostics, path, &place);
    return place.is_refused;
}

/* ---- adding ---- */

static void
push(udpai_diagnostics *diagnostics, udpai_finding finding)
{
    finding.index = diagnostics->items.n;
    if (finding.error && udpai_vector_push(&diagnostics->items, finding)) {
        diagnostics->n_errors += !finding.is_warning;
        return;
    }
    udpa_error_unref(finding.error);
    diagnostics->has_failed = true;
}

static void add(udpai_diagnostics *diagnostics,
                const char *path,
                bool is_warning,
                const char *format,
                va_list arguments) UDPA_PRINTF(4, 0);

static void
add(udpai_diagnostics *diagnostics,
    const char *path,
    bool is_warning,
    const char *format,
    va_list arguments)
{
    char reason[1024];
    struct place found;
    vsnprintf(reason, sizeof(reason), format, arguments);
    find_place(diagnostics, path ? path : "", &found);
    if (path && found.is_refused)
        return;
    const udpai_tree *node = path ? found.node : NULL;
    const udpai_place place = {
        .source = path ? diagnostics->source_name : PROGRAM,
        .line = node ? node->line : 0,
        .column = node ? node->column : 0,
        .path = udpai_str_from(found.path),
    };
    udpai_finding finding = {.line = place.line, .column = place.column, .is_warning = is_warning};
    (void)udpai_fail_at(&finding.error, UDPA_ERR_INVAL, &place, "%s", reason);
    push(diagnostics, finding);
}

void
udpai_diagnostics_add(udpai_diagnostics *diagnostics, udpa_error *error)
{
    push(diagnostics, (udpai_finding){.error = error});
}

void
udpai_diagnostics_take_text(udpai_diagnostics *diagnostics)
{
    for (size_t i = 0; i < diagnostics->text.found.n; i++) {
        const udpai_text_error *error = &diagnostics->text.found.items[i];
        push(diagnostics, (udpai_finding){.line = error->line,
                                          .column = error->column,
                                          .error = udpa_error_ref(error->error)});
    }
}

void
udpai_diagnostics_error(udpai_diagnostics *diagnostics, const char *path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(diagnostics, path, false, format, arguments);
    va_end(arguments);
}

void
udpai_diagnostics_warn(udpai_diagnostics *diagnostics, const char *path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(diagnostics, path, true, format, arguments);
    va_end(arguments);
}

void
udpai_diagnostics_option(udpai_diagnostics *diagnostics, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(diagnostics, NULL, false, format, arguments);
    va_end(arguments);
}

/* ---- reporting ---- */

static int
compare(const void *a, const void *b)
{
    const udpai_finding *x = a, *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

void
udpai_diagnostics_report(udpai_diagnostics *diagnostics, udpai_finding_fn report, void *userdata)
{
    if (diagnostics->items.n > 1)
        qsort(diagnostics->items.items, diagnostics->items.n, sizeof(diagnostics->items.items[0]),
              compare);
    for (size_t i = 0; i < diagnostics->items.n; i++)
        report(diagnostics->items.items[i].error, diagnostics->items.items[i].is_warning, userdata);
}

void
udpai_diagnostics_done(udpai_diagnostics *diagnostics)
{
    for (size_t i = 0; i < diagnostics->items.n; i++)
        udpa_error_unref(diagnostics->items.items[i].error);
    udpai_vector_done(&diagnostics->items);
    udpai_text_errors_done(&diagnostics->text);
    udpai_documents_free(diagnostics->documents);
    *diagnostics = (udpai_diagnostics){0};
}
