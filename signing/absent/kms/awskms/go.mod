module github.com/openbao/go-kms-wrapping/wrappers/awskms/v2

go 1.24

require (
	github.com/hashicorp/go-hclog v1.6.3
	github.com/openbao/go-kms-wrapping/v2 v2.5.0
	tlslab/signing/absent v0.0.0
)
