package main

import (
	"flag"
	"fmt"
	"html/template"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "make the picture of the page anew")

// generate fills a service with steps of generated events: pages of a site, with days and nights,
// weekends, a page that becomes popular and one that is forgotten.
func generate(t testing.TB, s *service, steps, hourly int) {
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"/", "/docs/install", "/pricing", "/blog/launch", "/docs/api", "/login", "/about", "/careers", "/docs/faq", "/blog/2025", "/contact", "/status"}
	for step := range steps {
		at := s.head.end(step)
		busy := 1 + 0.6*math.Sin(2*math.Pi*(float64(at.Hour())-9)/24)
		if at.Weekday() == time.Saturday || at.Weekday() == time.Sunday {
			busy *= 0.6
		}
		weights, sum := make([]float64, len(names)), 0.0
		for i, name := range names {
			weights[i] = 1 / float64(i+2)
			switch along := float64(step) / float64(steps); name {
			case "/blog/launch":
				weights[i] *= 0.2 + 2.2/(1+math.Exp(-14*(along-0.55)))
			case "/blog/2025":
				weights[i] *= 3 * (1 - along)
			}
			sum += weights[i]
		}
		var events []event
		for range int(float64(hourly) * busy) {
			x, i := r.Float64()*sum*1.15, 0
			for i < len(names) && x > weights[i] {
				x, i = x-weights[i], i+1
			}
			key := fmt.Sprintf("/archive/%d", r.IntN(5000))
			if i < len(names) {
				key = names[i]
			}
			events = append(events, event{fmt.Sprint("user-", r.IntN(hourly*250)), key})
		}
		s.count(recordOf(events...))
		require.NoError(t, s.step())
	}
}

func TestPage(t *testing.T) {
	c := testConfig(t)
	s := mustOpen(t, c)
	html, err := s.published.page(day)
	require.NoError(t, err)
	require.Contains(t, string(html), "No key has been published yet")

	s.store.db.NoSync = true
	const hostile = "</title><script>alert(1)</script>"
	for step := range 2 * day {
		for i := range 300 {
			s.count(recordOf(event{fmt.Sprint(step, "-", i), hostile}))
		}
		require.NoError(t, s.step())
	}
	recorder := newRecorder(s, "/?steps=24")
	text := recorder.Body.String()
	require.Equal(t, 200, recorder.Code)
	require.Contains(t, recorder.Header().Get("Content-Security-Policy"), "default-src 'none'")
	require.NotContains(t, text, "<script")
	require.NotContains(t, text, "http://")
	require.NotContains(t, text, "https://")
	require.Contains(t, text, template.HTMLEscapeString(hostile))
	for _, want := range []string{"Top keys of the last day", "ε = 2", "δ = 1e-6", "at most 7.39 times", "Of one user 5 events count in a week on average, at most 3 at once", "Spent once", "48 steps published", "what users did counts", "Distinct users by key", "Jun 2, 00:00 to Jun 3, 00:00 UTC"} {
		require.Contains(t, text, want)
	}
	require.Same(t, &must(s.published.page(day))[0], &must(s.published.page(day))[0], "drawn once a step")
}

// A long key ends with … beside its line, and telephones have larger letters.
func TestLabelsOfLines(t *testing.T) {
	for key, want := range map[string]string{
		strings.Repeat("é", 24): strings.Repeat("é", 24),
		strings.Repeat("é", 25): strings.Repeat("é", 23) + "…",
	} {
		var readings []reading
		for i := range 2 {
			readings = append(readings, reading{monday.Add(time.Duration(i) * time.Hour), row{Key: key, Estimate: 1}})
		}
		c := drawLines([][]reading{readings})
		require.Equal(t, want, c.Lines[0].Label)
		require.Equal(t, key, c.Lines[0].Key)
	}
}

