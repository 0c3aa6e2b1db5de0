import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { parseArgs } from 'node:util';

/** HTTP server of the toy engines: loopback port, key, JSON bodies and OpenAI's error format. */

export interface EngineResponse {
  readonly contentType: string;
  readonly body: string | Buffer;
}

/** `signal` is aborted when the client has disconnected. */
export type Handler = (
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
) => Promise<EngineResponse>;

/** An invalid request; its message is sent to the client with status 400. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest';
}

const largestBody = 1_048_576;

/** Serves `POST path`, `GET /v1/models` and, without a key, `GET /health`. Arguments: `--port N [--api-key-file F]`. */
export function serve(model: string, path: string, handler: Handler): void {
  const { values } = parseArgs({ options: { port: { type: 'string' }, 'api-key-file': { type: 'string' } } });
  const keyFile = values['api-key-file'];
  const apiKey = keyFile === undefined ? null : readFileSync(keyFile, 'utf8').trim();
  const server = createServer((request, response) => {
    void respond(request, response).catch((error: unknown) => fail(response, error));
  });

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/health') return send(response, 200, json({ status: 'ok' }));
    if (apiKey !== null && request.headers.authorization !== `Bearer ${apiKey}`) {
      return send(response, 401, errorResponse('The key is missing or wrong.', 'authentication_error'));
    }
    if (request.url === '/v1/models') {
      return send(response, 200, json({ object: 'list', data: [{ id: model, object: 'model' }] }));
    }
    if (request.method !== 'POST' || request.url !== path) {
      return send(response, 404, errorResponse(`Only POST ${path} is served here.`, 'not_found_error'));
    }
    const leaving = new AbortController();
    response.once('close', () => leaving.abort());
    const made = await handler(await readJson(request), leaving.signal);
    return send(response, 200, made);
  }

  server.listen(Number(values.port), '127.0.0.1');
  process.once('SIGTERM', () => {
    server.close();
    server.closeAllConnections();
  });
}

async function readJson(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > largestBody) throw new BadRequest('The body is too large.');
    chunks.push(part);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // The error is thrown below.
  }
  throw new BadRequest('The body must be a JSON object.');
}

function fail(response: ServerResponse, error: unknown): void {
  if (error instanceof BadRequest)
    return send(response, 400, errorResponse(error.message, 'invalid_request_error'));
  if (response.destroyed) return;
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  send(response, 500, errorResponse('The engine failed.', 'server_error'));
}

function send(response: ServerResponse, status: number, { contentType, body }: EngineResponse): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

export function json(value: unknown): EngineResponse {
  return { contentType: 'application/json', body: JSON.stringify(value) };
}

function errorResponse(message: string, type: string): EngineResponse {
  return json({ error: { message, type, param: null, code: null } });
}

export function textIn(body: Readonly<Record<string, unknown>>, name: string): string {
  const value = body[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new BadRequest(`${name} must be text.`);
}

/** An optional number field with bounds; null counts as missing. */
export function numberIn(
  body: Readonly<Record<string, unknown>>,
  name: string,
  otherwise: number,
  [least, most]: readonly [number, number],
): number {
  const value = body[name] ?? otherwise;
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw new BadRequest(`${name} must be a number from ${least} to ${most}.`);
}
