/* SPDX-License-Identifier: Apache-2.0 */
/* Where settings are from: the command line, the environment, a context, their defaults. */
#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/context_file.h"
#include "tests/harness/test.h"

static const char text[] =
    "current: prod\n"
    "contexts:\n"
    "  prod: {server: 'edge:1', admin: 'admin:1', admin_token: token, ca: ca, "
    "cert: cert, key: key, namespace: com.acme, node_id: me, timeout: 7}\n"
    "  lab: {server: 'lab:1'}\n";

static char folder[] = "/tmp/udpa-options-XXXXXX";

static int
begin(void **state)
{
    char path[sizeof(folder) + 32];
    udpai_cli_contexts contexts = {0};
    (void)state;
    if (!mkdtemp(folder) || setenv("XDG_CONFIG_HOME", folder, 1) != 0)
        return -1;
    snprintf(path, sizeof(path), "%s/udpa/config.yaml", folder);
    if (udpai_cli_contexts_read(&contexts, udpai_str_from(text), path, NULL) != UDPA_OK ||
        udpai_cli_context_file_save(path, &contexts, NULL) != UDPA_OK)
        return -1;
    udpai_cli_contexts_done(&contexts);
    return 0;
}

static int
end(void **state)
{
    char path[sizeof(folder) + 32];
    (void)state;
    snprintf(path, sizeof(path), "%s/udpa/config.yaml", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/udpa", folder);
    rmdir(path);
    return rmdir(folder);
}

/* As argp calls it, at the end. */
static error_t
take(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    if (key == ARGP_KEY_INIT)
        state->child_inputs[0] = state->input;
    if (key == ARGP_KEY_END)
        udpai_cli_options_resolve(state->input, UDPAI_CLI_ALL_SETTINGS, state);
    return key == ARGP_KEY_ARG ? ARGP_ERR_UNKNOWN : 0;
}

static void
parse(udpai_cli_options *options, const char *const *arguments)
{
    static const struct argp_child children[] = {{&udpai_cli_options_parser, 0, NULL, 0}, {0}};
    static const struct argp parser = {.children = children, .parser = take};
    char *argv[8] = {(char *)(uintptr_t) "udpactl"};
    int argc = 1;
    while (*arguments)
        argv[argc++] = (char *)(uintptr_t)*arguments++;
    udpai_cli_options_begin(options, "udpactl");
    assert_int_equal(argp_parse(&parser, argc, argv, ARGP_NO_EXIT, NULL, options), 0);
}

#define PARSE(options, ...) parse((options), (const char *const[]){__VA_ARGS__, NULL})

#define assert_setting(options, setting, level, value)                                             \
    do {                                                                                           \
        assert_int_equal((options)->levels[setting], level);                                       \
        assert_string_equal(udpai_cli_setting_value((options), (setting)), (value));               \
    } while (0)

static void
a_context_sets_what_nothing_else_does(void **state)
{
    (void)state;
    udpai_cli_options options;
    char origin[UDPAI_CLI_ORIGIN_TEXT];
    PARSE(&options, "-v");
    assert_setting(&options, UDPAI_CLI_SERVER, UDPAI_CLI_CONTEXT, "edge:1");
    assert_setting(&options, UDPAI_CLI_NAMESPACE, UDPAI_CLI_CONTEXT, "com.acme");
    assert_int_equal(options.timeout_ms, 7000);
    assert_non_null(strstr(options.ca, "/udpa/ca"));
    assert_string_equal(udpai_cli_setting_origin(&options, UDPAI_CLI_CA, origin),
                        "'ca' of context 'prod'");
    assert_string_equal(udpai_cli_setting_origin(&options, UDPAI_CLI_HTTP, origin), "--http");
    udpai_cli_options_done(&options);
    PARSE(&options, "--context", "lab");
    assert_setting(&options, UDPAI_CLI_SERVER, UDPAI_CLI_CONTEXT, "lab:1");
    assert_null(options.ca);
    assert_string_equal(options.node_id, "udpactl");
    udpai_cli_options_done(&options);
    PARSE(&options, "--context", "");
    assert_setting(&options, UDPAI_CLI_SERVER, UDPAI_CLI_DEFAULT, "127.0.0.1:18000");
    assert_null(options.name_space);
    udpai_cli_options_done(&options);
}

static void
the_environment_goes_before_it(void **state)
{
    (void)state;
    udpai_cli_options options;
    char origin[UDPAI_CLI_ORIGIN_TEXT];
    setenv("UDPACTL_CONTEXT", "lab", 1);
    setenv("UDPACTL_NODE_ID", "of-variable", 1);
    setenv("UDPACTL_TIMEOUT", "", 1); /* as if it were not set */
    PARSE(&options, "--timeout", "3");
    assert_setting(&options, UDPAI_CLI_SERVER, UDPAI_CLI_CONTEXT, "lab:1");
    assert_setting(&options, UDPAI_CLI_NODE_ID, UDPAI_CLI_ENVIRONMENT, "of-variable");
    assert_string_equal(udpai_cli_setting_origin(&options, UDPAI_CLI_NODE_ID, origin),
                        "UDPACTL_NODE_ID");
    assert_int_equal(options.timeout_ms, 3000);
    udpai_cli_options_done(&options);
    PARSE(&options, "--context", "prod", "--node-id", "of-option");
    assert_setting(&options, UDPAI_CLI_SERVER, UDPAI_CLI_CONTEXT, "edge:1");
    assert_setting(&options, UDPAI_CLI_NODE_ID, UDPAI_CLI_OPTION, "of-option");
    assert_int_equal(options.timeout_ms, 7000);
    udpai_cli_options_done(&options);
    unsetenv("UDPACTL_CONTEXT");
    unsetenv("UDPACTL_NODE_ID");
    unsetenv("UDPACTL_TIMEOUT");
}

/* Neither its token nor its certificates are for another one. */
static void
another_server_has_nothing_of_the_context(void **state)
{
    (void)state;
    udpai_cli_options options;
    for (int by_variable = 0; by_variable < 2; by_variable++) {
        if (by_variable)
            setenv("UDPACTL_SERVER", "other:1", 1);
        if (by_variable)
            PARSE(&options, "--timeout", "3");
        else
            PARSE(&options, "--server", "other:1");
        assert_string_equal(options.server, "other:1");
        for (int i = 0; i < UDPAI_CLI_SETTINGS; i++)
            if (i != UDPAI_CLI_SERVER &&
                udpai_cli_setting_info_of((udpai_cli_setting)i)->is_of_connection)
                assert_null(udpai_cli_setting_value(&options, (udpai_cli_setting)i));
        assert_setting(&options, UDPAI_CLI_NAMESPACE, UDPAI_CLI_CONTEXT, "com.acme");
        udpai_cli_options_done(&options);
    }
    unsetenv("UDPACTL_SERVER");
}

static void
its_token_goes_nowhere_else(void **state)
{
    (void)state;
    udpai_cli_options options;
    PARSE(&options, "--timeout", "3");
    assert_non_null(strstr(options.admin_token, "/udpa/token"));
    udpai_cli_options_done(&options);
    PARSE(&options, "--admin", "other:1");
    assert_null(options.admin_token);
    assert_string_equal(options.server, "edge:1");
    udpai_cli_options_done(&options);
    PARSE(&options, "--http", "other:1");
    assert_null(options.admin_token);
    udpai_cli_options_done(&options);
    setenv("UDPACTL_ADMIN", "other:1", 1);
    PARSE(&options, "--timeout", "3");
    assert_null(options.admin_token);
    udpai_cli_options_done(&options);
    unsetenv("UDPACTL_ADMIN");
}

static void
every_setting_has_its_own_variable_and_field(void **state)
{
    (void)state;
    udpai_cli_options options;
    for (int i = 0; i < UDPAI_CLI_SETTINGS; i++) {
        const udpai_cli_setting_info *info = udpai_cli_setting_info_of((udpai_cli_setting)i);
        assert_int_equal(udpai_cli_setting_find(udpai_str_from(info->field)), i);
        setenv(info->variable, "1", 1);
        PARSE(&options, "--context", "");
        assert_setting(&options, (udpai_cli_setting)i, UDPAI_CLI_ENVIRONMENT, "1");
        for (int k = 0; k < UDPAI_CLI_SETTINGS; k++)
            if (k != i)
                assert_int_equal(options.levels[k], UDPAI_CLI_DEFAULT);
        udpai_cli_options_done(&options);
        unsetenv(info->variable);
    }
    assert_int_equal(udpai_cli_setting_find(UDPAI_STR("none")), UDPAI_CLI_SETTINGS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_sets_what_nothing_else_does),
        cmocka_unit_test(the_environment_goes_before_it),
        cmocka_unit_test(another_server_has_nothing_of_the_context),
        cmocka_unit_test(its_token_goes_nowhere_else),
        cmocka_unit_test(every_setting_has_its_own_variable_and_field),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
