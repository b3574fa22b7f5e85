/* SPDX-License-Identifier: Apache-2.0 */
/* diff: what a node has, beside what files have. How they differ, diff(1) shows, or another program
 * that the user has chosen: both sides are written into a directory of their own. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/percent.h"
#include "cli/collect.h"
#include "cli/names.h"
#include "cli/terminal.h"
#include "codec/convert.h"
#include "ctl/commands.h"
#include "ctl/input.h"
#include "ctl/prune.h"
#include "model/resource.h"
#include "model/types.h"
#include "wire/entry.h"

#define PROGRAM_VARIABLE "UDPACTL_EXTERNAL_DIFF"
#define NODE "node"
#define FILES "files"
#define DIFFERENCES 1 /* the exit status of diff(1) */

extern char **environ;

typedef struct diffing {
    udpai_cli *cli;
    udpai_ctl_input input;
    udpai_cli_found found;
    char folder[PATH_MAX]; /* of both sides; empty: none yet */
    UDPAI_VECTOR(char *) written;
    bool has_failed, differs;
} diffing;

static void
fail(diffing *self, const char *what, const char *why)
{
    udpai_cli_complain("%s: %s", what, why);
    self->has_failed = true;
}

/* ---- a resource as text ---- */

/* What an author writes of it: neither its version, which follows from that, nor how it came. */
static udpa_err
as_written(const udpa_resource *resource, udpa_resource **ret_resource)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    parts.version = parts.authority = (udpai_str){0};
    parts.generation = 0;
    parts.signature = (udpai_signature){0};
    parts.hops = NULL;
    parts.n_hops = 0;
    parts.hop_path = NULL;
    return udpai_resource_make(ret_resource, &parts);
}

/* It has one all the same: the hash of its contents. */
static void
cut_version(char *text)
{
    char *begin = strstr(text, "\nversion: "), *end = begin ? strchr(begin + 1, '\n') : NULL;
    if (end)
        memmove(begin, end, strlen(end) + 1);
}

static udpa_err
put_text(const diffing *self, const udpa_resource *resource, char **ret_text)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *written = NULL;
    udpa_err err = as_written(resource, &written);
    if (err != UDPA_OK)
        return err;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *bytes = udpai_entry_encode(written, udpa_resource_ttl_ms(written));
    if (!bytes)
        return UDPA_ERR_NOMEM;
    err = udpai_convert_from_binary(self->input.schema, UDPAI_STR(UDPAI_TYPE_UDPA_RESOURCE),
                                    udpai_bytes_view(bytes), UDPAI_FORMAT_YAML, ret_text, NULL);
    if (err == UDPA_OK)
        cut_version(*ret_text);
    return err;
}

/* ---- the two sides ---- */

static bool
make_folders(diffing *self)
{
    static const char *const sides[] = {"", "/" NODE, "/" FILES};
    const char *base = getenv("TMPDIR");
    char path[PATH_MAX + sizeof("/" FILES)];
    int n = snprintf(self->folder, sizeof(self->folder), "%s/udpactl-diff-XXXXXX",
                     base && *base ? base : "/tmp");
    if (n < 0 || n >= (int)sizeof(self->folder) || !mkdtemp(self->folder)) {
        fail(self, "cannot make a directory for the comparison", strerror(errno));
        self->folder[0] = '\0';
        return false;
    }
    for (size_t i = 1; i < UDPAI_ARRAY_LEN(sides); i++) {
        snprintf(path, sizeof(path), "%s%s", self->folder, sides[i]);
        if (mkdir(path, 0700) != 0) {
            fail(self, path, strerror(errno));
            return false;
        }
    }
    return true;
}

/* "cluster.com.acme%2Ffront.yaml" of a side. */
static char *
path_of(const diffing *self, const char *side, const udpa_resource *resource)
{
    udpai_strbuf path = {0};
    udpai_strbuf_printf(&path, "%s/%s/", self->folder, side);
    udpai_percent_encode_segment(&path, udpai_cli_type_short(udpai_resource_type_url(resource)));
    udpai_strbuf_putc(&path, '.');
    udpai_percent_encode_segment(&path, udpai_resource_name(resource));
    udpai_strbuf_puts(&path, ".yaml");
    return udpai_strbuf_take(&path);
}

