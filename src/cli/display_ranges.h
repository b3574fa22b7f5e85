/* SPDX-License-Identifier: Apache-2.0 */
/* Which characters take no column of a terminal, and which take two. Pure. */
#ifndef UDPAI_CLI_DISPLAY_RANGES_H
#define UDPAI_CLI_DISPLAY_RANGES_H

#include <stdbool.h>
#include <stdint.h>

/* Combining marks, format characters, and the vowels and final consonants of composed Hangul. */
bool udpai_cli_is_zero_width(uint32_t point);
/* Of East Asian width W or F, which emoji are too. */
bool udpai_cli_is_wide(uint32_t point);

#endif
