/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "cli/client.h"
#include "cli/names.h"
#include "ctl/schema.h"
#include "model/resource.h"

#define STANDARD_INPUT "stdin.yaml" /* JSON is YAML */
#define READ_STEP ((size_t)64 * 1024)

static void
error(udpai_ctl_input *input, const char *path, const char *why)
{
    udpai_cli_complain("%s: %s", path, why);
    input->n_errors++;
}

/* ---- contents ---- */

static bool
read_all(udpai_ctl_input *input, FILE *file, const char *path, udpai_strbuf *contents)
{
    while (contents->len <= UDPAI_DOCUMENT_SIZE_DEFAULT) { /* what is larger, the codec refuses */
        char *room = udpai_strbuf_extend(contents, READ_STEP);
        if (!room) {
            error(input, path, udpa_err_text(UDPA_ERR_NOMEM));
            return false;
        }
        size_t n = fread(room, 1, READ_STEP, file);
        contents->len -= READ_STEP - n;
        if (n < READ_STEP && ferror(file)) {
            error(input, path, strerror(errno));
            return false;
        }
        if (n < READ_STEP)
            break;
    }
    return true;
}

/* The version is that of the contents: what was edited after 'get' is another one. What is signed,
 * or restored, must stay as it is. */
static udpa_resource *
with_own_version(udpa_resource *resource)
{
    udpai_resource_room room;
    if (udpa_resource_generation(resource))
        return udpa_resource_ref(resource);
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    udpa_resource *made = NULL;
    parts.version = (udpai_str){0};
    return udpai_resource_make(&made, &parts) == UDPA_OK ? made : NULL;
}

static bool
keep(udpai_ctl_input *input, const udpai_file_resource *from, const char *path)
{
    udpai_strbuf place = {0};
    udpai_strbuf_puts(&place, path);
    if (from->line)
        udpai_strbuf_printf(&place, ":%u", from->line);
    char *text = udpai_strbuf_take(&place);
    udpa_resource *resource = with_own_version(from->resource);
    if (text && resource && udpai_vector_reserve(&input->resources, 1) &&
        udpai_vector_push(&input->places, text)) {
        input->resources.items[input->resources.n++] = resource;
        return true;
    }
    udpai_free(text);
    udpa_resource_unref(resource);
    error(input, path, udpa_err_text(UDPA_ERR_NOMEM));
    return false;
}

static void
take_contents(udpai_ctl_input *input, const char *path, udpai_str contents)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_resource_file file = {
        .name = path,
        .contents = contents,
        .default_namespace = input->name_space,
        .kind = input->is_restored ? UDPAI_FILE_RESTORED : UDPAI_FILE_PRINTED,
    };
    udpai_resource_list list = {0};
    if (udpai_resource_file_read(input->schema, &file, &list, &error) != UDPA_OK) {
        udpai_cli_note("%s", udpa_error_message(error)); /* it begins with the place */
        input->n_errors++;
        return;
    }
    for (size_t i = 0; i < list.n && keep(input, &list.items[i], path); i++)
        continue;
    udpai_resource_list_done(&list);
}

/* ---- files ---- */

static void
take_stream(udpai_ctl_input *input, FILE *file, const char *path)
{
    udpai_strbuf contents = {0};
    if (read_all(input, file, path, &contents))
        take_contents(input, path, udpai_strbuf_view(&contents));
    udpai_strbuf_done(&contents);
}

/* NULL: errno has the reason, or it is 0 for what is no file: a pipe would be waited for. */
static FILE *
open_file(const char *path)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    FILE *file = NULL;
    errno = 0;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
        file = fdopen(fd, "rb");
    if (!file)
        close(fd);
    return file;
}

static void
take_file(udpai_ctl_input *input, const char *path)
{
    FILE *file = open_file(path);
    if (file) {
        take_stream(input, file, path);
        fclose(file);
        return;
    }
    error(input, path, errno ? strerror(errno) : "is no regular file; -f - is standard input");
}

/* As udpad reads directories: not what is hidden, or has no suffix of a format. */
static int
is_resource_file(const struct dirent *entry)
{
    udpai_format format;
    return entry->d_name[0] != '.' && udpai_resource_file_format(entry->d_name, &format);
}

static void
take_directory(udpai_ctl_input *input, const char *path)
{
    struct dirent **entries;
    int n = scandir(path, &entries, is_resource_file, alphasort);
    if (n < 0) {
        error(input, path, strerror(errno));
        return;
    }
    if (n == 0)
        error(input, path,
              "no resource files in this directory (.yaml, .json, .textproto, .pb and others)");
    for (int i = 0; i < n; i++) {
        udpai_strbuf file = {0};
        udpai_strbuf_printf(&file, "%s/%s", path, entries[i]->d_name);
        if (udpai_strbuf_failed(&file))
            error(input, path, udpa_err_text(UDPA_ERR_NOMEM));
        else
            take_file(input, file.data);
        udpai_strbuf_done(&file);
        free(entries[i]);
    }
    free(entries);
}

