/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/token.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

#include "loop/clock.h"

void
udpai_cli_choose_token(char token[UDPAI_CLI_TOKEN_SIZE])
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = (uint64_t)udpai_wall_us();
    snprintf(token, UDPAI_CLI_TOKEN_SIZE, "%016" PRIx64, random);
}
