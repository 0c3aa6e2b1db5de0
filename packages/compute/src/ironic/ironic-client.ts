import { checkServerIdentity, type ConnectionOptions } from 'node:tls';
import type { Clock } from '@millrace/platform/clock';
import {
  explainTlsError,
  fingerprintsOf,
  toCredentialSource,
  type CredentialSource,
} from '@millrace/platform/tls';
import { Pool } from 'undici';
import type { z } from 'zod';
import { isDriverError } from '../driver-error.ts';
import {
  allocationFields,
  allocationPageSchema,
  allocationSchema,
  conductorsSchema,
  inventorySchema,
  nodeFields,
  nodePageSchema,
  nodeSchema,
  type IronicAllocation,
  type IronicInspection,
  type IronicNode,
} from './ironic-schemas.ts';
import { invalidResponseError, errorFromResponse, IronicError, noResponseError } from './ironic-errors.ts';

export interface IronicCredential {
  readonly username: string;
  readonly password: string;
  /** PEM: its certificates, or those of its issuer. Null: public authorities. */
  readonly serverCertificate: string | null;
}

export interface IronicConnectionOptions {
  /** `https://host:port`, optionally with a path. */
  readonly endpoint: string;
  readonly credential: IronicCredential | CredentialSource<IronicCredential>;
}

const repair = {
  server: 'Ironic',
  trust:
    'Put its certificate, or that of its authority, into the serverCertificateFile of the credential, and check that it contains the name or address of the endpoint.',
};

/** The newest version of Debian's 21.4; later releases also support it. */
const microversion = '1.82';

const mebibyte = 1_048_576;
const bounds = {
  read: { timeoutMs: 15_000, maxBytes: 8 * mebibyte },
  list: { timeoutMs: 60_000, maxBytes: 64 * mebibyte },
  // With `rpc_transport = none` a request is answered when its first part is done.
  write: { timeoutMs: 60_000, maxBytes: 8 * mebibyte },
};

const connectMs = 3_000;
const connections = 16;
/** Ironic's default limit of a page. */
const pageSize = 1_000;
const maxPages = 1_000;

