/* SPDX-License-Identifier: Apache-2.0 */
/* An operator has asked that a state directory be taken over by the next start with another engine:
 * what it has is the truth then, and no copy. A file in the directory says so, until it is done. */
#ifndef UDPAI_MIGRATION_H
#define UDPAI_MIGRATION_H

#include "base/error.h"

typedef enum udpai_migration {
    UDPAI_MIGRATION_NONE,
    UDPAI_MIGRATION_TO_ETCD,
    UDPAI_MIGRATION_TO_SQLITE,
} udpai_migration;

/* What was asked for; what cannot be read was not. */
udpai_migration udpai_migration_read(const char *directory);
/* UDPA_ERR_IO */
udpa_err
udpai_migration_ask(const char *directory, udpai_migration migration, udpa_error **ret_error);
/* It is done. UDPA_ERR_IO: it is not noted, and begins again with the next start. */
udpa_err udpai_migration_end(const char *directory, udpa_error **ret_error);

#endif
