/* SPDX-License-Identifier: Apache-2.0 */
/* backup and restore: a node makes a copy of its store, which is read here a part at a time, and
 * kept only if all of it is there and is good. What is done with the file asks no node. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/display.h"
#include "ctl/commands.h"
#include "ctl/http.h"
#include "ctl/interrupt.h"
#include "loop/read_write.h"
#include "storage/backup.h"

#define GOOD 200
#define LOOK_MS 100

/* ---- what is in one ---- */

static void
put_contents(udpai_strbuf *out, const udpai_backup_facts *facts)
{
    const udpai_backup_manifest *manifest = &facts->manifest;
    udpai_strbuf_printf(out,
                        "%" PRIu64 " resources of %" PRIu64 " origins, %" PRIu64
                        " secrets among them, %" PRIu64 " removals, %" PRIu64 " audit records",
                        manifest->n_resources, facts->n_origins, facts->n_secrets,
                        facts->n_removals, manifest->n_audit);
}

/* What a node calls itself goes to a terminal. */
static void
print_text(const char *name, const char *value)
{
    udpai_strbuf shown = {0};
    udpai_cli_put_text(&shown, udpai_str_from(value));
    udpai_cli_print_line("%s: %s", name, shown.len ? shown.data : "-");
    udpai_strbuf_done(&shown);
}

static void
print_number(const char *name, uint64_t value)
{
    udpai_cli_print_line("%s: %" PRIu64, name, value);
}

static udpai_cli_exit
show_status(const char *path)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_backup_facts facts;
    if (udpai_backup_check(path, &facts, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_REFUSED;
    }
    const udpai_backup_manifest *manifest = &facts.manifest;
    if (facts.has_manifest) {
        print_text("node", manifest->node);
        print_text("instance", manifest->instance);
        print_text("made", manifest->made);
        print_text("release", manifest->release);
        print_text("sha256", manifest->sha256);
    } else {
        udpai_cli_print_line("manifest: none; another program has copied this database");
    }
    print_number("format", manifest->format);
    print_text("epoch", manifest->epoch);
    print_number("commit", manifest->commit);
    print_number("bytes", manifest->size_bytes);
    print_number("origins", facts.n_origins);
    print_number("resources", manifest->n_resources);
    print_number("secrets", facts.n_secrets);
    print_number("removals", facts.n_removals);
    print_number("audit records", manifest->n_audit);
    return UDPAI_CLI_GOOD;
}

/* ---- reading it from the node ---- */

typedef struct fetching {
    udpai_ctl_options options; /* the caller's, for the one node that has answered */
    char *server;              /* owned */
    int fd;
    uint64_t id, size_bytes, n_read;
} fetching;

static udpai_cli_exit
ask(const udpai_ctl_options *options,
    const char *path,
    const udpai_strbuf *body,
    udpai_ctl_answer *ret_answer)
{
    udpai_cli_exit result = udpai_ctl_http_ask(options, path, body, ret_answer);
    return result == UDPAI_CLI_GOOD && ret_answer->status != GOOD
               ? udpai_ctl_http_refused(options, ret_answer, "")
               : result;
}

