import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@millrace/platform/clock';
import { verifyWebhook } from '@millrace/sdk/webhooks';
import {
  eventually,
  startChatDouble,
  startOpenAiImagesDouble,
  type ChatDouble,
  type OpenAiImagesDouble,
} from '@millrace/testing';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest';
import { runCli, type RunOptions } from '../../apps/cli/src/fixture.ts';
import { createInterrupts } from '../../apps/cli/src/interrupts.ts';
import { openInferenceStack, type InferenceStack } from '../stack/inference-stack.ts';
import {
  addDeployment,
  addModel,
  CHAT_PRICES,
  seedInferenceTenant,
  seedOperator,
  type InferenceTenant,
} from '../stack/inference-tenant.ts';
import { openTerminal, type Terminal } from './terminal.ts';

/** CLI commands for models and money through api, worker and gateway, with model doubles and the real ledger. */

const root = join(import.meta.dirname, '../..');
const scopes = [
  ...['inference:read', 'inference:write', 'usage:read', 'billing:read', 'billing:write', 'events:read'],
  ...['webhooks:read', 'webhooks:write', 'operations:read'],
];
const words = Array.from({ length: 400 }, (_, nth) => ` ${nth + 1}`);

let stack: InferenceStack;
let tenant: InferenceTenant;
let tiny: ChatDouble;
let slow: ChatDouble;
let art: OpenAiImagesDouble;
let key: string;
let home: string;

beforeAll(async () => {
  home = makeHome();
  [stack, tiny, slow, art] = await Promise.all([
    openInferenceStack({ llamas: [] }),
    startChatDouble({ engine: 'vllm', cachedTokens: 4 }),
    startChatDouble({ engine: 'vllm', tokens: words, pauseMs: 50 }),
    startOpenAiImagesDouble('vllm'),
  ]);
  await Promise.all([stack.startGateways(), sellModels()]);
  await eventually({ what: 'all models to be on offer' }, async () => {
    const { code, stdout } = await run(['models', '--no-prices', '--json']);
    return code === 0 && JSON.parse(stdout).length === 3;
  });
});

async function sellModels(): Promise<void> {
  const operator = await seedOperator(stack);
  const chats = { tiny: tiny.address, slow: slow.address };
  for (const [model, address] of Object.entries(chats)) {
    await addModel(operator, { name: model, modality: 'chat', prices: CHAT_PRICES, contextLength: 4_096 });
    await addDeployment(operator, { model, engine: 'vllm', address });
  }
  await addModel(operator, { name: 'art', modality: 'image', prices: { image: 10_000_000 } });
  await addDeployment(operator, { model: 'art', engine: 'openai-images', address: art.url });
  tenant = await seedInferenceTenant(stack, 5_000_000_000n);
  ({ key } = await tenant.newKey({ scopes }));
}

afterAll(async () => {
  await stack?.close();
  await Promise.all([tiny?.close(), slow?.close(), art?.[Symbol.asyncDispose]()]);
  rmSync(home, { recursive: true, force: true });
});

function makeHome(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-home-'));
  mkdirSync(join(folder, 'bin'));
  const program = `#!/bin/sh\nexec '${process.execPath}' --disable-warning=ExperimentalWarning '${root}/apps/cli/src/main.ts' "$@"\n`;
  writeFileSync(join(folder, 'bin/millrace'), program);
  chmodSync(join(folder, 'bin/millrace'), 0o755);
  return folder;
}

const clock = {
  now: () => systemClock.now(),
  monotonicMs: () => systemClock.monotonicMs(),
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms, signal),
  every: () => () => undefined,
};

function run(args: readonly string[], options: RunOptions = {}) {
  return runCli(args, {
    fetch: globalThis.fetch,
    apiUrl: stack.apiUrl,
    apiKey: key,
    clock,
    ...options,
    env: { MILLRACE_INFERENCE_URL: stack.gatewayUrl, ...options.env },
  });
}

async function succeed(args: readonly string[], options: RunOptions = {}) {
  const result = await run(args, options);
  expect(result, result.stderr).toMatchObject({ code: 0 });
  return result;
}

const responseCost = (prompt: number, cached: number, completion: number): number =>
  (prompt - cached) * CHAT_PRICES.prompt_token +
  cached * CHAT_PRICES.cached_prompt_token +
  completion * CHAT_PRICES.completion_token;

