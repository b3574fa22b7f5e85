/* SPDX-License-Identifier: Apache-2.0 */
/* Which values a label may have: of each label the first ones that come, as many as the table
 * allows, and of types besides all that the program knows (model/types.h). Whatever comes later is
 * "other", so that no peer can make the number of series grow.
 *
 * Belongs to one thread. */
#ifndef UDPAI_METRICS_LABELS_H
#define UDPAI_METRICS_LABELS_H

#include "base/map.h"
#include "metrics/families.h"

#define UDPAI_LABEL_OTHER "other"
#define UDPAI_LABEL_VALUE_MAX 256 /* bytes; what is longer is "other", too */

typedef struct udpai_metric_labels {
    udpai_map values[UDPAI_LABELS];
} udpai_metric_labels;

void udpai_metric_labels_init(udpai_metric_labels *labels);
void udpai_metric_labels_done(udpai_metric_labels *labels);
/* The value itself, or "other"; of what there is no memory to note, too. Empty without a label. */
udpai_str
udpai_metric_labels_fold(udpai_metric_labels *labels, udpai_metric_label label, udpai_str value);

#endif
