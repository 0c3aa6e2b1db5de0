import { toUuid } from '@millrace/platform/ids';
import { poisonedCall, poisonedLoop, poisonRows, type ItemPoison, type Poison } from '@millrace/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createNodeChecker, type NodeChecker } from './check-nodes.service.ts';
import { createVolumeHarness, HOUR_MS, otherRegion, type VolumeHarness } from '../volumes.fixture.ts';

let world: VolumeHarness;
beforeAll(async () => {
  world = await createVolumeHarness();
});
afterAll(() => world.drop());

const { signal } = new AbortController();

/** A round ends before the database has answered where that is slow; the checks themselves go on. */
const patience = { timeout: 60_000, interval: 20 };

/** Lets time pass until a round of checks is over. Returns when it began. */
async function look(watch: NodeChecker): Promise<number> {
  await world.clock.advance(world.parts.policy.lookMs);
  const startedMs = world.clock.nowMs();
  const isOver = watch.look(signal).then(() => true);
  while (!(await Promise.race([isOver, sleep(10, false)]))) await world.clock.advance(100);
  return startedMs;
}

describe(poisonedLoop('look at storage nodes'), () => {
  it.each<ItemPoison>(['throws', 'hangs'])(
    'that %s does not delay the checks of other nodes',
    async (how) => {
      const list = () => poisonedCall(how as 'throws' | 'hangs');
      const backends = {
        ...world.backends,
        of: async (node: Parameters<typeof world.backends.of>[0]) => {
          const backend = await world.backends.of(node);
          return node.name === 'eu-1' ? { ...backend, list } : backend;
        },
      };
      const watch = createNodeChecker({ ...world.parts, backends });
      const seen = async (): Promise<unknown> =>
        world.rows(`select name, seen_at from storage_nodes where name in ('eu-1', 'eu-2') order by name`);
      const before = await seen();
      await look(watch);
      const startedMs = await look(watch);
      const [old] = before as { seen_at: Date }[];
      await vi.waitFor(async () => {
        const [hanging, answering] = (await seen()) as { seen_at: Date }[];
        expect(answering?.seen_at.getTime()).toBeGreaterThanOrEqual(startedMs);
        expect(hanging?.seen_at).toEqual(old?.seen_at);
      }, patience);
    },
  );
});

describe(poisonedLoop('remove leftover volumes'), () => {
  it.each<ItemPoison>(['throws', 'hangs'])(
    'whose removal %s does not delay the checks of its node or of others',
    async (how) => {
      const tenant = await world.tenant();
      const volume = await world.active(tenant, { region: otherRegion });
      await world
        .rows(`update volumes set phase = 'purged', status = 'deleted' where wire_id = ${volume.wireId}`)
        .catch(() => undefined);
      const backends = {
        ...world.backends,
        of: async (node: Parameters<typeof world.backends.of>[0]) => ({
          ...(await world.backends.of(node)),
          remove: () => poisonedCall(how as 'throws' | 'hangs'),
        }),
      };
      const watch = createNodeChecker({ ...world.parts, backends });
      const startedMs = await look(watch);
      await vi.waitFor(async () => {
        const seen = await world.rows<{ seen_at: Date }>(
          `select seen_at from storage_nodes where name like 'eu-%'`,
        );
        for (const node of seen) expect(node.seen_at.getTime()).toBeGreaterThanOrEqual(startedMs);
      }, patience);
    },
  );
});

describe(poisonedLoop('freeze unpaid volumes'), () => {
  it.each<Poison>(['throws', 'times out'])(
    'whose write %s does not keep volumes of other organisations from being frozen',
    async (how) => {
      const [bad, good] = [await world.tenant(1), await world.tenant(1)];
      const volumes = [await world.active(bad), await world.active(good)];
      const when = `new.org_id = '${toUuid(bad.orgId)}' and new.phase <> 'live'`;
      const removeFault = await poisonRows(world.database, { table: 'volumes', when, how });
      for (let hour = 0; hour < 30; hour += 1) {
        await world.clock.advance(HOUR_MS);
        await world.sweepAll();
      }
      await removeFault();
      const phases = await Promise.all(volumes.map(async (volume) => (await world.read(volume))?.phase));
      expect(phases[0]).toBe('live');
      expect(phases[1]).not.toBe('live');
    },
  );
});
