import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { contract, isPending, type Operation } from '@millrace/contract';
import {
  Millrace,
  NotFoundError,
  operations,
  PagePromise,
  StreamInterruptedError,
  type CallableId,
  type MillraceEvent,
  type StreamItem,
} from '@millrace/sdk';
import { eventually } from '@millrace/testing';
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest';
import { startResponseDroppingProxy, type ResponseDroppingProxy } from '../stack/response-dropping-proxy.ts';
import { MOCK_MODEL, MOCK_REGION, openMockStack, type MockStack } from '../stack/mock-stack.ts';
import { newSshPublicKey } from './harness.ts';

/** The SDK against the whole product, through proxies that cut responses. */

let stack: MockStack;
let api: ResponseDroppingProxy;
let gateway: ResponseDroppingProxy;
let client: Millrace;

beforeAll(async () => {
  stack = await openMockStack();
  api = await startResponseDroppingProxy(stack.apiUrl);
  gateway = await startResponseDroppingProxy(stack.gatewayUrl);
  client = new Millrace({ baseUrl: api.url, inferenceUrl: gateway.url, apiKey: stack.testKey });
  await eventually({ what: 'the model to be on offer' }, async () =>
    (await client.models.list()).items.some(({ id }) => id === MOCK_MODEL),
  );
});

afterAll(async () => {
  await api?.[Symbol.asyncDispose]();
  await gateway?.[Symbol.asyncDispose]();
  await stack?.[Symbol.asyncDispose]();
});

const chat = {
  model: MOCK_MODEL,
  messages: [{ role: 'user' as const, content: 'Count to twenty, please.' }],
  stream: true as const,
};

async function textOf(chunks: AsyncIterable<StreamItem<'createChatCompletion'>>) {
  let text = '';
  for await (const { choices } of chunks) text += choices[0]?.delta.content ?? '';
  return text;
}

