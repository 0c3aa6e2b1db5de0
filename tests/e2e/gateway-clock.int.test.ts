import { eventually, startChatDouble, type ChatDouble } from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openInferenceStack, type InferenceStack } from '../stack/inference-stack.ts';
import {
  addDeployment,
  addModel,
  CHAT_PRICES,
  seedInferenceTenant,
  seedOperator,
  type InferenceTenant,
} from '../stack/inference-tenant.ts';

/** Gateways learn the database's time only from workers, with credit grants. */

const MODEL = 'tiny';
const WRONG_BY_MS = 60_000;
/** Each SIGUSR2 moves the clock of the process forward, or back to the correct time. */
const steppedClock = `const now = Date.now; let wrongMs = 0; Date.now = () => now() + wrongMs;
  process.on('SIGUSR2', () => { wrongMs = ${WRONG_BY_MS} - wrongMs; });`;

let stack: InferenceStack;
let engine: ChatDouble;
let tenant: InferenceTenant;

beforeAll(async () => {
  engine = await startChatDouble({ engine: 'vllm' });
  stack = await openInferenceStack({
    llamas: [],
    gatewayEnv: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(steppedClock)}` },
  });
  const operator = await seedOperator(stack);
  await addModel(operator, { name: MODEL, modality: 'chat', prices: CHAT_PRICES, contextLength: 4_096 });
  await addDeployment(operator, { model: MODEL, engine: 'vllm', address: engine.address });
  tenant = await seedInferenceTenant(stack, 5_000_000_000n);
  await stack.startGateways();
});

afterAll(async () => {
  await stack?.close();
  await engine?.close();
});

interface Readiness {
  readonly status: number;
  readonly text: string;
}

async function readiness(): Promise<Readiness> {
  const { readyUrl } = stack.gateways[0] ?? expect.fail('no gateway');
  const response = await fetch(readyUrl, { signal: AbortSignal.timeout(60_000) });
  return { status: response.status, text: await response.text() };
}

function setClock(): void {
  process.kill(stack.gateways[0]?.pid() ?? expect.fail('no gateway'), 'SIGUSR2');
}

const until = (status: number): Promise<Readiness> =>
  eventually({ what: `readiness ${status}` }, async () => {
    const found = await readiness();
    return found.status === status ? found : undefined;
  });

test('gateway readiness fails with advice while its clock is wrong and recovers afterwards', async () => {
  await eventually({ what: 'the model on offer' }, async () => {
    const models = await tenant.openai.models.list();
    return models.data.some(({ id }) => id === MODEL);
  });
  // This request makes the gateway request credit, whose response contains the database's time.
  await tenant.openai.chat.completions.create({
    model: MODEL,
    messages: [{ role: 'user', content: 'Hello' }],
    max_tokens: 8,
  });
  expect(await readiness()).toMatchObject({ status: 200 });
  setClock();
  const wrong = await until(503);
  expect(wrong.text).toMatch(/(?:59|60)\.\d s ahead of the clock of the database.*NTP/);
  setClock();
  await until(200);
});
