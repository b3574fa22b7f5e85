# SPDX-License-Identifier: Apache-2.0
"""What the conformance suite finds at go-control-plane 0.14.0, and who is right: shared by the test and
by the table in docs/conformance.md."""

# (cases, at which caches, what it does, who is right and why). What only chance decides is in CHANCE.
FINDINGS = [
    (r'^sotw/.*/nack-(of-update-)?no-hot-loop(-endpoint)?$|'
     r'^types/sotw-.*/nack-no-hot-loop-secret$', ('snapshot', 'linear'),
     'A refusal is answered at once with what was refused, for as long as the client refuses it: it '
     'compares the version beside the refusal, which is the last good one, with its own.',
     'The text: only a change is a reason to send.'),
    (r'^sotw/.*/wildcard-(.*-by-star|star-and-name|then-name)$', ('snapshot',),
     'In SotW `*` is taken for a name.',
     'The text: it is the wildcard.'),
    (r'^(sotw|delta)/.*/name-beside-wildcard-is-sent$|^demand/.*/second-is-sent$', ('snapshot', 'linear'),
     'A name that is asked for beside a wildcard is not sent again.',
     'The text: what is newly asked for is sent, though it was sent before without being named.'),
    (r'^sotw/.*/empty-after-.*-is-nothing$', ('snapshot',),
     'An empty list behind names becomes the wildcard again.',
     'The text: it ends the interest.'),
    (r'^sotw/.*/stale-nonce-is-not-answered$', ('snapshot',),
     'A stale nonce is answered.',
     'The text, which says should: the client will answer the last response.'),
    (r'^sotw/.*/old-version-is-no-nack$', ('snapshot',),
     'A request with an old version and no error is answered with the same again.',
     'The text, which says should: a refusal is told by error_detail, and nothing has changed.'),
    (r'^sotw/.*/unrelated-change-is-silent$', ('snapshot',),
     'A change of any resource of a type is sent to all who have asked for others of it: a snapshot '
     'has one version for a type.',
     'The text, which says should; it costs work, and does no harm.'),
    (r'^(delta|types)/.*/unknown-.*-is-told$|^(vhds|demand|xdstp)/.*/missing-(is|has)-', ('snapshot', 'linear'),
     'A name that does not exist is answered by nothing.',
     'The text: removed_resources names it. Clients wait 15 s otherwise. Of virtual hosts Envoy wants '
     'an empty resource, and holds the request of its client back until then.'),
    (r'^delta/.*/held-.*is-sent-again$', ('snapshot', 'linear'),
     'What a client subscribes to again is not sent again.',
     'The text: it must be, because the client may have forgotten it.'),
    (r'^(delta|sotw)/per-type/other-type-is-refused$|^(fetch|rest)/other-type-is-refused$',
     ('snapshot', 'linear'),
     'A service serves other types than its own; REST passes over the type.',
     'The text names no error, so the case says should: who asks the wrong service is not told.'),
    (r'^sotw/.*/ttl-no-wrapper-for-others$|^delta/.*/ttl-for-those-who-can$', ('snapshot',),
     'In SotW a ttl comes to all clients, also to those that cannot read it; in delta to none.',
     'The text: both depend on what the client announces.'),
    (r'^order/.*/endpoints-again-behind-cluster$', ('snapshot', 'linear'),
     'Endpoints do not come again behind a changed cluster: Envoy then waits 15 s.',
     'The text has this as a note on Envoy, so the case says should.'),
    (r'^xdstp/.*/(parameters-in-any-order|escapes-mean-the-same)$', ('snapshot', 'linear'),
     'URLs as names are compared as text.',
     'TP1: the order of context parameters does not count. Who makes the names himself, and is asked in '
     'his own spelling, is not harmed.'),
    (r'^types/sotw-.*/(whole|removal)-scoped-route-under-wildcard$', ('linear',),
     'A change of a scope of routes is sent alone in SotW, and its end not at all.',
     'The text asks for whole states of clusters and listeners only; an Envoy loses the other scopes, '
     'so the cases say should.'),
    (r'^rest/other-method-is-refused$', ('snapshot',),
     'By REST any method is taken for POST.',
     'HTTP, where it is a should: no client of xDS is harmed.'),
    (r'^fetch/.*', ('linear',),
     'The linear cache has no Fetch; the method answers UNKNOWN in place of UNIMPLEMENTED.',
     'Fetch is optional; the status is misleading.'),
    (r'^(sotw|delta)/aggregated/unknown-type-spares-others$', ('linear',),
     'A type that it has no cache for ends the aggregated stream.',
     'Not in the text as such; types of one stream are independent there, so the case says should.'),
]
# Types go out in the order of a map: these pass or fail by chance.
CHANCE = (r'^order/.*/(additions-in-order|replacement-first|removals-last)$|'
          r'^order/.*/(many-types-at-once|virtual-hosts-behind-routes)$')