static void
write_side(diffing *self, const char *side, const udpa_resource *resource)
{
    UDPAI_AUTO_FREE char *text = NULL;
    char *path = path_of(self, side, resource);
    if (!path || !udpai_vector_push(&self->written, path)) {
        udpai_free(path);
        fail(self, udpa_resource_name(resource), udpa_err_text(UDPA_ERR_NOMEM));
        return;
    }
    udpa_err err = put_text(self, resource, &text);
    if (err != UDPA_OK) {
        fail(self, udpa_resource_name(resource), udpa_err_text(err));
        return;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool is_good = file && fputs(text, file) >= 0;
    if (fd >= 0 && !file)
        (void)close(fd);
    if (file && fclose(file) != 0)
        is_good = false;
    if (!is_good)
        fail(self, path, strerror(errno));
}

/* A node may send a secret without its payload; its version is the hash of that. */
static bool
is_same(const udpa_resource *mine, const udpa_resource *theirs)
{
    char hashes[2][UDPAI_CONTENT_HASH_HEX];
    udpai_resource_content_hex(mine, hashes[0]);
    udpai_resource_content_hex(theirs, hashes[1]);
    bool has_version =
        udpai_str_eq(udpai_resource_version(theirs), (udpai_str){hashes[0], sizeof(hashes[0])});
    return (has_version || memcmp(hashes[0], hashes[1], sizeof(hashes[0])) == 0) &&
           udpa_resource_ttl_ms(mine) == udpa_resource_ttl_ms(theirs);
}

/* Payloads of secrets are not even written into files: that they differ is all there is. */
static void
compare(diffing *self, const udpa_resource *mine)
{
    udpai_str type_url = udpai_resource_type_url(mine);
    const udpa_resource *theirs =
        udpai_cli_found_get(&self->found, type_url, udpai_resource_name(mine));
    if (theirs && is_same(mine, theirs))
        return;
    self->differs = true;
    if (udpai_cli_is_secret(type_url)) {
        udpai_cli_print_line("%.*s '%s' %s", UDPAI_SHOWN(udpai_cli_type_short(type_url)),
                             udpa_resource_name(mine),
                             theirs ? "differs: its contents are not shown"
                                    : "is in the files alone: its contents are not shown");
        return;
    }
    if (theirs)
        write_side(self, NODE, theirs);
    write_side(self, FILES, mine);
}

static void
remove_folders(diffing *self)
{
    char path[PATH_MAX + sizeof("/" FILES)];
    for (size_t i = 0; i < self->written.n; i++) {
        (void)unlink(self->written.items[i]);
        udpai_free(self->written.items[i]);
    }
    udpai_vector_done(&self->written);
    if (!self->folder[0])
        return;
    snprintf(path, sizeof(path), "%s/" NODE, self->folder);
    (void)rmdir(path);
    snprintf(path, sizeof(path), "%s/" FILES, self->folder);
    (void)rmdir(path);
    (void)rmdir(self->folder);
}

/* ---- how they differ ---- */

static const char *
color_of(const char *line)
{
    static const struct {
        const char *head, *color;
    } all[] = {{"---", "\x1b[1m"}, {"+++", "\x1b[1m"}, {"diff ", "\x1b[1m"},
               {"@@", "\x1b[36m"}, {"-", "\x1b[31m"},  {"+", "\x1b[32m"}};

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        if (strncmp(line, all[i].head, strlen(all[i].head)) == 0)
            return all[i].color;
    return NULL;
}

/* Copies what diff prints to the terminal. Not all programs of that name have colors. */
static void
print_colored(int from)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t len;
    FILE *file = fdopen(from, "r");
    while (file && (len = getline(&line, &size, file)) > 0) {
        const char *color = color_of(line);
        line[strcspn(line, "\n")] = '\0';
        printf("%s%s%s\n", color ? color : "", line, color ? "\x1b[0m" : "");
    }
    free(line);
    if (file)
        fclose(file);
    else
        (void)close(from);
}

