/* SPDX-License-Identifier: Apache-2.0 */
/* Reading is done here, because certs/ touches no files; judging is left to it. */
#include "transport/tls_files.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "certs/certificate.h"
#include "loop/read_write.h"
#include "transport/key_file.h"

#define LOG "tls"

/* ---- reading ---- */

static udpa_err
check_file(
    int fd, const char *path, size_t max_bytes, struct stat *ret_info, udpa_error **ret_error)
{
    if (fstat(fd, ret_info) != 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "%s: cannot be examined: %s", path,
                          strerror(errno));
    if (!S_ISREG(ret_info->st_mode))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s: is not a regular file", path);
    if (ret_info->st_size < 0 || (size_t)ret_info->st_size > max_bytes)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "%s: %lld bytes are more than %zu", path,
                          (long long)ret_info->st_size, max_bytes);
    return UDPA_OK;
}

/* The buffer has the size of the file from the beginning: growing it would leave copies of a key
 * in memory. */
static udpa_err
read_text(int fd, const char *path, size_t size, char **ret_text, udpa_error **ret_error)
{
    char *text = udpai_alloc(size + 2); /* one to see it grow, one for the NUL */
    if (!text)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    ssize_t n = udpai_read_all(fd, text, size + 1);
    udpa_err err = UDPA_OK;
    if (n < 0)
        err = udpai_fail(ret_error, UDPA_ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
    else if ((size_t)n != size)
        err = udpai_fail(ret_error, UDPA_ERR_IO,
                         "%s: changed while it was read; replace such files by renaming a new one",
                         path);
    else if (memchr(text, '\0', size))
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "%s: has zero bytes, so it is no PEM file; files in DER form can be "
                         "converted with openssl",
                         path);
    if (err == UDPA_OK) {
        *ret_text = text;
        return UDPA_OK;
    }
    OPENSSL_cleanse(text, size + 2);
    udpai_free(text);
    return err;
}

static udpa_err
read_file(
    const char *path, size_t max_bytes, char **ret_text, mode_t *ret_mode, udpa_error **ret_error)
{
    struct stat info;
    /* Not to wait for a writer, should it be a pipe. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "%s: cannot be opened: %s", path,
                          strerror(errno));
    udpa_err err = check_file(fd, path, max_bytes, &info, ret_error);
    if (err == UDPA_OK)
        err = read_text(fd, path, (size_t)info.st_size, ret_text, ret_error);
    if (err == UDPA_OK)
        *ret_mode = info.st_mode;
    close(fd);
    return err;
}

static bool
given(const char *path)
{
    return path && *path;
}

static udpa_err
read_files(udpai_tls_files *files, const udpai_tls_paths *paths, udpa_error **ret_error)
{
    mode_t mode = 0;
    udpa_err err = UDPA_OK;
    if (given(paths->certificate) != given(paths->private_key))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: a certificate and its private key come together: give both files, "
                          "or none",
                          given(paths->certificate) ? paths->certificate : paths->private_key);
    if (given(paths->revocations) && !given(paths->authorities))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: a revocation list goes with the authorities that issue it: name "
                          "their file, too",
                          paths->revocations);
    if (given(paths->authorities))
        err = read_file(paths->authorities, UDPAI_PEM_MAX, &files->authorities, &mode, ret_error);
    if (err == UDPA_OK && given(paths->certificate))
        err = read_file(paths->certificate, UDPAI_PEM_MAX, &files->certificate, &mode, ret_error);
    if (err == UDPA_OK && given(paths->private_key))
        err = read_file(paths->private_key, UDPAI_PEM_MAX, &files->private_key, &mode, ret_error);
    return err == UDPA_OK && files->private_key
               ? udpai_key_file_check_mode(paths->private_key, mode, ret_error)
               : err;
}

/* ---- checking ---- */

/* That our own names are odd is for our peers to refuse: without them we can serve all the same. */
static udpa_err
set_identity(udpai_tls_files *files, const udpai_chain *chain, udpa_error **ret_error)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    files->not_after_s = udpai_chain_not_after_s(chain);
    udpa_err err = udpai_chain_identity(chain, &files->identity, &error);
    if (err == UDPA_ERR_NOMEM)
        return udpai_fail_code(ret_error, err);
    if (err != UDPA_OK)
        udpai_log(UDPA_LOG_WARNING, LOG, "%s", udpa_error_message(error));
    return UDPA_OK;
}

