// oxlint-disable-next-line house/time-only-from-clock -- The delay and use of the event loop have no other source.
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { counter, gauge } from './instruments.ts';
import { countersFromStart, definitionOf, listedLabelSets, metricProcesses } from './catalogue/index.ts';
import { onScrape } from './collectors.ts';

const ready = gauge('millrace_ready');
const buildInfo = gauge('millrace_build_info');
const startTime = gauge('process_start_time_seconds');
const residentMemory = gauge('process_resident_memory_bytes');
const heapUsed = gauge('nodejs_heap_used_bytes');
const cpuSeconds = counter('process_cpu_seconds_total');
const delayP99 = gauge('nodejs_eventloop_delay_p99_seconds');
const delayMax = gauge('nodejs_eventloop_delay_max_seconds');
const utilization = gauge('nodejs_eventloop_utilization_ratio');

const NANO = 1e-9;
const MICRO = 1e-6;
const MILLI = 1e-3;
/** The histogram of delays measures how late this timer is, so shorter intervals would use more processor time. */
const RESOLUTION_MS = 20;

export interface ProcessFacts {
  readonly service: string;
  readonly version: string;
  readonly commit: string | null;
}

/** Records memory, event loop and build of this process at each scrape. Returns the function that ends it. */
export function observeProcess({ service, version, commit }: ProcessFacts): () => void {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  let cpu = process.cpuUsage();
  cpuSeconds.add((cpu.user + cpu.system) * MICRO);
  let loop = performance.eventLoopUtilization();
  recordZeros(service);
  // The lifecycle reports later values.
  ready.record(0);
  const end = onScrape(() => {
    buildInfo.record(1, { version, commit: commit ?? 'unknown' });
    startTime.record(performance.timeOrigin * MILLI);
    residentMemory.record(process.memoryUsage.rss());
    heapUsed.record(process.memoryUsage().heapUsed);
    const used = process.cpuUsage(cpu);
    cpu = process.cpuUsage();
    cpuSeconds.add((used.user + used.system) * MICRO);
    delayP99.record(lateness(delays.percentile(99)));
    delayMax.record(lateness(delays.max));
    delays.reset();
    const before = loop;
    loop = performance.eventLoopUtilization();
    utilization.record(performance.eventLoopUtilization(loop, before).utilization);
  });
  return () => {
    end();
    delays.disable();
  };
}

/** The histogram contains whole intervals of the timer. It is empty between two scrapes that follow at once. */
function lateness(nanoseconds: number): number {
  return Math.max(0, nanoseconds * NANO - RESOLUTION_MS * MILLI);
}

/** A counter that appears with its first increase looks unchanged to `increase()`. */
function recordZeros(service: string): void {
  const known = metricProcesses.find((name) => name === service);
  if (known === undefined) return;
  for (const name of countersFromStart(known)) {
    for (const labels of listedLabelSets(definitionOf(name)) ?? [])
      (counter(name).add as (value: number, labels: object) => void)(0, labels);
  }
}
