package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// lane is one contender of a race.
type lane struct {
	name string
	run  func(span time.Duration) round
}

// standing is what a lane reached over all rounds.
type standing struct {
	name      string
	rates     []float64
	latencies []time.Duration
	cpuPerOp  []float64 // seconds
	ops       int
}

func (s standing) rate() float64                      { return median(s.rates) }
func (s standing) percentile(p float64) time.Duration { return percentile(s.latencies, p) }

// race lets the lanes run in turn, forwards in one round and backwards in the next, so that the noise
// of the machine reaches all of them alike. A wrong answer ends it.
func race(ctx context.Context, lanes []lane, rounds int, span time.Duration) ([]standing, error) {
	standings := make([]standing, len(lanes))
	for i, l := range lanes {
		standings[i].name = l.name
		if warm := l.run(span / 4); warm.failed > 0 {
			return nil, fmt.Errorf("%s: %d failed, first: %w", l.name, warm.failed, warm.err)
		}
	}
	for n := range rounds {
		for i := range lanes {
			if n%2 == 1 {
				i = len(lanes) - 1 - i
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r := lanes[i].run(span)
			if r.failed > 0 || r.ops == 0 {
				return nil, fmt.Errorf("%s: %d of %d failed, first: %w", lanes[i].name, r.failed, r.ops+r.failed, r.err)
			}
			standings[i].add(r)
		}
	}
	return standings, nil
}

func (s *standing) add(r round) {
	s.rates = append(s.rates, r.rate())
	s.latencies = append(s.latencies, r.latencies...)
	s.ops += r.ops
	if r.cpu > 0 {
		s.cpuPerOp = append(s.cpuPerOp, r.cpu.Seconds()/float64(r.ops))
	}
}

// against returns the rate of s as a share of other's: the median of the shares of each round, in
// which both ran within seconds of each other.
func (s standing) against(other standing) float64 {
	shares := make([]float64, len(s.rates))
	for i := range s.rates {
		shares[i] = s.rates[i] / other.rates[i]
	}
	return median(shares)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// percentile returns the smallest value that p per cent of the values do not exceed.
func percentile(values []time.Duration, p float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p/100*float64(len(sorted)))) - 1
	return sorted[min(max(rank, 0), len(sorted)-1)]
}
