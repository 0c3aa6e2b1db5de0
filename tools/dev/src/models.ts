/** Adds a model to the demo through the admin API. */

export const DEMO_MODEL = 'millrace-tiny';

/** In nano-USD per token. */
const PRICES = { prompt_token: 1_000, cached_prompt_token: 100, completion_token: 5_000 };
const CONTEXT_TOKENS = 1_024;
/** Long, for a busy machine; Ctrl-C aborts the wait. */
const CALL_TIMEOUT_MS = 120_000;

export interface ModelSeed {
  readonly apiUrl: string;
  /** Key of an operator. */
  readonly key: string;
  /** Null: only test keys can call the model, which is then a mock. */
  readonly llama: { readonly url: string; readonly apiKey: string; readonly model: string } | null;
}

/** Idempotent. */
export async function seedModel({ apiUrl, key, llama }: ModelSeed): Promise<void> {
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(apiUrl + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    });
    const reply = (await response.json()) as { readonly message?: string };
    if (!response.ok) throw new Error(`${method} ${path}: ${String(reply.message)}`);
    return reply;
  };
  const models = (await call('GET', '/v2/admin/models?limit=100')) as { items: { name: string }[] };
  if (!models.items.some(({ name }) => name === DEMO_MODEL)) await addModel(call);
  if (llama === null) return;
  const found = await call('GET', `/v2/admin/deployments?model=${DEMO_MODEL}&limit=100`);
  const { items } = found as { items: { address: string }[] };
  if (items.some(({ address }) => address === llama.url)) return;
  await call('POST', '/v2/admin/deployments', {
    model: DEMO_MODEL,
    engine: 'llama.cpp',
    address: llama.url,
    apiKey: llama.apiKey,
    upstreamModel: llama.model,
    region: 'local',
  });
}

async function addModel(
  call: (method: string, path: string, body: object) => Promise<unknown>,
): Promise<void> {
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
