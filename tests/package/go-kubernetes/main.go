// SPDX-License-Identifier: Apache-2.0

// Decodes manifests strictly by the types of Kubernetes and of the Prometheus operator: a field that does not exist, or
// one that is there twice, is an error, as are a kind and a volume that nothing is known of.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	documents "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

var kinds = map[string]func() any{
	"v1/Namespace":                        func() any { return &core.Namespace{} },
	"v1/ConfigMap":                        func() any { return &core.ConfigMap{} },
	"v1/Service":                          func() any { return &core.Service{} },
	"apps/v1/Deployment":                  func() any { return &apps.Deployment{} },
	"apps/v1/DaemonSet":                   func() any { return &apps.DaemonSet{} },
	"policy/v1/PodDisruptionBudget":       func() any { return &policy.PodDisruptionBudget{} },
	"monitoring.coreos.com/v1/PodMonitor": func() any { return &monitoring.PodMonitor{} },
}

// What the types leave open, and a cluster would reject.
func checkPod(template core.PodTemplateSpec, selector *meta.LabelSelector) error {
	volumes := map[string]bool{}
	for _, volume := range template.Spec.Volumes {
		volumes[volume.Name] = true
	}
	for _, container := range append(template.Spec.InitContainers, template.Spec.Containers...) {
		for _, mount := range container.VolumeMounts {
			if !volumes[mount.Name] {
				return fmt.Errorf("container %s mounts volume %s, which the pod does not have", container.Name, mount.Name)
			}
		}
	}
	matches, err := meta.LabelSelectorAsSelector(selector)
	if err != nil {
		return err
	}
	if !matches.Matches(labels(template.Labels)) {
		return errors.New("the selector does not match the labels of its pods")
	}
	return nil
}

type labels map[string]string

func (l labels) Has(label string) bool              { _, found := l[label]; return found }
func (l labels) Get(label string) string            { return l[label] }
func (l labels) Lookup(label string) (string, bool) { value, found := l[label]; return value, found }

func decode(text []byte) (string, error) {
	var head meta.TypeMeta
	if err := yaml.Unmarshal(text, &head); err != nil {
		return "", err
	}
	name := head.APIVersion + "/" + head.Kind
	make, found := kinds[name]
	if !found {
		return name, errors.New("this kind is not known here")
	}
	object := make()
	if err := yaml.UnmarshalStrict(text, object); err != nil {
		return name, err
	}
	switch of := object.(type) {
	case *apps.Deployment:
		return name, checkPod(of.Spec.Template, of.Spec.Selector)
	case *apps.DaemonSet:
		return name, checkPod(of.Spec.Template, of.Spec.Selector)
	}
	return name, nil
}

func decodeFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	reader := documents.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := decode(document)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", path, name, err)
		}
		fmt.Printf("%s\n", name)
	}
}

func main() {
	for _, path := range os.Args[1:] {
		if err := decodeFile(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
