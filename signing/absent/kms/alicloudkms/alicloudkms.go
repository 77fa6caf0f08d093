// Package alicloudkms stands in for OpenBao's wrapper of keys in Alibaba Cloud KMS.
package alicloudkms

import "tlslab/signing/absent"

// NewWrapper makes one that refuses to be configured.
func NewWrapper() *absent.Wrapper { return absent.New("Alibaba Cloud KMS") }