test('a create request is retried after cut responses and creates one rental, which runs and terminates', async () => {
  onTestFailed(() => void process.stderr.write(stack.output()));
  await client.sshKeys.create({ name: 'cut', publicKey: newSshPublicKey() });
  const creates = '/v2/on-demand/virtual-machine-rentals';
  api.cutNext(creates, 0);
  api.cutNext(creates, 40);
  const rental = await client.rentals.createVirtualMachine({
    region: MOCK_REGION,
    gpuCount: 1,
    name: 'once',
  });

  const sent = api.seen.filter(({ method, path: where }) => method === 'POST' && where === creates);
  expect(sent).toHaveLength(3);
  expect(new Set(sent.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  const live = await client.rentals.listVirtualMachines().all();
  expect(live.map(({ id, name }) => ({ id, name }))).toEqual([{ id: rental.id, name: 'once' }]);

  const steps: string[] = [];
  const running = await client.rentals.waitUntil({ rentalId: rental.id }, 'running', {
    onStep: ({ name, status }) => steps.push(`${name} ${status}`),
    timeoutMs: 600_000,
  });
  expect(running.ssh[0]?.command).toContain('ssh ');
  expect(steps.length).toBeGreaterThan(0);
  expect(new Set(steps).size).toBe(steps.length);

  const ended = await client.rentals.terminateVirtualMachine({ rentalId: rental.id });
  expect(ended.status).toBe('Terminating');
  await client.rentals.waitUntil({ rentalId: rental.id }, 'terminated', { timeoutMs: 600_000 });
});

test('an event stream that is cut repeatedly yields every event once and in order', async () => {
  const wanted = new Set<string>();
  for (const nth of [1, 2, 3, 4]) {
    const request = { name: `feed ${nth}`, scopes: ['events:read' as const], mode: 'test' as const };
    wanted.add((await client.keys.create(request)).id);
  }
  // Each cut is in the middle of an event.
  for (const afterBytes of [300, 900, 700]) api.cutNext('/v2/events', afterBytes);
  const got: MillraceEvent[] = [];
  for await (const event of client.events.stream({ after: 0 })) {
    got.push(event);
    if (event.type === 'key.created') wanted.delete(event.data.keyId);
    if (wanted.size === 0) break;
  }
  const all = await client.events.list({ after: 0 }).all();
  expect(got.map(({ id }) => id)).toEqual(all.slice(0, got.length).map(({ id }) => id));
  const streams = api.seen.filter(({ headers }) => headers['accept'] === 'text/event-stream');
  expect(streams.length).toBeGreaterThanOrEqual(4);
  expect(streams.at(-1)?.headers['last-event-id']).toBeDefined();
});

test('streamed and plain chat return the same text, and a cut stream fails without a retry', async () => {
  const whole = await textOf(client.chat.create(chat));
  expect(whole).not.toBe('');
  const plain = await client.chat.create({ ...chat, stream: false });
  expect(plain.choices[0]?.message.content).toBe(whole);

  const before = gateway.seen.length;
  gateway.cutNext('/v1/chat/completions', 700);
  await expect(textOf(client.chat.create(chat))).rejects.toBeInstanceOf(StreamInterruptedError);
  expect(gateway.seen.length).toBe(before + 1);
});

const authOf = (id: CallableId): Operation['auth'] | undefined =>
  (contract.operations as Readonly<Record<string, Operation>>)[id]?.auth;

test('every list operation can be iterated, with one item per page or all at once', async () => {
  for (const nth of [1, 2, 3])
    await client.sshKeys.create({ name: `key ${nth}`, publicKey: newSshPublicKey() });
  const tenant = new Millrace({ baseUrl: api.url, inferenceUrl: gateway.url, apiKey: stack.liveKey });
  const operator = new Millrace({ baseUrl: api.url, apiKey: stack.operatorKey });
  const { id: organisationId } = stack.organisation.organisation;
  const [ended] = (await client.rentals.listHistory({ limit: 1 })).items;
  const known: Readonly<Record<string, string | number | undefined>> = {
    organisationId,
    rentalId: ended?.rentalId,
  };
  const ids = (Object.keys(operations) as CallableId[]).filter(
    // Operations of session users refuse keys.
    (id) => operations[id].list !== undefined && !isPending(id) && authOf(id) !== 'person',
  );
  const tried: string[] = [];
  for (const id of ids) {
    const { path: where, list } = operations[id];
    const params = [...where.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    // Skip operations on resources that this stack does not have.
    if (params.some((name) => known[name] === undefined)) continue;
    const input = Object.fromEntries(params.map((name) => [name, known[name]]));
    const caller = id.startsWith('admin') ? operator : id.startsWith('supplier') ? tenant : client;
    const listed = async (more: object): Promise<unknown[]> => {
      const promise = caller.call(id, { ...input, ...more });
      if (promise instanceof PagePromise) return promise.all();
      throw new Error(`${id} is no list`);
    };
    const whole = await listed({});
    expect(Array.isArray(whole), id).toBe(true);
    tried.push(id);
    if (list?.next === undefined || whole.length > 20) continue;
    // Lists may grow while they are read.
    const single = await listed({ limit: 1 });
    expect(single.length, id).toBeGreaterThanOrEqual(whole.length);
  }
  expect(tried.length).toBeGreaterThan(35);
  expect(await client.sshKeys.list({ limit: 1 }).all()).toEqual(await client.sshKeys.list().all());
});

test('errors have a reason, request id, suggestion and documentation URL', async () => {
  const error = await client.rentals.get({ rentalId: 2_000_000_000 }).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(NotFoundError);
  expect(error).toMatchObject({ status: 404, reason: 'RENTAL_NOT_FOUND' });
  expect((error as NotFoundError).requestId).toMatch(/^req_/);
  expect((error as NotFoundError).suggestion).not.toBeNull();
  expect((error as NotFoundError).docUrl).toContain('/docs/errors#RENTAL_NOT_FOUND');
  const noModel = client.chat.create({ ...chat, model: 'nobody/has-this' });
  await expect(noModel).rejects.toMatchObject({ reason: 'MODEL_NOT_FOUND' });
});

test('the examples of the SDK README run as written', async () => {
  onTestFailed(() => void process.stderr.write(stack.output()));
  const root = path.join(import.meta.dirname, '../..');
  const folder = mkdtempSync(path.join(tmpdir(), 'millrace-sdk-readme-'));
  try {
    mkdirSync(path.join(folder, 'node_modules/@millrace'), { recursive: true });
    symlinkSync(path.join(root, 'packages/sdk'), path.join(folder, 'node_modules/@millrace/sdk'));
    writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
    const text = readFileSync(path.join(root, 'packages/sdk/README.md'), 'utf8');
    const blocks = [...text.matchAll(/```ts\n([^]*?)```/g)].map(([, code = '']) => code);
    expect(blocks.length).toBeGreaterThan(7);
    const key = JSON.stringify({ publicKey: newSshPublicKey() });
    writeFileSync(
      path.join(folder, 'examples.ts'),
      [`const readKey = async () => (${key});`, ...blocks].join('\n'),
    );
    const { stdout } = await promisify(execFile)(process.execPath, ['examples.ts'], {
      cwd: folder,
      timeout: 600_000,
      env: {
        NODE_OPTIONS: '--disable-warning=ExperimentalWarning',
        MILLRACE_API_URL: stack.apiUrl,
        MILLRACE_INFERENCE_URL: stack.gatewayUrl,
        MILLRACE_API_KEY: stack.testKey,
        MILLRACE_WEBHOOK_SECRET: 'whsec_AAAA',
      },
    });
    expect(stdout).toMatch(/USD an hour/);
    expect(stdout).toMatch(/^ssh /m);
    expect(stdout).toContain('not found\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
