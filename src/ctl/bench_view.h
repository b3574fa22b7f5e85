/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UDPAI_CTL_BENCH_VIEW_H
#define UDPAI_CTL_BENCH_VIEW_H

#include "load/load.h"

/* Prints what was measured: for people, or as one line of JSON. */
void udpai_bench_show(bool as_json, const udpai_load_options *load, udpai_load_figures *figures);

#endif
