/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a load, for people and for programs. Pure. */
#ifndef UDPAI_BENCH_VIEW_H
#define UDPAI_BENCH_VIEW_H

#include "base/strbuf.h"
#include "cli/table.h"
#include "tools/bench/load.h"

extern const char *const udpai_bench_protocols[]; /* by udpai_load_protocol */

/* CPU seconds of a million. */
double udpai_bench_per_million(double ms, uint64_t n);
double udpai_bench_per_second(const udpai_load_step *step, uint64_t n);

/* One object on one line. */
void udpai_bench_put_json(udpai_strbuf *out,
                          const udpai_load_options *load,
                          udpai_load_figures *figures);
/* Tables. */
void udpai_bench_put_text(udpai_strbuf *out,
                          udpai_cli_layout *layout,
                          const udpai_load_options *load,
                          udpai_load_figures *figures);

#endif
