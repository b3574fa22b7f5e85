/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/files_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "daemon/plan.h"
#include "daemon/signatures_check.h"
#include "daemon/sinks_check.h"
#include "daemon/tree_check.h"
#include "loop/clock.h"
#include "storage/secret_key.h"
#include "transport/tls_files.h"

#define PATH_LEN UDPAI_FIELD_PATH_MAX

/* Who names the file: a field of the bootstrap file, or an option. */
struct named {
    udpai_diagnostics *diagnostics;
    const char *path;   /* NULL: not the bootstrap file */
    const char *option; /* then */
};

const char *
udpai_files_where(char room[UDPAI_WHERE_MAX], const char *path)
{
    char here[PATH_MAX];
    room[0] = '\0';
    if (path[0] != '/' && access(path, F_OK) != 0 && getcwd(here, sizeof(here)))
        snprintf(room, UDPAI_WHERE_MAX, "; relative paths begin in %s", here);
    return room;
}

static void tell(const struct named *named, const char *file, const char *format, ...)
    UDPA_PRINTF(3, 4);

static void
tell(const struct named *named, const char *file, const char *format, ...)
{
    char text[1024], room[UDPAI_WHERE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    const char *where = udpai_files_where(room, file);
    if (named->path)
        udpai_diagnostics_error(named->diagnostics, named->path, "%s%s", text, where);
    else
        udpai_diagnostics_option(named->diagnostics, "%s: %s%s", named->option, text, where);
}

/* ---- certificates ---- */

/* Keys and certificates of a "tls". */
struct tls {
    const char *path;
    const char *ca_field;
    udpai_tls_paths files;
};

static bool
can_open(const struct named *named, const char *file)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        tell(named, file, "%s: cannot be opened: %s", file, strerror(errno));
    else
        close(fd);
    return fd >= 0;
}

/* Rules, and those who count streams, know peers by their names. */
static void
check_name(const struct named *named, const struct tls *tls, const udpai_tls_files *files)
{
    char path[PATH_LEN];
    if (udpai_identity_name(files->identity).len == 0)
        udpai_diagnostics_warn(
            named->diagnostics, udpai_path_field(path, tls->path, "certificate_file"),
            "%s: has no common name, URI or DNS name that is clear: others cannot "
            "tell by it who this node is",
            tls->files.certificate);
}

/* Of a pair the message says which file is to blame. */
static bool
read_tls(struct named named,
         const struct tls *tls,
         const udpai_tls_paths *paths,
         const char *blamed_field)
{
    char path[PATH_LEN];
    udpai_tls_files files = {0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_tls_files_read(&files, paths, udpai_wall_us() / 1000000, &error);
    if (err == UDPA_OK && paths->certificate)
        check_name(&named, tls, &files);
    udpai_tls_files_done(&files);
    if (err == UDPA_OK)
        return true;
    const char *text = udpa_error_message(error),
               *file = paths->revocations ? paths->revocations : paths->authorities;
    if (!file) {
        size_t len = strlen(paths->private_key);
        bool is_key = strncmp(text, paths->private_key, len) == 0 && text[len] == ':';
        file = is_key ? paths->private_key : paths->certificate;
        blamed_field = is_key ? "private_key_file" : "certificate_file";
    }
    named.path = udpai_path_field(path, tls->path, blamed_field);
    tell(&named, file, "%s", text);
    return false;
}

static void
check_tls(udpai_diagnostics *diagnostics, const struct tls *tls)
{
    const udpai_tls_paths *files = &tls->files;
    char path[PATH_LEN];
    bool has_authorities = false;
    struct named named = {diagnostics, path, NULL};
    udpai_path_field(path, tls->path, tls->ca_field);
    if (*files->authorities && can_open(&named, files->authorities))
        has_authorities = read_tls(
            named, tls, &(udpai_tls_paths){.authorities = files->authorities}, tls->ca_field);
    udpai_path_field(path, tls->path, "crl_file");
    if (*files->revocations && !*files->authorities)
        udpai_diagnostics_error(diagnostics, path,
                                "revocation lists go with the authorities that issue them: %s is "
                                "missing",
                                tls->ca_field);
    if (*files->revocations && can_open(&named, files->revocations) && has_authorities)
        (void)read_tls(named, tls,
                       &(udpai_tls_paths){.authorities = files->authorities,
                                          .revocations = files->revocations},
                       "crl_file");
    udpai_path_field(path, tls->path, "certificate_file");
    bool has_certificate = *files->certificate && can_open(&named, files->certificate);
    udpai_path_field(path, tls->path, "private_key_file");
    bool has_key = *files->private_key && can_open(&named, files->private_key);
    if (has_certificate && has_key)
        (void)read_tls(named, tls,
                       &(udpai_tls_paths){.certificate = files->certificate,
                                          .private_key = files->private_key},
                       NULL);
}

static void
check_client_tls(udpai_diagnostics *diagnostics,
                 const char *path,
                 const Udpa__Config__V1__ClientTls *tls)
{
    char room[PATH_LEN];
    if (tls)
        check_tls(diagnostics, &(struct tls){
                                   .path = udpai_path_field(room, path, "tls"),
                                   .ca_field = "ca_file",
                                   .files = {tls->certificate_file, tls->private_key_file,
                                             tls->ca_file, tls->crl_file},
                               });
}

static void
check_sockets(udpai_diagnostics *diagnostics,
              const char *field,
              Udpa__Config__V1__Socket *const *sockets,
              size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const Udpa__Config__V1__ServerTls *tls = sockets[i]->tls;
        char path[PATH_LEN];
        udpai_path_item(path, field, i);
        if (tls)
            check_tls(diagnostics, &(struct tls){
                                       .path = udpai_path_field(path, path, "tls"),
                                       .ca_field = "client_ca_file",
                                       .files = {tls->certificate_file, tls->private_key_file,
                                                 tls->client_ca_file, tls->crl_file},
                                   });
    }
}