export type Patch = readonly (
  | { readonly op: 'add'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
)[];

interface IronicRequest {
  /** Completes "asked to …" in error messages. */
  readonly what: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
}

interface RequestLimits {
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** The part of Ironic's REST API that the driver uses. Every failure is a `DriverError`; every response is validated. */
export class IronicClient {
  readonly clock: Clock;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #credential: CredentialSource<IronicCredential>;
  readonly #closing = new AbortController();
  #open: OpenPool | null = null;
  /** The newest API version that the server announced. */
  #newest = 'unknown';

  constructor(reach: IronicConnectionOptions, clock: Clock) {
    const { origin, pathname } = new URL(reach.endpoint);
    this.clock = clock;
    this.#basePath = pathname.replace(/(?<!\/)\/+$/, '').replace(/\/v1$/, '');
    this.#origin = origin;
    this.#credential = toCredentialSource(reach.credential);
  }

  get version(): string {
    return `Ironic (API ${microversion} of ${this.#newest})`;
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Null only if Ironic reports that the node does not exist. */
  findNode(uuid: string, signal: AbortSignal): Promise<IronicNode | null> {
    const path = `/v1/nodes/${uuid}?fields=${nodeFields}`;
    return this.#find({ what: 'read the node', method: 'GET', path }, nodeSchema, signal);
  }

  listNodes(signal: AbortSignal): Promise<IronicNode[]> {
    return this.#list('list the nodes', `/v1/nodes?fields=${nodeFields}`, async (request) => {
      const page = await this.#read(request, nodePageSchema, bounds.list, signal);
      return { items: page.nodes, hasMore: (page.next ?? '') !== '' };
    });
  }

  /** Whether a conductor is alive. Without one Ironic still responds from its database. */
  async isAtWork(signal: AbortSignal): Promise<boolean> {
    const path = '/v1/conductors?fields=alive';
    const request = { what: 'list the conductors', method: 'GET', path } as const;
    const { conductors } = await this.#read(request, conductorsSchema, bounds.read, signal);
    return conductors.some(({ alive }) => alive);
  }

  listAllocations(signal: AbortSignal): Promise<IronicAllocation[]> {
    const path = `/v1/allocations?fields=${allocationFields}`;
    return this.#list('list the allocations', path, async (request) => {
      const page = await this.#read(request, allocationPageSchema, bounds.list, signal);
      return { items: page.allocations, hasMore: (page.next ?? '') !== '' };
    });
  }

  findAllocation(uuid: string, signal: AbortSignal): Promise<IronicAllocation | null> {
    const path = `/v1/allocations/${uuid}?fields=${allocationFields}`;
    return this.#find({ what: 'read the allocation', method: 'GET', path }, allocationSchema, signal);
  }

  /** The inspection result; null if none is stored. */
  findInspection(uuid: string, signal: AbortSignal): Promise<IronicInspection | null> {
    const path = `/v1/nodes/${uuid}/inventory`;
    return this.#find(
      { what: 'read the inventory of the node', method: 'GET', path },
      inventorySchema,
      signal,
    );
  }

  /** Throws `conflict` if the allocation exists. */
  async allocate(
    allocation: {
      readonly uuid: string;
      readonly name: string;
      readonly resource_class: string;
      readonly candidate_nodes: readonly string[];
      readonly extra: unknown;
    },
    signal: AbortSignal,
  ): Promise<void> {
    const request = { what: 'allocate the node', path: '/v1/allocations', body: allocation } as const;
    await this.#exchange({ ...request, method: 'POST' }, bounds.write, signal);
  }

  /** Succeeds if the allocation does not exist. */
  async deleteAllocation(uuid: string, signal: AbortSignal): Promise<void> {
    const call = {
      what: 'delete the allocation',
      method: 'DELETE',
      path: `/v1/allocations/${uuid}`,
    } as const;
    try {
      await this.#exchange(call, bounds.write, signal);
    } catch (error) {
      if (!isDriverError(error, 'not_found')) throw error;
    }
  }

  async patchNode(uuid: string, patch: Patch, signal: AbortSignal): Promise<void> {
    const request = { what: 'change the node', path: `/v1/nodes/${uuid}`, body: patch } as const;
    await this.#exchange({ ...request, method: 'PATCH' }, bounds.write, signal);
  }

  /** Only requests the change; the node shows its result later. */
  async setProvisionState(
    uuid: string,
    order: { readonly target: 'active' | 'deleted'; readonly configdrive?: unknown },
    signal: AbortSignal,
  ): Promise<void> {
    const what = order.target === 'active' ? 'deploy the node' : 'undeploy the node';
    const path = `/v1/nodes/${uuid}/states/provision`;
    await this.#exchange({ what, method: 'PUT', path, body: order }, bounds.write, signal);
  }

  /** Only requests the change; the node shows its result later. */
  async setPower(
    uuid: string,
    order: { readonly target: PowerTarget; readonly timeout?: number },
    signal: AbortSignal,
  ): Promise<void> {
    const request = {
      what: `change the power of the node (${order.target})`,
      path: `/v1/nodes/${uuid}/states/power`,
    };
    await this.#exchange({ ...request, method: 'PUT', body: order }, bounds.write, signal);
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the driver was closed'));
    await this.#open?.pool.destroy();
  }

  /** Pages are in order of creation, so no item is missed or repeated while others change. */
  async #list<T extends { readonly uuid: string }>(
    what: string,
    path: string,
    read: (request: IronicRequest) => Promise<{ readonly items: readonly T[]; readonly hasMore: boolean }>,
  ): Promise<T[]> {
    const all = new Map<string, T>();
    let marker: string | undefined;
    for (let page = 0; page < maxPages; page += 1) {
      const from = marker === undefined ? '' : `&marker=${marker}`;
      const target = `${path}&limit=${pageSize}${from}`;
      const { items, hasMore } = await read({ what, method: 'GET', path: target });
      const known = all.size;
      for (const item of items) all.set(item.uuid, item);
      // A proxy that drops the marker would repeat the first page forever.
      if (all.size !== known + items.length) throw invalidResponseError(what, 'a page repeats items');
      if (!hasMore || items.length === 0) return [...all.values()];
      marker = items.at(-1)?.uuid;
    }
    throw invalidResponseError(what, `more than ${maxPages} pages`);
  }

  async #find<T>(request: IronicRequest, schema: z.ZodType<T>, signal: AbortSignal): Promise<T | null> {
    try {
      return await this.#read(request, schema, bounds.read, signal);
    } catch (error) {
      if (isDriverError(error, 'not_found')) return null;
      throw error;
    }
  }

  async #read<T>(
    request: IronicRequest,
    schema: z.ZodType<T>,
    bound: RequestLimits,
    signal: AbortSignal,
  ): Promise<T> {
    const body = await this.#exchange(request, bound, signal);
    let value: unknown;
    try {
      value = JSON.parse(body);
    } catch (error) {
      throw invalidResponseError(request.what, error);
    }
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const [first] = result.error.issues;
    throw invalidResponseError(
      request.what,
      `${first?.path.join('.') ?? ''}: ${first?.message ?? 'not as expected'}`,
    );
  }

  async #exchange(request: IronicRequest, bound: RequestLimits, signal: AbortSignal): Promise<string> {
    const open = await this.#connect();
    try {
      return await this.#send(open, request, bound, signal);
    } catch (error) {
      if (!(error instanceof IronicError) || error.code !== 401) throw error;
      // The password may have been replaced; Ironic did nothing, so the request can be repeated.
      this.#credential.recheck();
      const changed = await this.#connect();
      if (changed === open) throw error;
      return this.#send(changed, request, bound, signal);
    }
  }

  async #send(
    { pool, authorization }: OpenPool,
    request: IronicRequest,
    bound: RequestLimits,
    signal: AbortSignal,
  ): Promise<string> {
    const late = new AbortController();
    const cancel = this.clock.after(bound.timeoutMs, () =>
      late.abort(new Error(`no answer within ${bound.timeoutMs} ms`)),
    );
    try {
      const response = await pool.request({
        path: `${this.#basePath}${request.path}`,
        method: request.method,
        headers: { ...headersOf(request.body !== undefined), authorization },
        body: request.body === undefined ? null : JSON.stringify(request.body),
        signal: AbortSignal.any([signal, late.signal, this.#closing.signal]),
      });
      const text = await readBounded(response.body, request.what, bound.maxBytes);
      const newest = response.headers['x-openstack-ironic-api-maximum-version'];
      if (typeof newest === 'string' && /^\d+\.\d+$/.test(newest)) this.#newest = newest;
      if (response.statusCode >= 200 && response.statusCode < 300) return text;
      throw errorFromResponse(request.what, response.statusCode, text, request.method === 'GET');
    } catch (error) {
      if (error instanceof IronicError) throw error;
      const explained = explainTlsError(error, repair);
      if (explained === null) throw noResponseError(request.what, error);
      this.#credential.recheck();
      throw noResponseError(request.what, new Error(explained, { cause: error }));
    } finally {
      cancel();
    }
  }

  /** New certificates need new connections. Requests in progress end on the earlier ones. */
  async #connect(): Promise<OpenPool> {
    const credential = await this.#credential.latest();
    const earlier = this.#open;
    if (earlier?.credential === credential) return earlier;
    const open = openPool(this.#origin, credential);
    this.#open = open;
    earlier?.pool.close().catch(() => undefined);
    return open;
  }
}

interface OpenPool {
  readonly credential: IronicCredential;
  readonly authorization: string;
  readonly pool: Pool;
}

function openPool(origin: string, credential: IronicCredential): OpenPool {
  const { username, password, serverCertificate } = credential;
  const pool = new Pool(origin, {
    // No HTTP/2: undici and Node never return from sending if the server dies with requests in flight.
    allowH2: false,
    connections,
    connect: { timeout: connectMs, ...(serverCertificate !== null && trustOptions(serverCertificate)) },
    // The timeout of the request's clock covers the whole exchange; undici's would cover only pauses.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  return { credential, authorization, pool };
}

/** Accepts the certificates themselves whatever their names, and those that they issued for the name of the server. */
function trustOptions(
  pem: string,
): Pick<ConnectionOptions, 'ca' | 'checkServerIdentity'> & { readonly allowPartialTrustChain: true } {
  const pinned = fingerprintsOf(pem);
  return {
    ca: pem,
    allowPartialTrustChain: true,
    checkServerIdentity: (host, shown) =>
      pinned.has(shown.fingerprint256) ? undefined : checkServerIdentity(host, shown),
  };
}

function headersOf(hasBody: boolean): Record<string, string> {
  return {
    accept: 'application/json',
    'x-openstack-ironic-api-version': microversion,
    // Without it some fields, such as the lessee of a node, are not writable.
    'openstack-system-scope': 'all',
    ...(hasBody && { 'content-type': 'application/json' }),
  };
}

export type PowerTarget = 'power on' | 'power off' | 'rebooting' | 'soft power off' | 'soft rebooting';

async function readBounded(body: AsyncIterable<Buffer>, what: string, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Throwing destroys the body and its connection, so the server stops sending.
    if (size > maxBytes) throw invalidResponseError(what, `more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
