/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of what was read, before it goes anywhere. */
#ifndef UDPAI_CTL_VALIDATE_H
#define UDPAI_CTL_VALIDATE_H

#include "ctl/input.h"

/* Tells every mistake with its place; UDPAI_CTL_MISTAKE if there is one. */
udpai_ctl_exit udpai_ctl_validate_input(const udpai_ctl_input *input);

#endif
