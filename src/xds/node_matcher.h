/* SPDX-License-Identifier: Apache-2.0 */
/* envoy.type.matcher.v3.NodeMatcher: which clients a question is about. The client writes them, so
 * that their number, depth and length are bounded, and with that what each client costs. What is
 * not known here is refused rather than ignored: an answer about too many clients would be wrong.
 */
#ifndef UDPAI_NODE_MATCHER_H
#define UDPAI_NODE_MATCHER_H

#include "base/regex.h"
#include "base/vector.h"
#include "envoy/type/matcher/v3/node.pb-c.h"
#include "model/node_info.h"

#define UDPAI_NODE_MATCHERS_MAX 64        /* of a request */
#define UDPAI_NODE_MATCHER_STRUCTS_MAX 64 /* of all of them, and steps of a path */
#define UDPAI_NODE_MATCHER_PIECES_MAX 256 /* string and value matchers in all of them */
#define UDPAI_NODE_MATCHER_REGEX_MAX 32   /* of these */
#define UDPAI_NODE_MATCHER_TEXT_MAX 1024  /* bytes of one text or expression */
#define UDPAI_NODE_MATCHER_DEPTH_MAX 8
/* Metadata that is larger is not looked into. */
#define UDPAI_NODE_MATCHER_METADATA_MAX ((size_t)64 << 10)

/* The matchers of one request, ready to be asked. */
typedef struct udpai_node_matchers {
    const udpai_regex_ops *ops;
    Envoy__Type__Matcher__V3__NodeMatcher *const *items; /* borrowed, as decoded */
    size_t n_items;
    size_t n_structs, n_pieces;

    UDPAI_VECTOR(struct udpai_matcher_regex {
        const void *matcher; /* the matcher that it belongs to */
        udpai_regex *regex;
    })
    regexes;
} udpai_node_matchers;

/* Checks them. @p items live as long as the result, which must be given to
 * udpai_node_matchers_done() in any case. @p ops NULL: there are no regular expressions here. */
udpa_err udpai_node_matchers_init(udpai_node_matchers *matchers,
                                  Envoy__Type__Matcher__V3__NodeMatcher *const *items,
                                  size_t n_items,
                                  const udpai_regex_ops *ops,
                                  udpa_error **ret_error);
void udpai_node_matchers_done(udpai_node_matchers *matchers);
/* Does one of them fit, or is there none? @p node NULL: the client has sent none, and fits only
 * none. */
bool udpai_node_matchers_fit(const udpai_node_matchers *matchers, const udpai_node_info *node);
/* About how many bytes are looked at to find out. */
size_t udpai_node_matchers_cost(const udpai_node_matchers *matchers, const udpai_node_info *node);

#endif
