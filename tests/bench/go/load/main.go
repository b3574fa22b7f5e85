// SPDX-License-Identifier: Apache-2.0

// The load: many xDS clients of one server, which is udpad or the one beside it. Prints what it
// measured as one line of JSON; as a soak test, a line for each sample. Latency is counted from the
// moment at which this program triggers a change.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"os"
	"slices"
	"time"

	"udpa.test/bench/fleet"
)

type options struct {
	server, changes, variant string
	pid                      process
	nStreams, nResources     int
	budget                   time.Duration
	maxChanges               int
	soak, sample             time.Duration
	changeRate, churnRate    float64
}

func parseOptions() *options {
	o := &options{}
	flag.StringVar(&o.server, "server", "", "host:port of the server")
	flag.StringVar(&o.changes, "changes", "",
		"host:port where the server takes changes; without it they are published by UDPA")
	flag.StringVar(&o.variant, "variant", "delta", "delta, sotw, or mixed: every other client")
	flag.IntVar((*int)(&o.pid), "pid", 0, "the process of the server")
	flag.IntVar(&o.nStreams, "streams", 1000, "clients, each on a connection of its own")
	flag.IntVar(&o.nResources, "resources", 1000, "of each type")
	flag.DurationVar(&o.budget, "budget", time.Second, "how long to change resources of a type")
	flag.IntVar(&o.maxChanges, "max-changes", 200, "at most so many changes of a type")
	flag.DurationVar(&o.soak, "soak", 0, "change, add, remove and reconnect for so long")
	flag.DurationVar(&o.sample, "sample", 10*time.Second, "between samples of a soak test")
	flag.Float64Var(&o.changeRate, "change-rate", 20, "changes a second of a soak test")
	flag.Float64Var(&o.churnRate, "churn-rate", 10, "reconnects a second of a soak test")
	flag.Parse()
	return o
}

type typeFigures struct {
	NChanges      int     `json:"n_changes"`
	P50Ms         float64 `json:"p50_ms"`
	P99Ms         float64 `json:"p99_ms"`
	LastP50Ms     float64 `json:"last_p50_ms"` // of the slowest client of a change
	CPUUsDelivery float64 `json:"cpu_us_delivery"`
}

type figures struct {
	SyncMs      float64                `json:"sync_ms"`
	SyncCPUMs   float64                `json:"sync_cpu_ms"`
	RSSLoadedKB int64                  `json:"rss_loaded_kb"`
	RSSSyncedKB int64                  `json:"rss_synced_kb"`
	RSSEndKB    int64                  `json:"rss_end_kb"`
	RSSStreamKB float64                `json:"rss_stream_kb"`
	Types       map[string]typeFigures `json:"types"`
}

var shortNames = []string{"cds", "eds"} // of fleet.Types

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// The value that this share of them does not exceed.
func quantile(sorted []time.Duration, share float64) float64 {
	return milliseconds(sorted[min(int(share*float64(len(sorted))), len(sorted)-1)])
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// Changes one resource of a type after the other, each when all clients have the one before.
func measureType(o *options, c *crowd, target changer, kind int, serial *int) (typeFigures, error) {
	var all, last []time.Duration
	begin, cpu := time.Now(), must(o.pid.cpu())
	for n := 0; n < o.maxChanges && (n < 2 || time.Since(begin) < o.budget); n++ {
		*serial++
		e, err := c.measure(target, kind, n%o.nResources, *serial)
		if err != nil {
			return typeFigures{}, err
		}
		all = append(all, e.took...)
		last = append(last, slices.Max(e.took))
	}
	c.settle()
	used := must(o.pid.cpu()) - cpu
	slices.Sort(all)
	slices.Sort(last)
	return typeFigures{
		NChanges: len(last), P50Ms: quantile(all, 0.5), P99Ms: quantile(all, 0.99),
		LastP50Ms:     quantile(last, 0.5),
		CPUUsDelivery: float64(used.Microseconds()) / float64(len(all)),
	}, nil
}

func measure(o *options, c *crowd, target changer) (*figures, error) {
	f := &figures{Types: map[string]typeFigures{}}
	f.RSSLoadedKB = must(o.pid.rss()) / 1024
	if err := c.connect(o.nStreams); err != nil {
		return nil, err
	}
	cpu := must(o.pid.cpu())
	took, err := c.sync()
	if err != nil {
		return nil, err
	}
	f.SyncMs = milliseconds(took)
	c.settle()
	f.SyncCPUMs = milliseconds(must(o.pid.cpu()) - cpu)
	f.RSSSyncedKB = must(o.pid.rss()) / 1024
	f.RSSStreamKB = float64(f.RSSSyncedKB-f.RSSLoadedKB) / float64(o.nStreams)
	serial := 0
	for kind := range fleet.Types {
		figures, err := measureType(o, c, target, kind, &serial)
		if err != nil {
			return nil, err
		}
		f.Types[shortNames[kind]] = figures
	}
	f.RSSEndKB = must(o.pid.rss()) / 1024
	return f, nil
}

func newChanger(o *options) (changer, error) {
	if o.changes != "" {
		return newPeerChanger(o.changes)
	}
	return newUdpaChanger(o.server)
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("load: ")
	o := parseOptions()
	target := must(newChanger(o))
	if err := target.load(o.nResources); err != nil {
		log.Fatal(err)
	}
	c := newCrowd(o.server, o.variant, o.nResources)
	defer c.close()
	if o.soak > 0 {
		if err := soak(o, c, target); err != nil {
			log.Fatal(err)
		}
		return
	}
	result := must(measure(o, c, target))
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}
