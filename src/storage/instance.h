/* SPDX-License-Identifier: Apache-2.0 */
/* Which of those with one node id this is: a random number that lies in the state directory, bound
 * to the device and inode of its file, so that a copy of the directory has another. */
#ifndef UDPAI_INSTANCE_H
#define UDPAI_INSTANCE_H

#include <stdbool.h>

#include "base/error.h"

#define UDPAI_INSTANCE_LEN 32 /* hex digits */

/* Makes the directory, and the file, if they are not there. */
udpa_err udpai_instance_get(const char *directory,
                            char ret_instance[UDPAI_INSTANCE_LEN + 1],
                            udpa_error **ret_error);

/* One that nobody has. False, and errno: there is no chance. */
bool udpai_instance_draw(char ret_instance[UDPAI_INSTANCE_LEN + 1]);

#endif
