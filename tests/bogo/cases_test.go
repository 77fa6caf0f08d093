package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// outcome is what the accounting needs of a case: what it says to the shim, and how it ended.
type outcome struct {
	Name string `json:"name"`
	// Flags are those that the case gives the shim.
	Flags []string `json:"flags"`
	// Result is passed, failed or unimplemented.
	Result string `json:"result"`
	// Words are the shim's of what it does not implement, or the runner's of the failure.
	Words string `json:"words"`
}

// TestCases runs all TLS 1.3 client cases, those alone that BOGO_CASES names where that is set, and writes
// their outcomes to the file that BOGO_OUTCOMES names.
func TestCases(t *testing.T) {
	cases := collect(t)
	dispatcher, err := newShimDispatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer dispatcher.Close()
	notes := t.TempDir()
	outcomes := make([]outcome, len(cases))
	places := make(chan int)
	var workers sync.WaitGroup
	for range *numWorkersFlag {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for place := range places {
				outcomes[place] = outcomeOf(dispatcher, cases[place], filepath.Join(notes, fmt.Sprint(place)))
			}
		}()
	}
	for place := range cases {
		places <- place
	}
	close(places)
	workers.Wait()
	encoded, err := json.MarshalIndent(outcomes, "", " ")
	if err == nil {
		err = os.WriteFile(os.Getenv("BOGO_OUTCOMES"), encoded, 0o644)
	}
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
}

// collect gives the cases. The runner's own main makes them; under a name that no case has it runs
// none of them, and sharding lets it return all the same.
func collect(t *testing.T) (cases []*testCase) {
	t.Setenv("RUNNER_TEST_TOTAL_SHARDS", "1")
	t.Setenv("RUNNER_TEST_SHARD_INDEX", "0")
	*testToRun, *keepTestCerts = "no case has this name", true
	main()
	t.Cleanup(func() { os.RemoveAll(tmpDir) })
	for i := range testCases {
		test := &testCases[i]
		matched, err := match(patterns(os.Getenv("BOGO_CASES")), nil, test.name)
		if err != nil {
			t.Fatal(err)
		}
		if matched && isTLS13Client(test) {
			cases = append(cases, test)
		}
	}
	return cases
}

func patterns(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ";")
}

// outcomeOf runs a case. The shim writes what it does not implement to the file note.
func outcomeOf(dispatcher *shimDispatcher, test *testCase, note string) outcome {
	given := slices.Clone(test.flags)
	noted := *test
	noted.flags = append(slices.Clone(test.flags), "-note", note)
	// Of each case, only that its shim has been started.
	started := make(chan statusMsg, 1)
	switch err := runTest(dispatcher, started, &noted, *shimPath, -1); err {
	case nil:
		return outcome{test.name, given, "passed", ""}
	case errUnimplemented:
		words, _ := os.ReadFile(note)
		return outcome{test.name, given, "unimplemented", strings.TrimSpace(string(words))}
	default:
		return outcome{test.name, given, "failed", err.Error()}
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
