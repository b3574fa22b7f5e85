/* SPDX-License-Identifier: Apache-2.0 */
/* The order that people expect of names: a number within one counts as a number. Pure. */
#ifndef UDPAI_CLI_ORDER_H
#define UDPAI_CLI_ORDER_H

#include "base/util.h"

/* "r2" before "r10"; negative, 0, or positive as strcmp(). 0 only if the texts are equal. */
int udpai_cli_compare_names(udpai_str a, udpai_str b);

#endif
