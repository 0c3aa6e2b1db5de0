import { systemClock } from '@millrace/platform/clock';
import { eventually, startLlama } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { createRouter } from './router.ts';
import { deploymentEntry, modelEntry, silentLog, routeRequest } from './router-types.fixture.ts';
import type { DeploymentView } from './router-types.ts';

const llama = await startLlama({ parallel: 1 });
const probe = { everyMs: 200, healthEveryMs: 400, timeoutMs: 500, idleAfterMs: 30_000 };
const router = createRouter({ clock: systemClock, log: silentLog, gatewayId: 'gw_1', limits: { probe } });
const model = modelEntry([deploymentEntry('dep_llama', { address: llama.url, apiKey: llama.apiKey })]);

afterAll(async () => {
  router.close();
  await llama[Symbol.asyncDispose]();
});

/** What is known, kept fresh as requests would: nobody looks at what nobody asks for. */
async function seen(what: string, isIt: (view: DeploymentView) => boolean): Promise<DeploymentView> {
  return eventually({ what, timeoutMs: 15_000 }, async () => {
    router.isUp(model);
    const [view] = router.views(model);
    return view !== undefined && isIt(view) ? view : undefined;
  });
}

/** Something to do for it, until the signal: of what is not streamed it would not notice that nobody waits for it. */
async function keepBusy(signal: AbortSignal): Promise<void> {
  const response = await fetch(`${llama.url}/v1/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${llama.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: 'Count to 100.', max_tokens: 1_900, ignore_eos: true, stream: true }),
    signal,
  });
  await response.text();
}

describe('a real llama-server', () => {
  it('is found healthy, and says how many work and wait in it', async () => {
    await seen('health', ({ health }) => health === 'healthy');
    const enough = new AbortController();
    const busy = Promise.allSettled(Array.from({ length: 3 }, () => keepBusy(enough.signal)));
    const view = await seen('load', ({ waiting }) => waiting > 0);
    expect(view.others).toBeGreaterThan(view.waiting);
    enough.abort();
    await busy;
    await seen('rest', ({ others, waiting }) => others === 0 && waiting === 0);
  });

  it('that is killed is preferred by nobody after one failed visit, is down soon, and takes requests when it is back', async () => {
    await seen('health', ({ health }) => health === 'healthy');
    await llama.crash();
    const route = router.route(model, routeRequest());
    if (route.outcome === 'to') route.end('failed');
    await seen('first doubt', ({ health }) => health === 'degraded' || health === 'down');
    await seen('its death', ({ health }) => health === 'down');
    expect(router.route(model, routeRequest()).outcome).toBe('none');
    await llama.restart();
    await seen('its return', ({ health }) => health === 'healthy');
    const again = router.route(model, routeRequest());
    expect(again.outcome).toBe('to');
    if (again.outcome === 'to') again.end('ok');
  });

  it('that hangs is down though its port still takes connections', async () => {
    await seen('health', ({ health }) => health === 'healthy');
    llama.freeze();
    try {
      await seen('its silence', ({ health }) => health === 'down');
    } finally {
      llama.thaw();
    }
    await seen('its return', ({ health }) => health === 'healthy');
  });
});
