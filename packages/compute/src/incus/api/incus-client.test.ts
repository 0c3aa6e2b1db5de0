import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SimulatedClock, systemClock, type Clock } from '@millrace/platform/clock';
import { makeCertificate, startProtocolRecorder } from '@millrace/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { DriverErrorKind } from '../../driver-error.ts';
import { IncusClient } from './incus-client.ts';
import { IncusError } from './incus-errors.ts';

// A misbehaving daemon on its own socket; the conformance suite covers the real one.

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function daemon(
  handler: Handler,
  clock: Clock = systemClock,
): Promise<{ client: IncusClient; requests: string[] }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-'));
  const socketPath = path.join(folder, 's');
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    handler(request, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(socketPath, resolve);
  });
  const client = new IncusClient({ socketPath }, clock, { operationMs: 30_000 });
  onTestFinished(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });
  return { client, requests };
}

const never = new AbortController().signal;
const question = { what: 'look', path: '/1.0/instances/x', query: { project: 'mr-1' } };
const action = { what: 'do it', method: 'POST', path: '/1.0/instances', body: {} } as const;
const operation = '/1.0/operations/75f4d2df-c8a4-4a9c-bab0-42bcf979b96a';

const text =
  (body: string, status = 200): Handler =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  };
const sync = (metadata: unknown): string => JSON.stringify({ type: 'sync', status_code: 200, metadata });
const failure = (code: number, error: string): string =>
  JSON.stringify({ type: 'error', error_code: code, error, metadata: null });

async function kindOf(call: Promise<unknown>): Promise<DriverErrorKind | 'no failure'> {
  return call.then(
    () => 'no failure',
    (error: unknown) => (error instanceof IncusError ? error.kind : expect.fail(`threw ${String(error)}`)),
  );
}

describe('IncusClient reads', () => {
  it.each([
    ['invalid JSON', '<html>'],
    ['an empty body', ''],
    ['another schema', '{"type":"sync","metadata":{"name":7}}'],
    ['a body without envelope', '[]'],
    ['an unknown response type', '{"type":"maybe"}'],
  ])('are unavailable if the daemon responds with %s', async (_title, body) => {
    const { client } = await daemon(text(body));
    const schema = z.object({ name: z.string() });
    expect(await kindOf(client.find(question, schema, never))).toBe('unavailable');
  });

  it('are unavailable if the response is too long, and end the connection', async () => {
    const { client } = await daemon((_request, response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(65_536, 'x');
      const send = (): void => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', send);
      };
      send();
    });
    expect(await kindOf(client.read(question, z.unknown(), never))).toBe('unavailable');
  });

  it('are unavailable after their timeout if the daemon does not respond', async () => {
    const clock = new SimulatedClock(0);
    const { client, requests } = await daemon(() => undefined, clock);
    const outcome = kindOf(client.read(question, z.unknown(), never));
    while (requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(12_000);
    expect(await outcome).toBe('unavailable');
  });

  it('find nothing only if the daemon responds with 404', async () => {
    const { client } = await daemon(text(failure(404, 'Instance not found'), 404));
    expect(await client.find(question, z.unknown(), never)).toBeNull();
    const { client: broken } = await daemon(text(failure(500, 'Instance lost'), 500));
    expect(await kindOf(broken.find(question, z.unknown(), never))).toBe('unavailable');
  });

  it('ignore unknown fields and return the ETag for conditional changes', async () => {
    const { client, requests } = await daemon((_request, response) => {
      response.writeHead(200, { etag: '"1"' }).end(sync({ name: 'x', brand_new: { a: 1 } }));
    });
    const found = await client.find(question, z.object({ name: z.string() }), never);
    expect(found).toEqual({ value: { name: 'x' }, etag: '"1"' });
    expect(requests).toEqual(['GET /1.0/instances/x?project=mr-1']);
  });
});

