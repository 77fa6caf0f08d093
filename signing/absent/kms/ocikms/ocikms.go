// Package ocikms stands in for OpenBao's wrapper of keys in Oracle Cloud KMS.
package ocikms

import "tlslab/signing/absent"

// NewWrapper makes one that refuses to be configured.
func NewWrapper() *absent.Wrapper { return absent.New("Oracle Cloud KMS") }

// Names of what the wrapper would report.
const (
	KmsConfigKeyId              = "key_id"
	KmsConfigCryptoEndpoint     = "crypto_endpoint"
	KmsConfigManagementEndpoint = "management_endpoint"
)
