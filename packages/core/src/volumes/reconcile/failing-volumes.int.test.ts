import { toUuid } from '@millrace/platform/ids';
import { failingCall, failingLoop, poisonRows, type ItemPoison, type Poison } from '@millrace/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { createNodeChecker, type NodeChecker } from './check-nodes.service.ts';
import { createVolumeHarness, HOUR_MS, otherRegion } from '../volumes.fixture.ts';

const harness = await createVolumeHarness();
afterAll(() => harness.drop());

const { signal } = new AbortController();

/** On a slow database a round ends before its checks; poll for their results. */
const polling = { timeout: 60_000, interval: 20 };

/** Advances the clock until a round of checks is over. Returns the start of the round. */
async function look(watch: NodeChecker): Promise<number> {
  await harness.clock.advance(harness.deps.policy.lookMs);
  const startedMs = harness.clock.nowMs();
  const isOver = watch.look(signal).then(() => true);
  while (!(await Promise.race([isOver, sleep(10, false)]))) await harness.clock.advance(100);
  return startedMs;
}

describe(failingLoop('look at storage nodes'), () => {
  it.each<ItemPoison>(['throws', 'hangs'])(
    'that %s does not delay the checks of other nodes',
    async (how) => {
      const list = () => failingCall(how as 'throws' | 'hangs');
      const backends = {
        ...harness.backends,
        of: async (node: Parameters<typeof harness.backends.of>[0]) => {
          const backend = await harness.backends.of(node);
          return node.name === 'eu-1' ? { ...backend, list } : backend;
        },
      };
      const watch = createNodeChecker({ ...harness.deps, backends });
      const seen = async (): Promise<unknown> =>
        harness.rows(`select name, seen_at from storage_nodes where name in ('eu-1', 'eu-2') order by name`);
      const before = await seen();
      await look(watch);
      const startedMs = await look(watch);
      const [old] = before as { seen_at: Date }[];
      await vi.waitFor(async () => {
        const [hanging, answering] = (await seen()) as { seen_at: Date }[];
        expect(answering?.seen_at.getTime()).toBeGreaterThanOrEqual(startedMs);
        expect(hanging?.seen_at).toEqual(old?.seen_at);
      }, polling);
    },
  );
});

describe(failingLoop('remove leftover volumes'), () => {
  it.each<ItemPoison>(['throws', 'hangs'])(
    'whose removal %s does not delay the checks of its node or of others',
    async (how) => {
      const tenant = await harness.tenant();
      const volume = await harness.active(tenant, { region: otherRegion });
      await harness
        .rows(`update volumes set phase = 'purged', status = 'deleted' where wire_id = ${volume.wireId}`)
        .catch(() => undefined);
      const backends = {
        ...harness.backends,
        of: async (node: Parameters<typeof harness.backends.of>[0]) => ({
          ...(await harness.backends.of(node)),
          remove: () => failingCall(how as 'throws' | 'hangs'),
        }),
      };
      const watch = createNodeChecker({ ...harness.deps, backends });
      const startedMs = await look(watch);
      await vi.waitFor(async () => {
        const seen = await harness.rows<{ seen_at: Date }>(
          `select seen_at from storage_nodes where name like 'eu-%'`,
        );
        for (const node of seen) expect(node.seen_at.getTime()).toBeGreaterThanOrEqual(startedMs);
      }, polling);
    },
  );
});

describe(failingLoop('freeze unpaid volumes'), () => {
  it.each<Poison>(['throws', 'times out'])(
    'whose write %s does not prevent freezing volumes of other organisations',
    async (how) => {
      const [bad, good] = [await harness.tenant(1), await harness.tenant(1)];
      const volumes = [await harness.active(bad), await harness.active(good)];
      const when = `new.org_id = '${toUuid(bad.orgId)}' and new.phase <> 'live'`;
      const removeFault = await poisonRows(harness.database, { table: 'volumes', when, how });
      for (let hour = 0; hour < 30; hour += 1) {
        await harness.clock.advance(HOUR_MS);
        await harness.sweepAll();
      }
      await removeFault();
      const phases = await Promise.all(volumes.map(async (volume) => (await harness.read(volume))?.phase));
      expect(phases[0]).toBe('live');
      expect(phases[1]).not.toBe('live');
    },
  );
});
