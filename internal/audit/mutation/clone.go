package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A hybrid is the source of one package with many edits in it, of which a test binary applies one:
// of each edited function there is a copy with the edit,
//
//	func (r *T) mutation7_F(x int) int { … }
//
// and the function starts with
//
//	switch mutationChosen { case 7: return r.mutation7_F(x) }
//
// So a package is compiled and linked once for all its edits. An edit of something else than one
// function body, and one of a function that recovers from panics, cannot be had this way.
type hybrid struct {
	sources map[string]string // by path from the root
	clones  []span
}

// span tells where the copy for an edit stands: lines [from, to] of the file.
type span struct {
	edit     int
	file     string
	from, to int
}

// chosen is the environment variable that tells which edit applies.
const chosen = "DPSKETCH_MUTATION"

// selects returns the environment in which the edit of that number applies, or none at 0.
func selects(number int) []string { return []string{chosen + "=" + strconv.Itoa(number)} }

// selector is the file beside the hybrid's.
const selector = `package %s

import (
	"os"
	"strconv"
)

var mutationChosen = func() int { n, _ := strconv.Atoi(os.Getenv("` + chosen + `")); return n }()
`

// newHybrid makes the hybrid of the edits of one package, numbered from 1 as in all, without those
// in skip. It returns the edits that it cannot hold.
func newHybrid(all []mutation, places []place, skip map[int]bool) (h hybrid, others []int, err error) {
	h.sources = map[string]string{}
	byFile := map[string][]int{}
	for i := range all {
		if !skip[i] {
			byFile[places[i].path] = append(byFile[places[i].path], i)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		original, err := parseFile(file, places[byFile[file][0]].source)
		if err != nil {
			return h, nil, err
		}
		calls := map[int]string{} // by index of the function: the cases of its switch
		tail := ""
		lines := strings.Count(original.source, "\n") + 1
		for _, i := range byFile[file] {
			edited, err := parseFile(file, places[i].edited(all[i]))
			if err != nil { // the compiler will say so
				others = append(others, i)
				continue
			}
			d, ok := original.differs(edited)
			if !ok {
				others = append(others, i)
				continue
			}
			f := edited.file.Decls[d].(*ast.FuncDecl)
			at, name, end := edited.offset(f.Type.Func), edited.offset(f.Name.Pos()), edited.offset(f.End())
			clone := fmt.Sprintf("%smutation%d_%s\n", edited.source[at:name], i+1, edited.source[name:end])
			calls[d] += original.call(d, i+1)
			first := lines + strings.Count(tail, "\n") + 1
			tail += clone
			h.clones = append(h.clones, span{i, file, first, lines + strings.Count(tail, "\n")})
		}
		if tail != "" {
			h.sources[file] = original.dispatch(calls) + "\n" + tail
			dir := path.Dir(file)
			h.sources[path.Join(dir, "mutation_selector.go")] = fmt.Sprintf(selector, original.file.Name.Name)
		}
	}
	return h, others, nil
}

// parsed is a file with what tells its declarations apart.
type parsed struct {
	source string
	set    *token.FileSet
	file   *ast.File
}

func parseFile(name, source string) (parsed, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	return parsed{source, set, f}, err
}

func (p parsed) offset(pos token.Pos) int { return p.set.Position(pos).Offset }

// tokens returns those of a node.
func (p parsed) tokens(n ast.Node) string {
	all, _ := scan(p.source[p.offset(n.Pos()):p.offset(n.End())])
	return join(all)
}

// differs returns the index of the one declaration in which q differs from p, if that is a function
// of which p can call a copy.
func (p parsed) differs(q parsed) (index int, ok bool) {
	if len(p.file.Decls) != len(q.file.Decls) {
		return 0, false
	}
	index = -1
	for i, d := range p.file.Decls {
		// Comments before a declaration are no part of it.
		e := q.file.Decls[i]
		if p.source[p.start(d):p.offset(d.End())] == q.source[q.start(e):q.offset(e.End())] ||
			p.tokens(d) == q.tokens(e) {
			continue
		}
		if index >= 0 {
			return 0, false
		}
		index = i
	}
	if index < 0 {
		return 0, false
	}
	f, ok1 := p.file.Decls[index].(*ast.FuncDecl)
	g, ok2 := q.file.Decls[index].(*ast.FuncDecl)
	if !ok1 || !ok2 || f.Body == nil || g.Body == nil || p.signature(f) != q.signature(g) {
		return 0, false
	}
	ok = true
	for _, body := range []ast.Node{f.Body, g.Body} {
		ast.Inspect(body, func(n ast.Node) bool {
			if c, isCall := n.(*ast.CallExpr); isCall {
				if id, isIdent := c.Fun.(*ast.Ident); isIdent && id.Name == "recover" {
					ok = false
				}
			}
			return true
		})
	}
	return index, ok
}

func (p parsed) start(d ast.Decl) int {
	if f, ok := d.(*ast.FuncDecl); ok {
		return p.offset(f.Type.Func)
	}
	return p.offset(d.(*ast.GenDecl).TokPos)
}

// signature returns what a call of a copy depends on: not the names of parameters.
func (p parsed) signature(f *ast.FuncDecl) string {
	s := f.Name.Name
	if t := f.Type.TypeParams; t != nil {
		s += p.tokens(t)
	}
	for _, list := range []*ast.FieldList{f.Recv, f.Type.Params, f.Type.Results} {
		s += "|"
		if list != nil {
			for _, field := range list.List {
				s += strings.Repeat(p.tokens(field.Type)+",", max(1, len(field.Names)))
			}
		}
	}
	return s
}

// names returns what the parameters are called in the hybrid, and what must be inserted before a
// type, or put in place of a _, for that.
func (p parsed) names(list *ast.FieldList, prefix string) (names []string, fixes map[int]string) {
	fixes = map[int]string{}
	if list == nil {
		return nil, fixes
	}
	for _, field := range list.List {
		if len(field.Names) == 0 {
			name := fmt.Sprintf("%s%d", prefix, len(names))
			fixes[p.offset(field.Type.Pos())] = name + " "
			names = append(names, name)
		}
		for _, id := range field.Names {
			name := id.Name
			if name == "_" {
				name = fmt.Sprintf("%s%d", prefix, len(names))
				fixes[p.offset(id.Pos())] = name
			}
			names = append(names, name)
		}
	}
	return names, fixes
}

// call returns the case that calls the copy of a function.
func (p parsed) call(index, number int) string {
	f := p.file.Decls[index].(*ast.FuncDecl)
	call := fmt.Sprintf("mutation%d_%s", number, f.Name.Name)
	if f.Recv != nil {
		receiver, _ := p.names(f.Recv, "mutationR")
		call = receiver[0] + "." + call
	}
	if t := f.Type.TypeParams; t != nil {
		params, _ := p.names(t, "mutationT")
		call += "[" + strings.Join(params, ", ") + "]"
	}
	args, _ := p.names(f.Type.Params, "mutationP")
	call += "(" + strings.Join(args, ", ")
	if n := f.Type.Params.NumFields(); n > 0 {
		if _, variadic := f.Type.Params.List[len(f.Type.Params.List)-1].Type.(*ast.Ellipsis); variadic {
			call += "..."
		}
	}
	call += ")"
	if f.Type.Results.NumFields() > 0 {
		return fmt.Sprintf("case %d: return %s; ", number, call)
	}
	return fmt.Sprintf("case %d: %s; return; ", number, call)
}

// dispatch returns the source with the switches in its functions.
func (p parsed) dispatch(calls map[int]string) string {
	insert := map[int]string{}
	for index, cases := range calls {
		f := p.file.Decls[index].(*ast.FuncDecl)
		for _, c := range []struct {
			list   *ast.FieldList
			prefix string
		}{{f.Recv, "mutationR"}, {f.Type.TypeParams, "mutationT"}, {f.Type.Params, "mutationP"}} {
			_, fixes := p.names(c.list, c.prefix)
			maps.Copy(insert, fixes)
		}
		insert[p.offset(f.Body.Lbrace)+1] = " switch mutationChosen { " + cases + "}; "
	}
	out, last := "", 0
	for _, at := range slices.Sorted(maps.Keys(insert)) {
		out += p.source[last:at] + insert[at]
		last = at
		if !strings.HasSuffix(insert[at], " ") { // in place of a _
			last++
		}
	}
	return out + p.source[last:]
}
