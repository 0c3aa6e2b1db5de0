/** Adds a model to the demo and deploys all its models through the admin API. */

export const DEMO_MODEL = 'millrace-tiny';

/** In nano-USD per token. */
const PRICES = { prompt_token: 1_000, cached_prompt_token: 100, completion_token: 5_000 };
const CONTEXT_TOKENS = 1_024;
const REGION = 'local';
/** Long, for a busy machine; Ctrl-C aborts the wait. */
const CALL_TIMEOUT_MS = 120_000;

export interface ModelSeed {
  readonly apiUrl: string;
  /** Key of an operator. */
  readonly key: string;
  /** Serves the demo's own model. A mock answers for all other models, and for this one if null. */
  readonly llama: { readonly url: string; readonly apiKey?: string; readonly model: string } | null;
}

/** The mock runs in the gateway and has no address. */
const MOCK_ADDRESS = 'http://mock.example';

type Call = (method: string, path: string, body?: object) => Promise<unknown>;

/** Idempotent. */
export async function seedModel({ apiUrl, key, llama }: ModelSeed): Promise<void> {
  const call: Call = async (method, path, body) => {
    const response = await fetch(apiUrl + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
    return text === '' ? null : (JSON.parse(text) as unknown);
  };
  const { items } = (await call('GET', '/v2/admin/models?limit=100')) as { items: { name: string }[] };
  const names = new Set(items.map(({ name }) => name));
  if (!names.has(DEMO_MODEL)) await addModel(call);
  for (const model of names.add(DEMO_MODEL)) await deployModel(call, model, llama);
}

/** Deletes deployments of an earlier start with another engine. Those that a user added for another model stay. */
async function deployModel(call: Call, model: string, llama: ModelSeed['llama']): Promise<void> {
  const { items } = (await call(
    'GET',
    `/v2/admin/deployments?model=${encodeURIComponent(model)}&limit=100`,
  )) as { items: { id: string; address: string; region: string }[] };
  const engine =
    model === DEMO_MODEL && llama !== null
      ? {
          engine: 'llama.cpp',
          address: llama.url,
          upstreamModel: llama.model,
          ...(llama.apiKey === undefined ? {} : { apiKey: llama.apiKey }),
        }
      : { engine: 'mock', address: MOCK_ADDRESS };
  if (model !== DEMO_MODEL && items.length > 0) return;
  for (const { id, address, region } of items) {
    if (region === REGION && address !== engine.address) await call('DELETE', `/v2/admin/deployments/${id}`);
  }
  if (items.some(({ address }) => address === engine.address)) return;
  await call('POST', '/v2/admin/deployments', { model, ...engine, region: REGION });
}

async function addModel(call: Call): Promise<void> {
  await call('POST', '/v2/admin/models', {
    name: DEMO_MODEL,
    modality: 'chat',
    contextLength: CONTEXT_TOKENS,
    maxOutputTokens: CONTEXT_TOKENS,
    ownedBy: 'millrace',
  });
  for (const [unit, price] of Object.entries(PRICES)) {
    await call('POST', '/v2/admin/prices', {
      subject: { kind: 'model', model: DEMO_MODEL, unit },
      unit: 'token',
      priceNanoUsd: String(price),
      validFrom: '2020-01-01T00:00:00.000Z',
      reason: 'The demo sells a model.',
    });
  }
}
