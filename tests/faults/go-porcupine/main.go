// SPDX-License-Identifier: Apache-2.0

// Judges a history: are the registers linearizable? Reads operations from standard input, writes a verdict for
// each register to standard output. With a folder as argument, what is illegal is drawn there.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// One register that takes longer is not judged, and that is a failure of the test, too.
const patience = 120 * time.Second

// An operation. "" is the value of what is absent. Ended < 0: its outcome was never learnt, so it may
// take effect at any time after its begin, or never.
type operation struct {
	Register string
	Client   int
	IsWrite  bool
	Value    string
	Begun    int64
	Ended    int64
}

type verdict struct {
	Result     string
	Operations int
	Drawing    string `json:",omitempty"`
}

func model() porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return "" },
		Step: func(state, input, output interface{}) (bool, interface{}) {
			one := input.(operation)
			if one.IsWrite {
				return true, one.Value
			}
			return one.Value == state.(string), state
		},
		DescribeOperation: func(input, output interface{}) string {
			one := input.(operation)
			value := one.Value
			if value == "" {
				value = "absent"
			}
			if one.IsWrite {
				return "write " + value
			}
			return "read " + value
		},
	}
}

func judge(name string, operations []porcupine.Operation, folder string) verdict {
	made := model()
	result, info := porcupine.CheckOperationsVerbose(made, operations, patience)
	found := verdict{Result: string(result), Operations: len(operations)}
	if result != porcupine.Ok && folder != "" {
		path := filepath.Join(folder, name+".html")
		if err := porcupine.VisualizePath(made, info, path); err == nil {
			found.Drawing = path
		}
	}
	return found
}

func main() {
	var all []operation
	if err := json.NewDecoder(os.Stdin).Decode(&all); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	folder := ""
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	registers := map[string][]porcupine.Operation{}
	for _, one := range all {
		ended := one.Ended
		if ended < 0 {
			ended = math.MaxInt64
		}
		registers[one.Register] = append(registers[one.Register], porcupine.Operation{
			ClientId: one.Client, Input: one, Call: one.Begun, Return: ended})
	}
	names := make([]string, 0, len(registers))
	for name := range registers {
		names = append(names, name)
	}
	sort.Strings(names)
	verdicts := map[string]verdict{}
	for _, name := range names {
		verdicts[name] = judge(name, registers[name], folder)
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdicts); err != nil {
		os.Exit(2)
	}
}
