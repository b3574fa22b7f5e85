# SPDX-License-Identifier: Apache-2.0
# A doorway: every target is a script or a call of meson. The build itself is meson's.

.PHONY: build run demo test lint docs package sbom sim fuzz bench bench-check soak mutants full clean

build: # build/udpad, build/udpactl and libudpa, for use
	.ci/build

run: build # a node on loopback, with its data in ./udpa-data
	build/udpad

demo: build # a small federation that fails over, told step by step
	docs/demo/run

test: # everything, with sanitizers
	.ci/test

lint: # the rules of CONTRIBUTING.md
	.ci/test --suite lint

docs: # the documents as a site, build/docs/index.html; fails where a link leads nowhere
	"$$(.ci/venv docs)" docs/site/make.py build/docs

package: build # Debian packages in build/packages, made in a clean root, then installed and run in another
	tests/package/test_package.py --keep build/packages root

sbom: build # build/sbom.cdx.json: what the build is made of, as CycloneDX
	src/make-sbom build > build/sbom.cdx.json

sim: # federations on a virtual clock, with many seeds; SEED=n shows one
	tests/sim/run
	[ -n "$$SEED" ] || tests/sim/run --scene replicas --seeds 1-200

fuzz: # each fuzz target for a minute; FUZZ_SECONDS changes that
	tests/fuzz/run $(or $(FUZZ_SECONDS),60)

bench: build # figures, beside other servers, in 3 minutes; tests/bench/run --full has all
	tests/bench/run

bench-check: build # the same, and fails if one is 1.5 times worse than it must be
	tests/bench/run --check
	ninja -C build tests/bench/bench-runtime
	build/tests/bench/bench-runtime --check

soak: build # figures over hours: memory must stay flat; and the simulation with a million seeds
	tests/bench/soak
	tests/sim/run --seeds 1-1000000

mutants: # do the unit tests see 300 mistakes? A quarter of an hour
	tests/mutants/run

full: # before a release: all compilers and sanitizers, long simulation, long fuzzing
	.ci/full

clean:
	rm -rf build build-asan build-fuzz build-sim build-mutants build-unmeasured build-full-*