static udpa_err
check_certificate(udpai_tls_files *files,
                  const udpai_tls_paths *paths,
                  int64_t now_s,
                  udpa_error **ret_error)
{
    const udpai_pem pem = {paths->certificate, udpai_str_from(files->certificate)};
    const udpai_pem key = {paths->private_key, udpai_str_from(files->private_key)};
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = NULL;
    udpa_err err = udpai_chain_new(&chain, pem, ret_error);
    if (err == UDPA_OK)
        err = udpai_chain_check_key(chain, key, ret_error);
    if (err == UDPA_OK)
        err = udpai_chain_check_time(chain, now_s, ret_error);
    return err == UDPA_OK ? set_identity(files, chain, ret_error) : err;
}

/* A list that is late is no reason to be without: it is what there is. */
static udpa_err
make_trust(udpai_tls_files *files,
           const udpai_tls_paths *paths,
           const char *revocations,
           int64_t now_s,
           udpa_error **ret_error)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *late = NULL;
    const udpai_pem pem = {paths->authorities, udpai_str_from(files->authorities)};
    const udpai_pem lists = {paths->revocations, udpai_str_from(revocations)};
    udpa_err err =
        udpai_trust_store_new(&files->trust, pem, revocations ? &lists : NULL, ret_error);
    if (err == UDPA_OK && udpai_trust_store_check_time(files->trust, now_s, &late) != UDPA_OK)
        udpai_log(UDPA_LOG_WARNING, LOG, "%s", udpa_error_message(late));
    return err;
}

static udpa_err
read_revocations(udpai_tls_files *files,
                 const udpai_tls_paths *paths,
                 int64_t now_s,
                 udpa_error **ret_error)
{
    mode_t mode;
    char *text = NULL;
    udpa_err err = UDPA_OK;
    if (given(paths->revocations))
        err = read_file(paths->revocations, UDPAI_CRL_PEM_MAX, &text, &mode, ret_error);
    if (err == UDPA_OK)
        err = make_trust(files, paths, text, now_s, ret_error);
    udpai_free(text);
    return err;
}

static udpa_err
check_authorities(udpai_tls_files *files,
                  const udpai_tls_paths *paths,
                  int64_t now_s,
                  udpa_error **ret_error)
{
    const udpai_pem pem = {paths->authorities, udpai_str_from(files->authorities)};
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = NULL;
    udpa_err err = udpai_chain_new(&chain, pem, ret_error);
    if (err == UDPA_OK)
        err = udpai_chain_check_authorities(chain, now_s, ret_error);
    return err == UDPA_OK ? read_revocations(files, paths, now_s, ret_error) : err;
}

udpa_err
udpai_tls_files_read(udpai_tls_files *ret_files,
                     const udpai_tls_paths *paths,
                     int64_t now_s,
                     udpa_error **ret_error)
{
    udpai_tls_files files = {.not_after_s = INT64_MAX};
    udpa_err err = read_files(&files, paths, ret_error);
    if (err == UDPA_OK && files.authorities)
        err = check_authorities(&files, paths, now_s, ret_error);
    if (err == UDPA_OK && files.certificate)
        err = check_certificate(&files, paths, now_s, ret_error);
    if (err == UDPA_OK)
        *ret_files = files;
    else
        udpai_tls_files_done(&files);
    return err;
}

void
udpai_tls_files_done(udpai_tls_files *files)
{
    if (files->private_key)
        OPENSSL_cleanse(files->private_key, strlen(files->private_key));
    udpai_free(files->certificate);
    udpai_free(files->private_key);
    udpai_free(files->authorities);
    udpai_identity_unref(files->identity);
    udpai_trust_store_unref(files->trust);
    memset(files, 0, sizeof(*files));
}
