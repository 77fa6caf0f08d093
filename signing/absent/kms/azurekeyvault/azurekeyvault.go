// Package azurekeyvault stands in for OpenBao's wrapper of keys in Azure Key Vault.
package azurekeyvault

import "tlslab/signing/absent"

// NewWrapper makes one that refuses to be configured.
func NewWrapper() *absent.Wrapper { return absent.New("Azure Key Vault") }
