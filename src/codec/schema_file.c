/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor sets in files: where they are, and reading them. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "codec/schema.h"

#define READ_STEP ((size_t)64 * 1024)
#define DEFAULT_NAME "envoy-v3.descriptors"

static udpa_err
read_all(FILE *file, const char *path, udpai_strbuf *contents, udpa_error **ret_error)
{
    while (contents->len <= UDPAI_DESCRIPTOR_SET_MAX) {
        char *room = udpai_strbuf_extend(contents, READ_STEP);
        if (!room)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        size_t n = fread(room, 1, READ_STEP, file);
        contents->len -= READ_STEP - n;
        if (n < READ_STEP && ferror(file))
            return udpai_fail(ret_error, UDPA_ERR_IO, "cannot read %s: %s", path, strerror(errno));
        if (n < READ_STEP)
            break;
    }
    return UDPA_OK;
}

udpa_err
udpai_schema_add_file(udpai_schema *schema, const char *path, udpa_error **ret_error)
{
    FILE *file = fopen(path, "rbe");
    if (!file)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot open descriptors %s: %s", path,
                          strerror(errno));
    udpai_strbuf contents = {0};
    udpa_err err = read_all(file, path, &contents, ret_error);
    if (err == UDPA_OK) /* which also refuses what is too large */
        err = udpai_schema_add_set(schema, udpai_strbuf_view(&contents), path, ret_error);
    udpai_strbuf_done(&contents);
    fclose(file);
    return err;
}

bool
udpai_schema_program_folder(char path[PATH_MAX])
{
    char program[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    char *slash = len > 0 ? memrchr(program, '/', (size_t)len) : NULL;
    if (!slash)
        return false;
    slash[1] = '\0';
    memcpy(path, program, (size_t)(slash - program) + 2);
    return true;
}

bool
udpai_schema_default_file(char path[PATH_MAX])
{
    static const char *const places[] = {"", "../share/udpa/"};
    char folder[PATH_MAX];
    if (!udpai_schema_program_folder(folder))
        return false;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(places); i++) {
        int n = snprintf(path, PATH_MAX, "%s%s" DEFAULT_NAME, folder, places[i]);
        if (n > 0 && n < PATH_MAX && access(path, R_OK) == 0)
            return true;
    }
    return false;
}
