// Package monitoring stands in for the client of Google Cloud Monitoring, to which OpenBao can send
// its metrics. A signing node sends none.
package monitoring

import (
	"context"
	"errors"

	"google.golang.org/api/option"
)

// MetricClient is never made.
type MetricClient struct{}

// NewMetricClient reports that the client is absent.
func NewMetricClient(context.Context, ...option.ClientOption) (*MetricClient, error) {
	return nil, errors.New("this program was built without Google Cloud Monitoring")
}
