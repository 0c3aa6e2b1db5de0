import { expect, it } from 'vitest';
import { isDriverError } from '../driver-error.ts';
import type { MachineRef } from '../driver.ts';
import { expectSingleMachine } from './create-and-terminate.ts';
import type { Suite } from './suite-context.ts';
import type { DriverHarness } from './harness.ts';

/** What is true after something died that ought not to. */
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
    'an engine killed in the middle of create has one machine once create was asked again',
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
    'a machine whose member died is never called gone, and the member is named as unseen',
    limits,
    async () => {
      const node = stage.facts.nodes.at(-1) ?? expect.fail('There are no nodes.');
      const spec = await stage.make({ nodeName: node.name });
      await healAfter(stage, async () => {
        await kill(node.name);
        await stage.until('the engine to notice', stage.facts.bounds.failoverMs, async () => {
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
      await stage.until('the machine to be seen again', stage.facts.bounds.failoverMs, async () => {
        const view = await stage.view(spec);
        return view.power !== 'error' && view.nodeName === node.name;
      });
    },
  );
}

function describeKilledLeader(stage: Suite, limits: Limits, kill: Kill<'killLeader'>): void {
  it('calls succeed again, through another member, when the leader dies', limits, async () => {
    const made = await Promise.all(
      stage.facts.nodes.slice(0, 3).map(({ name }) => stage.make({ nodeName: name })),
    );
    await healAfter(stage, async () => {
      const dead = await kill();
      const alive = made.filter(({ nodeName }) => nodeName !== dead);
      await stage.until('the others to answer', stage.facts.bounds.failoverMs, async () => {
        for (const spec of alive) await stage.view(spec);
        const { machines } = await stage.driver.listOwned(stage.signal());
        return alive.every((spec) => machines.some(({ externalId }) => externalId === spec.externalId));
      });
      const [request] = alive;
      await stage.driver.terminate(request ?? expect.fail('No machine outlived the leader.'), stage.signal());
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

/** Silence is no answer: either the engine says that it cannot reach it, or the call fails as `unavailable`. */
async function expectNotReportedDeleted(stage: Suite, machine: MachineRef): Promise<void> {
  try {
    const view = await stage.bare.describe(machine, stage.signal());
    expect(view, 'an engine that lost a member says that its machine is not there').not.toBeNull();
  } catch (error) {
    if (!isDriverError(error, 'unavailable')) throw error;
  }
}

async function expectTerminateIsNotDone(stage: Suite, machine: MachineRef): Promise<void> {
  const outcome = await stage.bare.terminate(machine, stage.signal()).then(
    () => 'done',
    (error: unknown) => (isDriverError(error) && !error.isFinal ? 'ask again' : String(error)),
  );
  expect(outcome).toBe('ask again');
}
