// Package gcpckms stands in for OpenBao's wrapper of keys in Google Cloud KMS.
package gcpckms

import "tlslab/signing/absent"

// NewWrapper makes one that refuses to be configured.
func NewWrapper() *absent.Wrapper { return absent.New("Google Cloud KMS") }