describe('model commands', () => {
  test('chat reports the same cost as the request record, the ledger and the usage chart', async () => {
    onTestFailed(() => void process.stderr.write(stack.output().slice(-4_000)));
    const piped = await succeed(['chat', '--model', 'tiny'], { stdin: 'What is bread made of?\n' });
    expect(piped).toMatchObject({ stdout: 'Bread is made of flour.\n', stderr: '' });
    const {
      usage,
      requestId,
      answer: response,
    } = (await succeed(['chat', '-m', 'tiny', 'Bread?', '--json'])).json();
    expect(response).toBe('Bread is made of flour.');
    const cost = responseCost(11, 4, 6);
    expect(usage.cost_nano_usd).toBe(cost);
    const recorded = await eventually({ what: 'the request record' }, async () => {
      const result = await run(['usage', 'request', requestId, '--json']);
      return result.code === 0 ? result.json() : undefined;
    });
    expect(recorded).toMatchObject({ cost_nano_usd: cost, tokens_completion: 6, model: 'tiny' });

    const spent = String(2 * cost);
    await eventually({ what: 'both answers in the chart', timeoutMs: 20_000 }, async () => {
      const { groups } = (await succeed(['usage', '--by', 'model', '--json'])).json();
      return (
        groups.model.rows.find(({ group }: { group: string }) => group === 'tiny')?.amountNanoUsd === spent
      );
    });
    const chart = await succeed(['usage'], { tty: true, columns: 60 });
    expect(chart.stdout).toMatch(
      /^Spent by day \(UTC\): \$0\.0000748\n(?:\d{4}-\d\d-\d\d {2}█+ +\$0\.0000\d+\n)+\nSpent by model: \$0\.0000748\n/,
    );
    const charges = (await succeed(['ledger', '--kind', 'charge', '--json'])).json();
    const charged = charges.reduce(
      (sum: bigint, each: { amountNanoUsd: string }) => sum + BigInt(each.amountNanoUsd),
      0n,
    );
    expect(charged).toBe(-BigInt(spent));
  });

  test('models lists prices; image writes a file and reports its cost', async () => {
    const { stdout } = await succeed(['models']);
    expect(stdout).toMatch(/tiny +chat +4096 +\$1\.00 +\$0\.10 +\$5\.00/);
    expect(stdout).toMatch(/art +image +\$0\.01/);
    const made = await succeed([
      'image',
      'a',
      'mill',
      '-m',
      'art',
      '--size',
      '256x256',
      '--file',
      'mill.png',
      '--json',
    ]);
    const { costNanoUsd, files } = made.json();
    expect(Number(costNanoUsd)).toBeGreaterThan(0);
    expect(files).toMatchObject([{ file: 'mill.png', type: 'image/png' }]);
    expect(
      Buffer.from(made.files['mill.png'] ?? '')
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
  });

  test('Ctrl-C cancels the request at the engine, and chat reports the tokens and cost so far', async () => {
    const interrupts = createInterrupts();
    let printed = '';
    const talking = run(['chat', '--model', 'slow'], {
      ...{ interrupts, tty: true, answers: ['Count!'] },
      onPrinted: (text) => void (printed += text),
    });
    await eventually({ what: 'two tokens of the answer' }, () => printed.startsWith(' 1 2'));
    interrupts.raise();
    const result = await talking;
    expect(result.code, result.stderr).toBe(0);
    expect(result.stdout).toMatch(/^ 1 2/);
    expect(result.stdout).not.toContain(' 400');
    expect(result.stderr).toMatch(/stopped · 11 tokens in, \d+ out · \$0\.000\d+/);
    await eventually({ what: 'the engine to see the cancelled request' }, () => slow.left() > 0);
  });

  test('chat fails when the engine cuts the stream', async () => {
    tiny.failNext('cut');
    const result = await run(['chat', '-m', 'tiny', 'Bread?']);
    expect(result.code).toBe(1);
    expect(result.stderr).toContain('The model did not respond');
    expect((await run(['chat', '-m', 'nobody', 'Hello?'])).code).toBe(5);
  });
});

describe('money commands', () => {
  test('show balance, limits and budgets; chat without credit exits with code 6', async () => {
    const balance = (await succeed(['balance', '--json'])).json();
    expect(BigInt(balance.balanceNanoUsd)).toBeLessThanOrEqual(5_000_000_000n);
    expect((await succeed(['limits'])).stdout).toContain('budgets');
    const made = await succeed([
      ...['budget', 'create', '--name', 'nothing', '--period', 'day', '--limit', '0.000000001', '--json'],
      ...['--on-exceeded', 'stop_new_work'],
    ]);
    const { id } = made.json();
    expect((await succeed(['budget', 'list', '--columns', 'name,then'])).stdout).toContain('stop new work');
    await succeed(['budget', 'update', id, '--limit', '3']);
    expect((await succeed(['budget', 'delete', id, '--yes'])).stdout).toBe(`Deleted ${id}.\n`);
    expect((await run(['budget', 'delete', id, '--yes'])).code).toBe(5);
    const poor = await seedInferenceTenant(stack, 0n);
    const refused = await run(['chat', '-m', 'tiny', 'Bread?'], { apiKey: poor.key });
    expect(refused.code, refused.stderr).toBe(6);
    expect(refused.stderr).toContain('millrace topup 25');
  });
});

describe('event commands', () => {
  test('webhook listen forwards new signed events; webhooks are created, listed and deleted', async () => {
    const received: { body: string; headers: IncomingHttpHeaders }[] = [];
    const server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        received.push({ body, headers: request.headers });
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const before = (await succeed(['events', '--json'])).stdout.trim().split('\n').length;
      expect(before).toBeGreaterThan(0);
      const head = JSON.parse((await succeed(['events', '--limit', '1', '--json'])).stdout).seq as number;
      const listening = run([
        'webhook',
        'listen',
        String(port),
        '--after',
        String(head),
        '--type',
        'key',
        '--limit',
        '2',
      ]);
      const first = await tenant.newKey({ scopes: ['inference:read'] });
      await tenant.newKey({ scopes: ['inference:read'] });
      const result = await listening;
      expect(result.code, result.stderr).toBe(0);
      const secret = /whsec_\S+/.exec(result.stderr)?.[0] ?? '';
      expect(received).toHaveLength(2);
      for (const { body, headers } of received)
        new Webhook(secret).verify(body, headers as Record<string, string>);
      const { body: payload = '', headers = {} } = received[0] ?? {};
      const event = await verifyWebhook({ payload, headers: headers as Record<string, string>, secret });
      expect(event).toMatchObject({ type: 'key.created', data: { keyId: first.id } });
    } finally {
      server.close();
    }
    const { id } = (
      await succeed(['webhook', 'create', 'https://hooks.example.com/in', '--type', 'key.created', '--json'])
    ).json();
    expect((await succeed(['webhook', 'list', '--columns', 'id,types'])).stdout).toContain(
      `${id}  key.created`,
    );
    expect((await succeed(['webhook', 'deliveries', id, '--json'])).json()).toEqual([]);
    await succeed(['webhook', 'delete', id, '--yes']);
    const inside = await run(['webhook', 'create', 'http://127.0.0.1/in']);
    expect(inside.code).toBe(3);
  });
});

