package main

import (
	"context"
	"errors"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/openbao/openbao/audit"
	"github.com/openbao/openbao/builtin/logical/transit"
	"github.com/openbao/openbao/helper/namespace"
	"github.com/openbao/openbao/sdk/v2/helper/consts"
	"github.com/openbao/openbao/sdk/v2/logical"
	"github.com/openbao/openbao/sdk/v2/physical/inmem"
	"github.com/openbao/openbao/vault"
)

// baoVersion is the release that go.mod's commit is of.
const baoVersion = "2.4.0"

// newCore makes an OpenBao core in memory, initialised and unsealed, and its root token.
func newCore() (*vault.Core, string, error) {
	logger := hclog.New(&hclog.LoggerOptions{Output: os.Stderr, Level: hclog.Error})
	storage, err := inmem.NewInmem(nil, logger)
	if err != nil {
		return nil, "", err
	}
	core, err := vault.NewCore(&vault.CoreConfig{
		Physical:           storage,
		StorageType:        "inmem",
		LogicalBackends:    map[string]logical.Factory{"transit": transit.Factory},
		CredentialBackends: map[string]logical.Factory{},
		AuditBackends:      map[string]audit.Factory{},
		BuiltinRegistry:    noPlugins{},
		Logger:             logger,
		LogLevel:           "error",
	})
	if err != nil {
		return nil, "", err
	}
	ctx := namespace.ContextWithNamespace(context.Background(), namespace.RootNamespace)
	// One share that opens the seal alone: the node holds the keys of an experiment, for its time.
	made, err := core.Initialize(ctx, &vault.InitParams{
		BarrierConfig: &vault.SealConfig{SecretShares: 1, SecretThreshold: 1, StoredShares: 1},
	})
	if err != nil {
		return nil, "", err
	}
	opened, err := core.Unseal(made.SecretShares[0])
	if err == nil && !opened {
		err = errors.New("the core stays sealed")
	}
	return core, made.RootToken, err
}

// noPlugins is a registry of plugins without any: the transit engine is compiled in.
type noPlugins struct{}

func (noPlugins) Contains(string, consts.PluginType) bool { return false }

func (noPlugins) Get(string, consts.PluginType) (func() (interface{}, error), bool) {
	return nil, false
}

func (noPlugins) Keys(consts.PluginType) []string { return nil }

func (noPlugins) DeprecationStatus(string, consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Unknown, false
}
