// Package vault stands in for what the sink knows of OpenBao's metrics.
package vault

// Extractor and Bucketer are never called.
var Extractor, Bucketer any
