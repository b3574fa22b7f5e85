/* SPDX-License-Identifier: Apache-2.0 */
/* Reading all layers of one root, on any thread: the result, and which directories would show that
 * it has changed. */
#ifndef UDPAI_RUNTIME_READING_H
#define UDPAI_RUNTIME_READING_H

#include "runtime/directory.h"
#include "runtime/layers.h"

typedef struct udpai_runtime_place {
    size_t index; /* of the layer */
    udpai_str name;
    char *path;
    bool is_override;
} udpai_runtime_place;

typedef UDPAI_VECTOR(udpai_runtime_place) udpai_runtime_places;

typedef struct udpai_runtime_reading {
    udpai_runtime_load *loads; /* one for each place */
    size_t n;
    udpai_runtime_directories directories;
    uint64_t n_overrides_there, n_overrides_missing;
    bool has_memory; /* else nothing of this counts */
} udpai_runtime_reading;

void udpai_runtime_read(udpai_runtime_reading *reading,
                        const char *root,
                        const udpai_runtime_places *places);
void udpai_runtime_reading_done(udpai_runtime_reading *reading);
/* Is all that was read there already? */
bool udpai_runtime_reading_is_known(const udpai_runtime_reading *reading,
                                    const udpai_runtime *runtime);

#endif
