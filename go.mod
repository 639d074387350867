module github.com/dpsketch/dpsketch

go 1.26

require (
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	golang.org/x/sys v0.30.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)
