import { context, metrics, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { SpanProcessor } from '@opentelemetry/sdk-trace';
import { ratio } from '../money/index.ts';
import { collectAll } from './collectors.ts';
import { preparedMetrics } from './prepared-instruments.ts';
import { observeProcess } from './process-collector.ts';
import {
  checkMonitorToken,
  missingTokenHeaders,
  startMonitorServer,
  type MonitorServer,
} from './monitor-server.ts';

export interface TelemetryOptions {
  /** The `service.name`: `api`, `worker`. */
  readonly service: string;
  readonly version: string;
  /** Null if it is unknown. */
  readonly commit?: string | null;
  readonly cell: number;
  /** The port of the Prometheus endpoint; null serves none. */
  readonly prometheusPort: number | null;
  /** Loopback by default, because metrics reveal usage. */
  readonly prometheusHost?: string;
  /** The bearer token that scrapers must send. None by default. */
  readonly token?: string | null;
  /** The OTLP URL, for example `http://127.0.0.1:4318/v1/traces`; without it spans are not exported. */
  readonly otlpUrl?: string | undefined;
  /** The percentage of new traces to record. The decision of a caller's trace is always kept. */
  readonly samplePercent?: number;
  /** Additional processors, for tests. */
  readonly spanProcessors?: readonly SpanProcessor[];
}

export interface Telemetry {
  /** The bound port of the Prometheus endpoint; null if there is none. */
  readonly prometheusPort: number | null;
  shutdown(): Promise<void>;
}

/** Installs the process-wide tracer and meter. Call it once, first at start-up; `shutdown` removes them. */
export async function startTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const share = ratio(options.samplePercent ?? 100, 100);
  const resource = resourceFromAttributes({
    'service.name': options.service,
    'service.namespace': 'millrace',
    'service.version': options.version,
    'millrace.cell': options.cell,
  });
  const spanProcessors = [...(await exporters(options.otlpUrl)), ...(options.spanProcessors ?? [])];
  const tracerProvider = new TracerProvider({
    resource,
    // Without a collector the spans would be discarded, so none are recorded.
    sampler:
      spanProcessors.length === 0
        ? new AlwaysOffSampler()
        : new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) }),
    spanProcessors,
  });
  // The exporter's own server would listen on every interface, so it only renders.
  const prometheus = new PrometheusExporter({
    preventServerStart: true,
    withoutScopeInfo: true,
    metricProducers: [preparedMetrics],
  });
  const meterProvider = new MeterProvider({ resource, readers: [prometheus] });

  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(tracerProvider);
  // Without an endpoint the metrics would never be read, so instruments do nothing.
  if (options.prometheusPort !== null) metrics.setGlobalMeterProvider(meterProvider);

  const endObservation = observeProcess({ ...options, commit: options.commit ?? null });
  const endpoint =
    options.prometheusPort === null
      ? null
      : await servePrometheus(prometheus, options, options.prometheusPort);
  return {
    prometheusPort: endpoint?.port ?? null,
    shutdown: async () => {
      await endpoint?.close();
      endObservation();
      await tracerProvider.shutdown();
      await meterProvider.shutdown();
      for (const api of [trace, metrics, propagation, context]) api.disable();
    },
  };
}

async function exporters(otlpUrl: string | undefined): Promise<SpanProcessor[]> {
  if (otlpUrl === undefined) return [];
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
  return [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: otlpUrl }) })];
}

function servePrometheus(
  exporter: PrometheusExporter,
  { prometheusHost: host = '127.0.0.1', token = null }: TelemetryOptions,
  port: number,
): Promise<MonitorServer> {
  return startMonitorServer({ host, port }, (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') return false;
    if (checkMonitorToken(token, request.headers.authorization) === 'right')
      void collectAll().then(() => exporter.getMetricsRequestHandler(request, response));
    else response.writeHead(401, missingTokenHeaders).end();
    return true;
  });
}
