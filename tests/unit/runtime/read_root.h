/* SPDX-License-Identifier: Apache-2.0 */
/* A layer from the directory of a test. */
#ifndef UDPAI_TESTS_RUNTIME_READ_ROOT_H
#define UDPAI_TESTS_RUNTIME_READ_ROOT_H

#include "runtime/directory.h"

#include "tree.h"
#include "value_at.h"

static inline udpai_runtime_layer *
read_root(udpai_runtime_directories *directories)
{
    udpai_runtime_layer *layer = NULL;
    udpa_error *error = NULL;
    if (udpai_runtime_directory_read(&layer, UDPAI_STR("disk"), tree_root, directories, &error) !=
        UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
    return layer;
}

static inline void
expect_refused(udpa_err expected, const char *words)
{
    udpai_runtime_layer *layer = NULL;
    udpa_error *error = NULL;
    udpa_err err = udpai_runtime_directory_read(&layer, UDPAI_STR("disk"), tree_root, NULL, &error);
    assert_null(layer);
    if (err != expected || !strstr(udpa_error_message(error), words))
        fail_msg("%s, '%s' instead of %s, '%s'", udpa_err_name(err), udpa_error_message(error),
                 udpa_err_name(expected), words);
    udpa_error_unref(error);
}

#endif