describe('IncusClient writes', () => {
  it('wait for the operation in the background, however long it takes', async () => {
    let waits = 0;
    const { client, requests } = await daemon((request, response) => {
      if (request.method === 'POST') {
        response
          .writeHead(202)
          .end(JSON.stringify({ type: 'async', operation: `${operation}?project=p`, metadata: {} }));
        return;
      }
      waits += 1;
      response.end(sync({ status_code: waits < 3 ? 103 : 200, err: '' }));
    });
    await client.write(action, never);
    expect(requests).toEqual([
      'POST /1.0/instances',
      ...Array.from({ length: 3 }, () => `GET ${operation}/wait?project=p&timeout=10`),
    ]);
  });

  it.each([
    ['the state of the operation', sync({ status_code: 400, err: 'no space left on device' }), 'no_capacity'],
    ['an error with status 200', failure(500, 'UNIQUE constraint failed: instances.name'), 'conflict'],
    ['an operation that the daemon lost', failure(404, 'Operation not found'), 'unavailable'],
    ['a missing instance', failure(404, 'Instance not found'), 'not_found'],
  ] as const)('report a failure from %s', async (_title, body, kind) => {
    const { client } = await daemon((request, response) => {
      response.end(
        request.method === 'POST' ? JSON.stringify({ type: 'async', operation, metadata: {} }) : body,
      );
    });
    expect(await kindOf(client.write(action, never))).toBe(kind);
  });

  it('do not follow an operation with another path', async () => {
    for (const evil of ['/1.0/instances', `${operation}/../../certificates`, 'http://elsewhere/x', '']) {
      const { client, requests } = await daemon(
        text(JSON.stringify({ type: 'async', operation: evil, metadata: {} })),
      );
      expect(await kindOf(client.write(action, never))).toBe('unavailable');
      expect(requests).toHaveLength(1);
    }
  });

  it('end at once when the caller aborts or the driver is closed', async () => {
    const { client, requests } = await daemon(() => undefined);
    const abort = new AbortController();
    const given = kindOf(client.write(action, abort.signal));
    const closed = kindOf(client.write(action, never));
    while (requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
    abort.abort();
    expect(await given).toBe('unavailable');
    await client.close();
    expect(await closed).toBe('unavailable');
    expect(await kindOf(client.read(question, z.unknown(), never))).toBe('unavailable');
  });
});

it('IncusClient reads and starts operations while 300 operations are waited for', async () => {
  const abort = new AbortController();
  const { client, requests } = await daemon((request, response) => {
    if (request.url?.includes('/wait') === true) return;
    if (request.method === 'POST') response.end(JSON.stringify({ type: 'async', operation, metadata: {} }));
    else response.end(sync({ name: 'x' }));
  });
  const waits = Array.from({ length: 300 }, () => client.waitFor(operation, 'wait', abort.signal));
  const ended = Promise.allSettled(waits);
  while (requests.length < 300) await new Promise((resolve) => setImmediate(resolve));
  expect(await client.read(question, z.object({ name: z.string() }), never)).toEqual({ name: 'x' });
  expect(await client.begin(action, never)).toMatchObject({ path: operation });
  abort.abort();
  expect((await ended).map(({ status }) => status)).not.toContain('fulfilled');
});

it('IncusClient reads and writes are unavailable without a daemon', async () => {
  const client = new IncusClient({ socketPath: '/no/such/socket' }, systemClock);
  expect(await kindOf(client.find(question, z.unknown(), never))).toBe('unavailable');
  expect(await kindOf(client.write(action, never))).toBe('unavailable');
  await client.close();
});

it('IncusClient offers HTTP/1.1 only', async () => {
  const [recorder, worker] = [await startProtocolRecorder(), await makeCertificate('worker')];
  const tls = {
    clientCertificate: worker.certificate,
    clientKey: worker.key,
    serverCertificate: recorder.certificate.certificate,
  };
  const client = new IncusClient({ endpoints: [recorder.url], tls }, systemClock, { operationMs: 30_000 });
  await expect(client.read(question, z.unknown(), never)).rejects.toThrow();
  expect(await recorder.offered).toEqual(['http/1.1']);
  await client.close();
  recorder.close();
});
