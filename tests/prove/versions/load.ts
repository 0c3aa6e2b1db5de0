import { newReadinessKey } from '@millrace/compute/readiness';
import { systemClock } from '@millrace/platform/clock';
import { eventually } from '@millrace/testing';
import { createCaller, type Call } from '../../stack/inference-tenant.ts';
import { MOCK_REGION } from '../../stack/mock-stack.ts';
import { MODEL } from './model.ts';
import type { Version } from './programs.ts';

/** Tenants that rent, chat and receive webhooks through the versions that are currently in rotation. */
export interface Load {
  add(version: Version): void;
  remove(version: Version): void;
  /** Returns the failures, once no request is in flight. */
  end(): Promise<readonly string[]>;
  counts(): { readonly rentals: number; readonly chats: number };
}

export interface LoadOptions {
  readonly testKey: string;
  readonly liveKey: string;
  readonly hook: string;
  readonly first: Version;
}

const RENTERS = 3;
const CHATTERS = 4;
const RENTAL_MS = 120_000;
const rentals = '/v2/on-demand/virtual-machine-rentals';

export async function createLoad({ testKey, liveKey, hook, first }: LoadOptions): Promise<Load> {
  const rotation = [first];
  const failures: string[] = [];
  const counts = { rentals: 0, chats: 0 };
  let isOver = false;
  let turn = 0;
  const next = (): Version => rotation[(turn += 1) % rotation.length] ?? first;
  const asTenant: Call = (...request) => createCaller(next().apiUrl, testKey)(...request);

  const rent = async (): Promise<void> => {
    const made = await asTenant('POST', rentals, { region: MOCK_REGION, gpuCount: 1 });
    if (made.status !== 200)
      throw new Error(`Creating a rental returned ${made.status}: ${JSON.stringify(made.json)}`);
    const id = made.json.id as number;
    await reached(asTenant, id, 'Running');
    const ended = await asTenant('POST', `${rentals}/terminate`, { rentalId: id });
    if (ended.status !== 200)
      throw new Error(`Terminating rental ${id} returned ${ended.status}: ${JSON.stringify(ended.json)}`);
    await reached(asTenant, id, 'Terminated');
    counts.rentals += 1;
  };
  const chat = async (): Promise<void> => {
    const response = await fetch(`${next().gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${liveKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: MODEL,
        stream: true,
        max_tokens: 16,
        messages: [{ role: 'user', content: 'the mill' }],
      }),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    if (response.status !== 200 || !text.includes('[DONE]'))
      throw new Error(`A chat returned ${response.status}: ${text.slice(-300)}`);
    counts.chats += 1;
  };
  const repeat = async (work: () => Promise<void>): Promise<void> => {
    // Stop after three failures, so that a load that cannot succeed shows its cause only a few times.
    for (let failed = 0; !isOver && failed < 3;)
      await work().catch((error: unknown) => {
        failed += 1;
        failures.push(describe(error));
      });
  };

  await eventually({ what: 'the mock fleet to have free machines', timeoutMs: 60_000 }, async () => {
    const { json } = await asTenant('GET', '/v2/on-demand/rental-options');
    return json.items.some(({ totalAvailable }: { totalAvailable: number }) => totalAvailable > 0);
  });
  await eventually({ what: 'the first chat', timeoutMs: 60_000 }, () => chat().then(() => true));
  const { publicKey } = newReadinessKey();
  await asTenant('POST', '/v2/ssh-public-keys', { name: 'laptop', publicKey });
  const { status } = await asTenant('POST', '/v2/webhooks', { url: hook });
  if (status !== 201) throw new Error(`Creating the webhook returned ${status}.`);
  const loops = [
    ...Array.from({ length: RENTERS }, () => repeat(rent)),
    ...Array.from({ length: CHATTERS }, () => repeat(chat)),
  ];
  return {
    add: (version) => void rotation.push(version),
    remove: (version) => void rotation.splice(rotation.indexOf(version), 1),
    end: async () => {
      isOver = true;
      await Promise.all(loops);
      return failures;
    },
    counts: () => counts,
  };
}

async function reached(call: Call, id: number, wanted: string): Promise<void> {
  const untilMs = systemClock.monotonicMs() + RENTAL_MS;
  for (;;) {
    const { status, json } = await call('GET', `/v2/on-demand/rentals/${id}`);
    if (status !== 200) throw new Error(`Reading rental ${id} returned ${status}: ${JSON.stringify(json)}`);
    if (json.status === wanted) return;
    if (json.status === 'Failed' || systemClock.monotonicMs() > untilMs)
      throw new Error(`Rental ${id} is ${json.status as string}, not ${wanted}: ${JSON.stringify(json)}`);
    await systemClock.sleep(100);
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${describe(error.cause)}`;
}
