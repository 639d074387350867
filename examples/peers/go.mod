module github.com/dpsketch/dpsketch/examples/peers

go 1.26

require (
	github.com/axiomhq/hyperloglog v0.3.0
	github.com/dpsketch/dpsketch v0.2.0
	github.com/google/differential-privacy/go/v3 v3.0.0
	gonum.org/v1/gonum v0.17.0
)

require (
	github.com/dgryski/go-metro v0.0.0-20250106013310-edb8663e5e33 // indirect
	github.com/golang/glog v1.2.0 // indirect
	github.com/kamstrup/intmap v0.5.2 // indirect
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	golang.org/x/sys v0.30.0 // indirect
)
