// SPDX-License-Identifier: Apache-2.0

// Package catalog knows nova's configuration options: which exist in a release, what
// values they take, and which of them the operator owns.
//
// Input: a release, the registry of one kind and that kind's extraConfig. Output:
// findings, in a stable order. Nothing here reads a cluster, a clock or a file; the
// option lists are embedded, and a broken one stops the process at start.
//
// Names match as oslo.config matches them: a section in any case, except that DEFAULT
// is found in capitals only; a key exactly, so another spelling is refused instead of
// being ignored by nova. Section and Key give the normal form.
//
// A value is text in file form: nova expands `$name` in it, and a value with a dollar
// is therefore not checked against the option's type. A list of values is for an option
// that may be repeated, and renders one line per item. For an option of type list or
// dict a list is accepted too and its items are joined with commas, because that is
// what the one line of such an option holds. Any other option refuses a list.
//
// The data is generated from source/ by gen, which checks it first.
package catalog

//go:generate go run ./gen
