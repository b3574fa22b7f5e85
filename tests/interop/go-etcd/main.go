// SPDX-License-Identifier: Apache-2.0

// A current etcd, built from its modules.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
