import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';

/** Response envelope of Incus: a result, an operation to wait for, or an error. */
interface IncusResponse {
  readonly type: 'sync' | 'async' | 'error';
  readonly metadata: unknown;
  readonly operation?: string;
  readonly error?: string;
  readonly error_code?: number;
}

export class IncusError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export type Address =
  | { readonly socketPath: string }
  | {
      readonly host: string;
      readonly port: number;
      readonly cert: string;
      readonly key: string;
      readonly ca: string;
    };

type Body = Readonly<Record<string, unknown>> | Buffer;

function exchange(address: Address, method: string, target: string, body?: Body): Promise<IncusResponse> {
  const payload = body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  const type = Buffer.isBuffer(body) ? 'application/octet-stream' : 'application/json';
  const settings: RequestOptions & { checkServerIdentity?: () => undefined } = {
    ...address,
    method,
    path: target,
    timeout: 60_000,
    headers: { host: 'incus', ...(payload && { 'content-type': type, 'content-length': payload.length }) },
    // `ca` pins the daemon's own certificate, so a check of its name adds no security.
    checkServerIdentity: () => undefined,
  };
  return new Promise((resolve, reject) => {
    const send = 'socketPath' in address ? httpRequest : httpsRequest;
    const call = send(settings, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        try {
          resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')) as IncusResponse);
        } catch (error) {
          reject(error);
        }
      });
    });
    call.on('timeout', () => call.destroy(new Error(`Incus did not answer ${method} ${target}`)));
    call.on('error', reject);
    call.end(payload);
  });
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

async function requestOrThrow(address: Address, method: Method, target: string, body?: Body) {
  const response = await exchange(address, method, target, body);
  if (response.type !== 'error') return response;
  throw new IncusError(response.error_code ?? 0, `${method} ${target}: ${response.error}`);
}

/** Makes one call. If it starts an operation, waits for it and returns its result. */
export async function incusCall(
  address: Address,
  method: Method,
  target: string,
  body?: Body,
): Promise<unknown> {
  const response = await requestOrThrow(address, method, target, body);
  if (response.type === 'sync' || response.operation === undefined) return response.metadata;
  const ended = await exchange(address, 'GET', waitTarget(response.operation), undefined);
  const operation = ended.metadata as { status_code?: number; err?: string; metadata?: unknown } | null;
  if (operation?.status_code === 200) return operation.metadata;
  throw new IncusError(operation?.status_code ?? 0, `${method} ${target}: ${operation?.err ?? ended.error}`);
}

/** The operation of another cluster member has its project in the query, which must stay last. */
function waitTarget(operation: string): string {
  const [name = '', query = ''] = operation.split('?');
  return `${name}/wait?${[query, 'timeout=50'].filter((part) => part !== '').join('&')}`;
}

export async function incusStartOperation(
  address: Address,
  method: Method,
  target: string,
  body?: Body,
): Promise<unknown> {
  return (await requestOrThrow(address, method, target, body)).metadata;
}

export async function incusFind(address: Address, target: string): Promise<unknown> {
  try {
    return await incusCall(address, 'GET', target);
  } catch (error) {
    if (error instanceof IncusError && error.status === 404) return null;
    throw error;
  }
}
