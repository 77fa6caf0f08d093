module github.com/openbao/go-kms-wrapping/wrappers/alicloudkms/v2

go 1.24

require tlslab/signing/absent v0.0.0
