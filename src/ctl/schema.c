/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/schema.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "ctl/client.h"

#define FILE_NAME "envoy-v3.descriptors"

/* Beside the program, as in a build, or where they are installed. */
static bool
find(char path[PATH_MAX])
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
        int n = snprintf(path, PATH_MAX, "%s%s" FILE_NAME, program, places[i]);
        if (n > 0 && n < PATH_MAX && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

udpai_schema *
udpai_ctl_schema(const udpai_ctl_options *options)
{
    char found[PATH_MAX];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_schema *schema = NULL;
    const char *path = options->descriptors ? options->descriptors : find(found) ? found : NULL;
    udpa_err err = udpai_schema_new(&schema, &error);
    if (err == UDPA_OK && path)
        err = udpai_schema_add_file(schema, path, &error);
    if (err == UDPA_OK)
        return schema;
    udpai_ctl_complain_of(error);
    return udpai_schema_unref(schema);
}