/* @p to: what its standard output is; -1: ours. */
static int
start(const diffing *self, char **arguments, int to, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    int number = posix_spawn_file_actions_init(&actions);
    if (number != 0)
        return number;
    number = posix_spawn_file_actions_addchdir_np(&actions, self->folder);
    if (number == 0 && to >= 0)
        number = posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    if (number == 0)
        number = posix_spawnp(ret_pid, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return number;
}

/* By a shell, if a program was chosen, since it may have arguments. */
static void
show(diffing *self)
{
    static char diff[] = "diff", unified[] = "-uN", shell[] = "sh", command[] = "-c", node[] = NODE,
                files[] = FILES, script[] = "$" PROGRAM_VARIABLE " \"$0\" \"$1\"";
    char *usual[] = {diff, unified, node, files, NULL},
         *chosen[] = {shell, command, script, node, files, NULL};
    const char *program = getenv(PROGRAM_VARIABLE);
    char **arguments = program && *program ? chosen : usual;
    int pipe_ends[] = {-1, -1}, status = 0;
    pid_t pid = -1;
    (void)fflush(stdout);
    if (arguments == usual && udpai_cli_terminal_has_colors(STDOUT_FILENO) &&
        pipe2(pipe_ends, O_CLOEXEC) != 0)
        pipe_ends[0] = pipe_ends[1] = -1; /* then without */
    int number = start(self, arguments, pipe_ends[1], &pid);
    if (pipe_ends[1] >= 0)
        (void)close(pipe_ends[1]);
    if (pipe_ends[0] >= 0)
        print_colored(pipe_ends[0]);
    if (number != 0) {
        fail(self,
             arguments == usual ? "diff cannot be run: install the package diffutils"
                                : PROGRAM_VARIABLE " cannot be run",
             strerror(number));
        return;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!WIFEXITED(status) || WEXITSTATUS(status) > DIFFERENCES)
        fail(self, arguments == usual ? "diff" : PROGRAM_VARIABLE, "it has failed");
}

/* ---- what the files lack ---- */

static udpai_cli_exit
report_lacking(const diffing *self)
{
    udpai_ctl_trial lacking = {0};
    udpai_cli_exit result = udpai_ctl_find_lacking(self->cli, &self->input, &lacking);
    for (size_t i = 0; result == UDPAI_CLI_GOOD && i < lacking.items.n; i++) {
        const udpai_ctl_tried *one = &lacking.items.items[i];
        udpai_str type = udpai_cli_type_short(udpai_str_from(one->type_url));
        udpai_cli_note("not in the files: %.*s '%s', which %s has published", UDPAI_SHOWN(type),
                       one->name, self->cli->options->node_id);
    }
    if (lacking.is_unknown)
        udpai_cli_note("So it is not known what the files lack.");
    bool is_good = result == UDPAI_CLI_GOOD || lacking.is_unknown;
    udpai_ctl_trial_done(&lacking);
    return is_good ? UDPAI_CLI_GOOD : result;
}

/* ---- the command ---- */

static udpai_cli_exit
ask(diffing *self)
{
    udpai_cli_requests requests = {0};
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < self->input.resources.n && err == UDPA_OK; i++) {
        const udpa_resource *mine = self->input.resources.items[i];
        udpai_cli_request *request =
            udpai_cli_requests_of_type(&requests, udpa_resource_type_url(mine));
        err = request ? udpai_cli_request_full_name(request, udpa_resource_name(mine))
                      : UDPA_ERR_NOMEM;
    }
    if (err != UDPA_OK)
        udpai_cli_complain("%s", udpa_err_text(err));
    udpai_cli_exit result = err == UDPA_OK ? udpai_cli_connect(self->cli) : UDPAI_CLI_REFUSED;
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_collect(self->cli, &requests, &self->found);
    udpai_cli_requests_done(&requests);
    return result;
}

udpai_cli_exit
udpai_ctl_diff(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    diffing self = {.cli = cli};
    if (options->common.arguments.n || !options->files.n) {
        udpai_cli_complain("diff takes files: udpactl diff -f FILE (- is standard input)");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_cli_found_begin(&self.found);
    udpai_cli_exit result = udpai_ctl_input_read(&self.input, options);
    if (result == UDPAI_CLI_GOOD)
        result = ask(&self);
    self.has_failed = result != UDPAI_CLI_GOOD || !make_folders(&self);
    for (size_t i = 0; i < self.input.resources.n && !self.has_failed; i++)
        compare(&self, self.input.resources.items[i]);
    if (!self.has_failed && self.written.n)
        show(&self);
    if (!self.has_failed)
        self.has_failed = report_lacking(&self) != UDPAI_CLI_GOOD;
    remove_folders(&self);
    udpai_cli_found_done(&self.found);
    udpai_ctl_input_done(&self.input);
    return self.has_failed ? UDPAI_CLI_MISTAKE : self.differs ? UDPAI_CLI_REFUSED : UDPAI_CLI_GOOD;
}
