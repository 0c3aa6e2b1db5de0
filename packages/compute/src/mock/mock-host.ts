import { createHash } from 'node:crypto';
import type { MachineBenchmark } from '../readiness/index.ts';
import { mockGpuModels } from './layout.ts';

/**
 * Hosts of suppliers in a demo. The name of the endpoint says what the host has: `https://4x-rtx4090-attic.mock.example:8443` has four
 * RTX 4090. No such host exists: the mock engine simulates it.
 */

const hostName = /^(\d{1,2})x-([a-z0-9]{1,20})(?:-[a-z0-9-]{1,40})?\.mock\.example$/;
const images = ['ubuntu-24.04', 'ubuntu-22.04', 'debian-12'];

/** Settings of the mock cluster for this endpoint; null if the endpoint does not name a simulated host. */
export function readMockHost(endpoint: string): Readonly<Record<string, unknown>> | null {
  if (!URL.canParse(endpoint)) return null;
  const { hostname } = new URL(endpoint);
  const [, count = '', gpuModel = ''] = hostName.exec(hostname) ?? [];
  const gpuCount = Number(count);
  const isKnown = mockGpuModels.some((model) => model === gpuModel);
  if (!isKnown || gpuCount < 1 || gpuCount > 16) return null;
  const [first = 0, second = 0] = createHash('sha256').update(hostname).digest();
  return {
    firstAddress: `127.${64 + (first % 64)}.${second}.1`,
    nodes: [{ name: hostname.replace('.mock.example', ''), gpuModel, gpuCount }],
    // Clusters of suppliers have generated names, which change when the history of the demo is loaded.
    seed: hostname,
    defaultImage: 'ubuntu-24.04',
    images,
  };
}

/** Figures of the benchmark for a simulated host, because its machines run no programs. */
export function mockBenchmark(node: {
  readonly cpuCount: number;
  readonly gpuCount: number;
}): MachineBenchmark {
  return {
    cpu: { count: node.cpuCount, mibPerSecond: 1_450 },
    memory: { mibPerSecond: 11_800 },
    disk: { mibPerSecond: 1_920 },
    network: { downMbps: 2_400, upMbps: 1_900 },
    gpu: { count: node.gpuCount, clockMhz: null, details: [] },
  };
}
