/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/conform/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "loop/clock.h"
#include "loop/read_write.h"
#include "tools/conform/hook_words.h"

#define PATIENCE_MS 30000    /* for an answer; the first may have to wait for a server to start */
#define END_PATIENCE_MS 2000 /* for each way to ask for its end */
#define REAP_MS 10
#define LINE_MAX_BYTES 4096

extern char **environ;

struct udpai_hook {
    pid_t pid;
    int to, from;
    unsigned abilities;
    char line[LINE_MAX_BYTES]; /* what was read and not yet taken */
    size_t len;
};

/* ---- starting ---- */

static int
spawn(udpai_hook *hook, const char *command, const int to[2], const int from[2])
{
    const char *const words[] = {"sh", "-c", command, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    int number = posix_spawn(&hook->pid, "/bin/sh", &actions, &attributes,
                             (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return number;
}

static udpa_err
begin(udpai_hook *hook, const char *command, udpa_error **ret_error)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    int number = pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0 ? errno : 0;
    if (number == 0)
        number = spawn(hook, command, to, from);
    close(to[0]);
    close(from[1]);
    hook->to = to[1];
    hook->from = from[0];
    return number == 0 ? UDPA_OK
                       : udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, "cannot run '%s': %s", command,
                                    strerror(number));
}

/* ---- lines ---- */

/* More of the line; false: none came in time, or never will, and why. */
static bool
read_more(udpai_hook *hook, uint64_t deadline, udpai_strbuf *why)
{
    struct pollfd ready = {.fd = hook->from, .events = POLLIN};
    uint64_t now = udpai_monotonic_ms();
    int n = now < deadline ? poll(&ready, 1, (int)(deadline - now)) : 0;
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0 || hook->len == sizeof(hook->line)) {
        udpai_strbuf_puts(why, n <= 0 ? "the program of --change does not answer"
                                      : "the program of --change answers with too long a line");
        return false;
    }
    ssize_t got = read(hook->from, hook->line + hook->len, sizeof(hook->line) - hook->len);
    if (got < 0 && errno == EINTR)
        return true;
    if (got <= 0) {
        udpai_strbuf_puts(why, "the program of --change has ended");
        return false;
    }
    hook->len += (size_t)got;
    return true;
}

static udpai_change_result
read_answer(udpai_hook *hook, udpai_strbuf *why)
{
    uint64_t deadline = udpai_monotonic_ms() + PATIENCE_MS;
    const char *end = NULL;
    while (!(end = memchr(hook->line, '\n', hook->len)))
        if (!read_more(hook, deadline, why))
            return UDPAI_CHANGE_FAILED;
    size_t len = (size_t)(end - hook->line) + 1;
    udpai_change_result result = udpai_hook_read_answer((udpai_str){hook->line, len}, why);
    memmove(hook->line, hook->line + len, hook->len - len);
    hook->len -= len;
    return result;
}

static udpai_change_result
ask(udpai_hook *hook, udpai_str line, udpai_strbuf *why)
{
    if (udpai_write_all(hook->to, line))
        return read_answer(hook, why);
    udpai_strbuf_puts(why, "the program of --change has ended");
    return UDPAI_CHANGE_FAILED;
}

/* ---- changes ---- */

static udpai_change_result
ask_for_change(udpai_hook *hook, const udpai_edit *change, udpai_strbuf *why)
{
    udpai_strbuf line = {0};
    udpai_change_result result = UDPAI_CHANGE_FAILED;
    udpai_hook_put_change(&line, change);
    if (udpai_strbuf_failed(&line))
        udpai_strbuf_puts(why, "out of memory");
    else
        result = ask(hook, udpai_strbuf_view(&line), why);
    udpai_strbuf_done(&line);
    return result;
}

static udpai_change_result
apply(void *self, const udpai_edit *changes, size_t n, udpai_strbuf *why)
{
    udpai_hook *hook = self;
    udpai_change_result result = UDPAI_CHANGE_MADE;
    for (size_t i = 0; i < n && result == UDPAI_CHANGE_MADE; i++)
        result = ask_for_change(hook, &changes[i], why);
    if (result == UDPAI_CHANGE_MADE)
        return ask(hook, udpai_str_from(UDPAI_HOOK_COMMIT), why);
    udpai_strbuf ignored = {0};
    (void)ask(hook, udpai_str_from(UDPAI_HOOK_ABORT), &ignored);
    udpai_strbuf_done(&ignored);
    return result;
}

udpai_changer
udpai_hook_changer(udpai_hook *hook)
{
    return (udpai_changer){apply, hook->abilities, hook};
}

/* ---- beginning and ending ---- */

static udpa_err
ask_abilities(udpai_hook *hook, udpa_error **ret_error)
{
    udpai_strbuf words = {0};
    udpa_err err = UDPA_OK;
    if (ask(hook, udpai_str_from(UDPAI_HOOK_ASK_ABILITIES), &words) == UDPAI_CHANGE_MADE)
        hook->abilities = udpai_hook_read_abilities(udpai_strbuf_view(&words));
    else
        err = udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, "--change: %s",
                         words.data ? words.data : "out of memory");
    udpai_strbuf_done(&words);
    return err;
}

udpa_err
udpai_hook_new(udpai_hook **ret_hook, const char *command, udpa_error **ret_error)
{
    udpai_hook *hook = udpai_alloc(sizeof(*hook));
    if (!hook)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    hook->to = hook->from = -1;
    udpa_err err = begin(hook, command, ret_error);
    if (err == UDPA_OK)
        err = ask_abilities(hook, ret_error);
    if (err == UDPA_OK)
        *ret_hook = hook;
    else
        udpai_hook_free(hook);
    return err;
}

/* Until it has ended or the time is over; a closed standard output is its end, too. */
static bool
wait_for_end(udpai_hook *hook)
{
    udpai_strbuf ignored = {0};
    uint64_t deadline = udpai_monotonic_ms() + END_PATIENCE_MS;
    do
        hook->len = 0;
    while (read_more(hook, deadline, &ignored));
    udpai_strbuf_done(&ignored);
    return udpai_monotonic_ms() < deadline;
}

/* False: it goes on after all this time. */
static bool
reap(const udpai_hook *hook, uint64_t patience_ms)
{
    uint64_t deadline = udpai_monotonic_ms() + patience_ms;
    for (;;) {
        pid_t ended = waitpid(hook->pid, NULL, WNOHANG);
        if (ended == hook->pid || (ended < 0 && errno != EINTR))
            return true;
        if (udpai_monotonic_ms() >= deadline)
            return false;
        (void)poll(NULL, 0, REAP_MS);
    }
}

/* A program that ignores the end of its input, and SIGTERM, must not keep ours. */
static void
end(udpai_hook *hook)
{
    if (!wait_for_end(hook) || !reap(hook, END_PATIENCE_MS))
        kill(-hook->pid, SIGTERM);
    if (reap(hook, END_PATIENCE_MS))
        return;
    kill(-hook->pid, SIGKILL);
    while (waitpid(hook->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

udpai_hook *
udpai_hook_free(udpai_hook *hook)
{
    if (!hook)
        return NULL;
    close(hook->to);
    if (hook->pid > 0)
        end(hook);
    close(hook->from);
    udpai_free(hook);
    return NULL;
}
