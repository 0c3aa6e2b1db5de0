import { expect, it } from 'vitest';
import { isDriverError } from '../driver-error.ts';
import type { MachineRef } from '../driver.ts';
import { expectSingleMachine } from './create-and-terminate.ts';
import type { Suite } from './suite-context.ts';
import type { DriverHarness } from './harness.ts';

/** Behaviour after the engine, a node or the leader is killed. */
export function describeCrashes(stage: Suite, timeoutMs: number): void {
  const { killEngineDuringCreate, killMember, killLeader } = stage.harness;
  const limits = { timeout: timeoutMs };
  if (killEngineDuringCreate !== undefined) {
    describeKilledEngine(stage, limits, killEngineDuringCreate.bind(stage.harness));
  }
  if (killMember !== undefined) describeKilledMember(stage, limits, killMember.bind(stage.harness));
  if (killLeader !== undefined) describeKilledLeader(stage, limits, killLeader.bind(stage.harness));
}

type Limits = { readonly timeout: number };
type Kill<Name extends keyof DriverHarness> = NonNullable<DriverHarness[Name]>;

function describeKilledEngine(stage: Suite, limits: Limits, kill: Kill<'killEngineDuringCreate'>): void {
  it(
    'create yields one machine when it is repeated after the engine was killed in the middle',
    limits,
    async () => {
      const spec = await stage.newSpec(stage.on(0, 0));
      const create = (): Promise<void> => stage.bare.create(spec, stage.signal());
      await healAfter(stage, () => kill(create));
      await stage.until('create to succeed', stage.facts.bounds.failoverMs, async () => {
        await create();
        return true;
      });
      expect(await stage.settled(spec)).toMatchObject({ power: 'on', gpuPciAddresses: spec.gpuPciAddresses });
      if (stage.hasInside) (await stage.login(spec)).end();
      await expectSingleMachine(stage, spec);
    },
  );
}

function describeKilledMember(stage: Suite, limits: Limits, kill: Kill<'killMember'>): void {
  it(
    'a machine on a killed node is never reported as deleted, and the node is listed as unreachable',
    limits,
    async () => {
      const node = stage.facts.nodes.at(-1) ?? expect.fail('There are no nodes.');
      const spec = await stage.make({ nodeName: node.name });
      await healAfter(stage, async () => {
        await kill(node.name);
        await stage.until('the engine to notice the dead node', stage.facts.bounds.failoverMs, async () => {
          await expectNotReportedDeleted(stage, spec);
          return (await stage.driver.listOwned(stage.signal())).unreachableNodes.includes(node.name);
        });
        await expectNotReportedDeleted(stage, spec);
        await expectTerminateIsNotDone(stage, spec);
        const { machines } = await stage.driver.listOwned(stage.signal());
        const listed = machines.find(({ externalId }) => externalId === spec.externalId);
        if (listed !== undefined) expect(listed.power).toBe('error');
        const { nodes } = await stage.driver.readInventory(stage.signal());
        expect(nodes.find(({ name }) => name === node.name)).toMatchObject({
          reachable: false,
          hardware: null,
        });
      });
      await stage.until('the machine to be reported again', stage.facts.bounds.failoverMs, async () => {
        const view = await stage.view(spec);
        return view.power !== 'error' && view.nodeName === node.name;
      });
    },
  );
}

function describeKilledLeader(stage: Suite, limits: Limits, kill: Kill<'killLeader'>): void {
  it('calls succeed again through another node after the leader is killed', limits, async () => {
    const made = await Promise.all(
      stage.facts.nodes.slice(0, 3).map(({ name }) => stage.make({ nodeName: name })),
    );
    await healAfter(stage, async () => {
      const dead = await kill();
      const alive = made.filter(({ nodeName }) => nodeName !== dead);
      await stage.until('the other nodes to respond', stage.facts.bounds.failoverMs, async () => {
        for (const spec of alive) await stage.view(spec);
        const { machines } = await stage.driver.listOwned(stage.signal());
        return alive.every((spec) => machines.some(({ externalId }) => externalId === spec.externalId));
      });
      const [request] = alive;
      await stage.driver.terminate(
        request ?? expect.fail('All machines were on the killed leader.'),
        stage.signal(),
      );
    });
  });
}

async function healAfter(stage: Suite, hurt: () => Promise<void>): Promise<void> {
  const harness: DriverHarness = stage.harness;
  try {
    await hurt();
  } finally {
    await harness.heal?.();
  }
}

/** A missing response proves nothing: the engine reports the node as unreachable, or the call fails as `unavailable`. */
async function expectNotReportedDeleted(stage: Suite, machine: MachineRef): Promise<void> {
  try {
    const view = await stage.bare.describe(machine, stage.signal());
    expect(view, 'an engine that lost a node reports its machine as deleted').not.toBeNull();
  } catch (error) {
    if (!isDriverError(error, 'unavailable')) throw error;
  }
}

async function expectTerminateIsNotDone(stage: Suite, machine: MachineRef): Promise<void> {
  const outcome = await stage.bare.terminate(machine, stage.signal()).then(
    () => 'done',
    (error: unknown) => (isDriverError(error) && !error.isFinal ? 'retry' : String(error)),
  );
  expect(outcome).toBe('retry');
}
