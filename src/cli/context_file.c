/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/context_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

#define FILE_MAX ((size_t)1 << 20)
#define REST "/udpa/config.yaml"

/* A relative XDG_CONFIG_HOME is to be ignored, as its specification has it. */
char *
udpai_cli_context_file_path(void)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    udpai_strbuf path = {0};
    if (base && *base == '/')
        udpai_strbuf_printf(&path, "%s" REST, base);
    else if (home && *home == '/')
        udpai_strbuf_printf(&path, "%s/.config" REST, home);
    return path.len || path.failed ? udpai_strbuf_take(&path) : NULL;
}

/* ---- reading ---- */

static udpa_err
read_text(int fd, const char *path, udpai_strbuf *text, udpa_error **ret_error)
{
    char room[4096];
    ssize_t n;
    while ((n = read(fd, room, sizeof(room))) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0)
            udpai_strbuf_append(text, room, (size_t)n);
        if (text->len > FILE_MAX)
            return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s: it is larger than 1 MiB", path);
    }
    if (n < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "%s: %s", path, strerror(errno));
    return udpai_strbuf_failed(text) ? udpai_fail_code(ret_error, UDPA_ERR_NOMEM) : UDPA_OK;
}

udpa_err
udpai_cli_context_file_load(const char *path,
                            udpai_cli_contexts *ret_contexts,
                            udpa_error **ret_error)
{
    udpai_strbuf text = {0};
    *ret_contexts = (udpai_cli_contexts){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return UDPA_OK;
    if (fd < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "%s: %s", path, strerror(errno));
    udpa_err err = read_text(fd, path, &text, ret_error);
    (void)close(fd);
    if (err == UDPA_OK)
        err = udpai_cli_contexts_read(ret_contexts, udpai_strbuf_view(&text), path, ret_error);
    udpai_strbuf_done(&text);
    return err;
}

/* ---- writing ---- */

/* Those above the file that are not there. */
static udpa_err
make_folders(const char *path, udpa_error **ret_error)
{
    UDPAI_AUTO_FREE char *folder = udpai_strdup(path);
    if (!folder)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return udpai_fail(ret_error, UDPA_ERR_IO, "%s: %s", folder, strerror(errno));
        *slash = '/';
    }
    return UDPA_OK;
}

static bool
write_text(int fd, udpai_str text)
{
    size_t at = 0;
    while (at < text.len) {
        ssize_t n = write(fd, text.data + at, text.len - at);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* A crash leaves the old file or the new one. */
static udpa_err
replace(const char *path, udpai_str text, udpa_error **ret_error)
{
    udpai_strbuf name = {0};
    udpai_strbuf_printf(&name, "%s.XXXXXX", path);
    UDPAI_AUTO_FREE char *fresh = udpai_strbuf_take(&name);
    if (!fresh)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    int fd = mkstemp(fresh);
    if (fd < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "%s: %s", path, strerror(errno));
    bool is_good = write_text(fd, text) && fsync(fd) == 0;
    is_good = close(fd) == 0 && is_good;
    if (is_good && rename(fresh, path) == 0)
        return UDPA_OK;
    udpa_err err = udpai_fail(ret_error, UDPA_ERR_IO, "%s: %s", path, strerror(errno));
    (void)unlink(fresh);
    return err;
}

udpa_err
udpai_cli_context_file_save(const char *path,
                            const udpai_cli_contexts *contexts,
                            udpa_error **ret_error)
{
    udpai_strbuf text = {0};
    udpai_cli_contexts_put(contexts, &text);
    udpa_err err = udpai_strbuf_failed(&text) ? udpai_fail_code(ret_error, UDPA_ERR_NOMEM)
                                              : make_folders(path, ret_error);
    char *real = err == UDPA_OK ? realpath(path, NULL) : NULL; /* what a link leads to */
    if (err == UDPA_OK)
        err = replace(real ? real : path, udpai_strbuf_view(&text), ret_error);
    free(real);
    udpai_strbuf_done(&text);
    return err;
}
