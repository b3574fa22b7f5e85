/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'audit' of the bootstrap file: what is kept of who has changed what, and where else
 * it goes (docs/design/audit.md). */
#include "daemon/files.h"
#include "daemon/log_journald.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "storage/sqlite.h"

#define MAX_BYTES_MIN 65536
#define MAX_AGE_MIN_MS 3600000

typedef Udpa__Config__V1__Audit audit_message;

static void
check_use(const udpai_value *value)
{
    const audit_message *audit = value->message;
    const Udpa__Config__V1__Store *store = value->bootstrap->store;
    bool is_kept = !store || !store->in_memory;
    if (audit->off && (*audit->file || audit->journald))
        udpai_value_error(value, "off",
                          "nothing is recorded, so file and journald would stay empty: leave out "
                          "'off', or these");
    if (!is_kept && audit->journald)
        udpai_value_error(value, "journald",
                          "the store is in memory, where no record is kept until journald has it: "
                          "use audit.file");
    if (!is_kept && (audit->max_bytes || audit->max_age))
        udpai_value_warn(value, audit->max_bytes ? "max_bytes" : "max_age",
                         "is not used, since store.in_memory keeps no records");
}

static const udpai_field audit_fields[] = {
    {.name = "off"},
    {.name = "file", UDPAI_PUBLIC, .check_files = udpai_output_file_check, .is_taken_over = true},
    {.name = "journald", .is_taken_over = true},
    {.name = "max_bytes",
     .min = MAX_BYTES_MIN,
     .bounds = "hardly anything would be kept",
     UDPAI_TO(audit.max_bytes),
     .otherwise = UDPAI_SQLITE_AUDIT_BYTES,
     .is_taken_over = true},
    {.name = "max_age",
     .min = MAX_AGE_MIN_MS,
     .bounds = "1 h",
     UDPAI_TO(audit.max_age_ms),
     .otherwise = UDPAI_SQLITE_AUDIT_AGE_US / 1000,
     .is_taken_over = true},
};

const udpai_section udpai_section_audit = {
    UDPAI_SECTION(audit, audit_fields),
    .check = check_use,
};

udpa_err
udpai_use_audit(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const audit_message *audit = plan->bootstrap.message->audit;
    const Udpa__Config__V1__Log *log = plan->bootstrap.message->log;
    (void)options;
    (void)ret_error;
    if (audit && *audit->file)
        plan->audit.file = audit->file;
    if (audit && audit->journald)
        plan->audit.journald = udpai_first_of(log ? log->journald_socket : NULL,
                                              UDPAI_JOURNALD_SOCKET, UDPAI_JOURNALD_SOCKET);
    plan->audit.is_on = !(audit && audit->off) && (plan->state_directory || plan->audit.file);
    return UDPA_OK;
}
