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

/** Polls the view while requesting it, because unused deployments are not probed. */
async function seen(what: string, isIt: (view: DeploymentView) => boolean): Promise<DeploymentView> {
  return eventually({ what, timeoutMs: 15_000 }, async () => {
    router.isUp(model);
    const [view] = router.views(model);
    return view !== undefined && isIt(view) ? view : undefined;
  });
}

/** Keeps the engine busy with a streamed request until the signal aborts: the engine notices a closed stream only. */
async function keepBusy(signal: AbortSignal): Promise<void> {
  const response = await fetch(`${llama.url}/v1/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${llama.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: 'Count to 100.', max_tokens: 1_900, ignore_eos: true, stream: true }),
    signal,
  });
  await response.text();
}

describe('router with a real llama-server', () => {
  it('finds it healthy and reads its running and waiting requests', async () => {
    await seen('health', ({ health }) => health === 'healthy');
    const enough = new AbortController();
    const busy = Promise.allSettled(Array.from({ length: 3 }, () => keepBusy(enough.signal)));
    const view = await seen('load', ({ waiting }) => waiting > 0);
    expect(view.others).toBeGreaterThan(view.waiting);
    enough.abort();
    await busy;
    await seen('rest', ({ others, waiting }) => others === 0 && waiting === 0);
  });

  it('marks a killed server degraded after one failed call, then down, and uses it again after its restart', async () => {
    await seen('health', ({ health }) => health === 'healthy');
    await llama.crash();
    const route = router.route(model, routeRequest());
    if (route.outcome === 'to') route.end('failed');
    await seen('degraded or down', ({ health }) => health === 'degraded' || health === 'down');
    await seen('down after the kill', ({ health }) => health === 'down');
    expect(router.route(model, routeRequest()).outcome).toBe('none');
    await llama.restart();
    await seen('healthy again', ({ health }) => health === 'healthy');
    const again = router.route(model, routeRequest());
    expect(again.outcome).toBe('to');
    if (again.outcome === 'to') again.end('ok');
  });

  it('marks a hanging server as down although its port accepts connections', async () => {
    await seen('health', ({ health }) => health === 'healthy');
    llama.freeze();
    try {
      await seen('down while it hangs', ({ health }) => health === 'down');
    } finally {
      llama.thaw();
    }
    await seen('healthy again', ({ health }) => health === 'healthy');
  });
});
