import type { Clock } from '@millrace/platform/clock';
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

/** Where Ironic is, and as whom we speak to it. */
export interface IronicConnectionOptions {
  /** `https://host:port`, with a path if it is behind one. */
  readonly endpoint: string;
  readonly username: string;
  readonly password: string;
  /** PEM: its certificate, or of who signed it. Null: whom the system trusts. */
  readonly serverCertificate: string | null;
}

/** The newest that Debian's 21.4 speaks. Later ones still speak it. */
const microversion = '1.82';

const mebibyte = 1_048_576;
const bounds = {
  read: { timeoutMs: 15_000, maxBytes: 8 * mebibyte },
  list: { timeoutMs: 60_000, maxBytes: 64 * mebibyte },
  // With `rpc_transport = none` the answer to an order comes when its first part is done.
  write: { timeoutMs: 60_000, maxBytes: 8 * mebibyte },
};

const connectMs = 3_000;
const connections = 16;
/** The most that Ironic gives at once, unless its operator says otherwise. */
const pageSize = 1_000;
const maxPages = 1_000;

/** A change of one field of a node or an allocation. */
export type Patch = readonly (
  | { readonly op: 'add'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
)[];

interface IronicRequest {
  /** For people: "read the node". */
  readonly what: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  readonly body?: unknown;
}

interface RequestLimits {
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** Ironic's REST interface, as far as we use it. Every failure is a `DriverError`; every answer is checked. */
export class IronicClient {
  readonly clock: Clock;
  readonly #pool: Pool;
  readonly #basePath: string;
  readonly #authorization: string;
  readonly #closing = new AbortController();
  /** What it said that it speaks at most. */
  #newest = 'unknown';

  constructor(reach: IronicConnectionOptions, clock: Clock) {
    const { origin, pathname } = new URL(reach.endpoint);
    this.clock = clock;
    this.#basePath = pathname.replace(/(?<!\/)\/+$/, '').replace(/\/v1$/, '');
    this.#authorization = `Basic ${Buffer.from(`${reach.username}:${reach.password}`).toString('base64')}`;
    this.#pool = new Pool(origin, {
      // No HTTP/2: undici and Node never return from sending if the server dies with requests under way.
      allowH2: false,
      connections,
      connect: {
        timeout: connectMs,
        ...(reach.serverCertificate !== null && { ca: reach.serverCertificate }),
      },
      // Deadlines come from our own clock, for the whole exchange and not for a pause in it.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  get version(): string {
    return `Ironic (API ${microversion} of ${this.#newest})`;
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Null only when Ironic itself says that there is no such node. */
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

  /** Whether anybody does what Ironic is told. It answers from its database also when nobody does. */
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

  /** What was found by inspection; null where nothing was kept. */
  findInspection(uuid: string, signal: AbortSignal): Promise<IronicInspection | null> {
    const path = `/v1/nodes/${uuid}/inventory`;
    return this.#find(
      { what: 'read the inventory of the node', method: 'GET', path },
      inventorySchema,
      signal,
    );
  }

  /** `conflict`: there is one of this id already. */
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

  /** One that is not there is deleted. */
  async deleteAllocation(uuid: string, signal: AbortSignal): Promise<void> {
    const call = { what: 'give the node back', method: 'DELETE', path: `/v1/allocations/${uuid}` } as const;
    try {
      await this.#exchange(call, bounds.write, signal);
    } catch (error) {
      if (!isDriverError(error, 'not_found')) throw error;
    }
  }

  async patchNode(uuid: string, patch: Patch, signal: AbortSignal): Promise<void> {
    const request = { what: 'write on the node', path: `/v1/nodes/${uuid}`, body: patch } as const;
    await this.#exchange({ ...request, method: 'PATCH' }, bounds.write, signal);
  }

  /** Orders it; what comes of it the node tells. */
  async setProvisionState(
    uuid: string,
    order: { readonly target: 'active' | 'deleted'; readonly configdrive?: unknown },
    signal: AbortSignal,
  ): Promise<void> {
    const what = order.target === 'active' ? 'deploy the node' : 'undeploy the node';
    const path = `/v1/nodes/${uuid}/states/provision`;
    await this.#exchange({ what, method: 'PUT', path, body: order }, bounds.write, signal);
  }

  /** Orders it; what comes of it the node tells. */
  async setPower(
    uuid: string,
    order: { readonly target: PowerTarget; readonly timeout?: number },
    signal: AbortSignal,
  ): Promise<void> {
    const request = { what: `switch the node (${order.target})`, path: `/v1/nodes/${uuid}/states/power` };
    await this.#exchange({ ...request, method: 'PUT', body: order }, bounds.write, signal);
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the driver was closed'));
    await this.#pool.destroy();
  }

  /** Page after page: in order of their making, so that none is missed or seen twice whatever changes meanwhile. */
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
      // Whatever is in between does not hand on from where, and would go on so for ever.
      if (all.size !== known + items.length) throw invalidResponseError(what, 'the same twice');
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
    const late = new AbortController();
    const cancel = this.clock.after(bound.timeoutMs, () =>
      late.abort(new Error(`no answer within ${bound.timeoutMs} ms`)),
    );
    try {
      const response = await this.#pool.request({
        path: `${this.#basePath}${request.path}`,
        method: request.method,
        headers: this.#headers(request.body !== undefined),
        body: request.body === undefined ? null : JSON.stringify(request.body),
        signal: AbortSignal.any([signal, late.signal, this.#closing.signal]),
      });
      const text = await readBounded(response.body, request.what, bound.maxBytes);
      const newest = response.headers['x-openstack-ironic-api-maximum-version'];
      if (typeof newest === 'string' && /^\d+\.\d+$/.test(newest)) this.#newest = newest;
      if (response.statusCode >= 200 && response.statusCode < 300) return text;
      throw errorFromResponse(request.what, response.statusCode, text, request.method === 'GET');
    } catch (error) {
      throw error instanceof IronicError ? error : noResponseError(request.what, error);
    } finally {
      cancel();
    }
  }

  #headers(hasBody: boolean): Record<string, string> {
    return {
      accept: 'application/json',
      authorization: this.#authorization,
      'x-openstack-ironic-api-version': microversion,
      // Without it some fields, such as who a node is lent to, are not ours to write.
      'openstack-system-scope': 'all',
      ...(hasBody && { 'content-type': 'application/json' }),
    };
  }
}

export type PowerTarget = 'power on' | 'power off' | 'rebooting' | 'soft power off' | 'soft rebooting';

async function readBounded(body: AsyncIterable<Buffer>, what: string, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Leaving the loop destroys the body, and with it the connection that would go on sending.
    if (size > maxBytes) throw invalidResponseError(what, `more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
