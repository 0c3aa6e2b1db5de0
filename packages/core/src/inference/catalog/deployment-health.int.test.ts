import { isDeepStrictEqual } from 'node:util';
import { createSealer } from '@millrace/platform/secrets';
import { SimulatedClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import {
  createTestDatabase,
  eventually,
  failingCall,
  failingLoop,
  testLog,
  type ItemPoison,
} from '@millrace/testing';
import { afterAll, expect, it, onTestFinished, describe } from 'vitest';
import { systemAuditContext } from '../../identity/index.ts';
import type { Deployment } from './catalog.ts';
import { createDeployment, createModel } from './catalog.service.ts';
import { hasModelWithoutEngine, listDeployments } from './catalog.store.ts';
import { monitorDeployments, type ProbedEngine } from './deployment-health.ts';

const cause = systemAuditContext('test', 'live');
const sealer = createSealer({ keys: [{ id: 'test', key: new Uint8Array(32).fill(7) }], activeId: 'test' });

const database = await createTestDatabase();
afterAll(() => database.drop());

async function insert(address: string, enabled = true): Promise<Deployment> {
  return database.db.transaction({ name: 'plant', isolation: 'read committed' }, async (tx) => {
    const name = `maker/${new URL(address).hostname}`;
    await createModel(tx, cause, {
      ...{ name, mode: 'live', modality: 'chat', inputModalities: ['text'], contextLength: null },
      ...{ maxOutputTokens: null, ownedBy: 'maker', enabled: true, aliases: [], fallbacks: [] },
      ...{ visibleTo: null, requestsPerMinute: null },
    });
    const place = {
      engine: 'vllm',
      upstreamModel: null,
      region: 'r',
      weight: 1,
      maxConcurrency: null,
    } as const;
    return createDeployment(
      tx,
      cause,
      { sealer, allowPlaintext: true },
      { ...place, model: name, address, apiKey: 'sk', enabled },
    );
  });
}

describe(failingLoop('watch deployments'), () => {
  it('records the health of each deployment separately, with the time of its last change', async () => {
    const [well, down, off, plain] = [
      await insert('https://well.example'),
      await insert('https://gone.example'),
      await insert('https://off.example', false),
      await insert('http://plain.example'),
    ];
    const probed: ProbedEngine[] = [];
    let response: Deployment['health'] = 'healthy';
    const clock = new SimulatedClock();
    const loop = monitorDeployments({
      ...{ db: database.db, sealer, clock, log: testLog(), allowPlaintext: false },
      probe: async (engine) => {
        probed.push(engine);
        if (engine.address.includes('gone')) throw new Error('nobody there');
        return response;
      },
    });
    onTestFinished(() => loop.stop());
    const healths = async () => {
      const found = await listDeployments(database.db, { model: null }, { limit: 10, after: null });
      return new Map(found.map((each) => [each.id, each]));
    };
    // Each deployment is written separately, so wait for both.
    await eventually({ what: 'the first probe' }, async () => {
      const seen = await healths();
      const found = [down, plain, well].map(({ id }) => seen.get(id)?.health);
      return isDeepStrictEqual(found, ['down', 'down', 'healthy']);
    });
    const before = await healths();
    expect([before.get(well.id)?.health, before.get(off.id)?.health]).toEqual(['healthy', 'unknown']);
    expect(probed[0]?.apiKey).toBe('sk');
    expect(probed.map(({ address }) => address)).not.toContain('http://plain.example');

    expect(await hasModelWithoutEngine(database.db)).toBe(true);
    await database.query("update inference_deployments set health = 'healthy' where health = 'down'");
    expect(await hasModelWithoutEngine(database.db)).toBe(false);
    await database.query(`update inference_deployments set health = 'down' where id <> '${toUuid(well.id)}'`);
    await database.query(
      "update inference_models set visible_to = array[gen_random_uuid()] where name <> 'maker/well.example'",
    );
    expect(await hasModelWithoutEngine(database.db)).toBe(false);

    response = 'degraded';
    await eventually({ what: 'the second probe' }, async () => {
      await clock.advance(10_000);
      return (await healths()).get(well.id)?.health === 'degraded';
    });
    const after = await healths();
    expect(after.get(down.id)?.healthSince).toEqual(before.get(down.id)?.healthSince);
    expect(after.get(well.id)?.healthSince).not.toEqual(before.get(well.id)?.healthSince);
  });

  it.each<ItemPoison>(['throws', 'hangs'])(
    'whose engine %s does not delay probes of other deployments, in this round and the next',
    async (how) => {
      await insert(`https://${how}-bad.example`);
      const well = await insert(`https://${how}-well.example`);
      let response: Deployment['health'] = 'healthy';
      const clock = new SimulatedClock();
      const loop = monitorDeployments({
        ...{ db: database.db, sealer, clock, log: testLog(), allowPlaintext: false },
        probe: async ({ address }) =>
          address.includes(`${how}-bad`) ? failingCall(how === 'hangs' ? 'hangs' : 'throws') : response,
      });
      for (const health of ['healthy', 'degraded', 'healthy'] as const) {
        response = health;
        await eventually({ what: `a probe that finds it ${health}` }, async () => {
          await clock.advance(1_000);
          const found = await listDeployments(database.db, { model: null }, { limit: 10, after: null });
          return found.find(({ id }) => id === well.id)?.health === health;
        });
      }
      let isStopped = false;
      const stopped = loop.stop().finally(() => (isStopped = true));
      while (!isStopped) {
        await clock.advance(1_000);
        await new Promise(setImmediate);
      }
      await stopped;
    },
  );
});
