module cloud.google.com/go/monitoring

go 1.24

require google.golang.org/api v0.0.0