static void
take(udpai_ctl_input *input, const char *path)
{
    struct stat about;
    if (strcmp(path, "-") == 0)
        take_stream(input, stdin, STANDARD_INPUT);
    else if (stat(path, &about) != 0)
        error(input, path, strerror(errno));
    else if (S_ISDIR(about.st_mode))
        take_directory(input, path);
    else
        take_file(input, path);
}

/* ---- all of them ---- */

struct known {
    size_t index;
    udpai_str key;
};

static udpai_str
known_key(const void *item)
{
    return ((const struct known *)item)->key;
}

/* "type name", which is as good as a pair: a type URL has no blank. */
static void
note(udpai_ctl_input *input, udpai_map *map, struct known *known)
{
    const udpa_resource *resource = input->resources.items[known->index];
    const struct known *first = udpai_map_get(map, known->key);
    udpai_str kind = udpai_cli_type_short(udpai_resource_type_url(resource));
    if (first) {
        udpai_cli_complain("%s: %.*s '%s' is already at %s", input->places.items[known->index],
                           (int)kind.len, kind.data, udpa_resource_name(resource),
                           input->places.items[first->index]);
        input->n_errors++;
    } else if (!udpai_map_add(map, known)) {
        error(input, input->places.items[known->index], udpa_err_text(UDPA_ERR_NOMEM));
    }
}

static void
check_doubles(udpai_ctl_input *input)
{
    size_t n = input->resources.n;
    UDPAI_AUTO_FREE struct known *all = udpai_alloc_array(n + 1, sizeof(*all));
    udpai_map map;
    udpai_map_init(&map, known_key);
    for (size_t i = 0; all && i < n; i++) {
        udpai_strbuf key = {0};
        udpai_strbuf_printf(&key, "%s %s", udpa_resource_type_url(input->resources.items[i]),
                            udpa_resource_name(input->resources.items[i]));
        all[i] = (struct known){i, {udpai_strbuf_take(&key), 0}};
        all[i].key.len = all[i].key.data ? strlen(all[i].key.data) : 0;
        note(input, &map, &all[i]);
    }
    udpai_map_done(&map);
    for (size_t i = 0; all && i < n; i++)
        udpai_free((char *)(uintptr_t)all[i].key.data);
    if (!all)
        error(input, "input", udpa_err_text(UDPA_ERR_NOMEM));
}

/* A publication cannot be divided further than this; see udpa_publish(). */
static void
check_sizes(udpai_ctl_input *input)
{
    for (size_t i = 0; i < input->resources.n; i++) {
        const udpa_resource *resource = input->resources.items[i];
        udpai_str kind = udpai_cli_type_short(udpai_resource_type_url(resource));
        size_t size = udpai_resource_footprint(resource);
        if (size <= UDPAI_CTL_RESOURCE_BYTES)
            continue;
        udpai_cli_complain("%s: %.*s '%s' has %zu bytes, and a resource may have %zu",
                           input->places.items[i], (int)kind.len, kind.data,
                           udpa_resource_name(resource), size, UDPAI_CTL_RESOURCE_BYTES);
        input->n_errors++;
    }
}

udpai_cli_exit
udpai_ctl_input_read(udpai_ctl_input *input, const udpai_ctl_options *options)
{
    *input = (udpai_ctl_input){
        .schema = udpai_ctl_schema(options),
        .name_space = udpai_str_from(udpai_cli_namespace(&options->common)),
        .is_restored = options->apply.is_restore,
    };
    if (!input->schema)
        return UDPAI_CLI_MISTAKE;
    for (size_t i = 0; i < options->files.n; i++)
        take(input, options->files.items[i]);
    check_doubles(input);
    check_sizes(input);
    if (input->n_errors)
        return UDPAI_CLI_MISTAKE;
    if (input->resources.n)
        return UDPAI_CLI_GOOD;
    udpai_cli_complain("there are no resources in what -f names");
    return UDPAI_CLI_MISTAKE;
}

bool
udpai_ctl_input_has(const udpai_ctl_input *input, const udpa_resource *resource)
{
    for (size_t i = 0; i < input->resources.n; i++) {
        const udpa_resource *mine = input->resources.items[i];
        if (udpai_str_eq(udpai_resource_name(mine), udpai_resource_name(resource)) &&
            udpai_str_eq(udpai_resource_type_url(mine), udpai_resource_type_url(resource)))
            return true;
    }
    return false;
}

void
udpai_ctl_input_done(udpai_ctl_input *input)
{
    for (size_t i = 0; i < input->resources.n; i++)
        udpa_resource_unref(input->resources.items[i]);
    for (size_t i = 0; i < input->places.n; i++)
        udpai_free(input->places.items[i]);
    udpai_vector_done(&input->resources);
    udpai_vector_done(&input->places);
    udpai_schema_unref(input->schema);
}
