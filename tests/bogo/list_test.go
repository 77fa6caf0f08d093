package runner

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// listed is what the accounting needs of a case: whether it is one of TLS 1.3 for a client, and the
// flags that it gives the shim.
type listed struct {
	Name  string
	Flags []string
}

// TestList writes all TLS 1.3 client cases to the file that BOGO_LIST names. Sharding lets main
// return where nothing matches; the cases are known then.
func TestList(t *testing.T) {
	t.Setenv("RUNNER_TEST_TOTAL_SHARDS", "1")
	t.Setenv("RUNNER_TEST_SHARD_INDEX", "0")
	*testToRun = "no case has this name"
	main()
	var cases []listed
	for i := range testCases {
		if test := &testCases[i]; isTLS13Client(test) {
			cases = append(cases, listed{test.name, flagsOf(test)})
		}
	}
	encoded, err := json.Marshal(cases)
	if err == nil {
		err = os.WriteFile(os.Getenv("BOGO_LIST"), encoded, 0o644)
	}
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
}

// isTLS13Client reports whether the shim is a client over TCP, and either side of any of the case's
// connections may speak TLS 1.3. The server may, unless its highest version is lower; the client
// may, unless its flags forbid it.
func isTLS13Client(test *testCase) bool {
	if test.testType != clientTest || test.protocol != tls {
		return false
	}
	if slices.Contains(test.flags, "-no-tls13") {
		return false
	}
	if at := slices.Index(test.flags, "-max-version"); at >= 0 && test.flags[at+1] != "772" {
		return false
	}
	may := func(config *Config) bool {
		return config.MaxVersion == 0 || config.MaxVersion >= VersionTLS13 ||
			config.Bugs.NegotiateVersion != 0 ||
			config.Bugs.SendServerHelloVersion != 0 || config.Bugs.SendServerSupportedVersionExtension != 0
	}
	return may(&test.config) || test.resumeConfig != nil && may(test.resumeConfig)
}

// flagsOf gives the flags that the case names, and those that runTest adds.
func flagsOf(test *testCase) []string {
	flags := slices.Clone(test.flags)
	for flag, is := range map[string]bool{
		"-resume-count":               test.resumeSession,
		"-export-keying-material":     test.exportKeyingMaterial > 0,
		"-export-traffic-secrets":     test.exportTrafficSecrets,
		"-tls-unique":                 test.testTLSUnique,
		"-key-update-before-read":     test.shimSendsKeyUpdateBeforeRead,
		"-read-with-unfinished-write": test.readWithUnfinishedWrite,
		"-shim-shuts-down":            test.shimShutsDown,
		"-shim-writes-first":          test.shimWritesFirst,
		"-enable-early-data":          test.earlyData,
		"-expect-session-miss":        test.expectResumeRejected,
		"-cert-file":                  test.shimCertificate != nil,
		"-new-x509-credential":        len(test.shimCredentials) > 0,
	} {
		if is {
			flags = append(flags, flag)
		}
	}
	slices.Sort(flags)
	return flags
}
