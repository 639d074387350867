module github.com/dpsketch/dpsketch/examples/prio3

go 1.26

require (
	github.com/cloudflare/circl v1.6.5
	github.com/dpsketch/dpsketch v0.2.0
)

require (
	golang.org/x/crypto v0.54.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)
