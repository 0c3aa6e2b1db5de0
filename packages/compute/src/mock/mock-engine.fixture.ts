import { SimulatedClock } from '@millrace/platform/clock';
import type { OrgId } from '@millrace/platform/ids';
import { testIds } from '@millrace/testing';
import type { ComputeDriver, MachineSpec } from '../driver.ts';
import { createMockControls, createMockDriver, createInMemoryStore } from './index.ts';
import type { MachineStore } from './machine-store.ts';

/** One mock engine with its clock, its controls and any number of connections. */
export function mockEngine(memory: MachineStore = createInMemoryStore()) {
  const clock = new SimulatedClock();
  const controls = createMockControls();
  const connect = (listen: { bind: string | null } | null = null): ComputeDriver =>
    createMockDriver({ cluster: 'test', clock, memory, controls, listen });
  return { clock, controls, connect, memory };
}

export const longTimeout = (): AbortSignal => AbortSignal.timeout(300_000);
export const orgId: OrgId = testIds.next('org');

export function machineSpecFor(changes: Partial<MachineSpec> = {}): MachineSpec {
  return {
    externalId: testIds.nextUuid(),
    orgId,
    mode: 'test',
    nodeName: 'mock-01',
    gpuPciAddresses: ['0000:10:00.0', '0000:18:00.0'],
    cpuCount: 8,
    ramMb: 65_536,
    diskGb: 100,
    image: 'ubuntu-24.04',
    hostname: 'tester',
    sshKeys: [],
    userData: null,
    ports: [],
    labels: {},
    ...changes,
  };
}

export function faultySpec(fault: string, values: Readonly<Record<string, number>> = {}): MachineSpec {
  const entries = Object.entries(values).map(([key, value]) => [`millrace.fault.${key}`, String(value)]);
  return machineSpecFor({ labels: { 'millrace.fault': fault, ...Object.fromEntries(entries) } });
}
