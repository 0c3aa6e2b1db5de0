import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { LostChatError, RetryingClient } from './retrying-client.ts';
import type { LoadEvent, LoadKind, LoadOptions } from './load.ts';

// Runs in the network of the machines. Each line of its input is an address that all clients use from then on, until they lose it.
// The end of the input ends the load. Each line of its output is an event.

const { addresses, caFile, keys, organisationId, model, region } = JSON.parse(
  readFileSync(process.argv[2] ?? '', 'utf8'),
) as LoadOptions;
const RENTALS = '/v2/on-demand/virtual-machine-rentals';
const POLL_MS = 500;
/** Ends a wait that hangs. A rental that does not start fails before. */
const RENTAL_MS = 600_000;
let isOver = false;

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const print = (event: LoadEvent): void => void process.stdout.write(`${JSON.stringify(event)}\n`);
const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Each kind of request has a client of its own, so that one that waits delays no other. */
const clients = new Set<RetryingClient>();

/** The end of a request, which does not count for its time. */
type Rest = () => Promise<void>;

/** Begins a request each `everyMs`, or as soon as the one before it has ended. */
async function repeat(
  kind: LoadKind,
  everyMs: number,
  work: (client: RetryingClient) => Promise<Rest | void>,
): Promise<void> {
  const onRepeat = (reason: string): void => print({ kind, atMs: nowMs(), repeated: reason });
  const client = new RetryingClient(addresses, readFileSync(caFile, 'utf8'), onRepeat);
  clients.add(client);
  while (!isOver) {
    const startedMs = nowMs();
    try {
      const rest = await work(client);
      print({ kind, atMs: nowMs(), tookMs: nowMs() - startedMs });
      await rest?.();
    } catch (error) {
      if (!(error instanceof LostChatError)) print({ kind, atMs: nowMs(), failed: textOf(error) });
    }
    await sleep(Math.max(0, startedMs + everyMs - nowMs()));
  }
}

async function chat(client: RetryingClient): Promise<void> {
  const body = { model, temperature: 0, max_tokens: 8, messages: [{ role: 'user', content: 'Hello!' }] };
  const path = '/v1/chat/completions';
  const text = await client.send({ method: 'POST', path, key: keys.live, body, isChat: true });
  const { choices } = JSON.parse(text) as {
    readonly choices: readonly { readonly message: { readonly content: string } }[];
  };
  if ((choices[0]?.message.content ?? '') === '') throw new Error(`A chat had no content: ${text}`);
}

async function read(client: RetryingClient): Promise<void> {
  const text = await client.send({ method: 'GET', path: '/v2/customer/balance', key: keys.live });
  if (!text.includes('NanoUsd')) throw new Error(`A balance was ${text}`);
}

async function grant(client: RetryingClient): Promise<void> {
  const path = `/v2/admin/organisations/${organisationId}/grants`;
  await client.send({ method: 'POST', path, key: keys.live, body: { amountNanoUsd: '1', reason: 'load' } });
}

/** The page and the first of its scripts, as a browser loads them. */
async function loadConsole(client: RetryingClient): Promise<void> {
  const page = await client.send({ method: 'GET', path: '/console/' });
  const [, script = ''] = /src="([^"]+\.js)"/.exec(page) ?? [];
  if (script === '') throw new Error(`The console has no script: ${page.slice(0, 300)}`);
  await client.send({ method: 'GET', path: new URL(script, 'https://console/console/').pathname });
}

interface Rental {
  readonly id: number;
  readonly status: string;
}

/** Its time ends when the rental is running. It is terminated after that. */
async function rent(client: RetryingClient): Promise<Rest> {
  const body = { region, gpuCount: 1 };
  const created = await client.send({ method: 'POST', path: RENTALS, key: keys.test, body });
  const { id } = JSON.parse(created) as Rental;
  await untilStatus(client, id, 'Running');
  return async () => {
    const path = `${RENTALS}/terminate`;
    await client.send({
      method: 'POST',
      path,
      key: keys.test,
      body: { rentalId: id, reason: 'end of the test' },
    });
    await untilStatus(client, id, 'Terminated');
  };
}

async function untilStatus(client: RetryingClient, id: number, wanted: string): Promise<void> {
  const deadlineMs = nowMs() + RENTAL_MS;
  for (;;) {
    const path = `/v2/on-demand/rentals/${String(id)}`;
    const { status } = JSON.parse(await client.send({ method: 'GET', path, key: keys.test })) as Rental;
    if (status === wanted) return;
    if (status === 'Failed' || nowMs() > deadlineMs) {
      throw new Error(`Rental ${String(id)} is ${status}, and not ${wanted}.`);
    }
    await sleep(POLL_MS);
  }
}

createInterface({ input: process.stdin })
  .on('line', (address) => {
    for (const client of clients) client.use(address);
  })
  .on('close', () => (isOver = true));

await Promise.all([
  repeat('chat', 200, chat),
  repeat('API read', 200, read),
  repeat('write', 500, grant),
  repeat('console', 500, loadConsole),
  repeat('rental', 2_000, rent),
]);
process.exit();
