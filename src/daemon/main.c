/* SPDX-License-Identifier: Apache-2.0 */
/* udpad: a node of UDPA that federates control planes and serves xDS v3. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/map.h"
#include "daemon/bootstrap_check.h"
#include "daemon/log_sink.h"
#include "daemon/options_check.h"
#include "daemon/server.h"
#include "transport/grpc/stream_thread.h"

#define DESCRIPTORS "envoy-v3.descriptors"

enum {
    EXIT_STARTED_NOT = 1,
    EXIT_MISTAKE = 2
};

static void
complain(const udpa_error *error)
{
    fprintf(stderr, "udpad: %s\n", udpa_error_message(error));
}

/* They begin with their place. */
static void
tell_finding(const udpa_error *error, bool is_warning, void *userdata)
{
    (void)userdata;
    fprintf(stderr, "%s%s\n", is_warning ? "warning: " : "", udpa_error_message(error));
}

/* ---- descriptors ---- */

/* Beside the program, as in a build, or where they are installed. */
static bool
find_descriptors(char path[PATH_MAX])
{
    static const char *const places[] = {"", "../share/udpa/"};
    char program[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (len <= 0)
        return false;
    program[len] = '\0';
    char *slash = strrchr(program, '/');
    if (!slash)
        return false;
    slash[1] = '\0';
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(places); i++) {
        int n = snprintf(path, PATH_MAX, "%s%s" DESCRIPTORS, program, places[i]);
        if (n > 0 && n < PATH_MAX && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

static udpa_err
add_descriptors(udpai_schema *schema,
                const Udpa__Config__V1__Bootstrap *message,
                const udpai_options *options,
                udpa_error **ret_error)
{
    char path[PATH_MAX];
    if (options->descriptors)
        return udpai_schema_add_file(schema, options->descriptors, ret_error);
    if (message->n_descriptor_sets == 0)
        return find_descriptors(path) ? udpai_schema_add_file(schema, path, ret_error) : UDPA_OK;
    for (size_t i = 0; i < message->n_descriptor_sets; i++) {
        udpa_err err = udpai_schema_add_file(schema, message->descriptor_sets[i], ret_error);
        if (err != UDPA_OK)
            return err;
    }
    return UDPA_OK;
}

/* ---- */

/* 0: there are no mistakes. */
static int
read_bootstrap(udpai_bootstrap *bootstrap,
               const udpai_schema *schema,
               const udpai_options *options,
               udpa_error **ret_error)
{
    udpai_findings findings = {0};
    udpa_err err =
        options->config_file
            ? udpai_bootstrap_read(bootstrap, schema, options->config_file, &findings, ret_error)
            : udpai_bootstrap_empty(bootstrap, ret_error);
    if (err == UDPA_OK) {
        udpai_options_check(options, bootstrap->message, &findings);
        udpai_bootstrap_check(bootstrap->message, &findings);
    }
    udpai_findings_tell(&findings, tell_finding, NULL);
    bool is_good = err == UDPA_OK && findings.n_mistakes == 0 && !findings.has_failed;
    udpai_findings_done(&findings);
    return is_good ? 0 : EXIT_MISTAKE;
}

static int
serve(const udpai_plan *plan,
      udpai_schema *schema,
      const udpai_options *options,
      udpa_error **ret_error)
{
    if (options->only_check) {
        printf("%s: no mistakes found\n", options->config_file ? options->config_file : "defaults");
        return 0;
    }
    udpa_err err = add_descriptors(schema, plan->bootstrap.message, options, ret_error);
    if (err == UDPA_OK)
        err = udpai_server_run(plan, schema, options, ret_error);
    return err == UDPA_OK ? 0 : EXIT_STARTED_NOT;
}

static int
run(const udpai_options *options, udpa_error **ret_error)
{
    UDPA_AUTO(udpai_schema_unref) udpai_schema *schema = NULL;
    udpai_bootstrap bootstrap = {0};
    static udpai_plan plan; /* what sessions are told of it is found by its address */
    if (udpai_schema_new(&schema, ret_error) != UDPA_OK)
        return EXIT_STARTED_NOT;
    int status = read_bootstrap(&bootstrap, schema, options, ret_error);
    if (status != 0) {
        udpai_bootstrap_done(&bootstrap);
        return status;
    }
    if (udpai_plan_make(&plan, &bootstrap, options, ret_error) != UDPA_OK) {
        status = EXIT_MISTAKE;
    } else {
        udpa_log_set_sink(plan.log_level, udpai_log_to_stderr, NULL);
        udpai_grpc_redirect_log();
        status = serve(&plan, schema, options, ret_error);
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
    udpai_options_parse(&options, argc, argv);
    signal(SIGPIPE, SIG_IGN);
    seed_tables();
    int status = run(&options, &error);
    if (error)
        complain(error);
    return status;
}
