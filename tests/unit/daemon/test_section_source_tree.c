/* SPDX-License-Identifier: Apache-2.0 */
/* What may be wrong with a ConfigSource of kind runtime_tree. */
#include "daemon/bootstrap_check.h"
#include "tests/unit/daemon/bootstrap_test.h"

static void
a_runtime_tree_has_a_root_and_makes_names(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(
        test, "authorities: [{name: corp, namespace: com.corp}]\n"
              "static_resources:\n"
              "  config_sources:\n"
              "    - {name: a, runtime_tree: {symlink_root: x, prefix: com.acme/, namespace: b}}\n"
              "    - name: b\n"
              "      runtime_tree:\n"
              "        symlink_root: x\n"
              "        prefix: 'xdstp://corp/envoy.service.runtime.v3.Runtime/'\n"
              "    - {name: c, runtime_tree: {subdirectory: x}}\n"
              "    - {name: d, runtime_tree: {symlink_root: x, namespace: udpa.node}}\n"
              "    - {name: e, runtime_tree: {symlink_root: x, prefix: 'xdstp://corp/a.B/'}}\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:9:31: static_resources.config_sources[2].runtime_tree.symlink_root: is "
              "required\n"
              "test.yaml:10:60: static_resources.config_sources[3].runtime_tree.namespace: "
              "namespace 'udpa.node' is reserved for what nodes report of themselves: use another\n"
              "test.yaml:11:57: static_resources.config_sources[4].runtime_tree.prefix: before the "
              "name of a directory it makes no name: 'xdstp://corp/a.B/layer' is no name of a "
              "type.googleapis.com/envoy.service.runtime.v3.Runtime\n");
}

/* It may come while the node runs. */
static void
a_runtime_tree_may_be_missing(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "static_resources:\n"
                              "  config_sources:\n"
                              "    - {name: x, runtime_tree: {symlink_root: /proc/no/a}}\n"
                              "    - {name: y, runtime_tree: {symlink_root: /tmp}}\n"
                              "store: {in_memory: true}\n");
    assert_ok(test->err);
    udpai_bootstrap_check_files(test->bootstrap.message, &(udpai_options){0}, &test->diagnostics);
    bootstrap_test_assert_mistakes(
        test, "warning: test.yaml:3:46: static_resources.config_sources[0].runtime_tree."
              "symlink_root: /proc/no/a: cannot be read at present"
              ": No such file or directory\n");
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_runtime_tree_has_a_root_and_makes_names),
        CASE(a_runtime_tree_may_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
