package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// tracing sends spans to an OTLP collector; nil where none is configured, and then only trace ids are
// made and passed on.
type tracing struct{ sdk *sdktrace.TracerProvider }

func startTracing(ctx context.Context, endpoint, version string) (*tracing, error) {
	if endpoint == "" {
		return nil, nil
	}
	// The setting names the collector, as OTEL_EXPORTER_OTLP_ENDPOINT does; the path is the protocol's.
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(strings.TrimSuffix(endpoint, "/")+"/v1/traces"))
	if err != nil {
		return nil, fmt.Errorf("setting otlp-endpoint: %w", err)
	}
	service := resource.NewSchemaless(attribute.String("service.name", "steward"), attribute.String("service.version", version))
	return &tracing{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(service))}, nil
}

// provider is nil where nothing is traced.
func (t *tracing) provider() trace.TracerProvider {
	if t == nil {
		return nil
	}
	return t.sdk
}

// stop sends the spans that wait; a collector that does not answer must not hold up the stop.
func (t *tracing) stop() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	return t.sdk.Shutdown(ctx)
}
