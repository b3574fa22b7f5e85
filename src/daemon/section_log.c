/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'log' of the bootstrap file: what is logged, in which form, and where to. */
#include <strings.h>
#include <sys/un.h>

#include "daemon/files.h"
#include "daemon/log_journald.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"

#define STDERR "stderr"
#define JOURNALD "journald"

typedef Udpa__Config__V1__Log log_message;

/* A word that is misspelled must not become the name of a file. */
static udpa_err
check_target(const char *to, udpa_error **ret_error)
{
    if (!*to || strcmp(to, STDERR) == 0 || strcmp(to, JOURNALD) == 0 || strchr(to, '/'))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' must be stderr, journald, or the path of a file: ./%s is one in the "
                      "current directory",
                      to, to);
}

static udpa_err
check_socket(const char *path, udpa_error **ret_error)
{
    size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
    if (!*path || (path[0] == '/' && strlen(path) <= most))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' must begin with '/', and have at most %zu bytes", path, most);
}

static bool
is_file(const char *to)
{
    return strchr(to, '/') != NULL;
}

static void
check_file(const udpai_value *value)
{
    if (is_file(value->text))
        udpai_output_file_check(value);
}

static void
check_use(const udpai_value *value)
{
    const log_message *log = value->message;
    const Udpa__Config__V1__Audit *audit = value->bootstrap->audit;
    if (*log->journald_socket && strcmp(log->to, JOURNALD) != 0 && !(audit && audit->journald))
        udpai_value_warn(value, "journald_socket", "is not used, since log.to is not journald");
}

static const udpai_field log_fields[] = {
    {.name = "level", .is_taken_over = true},
    {.name = "format", .is_taken_over = true},
    {.name = "to",
     UDPAI_PUBLIC,
     .word = check_target,
     .check_files = check_file,
     .is_taken_over = true},
    {.name = "journald_socket", UDPAI_PUBLIC, .word = check_socket, .is_taken_over = true},
};

const udpai_section udpai_section_log = {
    UDPAI_SECTION(log, log_fields),
    .check = check_use,
};

/* ---- its use ---- */

udpa_err
udpai_plan_log_level(const char *word, udpa_log_level *ret_level, udpa_error **ret_error)
{
    for (udpa_log_level level = UDPA_LOG_DEBUG; level <= UDPA_LOG_ERROR; level++) {
        if (strcasecmp(word, udpa_log_level_name(level)) == 0) {
            *ret_level = level;
            return UDPA_OK;
        }
    }
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "'%s' must be debug, info, warning or error",
                      word);
}

static udpai_log_target
target_of(const log_message *log)
{
    static const udpai_log_format formats[] = {UDPAI_LOG_TEXT, UDPAI_LOG_JSON, UDPAI_LOG_LOGFMT};
    udpai_log_target target = {0};
    if ((size_t)log->format < UDPAI_ARRAY_LEN(formats))
        target.format = formats[log->format];
    if (strcmp(log->to, JOURNALD) == 0)
        target.journald =
            udpai_first_of(log->journald_socket, UDPAI_JOURNALD_SOCKET, UDPAI_JOURNALD_SOCKET);
    else if (is_file(log->to))
        target.file = log->to;
    return target;
}

udpa_err
udpai_use_log(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    static const udpa_log_level levels[] = {UDPA_LOG_INFO, UDPA_LOG_DEBUG, UDPA_LOG_WARNING,
                                            UDPA_LOG_ERROR};
    const log_message *log = plan->bootstrap.message->log;
    plan->log_level = UDPA_LOG_INFO;
    if (log && (size_t)log->level < UDPAI_ARRAY_LEN(levels))
        plan->log_level = levels[log->level];
    if (log)
        plan->log_target = target_of(log);
    return options->log_level
               ? udpai_plan_log_level(options->log_level, &plan->log_level, ret_error)
               : UDPA_OK;
}
