/* SPDX-License-Identifier: Apache-2.0 */
/* May a feature that is marked as deprecated be used? What a runtime has of that, by Envoy's keys
 * and in Envoy's order: the feature's own key comes first, whatever its value; then whether all are
 * allowed; then whether all are refused; then the feature's descriptor. */
#ifndef UDPAI_RUNTIME_DEPRECATED_H
#define UDPAI_RUNTIME_DEPRECATED_H

#include "runtime/snapshot.h"

/* A truth; before the full name of a field, or of a value of an enum. */
#define UDPAI_RUNTIME_DEPRECATED "envoy.deprecated_features:"
/* Truths. */
#define UDPAI_RUNTIME_DEPRECATED_ALL "envoy.features.enable_all_deprecated_features"
#define UDPAI_RUNTIME_DEPRECATED_NONE "envoy.features.fail_on_any_deprecated_feature"
/* As Envoy's document writes them in places. Where both are there, the others count. */
#define UDPAI_RUNTIME_DEPRECATED_SINGULAR "envoy.deprecated_feature:"
#define UDPAI_RUNTIME_DEPRECATED_ALL_SINGULAR "envoy.features.enable_all_deprecated_feature"

/* Any thread. */
bool udpai_runtime_allows_deprecated(const udpai_runtime_snapshot *snapshot,
                                     udpai_str name,
                                     bool is_disallowed);

#endif