describe('chat in a terminal', () => {
  let terminal: Terminal;
  beforeAll(async () => {
    terminal = await openTerminal({
      folder: home,
      env: {
        HOME: home,
        PATH: `${home}/bin:/usr/local/bin:/usr/bin:/bin`,
        MILLRACE_API_URL: stack.apiUrl,
        MILLRACE_INFERENCE_URL: stack.gatewayUrl,
        MILLRACE_API_KEY: key,
        NODE_COMPILE_CACHE: join(root, '.millrace/compile-cache'),
      },
    });
  });
  afterAll(() => terminal?.close());

  test('stops an answer with Ctrl-C, continues the chat, and prints the total at the end', async () => {
    await terminal.enter('millrace chat --model slow; echo "ended with $?"');
    await terminal.shows(/^>$/m);
    await terminal.enter('Count!');
    await terminal.shows(' 1 2 3 4');
    await terminal.press('C-c');
    await terminal.shows(/stopped · 11 tokens in, \d+ out · \$/);
    await terminal.press('C-c');
    await terminal.shows('Ctrl-D or /exit leaves.');
    await terminal.enter('/model tiny');
    await terminal.shows('Using tiny.');
    await terminal.enter('And bread?');
    await terminal.shows('Bread is made of flour.');
    await terminal.shows(/first after \d+\.\d\d s/);
    await terminal.press('C-d');
    const screen = await terminal.shows('ended with 0');
    // The partial answer stays on the screen, and the total has its own line.
    expect(screen).toMatch(/^ 1 2 3 4.*$/m);
    expect(screen).toMatch(/^2 completions/m);
    expect(screen).not.toContain('    at ');
  });
});
