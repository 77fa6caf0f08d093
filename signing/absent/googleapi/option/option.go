// Package option stands in for the options of Google's clients, of which this program has none.
package option

// ClientOption changes nothing.
type ClientOption struct{}

// WithUserAgent takes no notice of the name.
func WithUserAgent(string) ClientOption { return ClientOption{} }
