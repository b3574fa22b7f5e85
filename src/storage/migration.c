/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/migration.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "storage/small_file.h"

#define FILE_NAME "migrate"

static const char *const texts[] = {
    [UDPAI_MIGRATION_TO_ETCD] = "to etcd\n",
    [UDPAI_MIGRATION_TO_SQLITE] = "to SQLite\n",
};

udpai_migration
udpai_migration_read(const char *directory)
{
    char text[UDPAI_SMALL_FILE_MAX + 1];
    if (udpai_small_file_read(directory, FILE_NAME, text) <= 0)
        return UDPAI_MIGRATION_NONE;
    for (udpai_migration i = UDPAI_MIGRATION_TO_ETCD; i <= UDPAI_MIGRATION_TO_SQLITE; i++)
        if (strcmp(text, texts[i]) == 0)
            return i;
    return UDPAI_MIGRATION_NONE;
}

udpa_err
udpai_migration_ask(const char *directory, udpai_migration migration, udpa_error **ret_error)
{
    const char *text = texts[migration];
    if (udpai_small_file_write(directory, FILE_NAME, udpai_str_from(text)))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot write %s/" FILE_NAME ": %s", directory,
                      strerror(errno));
}

udpa_err
udpai_migration_end(const char *directory, udpa_error **ret_error)
{
    if (udpai_small_file_remove(directory, FILE_NAME))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot remove %s/" FILE_NAME ": %s", directory,
                      strerror(errno));
}
