# SPDX-License-Identifier: Apache-2.0
"""What the conformance suite finds at go-control-plane 0.14.0, and which side is right: shared by the test and
by the table in docs/conformance.md."""

# (cases, at which caches, what it does, which side is right and why). What only chance decides is in CHANCE.
FINDINGS = [
    (r'^sotw/.*/nack-(of-update-)?no-hot-loop(-endpoint)?$|'
     r'^types/sotw-.*/nack-no-hot-loop-secret$', ('snapshot', 'linear'),
     'The server responds to a NACK at once with the same resources, for as long as the client sends '
     'NACKs: it compares the version of the NACK, which is the last accepted one, with its own.',
     'The text: only a change causes a response.'),
    (r'^sotw/.*/wildcard-(.*-by-star|star-and-name|then-name)$', ('snapshot',),
     'In SotW the server takes `*` for a name.',
     'The text: it is the wildcard.'),
    (r'^(sotw|delta)/.*/name-beside-wildcard-is-sent$|^demand/.*/second-is-sent$', ('snapshot', 'linear'),
     'The server does not send a name again that is subscribed to beside a wildcard.',
     'The text: the server sends what is newly subscribed to, even if it was sent before without being '
     'named.'),
    (r'^sotw/.*/empty-after-.*-is-nothing$', ('snapshot',),
     'An empty list after names becomes the wildcard again.',
     'The text: it ends the subscription.'),
    (r'^sotw/.*/stale-nonce-is-not-answered$', ('snapshot',),
     'The server responds to a stale nonce.',
     'The text, a should: the client will answer the last response.'),
    (r'^sotw/.*/old-version-is-no-nack$', ('snapshot',),
     'The server responds to a request with an old version and no error with the same resources again.',
     'The text, a should: error_detail makes a NACK, and nothing has changed.'),
    (r'^sotw/.*/unrelated-change-is-silent$', ('snapshot',),
     'A change of any resource of a type is sent to all subscribers of other resources of it: a snapshot '
     'has one version for a type.',
     'The text, a should; it costs work, and does no harm.'),
    (r'^(delta|types)/.*/unknown-.*-is-told$|^(vhds|demand|xdstp)/.*/missing-(is|has)-', ('snapshot', 'linear'),
     'The server does not respond to a name that does not exist.',
     'The text: removed_resources has it. Otherwise clients wait 15 s. For virtual hosts Envoy expects an '
     'empty resource, and holds the request of its client until then.'),
    (r'^delta/.*/held-.*is-sent-again$', ('snapshot', 'linear'),
     'The server does not send again what a client subscribes to again.',
     'The text: it must, because the client may have dropped it.'),
    (r'^(delta|sotw)/per-type/other-type-is-refused$|^(fetch|rest)/other-type-is-refused$',
     ('snapshot', 'linear'),
     'A service serves other types than its own; REST ignores the type.',
     'The text names no error, so the case is a should: a client of the wrong service does not learn it.'),
    (r'^sotw/.*/ttl-no-wrapper-for-others$|^delta/.*/ttl-for-those-who-can$', ('snapshot',),
     'In SotW the server sends a ttl to all clients, also to those that cannot read it; in delta to none.',
     'The text: both depend on what the client announces.'),
    (r'^order/.*/endpoints-again-behind-cluster$', ('snapshot', 'linear'),
     'The server does not send endpoints again after a changed cluster: Envoy then waits 15 s.',
     'The text has this as a note on Envoy, so the case is a should.'),
    (r'^xdstp/.*/(parameters-in-any-order|escapes-mean-the-same)$', ('snapshot', 'linear'),
     'The server compares URLs as text.',
     'TP1: the order of context parameters does not matter. A client that writes names as the server does '
     'is not harmed.'),
    (r'^types/sotw-.*/(whole|removal)-scoped-route-under-wildcard$', ('linear',),
     'In SotW the server sends a changed scope of routes alone, and its removal not at all.',
     'The text requires whole states of clusters and listeners only; an Envoy loses the other scopes, so '
     'the cases are a should.'),
    (r'^rest/other-method-is-refused$', ('snapshot',),
     'REST accepts any method in place of POST.',
     'HTTP, a should: no client of xDS is harmed.'),
    (r'^fetch/.*', ('linear',),
     'The linear cache has no Fetch; the method returns UNKNOWN in place of UNIMPLEMENTED.',
     'Fetch is optional; the status is misleading.'),
    (r'^(sotw|delta)/aggregated/unknown-type-spares-others$', ('linear',),
     'A type without a cache ends the aggregated stream.',
     'Not in the text as such; types of one stream are independent there, so the case is a should.'),
]
# Types go out in the order of a map: these pass or fail by chance.
CHANCE = (r'^order/.*/(additions-in-order|replacement-first|removals-last)$|'
          r'^order/.*/(many-types-at-once|virtual-hosts-behind-routes)$')
