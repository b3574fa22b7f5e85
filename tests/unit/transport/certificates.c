/* SPDX-License-Identifier: Apache-2.0 */
#include "certificates.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OPTIONS_MAX 12

const char *certificates_script;

extern char **environ;

/* Runs a program, its output thrown away; its exit status, -1: it could not be run. */
static int
run(const char *program, const char *const *arguments)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    int number =
        posix_spawnp(&pid, program, &actions, NULL, (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (number != 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

char *
certificates_begin(void)
{
    const char *const version[] = {"openssl", "version", NULL};
    char template[] = "/tmp/udpa-certificates-XXXXXX";
    if (run("openssl", version) != 0)
        return NULL;
    assert_non_null(mkdtemp(template));
    return strdup(template);
}

static int
remove_one(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    (void)about;
    (void)kind;
    (void)at;
    return remove(path);
}

void
certificates_end(char *directory)
{
    nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(directory);
}

void
certificates_issue(udpai_tls_files *ret_files,
                   const char *directory,
                   const char *authority,
                   const char *name,
                   const char *const *options)
{
    char at[256], certificate[512], key[512], ca[512];
    const char *arguments[OPTIONS_MAX + 4] = {certificates_script, at, name};
    snprintf(at, sizeof(at), "%s/%s", directory, authority);
    for (size_t i = 0; options && options[i]; i++) {
        assert_true(i < OPTIONS_MAX);
        arguments[3 + i] = options[i];
    }
    assert_int_equal(run(certificates_script, arguments), 0);
    snprintf(certificate, sizeof(certificate), "%s/%s.crt", at, name);
    snprintf(key, sizeof(key), "%s/%s.key", at, name);
    snprintf(ca, sizeof(ca), "%s/ca.crt", at);
    const udpai_tls_paths paths = {certificate, key, ca, NULL};
    udpa_error *error = NULL;
    if (udpai_tls_files_read(ret_files, &paths, time(NULL), &error) != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
}
