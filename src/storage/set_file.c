/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/set_file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "storage/small_file.h"
#include "storage/sqlite.h"

#define FILE_NAME "replica-set"

static udpa_err
fail(const char *directory, const char *what, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot %s %s/" FILE_NAME ": %s", what, directory,
                      strerror(errno));
}

/* ---- reading ---- */

static bool
is_there(const char *directory, const char *name)
{
    udpai_strbuf path = {0};
    udpai_strbuf_printf(&path, "%s/%s", directory, name);
    bool is_found = !udpai_strbuf_failed(&path) && access(path.data, F_OK) == 0;
    udpai_strbuf_done(&path);
    return is_found;
}

bool
udpai_set_file_is_alone(const char *directory)
{
    return is_there(directory, UDPAI_SQLITE_FILE) && !is_there(directory, FILE_NAME);
}

/* The id, a space, and the prefix. */
static udpa_err
take(const char *directory,
     const char *prefix,
     const char *text,
     char *ret_id,
     udpa_error **ret_error)
{
    size_t len = strcspn(text, " ");
    const char *end = strchr(text, '\n');
    if (len == 0 || len > UDPAI_SET_FILE_ID_MAX || text[len] != ' ' || !end)
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                          "%s/" FILE_NAME " is damaged: remove %s, which is a copy of what etcd "
                          "has",
                          directory, directory);
    const udpai_str of = {text + len + 1, (size_t)(end - text) - len - 1};
    if (!udpai_str_eq(of, udpai_str_from(prefix)))
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "%s is of the replica set at %.*s, not of that at %s: set "
                          "store.directory to an empty directory",
                          directory, UDPAI_SHOWN(of), prefix);
    memcpy(ret_id, text, len);
    ret_id[len] = '\0';
    return UDPA_OK;
}

udpa_err
udpai_set_file_read(const char *directory,
                    const char *prefix,
                    char ret_id[UDPAI_SET_FILE_ID_MAX + 1],
                    udpa_error **ret_error)
{
    char text[UDPAI_SMALL_FILE_MAX + 1];
    ret_id[0] = '\0';
    if (udpai_small_file_read(directory, FILE_NAME, text) >= 0)
        return take(directory, prefix, text, ret_id, ret_error);
    if (errno != ENOENT)
        return fail(directory, "read", ret_error);
    if (!is_there(directory, UDPAI_SQLITE_FILE))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                      "%s has the store of a node without replicas, which would be lost: to move "
                      "it to etcd, start udpad with store.engine SQLITE, run 'udpactl store "
                      "migrate', and start it with ETCD again; else set store.directory to an "
                      "empty directory",
                      directory);
}

udpa_err
udpai_set_file_check_none(const char *directory, udpa_error **ret_error)
{
    if (!is_there(directory, FILE_NAME))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                      "%s is the copy of a replica set, of which this node would go its own way: "
                      "set store.engine to ETCD again, or store.directory to another directory; "
                      "to keep what the copy has, start udpad with ETCD, run 'udpactl store "
                      "migrate', and start it with SQLITE again",
                      directory);
}

/* ---- writing ---- */

udpa_err
udpai_set_file_write(const char *directory,
                     const char *prefix,
                     udpai_str id,
                     udpa_error **ret_error)
{
    char text[UDPAI_SMALL_FILE_MAX];
    int len = snprintf(text, sizeof(text), "%.*s %s\n", (int)id.len, id.data, prefix);
    if (len <= 0 || len >= (int)sizeof(text))
        return udpai_fail_code(ret_error, UDPA_ERR_LIMIT);
    return udpai_small_file_write(directory, FILE_NAME, (udpai_str){text, (size_t)len})
               ? UDPA_OK
               : fail(directory, "write", ret_error);
}

udpa_err
udpai_set_file_remove(const char *directory, udpa_error **ret_error)
{
    return udpai_small_file_remove(directory, FILE_NAME) ? UDPA_OK
                                                         : fail(directory, "remove", ret_error);
}
