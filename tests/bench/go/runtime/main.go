// SPDX-License-Identifier: Apache-2.0

// What bench-runtime measures, as a program in Go would have it by itself: an atomic pointer to a map of
// values, which a writer replaces by a changed copy, and a tree of 10,000 files that is read into a new
// map. There are no layers, no checks, and nothing is watched. It prints the best of some runs.
package main

import (
	"fmt"
	"io/fs"
	"log"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	files            = 10000
	filesOfDirectory = 100
	asked            = 1024
	reads            = 5000000
	runs             = 7
	reloads          = 21
	ofThread         = 1 // RUSAGE_THREAD
	ofProcess        = 0 // RUSAGE_SELF
)

type value struct {
	text    string
	integer uint64
}

type snapshot = map[string]value

var current atomic.Pointer[snapshot]

func key(index int) string {
	return fmt.Sprintf("service_%d.value_%d", index/filesOfDirectory, index)
}

func used(who int) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(who, &usage); err != nil {
		log.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func readValues(keys []string, n int) (each float64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var sum uint64
	began := used(ofThread)
	for i := range n {
		sum += (*current.Load())[keys[i&(asked-1)]].integer
	}
	each = float64(used(ofThread)-began) / float64(n)
	if sum == 0 {
		log.Fatal("no value was found")
	}
	return each
}

// Puts another snapshot until it is told to stop; returns how many.
func write(isOver *atomic.Bool, done chan<- int) {
	n := 0
	for ; !isOver.Load(); n++ {
		changed := maps.Clone(*current.Load())
		changed["bench.writer"] = value{"", uint64(n)}
		current.Store(&changed)
	}
	done <- n
}

func bestRun(keys []string, hasWriter bool) (each, perSecond float64) {
	for i := range runs {
		var isOver atomic.Bool
		written := make(chan int, 1)
		began := time.Now()
		if hasWriter {
			go write(&isOver, written)
		} else {
			written <- 0
		}
		next := readValues(keys, reads)
		isOver.Store(true)
		n := <-written
		if i == 0 || next < each {
			each, perSecond = next, float64(n)/time.Since(began).Seconds()
		}
	}
	return each, perSecond
}

func makeTree(root string) {
	for i := range files {
		path := filepath.Join(root, strings.ReplaceAll(key(i), ".", "/"))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strconv.Itoa(i+1)+"\n"), 0o600); err != nil {
			log.Fatal(err)
		}
	}
}

func readTree(root string) {
	read := make(snapshot)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		contents, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := strings.TrimSpace(string(contents))
		integer, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return err
		}
		read[strings.ReplaceAll(path[len(root)+1:], "/", ".")] = value{text, integer}
		return nil
	})
	if err != nil || len(read) != files {
		log.Fatal(len(read), " files: ", err)
	}
	current.Store(&read)
}

func milliseconds(d time.Duration) float64 {
	return float64(d) / float64(time.Millisecond)
}

func measureReloads(root string) {
	var took, usedByAll []time.Duration
	for range reloads {
		began, before := time.Now(), used(ofProcess)
		readTree(root)
		took, usedByAll = append(took, time.Since(began)), append(usedByAll, used(ofProcess)-before)
	}
	slices.Sort(took)
	slices.Sort(usedByAll)
	fmt.Printf("%d files, read: %.1f ms, of %d the fastest %.1f and the slowest %.1f; %.1f ms of processor\n",
		files, milliseconds(took[reloads/2]), reloads, milliseconds(took[0]),
		milliseconds(took[reloads-1]), milliseconds(usedByAll[reloads/2]))
}

func main() {
	root, err := os.MkdirTemp("", "udpa-bench-runtime-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	makeTree(root)
	measureReloads(root)
	var keys []string
	for i := range asked {
		keys = append(keys, key(i*(files/asked)))
	}
	alone, _ := bestRun(keys, false)
	beside, perSecond := bestRun(keys, true)
	fmt.Printf("an integer: %.1f ns; %.1f ns beside a writer that makes %.0f snapshots a second\n",
		alone, beside, perSecond)
}
