module tlslab/signing/absent

go 1.24

require github.com/openbao/go-kms-wrapping/v2 v2.5.0
