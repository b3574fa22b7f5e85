// SPDX-License-Identifier: Apache-2.0

// The load of a soak test: many xDS clients of udpad, which is published to meanwhile. Prints a line
// of JSON for each sample. Latency is counted from the moment at which this program triggers a change.
package main

import (
	"flag"
	"log"
	"time"
)

type options struct {
	server                string
	pid                   process
	nStreams, nResources  int
	soak, sample          time.Duration
	changeRate, churnRate float64
}

func parseOptions() *options {
	o := &options{}
	flag.StringVar(&o.server, "server", "", "host:port of the server")
	flag.IntVar((*int)(&o.pid), "pid", 0, "the process of the server")
	flag.IntVar(&o.nStreams, "streams", 1000,
		"clients, each on a connection of its own, every other one delta")
	flag.IntVar(&o.nResources, "resources", 1000, "of each type")
	flag.DurationVar(&o.soak, "soak", time.Hour, "change, add, remove and reconnect for so long")
	flag.DurationVar(&o.sample, "sample", 10*time.Second, "between samples")
	flag.Float64Var(&o.changeRate, "change-rate", 20, "changes a second")
	flag.Float64Var(&o.churnRate, "churn-rate", 10, "reconnects a second")
	flag.Parse()
	return o
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("load: ")
	o := parseOptions()
	target := must(newUdpaChanger(o.server))
	if err := target.load(o.nResources); err != nil {
		log.Fatal(err)
	}
	c := newCrowd(o.server, o.nResources)
	defer c.close()
	if err := soak(o, c, target); err != nil {
		log.Fatal(err)
	}
}
