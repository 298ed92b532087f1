// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// facts is what differs between releases and is not in an option list.
type facts struct {
	release Release
	// gracefulShutdown is the default of [DEFAULT] graceful_shutdown_timeout, in seconds.
	gracefulShutdown int
	// managerShutdown is the default of [DEFAULT] manager_shutdown_timeout, in seconds;
	// 0 where the option does not exist.
	managerShutdown int
}

// releases lists the releases with an embedded catalog, oldest first. A new release is
// one row and one file in source/.
var releases = []facts{
	{Release{2025, 1}, 60, 0},
	{Release{2025, 2}, 60, 0},
	{Release{2026, 1}, 180, 160},
	{Release{2026, 2}, 180, 160},
}

// Release is an OpenStack release, such as 2026.1.
type Release struct {
	Year, Number int
}

// errRelease is the complaint of ParseRelease.
var errRelease = errors.New(`not an OpenStack release of the form YYYY.N with N 1 or 2`)

// ParseRelease reads YYYY.N, with an optional patch suffix from the first "-" on, which
// is dropped. Years before 2010 are refused.
func ParseRelease(text string) (Release, error) {
	base, _, _ := strings.Cut(text, "-")
	year, number, found := strings.Cut(base, ".")
	y, err := strconv.Atoi(year)
	if !found || err != nil || len(year) != 4 || y < 2010 || (number != "1" && number != "2") {
		return Release{}, fmt.Errorf("%q: %w", text, errRelease)
	}
	return Release{Year: y, Number: int(number[0] - '0')}, nil
}

// String is YYYY.N.
func (r Release) String() string {
	return fmt.Sprintf("%d.%d", r.Year, r.Number)
}

// Compare is negative when r is older than other, zero when they are equal.
func (r Release) Compare(other Release) int {
	return cmp.Or(cmp.Compare(r.Year, other.Year), cmp.Compare(r.Number, other.Number))
}

// Next is the release after r.
func (r Release) Next() Release {
	if r.Number == 1 {
		return Release{Year: r.Year, Number: 2}
	}
	return Release{Year: r.Year + 1, Number: 1}
}

// factsOf returns the newest row that is not newer than the release. A release older
// than every row takes the oldest; text that names no release takes the newest.
func factsOf(release string) facts {
	r, err := ParseRelease(release)
	if err != nil {
		return releases[len(releases)-1]
	}
	found := releases[0]
	for _, row := range releases {
		if row.release.Compare(r) <= 0 {
			found = row
		}
	}
	return found
}
