// Package absent makes wrappers of keys for a key service whose library this program was built
// without. A signing node has no such keys: without the libraries of five clouds it builds sooner.
package absent

import (
	"context"
	"fmt"

	wrapping "github.com/openbao/go-kms-wrapping/v2"
)

// Wrapper refuses to be configured; its other methods are never reached.
type Wrapper struct {
	wrapping.Wrapper
	service string
}

// New makes one for the service with this name.
func New(service string) *Wrapper { return &Wrapper{service: service} }

// SetConfig reports that the service is absent.
func (w *Wrapper) SetConfig(context.Context, ...wrapping.Option) (*wrapping.WrapperConfig, error) {
	return nil, fmt.Errorf("this program was built without %s", w.service)
}
