/* SPDX-License-Identifier: Apache-2.0 */
/* udpad: a node of UDPA that federates control planes and serves xDS v3. */
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/map.h"
#include "daemon/bootstrap_check.h"
#include "daemon/descriptors.h"
#include "daemon/instance.h"
#include "daemon/lock_order.h"
#include "daemon/log_sink.h"
#include "daemon/not_dumpable.h"
#include "daemon/options_check.h"
#include "daemon/replicas.h"
#include "daemon/server.h"
#include "daemon/successor.h"
#include "daemon/worker.h"
#include "loop/standard_streams.h"
#include "model/client_type.h"
#include "model/secret_type.h"
#include "transport/grpc/stream_thread.h"
#include "transport/tls_program.h"

enum {
    EXIT_STARTED_NOT = 1,
    EXIT_MISTAKE = 2
};

static void
complain(const udpa_error *error)
{
    fprintf(stderr, "udpad: %s\n", udpa_error_message(error));
}

/* They begin with their place. A worker has nothing to add to what was printed when the node began.
 */
static void
print_finding(const udpa_error *error, bool is_warning, void *userdata)
{
    const udpai_options *options = userdata;
    if (is_warning && options->worker)
        return;
    fprintf(stderr, "%s%s\n", is_warning ? "warning: " : "", udpa_error_message(error));
    if (!is_warning)
        udpai_successor_fail(udpa_error_message(error));
}

/* All that a start would trip over, but for what listening and locking would find. */
static void
look_at(const udpai_bootstrap *bootstrap,
        udpai_schema *schema,
        const udpai_options *options,
        udpai_diagnostics *diagnostics)
{
    udpai_options_check(options, bootstrap->message, diagnostics);
    udpai_bootstrap_check(bootstrap->message, diagnostics);
    udpai_bootstrap_check_files(bootstrap->message, options, diagnostics);
    udpai_descriptors_load(schema, bootstrap->message, options, diagnostics);
}

/* What it has been handed was checked by its node. */
static int
read_of_node(udpai_bootstrap *bootstrap,
             udpai_schema *schema,
             const udpai_options *options,
             udpa_error **ret_error)
{
    udpai_diagnostics diagnostics = {0};
    udpa_err err = udpai_worker_read_bootstrap(bootstrap, ret_error);
    if (err == UDPA_OK)
        udpai_descriptors_load(schema, bootstrap->message, options, &diagnostics);
    udpai_diagnostics_report(&diagnostics, print_finding, (void *)(uintptr_t)options);
    bool is_good = err == UDPA_OK && diagnostics.n_errors == 0 && !diagnostics.has_failed;
    udpai_diagnostics_done(&diagnostics);
    return is_good ? 0 : EXIT_MISTAKE;
}

/* 0: there are no errors. */
static int
read_bootstrap(udpai_bootstrap *bootstrap,
               udpai_schema *schema,
               const udpai_options *options,
               udpa_error **ret_error)
{
    udpai_diagnostics diagnostics = {0};
    udpa_err err =
        options->config_file
            ? udpai_bootstrap_read(bootstrap, schema, options->config_file, &diagnostics, ret_error)
            : udpai_bootstrap_empty(bootstrap, ret_error);
    if (err == UDPA_OK)
        look_at(bootstrap, schema, options, &diagnostics);
    udpai_diagnostics_report(&diagnostics, print_finding, (void *)(uintptr_t)options);
    if (err == UDPA_OK && diagnostics.has_failed)
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    bool is_good = err == UDPA_OK && diagnostics.n_errors == 0;
    udpai_diagnostics_done(&diagnostics);
    return is_good ? 0 : EXIT_MISTAKE;
}

static int
serve(udpai_plan *plan, udpai_schema *schema, const udpai_options *options, udpa_error **ret_error)
{
    if (options->only_check) {
        printf("%s: no errors found\n", options->config_file ? options->config_file : "defaults");
        return 0;
    }
    udpai_replicas *replicas = NULL;
    udpa_err err = options->worker ? UDPA_OK : udpai_replicas_open(&replicas, plan, ret_error);
    if (err == UDPA_OK)
        err = udpai_daemon_instance_choose(plan, options, ret_error);
    const udpai_server_parts parts = {plan, schema, options, replicas};
    if (err == UDPA_OK)
        err = options->worker ? udpai_worker_run(plan, options, ret_error)
                              : udpai_server_run(&parts, ret_error);
    udpai_replicas_close(replicas);
    return err == UDPA_OK ? 0 : EXIT_STARTED_NOT;
}

/* A check writes to no file. */
static int
log_and_serve(udpai_plan *plan,
              udpai_schema *schema,
              const udpai_options *options,
              udpa_error **ret_error)
{
    const udpai_log_target on_stderr = {0};
    const udpai_log_target *target = options->only_check ? &on_stderr : &plan->log_target;
    if (udpai_log_begin(plan->log_level, target, ret_error) != UDPA_OK)
        return EXIT_STARTED_NOT;
    udpai_grpc_redirect_log();
    int status = serve(plan, schema, options, ret_error);
    udpai_log_end();
    return status;
}

static int
run(const udpai_options *options, udpa_error **ret_error)
{
    UDPA_AUTO(udpai_schema_unref) udpai_schema *schema = NULL;
    udpai_bootstrap bootstrap = {0};
    static udpai_plan plan; /* what sessions are given of it is found by its address */
    if (udpai_schema_new(&schema, ret_error) != UDPA_OK)
        return EXIT_STARTED_NOT;
    if (options->only_check) /* a start warns when it reads certificates for use */
        (void)udpai_log_begin(UDPA_LOG_WARNING, &(udpai_log_target){0}, NULL);
    int status =
        (options->worker ? read_of_node : read_bootstrap)(&bootstrap, schema, options, ret_error);
    udpa_log_set_sink(UDPA_LOG_SILENT, NULL, NULL);
    if (status != 0) {
        udpai_bootstrap_done(&bootstrap);
        return status;
    }
    plan.schema = schema;
    if (udpai_plan_make(&plan, &bootstrap, options, ret_error) != UDPA_OK ||
        udpai_client_types_set(plan.client_types, plan.n_client_types) != UDPA_OK ||
        udpai_secret_types_set(plan.udpa_polls.secret_types, plan.udpa_polls.n_secret_types) !=
            UDPA_OK) {
        status = EXIT_MISTAKE;
    } else {
        status = log_and_serve(&plan, schema, options, ret_error);
    }
    udpai_plan_done(&plan);
    return status;
}

/* So that peers cannot choose names that collide in our tables. */
static void
seed_tables(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof(seed), 0) == sizeof(seed))
        udpai_map_set_seed(seed);
}

int
main(int argc, char **argv)
{
    udpai_options options;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (!udpai_standard_streams_open())
        return 1; /* there is nothing to report it to */
    udpai_tls_program_begin();
    udpai_lock_order_forget();
    udpai_options_parse(&options, argc, argv);
    signal(SIGPIPE, SIG_IGN);
    if (options.worker)
        signal(SIGHUP, SIG_IGN); /* it is its node's to reload */
    signal(SIGXFSZ, SIG_IGN);    /* a file that may not grow is an error of the one who writes */
    seed_tables();
    int status = EXIT_STARTED_NOT;
    udpa_err err = udpai_successor_begin(&options, &error);
    if (err == UDPA_OK && options.not_dumpable)
        err = udpai_daemon_set_not_dumpable(&error);
    if (err == UDPA_OK)
        status = run(&options, &error);
    if (error)
        complain(error);
    if (status != 0)
        udpai_successor_fail(error ? udpa_error_message(error) : "its output has the reason");
    return status;
}