// TestPageInBrowser drives the page in a browser, if there is one: the windows can be chosen, the
// pictures are there, nothing overlaps, sticks out or is too small to be read, also on telephones,
// and nothing is fetched from elsewhere. With -update it makes page.png.
func TestPageInBrowser(t *testing.T) {
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("there is no browser here")
	}
	steps, hourly := 220, 300
	c := testConfig(t)
	if *update {
		steps, hourly, c.elements = 379, 1000, 2
	}
	s := mustOpen(t, c)
	s.store.db.NoSync = true
	generate(t, s, steps, hourly)
	server := httptest.NewServer(s.handler())
	defer server.Close()

	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true))...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1040, 800), chromedp.Navigate(server.URL+"/")))
	for _, name := range []string{"week", "hour", "day"} {
		require.NoError(t, chromedp.Do(ctx, chromedp.Click(fmt.Sprintf(`//nav/a[text()="%s"]`, name)), chromedp.WaitReady(`//h1[contains(., "last `+name+`")]`)))
		found, err := chromedp.Run(ctx, chromedp.Evaluate[layout](measure))
		require.NoError(t, err)
		require.Equal(t, layout{Bars: mostBars, Lines: mostLines, Bands: found.Bands, Columns: (steps/day*day + week - 1) / week, Reported: found.Reported, Current: name}, found, name)
		require.GreaterOrEqual(t, found.Bands, mostLines, name)
	}
	valued := httptest.NewServer(valuedService(t).handler())
	defer valued.Close()
	for values, url := range map[int]string{0: server.URL, len(valuedKeys): valued.URL} {
		for _, width := range []int64{400, 390, 340} {
			require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(width, 800), chromedp.Navigate(url)))
			found, err := chromedp.Run(ctx, chromedp.Evaluate[layout](measure))
			require.NoError(t, err)
			require.Empty(t, found.Wrong, "%d pixels", width)
			require.Equal(t, values, found.Values)
			require.Positive(t, found.Reported)
		}
	}
	if *update {
		require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1040, 800), chromedp.Navigate(server.URL+"/?steps=1")))
		picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		require.NoError(t, err)
		require.Less(t, len(picture), 340_000)
		require.NoError(t, os.WriteFile("page.png", picture, 0o644))
	}
}

var valuedKeys = []string{"/", "/search?q=a+long+question+that+does+not+fit+on+a+telephone", "/docs"}

// valuedService returns a service with a report that has quantiles.
func valuedService(t testing.TB) *service {
	c := exactConfig(t)
	c.max = 1e6
	s := mustOpen(t, c)
	var body strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&body, "{\"user\":\"%d\",\"key\":%q,\"value\":%d}\n", i, valuedKeys[i%3], i*150)
	}
	takeLines(t, s, body.String())
	for range day {
		require.NoError(t, s.step())
	}
	return s
}

// layout is what the browser has made of the page.
type layout struct {
	Bars, Lines, Bands, Columns int
	Reported, Values            int // keys in the report, and keys with quantiles
	Current                     string
	Wrong                       string // what overlaps, sticks out, or came from elsewhere
}

// measure returns the layout.
const measure = `(() => {
	const all = s => [...document.querySelectorAll(s)], wrong = [], box = e => e.getBoundingClientRect();
	if (document.documentElement.scrollWidth > innerWidth) wrong.push("wider than the window: " + document.documentElement.scrollWidth);
	const labels = all("svg text").map(e => [e.textContent, box(e)]);
	for (const [text, b] of labels) {
		if (b.left < 0 || b.right > innerWidth) wrong.push(text + " sticks out");
		if (b.height > 0 && b.height < 10) wrong.push(text + " is " + b.height + " pixels high");
		for (const [other, c] of labels)
			if (text !== other && b.left < c.right && c.left < b.right && b.top + 3 < c.bottom && c.top + 3 < b.bottom) wrong.push(text + " is on " + other);
	}
	for (const e of all(".band, .line, .column, .whisker")) {
		const b = box(e), s = box(e.closest("svg"));
		if (b.left < s.left - 2 || b.right > s.right + 2 || b.top < s.top - 2 || b.bottom > s.bottom + 2) wrong.push(e.getAttribute("class") + " outside of its picture");
	}
	for (const r of performance.getEntriesByType("resource")) if (!r.name.endsWith("/favicon.ico")) wrong.push("fetched " + r.name);
	return {Bars: all("#top tr").length, Lines: all(".line").length, Bands: all(".band").length, Columns: all(".column").length,
		Reported: all("#report .bars").length, Values: all("#values tr").length && all("#values tr").length - 1,
		Current: document.querySelector("nav [aria-current]").textContent, Wrong: wrong.join("; ")};
})()`

func must(html []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return html
}

// The page says in words which share of all that users did counts, or that this is not known.
func TestCountedText(t *testing.T) {
	for want, share := range map[string][2]float64{
		"about 34 % of what users did counts (31 to 37 %)":     {0.31, 0.37},
		"nearly all that users did counts":                     {0.93, 1},
		"it is not known which share of what users did counts": {0.1, 0.9},
		"about 80 % of what users did counts (60 to 100 %)":    {0.6, 1},
	} {
		require.Equal(t, want, countedText(share[0], share[1]))
	}
}
