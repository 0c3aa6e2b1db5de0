import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { systemClock } from '@millrace/platform/clock';
import { testIds } from '@millrace/testing';
import type { MachineSpec } from '../driver.ts';
import type { IronicDriverOptions } from './ironic-settings.ts';

/**
 * A double of Ironic: nodes and allocations as rows that change only when a test changes them, with failures that fake hardware
 * never has. Other tests use the real Ironic.
 */
export interface FakeNode {
  uuid: string;
  name: string | null;
  provision_state: string;
  target_provision_state: string | null;
  power_state: string | null;
  target_power_state: string | null;
  maintenance: boolean;
  maintenance_reason: string | null;
  last_error: string | null;
  automated_clean: boolean | null;
  reservation: string | null;
  instance_uuid: string | null;
  resource_class: string | null;
  properties: Record<string, unknown>;
  extra: Record<string, unknown>;
  traits: string[];
  inspection_finished_at: string | null;
  lessee: string | null;
  instance_info: Record<string, unknown>;
}

interface FakeAllocation {
  uuid: string;
  state: string;
  node_uuid: string | null;
  last_error: string | null;
  extra: Record<string, unknown>;
}

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

/** Overrides a response; null keeps the default. */
type Interceptor = (request: RecordedRequest) => { readonly status: number; readonly body: string } | null;

export const fault = (faultstring: string): string =>
  JSON.stringify({ error_message: JSON.stringify({ faultstring }) });

export class FakeIronic {
  readonly nodes = new Map<string, FakeNode>();
  readonly allocations = new Map<string, FakeAllocation>();
  readonly requests: RecordedRequest[] = [];
  isAtWork = true;
  interfere: Interceptor = () => null;
  /** The effect of a power request: the resulting state and error. */
  onPower: (node: FakeNode, target: string) => void = (node, target) => {
    node.last_error = null;
    node.power_state = target.includes('off') ? 'power off' : 'power on';
  };
  /** The effect of a deploy or undeploy request. */
  onProvision: (node: FakeNode, target: string) => void = (node, target) => {
    if (target === 'active') Object.assign(node, { provision_state: 'active', power_state: 'power on' });
    else this.undeploy(node, 'available');
  };
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(): Promise<FakeIronic> {
    const double = new FakeIronic();
    await new Promise<void>((resolve) => double.#server.listen(0, '127.0.0.1', resolve));
    return double;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get options(): IronicDriverOptions {
    const address = this.#server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return {
      endpoint: `http://127.0.0.1:${port}/`,
      credential: { username: 'millrace', password: 'secret', serverCertificate: null },
      images: { ubuntu: image },
      pollMs: 20,
      clock: systemClock,
    };
  }

  addNode(changes: Partial<FakeNode> = {}): FakeNode {
    const node: FakeNode = {
      uuid: randomUUID(),
      name: null,
      provision_state: 'available',
      target_provision_state: null,
      power_state: 'power off',
      target_power_state: null,
      maintenance: false,
      maintenance_reason: null,
      last_error: null,
      automated_clean: null,
      reservation: null,
      instance_uuid: null,
      resource_class: 'gpu',
      properties: { cpus: 192, memory_mb: 2_097_152, local_gb: 3_500, capabilities: 'gpu_count:8' },
      extra: { millrace: { address: '203.0.113.7', private_address: '10.0.0.7', gpu_model: 'NVIDIA H200' } },
      traits: [],
      inspection_finished_at: null,
      lessee: null,
      instance_info: {},
      ...changes,
    };
    this.nodes.set(node.uuid, node);
    return node;
  }

  /** Like Ironic, deletes the allocation before anything is wiped and keeps `extra`. */
  undeploy(node: FakeNode, state: string): void {
    this.allocations.delete(node.instance_uuid ?? '');
    Object.assign(node, { provision_state: state, instance_uuid: null, instance_info: {} });
  }

  count(method: string, pattern: RegExp): number {
    return this.requests.filter((request) => request.method === method && pattern.test(request.path)).length;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const recorded: RecordedRequest = {
      method: request.method ?? '',
      path: request.url ?? '',
      body: text === '' ? undefined : (JSON.parse(text) as unknown),
    };
    this.requests.push(recorded);
    const reply = this.interfere(recorded) ?? this.#response(recorded);
    response.writeHead(reply.status, { 'x-openstack-ironic-api-maximum-version': '1.82' }).end(reply.body);
  }

  #response(request: RecordedRequest): { status: number; body: string } {
    const [path = ''] = request.path.split('?');
    const [, , kind, uuid, , what] = path.split('/');
    const good = (body: unknown, status = 200) => ({ status, body: JSON.stringify(body) });
    const absent = { status: 404, body: fault('It could not be found.') };
    if (kind === 'conductors') return good({ conductors: [{ alive: this.isAtWork }] });
    if (kind === 'allocations') return this.#allocation(request, uuid, good, absent);
    if (uuid === undefined) return good({ nodes: [...this.nodes.values()] });
    const node = this.nodes.get(uuid);
    if (node === undefined || path.endsWith('/inventory')) return absent;
    if (request.method === 'PATCH') {
      patch(node, request.body as never);
      return good(node);
    }
    const { target } = (request.body ?? {}) as { target?: string };
    if (what === 'provision') this.onProvision(node, target ?? '');
    if (what === 'power') this.onPower(node, target ?? '');
    return what === undefined ? good(node) : good({}, 202);
  }

