module github.com/google/go-metrics-stackdriver

go 1.24

require (
	cloud.google.com/go/monitoring v0.0.0
	github.com/armon/go-metrics v0.4.1
)