/* ---- directories ---- */

static void
check_directory(const struct named *named, const char *directory)
{
    DIR *found = *directory ? opendir(directory) : NULL;
    if (*directory && !found)
        tell(named, directory, "%s: cannot be read: %s", directory, strerror(errno));
    if (found)
        closedir(found);
}

/* Permissions do not tell all: a file system may refuse (/proc, a quota, no room). So a directory
 * is made there, and removed at once. */
static int
errno_of_making_in(const char *directory)
{
    udpai_strbuf path = {0};
    udpai_strbuf_printf(&path, "%s/.udpad-check-XXXXXX", directory);
    int number = udpai_strbuf_failed(&path) ? ENOMEM : mkdtemp(path.data) ? 0 : errno;
    if (number == 0)
        rmdir(path.data);
    udpai_strbuf_done(&path);
    return number;
}

/* Of one that will be made. */
static int
errno_of_parent(const char *directory)
{
    UDPAI_AUTO_FREE char *copy = udpai_strdup(directory);
    size_t len = copy ? strlen(copy) : 0;
    while (len > 1 && copy[len - 1] == '/')
        copy[--len] = '\0';
    char *slash = copy ? strrchr(copy, '/') : NULL;
    if (slash)
        slash[slash == copy] = '\0';
    return errno_of_making_in(slash ? copy : ".");
}

static void
check_state(const struct named *named, const char *directory)
{
    struct stat info;
    int number;
    if (stat(directory, &info) == 0 && !S_ISDIR(info.st_mode)) {
        tell(named, directory, "%s: is no directory", directory);
    } else if (faccessat(AT_FDCWD, directory, R_OK | W_OK | X_OK, AT_EACCESS) == 0) {
        number = errno_of_making_in(directory);
        if (number != 0)
            tell(named, directory, "%s: cannot be written to: %s", directory, strerror(number));
    } else if (errno != ENOENT) {
        tell(named, directory, "%s: cannot be written to: %s", directory, strerror(errno));
    } else if ((number = errno_of_parent(directory)) != 0) {
        tell(named, directory, "%s: is not there, and cannot be made: %s", directory,
             strerror(number));
    }
}

/* ---- sections ---- */

static void
check_source(udpai_diagnostics *diagnostics,
             const char *path,
             const Udpa__Config__V1__ConfigSource *source)
{
    char room[PATH_LEN];
    if (source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA)
        check_client_tls(diagnostics, udpai_path_field(room, path, "udpa"), source->udpa->tls);
    if (source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS)
        check_client_tls(diagnostics, udpai_path_field(room, path, "xds"), source->xds->tls);
    if (source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST)
        check_client_tls(diagnostics, udpai_path_field(room, path, "rest"), source->rest->tls);
    if (source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_RUNTIME_TREE)
        udpai_tree_check_files(source->runtime_tree, udpai_path_field(room, path, "runtime_tree"),
                               diagnostics);
    if (source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_PATH)
        check_directory(
            &(struct named){diagnostics, udpai_path_field(room, path, "path.path"), NULL},
            source->path->path);
}

