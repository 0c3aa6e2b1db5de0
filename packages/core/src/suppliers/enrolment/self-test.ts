import type { ComputeDriver, MachineSpec } from '@millrace/compute';
import {
  benchmarkMachine,
  newReadinessKey,
  type BenchmarkResult,
  type ReadinessKey,
} from '@millrace/compute/readiness';
import { withDeadline, type Timer } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import type { NetGuard } from '@millrace/platform/net';
import type { ClusterRecord, NodeGpu, NodeRecord } from '../../fleet/index.ts';
import type { Enrolment } from './enrolment.ts';

/**
 * Creates a small machine with all GPUs, connects to it and measures it as for a tenant, then deletes it. Its external
 * id is the enrolment's, so the next attempt finds and deletes the machine of a crashed one.
 */

interface SelfTestDeps {
  readonly clock: Timer;
  readonly guard: NetGuard;
  readonly driver: ComputeDriver;
}

interface SelfTestTarget {
  readonly enrolment: Enrolment;
  readonly cluster: ClusterRecord;
  readonly node: NodeRecord;
  readonly gpus: readonly NodeGpu[];
}

const SSH_PORT = 22;
const SELF_TEST_POLL_MS = 500;
const MEASURE_MS = 200_000;
const DELETE_MS = 60_000;

const selfTestSizes = {
  container: { cpuCount: 1, ramMb: 512, diskGb: 2 },
  'virtual-machine': { cpuCount: 2, ramMb: 2_048, diskGb: 10 },
} as const;

export async function runSelfTest(
  deps: SelfTestDeps,
  subject: SelfTestTarget,
  signal: AbortSignal,
): Promise<BenchmarkResult> {
  const { clock, driver } = deps;
  const key = newReadinessKey();
  const spec = selfTestSpec(subject, key);
  // A machine of an earlier attempt has another key.
  await driver.terminate(spec, signal);
  try {
    await driver.create(spec, signal);
    return await measureUntilReady(deps, spec, key, signal);
  } finally {
    // Delete it also after the time limit: no test machine must stay on the host.
    await withDeadline(clock, 'Deleting the machine of a self-test', DELETE_MS, (late) =>
      driver.terminate(spec, late),
    );
  }
}

function selfTestSpec({ enrolment, cluster, node, gpus }: SelfTestTarget, key: ReadinessKey): MachineSpec {
  const isVm = cluster.settings['instanceType'] === 'virtual-machine';
  const image = cluster.settings['defaultImage'];
  return {
    ...selfTestSizes[isVm ? 'virtual-machine' : 'container'],
    externalId: toUuid(enrolment.id),
    orgId: enrolment.orgId,
    mode: 'live',
    nodeName: node.name,
    gpuPciAddresses: gpus.map(({ pciAddress }) => pciAddress),
    image: typeof image === 'string' ? image : '',
    hostname: 'self-test',
    sshKeys: [key.publicKey],
    hostKey: { privateKey: key.hostKey.privateKey, publicKey: key.hostKey.publicKey },
    userData: null,
    // Any port is free: placement uses none before the machine is enrolled.
    ports: [{ internalPort: SSH_PORT, externalPort: cluster.ports.last, protocol: 'tcp' }],
    labels: { 'millrace.purpose': 'self-test' },
  };
}

async function measureUntilReady(
  { clock, guard, driver }: SelfTestDeps,
  spec: MachineSpec,
  key: ReadinessKey,
  signal: AbortSignal,
): Promise<BenchmarkResult> {
  const untilMs = clock.monotonicMs() + MEASURE_MS;
  for (;;) {
    const look = await lookOnce();
    if (look.outcome === 'measured' || clock.monotonicMs() >= untilMs) return look;
    await clock.sleep(SELF_TEST_POLL_MS, signal);
  }

  async function lookOnce(): Promise<BenchmarkResult> {
    const view = await driver.describe(spec, signal);
    if (view === null) return { outcome: 'not-yet', detail: 'The machine of the self-test does not exist.' };
    if (view.power === 'off') await driver.start(spec, signal);
    const port = view.ports.find(({ internalPort }) => internalPort === SSH_PORT)?.externalPort;
    if (view.address === null || port === undefined) {
      return { outcome: 'not-yet', detail: 'The machine of the self-test has no SSH port.' };
    }
    const { privateKey } = key;
    const hostKey = key.hostKey.fingerprint;
    const target = { host: view.address, port, user: view.sshUser, privateKey, hostKey, guard };
    return benchmarkMachine(target, clock, signal);
  }
}
