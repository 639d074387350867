package main

import (
	"iter"
	"slices"
	"strings"

	"github.com/dpsketch/dpsketch/examples/kjv"
)

// book is a book of the text, of so many verses.
type book struct {
	name   string
	verses int
}

// books are all of them in the order of the text, 31,102 verses.
var books = []book{
	{"Genesis", 1533}, {"Exodus", 1213}, {"Leviticus", 859}, {"Numbers", 1288}, {"Deuteronomy", 959}, {"Joshua", 658}, {"Judges", 618},
	{"Ruth", 85}, {"1Samuel", 810}, {"2Samuel", 695}, {"1Kings", 816}, {"2Kings", 719}, {"1Chronicles", 942}, {"2Chronicles", 822},
	{"Ezra", 280}, {"Nehemiah", 406}, {"Esther", 167}, {"Job", 1070}, {"Psalms", 2461}, {"Proverbs", 915}, {"Ecclesiastes", 222},
	{"Song", 117}, {"Isaiah", 1292}, {"Jeremiah", 1364}, {"Lamentations", 154}, {"Ezekiel", 1273}, {"Daniel", 357}, {"Hosea", 197},
	{"Joel", 73}, {"Amos", 146}, {"Obadiah", 21}, {"Jonah", 48}, {"Micah", 105}, {"Nahum", 47}, {"Habakkuk", 56}, {"Zephaniah", 53},
	{"Haggai", 38}, {"Zechariah", 211}, {"Malachi", 55}, {"Matthew", 1071}, {"Mark", 678}, {"Luke", 1151}, {"John", 879}, {"Acts", 1007},
	{"Romans", 433}, {"1Corinthians", 437}, {"2Corinthians", 257}, {"Galatians", 149}, {"Ephesians", 155}, {"Philippians", 104},
	{"Colossians", 95}, {"1Thessalonians", 89}, {"2Thessalonians", 47}, {"1Timothy", 113}, {"2Timothy", 83}, {"Titus", 46},
	{"Philemon", 25}, {"Hebrews", 303}, {"James", 108}, {"1Peter", 105}, {"2Peter", 61}, {"1John", 105}, {"2John", 13}, {"3John", 14},
	{"Jude", 25}, {"Revelation", 404},
}

// find returns the book of the name, whatever its case.
func find(name string) (book, bool) {
	i := slices.IndexFunc(books, func(b book) bool { return strings.EqualFold(b.name, name) })
	if i < 0 {
		return book{}, false
	}
	return books[i], true
}

// names returns the names of all books.
func names() (list []string) {
	for _, b := range books {
		list = append(list, b.name)
	}
	return list
}

// firstVerse returns the number of verses before the book.
func firstVerse(of book) (verses int) {
	for _, b := range books[:slices.Index(books, of)] {
		verses += b.verses
	}
	return verses
}

// words returns the set of the words of a book.
func words(text *kjv.Text, of book) map[string]bool {
	set := map[string]bool{}
	for word := range occurrences(text, of) {
		set[word] = true
	}
	return set
}

// occurrences yields the words of a book in the order of the text.
func occurrences(text *kjv.Text, of book) iter.Seq[string] {
	return func(yield func(string) bool) {
		first := firstVerse(of)
		verse := 0
		for list := range text.Verses() {
			for _, word := range list {
				if verse >= first && verse < first+of.verses && !yield(word) {
					return
				}
			}
			verse++
		}
	}
}