static void
check_static(udpai_diagnostics *diagnostics, const Udpa__Config__V1__StaticResources *all)
{
    char path[PATH_LEN];
    for (size_t i = 0; all && i < all->n_config_sources; i++)
        check_source(diagnostics, udpai_path_item(path, "static_resources.config_sources", i),
                     all->config_sources[i]);
    for (size_t i = 0; all && i < all->n_directories; i++) {
        udpai_path_item(path, "static_resources.directories", i);
        check_directory(&(struct named){diagnostics, udpai_path_field(path, path, "path"), NULL},
                        all->directories[i]->path);
    }
}

static void
check_providers(udpai_diagnostics *diagnostics, const Udpa__Config__V1__Bootstrap *message)
{
    for (size_t i = 0; i < message->n_providers; i++) {
        const Udpa__Config__V1__Provider *provider = message->providers[i];
        for (size_t k = 0; k < provider->n_config_descriptors; k++) {
            const Udpa__Config__V1__ConfigDescriptor *descriptor = provider->config_descriptors[k];
            char path[PATH_LEN];
            snprintf(path, sizeof(path), "providers[%zu].config_descriptors[%zu].config_source", i,
                     k);
            if (descriptor->source_case ==
                UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_CONFIG_SOURCE)
                check_source(diagnostics, path, descriptor->config_source);
        }
    }
}

static void
check_key(udpai_diagnostics *diagnostics, const char *file)
{
    const struct named named = {diagnostics, "store.key_file", NULL};
    uint8_t key[UDPAI_SECRET_KEY_SIZE];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_secret_key_read(file, key, &error) != UDPA_OK)
        tell(&named, file, "%s", udpa_error_message(error));
    OPENSSL_cleanse(key, sizeof(key));
}

static void
check_store(udpai_diagnostics *diagnostics,
            const Udpa__Config__V1__Store *store,
            const udpai_options *options)
{
    if (options->state)
        check_state(&(struct named){diagnostics, NULL, "--state"}, options->state);
    else if (store && *store->directory)
        check_state(&(struct named){diagnostics, "store.directory", NULL}, store->directory);
    else if (!store || !store->in_memory)
        check_state(&(struct named){diagnostics, NULL, "the default of --state"},
                    UDPAI_DEFAULT_STATE);
    if (store && *store->key_file)
        check_key(diagnostics, store->key_file);
}

static void
check_forwards(udpai_diagnostics *diagnostics, const Udpa__Config__V1__Bootstrap *message)
{
    char path[PATH_LEN], room[PATH_LEN];
    for (size_t i = 0; i < message->n_sinks; i++) {
        const Udpa__Config__V1__SinkForward *forward = message->sinks[i]->forward;
        udpai_path_item(path, "sinks", i);
        if (forward)
            check_client_tls(diagnostics, udpai_path_field(room, path, "forward"), forward->tls);
    }
}

void
udpai_files_check(const Udpa__Config__V1__Bootstrap *message,
                  const udpai_options *options,
                  udpai_diagnostics *diagnostics)
{
    const Udpa__Config__V1__DynamicSources *dynamic = message->dynamic_sources;
    const Udpa__Config__V1__OrcaCollections *orca = message->orca_collections;
    char path[PATH_LEN];
    if (options->resources)
        check_directory(&(struct named){diagnostics, NULL, "--resources"}, options->resources);
    if (!options->listen)
        check_sockets(diagnostics, "sockets", message->sockets, message->n_sockets);
    if (!options->http && message->http)
        check_sockets(diagnostics, "http.sockets", message->http->sockets,
                      message->http->n_sockets);
    check_static(diagnostics, message->static_resources);
    check_providers(diagnostics, message);
    for (size_t i = 0; i < message->n_dial; i++)
        check_client_tls(diagnostics, udpai_path_item(path, "dial", i), message->dial[i]->tls);
    for (size_t i = 0; dynamic && i < dynamic->n_credentials; i++)
        check_client_tls(diagnostics, udpai_path_item(path, "dynamic_sources.credentials", i),
                         dynamic->credentials[i]->tls);
    for (size_t i = 0; orca && i < orca->n_credentials; i++)
        check_client_tls(diagnostics, udpai_path_item(path, "orca_collections.credentials", i),
                         orca->credentials[i]->tls);
    udpai_signatures_check_files(message, diagnostics);
    check_forwards(diagnostics, message);
    udpai_sinks_check_files(message, diagnostics);
    check_store(diagnostics, message->store, options);
}