  #allocation(
    { method, body }: RecordedRequest,
    uuid: string | undefined,
    good: (body: unknown, status?: number) => { status: number; body: string },
    absent: { status: number; body: string },
  ): { status: number; body: string } {
    if (method === 'POST') {
      const request = body as { uuid: string; candidate_nodes: string[]; extra: Record<string, unknown> };
      if (this.allocations.has(request.uuid))
        return { status: 409, body: fault('An allocation already exists.') };
      const node = this.nodes.get(request.candidate_nodes[0] ?? '');
      const isFree = node?.provision_state === 'available' && node.instance_uuid === null;
      if (isFree) node.instance_uuid = request.uuid;
      const allocation = {
        uuid: request.uuid,
        state: isFree ? 'active' : 'error',
        node_uuid: isFree ? node.uuid : null,
        last_error: isFree ? null : 'none of the requested nodes are available',
        extra: request.extra,
      };
      this.allocations.set(request.uuid, allocation);
      return good(allocation, 201);
    }
    if (uuid === undefined) return good({ allocations: [...this.allocations.values()] });
    const found = this.allocations.get(uuid);
    if (found === undefined) return absent;
    if (method === 'GET') return good(found);
    this.allocations.delete(uuid);
    const node = this.nodes.get(found.node_uuid ?? '');
    if (node !== undefined) node.instance_uuid = null;
    return { status: 204, body: '' };
  }
}

function patch(node: FakeNode, changes: readonly { op: string; path: string; value?: unknown }[]): void {
  for (const { op, path, value } of changes) {
    const [, field = '', key] = path.split('/');
    const holder = (key === undefined ? node : Reflect.get(node, field)) as Record<string, unknown>;
    if (op === 'remove') Reflect.deleteProperty(holder, key ?? field);
    else Reflect.set(holder, key ?? field, value);
  }
}

export const image = {
  url: 'http://127.0.0.1/image.qcow2',
  hash: { algorithm: 'sha256', value: 'a'.repeat(64) },
  diskFormat: 'qcow2',
  sshUser: 'ubuntu',
} as const;

/** The addresses used if only the number of GPUs is known. */
export const eightGpus = Array.from({ length: 8 }, (_none, index) => `0000:0${index + 1}:00.0`);

export const orgId = testIds.next('org');

export function machineSpecFor(
  node: { readonly uuid: string },
  changes: Partial<MachineSpec> = {},
): MachineSpec {
  return {
    externalId: testIds.nextUuid(),
    orgId,
    mode: 'live',
    nodeName: node.uuid,
    gpuPciAddresses: eightGpus,
    cpuCount: 192,
    ramMb: 2_097_152,
    diskGb: 3_000,
    image: 'ubuntu',
    hostname: 'rental-1',
    sshKeys: ['ssh-ed25519 AAAA millrace'],
    userData: null,
    ports: [{ internalPort: 22, externalPort: 22, protocol: 'tcp' }],
    labels: { 'millrace.rental': '1' },
    ...changes,
  };
}