static udpai_cli_exit
fail_to_read(const udpai_ctl_options *options)
{
    udpai_cli_complain("%s: its answer cannot be read; is it a udpad of this version?",
                       options->common.http);
    return UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
ask_state(fetching *self, const char *json, bool *ret_is_running)
{
    udpai_ctl_answer answer = {0};
    udpai_strbuf body = {0};
    udpai_strbuf_puts(&body, json);
    udpai_cli_exit result = ask(&self->options, "/backup", &body, &answer);
    const char *text = answer.text.data ? answer.text.data : "";
    *ret_is_running = strcmp(text, "running\n") == 0;
    if (result == UDPAI_CLI_GOOD && !*ret_is_running &&
        sscanf(text, "done %" SCNu64 " %" SCNu64, &self->id, &self->size_bytes) != 2)
        result = fail_to_read(&self->options);
    if (!self->server && answer.server) { /* the others have another store */
        self->server = UDPAI_TAKE(answer.server);
        self->options.common.http = self->server;
    }
    udpai_ctl_answer_done(&answer);
    udpai_strbuf_done(&body);
    return result;
}

static udpai_cli_exit
end_early(void)
{
    udpai_cli_complain("interrupted: there is no backup");
    return UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
wait_for_copy(fetching *self)
{
    static const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    bool is_running;
    udpai_cli_exit result = ask_state(self, "{}", &is_running);
    while (result == UDPAI_CLI_GOOD && is_running) {
        if (udpai_ctl_is_interrupted())
            return end_early();
        nanosleep(&pause, NULL);
        result = ask_state(self, "{\"look\": true}", &is_running);
    }
    return result;
}

/* *ret_n: 0: that was all. */
static udpai_cli_exit
read_part(fetching *self, const char *path, size_t *ret_n)
{
    char page[80];
    udpai_ctl_answer answer = {0};
    snprintf(page, sizeof(page), "/backup_part?id=%" PRIu64 "&from=%" PRIu64, self->id,
             self->n_read);
    udpai_cli_exit result = ask(&self->options, page, NULL, &answer);
    if (result == UDPAI_CLI_GOOD && answer.text.len > self->size_bytes - self->n_read)
        result = fail_to_read(&self->options);
    if (result == UDPAI_CLI_GOOD && !udpai_write_all(self->fd, udpai_strbuf_view(&answer.text))) {
        udpai_cli_complain("cannot write %s: %s", path, strerror(errno));
        result = UDPAI_CLI_REFUSED;
    }
    *ret_n = answer.text.len;
    self->n_read += answer.text.len;
    udpai_ctl_answer_done(&answer);
    return result;
}

static udpai_cli_exit
read_all(fetching *self, const char *path)
{
    size_t n = 1;
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    while (result == UDPAI_CLI_GOOD && n) {
        result = read_part(self, path, &n);
        if (udpai_ctl_is_interrupted())
            return end_early();
    }
    if (result == UDPAI_CLI_GOOD && self->n_read != self->size_bytes)
        result = fail_to_read(&self->options);
    if (result == UDPAI_CLI_GOOD && fsync(self->fd) != 0) {
        udpai_cli_complain("cannot write %s: %s", path, strerror(errno));
        result = UDPAI_CLI_REFUSED;
    }
    return result;
}

static udpai_cli_exit
fetch(const udpai_ctl_options *options, int fd, const char *path)
{
    fetching self = {.options = *options, .fd = fd};
    udpai_cli_exit result = wait_for_copy(&self);
    if (result == UDPAI_CLI_GOOD)
        result = read_all(&self, path);
    udpai_free(self.server);
    return result;
}

/* ---- keeping it ---- */

static udpai_cli_exit
keep(const char *part, const char *path)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_backup_facts facts;
    udpai_strbuf contents = {0};
    udpa_err err = udpai_backup_check(part, &facts, &error);
    if (err == UDPA_OK)
        err = udpai_backup_name(part, path, &error);
    if (err != UDPA_OK) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_REFUSED;
    }
    put_contents(&contents, &facts);
    udpai_cli_print_line("%s: %s; %" PRIu64 " bytes, verified", path,
                         contents.data ? contents.data : "",
                         facts.manifest.size_bytes + UDPAI_BACKUP_MANIFEST_BYTES);
    udpai_strbuf_done(&contents);
    if (facts.n_secrets)
        udpai_cli_note(
            "Its secrets are encrypted; keep the keys of the node (store.keys) elsewhere: "
            "they are not in it.");
    return UDPAI_CLI_GOOD;
}

static udpai_cli_exit
make_part(const udpai_ctl_options *options, const char *part, const char *path)
{
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        udpai_cli_complain("cannot make %s: %s%s", part, strerror(errno),
                           errno == EEXIST ? "; another udpactl writes it, or was killed: then "
                                             "remove it"
                                           : "");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_cli_exit result = fetch(options, fd, part);
    close(fd);
    if (result == UDPAI_CLI_GOOD)
        result = keep(part, path);
    (void)unlink(part);
    return result;
}

static udpai_cli_exit
make(const udpai_ctl_options *options, const char *path)
{
    udpai_strbuf part = {0};
    if (access(path, F_OK) == 0) {
        udpai_cli_complain("%s is there already: name a new file", path);
        return UDPAI_CLI_MISTAKE;
    }
    udpai_strbuf_printf(&part, "%s.part", path);
    if (udpai_strbuf_failed(&part)) {
        udpai_strbuf_done(&part);
        udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
        return UDPAI_CLI_REFUSED;
    }
    udpai_ctl_catch_interrupts();
    udpai_cli_exit result = make_part(options, part.data, path);
    udpai_strbuf_done(&part);
    return result;
}

/* ---- the commands ---- */

udpai_cli_exit
udpai_ctl_backup(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    size_t n = options->common.arguments.n;
    const char *first = n ? options->common.arguments.items[0] : "";
    if (n == 2 && strcmp(first, "status") == 0)
        return show_status(options->common.arguments.items[1]);
    if (n == 1 && strcmp(first, "status") != 0)
        return make(options, first);
    udpai_cli_complain("write 'udpactl backup FILE' or 'udpactl backup status FILE'");
    return UDPAI_CLI_MISTAKE;
}

udpai_cli_exit
udpai_ctl_restore(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_backup_facts facts;
    udpai_strbuf contents = {0};
    if (options->common.arguments.n != 1 || !options->state) {
        udpai_cli_complain("write 'udpactl restore FILE --state DIRECTORY'");
        return UDPAI_CLI_MISTAKE;
    }
    const char *path = options->common.arguments.items[0];
    if (udpai_backup_restore(path, options->state, &facts, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_REFUSED;
    }
    put_contents(&contents, &facts);
    udpai_cli_print_line("%s: restored %s from %s", options->state,
                         contents.data ? contents.data : "", path);
    udpai_strbuf_done(&contents);
    if (!facts.has_manifest)
        udpai_cli_note("%s has no manifest: another program has copied it, so only the database "
                       "itself could be checked.",
                       path);
    udpai_cli_note("Start the node now. What other nodes have that is newer than the backup comes "
                   "back where the node has 'recover', and is held there in any case; 'udpactl "
                   "status sources' shows it.");
    return UDPAI_CLI_GOOD;
}
