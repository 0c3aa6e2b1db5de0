import { systemClock } from '@millrace/platform/clock';
import { expect, it } from 'vitest';
import type { MachineSpec } from '../driver.ts';
import { expectFailure, immediateMs, type Suite } from './suite-context.ts';

// Passed on, each could become a path, a line of a configuration file or a number that overflows.
const badIds = ['../../1.0/projects', 'a/b', 'a?project=default', 'a%2fb', '', 'a\nb', '.', 'a'.repeat(300)];
const invalidSpecs: readonly [string, Partial<MachineSpec>][] = [
  ['a hostname with a slash', { hostname: '../etc/passwd' }],
  ['a hostname with a line break', { hostname: 'a\nuser.root=1' }],
  ['an empty hostname', { hostname: '' }],
  ['a label with a line break', { labels: { team: 'a\nsecurity.privileged=true' } }],
  ['a label whose key is a setting', { labels: { 'Security=Privileged': 'true' } }],
  ['a node that is a path', { nodeName: '../other' }],
  ['an image that is a path', { image: '../../images' }],
  ['no CPU', { cpuCount: 0 }],
  ['half a CPU', { cpuCount: 0.5 }],
  ['a CPU count that is NaN', { cpuCount: Number.NaN }],
  ['negative memory', { ramMb: -1 }],
  ['memory above the limit', { ramMb: Number.MAX_SAFE_INTEGER }],
  ['a disk above the limit', { diskGb: 1e15 }],
  ['a GPU that is a path', { gpuPciAddresses: ['../../0000:17:00.0'] }],
  ['a duplicate GPU', { gpuPciAddresses: ['0000:17:00.0', '0000:17:00.0'] }],
  ['a key of two lines', { sshKeys: ['ssh-ed25519 AAAA a\nssh-ed25519 AAAA b'] }],
  ['a port above 65535', { ports: [{ internalPort: 22, externalPort: 70_000, protocol: 'tcp' }] }],
];

/** Invalid input of tenants, and aborted calls. */
export function describeInvalidInput(stage: Suite): void {
  it('every method refuses an invalid external id before it reaches the engine', async () => {
    const { driver } = stage;
    const spec = await stage.newSpec({ ports: [] });
    for (const externalId of badIds) {
      const machine = { externalId, orgId: stage.orgId };
      const calls = {
        create: () => driver.create({ ...spec, ...machine }, stage.signal()),
        describe: () => driver.describe(machine, stage.signal()),
        start: () => driver.start(machine, stage.signal()),
        stop: () => driver.stop(machine, { graceMs: 0 }, stage.signal()),
        reboot: () => driver.reboot(machine, { graceMs: 0 }, stage.signal()),
        setPorts: () => driver.setPorts(machine, [], stage.signal()),
        cutAccess: () => driver.cutAccess(machine, stage.signal()),
        terminate: () => driver.terminate(machine, stage.signal()),
        setKeys: () => driver.setKeys(machine, [], stage.signal()),
        setGpus: () => driver.setGpus(machine, [], stage.signal()),
        runUserData: () => driver.runUserData(machine, '#!/bin/sh\n', stage.signal()),
        consoleLog: () => driver.consoleLog(machine, { maxBytes: 100 }, stage.signal()),
        metrics: () => driver.metrics(machine, stage.signal()),
        exec: () => driver.exec(machine, { argv: ['true'], timeoutMs: 1_000, maxBytes: 100 }, stage.signal()),
      };
      for (const [method, call] of Object.entries(calls)) {
        const kind = stage.can(method) ? 'refused' : 'unsupported';
        await expectFailure(call(), [kind], `${method} of ${JSON.stringify(externalId.slice(0, 30))}`);
      }
    }
  });

  it('create refuses an invalid spec and leaves nothing behind', async () => {
    for (const [title, changes] of invalidSpecs) {
      const spec = await stage.newSpec({ ports: [], ...changes });
      await expectFailure(stage.driver.create(spec, stage.signal()), ['refused'], title);
      expect(await stage.driver.describe(spec, stage.signal()), title).toBeNull();
    }
  });

  it('an aborted call fails as unavailable at once, before and during the call', async () => {
    const spec = await stage.newSpec({ ports: [] });
    const waits: number[] = [];
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const early = await measureMs(async () => {
        await expectFailure(
          stage.driver.create(spec, AbortSignal.abort()),
          ['unavailable'],
          'aborted before',
        );
        await expectFailure(stage.driver.listOwned(AbortSignal.abort()), ['unavailable'], 'aborted before');
      });
      if (attempt === 0) expect(await stage.driver.describe(spec, stage.signal())).toBeNull();
      const late = await measureMs(async () => {
        const abort = new AbortController();
        const call = stage.driver.create(spec, abort.signal);
        abort.abort();
        await expectFailure(call, ['unavailable'], 'aborted while under way');
      });
      waits.push(early + late);
    }
    // The fastest attempt counts, because a stall of the host may delay the others.
    expect(Math.min(...waits)).toBeLessThan(immediateMs);
    // The outcome of an aborted call is unknown; a repeat completes it.
    await stage.until('create after an abort', stage.facts.bounds.callMs, async () => {
      await stage.driver.create(spec, stage.signal());
      return true;
    });
    expect(await stage.settled(spec)).toMatchObject({ power: 'on' });
  });

  it('every call on a closed connection fails as unavailable', async () => {
    const driver = await stage.harness.connect();
    await driver.close();
    await driver.close();
    await expectFailure(driver.describe(stage.unknownMachine(), stage.signal()), ['unavailable'], 'describe');
    await expectFailure(driver.readInventory(stage.signal()), ['unavailable'], 'readInventory');
  });
}

async function measureMs(work: () => Promise<void>): Promise<number> {
  const startedMs = systemClock.monotonicMs();
  await work();
  return systemClock.monotonicMs() - startedMs;
}
