//go:build !unix

package dbtest

func launch(durability) (*cluster, error) { return nil, errNoServer }
