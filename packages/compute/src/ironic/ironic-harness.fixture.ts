import { systemClock } from '@millrace/platform/clock';
import { enrolFake, eventually, readNode, startIronic, type TestIronic } from '@millrace/testing';
import type { ComputeDriver } from '../driver.ts';
import { createIronicDriver, type IronicDriverOptions } from './index.ts';
import { eightGpus, image } from './fake-ironic.fixture.ts';

/** A real Ironic with fake hardware nodes. */
export interface FakeHardware extends AsyncDisposable {
  readonly ironic: TestIronic;
  readonly nodes: readonly string[];
  readonly gpuPciAddresses: readonly string[];
  /** A driver whose deploys end with a machine that is on. */
  connect(): ComputeDriver;
  /** The unchanged driver. */
  connectBare(): ComputeDriver;
}

export async function startFakeHardware(
  count: number,
  options: {
    /** Up to a second per deploy step, long enough to observe it and to kill Ironic in it. */
    readonly takesItsTime: boolean;
  },
): Promise<FakeHardware> {
  const ironic = await startIronic(options.takesItsTime ? { conf: { fake: { deploy_delay: '0,1' } } } : {});
  try {
    const nodes = await Promise.all(
      Array.from({ length: count }, (_none, index) =>
        enrolFake(ironic, {
          name: `metal-${index}`,
          address: `203.0.113.${index + 1}`,
          privateAddress: `10.9.0.${index + 1}`,
          fabric: 'ib-1',
        }),
      ),
    );
    return {
      ironic,
      nodes,
      gpuPciAddresses: eightGpus,
      connect: () => withPowerOnBeforeDeploy(ironic, createIronicDriver(optionsOf(ironic, 100))),
      // One Python process checks every password by a hash, so fewer requests get faster responses.
      connectBare: () => createIronicDriver(optionsOf(ironic, 1_000)),
      [Symbol.asyncDispose]: () => ironic[Symbol.asyncDispose](),
    };
  } catch (error) {
    await ironic[Symbol.asyncDispose]();
    throw error;
  }
}

function optionsOf({ url, username, password }: TestIronic, pollMs: number): IronicDriverOptions {
  return {
    endpoint: url,
    credential: { username, password, serverCertificate: null },
    images: { ubuntu: image },
    pollMs,
    clock: systemClock,
  };
}

/** A real deploy boots the machine at its end. Fake hardware keeps the power state, so the node is powered on before. */
function withPowerOnBeforeDeploy(ironic: TestIronic, driver: ComputeDriver): ComputeDriver {
  return new Proxy(driver, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      if (name !== 'create') return member.bind(target) as unknown;
      return async (...call: Parameters<ComputeDriver['create']>) => {
        if (!call[1].aborted) await powerOnFreeNode(ironic, call[0].nodeName);
        return target.create(...call);
      };
    },
  });
}

async function powerOnFreeNode(ironic: TestIronic, uuid: string): Promise<void> {
  const free = await ironic
    .call<{ power_state: string; provision_state: string }>('GET', `/v1/nodes/${uuid}`)
    .catch(() => null);
  if (free?.provision_state !== 'available' || free.power_state === 'power on') return;
  await ironic.call('PUT', `/v1/nodes/${uuid}/states/power`, { target: 'power on' }).catch(() => undefined);
  await eventually({ what: 'the power of a fake node', intervalMs: 25 }, async () => {
    const { power_state: power, reservation } = await readNode(ironic, uuid);
    return power === 'power on' && reservation === null;
  });
}
