#!/usr/bin/env bash
# A side input that was made with beam.Create and put into daily windows, as its main input is, is
# empty, without an error: Create gives its elements the earliest time there is, so the list lies in
# the window of a day long ago, and today's elements see nothing of it. Beam's Go SDK v2.77.0, on
# Prism. Seen: an element of 2026 sees 0 of the 3 keys of a list, and all 3 if the list is global.
# Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOWORK=off GOFLAGS=-mod=mod
go mod init finding 2>/dev/null
go get github.com/apache/beam/sdks/v2@v2.77.0

cat >main.go <<'END'
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
)

func stamp(x string, emit func(beam.EventTime, string)) {
	emit(mtime.FromTime(time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)), x)
}

func see(x string, list func(*string) bool) {
	n := 0
	for key := ""; list(&key); {
		n++
	}
	fmt.Printf("%s: an element sees %d keys of the list\n", x, n)
}

func init() {
	register.Function2x0(stamp)
	register.Function2x0(see)
	register.Emitter2[beam.EventTime, string]()
	register.Iter1[string]()
}

func main() {
	log.SetupLogging("error", "text")
	beam.Init()
	day := window.NewFixedWindows(24 * time.Hour)
	for _, daily := range []bool{true, false} {
		name := map[bool]string{true: "daily list", false: "global list"}[daily]
		p, s := beam.NewPipelineWithRoot()
		list := beam.Create(s, "tea", "milk", "bread")
		if daily {
			list = beam.WindowInto(s, day, list)
		}
		elements := beam.WindowInto(s, day, beam.ParDo(s, stamp, beam.Create(s, name)))
		beam.ParDo0(s, see, elements, beam.SideInput{Input: list})
		if _, err := prism.Execute(context.Background(), p); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}
END
cat >want <<'END'
daily list: an element sees 0 keys of the list
global list: an element sees 3 keys of the list
END

go run . | tee got
diff want got
echo "as found: a list in the same windows is empty"
