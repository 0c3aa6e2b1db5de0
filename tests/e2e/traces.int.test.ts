import { newReadinessKey } from '@millrace/compute/readiness';
import { seedOrganisation } from '@millrace/core/fixture';
import {
  eventually,
  startChatDouble,
  startOtlpReceiver,
  type ChatDouble,
  type OtlpReceiver,
  type ReceivedSpan,
} from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openInferenceStack, type InferenceStack } from '../stack/inference-stack.ts';
import {
  CHAT_PRICES,
  addDeployment,
  addModel,
  createCaller,
  seedInferenceTenant,
  seedOperator,
} from '../stack/inference-tenant.ts';
import { MOCK_REGION, mockProviders } from '../stack/mock-stack.ts';

/**
 * Traces of real processes, read back from OTLP. The receiver is our own reader of the protocol; no third-party collector runs
 * here.
 */

const WAIT_MS = 120_000;
const MODEL = 'traced-model';
const PROMPT = 'a prompt that no trace may contain';

let collector: OtlpReceiver;
let engine: ChatDouble;
let stack: InferenceStack;

beforeAll(async () => {
  collector = await startOtlpReceiver();
  engine = await startChatDouble({ engine: 'vllm' });
  stack = await openInferenceStack({
    llamas: [],
    env: {
      MILLRACE_OTLP_TRACES_URL: collector.url,
      MILLRACE_TRACE_SAMPLE_PERCENT: '100',
      MILLRACE_PROVIDERS: JSON.stringify(mockProviders()),
      MILLRACE_FLEET_READ_MS: '1000',
    },
  });
  const operator = await seedOperator(stack);
  await addModel(operator, { name: MODEL, modality: 'chat', prices: CHAT_PRICES, contextLength: 4_096 });
  await addDeployment(operator, { model: MODEL, engine: 'vllm', address: engine.address });
  await stack.startGateways();
});

afterAll(async () => {
  await stack.close();
  await engine.close();
  await collector[Symbol.asyncDispose]();
});

/** The trace that starts with this span, once it contains a span with each of the names. */
function traceWith(first: string, names: readonly string[]): Promise<readonly ReceivedSpan[]> {
  return eventually({ what: `a trace of ${first} with ${names.join(', ')}`, timeoutMs: WAIT_MS }, () => {
    const roots = collector.spans.filter(({ name, parentSpanId }) => name === first && parentSpanId === '');
    const traces = roots.map(({ traceId }) => collector.spans.filter((span) => span.traceId === traceId));
    const found = traces.find((spans) => names.every((name) => spans.some((span) => span.name === name)));
    if (found !== undefined) return found;
    const got = traces.map((spans) => [...new Set(spans.map(({ name }) => name))].join(', '));
    throw new Error(`The traces have only: ${got.join(' / ')}`);
  });
}

function named(spans: readonly ReceivedSpan[], name: string): readonly ReceivedSpan[] {
  return spans.filter((span) => span.name === name);
}

/** Names from the span up to the first one. Fails on a parent that is in no received span. */
function pathTo(spans: readonly ReceivedSpan[], span: ReceivedSpan | undefined): readonly string[] {
  if (span === undefined) return ['missing'];
  if (span.parentSpanId === '') return [span.name];
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
  return [...(parent === undefined ? ['unknown parent'] : pathTo(spans, parent)), span.name];
}

test('one trace shows a rental from its HTTP request through outbox, Restate, worker, driver and proof to Running', async () => {
  const organisation = await seedOrganisation(stack.database.db, { supplies: true });
  const { key } = await organisation.ownerKey('test');
  const call = createCaller(stack.apiUrl, key);
  const { publicKey } = newReadinessKey();
  await call('POST', '/v2/ssh-public-keys', { name: 'laptop', publicKey });
  const id = await eventually({ what: 'a rental', timeoutMs: WAIT_MS }, async () => {
    const { status, json } = await call('POST', '/v2/on-demand/virtual-machine-rentals', {
      region: MOCK_REGION,
      gpuCount: 1,
    });
    if (status !== 200) throw new Error(JSON.stringify(json));
    return Number((json as { id: number }).id);
  });
  await eventually({ what: 'Running', timeoutMs: WAIT_MS }, async () => {
    const { json } = await call('GET', `/v2/on-demand/rentals/${id}`);
    return (json as { status: string }).status === 'Running';
  });

  const first = 'POST /v2/alpha/on-demand/virtual-machine-rentals';
  const spans = await traceWith(first, ['transaction enter running', 'readiness check', 'engine call']);
  expect(new Set(spans.map(({ service }) => service))).toEqual(new Set(['api', 'worker']));
  const [running] = named(spans, 'transaction enter running');
  const [relay] = named(spans, 'relay command');
  const ordering = pathTo(spans, relay).slice(1, -1);
  expect(ordering, 'the transaction of the order wrote the outbox row').toHaveLength(1);
  const handler = [first, ...ordering, 'relay command', 'restate step'];
  expect(pathTo(spans, running)).toEqual([...handler, 'rental open', 'transaction enter running']);
  const [proof] = named(spans, 'readiness check');
  expect(pathTo(spans, proof)).toEqual([...handler, 'rental prove', 'readiness check']);
  const creating = named(spans, 'engine call').find(
    ({ attributes }) => attributes['millrace.operation'] === 'create',
  );
  expect(pathTo(spans, creating)).toEqual([...handler, 'rental create', 'engine call']);
  expect(creating?.attributes).toMatchObject({ 'millrace.engine': 'mock', 'millrace.cluster': 'mock' });
  expect(spans.filter((span) => pathTo(spans, span).includes('unknown parent'))).toEqual([]);
});

test('one trace shows a chat from the gateway to the charge, and the engine gets the traceparent', async () => {
  const tenant = await seedInferenceTenant(stack, 1_000_000_000n);
  await eventually({ what: 'a completion', timeoutMs: WAIT_MS }, async () => {
    const response = await fetch(`${stack.gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, stream: true, messages: [{ role: 'user', content: PROMPT }] }),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(text);
    return text.includes('[DONE]');
  });

  const first = 'POST /v1/chat/completions';
  const spans = await traceWith(first, ['charge usage']);
  expect(new Set(spans.map(({ service }) => service))).toEqual(new Set(['gateway', 'worker']));
  for (const name of ['authenticate', 'reserve credit', 'route', `chat ${MODEL}`, 'publish usage']) {
    expect(pathTo(spans, named(spans, name)[0])).toEqual([first, name]);
  }
  const [upstream] = named(spans, `chat ${MODEL}`);
  expect(upstream?.events).toEqual(['first token']);
  expect(upstream?.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'vllm',
    'gen_ai.request.model': MODEL,
  });
  expect(pathTo(spans, named(spans, 'charge usage')[0])).toEqual([first, 'publish usage', 'charge usage']);
  const sent = engine.received.map(({ traceparent }) => traceparent);
  expect(sent).toContain(`00-${upstream?.traceId}-${upstream?.spanId}-01`);
});

test('traces contain neither prompts nor keys', () => {
  const all = JSON.stringify(collector.spans);
  expect(collector.spans.length).toBeGreaterThan(0);
  expect(all).not.toContain(PROMPT);
  expect(all).not.toMatch(/mr_(live|test)_|ssh-ed25519|BEGIN [A-Z ]*PRIVATE KEY|Bearer /);
});
